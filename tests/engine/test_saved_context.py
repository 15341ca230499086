"""The user's context object: in the store only where they say how, and back when the run goes on."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import pytest

from agentsdk import (
    Agent,
    AgentsException,
    ContextCodec,
    MemoryRunStore,
    RunConfig,
    RunContextWrapper,
    Runner,
    StateError,
    UserError,
    function_tool,
)
from agentsdk.core.codec import decode_events
from agentsdk.errors import CallbackError, ModelConnectionError
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.events import ContextSaved

pytestmark = pytest.mark.anyio

CANARY = "canary-4711"


@dataclass
class Basket:
    owner: str
    count: int = 0


CODEC: ContextCodec[Basket] = ContextCodec(lambda basket: json.dumps(asdict(basket)), lambda text: Basket(**json.loads(text)))


def agent_with(*replies: Any) -> Agent[Basket, str]:
    async def add(ctx: RunContextWrapper[Basket], x: int) -> str:
        ctx.context.count += x
        return f"{ctx.context.owner} has {ctx.context.count}"

    return Agent("main", model=ScriptedModel(replies), tools=[function_tool(add)])


def config_of(store: MemoryRunStore, codec: ContextCodec[Any] | None = CODEC, **options: Any) -> RunConfig:
    return RunConfig(store=store, run_id="r", context_codec=codec, **options)


async def saved(store: MemoryRunStore) -> list[str]:
    return [event.data for event in decode_events(await store.read("r")) if isinstance(event, ContextSaved)]


async def test_without_a_codec_nothing_of_it_is_kept() -> None:
    store = MemoryRunStore()
    agent = Agent("main", model=ScriptedModel([call("look"), "done"]), tools=[function_tool(lambda: 1, name_override="look")])
    result = await Runner.run(agent, "go", context=Basket(CANARY), run_config=config_of(store, None))
    kept = [*await store.read("r"), repr(await store.summary("r")).encode(), result.to_state().to_string().encode()]
    assert not any(CANARY.encode() in one for one in kept)


async def test_it_is_saved_at_the_start_and_when_a_turn_has_changed_it() -> None:
    store = MemoryRunStore()

    async def ask(request: Any) -> Any:
        assert await saved(store) == ['{"owner": "ada", "count": 0}']
        return call("add", x=2)

    agent = agent_with(ask, call("add", x=0), call("add", x=3), "done")
    await Runner.run(agent, "go", context=Basket("ada"), run_config=config_of(store))
    assert await saved(store) == [f'{{"owner": "ada", "count": {count}}}' for count in (0, 2, 5)]


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_run_that_goes_on_has_it_again(streamed: bool) -> None:
    store = MemoryRunStore()
    with pytest.raises(ModelConnectionError):
        await Runner.run(
            agent_with(call("add", x=2), ModelConnectionError("gone")),
            "go",
            context=Basket("ada"),
            run_config=config_of(store),
        )
    resume = Runner.resume_streamed if streamed else Runner.resume
    result = await resume(agent_with(call("add", x=1), "done"), "r", run_config=config_of(store))
    assert result.context_wrapper.context == Basket("ada", 3)
    assert (await Runner.resume(agent_with(), "r", run_config=config_of(store))).context_wrapper.context == Basket("ada", 3)


async def test_a_context_given_on_resume_comes_before_the_saved_one() -> None:
    store = MemoryRunStore()
    with pytest.raises(ModelConnectionError):
        await Runner.run(agent_with(ModelConnectionError("gone")), "go", context=Basket("ada"), run_config=config_of(store))
    result = await Runner.resume(agent_with("done"), "r", context=Basket("bob", 7), run_config=config_of(store))
    assert result.context_wrapper.context == Basket("bob", 7)
    assert (await saved(store))[-1] == '{"owner": "bob", "count": 7}'


async def test_a_run_without_a_store_carries_it_in_its_state() -> None:
    config = RunConfig(context_codec=CODEC)
    with pytest.raises(ModelConnectionError) as caught:
        await Runner.run(
            agent_with(call("add", x=2), ModelConnectionError("gone")), "go", context=Basket("ada"), run_config=config
        )
    assert caught.value.state is not None
    result = await Runner.run(agent_with("done"), caught.value.state, run_config=config)
    assert result.context_wrapper.context == Basket("ada", 2)


async def test_text_that_json_cannot_carry_is_cleaned() -> None:
    store = MemoryRunStore()
    codec: ContextCodec[str] = ContextCodec(lambda text: text, lambda text: text)
    await Runner.run(Agent("main", model=ScriptedModel(["hi"])), "go", context="a\ud800b", run_config=config_of(store, codec))
    assert await saved(store) == ["a\ufffdb"]


def _raise(value: object) -> Any:
    raise ValueError(CANARY)


@pytest.mark.parametrize(
    ("codec", "error", "says"),
    [
        (ContextCodec(_raise, _raise), CallbackError, "context_codec.encode raised ValueError"),
        (ContextCodec(lambda context: 7, _raise), UserError, "context_codec.encode returned 'int'"),  # type: ignore[arg-type, return-value]
    ],
    ids=["raises", "no text"],
)
async def test_a_codec_that_cannot_write_stops_the_run_before_its_model(
    codec: ContextCodec[Any], error: type[AgentsException], says: str
) -> None:
    store, agent = MemoryRunStore(), agent_with()
    with pytest.raises(error, match=says) as caught:
        await Runner.run(agent, "go", context=Basket("ada"), run_config=config_of(store, codec))
    assert CANARY not in str(caught.value)
    assert await store.summary("r") is None, "a run begins with its context or not at all"
    result = await Runner.run(agent_with("done"), "go", context=Basket("ada"), run_config=config_of(store))
    assert result.final_output == "done"


async def test_a_codec_that_cannot_read_stops_the_resume_before_it_takes_the_run() -> None:
    store = MemoryRunStore()
    with pytest.raises(ModelConnectionError):
        await Runner.run(agent_with(ModelConnectionError("gone")), "go", context=Basket("ada"), run_config=config_of(store))
    before = await store.read("r")
    with pytest.raises(CallbackError, match="decode raised ValueError") as caught:
        await Runner.resume(agent_with(), "r", run_config=config_of(store, ContextCodec(lambda context: "", _raise)))
    assert CANARY not in str(caught.value) and not isinstance(caught.value, StateError)
    assert await store.read("r") == before
