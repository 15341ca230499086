"""`Narrator`: the events of a run, as a front end is told them: whatever begins also ends, in an order that protocols take."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from agentsdk.core.edited_arguments import with_note
from agentsdk.core.next_step import interruptions, pending_calls
from agentsdk.core.state import State, apply, transcript
from agentsdk.define.stream_events import RawResponsesStreamEvent, RecordedEvent, ToolProgressStreamEvent, WatchEvent
from agentsdk.types.deltas import AttemptDiscarded
from agentsdk.types.events import (
    AttemptSpent,
    ContextSaved,
    GuardrailJudged,
    HandedOff,
    ModelReplied,
    Nested,
    RunEnded,
    RunEvent,
    ToolFinished,
    TurnEnded,
)
from agentsdk.types.items import FunctionCall
from agentsdk.types.summary import RunSummary
from agentsdk.web.front_ends.reply import Reply
from agentsdk.web.front_ends.told import (
    CallBegan,
    CallEnded,
    CallFinished,
    CallGrew,
    Cancelled,
    ContextTold,
    Failed,
    Finished,
    Outcome,
    Progressed,
    StepBegan,
    StepEnded,
    SubagentBegan,
    SubagentEnded,
    Told,
    Waits,
    WritingBegan,
    WritingEnded,
    WritingGrew,
    message_id,
    public_id,
)

Path = tuple[str, ...]


class Narrator:
    """Tells of a run what comes behind `state`, which whoever listens knows already.

    `hold_text`: output guardrails may yet stop what the model says, so its text comes with the end of the run only.
    """

    def __init__(self, state: State, *, hold_text: bool = False) -> None:
        self.state = state
        self._hold_text = hold_text
        self._replies: dict[Path, Reply] = {}
        self._nested: dict[Path, bool] = {}
        self._step: str | None = None
        self._known: set[str] = set(_call_ids(state, ()))
        self._finished: set[str] = set()
        self._last_items = 1
        self._is_ahead = False

    @property
    def may_rest(self) -> bool:
        """Whether something waits, so that the run may rest before it ends."""
        return bool(pending_calls(self.state)) or self.state.paused is not None or self.state.limit is not None

    def feed(self, event: WatchEvent) -> Iterator[Told]:
        """What an event tells."""
        if isinstance(event, RecordedEvent):
            yield from self._recorded(event.event, event.path)
        elif not self._is_of_a_call(event.path):
            return
        elif isinstance(event, RawResponsesStreamEvent):
            if not self._hold_text:
                yield from self._delta(event)
        else:
            yield from self._progress(event)

    def close(self, outcome: Outcome) -> Iterator[Told]:
        """End whatever is open, and tell the outcome."""
        for reply in self._replies.values():
            yield from reply.void()
        if isinstance(outcome, Waits):
            yield from self._unseen(outcome)
        for path in sorted(self._nested, key=len, reverse=True):
            if self._nested[path]:
                yield SubagentEnded("/".join(path), rests=isinstance(outcome, Waits))
        self._nested.clear()
        yield from self._end_step()
        yield outcome

    def outcome(self, summary: RunSummary) -> Outcome:
        """What the run has come to, which rests or is over."""
        ended = self.state.ended
        if ended is not None:
            return Finished(ended.output, ended.is_json)
        if summary.status == "cancelled":
            return Cancelled()
        if summary.status == "failed":
            return Failed(summary.reason, "the run has failed; the log of the service says why")
        if pending := interruptions(self.state):
            return Waits(pending)
        return Failed("RunPaused", "the run is paused, and goes on when whoever paused it lets it")

    def _unseen(self, outcome: Waits) -> Iterator[Told]:
        """The calls that wait where nobody sees: whoever is to decide on one has to see it."""
        for item in outcome.pending:
            if (id := public_id(item.path, item.call_id)) not in self._known:
                self._known.add(id)
                yield from self._before(())
                yield CallBegan(id, item.tool_name)
                if item.arguments:
                    yield CallGrew(id, item.arguments)
                yield CallEnded(id, item.tool_name, item.arguments)

    def _is_of_a_call(self, path: Path) -> bool:
        """Whether calls of the model lead there. Those of output validators are nobody's to see."""
        return all(public_id(path[:depth], path[depth]) in self._known for depth in range(len(path)))

    def _delta(self, event: RawResponsesStreamEvent) -> Iterator[Told]:
        path, data = event.path, event.data
        reply = self._reply(path)
        if isinstance(data, AttemptDiscarded):
            yield from reply.void()
            return
        turn = self.state.turn
        if not path and not self._is_ahead and turn is not None and turn.response is not None:
            self._is_ahead = True  # that the turn has ended is recorded with the next reply
            yield from self._end_step()
        for told in reply.feed(data, self._known):
            if isinstance(told, WritingBegan | CallBegan):
                yield from self._before(path)
            yield told

    def _recorded(self, event: RunEvent, path: Path) -> Iterator[Told]:
        whole: RunEvent = event
        for call_id in reversed(path):
            whole = Nested(call_id, whole)
        before = self.state
        self.state = apply(before, whole)
        if not before.log:
            self._known |= set(_call_ids(self.state, ()))
        if isinstance(event, ToolFinished | GuardrailJudged) and event.call_id:
            yield from self._result(event.call_id, path)
        elif self._is_of_a_call(path):
            yield from self._told(event, path)

    def _told(self, event: RunEvent, path: Path) -> Iterator[Told]:
        if isinstance(event, ModelReplied) and not event.snapshot:
            yield from self._replied(event, path)
        elif isinstance(event, AttemptSpent) and event.kind == "reply" and not event.partial:
            yield from self._reply(path).void()
        elif isinstance(event, ContextSaved):
            yield ContextTold(event.data)
        elif isinstance(event, TurnEnded | HandedOff | RunEnded):
            yield from self._ended(event, path)

    def _replied(self, event: ModelReplied, path: Path) -> Iterator[Told]:
        output, state = event.response.output, _at(self.state, path)
        reply = self._replies.pop(path, None) or Reply(0 if state is None else len(state.transcript), path)
        told = list(reply.settle(output, hold_text=self._hold_text))
        if told:
            yield from self._before(path)
        yield from told
        self._known |= {public_id(path, item.call_id) for item in output if isinstance(item, FunctionCall)}
        if not path:
            self._last_items = 2 * len(output)  # with the results of the calls

    def _result(self, call_id: str, path: Path) -> Iterator[Told]:
        state = _at(self.state, path)
        turn = None if state is None else state.turn
        result = None if turn is None else turn.results.get(call_id)
        id = public_id(path, call_id)
        if turn is None or result is None or result.is_withheld or id in self._finished or id not in self._known:
            return
        self._finished.add(id)
        yield from self._leave((*path, call_id))
        decision = turn.decisions.get(call_id)
        denied = decision is not None and not decision.approved
        output, edited = result.output, turn.outside.edited.get(call_id)
        if edited is not None:
            output = with_note(output, edited.arguments)
        yield CallFinished(id, output, result.is_error, denied, path if self._is_of_a_call(path) else ())

    def _ended(self, event: TurnEnded | HandedOff | RunEnded, path: Path) -> Iterator[Told]:
        if path:
            return
        if isinstance(event, RunEnded):
            yield from self._reply(()).void()
        elif self._is_ahead:
            self._is_ahead = False
            return
        if isinstance(event, RunEnded) and event.output and self._says_more(event):
            yield from self._before(())
            id = message_id((), len(transcript(self.state)), 0)
            yield WritingBegan(id, "text")
            yield WritingGrew(id, "text", event.output)
            yield WritingEnded(id, "text")
        yield from self._end_step()

    def _says_more(self, event: RunEnded) -> bool:
        """Whether the output is a text that nobody was told yet."""
        return self._hold_text or (not event.is_json and not self._is_shown(event.output))

    def _is_shown(self, output: str) -> bool:
        """Whether the output is a text, the result of a call, or what one was given: all of that was told."""
        last = transcript(self.state)[-self._last_items :]
        return any(output in [getattr(item, name, None) for name in ("text", "output", "arguments")] for item in last)

    def _progress(self, event: ToolProgressStreamEvent) -> Iterator[Told]:
        try:
            data: object = msgspec.to_builtins(event.data)
            msgspec.json.encode(data)
        except Exception:  # any object may be a tool's progress
            return
        if (id := public_id(event.path, event.call_id)) in self._known:
            yield Progressed(id, event.tool_name, data, event.path)

    def _reply(self, path: Path) -> Reply:
        if path not in self._replies:
            state = _at(self.state, path)
            self._replies[path] = Reply(0 if state is None else len(transcript(state)), path)
        return self._replies[path]

    def _before(self, path: Path) -> Iterator[Told]:
        """What has to be told before something of the run at `path`: the step, and the nested runs around it."""
        if self._step is None:
            self._step = self.state.agent
            yield StepBegan(self._step)
        for depth in range(1, len(path) + 1):
            around = path[:depth]
            if around not in self._nested:
                self._nested[around] = True
                state = _at(self.state, around)
                agent = "" if state is None else state.agent
                yield SubagentBegan("/".join(around), "/".join(around[:-1]), agent, public_id(around[:-1], around[-1]))

    def _leave(self, path: Path) -> Iterator[Told]:
        """The nested run at `path` has ended."""
        for inner in sorted([one for one in self._nested if one[: len(path)] == path], key=len, reverse=True):
            if self._nested[inner]:
                self._nested[inner] = False
                if (reply := self._replies.pop(inner, None)) is not None:
                    yield from reply.void()
                yield SubagentEnded("/".join(inner))

    def _end_step(self) -> Iterator[Told]:
        if self._step is not None:
            yield StepEnded(self._step)
            self._step = None


def _at(state: State, path: Path) -> State | None:
    """The nested run that the calls of `path` lead to."""
    for call_id in path:
        turn = state.turn
        child = None if turn is None else turn.children.get(call_id)
        if child is None:
            return None
        state = child
    return state


def _call_ids(state: State, path: Path) -> Iterator[str]:
    """The public ids of all calls of a run and those nested in its open turn."""
    for item in state.transcript:
        if isinstance(item, FunctionCall):
            yield public_id(path, item.call_id)
    if state.turn is not None:
        for call in state.turn.calls:
            yield public_id(path, call.call_id)
        for call_id, child in state.turn.children.items():
            yield from _call_ids(child, (*path, call_id))
