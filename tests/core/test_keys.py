"""Keys are equal only where all they are made of is, whatever text the ids hold."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from agentsdk.core.arguments import canonical_arguments
from agentsdk.core.keys import (
    approval_key,
    call_key,
    digest,
    header_key,
    request_id,
    request_prefix,
    validator_run_id,
    validator_run_prefix,
)
from agentsdk.types.items import FunctionCall
from agentsdk.types.text import clean_text

HOSTILE = st.text(st.sampled_from('/-0123456789:a."\\,[]\r\n\0é\ud83d\ude00😀'), max_size=6) | st.text(max_size=4)
PATHS = st.lists(HOSTILE, max_size=3).map(tuple)
CALLS = st.tuples(HOSTILE, PATHS, HOSTILE)
REQUESTS = st.tuples(HOSTILE, PATHS, st.integers(1, 99), st.integers(0, 12), st.integers(0, 12))


def id_of(run_id: str, path: tuple[str, ...], *rest: Any) -> str:
    return request_id(request_prefix(run_id, path), *rest)


@given(CALLS, CALLS)
@example(("run", ("a",), "c"), ("run", (), "a/c"))
@example(("order", (), "17/x"), ("order/17", (), "x"))
@example(("r", ("1:a",), "b"), ("r", ("1",), "a1:b"))
@example(("r", (), "\ud83d\ude00"), ("r", (), "😀"))
def test_two_calls_share_a_key_only_if_they_are_one(one: Any, other: Any) -> None:
    assert (call_key(1, *one) == call_key(1, *other)) == (one == other)
    assert re.fullmatch("[0-9a-f]{40}", call_key(1, *one))


@given(CALLS, HOSTILE, HOSTILE)
@example(("r", (), "c"), '{"a": 1}', '{"a":1}')
@example(("r", ("c",), '{"a":1}'), '{"a":1}', "")
def test_a_call_with_edited_arguments_is_another_call(call: Any, one: str, other: str) -> None:
    run_id, path, call_id = call
    same = canonical_arguments(one) == canonical_arguments(other)
    assert (call_key(1, *call, one) == call_key(1, *call, other)) == same
    assert call_key(0, *call, one) == call_key(1, *call, one) != call_key(1, run_id, (*path, call_id), one)
    assert call_key(1, *call, one) != call_key(1, *call)


KINDS = st.sampled_from(["shell", "custom", "mcp_approval"])


@given(st.tuples(KINDS, HOSTILE, HOSTILE), st.tuples(KINDS, HOSTILE, HOSTILE))
@example(("custom", "a", "b c"), ("custom", "a b", "c"))
def test_an_approval_is_for_a_call_of_one_kind_and_namespace(one: Any, other: Any) -> None:
    keys = [
        approval_key(1, "run", (), FunctionCall("c", name, "{}", kind=kind, namespace=namespace))
        for kind, namespace, name in (one, other)
    ]
    assert (keys[0] == keys[1]) == (tuple(map(clean_text, one)) == tuple(map(clean_text, other)))
    assert keys[0] != approval_key(1, "run", (), FunctionCall("c", one[2], "{}"))


TEXTS = HOSTILE.map(clean_text)
VALIDATIONS = st.tuples(st.integers(1, 99), TEXTS, st.integers(0, 3), TEXTS, TEXTS, st.integers(0, 3))


@given(VALIDATIONS, VALIDATIONS)
@example((1, "v", 0, "a:b", "x", 0), (1, "v:a", 0, "b", "x", 0))
def test_two_runs_of_validators_share_an_id_only_if_they_are_one(one: Any, other: Any) -> None:
    assert (validator_run_id(*one) == validator_run_id(*other)) == (one == other)
    assert validator_run_id(*one).startswith(validator_run_prefix(one[1], one[3]))


@given(REQUESTS, REQUESTS)
@example(("user", (), 1, 1, 0), ("user-1", (), 1, 0, 0))
@example(("r", (), 1, 2, 0), ("r", (), 12, 0, 0))
@example(("r", (), 1, 0, 1), ("r", (), 1, 1, 0))
def test_two_requests_share_an_id_only_if_they_are_one(one: Any, other: Any) -> None:
    assert (id_of(*one) == id_of(*other)) == (one == other)
    assert re.fullmatch(r"[0-9a-z-]{42,80}", id_of(*one))


@given(HOSTILE, PATHS, HOSTILE, st.integers(1, 9))
def test_a_call_and_a_request_never_share_one(run_id: str, path: tuple[str, ...], call_id: str, turn: int) -> None:
    place = (*path, call_id)
    assert call_key(1, run_id, path, call_id) not in (id_of(run_id, place, turn), request_prefix(run_id, place))


@given(HOSTILE | st.just("x" * 200_000), HOSTILE)
@example(f"sha256:{digest('header', 'ä')}", "ä")
def test_a_header_is_short_plain_and_of_one_id_alone(one: str, other: str) -> None:
    assert (header_key(one) == header_key(other)) == (one == other)
    assert re.fullmatch(r"[A-Za-z0-9_.:-]{1,128}", header_key(one))


def test_an_id_that_is_fit_for_a_header_stands_as_it_is() -> None:
    assert header_key("req-7") == "req-7"
    assert header_key(id_of("ä", (), 1)) == id_of("ä", (), 1)


def test_a_run_of_before_keys_were_hashed_keeps_the_keys_it_began_with() -> None:
    assert call_key(0, "r", ("a", "b"), "c") == "r/a/b/c"


def test_keys_are_the_same_in_every_process() -> None:
    assert call_key(1, "r", ("a",), "c") == "b8963ecd227beb6e75f51e64ae077632e8a5ae73"
    assert request_id(request_prefix("r", ("a",)), 2, 1) == "2d2169b8d3442175a62fd96ff6382941cf74c767-2-1"


def test_a_plain_run_id_of_the_length_that_runs_get_stands_for_itself() -> None:
    plain = "0123456789abcdef"
    assert request_prefix(plain, ()) == plain
    for run_id, path in [(plain, ("",)), (plain, (plain,)), (plain + "0", ()), ("é" * 16, ()), ("0123456789abcde-", ())]:
        assert len(request_prefix(run_id, path)) == 40
