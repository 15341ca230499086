"""Loop detection: whether a run's turns still make progress. Both detectors are told of each turn once, when it has ended."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from agentsdk.core.arguments import parse_arguments
from agentsdk.types.errors import InvalidArgumentsError
from agentsdk.types.events import ToolFinished
from agentsdk.types.items import FunctionCall, Part
from agentsdk.types.response import OutputItem

LONGEST_PERIOD = 4
"""How many turns a round may have."""

REMEMBERED_RESULTS = 32
"""Among how many of the latest results one is looked for, to tell whether it is new."""

COMPARED_CHARS = 2_000
"""How much of a text is compared with the one before."""

NEARLY = 0.9
"""The share of their runs of three characters that nearly equal texts have in common."""


Results = Mapping[str, ToolFinished]
"""The results of a turn's calls, by the call's id."""

_Outcome = tuple[str, object, "str | tuple[Part, ...]", bool]
"""A call's tool and arguments, its result, and whether that is an error."""


class Turn(Struct):
    """A turn with calls: the reply's items and the calls' results, looked into only when a turn is like it at first sight."""

    items: Sequence[OutputItem]
    results: Results
    _read: list[_Outcome] | None = None

    @property
    def outcomes(self) -> list[_Outcome]:
        """What was called with what result, in an order that does not depend on the reply's."""
        if self._read is None:
            made = _answered(self.items, self.results)
            made.sort(key=_order)
            self._read = [(call.name, _arguments(call), result.output, result.is_error) for call, result in made]
        return self._read


_NO_TURN = Turn((), {})


class Loop(Struct, frozen=True):
    """The same calls with the same results, `rounds` times running: the names of the tools called in each turn of a round."""

    turns: tuple[tuple[str, ...], ...]
    rounds: int

    @property
    def period(self) -> int:
        """How many turns a round has."""
        return len(self.turns)

    @property
    def tools(self) -> frozenset[str]:
        """The names of the tools called."""
        return frozenset(name for names in self.turns for name in names)

    def __str__(self) -> str:
        return ", then ".join(" and ".join(map(repr, names)) for names in self.turns)


class Repeats:
    """Finds rounds of the same calls, of one to `LONGEST_PERIOD` turns each: A A A, A B A B A B.

    Two turns are the same when their tools, arguments and results are: the order within a turn, and how the arguments are
    written, aside. So a result that changed ends the loop. Turns without calls are passed over, and so is the text beside a
    call: a model that is stuck goes on talking.
    """

    __slots__ = ("_matches", "_recent", "_traits")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self._recent = deque([_NO_TURN] * LONGEST_PERIOD, LONGEST_PERIOD)
        self._traits: deque[object] = deque(maxlen=LONGEST_PERIOD)
        """Of each recent turn, what equal turns have in common and others hardly ever."""
        self._matches: Sequence[int] = ()
        """For each period, how many turns up to the last one were the same as the turn so long before; empty where none was."""

    def add(self, items: Sequence[OutputItem], results: Results) -> None:
        """Take note of a turn with calls."""
        if len(results) == 1:
            (result,) = results.values()
            trait: object = result.output
        else:
            trait = sum([len(result.output) for result in results.values()])
        turn = Turn(items, results)
        if trait in self._traits:
            before = self._matches or (0,) * LONGEST_PERIOD
            outcomes = turn.outcomes
            self._matches = [
                count + 1 if earlier.outcomes == outcomes else 0
                for count, earlier in zip(before, reversed(self._recent), strict=True)
            ]
        elif self._matches:
            self._matches = ()
        self._recent.append(turn)
        self._traits.append(trait)

    def found(self, rounds: int) -> Loop | None:
        """The loop that has gone round that often up to the last turn, or None; of several the shortest."""
        for period, matches in enumerate(self._matches, 1):
            if matches >= period * (rounds - 1):
                turns = list(self._recent)[-period:]
                return Loop(tuple(tuple(name for name, *_ in turn.outcomes) for turn in turns), matches // period + 1)
        return None


class Stalls:
    """Counts the turns running that brought nothing new.

    A turn with calls brings something new when any tool gives a result that it did not give among the latest
    `REMEMBERED_RESULTS`; whatever its arguments and the text beside it. A turn without calls does when its text is not nearly
    the same as that of the last such turn (`nearly_same`).
    """

    __slots__ = ("_results", "_text", "tools", "turns")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self.turns = 0
        self.tools: set[str] = set()
        """The tools that were called in these turns."""
        self._results: deque[tuple[str, object]] = deque(maxlen=REMEMBERED_RESULTS)
        self._text: str | None = None

    def add(self, items: Sequence[OutputItem], results: Results) -> None:
        """Take note of a turn with calls."""
        given = [(call.name, result.output) for call, result in _answered(items, results)]
        self._count(all(result in self._results for result in given), [name for name, _ in given])
        self._results.extend(given)

    def add_text(self, text: str) -> None:
        """Take note of a turn without calls."""
        before, self._text = self._text, text
        self._count(before is not None and nearly_same(before, text))

    def _count(self, is_stalled: bool, tools: Iterable[str] = ()) -> None:
        if is_stalled:
            self.turns += 1
            self.tools.update(tools)
        else:
            self.turns = 0
            self.tools.clear()


def nearly_same(one: str, other: str) -> bool:
    """Whether two texts have at least `NEARLY` of their runs of three characters in common, in any order.

    Only their first `COMPARED_CHARS` characters count. O(length).
    """
    one, other = one[:COMPARED_CHARS], other[:COMPARED_CHARS]
    if one == other:
        return True
    first, second = _runs(one), _runs(other)
    return 2 * (first & second).total() >= NEARLY * max(first.total() + second.total(), 1)


def _runs(text: str) -> Counter[str]:
    return Counter(text[at : at + 3] for at in range(len(text) - 2))


def _answered(items: Sequence[OutputItem], results: Results) -> list[tuple[FunctionCall, ToolFinished]]:
    return [
        (item, result) for item in items if isinstance(item, FunctionCall) and (result := results.get(item.call_id)) is not None
    ]


def _order(made: tuple[FunctionCall, ToolFinished]) -> tuple[str, str]:
    return made[0].name, made[0].arguments


def _arguments(call: FunctionCall) -> object:
    """What the tool is given; text that cannot be read stands for itself."""
    try:
        return parse_arguments(call.arguments)
    except InvalidArgumentsError:
        return call.arguments
