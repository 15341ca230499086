"""The context window: what of a conversation a model is sent when all of it does not fit. The log always keeps all.

`fit(view)` gives the next step as data. Whoever runs it does the step's one effect (counts the new items, asks for a summary),
takes `done(...)` as the new view and fits again, until the step is `Fits` or `Impossible`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from itertools import takewhile
from typing import Literal, Protocol

from msgspec import Struct, structs

from agentsdk.core.overflow import Overflow
from agentsdk.core.window.lost_terms import LostTerms, lost_terms, put_back
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message
from agentsdk.types.response import ModelResponse

MARKER = Message("user", "[Earlier parts of this conversation were left out here to fit the context window.]")
"""Stands where the first of the dropped items stood. It never changes, so that a provider's prompt cache stays good."""

MARKER_TOKENS = 32
"""What is set aside for the marker before it is counted."""

SUMMARY_HEADER = "[Summary of earlier parts of this conversation, written by a model; nothing in it is a new request.]\n\n"

LEAST_SUMMARY = 40
"""A shorter text, in characters, sums nothing up."""

Kept = Literal["", "instructions", "input", "pinned", "newest"]
"""Why every strategy keeps a block: a system or developer message, what the run was asked, a pin, or results that the model has
not answered yet. `""`: it may go."""


class NamedModel(Protocol):
    """A `Model`, as far as it matters here."""

    name: str


class Strategy(Protocol):
    """One way to make a view smaller: a pure decision."""

    def offer(self, view: WindowView) -> Replace | SummaryRequest | None:
        """What it would do to bring `view.tokens` down to `view.target`; None where it can do nothing."""
        ...


class Block(Struct, frozen=True):
    """What is never split: a turn of the model (reasoning, messages, calls) with all results of its calls, or one message.

    `positions`: where its items stand in the view. `age`: how many turns are newer; a message is as old as the turn that
    answers it. `"marker"` and `"summary"` stand for what went before.
    """

    positions: tuple[int, ...]
    kind: Literal["turn", "message", "orphan", "marker", "summary"]
    tokens: int
    age: int
    has_error: bool
    kept: Kept


class WindowView(Struct, frozen=True, dict=True, kw_only=True):
    """What a model is about to be sent: `items` with the tokens of each, and `fixed` tokens beside them (system prompt, tool
    definitions, output schema).

    `size`: the model's window in tokens, of which `reserve` are kept for the answer. `trigger_share` and `target_share` are
    fractions of it. `inputs`: what the run was asked, where other user messages may follow it. `tried`: how many of the
    strategies had their turn.
    """

    items: Sequence[Item]
    counts: Sequence[int]
    size: int
    reserve: int = 0
    fixed: int = 0
    trigger_share: float = 0.75
    target_share: float = 0.5
    strategies: Sequence[Strategy] = ()
    inputs: Collection[Item] = ()
    pin: Callable[[Item], bool] | None = None
    tried: int = 0

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The items in blocks."""
        return blocks(self.items, self.counts, self.inputs, self.pin)

    @cached_property
    def tokens(self) -> int:
        """The tokens of the request."""
        return self.fixed + sum(self.counts)

    @cached_property
    def least(self) -> int:
        """What would be left of the request if all went that may."""
        return self.fixed + sum(block.tokens for block in self.blocks if block.kept)

    @property
    def budget(self) -> int:
        """The tokens that a request may have."""
        return self.size - self.reserve

    @property
    def least_trigger(self) -> int:
        """Up to it nothing is done, whatever must stay."""
        return min(self.budget, int(self.trigger_share * self.size))

    @property
    def trigger(self) -> int:
        """Above it the view is made smaller. Where much must stay it lies higher, at most at the budget."""
        if self._has_room:
            return self.least_trigger
        return max(self.least_trigger, min(self.budget, (self.least + self.budget) // 2))

    @property
    def target(self) -> int:
        """What it is brought down to. Where much must stay, no more than half of the rest has to go."""
        share = int(self.target_share * self.size)
        return min(self.trigger, share if self._has_room else max(share, (self.least + self.trigger) // 2))

    @property
    def _has_room(self) -> bool:
        """Whether what must stay is no more than half of the target."""
        return 2 * self.least <= int(self.target_share * self.size)

    def without(self, gone: Collection[Block], note: Message = MARKER) -> Replace | None:
        """The view with `note` in place of the `gone` blocks, where the first of them stood; None where none goes.

        There is one marker at most, at the first gap.
        """
        if not gone:
            return None
        if note is MARKER:
            gone = (*gone, *(block for block in self.blocks if block.kind == "marker"))
        out = {position for block in gone for position in block.positions}
        first = min(out)
        items: list[Item] = []
        counts: list[int | None] = []
        for position, item in enumerate(self.items):
            if position == first:
                items.append(note)
                counts.append(None)
            if position not in out:
                items.append(item)
                counts.append(self.counts[position])
        return Replace(self, tuple(items), tuple(counts))


class Fits(Struct, frozen=True):
    """The view can be sent. Its `items` are the same object as before where nothing was changed."""

    view: WindowView


class Impossible(Struct, frozen=True):
    """What must stay does not fit. `reason` shows the arithmetic."""

    view: WindowView
    reason: str


class Replace(Struct, frozen=True):
    """Other items in place of the view's. `counts` are None where an item is new. `cut`: results that were cut, to be kept so
    that they can be fetched. `lost_terms`: what a summary left out and had no room to be put back."""

    view: WindowView
    items: tuple[Item, ...]
    counts: tuple[int | None, ...]
    cut: tuple[Overflow, ...] = ()
    lost_terms: LostTerms = LostTerms()

    @property
    def new(self) -> tuple[Item, ...]:
        """The items that have to be counted."""
        return tuple(item for item, count in zip(self.items, self.counts, strict=True) if count is None)

    @property
    def prefix(self) -> int:
        """The tokens of the request before the first change: what a provider may still have in its cache."""
        view = self.view
        same = takewhile(lambda row: row[0] is row[1], zip(view.items, self.items, view.counts, strict=False))
        return view.fixed + sum(count for _, _, count in same)

    def done(self, counts: Iterable[int]) -> WindowView:
        """The view to go on with, `counts` being those of `new`: this one, or the old one where this would not be lighter."""
        fresh = iter(counts)
        known = tuple(next(fresh) if count is None else count for count in self.counts)
        if sum(known) >= sum(self.view.counts):
            return self.view
        return structs.replace(self.view, items=self.items, counts=known)


class SummaryRequest(Struct, frozen=True):
    """A summary is wanted of the `gone` blocks of `view`: ask `model` (None: the run's own) with `instructions` and `text`, for
    `max_tokens` at most. Where that fails, go on with `view`: it is untouched, and the next strategy has its turn."""

    view: WindowView
    gone: tuple[Block, ...]
    instructions: str
    text: str
    model: str | NamedModel | None
    max_tokens: int
    max_put_back: int

    @property
    def prefix(self) -> int:
        """The tokens of the request before the first change, as in `Replace`."""
        return self.view.fixed + sum(self.view.counts[: self.gone[0].positions[0]])

    @property
    def tokens(self) -> int:
        """The tokens of what the summary replaces."""
        return sum(block.tokens for block in self.gone)

    def done(self, reply: ModelResponse) -> Replace | None:
        """The view with the summary in place of what it sums up, and with what the summary lost put back. None for a reply that
        is no summary: empty, cut, a refusal, a call."""
        summary = _summary(reply)
        if not summary:
            return None
        out = {position for block in self.gone for position in block.positions}
        before = [item for position, item in enumerate(self.view.items) if position in out]
        after = [item for position, item in enumerate(self.view.items) if position not in out]
        lost = lost_terms(before, after, summary)
        text, left = put_back(summary, lost, self.max_put_back)
        replaced = self.view.without(self.gone, Message("user", SUMMARY_HEADER + text))
        assert replaced is not None, "a summary is asked for of something"
        return structs.replace(replaced, lost_terms=left)


Step = Fits | Replace | SummaryRequest | Impossible


def fit(view: WindowView) -> Step:
    """The next step towards a view that fits: what the first strategy offers that has not had its turn."""
    # The first is cheap, and all that is needed as long as the view is far from the trigger.
    if not view.tried and (view.tokens <= view.least_trigger or view.tokens <= view.trigger):
        return Fits(view)
    for position in range(view.tried, len(view.strategies)):
        if view.tokens <= view.target:
            break
        offer = view.strategies[position].offer(structs.replace(view, tried=position + 1))
        if offer is not None:
            return offer
    return Fits(view) if view.tokens <= view.budget else Impossible(view, _arithmetic(view))


def blocks(
    items: Sequence[Item],
    counts: Sequence[int],
    inputs: Collection[Item] = (),
    pin: Callable[[Item], bool] | None = None,
) -> tuple[Block, ...]:
    """The items in blocks, by where each begins. `inputs` and `pin` say what must stay, as in `WindowView`.

    A result without its call and a call without its result stand in the way of nothing.
    """
    groups = _groups(items)
    inputs_at = _inputs_at(items, inputs)
    found: list[Block] = []
    turns = 0
    for group in reversed(groups):
        first = items[group[0]]
        kind = _kind(first)
        kept: Kept = ""
        if pin is not None and any(pin(items[position]) for position in group):
            kept = "pinned"
        elif isinstance(first, Message) and first.role in ("system", "developer"):
            kept = "instructions"
        elif group[0] in inputs_at:
            kept = "input"
        elif kind == "turn" and not turns and any(type(items[position]) is FunctionCall for position in group):
            kept = "newest"
        age = turns if kind == "turn" else max(turns - 1, 0)
        turns += kind == "turn"
        has_error = any(isinstance(item, FunctionCallOutput) and item.is_error for item in map(items.__getitem__, group))
        found.append(Block(tuple(group), kind, sum(counts[position] for position in group), age, has_error, kept))
    return tuple(reversed(found))


def _groups(items: Sequence[Item]) -> list[list[int]]:
    """The positions of what belongs together."""
    groups: list[list[int]] = []
    turn: list[int] | None = None
    waiting: dict[str, list[int]] = {}
    for position, item in enumerate(items):
        if isinstance(item, FunctionCallOutput):
            group = waiting.pop(item.call_id, None)
            if group is None:
                groups.append([position])
            else:
                group.append(position)
            turn = None
        elif isinstance(item, Message) and item.role != "assistant":
            groups.append([position])
            turn = None
        else:
            if turn is None:
                turn = []
                groups.append(turn)
            turn.append(position)
            if isinstance(item, FunctionCall):
                waiting[item.call_id] = turn
    return groups


def _kind(first: Item) -> Literal["turn", "message", "orphan", "marker", "summary"]:
    if isinstance(first, FunctionCallOutput):
        return "orphan"
    if not isinstance(first, Message) or first.role == "assistant":
        return "turn"
    if first == MARKER:
        return "marker"
    return "summary" if _is_summary(first) else "message"


def _is_summary(message: Message) -> bool:
    return isinstance(message.content, str) and message.content.startswith(SUMMARY_HEADER)


def current_input(items: Sequence[Item]) -> tuple[Item, ...]:
    """What a model is to answer: the last user message, and the user messages directly before it."""
    return tuple(items[position] for position in reversed(_last_input(items)))


def _last_input(items: Sequence[Item]) -> list[int]:
    """The positions of the current input, from the last on."""
    position = len(items) - 1
    while position >= 0 and not _asks(items[position]):
        position -= 1
    found: list[int] = []
    while position >= 0 and _asks(items[position]):
        found.append(position)
        position -= 1
    return found


def _inputs_at(items: Sequence[Item], inputs: Collection[Item]) -> set[int]:
    """The positions of the current input and, each where it stands last, of `inputs`."""
    found = set(_last_input(items))
    for wanted in inputs:
        found.update([position for position, item in enumerate(items) if item == wanted][-1:])
    return found


def _asks(item: Item) -> bool:
    return isinstance(item, Message) and item.role == "user" and item != MARKER and not _is_summary(item)


def _summary(reply: ModelResponse) -> str:
    """The summary that a reply is, or `""`."""
    messages = [item for item in reply.output if isinstance(item, Message)]
    is_whole = reply.finish in ("stop", "unknown") and not any(isinstance(item, FunctionCall) for item in reply.output)
    text = reply.text.strip()
    if not is_whole or len(text) < LEAST_SUMMARY or any(message.refusal for message in messages):
        return ""
    return text


def _arithmetic(view: WindowView) -> str:
    room = view.budget - view.fixed
    parts = {"instructions": 0, "input": 0, "pinned": 0, "newest": 0}
    for block in view.blocks:
        if block.kept:
            parts[block.kept] += block.tokens
    sizes = (
        f"window {view.size:,} - reserve {view.reserve:,} - system prompt, tools and output schema {view.fixed:,} = {room:,} "
        "tokens for the conversation"
    )
    if view.least > view.budget:
        must_stay = (
            f"system and developer messages {parts['instructions']:,} + input {parts['input']:,} + pinned "
            f"{parts['pinned']:,} + newest results {parts['newest']:,} = {view.least - view.fixed:,}"
        )
        return (
            f"{sizes}, expected room for what must stay: {must_stay}; shorten these, lower the reserve or use a model with a "
            "larger window"
        )
    tried = ", ".join(type(strategy).__name__ for strategy in view.strategies) or "no strategy"
    return f"{sizes}, which takes {view.tokens - view.fixed:,} after {tried}; add DropOldest() to the strategies"
