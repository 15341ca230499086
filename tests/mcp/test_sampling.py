"""Sampling: a server asks the model of the run that calls it, where that is allowed, and the run pays within its limits."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from agentsdk import (
    Agent,
    MemoryRunStore,
    ModelError,
    ModelRequest,
    RunConfig,
    RunLimits,
    Runner,
    RunState,
    ToolAnswerItem,
    Usage,
)
from agentsdk.core.codec import decode_events
from agentsdk.errors import RequestLimitExceededError, StoreError
from agentsdk.events import AttemptSpent, ToolCheckpointed, ToolFinished
from agentsdk.items import Message
from agentsdk.mcp import MCPServerStdio
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.response import ModelResponse
from tests.engine.recorded import RUN_ID, stored

pytestmark = pytest.mark.anyio

ERAS = pytest.mark.parametrize("era", ["handshake", "modern"])
SERVER = str(Path(__file__).with_name("sampling_server.py"))


def samples(era: str, *more: str, **options: Any) -> MCPServerStdio:
    return MCPServerStdio({"command": sys.executable, "args": ["-S", SERVER, era, *more]}, **{"name": "samples", **options})


def agent(server: MCPServerStdio, *replies: Any) -> Agent[None, str]:
    return Agent[None, str](name="A", model=ScriptedModel([*replies, "done"]), toolsets=[server])


def requests(of: Agent[None, str]) -> list[ModelRequest]:
    assert isinstance(of.model, ScriptedModel)
    return of.model.requests


def outputs(result: Any) -> list[Any]:
    state = result if isinstance(result, RunState) else result.to_state()
    results = [event for event in state.value.log if isinstance(event, ToolFinished)]
    return [event.output for event in sorted(results, key=lambda event: event.call_id)]


def said(text: str, finish: Any = "stop") -> ModelResponse:
    return ModelResponse((Message("assistant", text),), Usage(1, 5, 5), finish, model="m")


@ERAS
async def test_it_is_off_unless_it_is_allowed(era: str) -> None:
    async with samples(era) as server:
        asking = agent(server, [call("sample"), call("abilities")])
        result = await Runner.run(asking, "go")
    refused, abilities = outputs(result)
    assert "sampling" not in json.loads(abilities)
    assert len(requests(asking)) == 2
    if era == "handshake":
        assert refused == "error -32600: Sampling not supported"
    else:
        assert "wants for its tool what it is not given here" in refused


@ERAS
async def test_the_runs_model_answers_and_is_shown_nothing_of_the_run(era: str) -> None:
    params = {"systemPrompt": "Be brief.", "maxTokens": 5_000, "temperature": 0.5, "stopSequences": ["END"]}
    async with samples(era, sampling_requests=1, sampling_max_tokens=200) as server:
        asking = agent(server, [call("sample", params=params), call("abilities")], said("A cat", "length"))
        result = await Runner.run(asking, "a secret")
    sampled, abilities = outputs(result)
    assert sampled == "A cat (m, maxTokens)"
    assert json.loads(abilities)["sampling"] == {}
    request = requests(asking)[1]
    assert (request.instructions, [*request.all_items]) == ("Be brief.", [Message("user", "What is it?", untrusted=True)])
    settings = request.settings
    assert (settings.max_tokens, settings.temperature, settings.stop, request.tools) == (200, 0.5, ("END",), ())
    assert (result.usage.requests, result.turns) == (3, 2)
    assert result.taint is not None and result.taint.tool == "sample"


@ERAS
async def test_a_server_may_ask_so_often_in_a_call_and_no_more(era: str) -> None:
    async with samples(era, sampling_requests=2) as server:
        asking = agent(server, call("sample", times=3), said("one"), said("two"))
        result = await Runner.run(asking, "go")
    [output] = outputs(result)
    says = "a call may ask 2 times at the most"
    if era == "handshake":
        assert output == f"one (m, endTurn)\ntwo (m, endTurn)\nerror -1: Sampling was refused: {says}"
    else:
        assert f"asked for the model for its tool, and was refused: {says}" in output
    assert len(requests(asking)) == 4


@ERAS
async def test_a_limit_of_the_run_refuses_it(era: str) -> None:
    async with samples(era, sampling_requests=1) as server:
        asking = agent(server, call("sample"))
        with pytest.raises(RequestLimitExceededError) as caught:
            await Runner.run(asking, "go", run_config=RunConfig(limits=RunLimits(requests=1)))
    assert isinstance(caught.value.state, RunState)
    assert "refused: the limits of the run do not allow it" in str(outputs(caught.value.state))


@ERAS
@pytest.mark.parametrize(
    ("params", "reply", "says"),
    [
        ({"messages": []}, None, "a request has messages, and 200000 characters at the most"),
        ({"systemPrompt": "a" * 200_000}, None, "a request has messages, and 200000 characters at the most"),
        ({"stopSequences": [""]}, None, "it asks for what the model does not take"),
        ({}, ModelError("down: key sk-1"), "the model gave no answer"),
    ],
    ids=["nothing", "too-long", "settings", "model"],
)
async def test_what_cannot_be_answered_is_refused_in_words(era: str, params: Any, reply: Any, says: str) -> None:
    async with samples(era, sampling_requests=1) as server:
        result = await Runner.run(agent(server, call("sample", params=params), *([reply] if reply else [])), "go")
    [output] = outputs(result)
    assert f"refused: {says}" in output and "sk-1" not in output


@ERAS
async def test_the_model_is_given_no_tools(era: str) -> None:
    tools = [{"name": "x", "inputSchema": {"type": "object"}}]
    async with samples(era, sampling_requests=1) as server:
        [output] = outputs(await Runner.run(agent(server, call("sample", params={"tools": tools})), "go"))
    expected = "error -32602: Sampling with tools is not supported" if era == "handshake" else "what it is not given here"
    assert expected in output


@ERAS
async def test_what_was_paid_is_not_paid_again_wherever_the_process_died(era: str) -> None:
    options = {"sampling_requests": 2, "trusted": True}  # a tool that only reads runs again
    async with samples(era, **options) as server:
        first = agent(server, call("sample", times=2), said("one"), said("two"))
        log = list((await Runner.run(first, "go", run_config=RunConfig(run_id=RUN_ID))).to_state().value.log)
        paid = [at for at, event in enumerate(log) if isinstance(event, ToolCheckpointed)]
        assert len(paid) == 2 and all(isinstance(log[at - 1], AttemptSpent) for at in paid)
        for cut in range(paid[0] + 1, len(log)):
            if cut == paid[1]:
                continue  # a request's cost and its answer are one append
            left = [said("two")] if cut < paid[1] else []
            result = await Runner.resume(agent(server, *left), RUN_ID, run_config=await stored(log[:cut]))
            assert outputs(result) == ["one (m, endTurn)\ntwo (m, endTurn)"]
            assert result.usage.requests == 4, f"cut at {cut}"


async def test_a_person_and_the_model_may_be_asked_at_once() -> None:
    async with samples("modern", sampling_requests=1) as server:
        asking = agent(server, call("sample", person=True), said("A cat"))
        paused = await Runner.run(asking, "go")
        [item] = paused.interruptions
        assert isinstance(item, ToolAnswerItem)
        state = RunState.from_string(asking, paused.to_state().to_string())
        state.answer(state.interruptions[0], {"name": "Ada"})
        result = await Runner.run(asking, state)
    assert outputs(result) == ['A cat (m, endTurn)\n{"name": "Ada"}']
    assert (result.usage.requests, len(requests(asking))) == (3, 3)


@ERAS
async def test_calls_of_one_reply_have_each_their_own_answers(era: str) -> None:
    async with samples(era, sampling_requests=1) as server:
        calls = [call("sample", params={"systemPrompt": name}) for name in "abc"]
        asking = agent(server, calls, *[said(name) for name in "xyz"])
        result = await Runner.run(asking, "go")
    answers = {request.instructions: name for request, name in zip(requests(asking)[1:], "xyz", strict=False)}
    assert outputs(result) == [f"{answers[name]} (m, endTurn)" for name in "abc"]
    checkpoints = [event for event in result.to_state().value.log if isinstance(event, ToolCheckpointed)]
    assert len({event.call_id for event in checkpoints}) == 3


async def test_outside_of_a_call_nobody_is_asked() -> None:
    async with samples("handshake", "early", sampling_requests=1) as server:
        tool, _ = await server.list_tools()
    assert "error -1: Sampling was refused: no call is under way that it could be for" in tool.description


async def test_a_store_that_fails_meanwhile_ends_the_run_and_nothing_hangs() -> None:
    class Broken(MemoryRunStore):
        async def append(self, run_id: str, expected_rev: int, events: Any, summary: Any) -> int:
            if any(isinstance(event, AttemptSpent) for event in decode_events(events)):
                raise StoreError("the disk is full")
            return await super().append(run_id, expected_rev, events, summary)

    async with samples("handshake", sampling_requests=1) as server:
        with pytest.raises(StoreError, match="the disk is full"):
            await Runner.run(agent(server, call("sample"), said("x")), "go", run_config=RunConfig(store=Broken(), run_id="r"))


class Stuck(ScriptedModel):
    """A model whose second request never ends, until it is cancelled."""

    def __init__(self, *replies: Any) -> None:
        super().__init__(replies)
        self.begun, self.ended = asyncio.Event(), asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Any, None]:
        if len(self.requests) == 1:
            self.requests.append(request)
            self.begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.ended.set()
        async for event in super().stream(request):
            yield event


@ERAS
async def test_a_call_that_is_cancelled_asks_no_longer(era: str) -> None:
    model = Stuck(call("sample"))
    async with samples(era, sampling_requests=1) as server:
        run = asyncio.ensure_future(Runner.run(Agent[None, str](name="A", model=model, toolsets=[server]), "go"))
        await model.begun.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert model.ended.is_set()
