"""What the adapter makes of each shape of reply, on a real socket.

What goes wrong whatever the protocol is in `test_faults.py`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentsdk import Agent, Runner, function_tool
from agentsdk.result import RunResultStreaming
from agentsdk.testing import ServerReply, call
from agentsdk.testing.responses_dialect import FakeResponsesServer
from agentsdk.types.deltas import OutputItemDone, ReasoningTextDelta, ResponseCompleted
from agentsdk.types.errors import (
    UnsupportedCallError,
)
from agentsdk.types.items import (
    FunctionCall,
    Message,
    OutputText,
    ProviderItem,
    Reasoning,
    Refusal,
)
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import Usage
from tests.models.openai_responses.replies import BOTH, CALL, TEXT, body, done, last, said
from tests.models.openai_responses.server import model_at
from tests.models.wire import ask, calls_of, events_of, request, shown_reasoning, shown_text

pytestmark = pytest.mark.anyio


# Good answers


@BOTH
async def test_text(streamed: bool) -> None:
    async with FakeResponsesServer(["Hello, wörld!\n"]) as server:
        events = await events_of(model_at(server), request(stream=streamed))
    final = events[-1]
    assert isinstance(final, ResponseCompleted)
    usage = Usage(requests=1, input_tokens=10, output_tokens=5)
    output = (Message("assistant", "Hello, wörld!\n", "msg_0"),)
    assert final.response == ModelResponse(output, usage, "stop", "resp_1", "scripted")
    assert shown_text(events) == ("Hello, wörld!\n" if streamed else "")


async def test_the_events_of_a_stream() -> None:
    reply: list[Any] = [Reasoning("", ("Hm so", "then")), Message("assistant", "I look."), call("add", a=1)]
    async with FakeResponsesServer([reply]) as server:
        events = await events_of(model_at(server), request(stream=True))
    assert [(event.type, getattr(event, "output_index", None)) for event in events] == [
        ("response.created", None),
        ("response.output_item.added", 0),
        *[("response.reasoning_text.delta", 0)] * 4,
        ("response.output_item.done", 0),
        ("response.output_item.added", 1),
        ("response.output_text.delta", 1),
        ("response.output_text.delta", 1),
        ("response.output_item.done", 1),
        ("response.output_item.added", 2),
        ("response.function_call_arguments.delta", 2),
        ("response.function_call_arguments.delta", 2),
        ("response.output_item.done", 2),
        ("response.completed", None),
    ]
    final = events[-1]
    assert isinstance(final, ResponseCompleted)
    assert [event.item for event in events if isinstance(event, OutputItemDone)] == list(final.response.output)
    thought = final.response.output[0]
    assert isinstance(thought, Reasoning)
    assert thought.text == shown_reasoning(events) == "Hm so\n\nthen"


@BOTH
async def test_everything_a_reply_holds(streamed: bool) -> None:
    search: dict[str, object] = {
        "id": "ws_1",
        "type": "web_search_call",
        "status": "completed",
        "action": {"type": "search", "query": "q"},
    }
    note: dict[str, object] = {"type": "url_citation", "url": "https://x", "start_index": 0, "end_index": 1}
    reply: list[Any] = [
        Reasoning("r", ("r",), "rs_1", encrypted="gAAA"),
        ProviderItem("any", search),
        Message("assistant", (OutputText("see", (note,)), Refusal("no more")), "msg_1"),
        FunctionCall("c1", "add", '{"a":1}', "fc_1"),
        FunctionCall("c2", "add", '{"a":2}', "fc_2"),
    ]
    async with FakeResponsesServer([reply]) as server:
        model = model_at(server)
        response = await ask(model, request(stream=streamed))
    assert response.output == (
        Reasoning("r", ("r",), "rs_1", encrypted="gAAA", provider=model.provider),
        ProviderItem(model.provider, search),
        *reply[2:],
    )
    assert response.finish == "tool_calls"


ANSWERED: dict[str, list[dict[str, Any]]] = {
    "web_search_call": [{"type": "web_search_call", "id": "ws_1"}],
    "mcp_call": [{"type": "mcp_call", "id": "m_1", "output": "x"}, {"type": "mcp_list_tools", "id": "l_1", "tools": []}],
    "shell_call": [
        {"type": "shell_call", "id": "s", "call_id": "c"},
        {"type": "shell_call_output", "id": "o", "call_id": "c", "output": []},
    ],
    "tool_search_call": [{"type": "tool_search_call", "id": "t", "call_id": "c", "execution": "server"}],
}
KINDS = {
    "mcp_approval_request": "mcp_approval",
    "computer_call": "computer",
    "local_shell_call": "shell",
    "shell_call": "shell",
    "apply_patch_call": "apply_patch",
    "custom_tool_call": "custom",
    "new_call": "new_call",
}


@BOTH
@pytest.mark.parametrize("beside", [[], [TEXT], [CALL], [*ANSWERED["shell_call"]]], ids=["alone", "text", "call", "answered"])
@pytest.mark.parametrize("item_type", KINDS)
async def test_a_call_that_nobody_can_answer_is_one_request_and_an_error(
    item_type: str, beside: list[Any], streamed: bool
) -> None:
    kind = KINDS[item_type]
    item = {"type": item_type, "id": "x_1"} | ({} if kind == "mcp_approval" else {"call_id": "x"})
    runs: list[str] = []

    @function_tool
    def add(a: int) -> str:
        runs.append("add")
        return ""

    usage = {"input_tokens": 3, "output_tokens": 2}
    async with FakeResponsesServer([said(body(*beside, item, usage=usage), streamed=streamed)]) as server:
        agent = Agent("a", model=model_at(server), tools=[add])
        with pytest.raises(UnsupportedCallError) as caught:
            await (Runner.run_streamed(agent, "x") if streamed else Runner.run(agent, "x"))
        if kind != "new_call":  # else the reply is recorded, and not asked for again
            with pytest.raises(UnsupportedCallError):
                await Runner.run(agent, caught.value.state)
    assert (caught.value.kind, len(server.requests), runs) == (kind, 1, [])
    assert caught.value.state.usage == Usage(1, 3, 2)


@BOTH
@pytest.mark.parametrize("kind", ANSWERED)
async def test_what_the_provider_ran_itself_is_fine(kind: str, streamed: bool) -> None:
    async with FakeResponsesServer([said(body(*ANSWERED[kind], TEXT), streamed=streamed)]) as server:
        agent = Agent("a", model=model_at(server))
        result = await (Runner.run_streamed(agent, "x") if streamed else Runner.run(agent, "x"))
    assert result.final_output == "a"


@BOTH
@pytest.mark.parametrize(
    "item",
    [
        {"type": "image_generation_call", "id": "i", "result": "aGk="},
        {"type": "code_interpreter_call", "id": "i", "code": "x", "outputs": [{"type": "image", "url": "https://x"}]},
    ],
    ids=lambda item: str(item["type"]),
)
async def test_a_reply_of_an_image_alone_is_an_answer(item: dict[str, Any], streamed: bool) -> None:
    async with FakeResponsesServer([said(body(item), streamed=streamed)]) as server:
        agent = Agent("a", model=model_at(server))
        result = await (Runner.run_streamed(agent, "x") if streamed else Runner.run(agent, "x"))
    assert (result.final_output, len(server.requests)) == ("", 1)
    assert [one.data for one in result.raw_responses[0].output if isinstance(one, ProviderItem)] == [item]


@BOTH
async def test_reasoning_of_open_models(streamed: bool) -> None:
    item = {"type": "reasoning", "id": "r", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]}
    delta = {"type": "response.reasoning_text.delta", "output_index": 0, "delta": "hm"}
    reply = body(item, TEXT)
    told = ServerReply(events=[delta, done(item), done(TEXT, 1), last(reply)]) if streamed else ServerReply(body=reply)
    async with FakeResponsesServer([told]) as server:
        events = await events_of(model_at(server), request(stream=streamed))
    final = events[-1]
    assert isinstance(final, ResponseCompleted)
    assert isinstance(thought := final.response.output[0], Reasoning)
    assert (thought.text, thought.summary, thought.id) == ("hm", (), "r")
    assert [event.delta for event in events if isinstance(event, ReasoningTextDelta)] == (["hm"] if streamed else [])


VENDORS: list[tuple[str, dict[str, Any], list[tuple[str, str, str]]]] = [
    ("no call id", {**CALL, "call_id": None}, [("fc_1", "add", '{"a":1}')]),
    ("no id at all", {**CALL, "call_id": "", "id": None}, [("call_req-7_0", "add", '{"a":1}')]),
    ("object arguments", {**CALL, "arguments": {"a": "é"}}, [("c1", "add", '{"a": "é"}')]),
    ("no arguments", {**CALL, "arguments": None}, [("c1", "add", "{}")]),
    ("text as text", {"type": "message", "content": "a"}, []),
    ("unknown fields", {**TEXT, "x": {"y": [1]}}, []),
]


@BOTH
@pytest.mark.parametrize(("item", "calls"), [pytest.param(*row[1:], id=row[0]) for row in VENDORS])
async def test_vendor_shapes(streamed: bool, item: dict[str, Any], calls: list[Any]) -> None:
    async with FakeResponsesServer([said(body(item), streamed=streamed)]) as server:
        response = await ask(model_at(server), request(stream=streamed))
    assert (calls_of(response), response.text) == (calls, "" if calls else "a")


async def test_a_last_event_without_the_items() -> None:
    nothing: list[Any] = []
    for output in (nothing, None):
        events = [done(TEXT), done(CALL, 1), last({**body(), "output": output})]
        async with FakeResponsesServer([ServerReply(events=events)]) as server:
            response = await ask(model_at(server), request(stream=True))
        assert (response.text, len(calls_of(response)), response.finish) == ("a", 1, "tool_calls")


async def test_an_event_named_only_by_its_frame() -> None:
    frame = b"event: response.completed\ndata: " + json.dumps({"response": body(TEXT)}).encode() + b"\n\n"
    async with FakeResponsesServer([ServerReply(events=[frame])]) as server:
        assert (await ask(model_at(server), request(stream=True))).text == "a"


async def test_a_whole_answer_to_a_request_for_a_stream() -> None:
    async with FakeResponsesServer([ServerReply(body=body(TEXT))]) as server:
        events = await events_of(model_at(server), request(stream=True))
    assert [event.type for event in events] == ["response.output_item.done", "response.completed"]


@BOTH
async def test_lone_surrogates_are_replaced(streamed: bool) -> None:
    text = json.dumps(body({**TEXT, "content": [{"type": "output_text", "text": "a\ud83d\ude00\ud83db"}]}))
    event = f'{{"type":"response.completed","response":{text}}}'
    told = ServerReply(events=[event]) if streamed else ServerReply(body=text.encode())
    async with FakeResponsesServer([told]) as server:
        assert (await ask(model_at(server), request(stream=streamed))).text == "a😀\ufffdb"


@BOTH
async def test_usage(streamed: bool) -> None:
    usage = Usage(1, 100, 20, cached_tokens=60, cache_write_tokens=7, reasoning_tokens=5)
    async with FakeResponsesServer([ModelResponse((Message("assistant", "a"),), usage)]) as server:
        assert (await ask(model_at(server), request(stream=streamed))).usage == usage


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": 5}, {"input_tokens": -1, "output_tokens": True}, []])
async def test_usage_of_any_shape(usage: Any) -> None:
    async with FakeResponsesServer([ServerReply(body=body(TEXT, usage=usage))]) as server:
        found = (await ask(model_at(server), request())).usage
    assert (found.requests, found.known, found.output_tokens) == (1, False, 0)


@BOTH
async def test_a_run_sends_reasoning_back_with_the_call_it_led_to(streamed: bool) -> None:
    @function_tool
    def add(a: int) -> int:
        """Add one."""
        return a + 1

    thought = Reasoning("r", ("r",), "rs_1", encrypted="gAAA")
    script: list[Any] = [[thought, FunctionCall("c1", "add", '{"a":1}', "fc_1")], "2", "bye"]
    async with FakeResponsesServer(script) as server:
        agent = Agent(name="A", model=model_at(server), tools=[add])
        run = Runner.run_streamed(agent, "hi") if streamed else await Runner.run(agent, "hi")
        if isinstance(run, RunResultStreaming):
            async for _ in run.stream_events():
                pass
        await Runner.run(agent, [*run.to_input_list(), {"role": "user", "content": "more"}])
    assert run.final_output == "2"
    inputs: list[Any] = [sent.json["input"] for sent in server.requests]
    assert inputs[1][:3] == [
        {"role": "user", "content": "hi"},
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "r"}],
            "encrypted_content": "gAAA",
        },
        {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a":1}', "id": "fc_1"},
    ]
    assert inputs[1] == inputs[2][:4]
    assert (inputs[1][3]["call_id"], inputs[1][3]["output"]) == ("c1", "2")
