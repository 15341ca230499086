"""The readable text of a web page: its main content, without menus, scripts and styles.

Every HTML parser that was tried takes long for nested elements (200,000 of them: selectolax 304 s; 20,000: resiliparse
12 s), and holds the interpreter meanwhile. So the page is read in a process of its own, which is killed when its time is over.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

from agentsdk.types.errors import FetchError, UserError

SECONDS = 10.0
"""How long a page may take to be read. One of 1.3 MB takes 0.1 s, and the start of the process as much."""

_MISSING = 3
_PROGRAM = """
import sys
try:
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.encoding import bytes_to_str, detect_encoding
    from resiliparse.parse.html import HTMLTree
except ImportError:
    sys.exit(3)
page = sys.stdin.buffer.read()
tree = HTMLTree.parse(bytes_to_str(page, sys.argv[1] or detect_encoding(page, from_html_meta=True)))
text = extract_plain_text(tree, main_content=True, links=True, preserve_formatting=True)
if not text.strip():
    text = extract_plain_text(tree, main_content=False, links=True, preserve_formatting=True)
title = " ".join((tree.title or "").split())
sys.stdout.buffer.write((title + "\\n" + text).encode("utf-8", "replace"))
"""


async def readable_text(page: bytes, charset: str = "", seconds: float = SECONDS) -> tuple[str, str]:
    """The title and the text of an HTML page; `charset` as the server named it, found out where it is empty.

    Raises `FetchError` for a page that cannot be read or takes longer than `seconds`, `UserError` where the extra `web` is
    missing.
    """
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-c", _PROGRAM, charset, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, env={}
    )
    try:
        async with asyncio.timeout(seconds):
            text, _ = await process.communicate(page)
    except TimeoutError:
        raise FetchError(f"the page could not be read within {seconds:g} seconds, expected plainer HTML; use another") from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode == _MISSING:
        raise UserError("reading HTML needs resiliparse, which is not installed; pip install 'agentsdk[html]'")
    if process.returncode != 0:
        raise FetchError("the page could not be read, expected HTML; use another")
    title, _, body = text.decode("utf-8", "replace").partition("\n")
    return title, body
