"""Compaction of a session: what the strategies of a context window leave of it takes the place of what they replace.

Only the part that they change is written, in one step, if it stands there still. What others add meanwhile comes behind it.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from agentsdk.core.overflow import cut_text, output_text, whole_output
from agentsdk.core.pairing import paired
from agentsdk.core.taint import taint_of_items
from agentsdk.core.window.context_window import ContextWindow
from agentsdk.core.window.fit import Replace, SummaryRequest
from agentsdk.engine.model_choice import choose_model
from agentsdk.engine.run import Run
from agentsdk.engine.session import load_history
from agentsdk.engine.window.count_tokens import count, counter_of
from agentsdk.engine.window.fit import lost_by, reason_of, shrink, summarized, window_size
from agentsdk.ports.session import SESSION, ManagedSession, ReplacingSession, Session
from agentsdk.types.declared import Fields, a
from agentsdk.types.errors import AgentsException, SessionBusyError, SessionError, UserError
from agentsdk.types.events import AttemptSpent
from agentsdk.types.items import FunctionCallOutput, Item, Message
from agentsdk.types.session import SessionCompaction
from agentsdk.types.usage import Usage

_ATTEMPTS = 3
"""How often it is begun, where others change what it is about to replace each time."""

_ARGUMENTS = Fields(
    "Runner.compact_session", session=SESSION, window=a(ContextWindow, "a ContextWindow; pass ContextWindow(size=8_000), say")
)


def compactable(session: Session, window: ContextWindow) -> ReplacingSession:
    """The session, if the window can compact it. Raises `UserError` for one that cannot replace its items, or is none."""
    _ARGUMENTS.check_given(session=session, window=window)
    if not window.strategies:
        raise UserError(
            f"session {session.session_id!r} was to be compacted, but the window has no strategies, expected at least one; "
            "pass ContextWindow(strategies=[DropOldest()]), say"
        )
    if not isinstance(session, ReplacingSession):
        raise UserError(
            f"session {session.session_id!r} is a {type(session).__name__!r}, expected one that can replace its items; give it "
            "the methods of ReplacingSession or ManagedSession"
        )
    return session


async def compact_session(run: Run, session: ReplacingSession, window: ContextWindow) -> SessionCompaction | None:
    """Make a session smaller, where it takes more tokens than the window's trigger. None where nothing has changed.

    `run` is not driven: it has the model, the limits and the tracer of the summaries. Raises `SessionError`s.
    """
    if run.deps.chooses_model(run.agent):  # else no model is looked for until one is needed
        await choose_model(run)
    size, counter = await window_size(run, window), counter_of(run)
    spent: list[AttemptSpent] = []

    async def count_new(new: Sequence[Item]) -> Sequence[int]:
        return await count(counter, new)

    async def summarize(step: SummaryRequest) -> Replace | None:
        return await summarized(run, step, spent)

    for _ in range(_ATTEMPTS):
        items = await load_history(session)
        view = window.view(items, await count(counter, items), size=size)
        end, done = await shrink(view, count_new, summarize)
        if not done:
            return None
        left = _as_untrusted(items, paired(_as_stored(end.view.items, done)))
        if await _replace(session, *_changed(items, left)):
            return SessionCompaction(
                reason=reason_of(done),
                before=view.tokens,
                after=end.view.tokens,
                items_before=len(items),
                items_after=len(left),
                lost_terms=lost_by(done),
                usage=sum((attempt.usage for attempt in spent), Usage()),
            )
    raise SessionBusyError(
        f"session {session.session_id!r} was changed by others while it was compacted, {_ATTEMPTS} times, expected its "
        "older items to stay as they are meanwhile; try again"
    )


def _changed(items: Sequence[Item], left: Sequence[Item]) -> tuple[Sequence[Item], Sequence[Item]]:
    """What is replaced, and by what: without the end that stays, but for an item."""
    same = 0
    while same < min(len(items), len(left)) - 1 and items[-1 - same] == left[-1 - same]:
        same += 1
    return items[: len(items) - same], left[: len(left) - same]


def _as_stored(items: Sequence[Item], done: Sequence[Replace]) -> list[Item]:
    """The items, without a word in cut results on how to read on: runs to come do not have the rest."""
    cut = {cut_text(overflow): cut_text(overflow, is_kept=False) for step in done for overflow in step.cut}
    found: list[Item] = []
    for item in items:
        text = output_text(item.output) if isinstance(item, FunctionCallOutput) else ""
        if isinstance(item, FunctionCallOutput) and text in cut:
            item = structs.replace(item, output=whole_output(item.output, cut[text]))
        found.append(item)
    return found


def _as_untrusted(items: Sequence[Item], left: tuple[Item, ...]) -> tuple[Item, ...]:
    """What is left of untrusted items is untrusted: a summary repeats what it sums up."""
    if taint_of_items(items) is None or taint_of_items(left) is not None:
        return left
    place = next((place for place, item in enumerate(left) if isinstance(item, Message)), None)
    if place is None:
        return left
    return (*left[:place], structs.replace(left[place], untrusted=True), *left[place + 1 :])


async def _replace(session: ReplacingSession, expected: Sequence[Item], items: Sequence[Item]) -> bool:
    """Put `items` in the place of the session's first ones, if those are `expected`. Raises `SessionError`."""
    try:
        if isinstance(session, ManagedSession):
            return await session.compact(expected, items)
        while True:
            stands = await session.get_items()
            if tuple(stands[: len(expected)]) != tuple(expected):
                return False
            if await session.replace_latest(stands, [*items, *stands[len(expected) :]]):
                return True
    except AgentsException:
        raise
    except Exception as error:
        raise SessionError(
            f"session {session.session_id!r} could not be compacted ({type(error).__name__}), expected it to replace its "
            "items; see the chained exception"
        ) from error
