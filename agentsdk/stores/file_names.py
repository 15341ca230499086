"""The names of folders and files that `FileRunStore` gives what has a name of the user's.

A plain name in small letters is its own. Any other, and one that a file system could take for another (`A` and `a`, `é` in its
two spellings), has the characters that are plain and a digest. No id is ever a path.
"""

from __future__ import annotations

import re
from hashlib import sha256

_PLAIN = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
_NOT_PLAIN = re.compile(r"[^a-z0-9_-]+")


def file_name(text: str) -> str:
    """The name of the folder of a run, or of the file of an attachment."""
    if _PLAIN.fullmatch(text):
        return text
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{_NOT_PLAIN.sub('_', text.lower())[:40].strip('_-')}+{digest}"
