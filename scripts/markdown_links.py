"""Links and anchors of Markdown, read as a code host reads them; for the site and for the test of links."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\1`*[ \t]*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LINK = re.compile(r"\]\((?P<target>[^()\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(?P<text>.+?)(?: +#+)?$", re.MULTILINE)


class Link(NamedTuple):
    """Where a text has a link, from `start` to `end`, and where that goes."""

    start: int
    end: int
    target: str


def links(text: str) -> Iterator[Link]:
    """The links and pictures of a text, but for those in code."""
    for match in _LINK.finditer(_blank(text, _FENCE, _COMMENT, _CODE)):
        yield Link(*match.span("target"), match["target"])


def relinked(text: str, change: Callable[[str], str]) -> str:
    """The text with each target of a link changed."""
    pieces, end = list[str](), 0
    for link in links(text):
        pieces += [text[end : link.start], change(link.target)]
        end = link.end
    return "".join([*pieces, text[end:]])


def anchors(text: str) -> set[str]:
    """What can stand after `#` in a link to this text."""
    seen, found = Counter[str](), set[str]()
    for match in _HEADING.finditer(_blank(text, _FENCE, _COMMENT)):
        anchor = slug(re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", match["text"]))
        found.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return found


def slug(heading: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def _blank(text: str, *patterns: re.Pattern[str]) -> str:
    """The text, what matches made spaces, so that places stay what they are."""
    for pattern in patterns:
        text = pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return text
