"""What every contestant plays: the rows of misbehaving servers, and the lifecycle matrix."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from tests.mcp.misbehaving import lifecycles, rows
from tests.mcp.misbehaving.play import Contestant, Row, judge, play

MATRIX = "matrix"
"""The group of the lifecycle matrix."""


@dataclass(frozen=True)
class Play:
    """`run` raises where a contestant does not pass; `is_told`: of a server that is down the model has to be told."""

    group: str
    name: str
    how: str
    run: Callable[[Contestant, bool], Awaitable[None]]


async def _row(row: Row, over: str, era: str, contestant: Contestant, is_told: bool) -> None:
    judge(row, await play(contestant, row, over, era), is_told=is_told)


async def _lifecycle(name: str, era: str, contestant: Contestant, is_told: bool) -> None:
    await lifecycles.play(name, contestant, era)


PLAYS = [
    *[
        Play(row.case.partition("/")[0], row.case, f"{over} {era[:4]}", partial(_row, row, over, era))
        for row in rows.ROWS
        for over, era in row.over
    ],
    *[
        Play(MATRIX, f"{MATRIX}/{name}", f"stdio {era[:4]}", partial(_lifecycle, name, era))
        for name in lifecycles.ROWS
        for era in lifecycles.ERAS
    ],
]
