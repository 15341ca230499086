"""Saved runs: the round trip, the seal, and what is refused without showing a value."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.core import migrations
from agentsdk.core.codec import VERSION, SavedRun, decode, decode_events, decode_value, encode, encode_event, to_json
from agentsdk.core.state import fold
from agentsdk.types.errors import StateCorruptError, StateError, StateTamperedError, StateVersionError, UserError
from agentsdk.types.events import LimitReachedEvent, RunEvent, RunStarted, Stopped
from agentsdk.types.items import Message, ProviderItem
from tests.core.histories import logs

KEY = b"0123456789abcdef0123456789abcdef"
LOG: tuple[RunEvent, ...] = (RunStarted("run", "first", (Message("user", "secret"),), 0, 1.0), LimitReachedEvent("turns"))


@given(logs(), st.sampled_from([None, KEY]))
def test_a_run_reads_as_it_was_written(log: list[RunEvent], key: bytes | None) -> None:
    cut = len(log) // 2
    text = encode(tuple(log[:cut]), tuple(log[cut:]), key)
    saved = decode(text, key)
    assert (saved.log, saved.decisions) == (tuple(log[:cut]), tuple(log[cut:]))
    assert encode(saved.log, saved.decisions, key) == text
    assert decode(text.decode(), key) == saved
    assert json.loads(text) == to_json(text)
    assert fold(saved.log) == fold(log[:cut])


@given(logs())
def test_a_seal_holds_whatever_another_program_does_to_the_layout(log: list[RunEvent]) -> None:
    data = to_json(encode(tuple(log), (), KEY))
    for text in (json.dumps(data), json.dumps(data, indent=2, sort_keys=True), json.dumps(dict(reversed(data.items())))):
        assert decode(text, KEY).log == tuple(log)


def mutations(data: Any) -> list[Any]:
    """Every way to change one leaf, leave out one entry or repeat one, anywhere in plain JSON."""
    changed: list[Any] = []
    if isinstance(data, dict):
        for key, value in data.items():
            rest = {other: data[other] for other in data if other != key}
            changed += [rest, {**rest, f"{key}x": value}, *({**data, key: inner} for inner in mutations(value))]
    elif isinstance(data, list):
        for position, value in enumerate(data):
            before, after = data[:position], data[position + 1 :]
            changed += [[*before, *after], [*before, value, value, *after]]
            changed += [[*before, inner, *after] for inner in mutations(value)]
    elif isinstance(data, bool):
        changed.append(not data)
    elif isinstance(data, str):
        changed += [data + "x", data[:-1] if data else "y", None]
    elif isinstance(data, int | float):
        changed += [-data - 1, str(data)]
    else:
        changed.append(0)
    return changed


@given(logs(), st.randoms(use_true_random=False))
def test_any_change_of_a_sealed_state_is_refused(log: list[RunEvent], random: Random) -> None:
    changes = mutations(to_json(encode(tuple(log[:5]), tuple(log[5:7]), KEY)))
    for changed in random.sample(changes, min(15, len(changes))):
        with pytest.raises(StateError) as caught:
            decode(json.dumps(changed), KEY)
        assert isinstance(caught.value, StateTamperedError | StateCorruptError | StateVersionError)


@pytest.mark.parametrize("seal", ["", "0" * 64, "é", 1, None, ["x"], {"a": 1}])
def test_only_the_seal_of_the_key_fits(seal: object) -> None:
    data = to_json(encode(LOG, (), KEY))
    with pytest.raises(StateTamperedError, match="expected the state_key it was saved with"):
        decode(json.dumps({**data, "seal": seal}), KEY)
    with pytest.raises(StateTamperedError):
        decode(encode(LOG, (), KEY), KEY[::-1])
    with pytest.raises(StateTamperedError):
        decode(encode(LOG, (), None), KEY)


@pytest.mark.parametrize("key", [b"", b"secret", KEY[1:]])
def test_a_key_that_seals_nothing_is_refused(key: bytes) -> None:
    for use in (lambda: encode(LOG, (), key), lambda: decode(encode(LOG, (), KEY), key)):
        with pytest.raises(UserError, match=f"state_key has {len(key)} bytes, expected at least 32") as caught:
            use()
        assert "secret'" not in str(caught.value)


@pytest.mark.parametrize("value", [object(), "\ud800", {1: {2: {object()}}}], ids=["object", "surrogate", "inside"])
@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "sealed"])
def test_what_json_cannot_carry_is_refused_when_it_is_saved(value: Any, key: bytes | None) -> None:
    log = (RunStarted("run", "first", (ProviderItem("p", {"x": value}),), 0, 1.0),)
    with pytest.raises(StateError, match="the run holds what JSON cannot carry"):
        encode(log, (), key)


def test_a_sealed_state_is_not_read_without_its_key() -> None:
    with pytest.raises(StateTamperedError, match="is sealed, expected its state_key"):
        decode(encode(LOG, (), KEY), None)


def test_keys_are_rotated_by_giving_several() -> None:
    other = KEY[::-1]
    assert decode(encode(LOG, (), KEY), [other, KEY]).log == LOG
    assert encode(LOG, (), [other, KEY]) == encode(LOG, (), other) != encode(LOG, (), KEY)
    with pytest.raises(StateTamperedError):
        decode(encode(LOG, (), KEY), [other])


@pytest.mark.parametrize("key", [[], [KEY, b"short"], "x" * 32, [7], 7], ids=repr)
def test_what_is_no_key_is_refused(key: Any) -> None:
    for use in (lambda: encode(LOG, (), key), lambda: decode(encode(LOG, (), None), key)):
        with pytest.raises(UserError, match="state_key") as caught:
            use()
        assert "short" not in str(caught.value) and "xxx" not in str(caught.value)


def test_of_a_key_given_twice_what_is_sealed_is_what_is_read() -> None:
    text = encode(LOG, (), KEY).decode()
    forged = '"log":' + json.dumps(to_json(encode((LOG[0], Stopped("forged")), (), None))["log"])
    for doubled in (text.replace('"log":', f'{forged},"log":', 1), f"{text[:-1]},{forged}}}"):
        try:
            saved = decode(doubled, KEY)
        except StateTamperedError:
            continue
        assert saved.log == LOG
    part = '{"type":"message","role":"user","content":"secret"}'
    assert part in text
    for doubled in (part.replace('"content"', '"content":"other","content"'), part[:-1] + ',"content":"other"}'):
        try:
            saved = decode(text.replace(part, doubled), KEY)
        except StateTamperedError:
            continue
        assert saved.log == LOG


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "1",
        "secret",
        '"secret"',
        "{}",
        '{"version":1}',
        '{"version":"1","log":[]}',
        '{"version":1,"log":{}}',
        '{"version":1,"log":[],"secret":"secret"}',
        '{"version":1,"log":[["secret"]]}',
        '{"version":1,"log":[["limit",7]]}',
        '{"version":1,"log":[["limit","turns",["secret"]]]}',
        '{"version":1,"log":[["limit","\\ud800"]]}',
        '{"version":1,"log":[["limit","\ud800"]]}',
        b'{"version":1,"log":[["limit","\xff"]]}',
        '{"version":1,"log":[["started","r","a",[{"type":"secret"}],0,1.0]]}',
        '{"version":1,"log":[["started","r","a",[],0,1e999]]}',
        '{"version":1,"log":[["started","r","a",[],0,NaN]]}',
        '{"version":0,"log":[]}',
        '{"version":-1,"log":[]}',
        '{"version":1,"log":' + "[" * 100_000,
        '{"version":1,"log":' + '[["nested","a",' * 100_000,
        None,
        7,
    ],
    ids=repr,
)
@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "sealed"])
def test_what_is_no_saved_run_is_refused_without_showing_it(text: Any, key: bytes | None) -> None:
    for same in (text, text.replace('"version":1', f'"version":{VERSION}') if isinstance(text, str) else text):
        with pytest.raises(StateCorruptError, match=r"expected what RunState\.to_string|never existed") as caught:
            decode(same, key)
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None


@pytest.mark.parametrize("rest", ["", ',"log":[]', ',"log":[["event of tomorrow"]],"more":1'])
@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "sealed"])
def test_a_newer_version_is_named_whatever_it_holds(rest: str, key: bytes | None) -> None:
    with pytest.raises(StateVersionError, match=f"version {VERSION + 1}, expected at most {VERSION}"):
        decode(f'{{"version":{VERSION + 1}{rest}}}', key)


def test_where_a_state_is_broken_is_named_by_its_path() -> None:
    with pytest.raises(StateCorruptError, match=r"ValidationError at `\$\.log\[0\]\[3\]\[0\]\.role`"):
        decode('{"version":1,"log":[["started","r","a",[{"type":"message","role":"secret","content":""}],0,1.0]]}', None)


def test_a_run_in_json_is_plain_data_in_the_closed_schema() -> None:
    data = to_json(encode((RunStarted("run", "first", (ProviderItem("p", {"x": [1]}),), 0, 1.0),), (), None))
    item = {"type": "provider_item", "provider": "p", "data": {"x": [1]}}
    assert data == {
        "version": VERSION,
        "log": [["started", "run", "first", [item], 0, 1.0, "", "", 0, [], {}, 0, 0.0, "", "", ""]],
    }
    assert msgspec.json.decode(msgspec.json.encode(data), type=SavedRun).version == VERSION


@given(logs())
def test_events_read_one_by_one_are_those_of_the_whole(log: list[RunEvent]) -> None:
    stored = [encode_event(event) for event in log]
    assert decode_events(stored) == tuple(log)
    assert [json.loads(record)[1] for record in stored] == to_json(encode(tuple(log), (), None))["log"]


@pytest.mark.parametrize(
    "record",
    [
        *(b"", b"\xff", b"{}", b"[]", b"[1]", b"1", b'[1,["turn",[]],2]', b'["1",["turn",[]]]', b"[" * 100_000),
        *(b'[1,["no such event"]]', b'[1,["started","secret"]]', b'[1,["result","c","secret",7]]', b'[0,["turn",[]]]'),
    ],
)
def test_what_is_no_stored_event_is_refused_without_its_value(record: bytes) -> None:
    good = encode_event(LOG[0])
    for same in (record, record.replace(b"[1,[", b"[%d,[" % VERSION)):
        with pytest.raises(StateCorruptError) as raised:
            decode_events([good, same])
        assert "secret" not in str(raised.value)


def test_a_stored_event_of_a_newer_version_is_refused() -> None:
    record = json.loads(encode_event(LOG[1]))[1]
    for newer in ([record], [["something new"]], [[*record, "more", {"a": 1}]], [record, "more"], [{"an": "object"}], []):
        with pytest.raises(StateVersionError, match=f"version {VERSION + 1}, expected at most {VERSION}"):
            decode_events([json.dumps([VERSION + 1, *newer]).encode()])


def test_a_stored_event_of_an_older_version_is_lifted(monkeypatch: pytest.MonkeyPatch) -> None:
    lifted: dict[int, Any] = {VERSION - 1: lambda data: {"version": VERSION, "log": [["limit", *data["log"][0][1:]]]}}
    monkeypatch.setattr(migrations, "STEPS", lifted)
    stored = [json.dumps([VERSION - 1, [name, "turns"]]).encode() for name in ("old name", "limit")]
    assert decode_events([*stored, encode_event(LimitReachedEvent("turns"))]) == (LimitReachedEvent("turns"),) * 3


def test_an_event_that_json_cannot_carry_is_refused() -> None:
    with pytest.raises(StateError, match="cannot carry"):
        encode_event(Stopped("\ud800"))


def test_a_value_that_an_event_holds_as_text_is_read() -> None:
    assert decode_value('{"a": [1, null]}') == {"a": [1, None]}


@pytest.mark.parametrize("text", ["", "secret", "[", "[" * 100_000, '"\ud800"', "NaN"])
def test_text_that_is_no_json_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(StateCorruptError, match="text that is no JSON") as caught:
        decode_value(text)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
