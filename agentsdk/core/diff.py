"""The diff of two runs, where they diverge: the first thing that happened in one of them and not in the other.

Compared is what was said and done, turn by turn. When it happened, under which ids, what it cost, in which order concurrent
calls came back, who approved them, and how the run was kept going (crashes, resumes, saves) is no difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import cast

import msgspec
from msgspec import Struct, structs

from agentsdk.core.arguments import canonical_arguments
from agentsdk.core.limits.totals import Price, RunTotals, total
from agentsdk.core.overflow import output_text
from agentsdk.core.state import State
from agentsdk.types.events import (
    ArgumentsEdited,
    GuardrailJudged,
    HandedOff,
    InputAdded,
    InputReplaced,
    ModelReplied,
    Nested,
    OutputJudged,
    OutputValidated,
    RunEnded,
    RunEvent,
    RunStarted,
    StepBegan,
    ToolFinished,
    ToolUseJudged,
    TurnEnded,
    ViewReplaced,
    ViewRestored,
)
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message, Reasoning
from agentsdk.types.response import ModelResponse, OutputItem
from agentsdk.types.text import shortened

NOTHING = "nothing more"
_CLOSING = (TurnEnded, HandedOff, RunEnded, InputReplaced)

MAX_SHOWN_CHARS = 80
"""How much of a text a line shows."""


class Divergence(Struct, frozen=True):
    """Where a run, and what it is compared with, part.

    The first `revision` events of the run are what both share: what `Runner.load` and `Runner.fork` take as `at`. `turn` and
    `agent` are those of the nested run where it happened in one. `recorded` says in a line what happened in the run, `now` what
    happened in the other one.
    """

    revision: int
    turn: int
    agent: str
    recorded: str
    now: str

    def __str__(self) -> str:
        return f"revision {self.revision}, turn {self.turn}, agent {self.agent!r}: {self.recorded}; now: {self.now}"


class RunDiff(Struct, frozen=True):
    """How run `b` differs from run `a`: where they part (`revision_b` is that place in `b`), and what each took in all."""

    a: str
    b: str
    divergence: Divergence | None
    revision_b: int
    totals_a: RunTotals
    totals_b: RunTotals

    @property
    def turns(self) -> int:
        """How many turns more `b` took."""
        return self.totals_b.turns - self.totals_a.turns

    @property
    def tool_calls(self) -> int:
        """How many tool calls more `b` began."""
        return self.totals_b.tool_calls - self.totals_a.tool_calls

    @property
    def tokens(self) -> int:
        """How many tokens more `b` took."""
        return self.totals_b.tokens - self.totals_a.tokens

    @property
    def cost(self) -> Decimal | None:
        """How much more `b` cost in US dollars; None where either cost is not known."""
        a, b = self.totals_a.cost, self.totals_b.cost
        return None if a is None or b is None else b - a

    def __str__(self) -> str:
        cost = "unknown" if self.cost is None else f"{self.cost:+f} USD"
        took = f"turns {self.turns:+d}, tool calls {self.tool_calls:+d}, tokens {self.tokens:+d}, cost {cost}"
        at = self.divergence
        if at is None:
            return f"runs {self.a!r} and {self.b!r} did the same; {took}"
        return (
            f"runs {self.a!r} and {self.b!r} part in turn {at.turn} of agent {at.agent!r}; {took}\n"
            f"  {self.a!r} after revision {at.revision}: {at.recorded}\n"
            f"  {self.b!r} after revision {self.revision_b}: {at.now}"
        )


def diff(a: State, b: State, price: Price) -> RunDiff:
    """Compare two runs."""
    of_a, of_b = list(_stretches(a)), list(_stretches(b))
    for number in range(max(len(of_a), len(of_b))):
        in_a = of_a[number] if number < len(of_a) else _Stretch(len(a.log))
        in_b = of_b[number] if number < len(of_b) else _Stretch(len(b.log))
        alone_a = [fact for key, fact in in_a.facts.items() if key not in in_b.facts]
        alone_b = [fact for key, fact in in_b.facts.items() if key not in in_a.facts]
        if alone_a or alone_b:
            return _parting(a, b, price, in_a, in_b, alone_a, alone_b)
    return RunDiff(a.run_id, b.run_id, None, len(b.log), total(a, price), total(b, price))


class _Fact(Struct, frozen=True):
    """Something that happened in a run; `place` is where in its turn, whatever it was."""

    revision: int
    turn: int
    agent: str
    place: tuple[object, ...]
    line: str


class _Stretch:
    """What happened up to the end of a turn of the outermost run, by what it was; `end` is the revision after it."""

    def __init__(self, end: int) -> None:
        self.end = end
        self.facts: dict[bytes, _Fact] = {}


class _Names:
    """A run being read: its agent and turn, and its calls by number in place of id."""

    def __init__(self) -> None:
        self.agent = ""
        self.turn = 1
        self.has_reply = False
        self.calls: dict[str, int] = {}
        self.tools: dict[str, str] = {}
        self.steps: set[str] = set()

    def feed(self, event: RunEvent) -> None:
        """Whose turn it is after `event`."""
        if isinstance(event, ModelReplied):
            self.has_reply = True
        elif isinstance(event, _CLOSING):
            self.turn += self.has_reply
            self.has_reply = False
        if isinstance(event, RunStarted | HandedOff):
            self.agent = event.agent

    def number(self, call_id: str) -> str:
        """What a call is known by: a step by its key, which is the same in both runs."""
        if call_id in self.steps:
            return call_id
        return str(self.calls.setdefault(call_id, len(self.calls)))

    def items(self, items: tuple[Item, ...]) -> tuple[Item, ...]:
        return tuple([self.item(item) for item in items])

    def item(self, item: Item) -> Item:
        if isinstance(item, Message):
            return structs.replace(item, id="")
        if isinstance(item, FunctionCall):
            self.tools[item.call_id] = item.name
            arguments = canonical_arguments(item.arguments)
            return structs.replace(item, call_id=self.number(item.call_id), arguments=arguments, id="", caller=None)
        if isinstance(item, FunctionCallOutput):
            return structs.replace(item, call_id=self.number(item.call_id), caller=None)
        return Reasoning(item.text, item.summary) if isinstance(item, Reasoning) else item


def _parting(
    a: State, b: State, price: Price, in_a: _Stretch, in_b: _Stretch, alone_a: list[_Fact], alone_b: list[_Fact]
) -> RunDiff:
    first = (alone_a or alone_b)[0]
    fact_a, fact_b = _beside(first, alone_a), _beside(first, alone_b)
    at = Divergence(
        fact_a.revision if fact_a else in_a.end,
        first.turn,
        first.agent,
        fact_a.line if fact_a else NOTHING,
        fact_b.line if fact_b else NOTHING,
    )
    revision_b = fact_b.revision if fact_b else in_b.end
    return RunDiff(a.run_id, b.run_id, at, revision_b, total(a, price), total(b, price))


def _beside(first: _Fact, facts: list[_Fact]) -> _Fact | None:
    """What stands in the place of `first`, or else the first of all."""
    return next((fact for fact in facts if fact.place == first.place), facts[0] if facts else None)


def _stretches(state: State) -> Iterator[_Stretch]:
    runs: dict[tuple[str, ...], _Names] = {}
    stretch = _Stretch(len(state.log))
    for revision, event in enumerate(state.log):
        path: tuple[str, ...] = ()
        numbers: tuple[str, ...] = ()
        while isinstance(event, Nested):
            numbers = (*numbers, runs[path].number(event.call_id))
            path, event = (*path, event.call_id), event.event
        names = runs.setdefault(path, _Names())
        essence = _essence(event, names)
        if essence is not None:
            about = (numbers, names.turn)
            key = msgspec.json.encode((*about, essence), order="deterministic")
            place = (*about, type(essence), getattr(essence, "call_id", ""))
            agent = names.agent or getattr(event, "agent", "")
            stretch.facts.setdefault(key, _Fact(revision, names.turn, agent, place, _line(event, names)))
        names.feed(event)
        if not path and isinstance(event, _CLOSING):
            stretch.end = revision + 1
            yield stretch
            stretch = _Stretch(len(state.log))
    yield stretch


def _essence(event: RunEvent, names: _Names) -> RunEvent | None:
    """What of an event can make a difference; None if nothing can."""
    match event:
        case RunStarted():
            return RunStarted("", event.agent, names.items(event.input), 0, 0.0)
        case InputReplaced():
            return InputReplaced(names.items(event.input))
        case InputAdded():
            return InputAdded(names.items(event.items))
        case ViewReplaced():
            return ViewReplaced(names.items(event.items))
        case ModelReplied():
            output = cast("tuple[OutputItem, ...]", names.items(event.response.output))
            return ModelReplied(ModelResponse(output), 0.0)
        case GuardrailJudged():
            return structs.replace(event, call_id=names.number(event.call_id) if event.call_id else "", releases=False)
        case StepBegan():
            names.steps.add(event.call_id)
            names.tools[event.call_id] = event.name
            return structs.replace(event, at=0.0)
        case ToolFinished():
            number = names.number(event.call_id)
            return structs.replace(event, call_id=number, is_withheld=False, took_ms=None, at=0.0, failure="")
        case ArgumentsEdited():
            return ArgumentsEdited(names.number(event.call_id), canonical_arguments(event.arguments))
        case RunEnded():
            return structs.replace(event, at=0.0, elapsed=0.0)
        case ToolUseJudged() | OutputJudged() | OutputValidated() | HandedOff() | ViewRestored():
            return event
        case _:
            return None


def _line(event: RunEvent, names: _Names) -> str:
    match event:
        case ModelReplied():
            return describe_reply(event.response)
        case StepBegan():
            return f"calls step {event.call_id!r} of {event.name!r}"
        case ToolFinished():
            text = output_text(event.output)
            shown_text = shown(text) if text or isinstance(event.output, str) else "something else than text"
            return f"{names.tools.get(event.call_id, '')!r} {'failed with' if event.is_error else 'gave'} {shown_text}"
        case GuardrailJudged():
            return f"{event.kind.replace('_', ' ')} guardrail {event.guardrail!r} says {event.behavior!r}"
        case ArgumentsEdited():
            return f"a person changes the arguments of {names.tools.get(event.call_id, '')!r} to {shown(event.arguments)}"
        case HandedOff():
            return f"hands over to {event.agent!r}"
        case RunEnded():
            return f"ends with {shown(event.output)}"
        case ToolUseJudged():
            return f"the results are {'' if event.is_final else 'not '}the final output"
        case OutputJudged():
            return f"the output {'does not fit its type' if event.error else 'fits its type'}"
        case OutputValidated():
            return f"output validator {event.validator!r} {'sends the output back' if event.feedback else 'accepts the output'}"
        case ViewReplaced():
            return f"the model sees {len(event.items)} items"
        case ViewRestored():
            return "the last compaction is taken back"
        case InputAdded():
            return f"{len(event.items)} messages arrive"
        case RunStarted():
            return f"begins with agent {event.agent!r} and {len(event.input)} items"
        case _:
            return "the input is replaced"


def describe_reply(reply: ModelResponse) -> str:
    """A reply in a line."""
    calls = [item for item in reply.output if isinstance(item, FunctionCall)]
    if calls:
        return f"calls {', '.join(f'{call.name}({shortened(call.arguments, MAX_SHOWN_CHARS)})' for call in calls)}"
    return f"says {shown(reply.text)}"


def shown(text: str) -> str:
    """As much of a text as a line has room for."""
    return repr(shortened(text, MAX_SHOWN_CHARS))
