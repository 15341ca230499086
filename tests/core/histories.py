"""Made-up runs: items, replies and whole logs as the engine may write them, left at any point."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st
from msgspec import structs

from agentsdk.core.arguments import approval_digest
from agentsdk.types.events import (
    AnswerAwaited,
    AnswerRefused,
    ApprovalDecided,
    ApprovalJudged,
    ArgumentsEdited,
    ArgumentsRefused,
    AttemptSpent,
    CallAnswered,
    CallRetried,
    CallsInDoubt,
    CallsOrdered,
    CallWaits,
    GuardrailBehavior,
    GuardrailJudged,
    HandedOff,
    InputAdded,
    InputReplaced,
    LimitRaised,
    LimitReachedEvent,
    LimitWarningEvent,
    ModelReplied,
    Nested,
    OutputJudged,
    OutputValidated,
    ProgramWaits,
    RunEnded,
    RunEvent,
    RunPaused,
    RunStarted,
    RunUnpaused,
    SessionSaved,
    SignalGiven,
    SignalsTaken,
    StepBegan,
    Stopped,
    TimeSpent,
    ToolAttemptFailed,
    ToolCheckpointed,
    ToolFinished,
    ToolsetChanged,
    ToolsIntended,
    ToolUseJudged,
    TurnEnded,
    ViewReplaced,
    ViewRestored,
)
from agentsdk.types.items import (
    Caller,
    CallKind,
    FunctionCall,
    FunctionCallOutput,
    InputAudio,
    InputFile,
    InputImage,
    InputText,
    InputVideo,
    Item,
    Message,
    OutputText,
    ProviderItem,
    Reasoning,
    Refusal,
)
from agentsdk.types.response import ModelResponse
from agentsdk.types.spec import ToolSpec
from agentsdk.types.usage import Usage

Draw = Callable[[st.SearchStrategy[Any]], Any]

TOOLS = ("pay", "ask", "read")

# Chosen, not made up: a log draws hundreds of them.
texts = st.sampled_from(["", "x", "two words", "\0", "\u2028\x85", "\ufffd", "\U0001f600", '"\\', "{}", "type"])
counts = st.sampled_from([0, 1, 7, 2**53 + 1, 2**70])
json_objects = st.sampled_from(
    [
        {},
        {"type": "message", "": None},
        {"type": "web_search_call", "id": "ws"},
        {"list": [1, 2.5, True, None, "\0"], "deep": {"deep": {"deep": [[]]}}},
        {"big": 2**70, "small": -(2**70), "float": -0.0, "tiny": 5e-324, "huge": 1.7976931348623157e308},
    ]
)
parts = st.one_of(
    st.builds(InputText, texts),
    st.builds(InputImage, texts, texts, st.sampled_from(["auto", "low", "high"])),
    st.builds(InputAudio, texts, texts),
    st.builds(InputVideo, texts, texts),
    st.builds(InputFile, texts, texts, texts, texts),
    st.builds(OutputText, texts, st.lists(json_objects, max_size=2).map(tuple)),
    st.builds(Refusal, texts),
)
contents = texts | st.lists(parts, max_size=3).map(tuple)
roles = st.sampled_from(["user", "assistant", "system", "developer"])
trust = st.sampled_from([False, False, False, True])
messages = st.builds(Message, roles, contents, texts, untrusted=trust)
reasonings = st.builds(Reasoning, texts, st.lists(texts, max_size=2).map(tuple), texts, texts, texts, texts)
provider_items = st.builds(ProviderItem, texts, json_objects)
plain_items = messages | reasonings | provider_items
arguments = st.sampled_from(["{}", '{"a": 1}', '{"a": 2, "b": [null]}', "not json", ""])


kinds: st.SearchStrategy[CallKind] = st.sampled_from(["function", "function", "shell", "custom", "mcp_approval"])
namespaces = st.sampled_from(["", "", "", "docs"])
callers = st.none() | st.none() | st.builds(Caller, st.just("program"), texts)


def calls(ids: st.SearchStrategy[str]) -> st.SearchStrategy[FunctionCall]:
    return st.builds(FunctionCall, ids, st.sampled_from(TOOLS), arguments, texts, kinds, namespaces, callers)


def outputs(ids: st.SearchStrategy[str]) -> st.SearchStrategy[FunctionCallOutput]:
    return st.builds(FunctionCallOutput, ids, contents, st.booleans(), kinds, namespaces, callers, trust)


few_ids = st.sampled_from(["", "a", "b", "c", "a-2"])
items: st.SearchStrategy[Item] = plain_items | calls(few_ids) | outputs(few_ids)
"""Items whose calls and results seldom fit each other."""

usages = st.builds(Usage, counts, counts, counts, counts, counts, counts, st.booleans())
finishes = st.sampled_from(["stop", "tool_calls"])
moments = st.sampled_from([0.0, 0.1, 1_795_000_000.123456, 4e9])


@st.composite
def logs(draw: Draw, depth: int = 0) -> list[RunEvent]:
    """A run's log: valid as the engine keeps it, in every stage of being finished; its first input may come from a session."""
    given = tuple(draw(st.lists(plain_items, min_size=1, max_size=3)))
    history = draw(st.integers(0, len(given) - 1))
    log: list[RunEvent] = [RunStarted(draw(texts), "first", given, history, draw(moments))]
    numbers = iter(range(1000))
    if draw(st.integers(0, 5)) == 0:
        return log + draw(_programs(depth, numbers))
    for _ in range(draw(st.integers(0, 3))):
        log += draw(_between_turns)
        turn, is_closed = draw(_turns(depth, numbers))
        log += turn
        if not is_closed:
            break
    return _without_what_cannot_follow(log + draw(_at_the_end))


def _without_what_cannot_follow(log: list[RunEvent]) -> list[RunEvent]:
    """The log without the restorations of a view that was not compacted, and with each signal taken once."""
    valid: list[RunEvent] = []
    compacted = taken = 0
    for event in log:
        if isinstance(event, SignalsTaken):
            taken += event.through
            event = structs.replace(event, through=taken)
        if isinstance(event, ViewRestored):
            if not compacted:
                continue
            compacted -= 1
        elif isinstance(event, ViewReplaced) and event.reason:
            compacted += 1
        elif isinstance(event, ViewReplaced | InputReplaced):
            compacted = 0
        valid.append(event)
    return valid


_between_turns = st.lists(
    st.one_of(
        st.builds(InputReplaced, st.lists(plain_items, max_size=2).map(tuple)),
        st.builds(ViewReplaced, st.lists(plain_items, max_size=2).map(tuple), st.sampled_from(["", "DropOldest"])),
        st.just(ViewRestored()),
        st.builds(GuardrailJudged, texts, st.just("input"), st.sampled_from(["allow", "raise_exception"])),
        st.builds(InputAdded, st.lists(plain_items, max_size=2).map(tuple)),
        st.builds(LimitWarningEvent, st.just("turns"), texts, texts),
        st.builds(LimitReachedEvent, st.just("turns"), texts, texts, st.booleans()),
        st.builds(LimitRaised, st.just("turns"), st.none() | texts),
        st.builds(TimeSpent, moments, moments),
        st.builds(Stopped, texts | st.just("InvalidOutputError"), texts, texts, moments),
        st.builds(SignalsTaken, st.integers(1, 3), st.lists(st.tuples(st.integers(1, 9), texts), max_size=2).map(tuple)),
        st.builds(RunPaused, texts, texts, moments),
        st.builds(RunUnpaused, texts, moments),
        st.builds(
            ToolsetChanged,
            st.sampled_from(["a", "b"]),
            st.lists(st.builds(ToolSpec, st.sampled_from(["t1", "t2", "t3"]), texts, st.just({})), max_size=2).map(tuple),
            st.lists(st.sampled_from(["t1", "t2"]), max_size=1).map(tuple),
            texts,
            texts,
        ),
        st.builds(SessionSaved, st.integers(0, 9), st.integers(0, 2)),
    ),
    max_size=2,
)
_at_the_end = st.just([]) | _between_turns.filter(lambda events: not any(isinstance(event, InputReplaced) for event in events))


@st.composite
def _turns(draw: Draw, depth: int, numbers: Any) -> tuple[list[RunEvent], bool]:
    """A turn's events, and whether the last of them closes it."""
    events: list[RunEvent] = [AttemptSpent(draw(usages), partial) for partial in draw(st.lists(texts, max_size=2))]
    if draw(st.integers(0, 9)) == 0:
        return events, not events
    called = [draw(calls(st.just(f"call_{next(numbers)}"))) for _ in range(draw(st.integers(0, 3)))]
    output = tuple(draw(st.permutations([*called, *draw(st.lists(plain_items, max_size=2))])))
    disabled = tuple(draw(st.lists(st.sampled_from(TOOLS), max_size=1)))
    snapshot = draw(texts)  # of a program, which takes no request
    usage = Usage() if snapshot else draw(usages)
    events.append(
        ModelReplied(
            ModelResponse(output, usage, draw(finishes), draw(texts), draw(texts)), draw(moments), disabled, snapshot=snapshot
        )
    )
    if len(called) > 1 and draw(st.booleans()):
        waits = [CallWaits(one.call_id, (before.call_id,)) for before, one in itertools.pairwise(called)]
        events.append(CallsOrdered(tuple(waits)))
    events += _woven(draw, [draw(_stories(depth, call)) for call in called])
    if draw(st.booleans()):
        events.append(ToolUseJudged(draw(st.booleans()), "1") if called else OutputJudged(draw(texts)))
    for accepted in draw(st.sampled_from([[], [], [True], [True, False]])):
        changed = draw(st.sampled_from(["", '"better"'])) if accepted else ""
        events.append(OutputValidated("v", "" if accepted else draw(texts) or "no", changed))
    if draw(st.integers(0, 3)) == 0:
        events.insert(draw(st.integers(0, len(events))) or len(events), InputAdded((draw(messages),)))
    if draw(st.integers(0, 3)) == 0:
        events.append(GuardrailJudged("g", "output", draw(st.sampled_from(["allow", "raise_exception"]))))
    end = draw(st.sampled_from(["turn", "turn", "handoff", "filtered handoff", "ended", "open"]))
    if end == "turn":
        events.append(TurnEnded(tuple(draw(st.lists(messages, max_size=1)))))
    elif end == "ended":
        events.append(RunEnded(draw(texts), draw(st.booleans()), elapsed=draw(st.sampled_from([0.0, 9.5]))))
    elif end != "open":
        events.append(HandedOff(draw(st.sampled_from(["first", "second"]))))
        if end == "filtered handoff":
            events.append(ViewReplaced(tuple(draw(st.lists(plain_items, max_size=2)))))
    return events, end != "open"


@st.composite
def _programs(draw: Draw, depth: int, numbers: Any) -> list[RunEvent]:
    """What the program of a workflow came to: steps beside each other, at the end of which it waits, or the run ends."""
    events = _woven(draw, [draw(_steps(depth, f"step-{next(numbers)}")) for _ in range(draw(st.integers(1, 4)))])
    for _ in range(draw(st.integers(0, 2))):
        events.insert(draw(st.integers(0, len(events))), SignalGiven(draw(signals) or "c", draw(arguments), draw(texts)))
    if draw(st.booleans()):
        return [*events, RunEnded("1", True)]
    return [*events, ProgramWaits(draw(st.integers(0, 3)))] if draw(st.booleans()) else events


@st.composite
def _steps(draw: Draw, depth: int, key: str) -> list[RunEvent]:
    """What became of one step."""
    effect = draw(st.sampled_from(["none", "idempotent", "once"]))
    events: list[RunEvent] = [StepBegan(key, draw(st.sampled_from(TOOLS)), draw(arguments), draw(moments), effect, draw(texts))]
    kind = draw(st.sampled_from(["body", "body", "agent", "answer"]))
    if kind == "agent" and depth < 2:
        events += [Nested(key, event) for event in draw(logs(depth + 1))]
    elif kind == "answer":
        events += [event for event in draw(_waits(key, draw(signals))) if not isinstance(event, ToolsIntended)]
    for _ in range(draw(st.integers(0, 2))):
        events.append(ToolAttemptFailed(key, "ConnectionError", draw(moments), draw(moments), draw(moments)))
    fate = draw(st.sampled_from(["done", "done", "failed", "unknown", "doubt", "retried"]))
    if fate in ("doubt", "retried"):
        events.append(CallsInDoubt((key,)))
    if fate == "retried":
        events += [CallRetried(key), ToolsIntended((key,))]
    if fate in ("done", "failed", "retried"):
        events.append(ToolFinished(key, draw(texts), fate == "failed", untrusted=draw(trust)))
    return events


@st.composite
def _stories(draw: Draw, depth: int, call: FunctionCall) -> list[RunEvent]:
    """What became of one call, in the order in which it became so; it may have no result."""
    call_id = call.call_id
    events: list[RunEvent] = []
    if draw(st.booleans()):
        events.append(GuardrailJudged("g", "tool_input", "allow", call_id=call_id, message=draw(texts)))
    gate = draw(st.sampled_from(["open", "judged", "waits", "decided"]))
    if gate != "open":
        events.append(ApprovalJudged(call_id, gate != "judged"))
    if gate == "waits":
        return events
    if gate == "decided":
        for fits in draw(st.sampled_from([[], [], [True], [False], [False, True], [True, False]])):
            events.append(ArgumentsEdited(call_id, draw(arguments), draw(texts), draw(moments)))
            if not fits:
                events.append(ArgumentsRefused(call_id, draw(texts)))
        digest = approval_digest(call.name, call_id, call.arguments)
        events.append(ApprovalDecided(call_id, call.name, digest, draw(st.booleans()), draw(texts), draw(st.booleans())))
    events.append(ToolsIntended((call_id,)))
    if depth < 2 and draw(st.integers(0, 5)) == 0:
        events += [Nested(call_id, event) for event in draw(logs(depth + 1))]
    elif draw(st.integers(0, 3)) == 0:
        events += draw(_waits(call_id))
    for _ in range(draw(st.integers(0, 2))):
        events.append(ToolAttemptFailed(call_id, "ConnectionError", draw(moments), draw(moments), draw(moments)))
    for _ in range(draw(st.integers(0, 1))):
        events.append(ToolCheckpointed(call_id, draw(texts)))
    fate = draw(st.sampled_from(["done", "done", "failed", "unknown", "doubt", "retried"]))
    if fate in ("doubt", "retried"):
        events.append(CallsInDoubt((call_id,)))
    if fate == "retried":
        events += [CallRetried(call_id), ToolsIntended((call_id,))]
    if fate in ("done", "failed", "retried"):
        before, after, withheld = draw(st.booleans()), draw(st.sampled_from(VERDICTS)), draw(st.booleans())
        if before:  # as in schema version 1
            events.append(GuardrailJudged("g", "tool_output", draw(behaviors), call_id=call_id, message=draw(texts)))
        whole = draw(st.sampled_from(["", "0123456789abcdef"]))
        failure = draw(st.sampled_from(["", "transient", "circuit"])) if fate == "failed" else ""
        is_failed, untrusted = fate == "failed", draw(trust)
        events.append(ToolFinished(call_id, draw(contents), is_failed, whole, withheld, failure=failure, untrusted=untrusted))
        for number, behavior in enumerate(after):
            said = GuardrailJudged("g", "tool_output", behavior, "null", call_id, draw(texts), number, len(after))
            events.append(structs.replace(said, releases=number == len(after) - 1))
    return events


@st.composite
def _waits(draw: Draw, call_id: str, signal: str = "") -> list[RunEvent]:
    """An external call waits for its answer, which may not fit."""
    choices = tuple(draw(st.lists(texts, max_size=2)))
    deadline = draw(st.none() | moments)
    events: list[RunEvent] = [
        AnswerAwaited(
            call_id, draw(moments), deadline, draw(arguments), draw(arguments), draw(texts), choices, draw(texts), signal
        )
    ]
    for fits in draw(st.sampled_from([[], [True], [False], [False, True]])):
        events.append(CallAnswered(call_id, draw(arguments), draw(texts), draw(moments)))
        if not fits:
            events.append(AnswerRefused(call_id, draw(texts)))
    if draw(st.booleans()):
        events.append(ToolsIntended((call_id,), draw(moments)))
    return events


signals = st.sampled_from(["", "a", "b"])
behaviors: st.SearchStrategy[GuardrailBehavior] = st.sampled_from(["allow", "reject_content", "raise_exception"])
VERDICTS: list[list[GuardrailBehavior]] = [[], ["allow"], ["allow", "allow"], ["allow", "reject_content"], ["raise_exception"]]


def _woven(draw: Draw, stories: Sequence[list[RunEvent]]) -> list[RunEvent]:
    """The stories interleaved: each keeps its own order."""
    waiting = [list(story) for story in stories if story]
    events: list[RunEvent] = []
    while waiting:
        story = waiting[draw(st.integers(0, len(waiting) - 1))]
        events.append(story.pop(0))
        waiting = [story for story in waiting if story]
    return events


def unpaired(history: Sequence[Item]) -> list[str]:
    """What is wrong with a history: calls without one result after them, results without a call before them or of another."""
    wrong: list[str] = []
    waiting: dict[str, FunctionCall] = {}
    called: set[str] = set()
    for position, item in enumerate(history):
        if isinstance(item, FunctionCall):
            if item.call_id in called:
                wrong.append(f"{position}: call {item.call_id!r} a second time")
            called.add(item.call_id)
            waiting[item.call_id] = item
        elif isinstance(item, FunctionCallOutput):
            if item.call_id not in waiting:
                wrong.append(f"{position}: result {item.call_id!r} without a call that waits for it")
            call = waiting.pop(item.call_id, item)
            if (call.kind, call.namespace, call.caller) != (item.kind, item.namespace, item.caller):
                wrong.append(f"{position}: result {item.call_id!r} is not that of its call")
    return wrong + [f"call {call_id!r} without a result" for call_id in waiting]
