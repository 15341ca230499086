"""Draw the life of one stored run: `python scripts/draw_stored_run.py > docs/stored_run.svg`.

It is a real one: the appends are those that two runs made, the second on the store as a process left it that died.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from svg import DONE, FAINT, INK, MONO, OPEN, SOFT, arrow, label, line, page, rect

from agentsdk import Agent, MemoryRunStore, RunConfig, Runner, RunSummary, function_tool
from agentsdk.core.codec import decode_events
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.events import (
    ModelReplied,
    RunEnded,
    RunEvent,
    RunResumed,
    RunStarted,
    ToolFinished,
    ToolsIntended,
    TurnEnded,
)

Append = tuple[int, tuple[RunEvent, ...], str]
"""The revision that it expects, its events, and the status of the run after it."""


class Watched(MemoryRunStore):
    """A store that keeps what it was told, until the process that uses it is said to have died."""

    def __init__(self) -> None:
        super().__init__()
        self.appends: list[Append] = []
        self.lost = False

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        """As `MemoryRunStore.append`, while the process lives."""
        if self.lost:
            return 0
        signals = await super().append(run_id, expected_rev, events, summary)
        self.appends.append((expected_rev, decode_events(events), summary.status))
        return signals


async def recorded() -> tuple[list[Append], list[Append]]:
    """What a process appended that died in a tool's body, and what the one did that took the run over."""
    store = Watched()
    config = RunConfig(store=store, run_id="invoice-7")
    begun: list[str] = []

    @function_tool(effect="idempotent")
    async def pay(name: str) -> str:
        """Pay somebody."""
        begun.append(name)
        store.lost = len(begun) == 1  # the process is killed here: nothing that comes now reaches the store
        return "paid"

    model = ScriptedModel([call("pay", name="Ada"), "never stored", "Ada has her money."])
    clerk = Agent[None, str](name="Clerk", tools=[pay], model=model)
    await Runner.run(clerk, "Pay Ada.", run_config=config)
    first, store.appends, store.lost = store.appends, [], False
    await Runner.resume(clerk, "invoice-7", run_config=config, take_over=True)
    return first, store.appends


ABOUT = {
    RunStarted: "the input is accepted: no work before that",
    ModelReplied: "the reply is paid: it is not asked for again",
    ToolsIntended: "durable before the body begins",
    RunResumed: "a revision ahead: the first process can write no more",
    ToolFinished: "the body ran again, under the same idempotency key",
    TurnEnded: "two events in one commit",
    RunEnded: "done, and let go of",
}
"""Why the append that begins with an event is one of its own."""

TAKEN = "no event: the lease is taken from the dead process"
WIDTH, TOP, STEP, TALL, GAP = 860, 84, 28, 24, 12
LOG, WIDE = 360, 140


def draw() -> str:
    """The picture, as SVG."""
    first, second = asyncio.run(recorded())
    shapes, y = _appends(first, TOP, is_first=True)
    killed = y
    more, y = _appends(second, y + 46, is_first=False)
    return page(
        WIDTH,
        y + 36,
        "The life of a stored run: one process appends until it is killed in a tool, another takes over and ends the run",
        [
            label(24, 36, "RunStore.append(run_id, expected_rev, events, summary)", 13, INK, anchor="start", family=MONO),
            label(LOG / 2, TOP - 14, "process 1", 12, FAINT),
            label(LOG + WIDE / 2, TOP - 14, "the log, from revision 0", 12, FAINT),
            label((LOG + WIDE + WIDTH) / 2, TOP - 14, "process 2", 12, FAINT),
            *shapes,
            line(f"M24 {killed + 14}H{WIDTH - 24}"),
            label(LOG / 2, killed + 7, "killed in the body of a tool", 12, "#b91c1c"),
            label((LOG + WIDE + WIDTH) / 2, killed + 32, "Runner.resume(agent, run_id, ...)", 12, SOFT, family=MONO),
            *more,
            label(WIDTH / 2, y + 18, "The run is fold(log) at every moment, whichever process holds it", 12, FAINT),
        ],
    )


def _appends(appends: Sequence[Append], y: int, *, is_first: bool) -> tuple[list[str], int]:
    """The appends of a process below each other from `y` on, and where they end."""
    shapes: list[str] = []
    for revision, events, status in appends:
        middle = y + TALL / 2
        height = TALL + (max(len(events), 1) - 1) * STEP
        if is_first:
            shapes.append(arrow(f"M{LOG - 30} {middle:g}H{LOG - 1}"))
        else:
            shapes.append(arrow(f"M{LOG + WIDE + 30} {middle:g}H{LOG + WIDE + 1}"))
        if events:
            fill = DONE if status == "finished" else OPEN
            shapes.append(rect(LOG, y, WIDE, height, fill))
            about = ABOUT[type(events[0])]
        else:
            about = TAKEN
        x, anchor = (LOG - 40, "end") if is_first else (LOG + WIDE + 40, "start")
        shapes.append(label(x, middle + 4, about, 12, SOFT, anchor=anchor))
        for place, event in enumerate(events):
            base = middle + 4 + place * STEP
            shapes.append(label(LOG + 10, base, f"{revision + place}", 11, FAINT, anchor="start"))
            shapes.append(label(LOG + WIDE / 2 + 8, base, type(event).__name__, 12, INK))
        y += height + GAP
    return shapes, y


if __name__ == "__main__":
    print(draw(), end="")
