"""Settings: what is given wins, what is None leaves the other."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.types.errors import UserError
from agentsdk.types.settings import ModelRetrySettings, ModelSettings, Thinking

OTHER: dict[str, Any] = {
    "temperature": 0.0,
    "top_p": 0.0,
    "frequency_penalty": 0.0,
    "presence_penalty": -1.0,
    "max_tokens": 1,
    "stop": (),
    "seed": 0,
    "tool_choice": "auto",
    "parallel_tool_calls": False,
    "reasoning_effort": "none",
    "thinking": False,
    "verbosity": "low",
    "top_k": 1,
    "logit_bias": {},
    "logprobs": False,
    "top_logprobs": 0,
    "service_tier": "auto",
    "store": False,
    "prompt_cache_key": "k",
    "prompt_cache_retention": "24h",
    "truncation": "disabled",
    "metadata": {},
    "extra_body": {},
    "extra_headers": {},
    "retry": ModelRetrySettings(max_retries=0),
}
"""A value for every field: where it may be, one that a careless test for truth would take for none."""

ALTERNATIVES = {"thinking": "reasoning_effort", "reasoning_effort": "thinking"}
some = (
    st.sets(st.sampled_from(sorted(OTHER)))
    .filter(lambda names: not names >= ALTERNATIVES.keys())
    .map(lambda names: ModelSettings(**{name: OTHER[name] for name in names}))
)
full = ModelSettings(temperature=1.0, top_p=0.5, max_tokens=9, stop=("x",), tool_choice="pay", extra_body={"a": 1})


def values(settings: ModelSettings) -> dict[str, object]:
    return {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}


def test_every_field_is_tried() -> None:
    assert set(OTHER) == {field.name for field in dataclasses.fields(ModelSettings)}
    assert set(values(ModelSettings()).values()) == {None}


@given(some | st.just(full), some | st.just(full))
def test_the_override_wins_where_it_gives_a_value(base: ModelSettings, override: ModelSettings) -> None:
    before = values(base)
    resolved = base.resolve(override)
    for name, value in values(override).items():
        replaced = getattr(override, ALTERNATIVES.get(name, ""), None) is not None
        assert getattr(resolved, name) == (before[name] if value is None and not replaced else value)
    assert values(base) == before


@pytest.mark.parametrize("nothing", [None, ModelSettings()])
def test_without_an_override_the_settings_stay_as_they_are(nothing: ModelSettings | None) -> None:
    assert full.resolve(nothing) is full


def test_an_effort_is_said_in_one_way() -> None:
    with pytest.raises(UserError, match="thinking and reasoning_effort"):
        ModelSettings(thinking=False, reasoning_effort="low")
    with pytest.raises(UserError, match="an effort and a budget"):
        Thinking(effort="low", budget=2000)


WRONG: list[dict[str, Any]] = [
    {"thinking": "much"},
    {"thinking": 4096},
    {"verbosity": "loud"},
    {"top_k": 0},
    {"logit_bias": {17: 1}},
    {"logit_bias": {"17": "1"}},
    {"logprobs": 1},
    {"top_logprobs": -1},
    {"service_tier": ""},
    {"store": "yes"},
    {"prompt_cache_key": ""},
    {"prompt_cache_retention": "2h"},
    {"truncation": True},
]


@pytest.mark.parametrize("given", WRONG, ids=str)
def test_a_wrong_value_is_named(given: dict[str, Any]) -> None:
    (field,) = given
    with pytest.raises(UserError, match=rf"ModelSettings\({field}="):
        ModelSettings(**given)


@pytest.mark.parametrize("given", [{"effort": "off"}, {"budget": 0}, {"budget": True}, {"summary": "long"}], ids=str)
def test_a_wrong_value_of_thinking_is_named(given: dict[str, Any]) -> None:
    (field,) = given
    with pytest.raises(UserError, match=rf"Thinking\({field}="):
        Thinking(**given)


def test_settings_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        full.temperature = 2.0  # type: ignore[misc]


def test_a_repr_names_headers_without_their_values() -> None:
    settings = ModelSettings(temperature=0.5, extra_headers={"x-tenant-key": "canary"})
    assert repr(settings) == "ModelSettings(temperature=0.5, extra_headers={'x-tenant-key': '***'})"
    assert settings.__rich_repr__() == [("temperature", 0.5), ("extra_headers", {"x-tenant-key": "***"})]
    assert repr(ModelSettings()) == "ModelSettings()"
