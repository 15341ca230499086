"""What tables of evals are made of: at most 80 columns, nothing a model wrote but as plain characters."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from decimal import Decimal

from agentsdk.evals.interval import Interval
from agentsdk.types.text import escaped, shortened

WIDTH = 80
MAX_LISTED = 20
"""How many runs that did not pass are listed."""

_MAX_NAME = 16


def wrapped(text: str) -> list[str]:
    """A reason in three lines at most."""
    return textwrap.wrap(escaped(text), WIDTH, initial_indent="  ", subsequent_indent="  ", max_lines=3, placeholder=" ...")


def columns(head: Sequence[str], rows: Sequence[Sequence[str]], names: int) -> list[str]:
    """A table: the first columns, which are `names`, to the left, the figures to the right."""
    table = [head, *([*map(short_name, row[:names]), *row[names:]] for row in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    lines: list[str] = []
    for row in table:
        cells = zip(row, widths, strict=True)
        lines.append(
            "  ".join([cell.ljust(width) if at < names else cell.rjust(width) for at, (cell, width) in enumerate(cells)])
        )
    return lines


def first_of(names: Sequence[str]) -> list[str]:
    """The first names, and how many more there are."""
    more = len(names) - MAX_LISTED
    return [*names[:MAX_LISTED], *([f"and {more} more"] if more > 0 else [])]


def span_text(interval: Interval) -> str:
    """An interval."""
    return f"{interval.low:.3g} to {interval.high:.3g}"


def dollars(cost: Decimal | None) -> str:
    """A cost, as far as it is known."""
    return "?" if cost is None else money(float(cost))


def money(dollars: float) -> str:
    """An amount in US dollars."""
    return f"${dollars:,.6f}".rstrip("0").rstrip(".")


def percent(share: float) -> str:
    """A share."""
    return f"{100 * share:.0f} %"


def counted(number: int, noun: str) -> str:
    """A number of things."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def short_name(text: str) -> str:
    """A name that fits a column."""
    return shortened(escaped(text), _MAX_NAME)


def fitted(text: str) -> str:
    """A line that fits."""
    return shortened(escaped(text), WIDTH).rstrip()
