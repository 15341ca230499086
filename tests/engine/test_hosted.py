"""What a provider keeps. In a conversation there each item is sent once, wherever the run goes on."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from msgspec import structs

from agentsdk import (
    Agent,
    ContextWindow,
    MemoryRunStore,
    MemorySession,
    Message,
    ModelRequest,
    ModelResponse,
    ModelSettings,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    RunState,
    UserError,
    function_tool,
    handoff,
)
from agentsdk.errors import CallbackError, EmptyResponseError, NotFoundError
from agentsdk.models import Prompt, Tape
from agentsdk.testing import FakeResponsesServer, FakeServer, ScriptedModel, ServerReply, call
from agentsdk.types.hosted import ServerConversation
from agentsdk.types.items import FunctionCall, Item
from tests.scenarios import World, reloaded, tool_of

pytestmark = pytest.mark.anyio

IN_CONVERSATION = RunConfig(conversation_id="conv_1")
AFTER_A_REPLY = RunConfig(previous_response_id="resp_0")
BOTH = pytest.mark.parametrize("config", [IN_CONVERSATION, AFTER_A_REPLY], ids=["conversation", "reply"])


@function_tool(effect="none")
def add(a: int) -> str:
    """Add."""
    return "7"


@function_tool(needs_approval=True)
def pay(a: int) -> str:
    """Pay."""
    return "paid"


def calls(number: int, *names: str) -> ModelResponse:
    items = [FunctionCall(f"c{number}_{name}", name, f'{{"a": {number}}}') for name in names]
    return ModelResponse(tuple(items), finish="tool_calls", response_id=f"resp_{number}")


def said(text: str, number: int, finish: Any = "stop") -> ModelResponse:
    return ModelResponse((Message("assistant", text, f"msg_{number}"),), finish=finish, response_id=f"resp_{number}")


def agent_at(server: FakeServer, *tools: Any, **fields: Any) -> Agent[Any, Any]:
    model = OpenAIResponsesModel("gpt-test", base_url=server.base_url)
    return Agent("main", model=model, tools=tools, instructions="be kind", **fields)


def sent(server: FakeServer) -> list[tuple[Any, list[Any]]]:
    """Where each request went on from, and the texts or types that it sent."""
    bodies: list[Any] = [one.json for one in server.requests]
    return [
        (
            body.get("conversation") or body.get("previous_response_id"),
            [entry.get("content") or entry["type"] for entry in body["input"]],
        )
        for body in bodies
    ]


def goes_on_from(config: RunConfig, *replies: str) -> list[str]:
    """What the requests of a run name, of which so many follow a reply."""
    return ["conv_1"] * (1 + len(replies)) if config.conversation_id else ["resp_0", *replies]


@BOTH
@pytest.mark.parametrize("streamed", [False, True])
async def test_each_request_sends_what_is_new(config: RunConfig, streamed: bool) -> None:
    async with FakeResponsesServer([calls(1, "add"), calls(2, "add", "add"), said("seven", 3)]) as server:
        agent = agent_at(server, add)
        history: list[Any] = [Message("user", "one"), Message("assistant", "two"), Message("user", "go")]
        if streamed:
            run = Runner.run_streamed(agent, history, run_config=config)
            async for _ in run.stream_events():
                pass
            assert run.final_output == "seven"
        else:
            result = await Runner.run(agent, history, run_config=config)
            assert (result.final_output, result.last_response_id) == ("seven", "resp_3")
            assert [item["type"] for item in result.to_input_list()].count("message") == 4, "here the run is whole"
    assert sent(server) == list(
        zip(
            goes_on_from(config, "resp_1", "resp_2"),
            [["one", "two", "go"], ["function_call_output"], ["function_call_output"]],
            strict=True,
        )
    )
    bodies: list[Any] = [one.json for one in server.requests]
    assert all(body["store"] is True and body["instructions"] == "be kind" for body in bodies)


@BOTH
async def test_a_run_that_is_resumed_elsewhere_goes_on_there(config: RunConfig) -> None:
    async with FakeResponsesServer([calls(2, "add", "pay"), said("done", 3), said("more", 4)]) as server:
        agent = agent_at(server, add, pay)
        paused = await Runner.run(agent, "go", run_config=config)
        state = reloaded(agent, paused.to_state())
        state.approve(state.interruptions[0])
        state.add_input("and quickly")
        result = await Runner.run(agent_at(server, add, pay), reloaded(agent, state))
        assert result.final_output == "done"
        assert result.last_response_id is not None
        after = RunConfig(previous_response_id=result.last_response_id)
        assert (await Runner.run(agent, "again", run_config=after)).final_output == "more"
    first, second = goes_on_from(config, "resp_2")
    assert sent(server) == [
        (first, ["go"]),
        (second, ["function_call_output", "function_call_output", "and quickly"]),
        ("resp_3", ["again"]),
    ]


@BOTH
async def test_a_stored_run_goes_on_there_too(config: RunConfig) -> None:
    store = MemoryRunStore()
    stored = RunConfig(
        store=store, run_id="r", conversation_id=config.conversation_id, previous_response_id=config.previous_response_id
    )
    async with FakeResponsesServer([calls(1, "pay"), said("done", 2)]) as server:
        agent = agent_at(server, pay)
        await Runner.run(agent, "go", run_config=stored)
        bare = RunConfig(store=store)
        state = await Runner.load("r", run_config=bare)
        state.approve(state.interruptions[0])
        await Runner.decide(state, run_config=bare)
        assert (await Runner.resume(agent, "r", run_config=bare)).final_output == "done"
        replay = await Runner.replay(agent, "r", run_config=bare)
    assert sent(server)[1] == (goes_on_from(config, "resp_1")[1], ["function_call_output"])
    assert replay.divergence is None


async def test_another_input_begins_where_the_run_began() -> None:
    async with FakeResponsesServer([calls(1, "pay"), said("done", 2)]) as server:
        agent = agent_at(server, pay)
        state = (await Runner.run(agent, "go", run_config=AFTER_A_REPLY)).to_state()
        state.replace_input("stay")
        await Runner.run(agent, reloaded(agent, state))
    assert sent(server) == [("resp_0", ["go"]), ("resp_0", ["stay"])]


async def test_a_reply_without_an_id_is_no_place_to_go_on_from() -> None:
    model = ScriptedModel([ModelResponse((call("add", a=1),), finish="tool_calls"), "done"])
    await Runner.run(Agent("main", model=model, tools=[add]), "go", run_config=AFTER_A_REPLY)
    places = [request.conversation for request in model.requests]
    assert [(place.previous_response_id, place.held) for place in places if place] == [("resp_0", 0)] * 2


async def test_a_fork_goes_on_from_its_own_last_reply() -> None:
    config = RunConfig(store=MemoryRunStore(), run_id="r", previous_response_id="resp_0")
    async with FakeResponsesServer([calls(1, "pay"), said("done", 2)]) as server:
        agent = agent_at(server, pay)
        await Runner.run(agent, "go", run_config=config)
        fork = await Runner.fork("r", run_config=config)
        state = await Runner.load(fork, run_config=config)
        state.reject(state.interruptions[0])
        assert (await Runner.run(agent, state)).final_output == "done"
    assert sent(server)[1] == ("resp_1", ["function_call_output"])


async def test_a_conversation_cannot_be_forked() -> None:
    config = RunConfig(store=MemoryRunStore(), run_id="r", conversation_id="conv_1")
    await Runner.run(Agent("main", model=ScriptedModel(["hi"])), "go", run_config=config)
    with pytest.raises(UserError, match="cannot be forked"):
        await Runner.fork("r", run_config=config)


async def test_a_conversation_is_asked_for_nothing_twice() -> None:
    async with FakeResponsesServer(
        [said("long", 1, "length"), ServerReply(body={"id": "r", "status": "completed", "output": []})]
    ) as server:
        cut = await Runner.run(agent_at(server), "go", run_config=IN_CONVERSATION)
        assert (cut.final_output, cut.truncated) == ("long", True)
        with pytest.raises(EmptyResponseError, match=r"gave agent 'main' nothing, asked 1 time\(s\)"):
            await Runner.run(agent_at(server), "go", run_config=IN_CONVERSATION)
    assert len(server.requests) == 2


async def test_a_nested_run_is_not_part_of_it() -> None:
    helper = Agent("helper", model=ScriptedModel(["ok"]))
    model = ScriptedModel([call("helper", input="x"), "done"])
    await Runner.run(Agent("main", model=model, tools=[helper.as_tool()]), "go", run_config=AFTER_A_REPLY)
    assert isinstance(helper.model, ScriptedModel)
    assert [request.conversation for request in helper.model.requests] == [None]
    assert model.requests[1].conversation is not None


async def test_a_handover_stays_in_it() -> None:
    async with FakeResponsesServer([calls(1, "transfer_to_other"), said("here", 2)]) as server:
        other = Agent("other", model=OpenAIResponsesModel("gpt-other", base_url=server.base_url))
        await Runner.run(agent_at(server, handoffs=[other]), "go", run_config=AFTER_A_REPLY)
    assert sent(server) == [("resp_0", ["go"]), ("resp_1", ["function_call_output"])]


# What does not go with it


def drop(data: Any) -> Any:
    return dataclasses.replace(data, input_history=())


async def test_a_changed_history_is_refused() -> None:
    async with FakeResponsesServer([calls(1, "transfer_to_other")]) as server:
        agent = agent_at(server, handoffs=[handoff(agent_at(server).clone(name="other"), input_filter=drop)])
        with pytest.raises(UserError, match=r"history of run .* was changed"):
            await Runner.run(agent, "go", run_config=AFTER_A_REPLY)


@BOTH
async def test_a_filter_may_change_all_but_the_items(config: RunConfig) -> None:
    def louder(request: Any) -> Any:
        return structs.replace(request, instructions="be loud")

    def fewer(request: Any) -> Any:
        return structs.replace(request, items=[Message("user", "no")])

    model = ScriptedModel(["hi"])
    await Runner.run(Agent("main", model=model), "go", run_config=dataclasses.replace(config, call_model_input_filter=louder))
    assert model.requests[0].instructions == "be loud"
    with pytest.raises(UserError, match="the provider keeps some"):
        await Runner.run(
            Agent("main", model=model), "go", run_config=dataclasses.replace(config, call_model_input_filter=fewer)
        )


@pytest.mark.parametrize("way", ["run", "run_streamed", "submit"])
@BOTH
async def test_a_session_is_refused(config: RunConfig, way: str) -> None:
    config = dataclasses.replace(config, store=MemoryRunStore())
    with pytest.raises(UserError, match="a session for a conversation"):
        started: Any = getattr(Runner, way)(Agent("main", model="m"), "go", session=MemorySession("s"), run_config=config)
        await started


async def test_settings_that_contradict_are_refused_where_they_are_given() -> None:
    with pytest.raises(UserError, match="a conversation_id and a previous_response_id"):
        RunConfig(conversation_id="c", previous_response_id="r")
    for field in ("conversation_id", "previous_response_id"):
        with pytest.raises(UserError, match="a window for a conversation"):
            RunConfig(window=ContextWindow(size=9_000), **{field: "x"})  # type: ignore[arg-type]
        with pytest.raises(UserError, match=f"{field}=''"):
            RunConfig(**{field: ""})  # type: ignore[arg-type]


async def test_a_reply_that_is_gone_is_an_error() -> None:
    gone = ServerReply(status=404, body={"error": {"message": "no such response"}})
    async with FakeResponsesServer([gone]) as server:
        with pytest.raises(NotFoundError) as caught:
            await Runner.run(agent_at(server), "go", run_config=AFTER_A_REPLY)
    assert isinstance(caught.value.state, RunState)


@BOTH
async def test_the_reply_must_be_kept_for_another_to_follow_it(config: RunConfig) -> None:
    async with FakeResponsesServer([said("hi", 1)]) as server:
        agent = agent_at(server, model_settings=ModelSettings(store=False))
        if config.conversation_id:
            await Runner.run(agent, "go", run_config=config)
            body: Any = server.requests[0].json
            assert body["store"] is False
            return
        with pytest.raises(UserError, match=r"store=False\) does not go with a run with a previous_response_id"):
            await Runner.run(agent, "go", run_config=config)


async def test_the_models_own_server_history_gives_way() -> None:
    async with FakeResponsesServer([calls(1, "add"), said("hi", 2)]) as server:
        model = OpenAIResponsesModel("gpt-test", base_url=server.base_url, store=True, server_history=True)
        await Runner.run(Agent("main", model=model, tools=[add]), "go", run_config=IN_CONVERSATION)
    assert sent(server) == [("conv_1", ["go"]), ("conv_1", ["function_call_output"])]
    assert "previous_response_id" not in server.requests[1].json


async def test_what_is_counted_is_what_is_sent() -> None:
    items: list[Item] = [Message("user", "one"), Message("assistant", "two"), Message("user", "three")]
    async with FakeResponsesServer([ServerReply(body={"input_tokens": 3})]) as server:
        model = OpenAIResponsesModel("gpt-test", base_url=server.base_url)
        await model.count_tokens(ModelRequest(Tape(items), conversation=ServerConversation("conv_1", held=2)))
    assert sent(server) == [("conv_1", ["three"])]


# Prompts


async def test_a_prompt_may_be_a_function_called_each_turn() -> None:
    def prompt(ctx: Any, agent: Agent[Any, Any]) -> Prompt:
        return Prompt("pmpt_1", "2", {"requests": f"{agent.name} {ctx.context} {ctx.usage.requests}"})

    model = ScriptedModel([call("add", x=1), "", "sum"])
    agent = Agent("main", model=model, instructions="Add.", prompt=prompt, tools=[tool_of(World(), "add")])
    await Runner.run(agent, "go", context="ada")
    prompts = [request.prompt for request in model.requests]
    assert [given and given.variables for given in prompts] == [{"requests": f"main ada {n}"} for n in (0, 1, 1)]
    assert [request.instructions for request in model.requests] == ["Add."] * 3
    assert prompts[1] is prompts[2], "it is asked for once a turn"


async def test_a_prompt_that_is_none_or_fails_is_typed() -> None:
    def fails(ctx: Any, agent: Any) -> Prompt:
        raise ConnectionError

    with pytest.raises(CallbackError, match="prompt of agent 'main' raised ConnectionError"):
        await Runner.run(Agent("main", model=ScriptedModel(["hi"]), prompt=fails), "go")
    agent = Agent("main", model=ScriptedModel(["hi"]), prompt=lambda ctx, agent: "pmpt_1")  # type: ignore[arg-type,return-value]
    with pytest.raises(UserError, match="prompt of agent 'main' returned 'str', expected a Prompt"):
        await Runner.run(agent, "go")
    with pytest.raises(UserError, match=r"agent 'main' has prompt='pmpt_1', expected a Prompt"):
        Agent("main", prompt="pmpt_1")  # type: ignore[arg-type]
