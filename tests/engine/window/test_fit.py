"""Runs that outgrow their model's window: nothing too long is sent, nothing is lost, and what was done can be taken back."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any, cast

import pytest
from msgspec import structs

from agentsdk import (
    Agent,
    DropOldest,
    HandoffInputData,
    KeepByPriority,
    LimitExceededError,
    MemoryRunStore,
    Message,
    ModelPrice,
    ModelResponse,
    RawResponsesStreamEvent,
    RunConfig,
    RunConflictError,
    RunLimits,
    Runner,
    RunState,
    SlidingWindow,
    SQLiteRunStore,
    Summarize,
    TruncateToolResults,
    Usage,
    UserError,
    handoff,
)
from agentsdk.context_window import EstimatingCounter
from agentsdk.core.limits.totals import total
from agentsdk.core.window.fit import MARKER, SUMMARY_HEADER
from agentsdk.errors import ContextTooLongError, ContextWindowError, TokenLimitExceededError
from agentsdk.events import ContextCompactedStreamEvent
from agentsdk.testing import CapturedRequest, ScriptedModel, ServerReply, call
from agentsdk.types.deltas import ResponseCompleted
from agentsdk.types.events import AttemptSpent, ModelReplied, ViewReplaced
from agentsdk.types.items import FunctionCallOutput
from tests.engine.windowed import SUMMARY, Reader, of_kind, page, page_text, reading, serving, windowed

pytestmark = pytest.mark.anyio

WINDOW = 6_000
EVERY = {
    "cut": [TruncateToolResults(keep_turns=1, chars=200), DropOldest()],
    "drop": [DropOldest()],
    "slide": [SlidingWindow(2), DropOldest()],
    "priority": [KeepByPriority()],
    "summarize": [Summarize(keep_turns=2, max_tokens=100), DropOldest()],
    "all": [TruncateToolResults(), Summarize(keep_turns=3, max_tokens=100), SlidingWindow(4), KeepByPriority(), DropOldest()],
}


@pytest.mark.parametrize("strategies", EVERY.values(), ids=EVERY)
async def test_sixty_turns_in_a_small_window_are_never_refused(strategies: list[Any]) -> None:
    reader = Reader(60)
    async with serving(reader, WINDOW) as (server, model):
        result = await Runner.run(reading(model), "Go on.", max_turns=100, run_config=windowed(WINDOW, *strategies))
    assert (result.final_output, server.refused, reader.broken) == ("all read", 0, [])
    for messages in reader.seen:
        assert messages[0] == {"role": "system", "content": "Read every page."}
        assert {"role": "user", "content": "Go on."} in messages
    state = result.to_state()
    done = of_kind(state, ViewReplaced)
    assert len(done) >= 4
    assert all(event.reason and event.after < event.before <= WINDOW for event in done)
    results = [item.output for item in state.items() if isinstance(item, FunctionCallOutput)]
    assert results == [page_text(number) for number in range(1, 61)], "the history is whole"
    summaries = [event for event in of_kind(state, AttemptSpent) if event.kind == "summary"]
    assert len(summaries) == reader.summaries
    assert (reader.summaries > 0) == any(isinstance(strategy, Summarize) for strategy in strategies)
    assert result.usage.requests == len(server.requests)


async def test_without_a_window_nothing_is_counted() -> None:
    reader = Reader(3)
    async with serving(reader, 40_000) as (_, model):
        result = await Runner.run(reading(model), "Go on.")
    assert [event.counted for event in of_kind(result.to_state(), ModelReplied)] == [0] * 4


async def test_a_summary_is_asked_of_the_model_that_is_named_and_counts_as_spent() -> None:
    said = ModelResponse((Message("assistant", SUMMARY),), model="gpt-small")
    reader, writer = Reader(12), Reader(0, summary=lambda: said)
    dear = ModelPrice(input="10", output="30")
    prices = {"gpt-test": dear, "scripted": dear, "gpt-small": ModelPrice(input="1", output="3")}
    async with serving(reader, WINDOW) as (_, model), serving(writer, 100_000) as (_, small):
        small.name = "gpt-small"
        config = windowed(WINDOW, Summarize(small, keep_turns=2, max_tokens=100), prices=prices)
        result = await Runner.run(
            reading(model), "Go on.", run_config=dataclasses.replace(config, limits=RunLimits(turns=None))
        )
    assert (reader.summaries, writer.summaries) == (0, len(of_kind(result.to_state(), ViewReplaced)))
    assert writer.summaries
    spent = of_kind(result.to_state(), AttemptSpent)
    assert {(event.kind, event.model, event.partial) for event in spent} == {("summary", "gpt-small", SUMMARY)}
    paid = sum((event.usage for event in spent), Usage())
    assert result.usage == sum((reply.usage for reply in result.raw_responses), Usage()) + paid
    notes = [item for item in result.to_state().value.view if isinstance(item, Message) and item.role == "user"]
    assert [note.text.startswith(SUMMARY_HEADER + SUMMARY) for note in notes] == [False, True]

    def price(usage: Usage, name: str, asked: str = "") -> Any:
        return prices[name].of(usage)

    cost = total(result.to_state().value, price).cost
    assert cost == sum(price(reply.usage, "scripted") for reply in result.raw_responses) + price(paid, "gpt-small")


FAILURES: dict[str, Any] = {
    "an error": lambda: ServerReply(status=400, body={"error": {"message": "no"}}),
    "empty": lambda: [Message("assistant", "   ")],
    "a call": lambda: call("page", number=1),
    "too short": lambda: "Pages.",
    "longer than what it sums up": lambda: "They were read. " * 5_000,
    "cut": lambda: ServerReply("A summary that stopped in the middle of what it had to say", finish="length"),
}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
async def test_a_summary_that_fails_leaves_the_history_and_the_next_strategy_is_tried(failure: Any) -> None:
    reader = Reader(8, summary=failure)
    async with serving(reader, 4_000) as (server, model):
        config = windowed(4_000, Summarize(keep_turns=1, max_tokens=100), DropOldest())
        result = await Runner.run(reading(model), "Go on.", run_config=config)
    assert (result.final_output, server.refused, reader.broken) == ("all read", 0, [])
    assert reader.summaries
    state = result.to_state()
    assert {event.reason for event in of_kind(state, ViewReplaced)} == {"DropOldest"}
    assert not [item for item in state.value.view if isinstance(item, Message) and item.text.startswith(SUMMARY_HEADER)]
    assert [event.kind for event in of_kind(state, AttemptSpent)] == ["summary"] * reader.summaries
    assert result.usage.requests == len(server.requests), "what was of no use is paid for"


async def test_a_summary_that_fails_is_spent_where_nothing_else_is_to_be_tried() -> None:
    reader = Reader(9, summary=lambda: "")
    async with serving(reader, WINDOW) as (_, model):
        config = windowed(WINDOW, Summarize(keep_turns=1, max_tokens=100), reserve=300)
        result = await Runner.run(reading(model), "Go on.", run_config=config)
    assert of_kind(result.to_state(), ViewReplaced) == []
    assert len(of_kind(result.to_state(), AttemptSpent)) == reader.summaries > 0


async def test_a_summary_that_fails_is_not_asked_for_every_turn() -> None:
    """Over the trigger, but inside the window: nothing forces it."""
    reader = Reader(16, summary=lambda: "")
    async with serving(reader, 40_000) as (_, model):
        config = windowed(40_000, Summarize(keep_turns=1, max_tokens=100), trigger=0.1, target=0.08)
        result = await Runner.run(reading(model), "Go on.", run_config=config)
    assert result.turns == 17
    assert 1 <= reader.summaries <= 4


async def test_summaries_that_fail_leave_the_budget_as_it_is() -> None:
    async def answer(requests: int) -> object:
        reader = Reader(8, summary=FAILURES["an error"])
        async with serving(reader, 4_000) as (server, model):
            config = windowed(4_000, Summarize(keep_turns=1, max_tokens=100), DropOldest())
            config = dataclasses.replace(config, limits=RunLimits(requests=requests))
            result = await Runner.run(reading(model), "Go on.", run_config=config)
        return len(server.requests), result.final_output

    sent, _ = cast("tuple[int, str]", await answer(100))
    assert await answer(sent) == (sent, "all read")
    with pytest.raises(LimitExceededError):
        await answer(sent - 1)


async def test_a_summary_is_capped_at_what_the_limits_leave() -> None:
    reader = Reader(9)
    async with serving(reader, WINDOW) as (server, model):
        config = windowed(WINDOW, Summarize(keep_turns=1, max_tokens=1_000), reserve=300)
        config = dataclasses.replace(config, limits=RunLimits(output_tokens=600, output_tokens_per_request=200))
        await Runner.run(reading(model), "Go on.", run_config=config)
    caps = [request.json["max_tokens"] for request in server.requests if "tools" not in request.json]
    assert len(caps) == 1
    assert 128 <= caps[0] <= 600


async def test_what_a_summary_lost_is_told() -> None:
    reader = Reader(6)
    async with serving(reader, 4_000) as (_, model):
        config = windowed(4_000, Summarize(keep_turns=1, max_tokens=100, max_put_back=0), DropOldest())
        stream = Runner.run_streamed(reading(model), "Go on, order ORD-7781 waits.", run_config=config)
        compacted = [event async for event in stream if isinstance(event, ContextCompactedStreamEvent)]
    summed_up = [event for event in compacted if event.reason == "Summarize"]
    assert summed_up
    assert "DOC-7919" in summed_up[0].lost_terms
    assert "ORD-7781" not in summed_up[0].lost_terms, "the input stays"


async def test_the_reader_of_a_stream_learns_of_it_before_the_reply() -> None:
    reader = Reader(6)
    async with serving(reader, 4_000) as (_, model):
        stream = Runner.run_streamed(reading(model), "Go on.", run_config=windowed(4_000, DropOldest()))
        seen = [event async for event in stream]
        compacted = [at for at, event in enumerate(seen) if isinstance(event, ContextCompactedStreamEvent)]
        done = of_kind(stream.to_state(), ViewReplaced)
    assert [seen[at] for at in compacted] == [
        ContextCompactedStreamEvent("DropOldest", event.before, event.after, ()) for event in done
    ]
    for at in compacted:
        raw = [event.data for event in seen[at:] if isinstance(event, RawResponsesStreamEvent)]
        assert any(isinstance(data, ResponseCompleted) for data in raw)


async def test_a_summary_that_costs_more_than_it_saves_is_not_asked_for() -> None:
    async def summaries(turns: int) -> int:
        reader = Reader(9)
        async with serving(reader, 20_000) as (_, model):
            prices = {"gpt-test": ModelPrice(input="1", output="100")}
            config = windowed(WINDOW, Summarize(keep_turns=1, max_tokens=800), reserve=300, prices=prices)
            config = dataclasses.replace(config, limits=RunLimits(turns=turns))
            await Runner.run(reading(model), "Go on.", run_config=config)
        return reader.summaries

    assert await summaries(turns=10) == 0
    assert await summaries(turns=1_000) == 1


async def test_a_summary_that_the_limits_do_not_allow_is_not_asked_for() -> None:
    async def summaries(limits: RunLimits) -> int:
        reader = Reader(1)
        history = [message for n in range(20) for message in (Message("user", f"{n} " * 150), Message("assistant", "ok"))]
        async with serving(reader, WINDOW) as (_, model):
            config = windowed(3_000, Summarize(keep_turns=1, max_tokens=200), DropOldest())
            config = dataclasses.replace(config, limits=limits)
            try:
                await Runner.run(reading(model), [*history, Message("user", "now")], run_config=config)
            except TokenLimitExceededError:
                assert reader.seen, "it was dropped instead"
        return reader.summaries

    assert await summaries(RunLimits()) == 1
    assert await summaries(RunLimits(input_tokens=2_500)) == 0


@pytest.mark.parametrize("limit", ["requests", "tokens"])
async def test_a_summary_counts_in_the_budget(limit: str) -> None:
    reader = Reader(200)
    most = {"requests": 30, "tokens": 80_000}[limit]
    async with serving(reader, WINDOW) as (_, model):
        config = windowed(WINDOW, Summarize(keep_turns=1, max_tokens=100))
        limits: dict[str, Any] = {limit: most}
        with pytest.raises(LimitExceededError) as raised:
            config = dataclasses.replace(config, limits=RunLimits(turns=None, **limits))
            await Runner.run(reading(model), "Go on.", run_config=config)
    assert reader.summaries
    state = raised.value.state
    assert isinstance(state, RunState)
    assert state.usage.requests == len(reader.seen) + reader.summaries
    if limit == "requests":
        assert state.usage.requests == most
    else:
        assert most - WINDOW < state.usage.total_tokens <= most + WINDOW


async def test_a_refused_request_is_made_shorter_once_and_sent_again() -> None:
    reader = Reader(12)
    async with serving(reader, 4_000) as (server, model):
        result = await Runner.run(reading(model), "Go on.", run_config=windowed(100_000, DropOldest()))
    assert (result.final_output, server.refused, reader.broken) == ("all read", 1, [])
    state = result.to_state()
    first, *others = of_kind(state, ViewReplaced)
    assert others, "the size is known from then on"
    assert first.window == state.value.windows[first.model] == first.before < 4_500
    assert first.model == model.name
    assert [(event.kind, event.usage) for event in of_kind(state, AttemptSpent)] == [("refused", Usage(1))]
    assert all(event.window == 0 for event in others)
    assert result.usage.requests == len(server.requests)
    keys = [request.headers["idempotency-key"] for request in server.requests]
    assert len(set(keys)) == len(keys), "the request that is sent again is another one"


async def test_a_request_that_is_refused_again_is_an_error() -> None:
    reader = Reader(5)
    async with serving(reader, 4_000) as (server, model):
        agent = reading(model)
        with pytest.raises(ContextTooLongError, match=r"maximum context length is 4000 .*ContextWindow\(size=") as raised:
            await Runner.run(agent, "Go on. " * 3_000, run_config=windowed(100_000, DropOldest()))
        assert (server.refused, len(reader.seen)) == (1, 0), "nothing can go: the input stays"
        state = raised.value.state
        assert isinstance(state, RunState)
        state.replace_input("Go on.")
        result = await Runner.run(agent, state, run_config=windowed(100_000, DropOldest()))
    assert result.final_output == "all read"


async def test_of_two_refusals_running_the_second_is_an_error() -> None:
    history = [Message("user" if n % 2 else "assistant", f"{n} " * 300) for n in range(20)]
    async with serving(Reader(5), 900) as (server, model):
        with pytest.raises(ContextTooLongError):
            await Runner.run(reading(model), [*history, Message("user", "now")], run_config=windowed(100_000, DropOldest()))
    assert server.refused == len(server.requests) == 2


async def test_a_reserve_for_a_larger_window_than_there_is_gives_way() -> None:
    reader = Reader(12)
    async with serving(reader, 4_000) as (server, model):
        config = windowed(100_000, DropOldest(), reserve=10_000)
        result = await Runner.run(reading(model), "Go on.", run_config=config)
    assert (result.final_output, server.refused) == ("all read", 1)


async def test_the_input_stays_where_other_user_messages_follow_it() -> None:
    reader = Reader(12, last='{"response": 12}')
    asked: list[int] = []

    def first_wrong(request: CapturedRequest) -> Any:
        asked.append(1)
        return "Twelve, I think." if len(asked) == 1 else reader(request)

    async with serving(first_wrong, WINDOW) as (_, model):
        agent = Agent("reader", model=model, tools=[page], output_type=int)
        result = await Runner.run(agent, "How many pages are there?", run_config=windowed(WINDOW, DropOldest()))
    assert result.final_output == 12
    assert of_kind(result.to_state(), ViewReplaced)
    said = [message["content"] for message in reader.seen[-1] if message["role"] == "user"]
    assert said[0] == "How many pages are there?"
    assert any("does not fit the required format" in text for text in said)


async def test_without_a_window_a_refusal_is_an_error() -> None:
    async with serving(Reader(5), 1_000) as (server, model):
        with pytest.raises(ContextTooLongError) as raised:
            await Runner.run(reading(model), "Go on.")
    assert (raised.value.status, raised.value.code) == (400, "context_length_exceeded")
    assert server.refused == 1


async def test_a_provider_that_counts_more_is_believed() -> None:
    """By its own count the server's requests are half as long again as by ours: what it bills is learned."""

    def dear(text: str) -> int:
        return len(text) // 2

    reader = Reader(40)
    async with serving(reader, 7_000) as (server, model):
        server._count = dear
        result = await Runner.run(reading(model), "Go on.", max_turns=100, run_config=windowed(7_000, DropOldest()))
    assert (result.final_output, server.refused) == ("all read", 0)


async def test_what_must_stay_and_does_not_fit_is_an_error_with_the_arithmetic() -> None:
    model = ScriptedModel(["never"])
    agent = Agent("main", model=model, instructions="word " * 900)
    with pytest.raises(ContextWindowError, match=r"'main' .*window 1,000 - reserve 125 - system prompt.* 9\d\d = -\d+ tokens"):
        await Runner.run(agent, "go", run_config=windowed(1_000))
    assert model.requests == []


async def test_what_was_spent_before_it_turned_out_impossible_is_recorded() -> None:
    model = ScriptedModel([call("page", number=1), "", "never"])
    config = windowed(600, Summarize(keep_turns=0, max_tokens=50), reserve=0)
    history = [Message("user", "x " * 150), Message("assistant", "y " * 150), Message("user", "now")]
    with pytest.raises(ContextWindowError) as raised:
        await Runner.run(Agent("main", model=model, tools=[page]), [*history], run_config=config)
    assert isinstance(raised.value.state, RunState)
    assert [event.kind for event in of_kind(raised.value.state, AttemptSpent)] == ["summary"]


async def test_the_size_is_the_models_or_must_be_given() -> None:
    def known(size: int | None) -> ScriptedModel:
        model = ScriptedModel(["hi"], name="nobody-knows")
        if size is not None:
            model.context_window = size  # type: ignore[attr-defined]
        return model

    with pytest.raises(UserError, match=r"window of model 'nobody-knows' is not known.*ContextWindow\(size="):
        await Runner.run(Agent("main", model=known(None)), "go", run_config=windowed(None))
    with pytest.raises(ContextWindowError, match="window 100 "):
        await Runner.run(Agent("main", model=known(100), instructions="word " * 900), "go", run_config=windowed(None))
    assert (await Runner.run(Agent("main", model=known(1_000)), "go", run_config=windowed(None))).final_output == "hi"


async def test_the_price_lists_know_windows() -> None:
    pytest.importorskip("genai_prices")
    model = ScriptedModel(["hi"], name="gpt-4o")
    with pytest.raises(ContextWindowError, match="window 128,000 "):
        await Runner.run(Agent("main", model=model, instructions="word " * 130_000), "go", run_config=windowed(None))
    assert (await Runner.run(Agent("main", model=model), "go", run_config=windowed(None))).final_output == "hi"


async def test_a_compaction_is_taken_back_and_not_made_again_at_once() -> None:
    reader = Reader(30)
    agent: Agent[Any, str]
    async with serving(reader, 20_000) as (_, model):
        agent, config = reading(model), windowed(WINDOW, DropOldest(), reserve=300)
        with pytest.raises(Exception, match="took 9 turns") as raised:
            await Runner.run(agent, "Go on.", max_turns=9, run_config=config)
        state = raised.value.state  # type: ignore[attr-defined]
        assert isinstance(state, RunState)
        [compaction] = of_kind(state, ViewReplaced)
        compacted_at = len(reader.seen)
        view = list(state.value.view)
        state.restore_view()
        assert list(state.value.view) == list(state.items()) != view
        loaded = RunState.from_string(agent, state.to_string())
        with pytest.raises(UserError, match="no compaction to take back"):
            loaded.restore_view()
        with pytest.raises(Exception, match="took 10 turns") as raised:
            await Runner.run(agent, loaded, max_turns=10, run_config=config)
        assert len(reader.seen) == compacted_at + 1
        assert not [message for message in reader.seen[-1] if message["content"] == MARKER.text], "it was sent whole"
        assert [message for message in reader.seen[-2] if message["content"] == MARKER.text]
        state = raised.value.state  # type: ignore[attr-defined]
        assert of_kind(state, ViewReplaced) == [compaction]
        result = await Runner.run(agent, state, max_turns=100, run_config=config)
    later = of_kind(result.to_state(), ViewReplaced)[1:]
    assert later[0].before > WINDOW - 300, "only once it did not fit at all"
    assert all(event.before < WINDOW - 300 for event in later[1:]), "and after that as ever"


async def test_an_earlier_compaction_is_taken_back_as_well() -> None:
    reader = Reader(30)
    async with serving(reader, 20_000) as (_, model):
        result = await Runner.run(reading(model), "Go on.", max_turns=40, run_config=windowed(WINDOW, DropOldest()))
    state = result.to_state()
    compactions = of_kind(state, ViewReplaced)
    for _ in compactions:
        state.restore_view()
    assert len(compactions) > 2
    assert list(state.value.view) == list(state.items())


async def test_a_stored_compaction_is_taken_back_by_one_process() -> None:
    reader = Reader(12)
    async with serving(reader, 20_000) as (_, model):
        config = windowed(WINDOW, DropOldest(), reserve=300, store=MemoryRunStore(), run_id="r")
        with pytest.raises(Exception, match="took 9 turns"):
            await Runner.run(reading(model), "Go on.", max_turns=9, run_config=config)
        here, there = await Runner.load("r", run_config=config), await Runner.load("r", run_config=config)
        here.restore_view()
        there.restore_view()
        await Runner.decide(here, run_config=config)
        with pytest.raises(RunConflictError):
            await Runner.decide(there, run_config=config)
        decided = await Runner.load("r", run_config=config)
        assert list(decided.value.view) == list(decided.items())
        result = await Runner.resume(reading(model), "r", max_turns=20, run_config=config)
    assert result.final_output == "all read"


async def test_a_stored_run_goes_on_in_its_window_after_its_process_died(tmp_path: Any) -> None:
    """The store as each append left it: whatever the process was doing, the next one goes on with the same view."""
    reader = Reader(9)
    path = tmp_path / "runs.db"
    async with serving(reader, WINDOW) as (server, model):
        store = SQLiteRunStore(path, synchronous="NORMAL")
        config = windowed(4_000, TruncateToolResults(keep_turns=1, chars=300), DropOldest(), store=store, run_id="r")
        with pytest.raises(Exception, match="took 7 turns"):
            await Runner.run(reading(model), "Go on.", max_turns=7, run_config=config)
        await store.aclose()
        again = SQLiteRunStore(path, synchronous="NORMAL")
        config = dataclasses.replace(config, store=again)
        before = await Runner.load("r", run_config=config)
        result = await Runner.resume(reading(model), "r", max_turns=20, run_config=config)
        assert of_kind(before, ViewReplaced)
        sent = len(reader.seen[7])
        assert sent <= len(before.value.view) + 1, "what was compacted stays compacted"
        assert (result.final_output, server.refused, reader.broken) == ("all read", 0, [])
        await again.aclose()


async def test_a_run_that_is_cancelled_while_it_is_summed_up_goes_on() -> None:
    asked, never = asyncio.Event(), asyncio.Event()

    def hang() -> ServerReply:
        asked.set()
        return ServerReply(wait=never)

    reader = Reader(8, summary=hang)
    config = windowed(WINDOW, Summarize(keep_turns=1, max_tokens=100))
    async with serving(reader, WINDOW) as (_, model):
        stream = Runner.run_streamed(reading(model), "Go on.", run_config=config)
        async with stream:
            await asked.wait()
        state = stream.to_state()
        assert of_kind(state, ViewReplaced) == of_kind(state, AttemptSpent) == []
        reader._summary = lambda: SUMMARY
        result = await Runner.run(reading(model), state, run_config=config)
    assert (result.final_output, reader.broken) == ("all read", [])
    assert of_kind(result.to_state(), ViewReplaced)


async def test_one_object_may_stand_in_the_history_several_times() -> None:
    def again(data: HandoffInputData) -> HandoffInputData:
        return data.clone(input_history=(Message("user", "again " * 100), Message("assistant", "again")) * 20)

    model = ScriptedModel(["done"], usage=Usage(1))
    second = handoff(Agent("second", model=model), input_filter=again)
    first = Agent("first", model=ScriptedModel([call("transfer_to_second")], usage=Usage(1)), handoffs=[second])
    result = await Runner.run(first, "go", run_config=windowed(1_500, DropOldest()))
    assert [event.reason for event in of_kind(result.to_state(), ViewReplaced)] == ["", "DropOldest"]
    assert 5 < len(model.requests[0].items) < 30


async def test_what_is_pinned_stays() -> None:
    reader = Reader(12)

    def third(item: Any) -> bool:
        return isinstance(item, FunctionCallOutput) and item.output == page_text(3)

    async with serving(reader, WINDOW) as (_, model):
        await Runner.run(reading(model), "Go on.", run_config=windowed(WINDOW, SlidingWindow(1), pin=third))
    assert page_text(3) in [message["content"] for message in reader.seen[-1]]
    assert page_text(2) not in [message["content"] for message in reader.seen[-1]]


async def test_the_window_is_fitted_for_a_filter_too_but_what_it_changed_teaches_nothing() -> None:
    reader = Reader(4)

    def shorter(request: Any) -> Any:
        return structs.replace(request, instructions="Read.")

    async with serving(reader, WINDOW) as (_, model):
        config = RunConfig(token_counter=EstimatingCounter(), call_model_input_filter=shorter)
        config = dataclasses.replace(config, window=windowed(3_000, DropOldest()).window)
        result = await Runner.run(reading(model), "Go on.", run_config=config)
    assert of_kind(result.to_state(), ViewReplaced)
    assert {event.counted for event in of_kind(result.to_state(), ModelReplied)} == {0}
