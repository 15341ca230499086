"""A run as one HTML file that works offline: the page's own modules and style, and the answers that it would ask for.

The modules become `data:` URLs under names of an import map, since a file has nothing to load them from.
"""

from __future__ import annotations

import base64
import html
import re
from pathlib import Path
from string import Template

import msgspec

from agentsdk.types.base import JsonObject

STATIC = Path(__file__).parent / "static"

MOST_EVENTS = 2_000
"""Events whose details are in the file; of the others only the rows are."""

_POLICY = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data:"

_PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="$policy">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<style>$style</style>
<script type="application/json" id="data">$data</script>
<script type="importmap">$imports</script>
<script type="module">import "agentsdk/main.js";</script>
</head>
$body
</html>
""")


def exported(run_id: str, answers: JsonObject) -> str:
    """The page of a run with the `answers` of the API, by the paths that the page asks for."""
    index = (STATIC / "index.html").read_text(encoding="utf-8")
    data = {"start": run_id, "answers": answers}
    return _PAGE.substitute(
        policy=_POLICY,
        title=html.escape(f"Run {run_id}"),
        style=(STATIC / "style.css").read_text(encoding="utf-8"),
        data=_inside(msgspec.json.encode(data, enc_hook=str).decode()),
        imports=_inside(msgspec.json.encode({"imports": _modules()}).decode()),
        body=index[index.index("<body>") : index.index("</html>")].strip(),
    )


def _modules() -> dict[str, str]:
    """Each module under its name; in place of what asks the server, what asks the file."""
    found: dict[str, str] = {}
    for path in sorted(STATIC.glob("*.js")):
        name = {"api.js": "", "offline.js": "api.js"}.get(path.name, path.name)
        if name:
            code = re.sub(r'from "\./([\w.]+)"', r'from "agentsdk/\1"', path.read_text(encoding="utf-8"))
            found[f"agentsdk/{name}"] = f"data:text/javascript;base64,{base64.b64encode(code.encode()).decode()}"
    return found


def _inside(text: str) -> str:
    """JSON that no text in it can end the element of."""
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
