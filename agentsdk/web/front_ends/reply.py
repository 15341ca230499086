"""`Reply`: one reply of a model as it is told while it comes, and set right by what it turns out to be.

Deltas are for showing: some may be missed, and those of an attempt that failed are void. What counts is recorded, and comes
later. So what was told is compared with that: what is missing of it is told, and what does not fit is voided.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from agentsdk.types.deltas import (
    FunctionCallArgumentsDelta,
    ModelStreamEvent,
    OutputItemAdded,
    OutputItemDone,
    OutputTextDelta,
    ReasoningTextDelta,
    RefusalDelta,
)
from agentsdk.types.items import FunctionCall, Item, Message, ProviderItem, Reasoning
from agentsdk.web.front_ends.told import (
    CallBegan,
    CallEnded,
    CallGrew,
    Kind,
    Told,
    Voided,
    WritingBegan,
    WritingEnded,
    WritingGrew,
    message_id,
    public_id,
)


class _Piece:
    """A text, a reasoning or a call that was begun."""

    def __init__(self, id: str, kind: Kind, path: tuple[str, ...]) -> None:
        self.id = id
        self.kind: Kind = kind
        self.path = path
        self.text = ""
        self.is_open = True

    def grow(self, text: str) -> Iterator[Told]:
        self.text += text
        if text:
            yield WritingGrew(self.id, self.kind, text, self.path)

    def end(self) -> Iterator[Told]:
        if self.is_open:
            self.is_open = False
            yield WritingEnded(self.id, self.kind, self.path)


class _Call:
    """A call that was begun."""

    def __init__(self, id: str, tool: str, path: tuple[str, ...]) -> None:
        self.id = id
        self.tool = tool
        self.path = path
        self.text = ""

    def grow(self, text: str) -> Iterator[Told]:
        self.text += text
        if text:
            yield CallGrew(self.id, text, self.path)

    def end(self, arguments: str | None) -> Iterator[Told]:
        yield CallEnded(self.id, self.tool, arguments, self.path)


class Reply:
    """The reply of one turn of the run at `path`, whose items will stand in the transcript from `position` on."""

    def __init__(self, position: int, path: tuple[str, ...]) -> None:
        self._position = position
        self._path = path
        self._count = 0
        self._pieces: list[_Piece] = []
        self._at: dict[tuple[Kind, int], _Piece] = {}
        self._calls: dict[str, _Call] = {}
        self._calls_at: dict[int, _Call] = {}
        self._out_of_place: list[_Piece] = []
        self._ids: set[str] = set()

    @property
    def call_ids(self) -> Container[str]:
        """The public ids of the calls that it has begun."""
        return self._calls.keys()

    def feed(self, data: ModelStreamEvent, known: Container[str]) -> Iterator[Told]:
        """What a delta tells. A call of an id that is `known` is not begun: it will get another."""
        if isinstance(data, OutputTextDelta | RefusalDelta):
            yield from self._write("text", data.output_index, data.delta)
        elif isinstance(data, ReasoningTextDelta):
            yield from self._write("reasoning", data.output_index, data.delta)
        elif isinstance(data, OutputItemAdded) and isinstance(data.item, FunctionCall):
            yield from self._begin_call(data.item, data.output_index, known)
        elif isinstance(data, OutputItemAdded) and isinstance(data.item, ProviderItem):
            self._count += 1
        elif isinstance(data, FunctionCallArgumentsDelta):
            if (call := self._calls_at.get(data.output_index)) is not None:
                yield from call.grow(data.delta)
        elif isinstance(data, OutputItemDone):
            for kind in ("text", "reasoning"):
                if (piece := self._at.pop((kind, data.output_index), None)) is not None:
                    yield from piece.end()

    def void(self) -> Iterator[Told]:
        """End whatever is open, and take all of it back."""
        for piece in self._pieces:
            yield from piece.end()
        for call in self._calls.values():
            yield from call.end(None)
        if ids := (*[piece.id for piece in self._pieces], *self._calls):
            yield Voided(ids)
        self._forget()

    def settle(self, output: tuple[Item, ...], *, hold_text: bool) -> Iterator[Told]:
        """Bring what was told to what the reply is."""
        texts = [piece for piece in self._pieces if piece.kind == "text"]
        reasonings = [piece for piece in self._pieces if piece.kind == "reasoning"]
        wrong = False
        for index, item in enumerate(output):
            if isinstance(item, Reasoning):
                yield from self._match(reasonings, "reasoning", index, item.text or "\n\n".join(item.summary))
            elif isinstance(item, Message) and not hold_text:
                yield from self._match(texts, "text", index, item.text + item.refusal)
            elif isinstance(item, FunctionCall):
                call = self._calls.pop(public_id(self._path, item.call_id), None)
                if call is None:
                    call = self._new_call(item)
                    yield CallBegan(call.id, call.tool, call.path)
                if item.arguments.startswith(call.text):
                    yield from call.grow(item.arguments[len(call.text) :])
                else:
                    wrong = True
                yield from call.end(item.arguments)
        yield from self._leave([*self._out_of_place, *texts, *reasonings], wrong=wrong)

    def _leave(self, pieces: list[_Piece], *, wrong: bool) -> Iterator[Told]:
        """Take back what is none of the reply."""
        for piece in pieces:
            yield from piece.end()
        for call in self._calls.values():
            yield from call.end(None)
        ids = (*[piece.id for piece in pieces], *self._calls)
        if ids or wrong:
            yield Voided(ids)
        self._forget()

    def _match(self, pieces: list[_Piece], kind: Kind, index: int, text: str) -> Iterator[Told]:
        """Tell what is missing of a text, of which some `pieces` may have been told."""
        told, last = "", None
        while pieces and text.startswith(told + pieces[0].text):
            last = pieces.pop(0)
            told += last.text
            if len(told) < len(text) and pieces:
                yield from last.end()
        if rest := text[len(told) :]:
            if last is None or not last.is_open:
                for late in pieces:  # what they are of comes behind this, so they are told anew
                    yield from late.end()
                self._out_of_place += pieces
                pieces.clear()
                began = self._begin(kind, index, index)
                last = self._pieces[-1]
                yield began
            yield from last.grow(rest)
        if last is not None:
            yield from last.end()

    def _write(self, kind: Kind, index: int, text: str) -> Iterator[Told]:
        if text and (kind, index) not in self._at:
            yield self._begin(kind, index, self._count)
            self._count += 1
        if text:
            yield from self._at[kind, index].grow(text)

    def _begin(self, kind: Kind, index: int, number: int) -> WritingBegan:
        while (id := message_id(self._path, self._position, number)) in self._ids:
            number += 1
        self._ids.add(id)
        piece = _Piece(id, kind, self._path)
        self._pieces.append(piece)
        self._at[kind, index] = piece
        return WritingBegan(id, kind, self._path)

    def _begin_call(self, item: FunctionCall, index: int, known: Container[str]) -> Iterator[Told]:
        id = public_id(self._path, item.call_id)
        if item.call_id and id not in known and id not in self._calls:
            self._calls_at[index] = self._calls[id] = call = self._new_call(item)
            self._count += 1
            yield CallBegan(call.id, call.tool, call.path)
            yield from call.grow(item.arguments)
        else:
            self._calls_at.pop(index, None)

    def _new_call(self, item: FunctionCall) -> _Call:
        return _Call(public_id(self._path, item.call_id), item.name, self._path)

    def _forget(self) -> None:
        self._pieces, self._out_of_place = [], []
        self._at, self._calls, self._calls_at = {}, {}, {}
        self._count = 0
        self._ids.clear()
