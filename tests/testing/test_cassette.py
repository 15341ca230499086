from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from agentsdk import Agent, Runner, function_tool
from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.ports.model import Model, ModelRequest
from agentsdk.testing import (
    CassetteCorruptError,
    CassetteError,
    CassetteExhaustedError,
    CassetteMismatchError,
    CassetteVersionError,
    FakeOpenAIServer,
    RecordingModel,
    ReplayModel,
    ScriptedModel,
    call,
)
from agentsdk.types import deltas
from agentsdk.types.deltas import ModelStreamEvent, OutputTextDelta, ResponseCompleted
from agentsdk.types.errors import (
    ContentFilterError,
    IncompleteResponseError,
    ModelError,
    ModelRefusalError,
    RateLimitError,
    UserError,
)
from agentsdk.types.items import (
    FunctionCall,
    FunctionCallOutput,
    InputImage,
    InputText,
    Item,
    Message,
    OutputText,
    ProviderItem,
    Reasoning,
    Refusal,
)
from agentsdk.types.response import ModelResponse
from agentsdk.types.settings import ModelRetrySettings, ModelSettings
from agentsdk.types.spec import OutputSpec, ToolSpec
from agentsdk.types.tape import Tape
from agentsdk.types.usage import Usage


def request(*items: Item, **fields: Any) -> ModelRequest:
    return ModelRequest(Tape(items or (Message("user", "Hi"),)), **fields)


async def events_of(model: Model, asked: ModelRequest) -> list[ModelStreamEvent]:
    async with aclosing(model.stream(asked)) as events:
        return [event async for event in events]


class Says:
    """A model that yields given events."""

    name = "says"

    def __init__(self, events: list[ModelStreamEvent], error: ModelError | None = None) -> None:
        self._events = events
        self._error = error

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        for event in self._events:
            yield event
        if self._error is not None:
            raise self._error


TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
DATA = st.dictionaries(TEXT, st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT, max_size=3)
PARTS = st.lists(st.builds(OutputText, TEXT, st.lists(DATA, max_size=2).map(tuple)) | st.builds(Refusal, TEXT), max_size=3).map(
    tuple
)
OUTPUT = (
    st.builds(Message, st.just("assistant"), TEXT | PARTS, TEXT, TEXT)
    | st.builds(FunctionCall, TEXT, TEXT, TEXT, TEXT)
    | st.builds(Reasoning, TEXT, st.lists(TEXT, max_size=2).map(tuple), TEXT, TEXT, TEXT, TEXT)
    | st.builds(ProviderItem, TEXT, DATA)
)
COUNT = st.integers(0, 2**40)
RESPONSE = st.builds(
    ModelResponse,
    st.lists(OUTPUT, max_size=3).map(tuple),
    st.builds(Usage, COUNT, COUNT, COUNT, COUNT, COUNT, COUNT, st.booleans()),
    st.sampled_from(["stop", "length", "unknown"]),
    TEXT,
    TEXT,
)
INDEX = st.integers(0, 9)
EVENT = st.one_of(
    st.builds(deltas.ResponseCreated, TEXT),
    *(st.builds(kind, OUTPUT, INDEX) for kind in (deltas.OutputItemAdded, deltas.OutputItemDone)),
    *(
        st.builds(kind, TEXT, INDEX)
        for kind in (
            deltas.OutputTextDelta,
            deltas.RefusalDelta,
            deltas.ReasoningTextDelta,
            deltas.FunctionCallArgumentsDelta,
        )
    ),
    st.builds(deltas.AttemptDiscarded, TEXT),
)
INPUT = OUTPUT | st.builds(FunctionCallOutput, TEXT, TEXT, st.booleans())
REQUEST = st.builds(
    ModelRequest,
    st.lists(INPUT, max_size=3).map(Tape),
    TEXT,
    st.lists(INPUT, max_size=1).map(tuple),
    settings=st.builds(ModelSettings, temperature=st.none() | st.floats(0, 2), stop=st.none() | st.just(("x", "y"))),
    stream=st.booleans(),
    request_id=TEXT,
)


@given(st.lists(st.tuples(REQUEST, st.lists(EVENT, max_size=5), RESPONSE), max_size=4))
def test_what_is_recorded_is_replayed(
    tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[ModelRequest, list[ModelStreamEvent], ModelResponse]]
) -> None:
    path = tmp_path_factory.mktemp("cassette") / "calls.jsonl"
    path.touch()

    async def main() -> None:
        for asked, events, response in calls:
            said = [*events, ResponseCompleted(response)]
            assert await events_of(RecordingModel(Says(said), path), asked) == said
        replay = ReplayModel(path)
        for asked, events, response in calls:
            again = structs.replace(asked, request_id="another")
            assert await events_of(replay, again) == [*events, ResponseCompleted(response)]
        assert replay.unused == 0

    asyncio.run(main())


def test_the_strategies_know_every_event() -> None:
    shown = {"ResponseCreated", "OutputItemAdded", "OutputItemDone", "OutputTextDelta", "RefusalDelta", "ReasoningTextDelta"}
    shown |= {"FunctionCallArgumentsDelta", "AttemptDiscarded", "ResponseCompleted"}
    assert {kind.__name__ for kind in deltas.ModelStreamEvent.__args__} == shown


@function_tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.mark.anyio
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_run_is_replayed_without_its_server(streamed: bool, tmp_path: Path) -> None:
    path = tmp_path / "sum.jsonl"

    async def run(model: Model) -> tuple[str, Usage, list[str]]:
        agent = Agent(name="Adder", instructions="Add.", model=model, tools=[add])
        if not streamed:
            result = await Runner.run(agent, "2 + 3?")
            return result.final_output, result.usage, []
        going = Runner.run_streamed(agent, "2 + 3?")
        words = [
            event.data.delta
            async for event in going.stream_events()
            if event.type == "raw_response_event" and isinstance(event.data, OutputTextDelta)
        ]
        return going.final_output, going.usage, words

    async with FakeOpenAIServer([call("add", a=2, b=3), "The sum is 5."]) as server:
        headers = {"x-team": "hidden-header"}
        model = OpenAIChatCompletionsModel("gpt-test", base_url=server.base_url, api_key="sk-hidden", headers=headers)
        recorded = await run(RecordingModel(model, path))
    assert recorded[0] == "The sum is 5."
    assert bool(recorded[2]) is streamed
    replay = ReplayModel(path)
    assert replay.name == "gpt-test"
    assert await run(replay) == recorded
    assert len(path.read_text().splitlines()) == 2
    assert "hidden" not in path.read_text()


@pytest.mark.anyio
async def test_keys_and_headers_are_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    settings = ModelSettings(extra_headers={"x-key": "sk-hidden"}, retry=ModelRetrySettings(max_retries=7), seed=1)
    asked = request(settings=settings, request_id="req-hidden")
    said = await events_of(RecordingModel(ScriptedModel(["Hello"]), path), asked)
    line = json.loads(path.read_text())
    assert line["request"] == {
        "stream": False,
        "instructions": "",
        "items": [{"type": "message", "role": "user", "content": "Hi"}],
        "tools": [],
        "output": None,
        "settings": {"seed": 1},
    }
    assert "hidden" not in path.read_text()
    assert await events_of(ReplayModel(path), request(settings=ModelSettings(seed=1))) == said


ERRORS = [
    RateLimitError("slow down", status=429, code="busy", request_id="r1", retryable=True, retry_after=2.5),
    IncompleteResponseError("cut", partial="one two"),
    ModelRefusalError("no", refusal="I will not"),
    ContentFilterError("filtered"),
]


@pytest.mark.anyio
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_errors_are_replayed(error: ModelError, tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    heard: list[list[ModelStreamEvent]] = []
    caught: list[ModelError] = []
    for make in (lambda: RecordingModel(Says([OutputTextDelta("one ")], error), path), lambda: ReplayModel(path)):
        events: list[ModelStreamEvent] = []
        with pytest.raises(ModelError) as raised:
            async for event in make().stream(request()):
                events.append(event)
        heard.append(events)
        caught.append(raised.value)
    assert heard == [[OutputTextDelta("one ")]] * 2
    assert [(type(one), str(one), vars(one)) for one in caught] == [(type(error), str(error), vars(error))] * 2


@pytest.mark.anyio
async def test_an_error_of_ones_own_is_replayed_as_the_known_one_it_is(tmp_path: Path) -> None:
    class OwnError(RateLimitError):
        pass

    path = tmp_path / "c.jsonl"
    with pytest.raises(OwnError):
        await events_of(RecordingModel(Says([], OwnError("mine", status=429)), path), request())
    with pytest.raises(RateLimitError, match="mine"):
        await events_of(ReplayModel(path), request())


@pytest.mark.anyio
async def test_a_mistake_in_the_test_is_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    with pytest.raises(UserError, match="script"):
        await events_of(RecordingModel(ScriptedModel([]), path), request())
    assert not path.exists()


@pytest.mark.anyio
async def test_a_reply_left_early_ends_where_it_was_left(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    async with aclosing(RecordingModel(ScriptedModel(["one two"]), path).stream(request(stream=True))) as events:
        first = await anext(events)
    async with aclosing(ReplayModel(path).stream(request(stream=True))) as events:
        assert await anext(events) == first
        with pytest.raises(CassetteError, match="has no end"):
            await anext(events)


TOOL = ToolSpec("add", "Add.", {})
DIFFERENT: list[tuple[ModelRequest, str, object, object]] = [
    (request(Message("user", "Ho")), "items[0].content", "Hi", "Ho"),
    (request(Message("user", (InputText("Hi"), InputImage("data:,")))), "items[0].content", "Hi", ...),
    (request(Message("user", "Hi"), Message("assistant", "Ho")), "items[1]", None, ...),
    (request(tail=(Message("user", "Ho"),)), "items[1]", None, ...),
    (request(instructions="Be brief."), "instructions", "", "Be brief."),
    (request(tools=(TOOL,)), "tools[0]", None, "add"),
    (request(output=OutputSpec("Sum", {})), "output", None, "Sum"),
    (request(settings=ModelSettings(temperature=0.5)), "settings.temperature", None, 0.5),
    (request(stream=True), "stream", False, True),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("asked", "path", "then", "now"), DIFFERENT, ids=[case[1] for case in DIFFERENT])
async def test_the_first_difference_is_named(asked: ModelRequest, path: str, then: object, now: object, tmp_path: Path) -> None:
    file = tmp_path / "c.jsonl"
    await events_of(RecordingModel(ScriptedModel(["Hello"]), file), request())
    replay = ReplayModel(file)
    with pytest.raises(CassetteMismatchError) as raised:
        await events_of(replay, asked)
    assert raised.value.path == path
    assert repr(path) in str(raised.value)
    assert raised.value.recorded == then
    assert now is ... or raised.value.asked == now
    assert "Ho'" not in str(raised.value)
    assert replay.unused == 1


@pytest.mark.anyio
async def test_calls_may_come_in_another_order_and_equal_ones_keep_theirs(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    recording = RecordingModel(ScriptedModel(["a1", "b", "a2"]), path)
    a, b = request(Message("user", "a")), request(Message("user", "b"))
    said = {text: await events_of(recording, asked) for text, asked in (("a1", a), ("b", b), ("a2", a))}
    replay = ReplayModel(path)
    for text, asked in (("b", b), ("a1", a), ("a2", a)):
        assert await events_of(replay, asked) == said[text]
    with pytest.raises(CassetteExhaustedError, match="no reply left, expected at most 3 requests"):
        await events_of(replay, a)


def changed(change: Callable[[dict[str, Any]], object]) -> Callable[[str], str]:
    def apply(line: str) -> str:
        data = json.loads(line)
        change(data)
        return json.dumps(data) + "\n"

    return apply


CORRUPT: dict[str, Callable[[str], str]] = {
    "not JSON": lambda line: "hello\n",
    "cut": lambda line: line[:-20],
    "no line end": lambda line: line[:-1],
    "another shape": lambda line: "[1]\n",
    "an empty line": lambda line: line + "\n",
    "unknown field": changed(lambda data: data.update(more=1)),
    "no events": changed(lambda data: data.pop("events")),
    "unknown event": changed(lambda data: data["events"][0].update(type="response.odd")),
    "event without a type": changed(lambda data: data["events"][0].pop("type")),
    "field of no event": changed(lambda data: data["events"][0].update(odd=1)),
    "wrong type in an event": changed(lambda data: data["events"][-1].update(response=3)),
    "unknown error": changed(lambda data: data.update(error={"kind": "OSError", "message": "x"})),
    "odd error": changed(lambda data: data.update(error={"kind": "RateLimitError", "message": "x", "fields": {"odd": 1}})),
    "misplaced field": changed(lambda data: data.update(error={"kind": "ModelError", "message": "x", "fields": {"status": 1}})),
}


@pytest.mark.anyio
@pytest.mark.parametrize("damage", CORRUPT)
async def test_a_corrupt_cassette_is_told(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    await events_of(RecordingModel(ScriptedModel(["Hello"]), path), request())
    line = path.read_text()
    path.write_text(line + CORRUPT[damage](line), newline="")
    with pytest.raises(CassetteCorruptError):
        ReplayModel(path)
    if not path.read_text().endswith("\n"):  # another process may just be writing it
        await events_of(RecordingModel(ScriptedModel(["Hello"]), path), request())
        with pytest.raises(CassetteCorruptError):
            ReplayModel(path)
    else:
        with pytest.raises(CassetteCorruptError):
            RecordingModel(ScriptedModel([]), path)


@pytest.mark.anyio
async def test_another_version_and_a_missing_file_are_told(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    with pytest.raises(CassetteError, match="cannot be read"):
        ReplayModel(path)
    path.write_text('{"version": 2, "more": 1}\n')
    with pytest.raises(CassetteVersionError, match=r"line 1 of the cassette .* is of version 2, expected 1"):
        ReplayModel(path)
    with pytest.raises(CassetteError, match="cannot be written"):
        await events_of(RecordingModel(ScriptedModel(["x"]), tmp_path / "none" / "c.jsonl"), request())


def test_lines_written_at_once_stay_whole(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"

    def record(name: str) -> None:
        text = name * 20_000

        async def main() -> None:
            recording = RecordingModel(ScriptedModel([text] * 10), path)
            for _ in range(10):
                await events_of(recording, request(Message("user", name)))

        asyncio.run(main())

    path.touch()
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(record, "abcd"))
    assert ReplayModel(path).unused == 40


@pytest.mark.anyio
async def test_lone_surrogates_can_be_recorded(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    asked = request(Message("user", "\ud83d"), instructions="\udc00")
    await events_of(RecordingModel(ScriptedModel(["\ud83d"]), path), asked)
    (*_, last) = await events_of(ReplayModel(path), asked)
    assert isinstance(last, ResponseCompleted)
    assert last.response.text == "\ufffd"
