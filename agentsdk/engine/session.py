"""A run and its session: the history is loaded at the start, the run's own items are saved when it ends or pauses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from agentsdk.core.pairing import paired
from agentsdk.core.state import State, fold, transcript
from agentsdk.define.run_config import SessionInputCallback
from agentsdk.engine.callbacks import call_user
from agentsdk.engine.concurrency import shielded
from agentsdk.engine.guardrails import pending_input_guardrails
from agentsdk.engine.output_buffer import judges_output
from agentsdk.engine.run import Run
from agentsdk.ports.session import ReplacingSession, Session
from agentsdk.types.errors import AgentsException, SessionError, UserError
from agentsdk.types.events import InputReplaced, SessionSaved
from agentsdk.types.items import InputItem, Item, items_from_input
from agentsdk.types.spec import handler_of


async def load_history(session: Session, limit: int | None = None) -> tuple[Item, ...]:
    """The session's items as they stand there; with a `limit` its latest turns of so many items. Raises `SessionError`."""
    try:
        if limit is None:
            return tuple(await session.get_items())
        return _whole_turns(await session.get_items(limit + 1), limit)
    except AgentsException:
        raise
    except Exception as error:
        raise SessionError(
            f"session {session.session_id!r} could not be read ({type(error).__name__}), expected its items; "
            "see the chained exception"
        ) from error


def _whole_turns(items: Sequence[Item], limit: int) -> tuple[Item, ...]:
    """The last `limit` of `items`, without the rest of a turn that begins before them."""
    if len(items) <= limit:
        return tuple(items)
    from agentsdk.core.window.fit import blocks  # few runs have a limit

    first = blocks(items, [0] * len(items))[0].positions
    return tuple([item for position, item in enumerate(items) if position not in first])


async def with_callback(callback: SessionInputCallback, history: tuple[Item, ...], given: object) -> tuple[Item, ...]:
    """What a `session_input_callback` puts before the new items. Raises `UserError` where these are not its end."""
    new = items_from_input(cast("Sequence[InputItem]", given))
    merged = await call_user("session_input_callback", callback, list(history), list(new))
    try:
        items = items_from_input(merged)
    except UserError as error:
        raise UserError(f"session_input_callback returned what is no list of items: {error}") from error
    start = len(items) - len(new)
    if start < 0 or items[start:] != new:
        raise UserError(
            f"session_input_callback returned {len(items)} items that do not end with the {len(new)} new ones, expected "
            "what the model is to see before these, and then these as they were given; return [*history, *new]"
        )
    return items[:start]


async def save_session(run: Run, session: Session, after: BaseException | None = None) -> None:
    """Add what the session does not hold yet, in one write.

    A paused run's open turn waits for its end. Of a run left before its end (`after` says by what) the open turn is saved too,
    its unanswered calls marked, and replaced by what became of it when the run goes on; it stays as it is if another run has
    added to the session since, or the session cannot replace. The session is what later runs send, so it holds neither an input
    nor an open turn that guardrails have not let pass, and an input that was replaced is replaced there too.

    Raises `SessionError`, unless `after` is already on its way: the failed write is then added to its notes.
    """
    try:
        await shielded(_save(run, session, after is not None and not _is_guarded(run)), grace=run.deps.grace)
    except Exception as error:
        typed = error
        if not isinstance(error, AgentsException):
            typed = SessionError(
                f"session {session.session_id!r} could not be written ({type(error).__name__}), expected it to keep the run's "
                "items; resume error.state to write them again"
            )
            typed.__cause__ = error
        if after is None:
            raise typed from typed.__cause__
        after.add_note(str(typed))


async def _save(run: Run, session: Session, with_open_turn: bool) -> None:
    state = run.state
    if pending_input_guardrails(run) or any(verdict.behavior != "allow" for verdict in state.input_verdicts):
        return
    committed = len(state.transcript)
    if state.provisional and committed == state.saved and not with_open_turn:
        return  # the turn that stands there is still open
    provisional, is_replaced = _left_open(state)
    new = transcript(state)[state.saved :] if with_open_turn else tuple(state.transcript[state.saved :])
    if not (new or provisional):
        return
    recorder = run.root.recorder
    if recorder is not None:
        await recorder.flush()  # only who still has the run may write; and see `unrecorded_save`
    changed = new[: len(provisional)] != provisional
    if not (changed and isinstance(session, ReplacingSession) and await session.replace_latest(provisional, new)):
        added = new if is_replaced else new[len(provisional) :]
        if added:
            await session.add_items(added)
    await run.record(SessionSaved(committed, state.saved + len(new) - committed))


async def unrecorded_save(state: State, session: Session) -> tuple[SessionSaved, ...]:
    """What a run that goes on must record first: that it had written to the session when it died, or the answer was lost.

    What such a write adds was in the state before it, so that the session's end is what it would be given of this state.
    """
    committed, saved = len(state.transcript), state.saved
    provisional, _ = _left_open(state)
    whole = transcript(state)
    new = whole[saved:]
    stands = await load_history(session)
    for end in (len(new), committed - saved):
        written = new[len(provisional) : end] or new[:end]
        if not written or stands[-len(written) :] != written:
            continue
        # They may also have stood there before the run, which its own history ends with then.
        before = whole[max(0, saved - len(written)) : saved]
        is_new = before != written[len(written) - len(before) :]
        if is_new or len(paired(stands)) >= saved + len(written):
            return (SessionSaved(committed, end - (committed - saved)),)
    return ()


def _left_open(state: State) -> tuple[tuple[Item, ...], bool]:
    """What the session holds that the transcript may not: the open turn, or an input that was replaced; and whether it was."""
    if not state.provisional:
        return (), False
    at = max(position for position, event in enumerate(state.log) if type(event) is SessionSaved)
    is_replaced = any(type(event) is InputReplaced for event in state.log[at:])
    return transcript(fold(state.log[:at]))[state.saved : state.saved + state.provisional], is_replaced


def _is_guarded(run: Run) -> bool:
    """Whether guardrails may still have a word on what the open turn holds."""
    turn = run.state.turn
    if turn is None or turn.response is None:
        return False
    if not turn.calls:
        return judges_output(run)
    tools = run.declared.tools
    called = [handler_of(call, tools) for call in turn.calls]
    return any(tool.tool_input_guardrails or tool.tool_output_guardrails for tool in called if tool is not None)
