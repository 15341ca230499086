"""What a terminal shows: texts that others wrote without escapes, figures, and JSON where it is asked for."""

from __future__ import annotations

import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from agentsdk.types.base import JsonObject

if TYPE_CHECKING:
    from rich.console import Console

    from agentsdk.types.summary import RunSummary

_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def plain(text: str) -> str:
    """A text that a model, a tool or a person wrote: what would steer a terminal, hide or reorder text is shown by its name."""
    return _HIDDEN.sub(lambda found: f"\\x{ord(found[0]):02x}" if ord(found[0]) < 256 else f"\\u{ord(found[0]):04x}", text)


def one_line(text: str, most: int = 200) -> str:
    """The same in one line, shortened."""
    line = " ".join(plain(text[: 4 * most]).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def console(*, stderr: bool = False) -> Console:
    """Where commands print: no markup is read in what is printed, and lines break only where they must."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)


@contextmanager
def working(what: str) -> Generator[None]:
    """Say meanwhile on stderr what is going on, where that is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    with console(stderr=True).status(f"{what} ..."):
        yield


def say(text: str) -> None:
    """Print a line as it is, whatever the terminal's width."""
    sys.stdout.write(f"{text}\n")


def print_json(value: object) -> None:
    """One JSON value, on a line. What `plain` shows by its name is an escape of JSON: read, it is the same text."""
    text = msgspec.json.encode(value, enc_hook=str).decode()
    sys.stdout.write(_HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def took(seconds: float) -> str:
    """A time as a person says it."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:02.0f} s"


def spent(tokens: int, cost: object) -> str:
    """What was used: tokens, and dollars where they are known."""
    return f"{tokens:,} tokens" + ("" if cost is None else f", ${cost:f}" if not isinstance(cost, str) else f", ${cost}")


def summary_json(run: RunSummary) -> JsonObject:
    """A run as `--json` has it."""
    fields: dict[str, Any] = {
        name: getattr(run, name) for name in run.__struct_fields__ if name not in ("rev", "paid", "owner")
    }
    return {**fields, "revision": run.rev, "cost": run.paid or None}
