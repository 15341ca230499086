"""`web_fetch`: the tool with which a model reads a web page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from agentsdk.define.function_tool import function_tool
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_options import ToolOptions
from agentsdk.local_tools.fetch import Fetcher, Page
from agentsdk.local_tools.host_rules import HOSTS, NETWORKS, HostRules
from agentsdk.local_tools.readable import readable_text
from agentsdk.types.declared import SECONDS, Fields, whole
from agentsdk.types.errors import FetchError
from agentsdk.types.text import clean_text

_FIELDS = Fields(
    "web_fetch",
    allowed_hosts=HOSTS,
    blocked_hosts=HOSTS,
    allowed_networks=NETWORKS,
    max_bytes=whole("bytes, 1 or more: what is read of a page", 1),
    max_chars=whole("characters, 200 or more: what the model is given of a page at a time", 200),
    seconds=SECONDS,
)
_PLAIN = ("application/json", "application/xml", "application/xhtml+xml", "application/javascript", "application/yaml")
_TITLE = 300
_HTML = ("text/html", "application/xhtml+xml")


def web_fetch(
    *,
    allowed_hosts: Sequence[str] = (),
    blocked_hosts: Sequence[str] = (),
    allowed_networks: Sequence[str] = (),
    max_bytes: int = 2_000_000,
    max_chars: int = 20_000,
    seconds: float = 20.0,
    **options: Unpack[ToolOptions[Any]],
) -> FunctionTool[Any]:
    """A tool that gets a page by its URL and gives its text: of HTML the main content, with its links, other text as it is.

    Only public addresses are reached, and those of `allowed_networks`; that holds for every redirect, and the connection is
    made to the very address that was checked. `allowed_hosts`, where there are any, are the only ones, `blocked_hosts` never;
    `.example.com` is all below it. No cookie, key or proxy setting of yours is used. `max_bytes` of a page are read within
    `seconds`; the model is given `max_chars` of its text at a time, and may ask for more.

    What a page says is a stranger's word: its results are untrusted, and mark the run. HTML needs the extra `web`. The other
    options are those of every tool. Raises `UserError` for a wrong one.
    """
    _FIELDS.check_given(
        allowed_hosts=allowed_hosts,
        blocked_hosts=blocked_hosts,
        allowed_networks=allowed_networks,
        max_bytes=max_bytes,
        max_chars=max_chars,
        seconds=seconds,
    )
    rules = HostRules(allowed_hosts=allowed_hosts, blocked_hosts=blocked_hosts, allowed_networks=allowed_networks)
    fetcher = Fetcher(rules, max_bytes=max_bytes, timeout=seconds)

    async def web_fetch(url: str, start: int = 0) -> str:
        """Get a web page as text.

        Args:
            url: The address, with https:// or http://.
            start: The first character to give, to read on in a long page.
        """
        page = await fetcher.get(url)
        title, text = await _text(page)
        return _excerpt(page, title, text, max(start, 0), max_chars)

    given: ToolOptions[Any] = {"effect": "none", "untrusted": True, "timeout": 3 * seconds, **options}
    return function_tool(web_fetch, **given)


async def _text(page: Page) -> tuple[str, str]:
    kind = page.content_type
    if kind in _HTML:
        title, text = await readable_text(page.body, page.charset)
    elif kind.startswith("text/") or kind in _PLAIN or kind.endswith(("+json", "+xml")):
        title, text = "", page.body.decode(page.charset or "utf-8", "replace")
    else:
        raise FetchError(f"the page is {kind!r}, expected text or HTML; use another source")
    return clean_text(title), clean_text(text).strip()


def _excerpt(page: Page, title: str, text: str, start: int, length: int) -> str:
    end = min(start + length, len(text))
    if start >= len(text) and start > 0:
        raise FetchError(f"the page has {len(text)} characters, expected a smaller start than {start}")
    lines = [f"URL: {page.url}"]
    if title:
        lines.append(f"Title: {title[:_TITLE]}")
    if start > 0 or end < len(text):
        lines.append(f"Characters {start} to {end} of {len(text)}" + (f"; read on with start={end}" if end < len(text) else ""))
    if page.truncated:
        lines.append("The page is longer than what is read of one.")
    return "\n".join(lines) + "\n\n" + (text[start:end] or "(no text)")
