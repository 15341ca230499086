"""What kills led to, counted."""

from __future__ import annotations

from dataclasses import dataclass, field

ANYWHERE = "at random"
"""The point of a kill from outside, at a random time."""


@dataclass
class Tally:
    """What kills at one point led to.

    `lost`: recorded and not there afterwards, or another end than without kills. `effects`: repeated although the tool's effect
    is once or has a key, or the result was recorded. `requests`: sent again although their reply was recorded; `asked_again`:
    sent again at all. `in_doubt`: calls that began, whose outcome nobody recorded. `surfaced`: those shown to a person.
    """

    kills: int = 0
    lost: int = 0
    effects: int = 0
    requests: int = 0
    asked_again: int = 0
    in_doubt: int = 0
    surfaced: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(mine + theirs for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True)))


@dataclass
class Audit:
    """Tallies by point, and in words what went wrong."""

    points: dict[str, Tally] = field(default_factory=dict[str, Tally])
    notes: list[str] = field(default_factory=list[str])

    def at(self, point: str) -> Tally:
        """The tally of a point."""
        return self.points.setdefault(point, Tally())

    @property
    def total(self) -> Tally:
        """All points together."""
        return sum(self.points.values(), Tally())

    def lose(self, point: str, what: str, count: int = 1) -> None:
        """Count what was lost after a kill at `point`, and say what."""
        self.at(point).lost += count
        self.notes.append(what)

    def add(self, other: Audit) -> None:
        """Take in another run's."""
        for point, tally in other.points.items():
            self.points[point] = self.at(point) + tally
        self.notes += other.notes

    @property
    def holds(self) -> bool:
        """Whether nothing was lost or repeated, and all that is unknown was said, and nothing else."""
        total = self.total
        return not (self.notes or total.lost or total.effects or total.requests) and total.in_doubt == total.surfaced
