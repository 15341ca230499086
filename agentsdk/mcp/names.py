"""Names of a server's tools as providers take them: 1 to 64 of `[A-Za-z0-9_-]`, each one tool's."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping

from agentsdk.types.declared import is_tool_name

MAX_NAME = 64

_OTHER = re.compile(r"[^A-Za-z0-9_-]")


def tool_names(given: Iterable[str], prefix: str = "", known: Mapping[str, str] | None = None) -> dict[str, str]:
    """The server's name of each tool by the name that the model calls it: `{"read_file": "read.file"}`.

    A name that providers take stays as it is; of any other each foreign character becomes `_`, and what is too long or another
    tool's already ends in a digest of the server's name. `known` has earlier answers, which keep their names.
    """
    names = list(dict.fromkeys(given))
    earlier = {original: name for name, original in (known or {}).items()}
    mapped = {earlier[original]: original for original in names if original in earlier}
    placed = set(mapped.values())
    for original in names:
        name = prefix + original
        if original not in placed and name not in mapped and is_tool_name(name):
            mapped[name] = original
            placed.add(original)
    for original in names:
        if original not in placed:
            name = _OTHER.sub("_", prefix + original)
            if len(name) > MAX_NAME or name in mapped or not name:
                digest = hashlib.sha256(original.encode(errors="replace")).hexdigest()[:8]
                name = f"{name[: MAX_NAME - 9]}_{digest}"
            mapped[name] = original
    order = {original: place for place, original in enumerate(names)}
    return dict(sorted(mapped.items(), key=lambda pair: order[pair[1]]))
