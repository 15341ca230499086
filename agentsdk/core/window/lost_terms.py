"""Lost terms, of a summary: names, numbers, paths and questions of what it replaces that are nowhere to be read any more.

Every text is walked once, by characters and not by patterns that can backtrack: the time is linear whatever a tool returned.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct, structs

from agentsdk.core.overflow import output_text
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message

MOST = 20
"""How many of each kind are told."""

_OUTSIDE_RESULTS = 5  # what was said or passed to a tool counts like this many mentions in results
_QUESTION_CHARS = 200
_LONGEST = 200
_LONGEST_NAME = 60
_AFTER_QUESTION = ("", " ", "\n", "\t", '"', "'", ")", "*")

# Classes of characters without a choice to go back to. An opening quote without its closing one is walked once a line at most.
_CHUNK = re.compile(r"[^\s\"'`<>()\[\]{}|;\u201c\u201d]+")
_QUOTED = re.compile(r"\"([^\"\n]*)\"|`([^`\n]*)`|\u201c([^\u201c\u201d\n]*)\u201d")
_WORD = re.compile(r"\w+")
_SPLIT = re.compile(r"[=,]")
_DIGITS = "0123456789"
_NUMERIC = _DIGITS + ".,:/-+%$\u20ac\u00a3"
_EDGE = ".,:;!?*#&=\u2026"


class LostTerms(Struct, frozen=True):
    """What is gone, the most often mentioned first and of those the latest: questions that no one answered, paths and
    addresses, identifiers, quoted names, numbers; `MOST` of each at most."""

    questions: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(structs.astuple(self))


_TITLES = {
    "questions": "Open questions",
    "places": "Files and addresses",
    "identifiers": "Identifiers",
    "names": "Names",
    "numbers": "Numbers",
}


def lost_terms(before: Iterable[Item], after: Iterable[Item], summary: str) -> LostTerms:
    """What stands in `before`, the items that the summary replaces, but neither in the summary nor in `after`, the items that
    stay."""
    remaining = "\n".join([summary, *(_text(item) for item in after)]).casefold()
    present = set(_chunks(remaining))
    found: dict[str, dict[str, tuple[int, int]]] = {kind: {} for kind in _TITLES}
    position = 0
    items = list(before)
    for item in items:
        weight = 1 if isinstance(item, FunctionCallOutput) else _OUTSIDE_RESULTS
        for kind, term in _terms(_text(item)):
            if term.casefold() not in present:
                count, _ = found[kind].get(term, (0, 0))
                position += 1
                found[kind][term] = count + weight, position
    words = set(_WORD.findall(remaining))
    found["questions"] = {
        question: (0, place) for place, question in enumerate(_open_questions(items)) if not _is_covered(question, words)
    }
    ranked = {kind: sorted(terms, key=terms.__getitem__, reverse=True) for kind, terms in found.items()}
    # A name may be several words, which only a search finds: for as many as are told, and as many again that are not.
    ranked["names"] = [name for name in ranked["names"][: 2 * MOST] if name.casefold() not in remaining]
    return LostTerms(**{kind: tuple(terms[:MOST]) for kind, terms in ranked.items()})


def put_back(summary: str, lost: LostTerms, max_chars: int) -> tuple[str, LostTerms]:
    """The summary with what it lost listed behind it, in at most `max_chars` characters more; and what had no room."""
    text = summary
    left: dict[str, tuple[str, ...]] = {}
    room = max_chars
    for kind, title in _TITLES.items():
        terms: tuple[str, ...] = getattr(lost, kind)
        line = f"\n{title}:"
        taken = 0
        for term in terms:
            longer = f"{line} {term}" if not taken else f"{line} | {term}"
            if len(longer) > room:
                break
            line = longer
            taken += 1
        left[kind] = terms[taken:]
        if taken:
            text += line
            room -= len(line)
    return text, LostTerms(**left)


def _text(item: Item) -> str:
    match item:
        case Message():
            return item.text
        case FunctionCall():
            return _unescaped(item.arguments)
        case FunctionCallOutput():
            return _unescaped(output_text(item.output))
        case _:
            return ""


def _unescaped(text: str) -> str:
    """JSON text with the ends of lines and the quotes inside its strings as they are meant."""
    return text.replace("\\n", "\n").replace('\\"', '"') if "\\" in text else text


def _chunks(text: str) -> Iterator[str]:
    """The text's pieces without the punctuation around them: addresses whole, all else split at `=` and `,`."""
    for match in _CHUNK.finditer(text):
        chunk = match[0].strip(_EDGE)
        if chunk.isalnum() or "://" in chunk or _is_number(chunk):
            yield chunk
        else:
            for part in _SPLIT.split(chunk):
                yield part.strip(_EDGE)


def _terms(text: str) -> Iterator[tuple[str, str]]:
    """What in a text is worth keeping: its kind, and itself."""
    for chunk in _chunks(text):
        kind = _kind(chunk)
        if kind:
            yield kind, chunk
    for match in _QUOTED.finditer(text):
        name = match[match.lastindex or 0]
        is_key = text.startswith(":", match.end())
        if _is_name(name) and not is_key:
            yield "names", name


def _is_name(quoted: str) -> bool:
    if not 2 <= len(quoted) <= _LONGEST_NAME:
        return False
    return quoted[0].isalpha() and quoted[-1].isalnum() and (" " in quoted or not _kind(quoted))


def _kind(chunk: str) -> str:
    if not 2 <= len(chunk) <= _LONGEST or (chunk.isalpha() and chunk[1:].islower()):
        return ""
    if _is_number(chunk):
        return "numbers"
    if _is_place(chunk):
        return "places"
    return "identifiers" if _is_identifier(chunk) else ""


def _is_number(chunk: str) -> bool:
    """`42`, `1,234.50`, `12:30`, `1/2/2026`, `-3%`, `$5.20`; not a single digit."""
    return not chunk.strip(_NUMERIC) and sum(char in _DIGITS for char in chunk) >= 2


def _is_place(chunk: str) -> bool:
    """`https://host/x`, `src/app.py`, `/tmp`, `notes.md`; not `and/or`, `e.g`."""
    if "://" in chunk:
        return True
    if not any(char.isalnum() for char in chunk):
        return False
    if "/" in chunk:
        return chunk[0] in "/~" or chunk.count("/") > 1 or any(char in "._-" for char in chunk)
    stem, _, suffix = chunk.rpartition(".")
    if not stem or "@" in stem:
        return False
    return suffix.isalnum() and suffix[0].isalpha() and len(suffix) <= 5 and len(stem) + len(suffix) > 2


def _is_identifier(chunk: str) -> bool:
    """`ORD-1234`, `snake_case`, `camelCase`, `a@b.c`, `deadbeef01`."""
    if not any(char.isalpha() for char in chunk):
        return False
    if any(char.isdigit() or char in "_@" for char in chunk[1:-1]) or chunk[-1].isdigit():
        return len(chunk) > 2
    return any(one.islower() and other.isupper() for one, other in pairwise(chunk))


def _open_questions(items: Sequence[Item]) -> list[str]:
    """The questions to which the other side has said nothing since: the last of a user's or of the model's."""
    asked: list[str] = []
    role = ""
    for item in items:
        if isinstance(item, Message) and item.text:
            if item.role != role:
                asked = []
            role = item.role
            asked += _questions(item.text)
    return asked


def _questions(text: str) -> Iterator[str]:
    """The sentences that end in a question mark, each with its last 200 characters."""
    end = text.find("?")
    while end >= 0:
        if text[end + 1 : end + 2] in _AFTER_QUESTION:
            sentence = text[max(0, end - _QUESTION_CHARS) : end + 1]
            for mark in (". ", "! ", "? ", "\n"):
                sentence = sentence.rpartition(mark)[2]
            yield sentence.strip()
        end = text.find("?", end + 1)


def _is_covered(question: str, words: set[str]) -> bool:
    """Whether most of the question's longer words are told elsewhere."""
    asked = [word for word in _WORD.findall(question.casefold()) if len(word) > 3]
    return bool(asked) and sum(word in words for word in asked) * 2 > len(asked)
