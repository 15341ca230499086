"""The front matter of a Markdown file: what people write of YAML between two lines of `---`, read strictly.

Understood are `key: value` lines with plain and quoted texts, texts of several lines (indented, or after `|` and `>`), lists of
texts, and one level of keys below a key. Every value is the text that was written: `1.0` and `yes` stay as they are. Anchors,
tags, flow mappings and deeper nesting are errors that name their line in a field that is asked for; others are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Value = str | tuple[str, ...] | Mapping[str, str]


class FrontMatterError(ValueError):
    """What is wrong, at a line counted from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


@dataclass(frozen=True, slots=True)
class Field:
    """A value, trimmed, and the line of its key."""

    value: Value
    line: int


def read_front_matter(text: str, known: Collection[str]) -> tuple[dict[str, Field], str]:
    """The fields among `known`, and the text below the front matter. Raises `FrontMatterError`."""
    given = text.replace("\r\n", "\n").split("\n")
    lines = [_Line(number, line.rstrip(" ")) for number, line in enumerate(given, 1)]
    if lines[0].text != "---":
        raise FrontMatterError(1, "no front matter, expected '---' as the first line, with name and description below it")
    end = next((line.number for line in lines[1:] if line.text == "---"), 0)
    if not end:
        raise FrontMatterError(1, "front matter that does not end, expected a second line '---'")
    for line in lines[: end - 1]:
        if found := _CONTROL.search(line.text):
            raise FrontMatterError(line.number, f"the character {found[0]!r}, expected spaces and what can be seen")
    fields = {entry.key: Field(_value(entry), entry.line) for entry in _entries(lines[1 : end - 1]) if entry.key in known}
    return fields, "\n".join(given[end:]).strip()


class _Line(NamedTuple):
    number: int
    text: str

    @property
    def content(self) -> str:
        return self.text.lstrip(" ")

    @property
    def indent(self) -> int:
        return len(self.text) - len(self.content)

    @property
    def is_said(self) -> bool:
        """Whether it is neither empty nor a comment."""
        return bool(self.text) and not self.content.startswith("#")


class _Entry(NamedTuple):
    """A key, the line it is on and what follows it there, and the lines below that belong to it."""

    key: str
    line: int
    indent: int
    rest: str
    below: list[_Line]

    def takes(self, line: _Line) -> bool:
        """Whether a line that is not indented deeper belongs to it: an item of the list that is its value."""
        first = next((below for below in self.below if below.is_said), line)
        return not _without_comment(self.rest) and all(one.indent == self.indent and _is_item(one) for one in (first, line))


_CONTROL = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
_KEY = re.compile(r"\A([A-Za-z_][A-Za-z0-9_.-]*):(?: +(.*))?")
_COMMENT = re.compile("(?:^|(?<! ) +)#.*")
_BLOCK = re.compile(r"[|>][+-]?(?: +#.*)?")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"(?: +#.*)?')
_SINGLE = re.compile(r"'((?:[^']|'')*)'(?: +#.*)?")
_ESCAPE = re.compile(r'\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U000[0-9A-Fa-f]{5}|U0010[0-9A-Fa-f]{4}|["\\/ntr ])|\\.')
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_FLOW_LIST = re.compile(r"\A\[(.*)\](?: +#.*)?")
_FLOW_TEXT = re.compile(r"""[^][{}"'#,:?]+(?::[^][{}"'#,:? ]+)*|"[^"]*"|'[^']*'""")


def _entries(lines: Sequence[_Line]) -> Iterator[_Entry]:
    """The keys of a mapping, each with the lines that are indented deeper, and with the items of a list that are not."""
    entry: _Entry | None = None
    indent = next((line.indent for line in lines if line.is_said), 0)
    seen: set[str] = set()
    for line in lines:
        if line.is_said and line.indent <= indent and not (entry is not None and entry.takes(line)):
            found = _KEY.fullmatch(line.content)
            if found is None or line.indent < indent:
                raise FrontMatterError(line.number, f"{_cut(line.content)}, expected 'key: value'")
            if found[1] in seen:
                raise FrontMatterError(line.number, f"a second {found[1]!r}, expected each key once")
            seen.add(found[1])
            if entry is not None:
                yield entry
            entry = _Entry(found[1], line.number, indent, found[2] or "", [])
        elif entry is not None:
            entry.below.append(line)
    if entry is not None:
        yield entry


def _value(entry: _Entry) -> Value:
    if entry.rest.startswith("["):
        return _flow_list(entry)
    below = _trimmed(entry.below)
    if not _without_comment(entry.rest) and below:
        if _is_item(below[0]):
            return tuple(_items(below))
        if _KEY.fullmatch(below[0].content):
            return {inner.key: _scalar(inner) for inner in _entries(below)}
    return _scalar(entry)


def _scalar(entry: _Entry) -> str:
    if entry.rest.startswith(("|", ">")):
        return _block(entry)
    lines = _trimmed([_Line(entry.line, entry.rest), *entry.below])
    if not lines:
        return ""
    if _is_item(lines[0]) or (lines[0].number > entry.line and _KEY.fullmatch(lines[0].content)):
        raise FrontMatterError(lines[0].number, f"a list or keys below {entry.key!r}, expected a text; put it in quotes")
    return _text(lines)


def _text(lines: Sequence[_Line]) -> str:
    """A text that is plain or in quotes. Plain, it may go on over lines, which become one."""
    first = lines[0]
    if first.content.startswith(('"', "'")):
        if len(lines) > 1:
            raise FrontMatterError(first.number, "a text in quotes that goes on below, expected one line; write it after '>'")
        return _quoted(first)
    folded: list[str] = []
    for line in lines:
        text = _without_comment(line.content)
        if text != line.content and line is not lines[-1]:
            raise FrontMatterError(line.number, "a comment within a text, expected it before or after")
        if ": " in text or text.endswith(":"):
            raise FrontMatterError(line.number, f"{_cut(text)} has a colon in it, expected it in quotes, or after '>'")
        folded.append(text)
    if first.content[0] in ",[]{}#&*!|>%@`" or re.match("[-?:](?: |$)", first.content):
        raise FrontMatterError(first.number, f"{_cut(first.content)}, expected a text; put it in quotes")
    return _folded(folded).strip()


def _quoted(line: _Line) -> str:
    if found := _SINGLE.fullmatch(line.content):
        return found[1].replace("''", "'").strip()
    if found := _DOUBLE.fullmatch(line.content):
        return _ESCAPE.sub(lambda escape: _unescaped(line.number, escape), found[1]).strip()
    raise FrontMatterError(line.number, f"{_cut(line.content)}, expected quotes that end on the line")


def _unescaped(number: int, escape: re.Match[str]) -> str:
    code: str | None = escape[1]
    if code is None:
        raise FrontMatterError(number, f"the escape {escape[0]!r}, expected one of JSON's; write '\\\\' for a backslash")
    return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPED.get(code, code)


def _block(entry: _Entry) -> str:
    """The text after `|`, as it is, or after `>`, its lines folded into paragraphs."""
    if not _BLOCK.fullmatch(entry.rest):
        raise FrontMatterError(entry.line, f"{_cut(entry.rest)}, expected '|' or '>' alone, or followed by '-' or '+'")
    indent = max(entry.indent + 1, next((line.indent for line in entry.below if line.text), 0))
    lines = list(entry.below)
    while lines and (not lines[-1].text or (lines[-1].indent < indent and not lines[-1].is_said)):
        lines.pop()
    for line in lines:
        if line.text and line.indent < indent:
            raise FrontMatterError(line.number, f"{_cut(line.content)}, expected the indentation of the lines before it")
    texts = [line.text[indent:] for line in lines]
    return (_folded(texts) if entry.rest.startswith(">") else "\n".join(texts)).strip()


def _folded(lines: Sequence[str]) -> str:
    """Lines as one, where neither is empty nor indented deeper than the others."""
    text, before, empty = "", "", 0
    for line in lines:
        if not line:
            empty += 1
            continue
        is_kept = line.startswith(" ") or before.startswith(" ")
        text += "\n" * (empty + is_kept) or (" " if text else "")
        text, before, empty = text + line, line, 0
    return text


def _items(lines: Sequence[_Line]) -> Iterator[str]:
    for line in lines:
        if not line.is_said:
            continue
        text = _Line(line.number, line.content[1:].lstrip(" "))
        if not _is_item(line) or line.indent != lines[0].indent or not text.is_said or _is_item(text):
            raise FrontMatterError(line.number, f"{_cut(line.content)}, expected '- ' and a text")
        yield _text([text])


def _flow_list(entry: _Entry) -> tuple[str, ...]:
    found = _FLOW_LIST.fullmatch(entry.rest)
    if found is None or _trimmed(entry.below):
        raise FrontMatterError(entry.line, "a list that goes on below, expected ']' on the line, or a line '- ...' for each")
    items = [_Line(entry.line, item.strip(" ")) for item in found[1].split(",")]
    for item in items:
        if not _FLOW_TEXT.fullmatch(item.text):
            raise FrontMatterError(entry.line, f"{_cut(entry.rest)}, expected texts, or a line '- ...' for each")
    return tuple([_text([item]) for item in items])


def _is_item(line: _Line) -> bool:
    return line.content == "-" or line.content.startswith("- ")


def _without_comment(text: str) -> str:
    return _COMMENT.sub("", text, count=1)


def _trimmed(lines: Sequence[_Line]) -> list[_Line]:
    """Without the empty lines and comments at both ends."""
    said = [at for at, line in enumerate(lines) if line.is_said]
    return list(lines[said[0] : said[-1] + 1]) if said else []


def _cut(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
