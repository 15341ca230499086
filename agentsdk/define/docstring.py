"""What a docstring says of a function and its parameters: Google, NumPy and Sphinx style."""

from __future__ import annotations

import inspect
import re
from typing import Literal

DocstringStyle = Literal["google", "numpy", "sphinx"]

# Only a docstring with a section or a field list needs the parser, whose import costs 40 ms.
_MARKUP = re.compile(r"^[ \t]*([:@]\w|[A-Z][A-Za-z ]*:[ \t]*$|-{3,}[ \t]*$)", re.MULTILINE)


def parse_docstring(text: str | None, style: DocstringStyle | None = None) -> tuple[str, dict[str, str]]:
    """The description of the function and of each parameter it describes; the style is found out where it is None."""
    text = inspect.cleandoc(text or "")
    if not _MARKUP.search(text):
        return text, {}
    from docstring_parser import DocstringStyle as Style
    from docstring_parser import ParseError, parse

    styles = {None: Style.AUTO, "google": Style.GOOGLE, "numpy": Style.NUMPYDOC, "sphinx": Style.REST}
    try:
        parsed = parse(text, styles[style])
    except ParseError:
        return text, {}
    described = {param.arg_name.lstrip("*"): param.description.strip() for param in parsed.params if param.description}
    return (parsed.description or "").strip(), described
