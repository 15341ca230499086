"""Saved runs, mutated: each is refused with a typed error, or is a run that reads the same again. Nothing else happens.

`AGENTSDK_FUZZ=50000` sets how many are tried.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from agentsdk.core.run_state import RunState
from agentsdk.types.errors import StateError, UserError
from tests.core.histories import unpaired
from tests.core.released import FIXTURES, KEY

COUNT = int(os.environ.get("AGENTSDK_FUZZ", "8000"))
SEALED = [path.read_text(encoding="utf-8").strip() for path in sorted(FIXTURES.glob("v*/*.json"))]
TEXTS = [re.sub(', *"seal": *"[0-9a-f]*"', "", text) for text in SEALED]
"""The same without their seals, which nothing vouches for."""
FORBIDDEN = (
    "import",
    "open",
    "exec",
    "compile",
    "os.",
    "subprocess.",
    "socket.",
    "pickle.",
    "marshal.",
    "ctypes.",
    "code.__new__",
)

_happened: list[str] | None = None


def _audit(event: str, args: tuple[object, ...]) -> None:
    if _happened is not None and event.startswith(FORBIDDEN):
        _happened.append(f"{event} {args[0] if args else ''}")


sys.addaudithook(_audit)


@contextmanager
def nothing_but_reading() -> Iterator[None]:
    """Fails where a file is opened, a module imported or code run."""
    global _happened
    happened = _happened = []
    try:
        yield
    finally:
        _happened = None
    assert happened == []


class Clerk:
    name = "clerk"


@pytest.fixture(autouse=True, scope="module")
def types_of_events_are_known() -> None:
    """They are read from annotations, which are strings that Python compiles: once, when the first state is read."""
    for text in SEALED:
        RunState.from_string(Clerk(), text, state_key=KEY).to_string(state_key=KEY)


ODD: tuple[Callable[[Random], Any], ...] = (
    lambda random: None,
    lambda random: random.choice([True, False, 0, -1, 1.5, 2**31, -(2**63), 2**64, 10**300, 1e308, -0.0]),
    lambda random: random.choice(["", "clerk", "\0", "\ud800", "\udfff\ud800", "\u2028", "x" * 10_000, "c1", "__class__"]),
    lambda random: random.choice([[], {}, [[]], {"": {}}, [None], {"type": "message"}, {"__reduce__": ["os.system", "x"]}]),
    lambda random: nest(random.choice([10, 50, 200]), random.choice(["list", "dict", "nested", "shared"])),
)


def nest(depth: int, kind: str) -> Any:
    """Something deep, made without recursion."""
    value: Any = ["turn", []]
    for _ in range(depth):
        value = {"list": [value], "dict": {"data": value}, "nested": ["nested", "c1", value], "shared": [value, 0]}[kind]
    return value


def places(data: Any) -> list[tuple[Any, Any]]:
    """Every container of plain JSON with each of its keys or positions."""
    found: list[tuple[Any, Any]] = []
    waiting = [data]
    while waiting:
        outer = waiting.pop()
        inside = list(outer.items()) if isinstance(outer, dict) else list(enumerate(outer))
        for key, inner in inside:
            found.append((outer, key))
            if isinstance(inner, dict | list):
                waiting.append(inner)
    return found


def change_tree(random: Random, text: str) -> str:
    """Values swapped, removed, repeated, moved and replaced by odd ones, in one to three places."""
    data = json.loads(text)
    for _ in range(random.randint(1, 3)):
        outer, key = random.choice(places(data) or [(data, "version")])
        other, other_key = random.choice(places(data) or [(data, "version")])
        what = random.randrange(6)
        if what == 0:
            outer[key] = random.choice(ODD)(random)
        elif what == 1:
            outer[key] = json.loads(json.dumps(other[other_key]))
        elif what == 2:
            del outer[key]
        elif what == 3 and isinstance(outer, list):
            outer.insert(key, json.loads(json.dumps(random.choice([outer[key], other[other_key]]))))
        elif what == 4 and isinstance(outer, list):
            random.shuffle(outer)
        elif isinstance(outer, dict):
            outer[random.choice(["type", "seal", "id", "é", "__proto__", "version", str(key) + "x"])] = random.choice(ODD)(
                random
            )
    return json.dumps(data, ensure_ascii=random.random() < 0.5)


def change_values(random: Random, text: str) -> str:
    """Values replaced by others of their type: what a closed schema cannot notice."""
    data = json.loads(text)
    leaves = [(outer, key) for outer, key in places(data) if not isinstance(outer[key], dict | list)]
    for _ in range(random.randint(1, 4)):
        outer, key = random.choice(leaves)
        alike = [other[at] for other, at in leaves if type(other[at]) is type(outer[key])]
        odd = [value for make in ODD if type(value := make(random)) is type(outer[key])]
        outer[key] = random.choice(alike + odd)
    return json.dumps(data)


def change_events(random: Random, text: str) -> str:
    """Whole events left out, repeated, moved, nested, or taken from another run."""
    data = json.loads(text)
    other = json.loads(random.choice(TEXTS))["log"]
    for _ in range(random.randint(1, 4)):
        log = data["log"] if random.random() < 0.8 else data.setdefault("decisions", [])
        at = random.randint(0, len(log))
        what = random.randrange(4)
        if what == 0:
            del log[at : at + random.randint(1, 3)]
        elif what == 1:
            log[at:at] = other[random.randrange(len(other)) :][: random.randint(1, 3)]
        elif what == 2 and log:
            log.insert(at, log.pop(random.randrange(len(log))))
        elif log:
            log[at:at] = [["nested", random.choice(["c1", "c2", "c4"]), random.choice(log)]]
    return json.dumps(data)


def change_bytes(random: Random, text: str) -> bytes:
    """Bytes flipped, cut off, repeated or put in."""
    data = bytearray(text.encode())
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(data)) if data else 0
        what = random.randrange(5)
        if what == 0 and data:
            data[at] ^= 1 << random.randrange(8)
        elif what == 1:
            del data[at : at + random.choice([1, 2, 50, len(data)])]
        elif what == 2:
            data[at:at] = data[at : at + random.choice([1, 20, 200])]
        elif what == 3:
            data[at:at] = random.choice(
                [b"\0", b"\xff", b"\xed\xa0\x80", b"\\ud800", b"[" * 2_000, b'{"a":' * 2_000, b"9" * 400, b'"']
            )
        else:
            data[at : at + 1] = random.choice(
                [b",", b"[", b"]", b"{", b"}", b":", b"0", b"-", b"e9", b"null", b"NaN", b"Infinity"]
            )
    return bytes(data)


def double_a_key(random: Random, text: str) -> str:
    """A key given twice, before or after the one that counts."""
    keys = ("version", "log", "seal", "type", "role", "content", "call_id", "name", "arguments", "usage", "output")
    key = random.choice([key for key in keys if f'"{key}":' in text])
    parts = text.split(f'"{key}":')
    at = random.randrange(1, len(parts))
    value = json.dumps(random.choice([1, "", [], {}, "message", "function_call", "user", 2, parts[0][:10]]))
    parts[at] = f'{value},"{key}":{parts[at]}'
    return f'"{key}":'.join(parts)


def change_version(random: Random, text: str) -> str:
    version = random.choice(["0", "2", "-1", "1.0", "1e0", '"1"', "null", "[]", "true", str(2**80), "1" * 5000])
    return text.replace('"version":1', f'"version":{version}')


CHANGES: tuple[Callable[[Random, str], str | bytes], ...] = (
    change_tree,
    change_tree,
    change_values,
    change_values,
    change_events,
    change_events,
    change_bytes,
    change_bytes,
    double_a_key,
    change_version,
)


def load(text: str | bytes, key: bytes | None = None) -> RunState | str:
    """The run, or the name of the typed error that refused it. Any other error is a failure of the test."""
    with nothing_but_reading():
        try:
            return RunState.from_string(Clerk(), text, state_key=key)
        except StateError as error:
            assert len(str(error)) < 400, "a message never holds the state"
            return type(error).__name__


def assert_usable(state: RunState) -> None:
    """What a caller may do with a state that was taken: look at it, save it, load it again."""
    with nothing_but_reading():
        items = state.items()
        assert len(state.to_input_list()) == len(items)
        state.interruptions  # noqa: B018
        try:
            text = state.to_string()
        except UserError as error:
            assert "was begun with a state_key" in str(error), "one that had a seal is not saved without"
            return
        again = RunState.from_string(Clerk(), text)
    assert again.to_string() == text
    assert again.pieces() == state.pieces()


def test_a_mutated_state_is_refused_or_reads_the_same_again() -> None:
    outcomes: Counter[str] = Counter()
    for number in range(COUNT):
        random = Random(number)
        text = random.choice(CHANGES)(random, random.choice(TEXTS))
        try:
            loaded = load(text)
            if isinstance(loaded, RunState):
                assert_usable(loaded)
        except BaseException as error:
            error.add_note(f"mutation {number}: {text[:2000]!r}")
            raise
        outcomes[loaded if isinstance(loaded, str) else "taken"] += 1
    print(f"{COUNT} mutated states: {dict(outcomes)}")
    outcomes.pop("StateTamperedError", None)  # a key that was turned into "seal"
    assert set(outcomes) == {"taken", "StateCorruptError", "StateVersionError", "StateMismatchError"}


def test_a_mutated_state_never_passes_its_seal() -> None:
    originals = {text: RunState.from_string(Clerk(), text, state_key=KEY).pieces() for text in SEALED}
    for number in range(COUNT // 4):
        random = Random(-number - 1)
        original = random.choice(SEALED)
        text = random.choice(CHANGES)(random, original)
        try:
            loaded = load(text, KEY)
            if isinstance(loaded, RunState):
                assert loaded.pieces() == originals[original], "only the layout may differ"
        except BaseException as error:
            error.add_note(f"mutation {number}: {text[:2000]!r}")
            raise


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_state_that_is_cut_anywhere_is_refused(text: str) -> None:
    for length in range(0, len(text), 7):
        assert load(text[:length]) == "StateCorruptError"
    assert isinstance(load(text), RunState)


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_log_that_ends_anywhere_is_a_run_at_that_moment(text: str) -> None:
    data = json.loads(text)
    for length in range(1, len(data["log"]) + 1):
        loaded = load(json.dumps({"version": data["version"], "log": data["log"][:length]}))
        assert isinstance(loaded, RunState)
        assert unpaired(loaded.items()) == []
        assert_usable(loaded)
