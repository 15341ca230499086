"""Draw run, session, store, worker and engine together: `python scripts/draw_together.py > docs/together.svg`.

The run in the picture is a real one: the cells of its log are the events that it recorded.
"""

from __future__ import annotations

import asyncio

from svg import DONE, EDGE, FAINT, INK, MONO, OPEN, PLAIN, PURE, SOFT, arrow, box, label, page, rect

from agentsdk import Agent, MemoryRunStore, RunConfig, Runner, function_tool
from agentsdk.core.codec import decode_events
from agentsdk.testing import ScriptedModel, call

WIDTH, HEIGHT = 900, 482
LEFTS, WIDE = (24, 316, 646), 230
TOP, GAP, TALL = 52, 62, 50
STORE_TOP, CELLS_TOP = 318, 372


def recorded() -> list[str]:
    """What a run with one call has in its log."""

    async def run() -> list[bytes]:
        @function_tool
        def pay(name: str) -> str:
            """Pay somebody."""
            return "paid"

        store = MemoryRunStore()
        clerk = Agent(name="Clerk", tools=[pay], model=ScriptedModel([call("pay", name="Ada"), "Paid."]))
        await Runner.run(clerk, "Pay Ada.", run_config=RunConfig(store=store, run_id="invoice-7"))
        return await store.read("invoice-7")

    return [type(event).__name__ for event in decode_events(asyncio.run(run()))]


def draw() -> str:
    """The picture, as SVG."""
    shapes = [*_columns(), *_store(), *_session(), *_arrows()]
    note = "Nothing is kept in a process: each may end at any moment, and another one goes on from the store"
    return page(
        WIDTH,
        HEIGHT,
        "Your program submits, watches and decides; a worker takes a run that is due; its engine asks the model, calls tools "
        "and appends each event to the store; a session keeps the conversation between runs",
        [*shapes, label(WIDTH / 2, HEIGHT - 14, note, 12, FAINT)],
    )


COLUMNS = (
    (
        "your program",
        (
            ("submit", "a run, by its id", PURE),
            ("watch", "each event, as it is recorded", PURE),
            ("decide, signal", "a person's word", PURE),
        ),
    ),
    (
        "a worker, one of any number",
        (
            ("Worker", "takes a run that is due, by a lease", OPEN),
            ("engine", "the loop: one turn after another", OPEN),
            ("run", "its state is fold(log)", OPEN),
        ),
    ),
    (
        "outside",
        (
            ("model", "a provider, or this machine", PLAIN),
            ("tools", "your functions, MCP, a sandbox", PLAIN),
        ),
    ),
)


def _columns() -> list[str]:
    shapes: list[str] = []
    for left, (title, boxes) in zip(LEFTS, COLUMNS, strict=True):
        if boxes[0][2] != PLAIN:
            shapes.append(rect(left, TOP - 8, WIDE, GAP * 3 + 4, PLAIN))
        shapes.append(label(left + WIDE / 2, TOP - 20, title, 13, INK, weight="bold"))
        for place, (name, about, fill) in enumerate(boxes):
            shapes += box(left + 10, TOP + GAP * place, WIDE - 20, TALL, fill, EDGE, name, about)
    return shapes


def _store() -> list[str]:
    events = recorded()
    width = LEFTS[1] + WIDE - LEFTS[0]
    cell = (width - 20) / len(events)
    shapes = [
        rect(LEFTS[0], STORE_TOP, width, 126, DONE),
        label(LEFTS[0] + 12, STORE_TOP + 22, "store", 15, INK, anchor="start", weight="bold"),
        label(LEFTS[0] + 62, STORE_TOP + 22, "SQLite, files, PostgreSQL, Redis", 12, SOFT, anchor="start"),
        label(LEFTS[0] + 12, STORE_TOP + 43, "run 'invoice-7': its log, only ever added to", 12, SOFT, anchor="start"),
    ]
    for place, name in enumerate(events):
        x = LEFTS[0] + 10 + cell * place
        shapes += [
            rect(x, CELLS_TOP, cell - 4, 28, "#ffffff"),
            label(x + cell / 2 - 2, CELLS_TOP + 18, name, 9, INK),
        ]
    about = ("lease: who works on it", "mailbox: what it is told", "summary: status, cost")
    for place, text in enumerate(about):
        x = LEFTS[0] + 10 + (width - 20) * (place + 0.5) / len(about)
        shapes.append(label(x, CELLS_TOP + 54, text, 12, SOFT))
    return shapes


def _session() -> list[str]:
    return [
        *box(LEFTS[2] + 10, STORE_TOP, WIDE - 20, TALL, DONE, EDGE, "session", "the conversation between runs"),
        label(LEFTS[2] + WIDE / 2, STORE_TOP + 72, "read where a run begins,", 12, FAINT),
        label(LEFTS[2] + WIDE / 2, STORE_TOP + 88, "added to where it ends or waits", 12, FAINT),
    ]


def _arrows() -> list[str]:
    program, worker, outside = LEFTS
    bottom = TOP + GAP * 3 - 4
    shapes = [
        arrow(f"M{program + 70} {bottom}V{STORE_TOP - 1}"),
        label(program + 62, bottom + 40, "appends", 11, FAINT, anchor="end", family=MONO),
        arrow(f"M{program + 160} {STORE_TOP}V{bottom + 1}"),
        label(program + 168, bottom + 40, "wakes", 11, FAINT, anchor="start", family=MONO),
        arrow(f"M{worker + 70} {STORE_TOP}V{bottom + 1}"),
        label(worker + 62, bottom + 40, "claim", 11, FAINT, anchor="end", family=MONO),
        arrow(f"M{worker + 160} {bottom}V{STORE_TOP - 1}"),
        label(worker + 168, bottom + 40, "append(event)", 11, FAINT, anchor="start", family=MONO),
    ]
    for place, word in enumerate(("ask", "call")):
        y = TOP + GAP * place + TALL / 2
        from_y = TOP + GAP + TALL / 2
        path = f"M{worker + WIDE - 10} {from_y}H{worker + WIDE + 40}V{y:g}H{outside + 9}"
        shapes += [arrow(path), label(outside - 26, y - 7, word, 11, FAINT, family=MONO)]
    edge = worker + WIDE + 60
    shapes.append(arrow(f"M{worker + WIDE - 10} {TOP + GAP * 2 + TALL / 2}H{edge}V{STORE_TOP + TALL / 2}H{outside + 9}"))
    return shapes


if __name__ == "__main__":
    print(draw(), end="")
