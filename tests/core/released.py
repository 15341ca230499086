"""Runs as released versions saved them: what each was, how it goes on, and what must come of it.

    python -m tests.core.released

pins the shape of what is recorded in `fixtures/v<version>/schema.txt`, for the present schema version. Once that is released it
also saves each scenario there, and never overwrites: what was released must load and resume for ever.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import msgspec

from agentsdk import (
    Agent,
    FunctionCall,
    HandoffInputData,
    InputFile,
    InputImage,
    InputText,
    Message,
    ModelResponse,
    RunContextWrapper,
    Runner,
    RunResult,
    RunState,
    ToolApprovalItem,
    Usage,
    function_tool,
    handoff,
)
from agentsdk.core.codec import VERSION, SavedRun, StoredEvent
from agentsdk.core.signals import StoredSignal
from agentsdk.core.state import fold
from agentsdk.items import InputAudio, OutputText, ProviderItem, Reasoning, Refusal
from agentsdk.runs import PendingCall
from agentsdk.testing import ScriptedModel
from agentsdk.testing.scripted import ScriptedReply
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
    ContextSaved,
    GuardrailJudged,
    HandedOff,
    InputAdded,
    InputReplaced,
    LimitRaised,
    LimitReachedEvent,
    LimitWarningEvent,
    ModelReplied,
    Nested,
    NotGranted,
    OutputJudged,
    OutputValidated,
    ProgramWaits,
    RunEnded,
    RunEvent,
    RunPaused,
    RunResumed,
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
from agentsdk.types.spec import ToolSpec

RELEASED = 2
"""The newest schema version of a release. `VERSION` is one more while the next is being written."""

FIXTURES = Path(__file__).parent / "fixtures"
KEY = b"the key that the fixtures carry."


class Desk:
    """The outside of a run: the effects its tools had, and whether they hang."""

    def __init__(self, *, hangs: bool = False) -> None:
        self.effects: list[str] = []
        self.begun = asyncio.Event()
        self.hangs = hangs


Context = RunContextWrapper[Desk]


@function_tool(effect="none")
async def look_up(context: Context, name: str) -> str:
    context.context.effects.append(f"look up {name}")
    return f"{name} is owed 3"


@function_tool(needs_approval=True)
async def pay(context: Context, name: str, amount: int) -> str:
    context.context.effects.append(f"pay {name} {amount}")
    return "paid"


@function_tool
async def send(context: Context, to: str) -> str:
    desk = context.context
    desk.effects.append(f"send {to}")
    if desk.hangs:
        desk.begun.set()
        await asyncio.Event().wait()
    return "sent"


def agent(*replies: ScriptedReply) -> Agent[Desk, str]:
    """A clerk who can do everything itself, ask another or hand over; each of them says `replies` in turn."""
    model = ScriptedModel(replies)
    helper = Agent[Desk, str](name="helper", model=model, tools=[pay, send])
    cashier = Agent[Desk, str](name="cashier", model=model, tools=[pay])
    to_cashier = handoff(cashier, input_filter=only_the_question)
    tools = [look_up, pay, send, helper.as_tool("ask_helper", "Ask the helper.")]
    return Agent[Desk, str](name="clerk", model=model, tools=tools, handoffs=[to_cashier])


def only_the_question(data: HandoffInputData) -> HandoffInputData:
    return data.clone(pre_handoff_items=(), new_items=data.new_items[-2:])


def call(call_id: str, name: str, arguments: str) -> FunctionCall:
    return FunctionCall(call_id, name, arguments)


LOOK_UP = call("c1", "look_up", '{"name": "Ada"}')
PAY = call("c2", "pay", '{"name": "Ada", "amount": 3}')
SEND = call("c3", "send", '{"to": "Ada"}')
ASK_HELPER = call("c4", "ask_helper", '{"input": "Pay Ada."}')
TO_CASHIER = call("c5", "transfer_to_cashier", "{}")


@dataclass(frozen=True)
class Scenario:
    """What was said and done before the run was saved, what a person decides after it is loaded, and what must come of it."""

    before: Sequence[ScriptedReply]
    waits_for: Sequence[str] = ()
    after: Sequence[ScriptedReply] = ()
    decide: Callable[[RunState, PendingCall], None] = lambda state, item: state.approve(item)
    decided_before: bool = False
    hangs: bool = False
    effects: Sequence[str] = ()
    turns: int = 0
    output: str = "done"


def settle(state: RunState, item: PendingCall) -> None:
    if isinstance(item, ToolApprovalItem):
        state.reject(item, reason="not today")
    else:
        state.provide_result(item, result="sent, said the post office")


SCENARIOS = {
    "approval": Scenario(
        before=[LOOK_UP, [Message("assistant", "I pay."), PAY]],
        waits_for=["c2"],
        after=["done"],
        effects=["pay Ada 3"],
        turns=3,
    ),
    "approval_decided": Scenario(before=[PAY], decided_before=True, after=["done"], effects=["pay Ada 3"], turns=2),
    "in_doubt": Scenario(before=[[LOOK_UP, SEND]], hangs=True, waits_for=["c3"], after=["done"], decide=settle, turns=2),
    "nested": Scenario(
        before=[[ASK_HELPER, LOOK_UP], [PAY, SEND]],
        waits_for=["c2"],
        after=["paid by the helper", "done"],
        decide=settle,
        turns=2,
    ),
    "handed_over": Scenario(
        before=[LOOK_UP, TO_CASHIER, PAY], waits_for=["c2"], after=["done"], effects=["pay Ada 3"], turns=4
    ),
    "finished": Scenario(before=[LOOK_UP, "done"], turns=2),
}


QUESTION = Message(
    "user", (InputText("Pay Ada."), InputImage("data:,x", detail="low"), InputAudio("eA==", "wav"), InputFile("eA=="))
)
INNER: list[RunEvent] = [
    RunStarted("", "helper", (QUESTION,), 0, 1.5),
    ModelReplied(ModelResponse((PAY,), Usage(1, 10, 5, 1, 1, 1, False), "tool_calls", "r2", "m"), 1.75),
    ApprovalJudged("c2", True),
    ApprovalDecided("c2", "pay", "digest", True, "go on", True),
]
EVERY_EVENT: list[RunEvent] = [
    RunStarted(
        "run-1",
        "clerk",
        (Message("system", "yesterday"), ProviderItem("p", {"id": [1, 2.5, None, True]}), QUESTION),
        1,
        1.0,
        "f1",
        "run-0",
        1,
        (("state_key",), ("output guardrail", "clean", "clerk")),
        {"user": "ada"},
        2,
        1.5,
        version="2",
    ),
    GuardrailJudged("polite", "input", "raise_exception", '{"score":1}'),
    InputReplaced((QUESTION,)),
    GuardrailJudged("polite", "input", "allow"),
    AttemptSpent(Usage(), "The user wants Ada to be paid.", "summary", "m", "asked-for"),
    AttemptSpent(Usage(1, 10, 0), "", "refused", "m"),
    AttemptSpent(Usage(1, 10, 5), "", "call", "m", "asked-for"),
    AttemptSpent(Usage(1, 10, 5), "I "),
    ModelReplied(
        ModelResponse(
            (
                Reasoning("think", ("thought",), "rs_1", "signature", "encrypted", "p"),
                Message("assistant", (OutputText("pay.", ({"url": "x"},)), Refusal("not more")), "msg_1"),
                ASK_HELPER,
                SEND,
                LOOK_UP,
            ),
            Usage(1, 20, 10, 3, 2, 1),
            "tool_calls",
            "r1",
            "m",
        ),
        1.25,
        ("pay",),
        18,
        took_ms=125,
        snapshot='{"by":"interpreter 1"}',
    ),
    ApprovalJudged("c1", False),
    ApprovalJudged("c3", True, "f2", False, "the page is untrusted"),
    ArgumentsEdited("c3", '{"to": 7}', "Bob", 1.875),
    ArgumentsRefused("c3", "expected a string"),
    ArgumentsEdited("c3", '{"to": "Bob"}', "Bob", 1.875),
    ApprovalDecided("c3", "send", "digest", False, "no", False, "clerk", "Bob", 2.5, "f2", True),
    CallsOrdered((CallWaits("c3", ("c1",), ("look_up",)),)),
    ToolsIntended(("c1", "c3", "c4"), 2.25),
    GuardrailJudged("safe", "tool_output", "reject_content", "null", "c1", "hidden"),
    ToolFinished("c1", (InputText("hidden"), InputFile(file_id="f", filename="n")), False, "0123456789abcdef", False, 250, 2.5),
    *(Nested("c4", event) for event in INNER),
    Nested("c4", ToolsIntended(("c2",))),
    ToolFinished("c4", "the helper failed", True, not_granted=NotGranted("helper", "admin", ("staff",), "clerk", ("till",))),
    Stopped("CancelledError", "the person left", "Bob", 2.75),
    RunResumed("owner", 1.5, "f3"),
    ContextSaved('{"user": 1}'),
    CallsInDoubt(("c3",)),
    CallRetried("c3"),
    ToolsIntended(("c3",)),
    AnswerAwaited("c3", 2.0, 9.5, '"no"', '{"type":"string"}', "Now?", ("yes", "no"), "page 2"),
    CallAnswered("c3", "7", "Bob", 2.25),
    AnswerRefused("c3", "expected a string"),
    ToolAttemptFailed("c3", "ConnectionError", 2.5, 2.75, 3.0),
    ToolCheckpointed("c3", "half"),
    ToolFinished("c3", "sent", is_withheld=True, failure="transient", untrusted=True),
    GuardrailJudged("safe", "tool_output", "allow", "null", "c3", "", 1, 2, True),
    ToolUseJudged(False),
    TurnEnded((Message("user", "Go on."),)),
    SessionSaved(9, 1),
    ModelReplied(ModelResponse((TO_CASHIER,), finish="tool_calls"), 2.0),
    ToolFinished("c5", "Handed over to cashier."),
    HandedOff("cashier"),
    ViewReplaced((QUESTION, Message("developer", "Be brief."))),
    ViewReplaced((QUESTION,), "Summarise", 20, 10, ("Ada",), 100),
    ViewRestored(),
    SignalsTaken(2, ((1, "the call has its result"),)),
    InputAdded((Message("user", "Be quick."),)),
    SignalsTaken(3),
    RunPaused("Bob", "lunch", 3.25),
    RunUnpaused("Bob", 3.5),
    ToolsetChanged(
        "files",
        (ToolSpec("read", "Read a file.", {"type": "object"}, False, "none", None, True),),
        ("write",),
        "Ask.",
        "1 of 9",
    ),
    LimitWarningEvent("turns", "2", "3"),
    LimitReachedEvent("turns", "3", "3", True),
    LimitRaised("turns", "9"),
    TimeSpent(2.5, 2.0),
    LimitReachedEvent("tokens", "9", "9"),
    ModelReplied(ModelResponse((Message("assistant", "done"),), Usage(1, 1, 1)), 3.0, (), 0, "m", True),
    OutputJudged(""),
    OutputValidated("short", "too long", '"done"', 1, 2),
    TurnEnded(),
    StepBegan("fetch", "fetch", '{"order": 3}', 4.0, "none", "0f"),
    ProgramWaits(1),
    SignalGiven("paid", "[1]", "ann", 4.5),
    RunEnded("done", False, True, 3.75, 2.75),
]
"""Every event, item and part there is, each field set at least once."""


async def save(scenario: Scenario) -> RunState:
    """Run the scenario up to where it is saved."""
    desk = Desk(hangs=scenario.hangs)
    clerk = agent(*scenario.before)
    if scenario.hangs:
        stream = Runner.run_streamed(clerk, "Pay Ada.", context=desk)
        async with stream:
            await desk.begun.wait()
        return stream.to_state()
    result = await Runner.run(clerk, "Pay Ada.", context=desk)
    state = result.to_state()
    if scenario.decided_before:
        for item in state.interruptions:
            scenario.decide(state, item)
    return state


async def resume(scenario: Scenario, text: str, desk: Desk) -> tuple[RunState, RunResult[str]]:
    """The state as it waits after being loaded, and the run gone on to its end, its models saying only what was not said."""
    clerk: Agent[Any, str] = agent(*scenario.after)
    state = RunState.from_string(clerk, text, state_key=KEY)
    if scenario.hangs:
        state = (await Runner.run(clerk, state, context=desk)).to_state()
    waiting = state
    state = RunState.from_string(clerk, state.to_string(), state_key=KEY)
    for item in state.interruptions:
        scenario.decide(state, item)
    return waiting, await Runner.run(clerk, state, context=desk)


def recorded() -> list[type[msgspec.Struct]]:
    """Every struct of a saved run, a stored event or a stored signal, events first, by how it is known there."""
    found: dict[type[msgspec.Struct], None] = {}
    waiting: list[object] = [SavedRun, StoredEvent, StoredSignal]
    while waiting:
        kind = waiting.pop()
        if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
            waiting += get_args(kind)
        elif kind not in found:
            found[kind] = None
            waiting += [field.type for field in msgspec.structs.fields(kind)]
    return sorted(found, key=lambda kind: (kind not in get_args(RunEvent), _name(kind)))


def schema() -> str:
    """The shape of all that is recorded: how each struct is written, its fields in order, their types and defaults."""
    return "".join(f"{line}\n" for kind in recorded() for line in _shape(kind))


def _shape(kind: type[msgspec.Struct]) -> Iterator[str]:
    config = kind.__struct_config__
    yield f"{_name(kind)}: {'array' if config.array_like else 'object'}, {'tagged' if config.tag else 'no tag'}"
    for field in msgspec.structs.fields(kind):
        default = f"{type(field.default).__name__}()" if isinstance(field.default, msgspec.Struct) else repr(field.default)
        yield f"    {field.encode_name}: {_type(field.type)}" + ("" if field.required else f" = {default}")


def _name(kind: type[msgspec.Struct]) -> str:
    """Its tag, which is what a file holds: the class may be renamed."""
    return str(kind.__struct_config__.tag or kind.__name__)


def _type(declared: object) -> str:
    text = declared.__name__ if isinstance(declared, type) and not get_args(declared) else str(declared)
    return re.sub(r"\b[a-z_]+\.", "", text.replace(str(RunEvent), "RunEvent"))


async def main() -> None:
    folder = FIXTURES / f"v{VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    if VERSION > RELEASED or not (folder / "schema.txt").exists():
        (folder / "schema.txt").write_text(schema(), encoding="utf-8")
        print(f"{folder / 'schema.txt'} written")
    if VERSION > RELEASED:
        return
    states = {name: await save(scenario) for name, scenario in SCENARIOS.items()}
    states["every_event"] = RunState(fold(EVERY_EVENT))
    for name, state in states.items():
        path = folder / f"{name}.json"
        if path.exists():
            print(f"{path} was released: left as it is")
            continue
        path.write_text(state.to_string(state_key=KEY) + "\n", encoding="utf-8")
        print(f"{path} written")


if __name__ == "__main__":
    asyncio.run(main())
