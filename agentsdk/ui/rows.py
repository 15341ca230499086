"""`Row`: an event of a log in one line, which lists, waterfalls and conversations are drawn from."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from agentsdk.core.limits.totals import Price
from agentsdk.core.overflow import output_text
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
    GuardrailJudged,
    HandedOff,
    InputAdded,
    InputReplaced,
    LimitRaised,
    LimitReachedEvent,
    LimitWarningEvent,
    ModelReplied,
    OutputJudged,
    OutputValidated,
    RunEnded,
    RunEvent,
    RunPaused,
    RunResumed,
    RunStarted,
    RunUnpaused,
    SignalGiven,
    StepBegan,
    Stopped,
    ToolAttemptFailed,
    ToolCheckpointed,
    ToolFinished,
    ToolsetChanged,
    ToolsIntended,
    TurnEnded,
    ViewReplaced,
    unnested,
)
from agentsdk.types.items import FunctionCall, Item, Message, Reasoning
from agentsdk.types.usage import Usage
from agentsdk.ui.masks import masked

Kind = Literal["run", "turn", "model", "tool", "step", "decision", "guardrail", "limit", "view", "other"]
"""What an event is about."""

RowStatus = Literal["", "ok", "error", "waits"]

MAX_SUMMARY_CHARS = 240
"""How much of a text a row shows."""


class Tokens(Struct, frozen=True):
    """What a request took."""

    input: int
    output: int
    cached: int
    reasoning: int


class Row(Struct, frozen=True, omit_defaults=True):
    """One event: `rev` is its revision, from 1. `at` is a Unix timestamp, null where the event has none.

    `path` leads to the nested run that it is of. `summary` is shortened text of it. `cost` is in US dollars, as text.
    `calls` are those that it is about, where it is about more than one.
    """

    rev: int
    type: str
    kind: Kind
    title: str
    path: tuple[str, ...] = ()
    at: float | None = None
    agent: str = ""
    turn: int = 0
    call_id: str = ""
    calls: tuple[str, ...] = ()
    tool: str = ""
    status: RowStatus = ""
    summary: str = ""
    tokens: Tokens | None = None
    cost: str | None = None


class _Place:
    """What is known of one run of the log, the outermost or a nested one, while it is told."""

    def __init__(self) -> None:
        self.agent = ""
        self.turn = 0
        self.is_open = False
        self.tools: dict[str, str] = {}


class Teller:
    """Makes the row of each event of a log, in their order."""

    def __init__(self, price: Price) -> None:
        self._price = price
        self._places: dict[tuple[str, ...], _Place] = {}

    def row(self, revision: int, event: RunEvent) -> Row:
        """That of the next event."""
        path, inner = unnested(event)
        place = self._places.setdefault(path, _Place())
        if isinstance(inner, RunStarted):
            place.agent = inner.agent
        if isinstance(inner, ModelReplied | StepBegan) and not place.is_open:
            place.turn, place.is_open = place.turn + 1, True
        kind, title, facts = self._told(inner, place)
        at = getattr(inner, "at", 0.0) or None
        row = Row(revision, type(inner).__name__, kind, title, path, at, place.agent, place.turn)
        if isinstance(inner, TurnEnded | HandedOff | InputReplaced):
            place.is_open = False
        if isinstance(inner, HandedOff):
            place.agent = inner.agent
        return replace(row, **facts)

    def _told(self, event: RunEvent, place: _Place) -> tuple[Kind, str, dict[str, Any]]:
        """What an event is about, its title, and what else a row says of it."""
        for told in (_of_run, self._of_model, _of_calls, _of_people, _of_rules):
            if (found := told(event, place)) is not None:
                return found
        return "other", _words(type(event).__name__), {}

    def _of_model(self, event: RunEvent, place: _Place) -> tuple[Kind, str, dict[str, Any]] | None:
        match event:
            case ModelReplied():
                reply = event.response
                calls = [item for item in reply.output if isinstance(item, FunctionCall)]
                place.tools |= {call.call_id: call.name for call in calls}
                text = reply.text or ", ".join(f"{call.name}({call.arguments})" for call in calls)
                text = text or next((_item(item) for item in reply.output), "")
                facts = self._spent(reply.usage, reply.model, event.asked)
                facts |= {"summary": short(text), "calls": tuple([call.call_id for call in calls]), "status": "ok"}
                return (
                    "model",
                    "a program gave the reply" if event.snapshot else (reply.model or event.asked or "the model"),
                    facts,
                )
            case AttemptSpent():
                facts = self._spent(event.usage, event.model, event.asked)
                title = {
                    "reply": "a reply of no use",
                    "refused": "a request that was too long",
                    "summary": "a summary of earlier items",
                    "call": "a request of a call",
                    "discarded": "a request that failed",
                }[event.kind]
                status = "error" if event.kind in ("refused", "discarded") else ""
                return "model", title, {**facts, "summary": short(event.partial), "status": status}
            case _:
                return None

    def _spent(self, usage: Usage, model: str, asked: str) -> dict[str, Any]:
        cost = self._price(usage, model, asked) if usage.known else None
        tokens = Tokens(usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.reasoning_tokens)
        return {"tokens": tokens, "cost": None if cost is None else f"{cost:f}"}


def _of_run(event: RunEvent, place: _Place) -> tuple[Kind, str, dict[str, Any]] | None:
    match event:
        case RunStarted():
            return "run", f"{event.agent} begins", {"summary": short(_items(event.input[event.history :]))}
        case RunResumed():
            return "run", "goes on", {}
        case RunEnded():
            return "run", "finished", {"summary": short(event.output), "status": "ok"}
        case Stopped():
            title = f"cancelled by {event.by}" if event.by else "stopped"
            return "run", title, {"summary": short(event.error or event.reason), "status": "error"}
        case RunPaused():
            return "decision", f"paused{_by(event.by)}", {"summary": short(event.reason), "status": "waits"}
        case RunUnpaused():
            return "decision", f"let go on{_by(event.by)}", {}
        case InputReplaced():
            return "run", "another input", {"summary": short(_items(event.input))}
        case InputAdded():
            return "run", "a message arrived", {"summary": short(_items(event.items))}
        case HandedOff():
            return "turn", f"handed over to {event.agent}", {}
        case TurnEnded():
            return "turn", "the turn ended", {"summary": short(_items(event.added))}
        case ViewReplaced():
            shrunk = f"{event.before:,} to {event.after:,} tokens" if event.before else f"{len(event.items)} items"
            return "view", "what the model sees was replaced", {"summary": short(f"{event.reason} {shrunk}".strip())}
        case ToolsetChanged():
            return (
                "view",
                f"toolset {event.toolset} changed",
                {
                    "summary": short(
                        ", ".join([*(f"+{tool.name}" for tool in event.added), *(f"-{name}" for name in event.removed)])
                    )
                },
            )
        case _:
            return None


def _of_calls(event: RunEvent, place: _Place) -> tuple[Kind, str, dict[str, Any]] | None:
    match event:
        case StepBegan():
            place.tools[event.call_id] = event.name
            return "step", f"{event.name} begins", _call(event.call_id, place, event.arguments)
        case ToolsIntended():
            names = ", ".join(place.tools.get(call_id, call_id) for call_id in event.call_ids)
            return "tool", f"{names} begins", {"calls": event.call_ids}
        case ToolFinished():
            facts = _call(event.call_id, place, "" if event.is_withheld else output_text(event.output))
            facts["status"] = "error" if event.is_error else "ok"
            return "tool", f"{facts['tool']} {'failed' if event.is_error else 'returned'}", facts
        case ToolAttemptFailed():
            facts = {**_call(event.call_id, place, event.error), "status": "error"}
            return "tool", f"an attempt at {facts['tool']} failed", facts
        case ToolCheckpointed():
            return "tool", f"{_tool(event.call_id, place)} has come so far", _call(event.call_id, place, event.data)
        case CallsInDoubt():
            return "tool", "in doubt", {"calls": event.call_ids, "status": "waits"}
        case CallRetried():
            return "tool", f"{_tool(event.call_id, place)} runs again", _call(event.call_id, place, "")
        case _:
            return None


def _of_people(event: RunEvent, place: _Place) -> tuple[Kind, str, dict[str, Any]] | None:
    match event:
        case ApprovalJudged():
            title = f"{_tool(event.call_id, place)} {'waits for approval' if event.needed else 'needs no approval'}"
            facts = {**_call(event.call_id, place, event.reason), "status": "waits" if event.needed else ""}
            return "decision", title, facts
        case ApprovalDecided():
            title = f"{event.tool} {'approved' if event.approved else 'rejected'}{_by(event.by)}"
            return (
                "decision",
                title,
                {**_call(event.call_id, place, event.reason or event.message), "status": "ok" if event.approved else "error"},
            )
        case ArgumentsEdited():
            title = f"arguments of {_tool(event.call_id, place)} edited{_by(event.by)}"
            return "decision", title, _call(event.call_id, place, event.arguments)
        case ArgumentsRefused() | AnswerRefused():
            return "decision", "what was given does not fit", {**_call(event.call_id, place, event.reason), "status": "error"}
        case AnswerAwaited():
            title = f"{_tool(event.call_id, place)} waits for its answer"
            return "decision", title, {**_call(event.call_id, place, event.question), "status": "waits"}
        case CallAnswered():
            title = f"{_tool(event.call_id, place)} answered{_by(event.by)}"
            return "decision", title, {**_call(event.call_id, place, event.answer), "status": "ok"}
        case SignalGiven():
            return "decision", f"signal {event.name}{_by(event.by)}", {"summary": short(event.data)}
        case _:
            return None


def _of_rules(event: RunEvent, place: _Place) -> tuple[Kind, str, dict[str, Any]] | None:
    match event:
        case GuardrailJudged():
            words = {"allow": "allows", "reject_content": "rejects", "raise_exception": "stops the run"}[event.behavior]
            facts: dict[str, Any] = {"summary": short(event.message or event.info)}
            facts["status"] = "ok" if event.behavior == "allow" else "error"
            return "guardrail", f"{event.guardrail} {words}", facts
        case OutputJudged() | OutputValidated():
            feedback = event.error if isinstance(event, OutputJudged) else event.feedback
            facts = {"summary": short(feedback), "status": "error" if feedback else "ok"}
            return "guardrail", "the output does not fit" if feedback else "the output fits", facts
        case LimitWarningEvent() | LimitReachedEvent():
            status = "error" if isinstance(event, LimitReachedEvent) else ""
            title = f"limit on {event.limit} {'reached' if status else 'is near'}"
            return "limit", title, {"summary": f"{event.used} of {event.allowed}", "status": status}
        case LimitRaised():
            return "limit", f"limit on {event.limit} raised", {"summary": event.allowed or "none"}
        case _:
            return None


def _call(call_id: str, place: _Place, text: str) -> dict[str, Any]:
    return {"call_id": call_id, "tool": _tool(call_id, place), "summary": short(text)}


def _tool(call_id: str, place: _Place) -> str:
    return place.tools.get(call_id, call_id)


def _by(name: str) -> str:
    return f" by {name}" if name else ""


def _words(name: str) -> str:
    """`RunStarted` as "run started"."""
    return "".join(f" {char.lower()}" if char.isupper() else char for char in name).strip()


def _items(items: tuple[Item, ...]) -> str:
    return "\n".join([_item(item) for item in items[-3:]])


def _item(item: Item) -> str:
    match item:
        case Message():
            return item.text or item.refusal
        case FunctionCall():
            return f"{item.name}({item.arguments})"
        case Reasoning():
            return "thinking"
        case _:
            return item.type


def short(text: str) -> str:
    """The beginning of a text."""
    text = masked(text[: 2 * MAX_SUMMARY_CHARS])
    return text if len(text) <= MAX_SUMMARY_CHARS else f"{text[: MAX_SUMMARY_CHARS - 1]}…"
