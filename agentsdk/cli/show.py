"""`agentsdk show`: a run as a tree."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentsdk.cli.codes import OK
from agentsdk.cli.given import found, open_existing
from agentsdk.cli.shown import console, one_line, plain, print_json, spent, summary_json, took, working
from agentsdk.core.codec import decode_events
from agentsdk.core.overflow import output_text
from agentsdk.models.prices import price_with
from agentsdk.types.events import ModelReplied, RunEvent, ToolFinished, unnested
from agentsdk.types.items import FunctionCall, Message
from agentsdk.types.summary import RunSummary
from agentsdk.ui.rows import Row, Teller

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

_LEFT_OUT = {"TimeSpent", "SessionSaved", "ContextSaved", "SignalsTaken", "TurnEnded", "ToolsIntended", "AttemptSpent"}
"""Events that a reader of the tree does not miss; `--json` has them all."""


def show_run(run_id: str, store: str, full: bool, json: bool) -> int:
    """Print a run. Raises `RunNotFoundError`, `StateError`s for a damaged or newer log, `StoreError`s."""
    with working("reading"):
        summary, events = asyncio.run(_read(run_id, store))
    teller = Teller(price_with(None))
    rows = [teller.row(number, event) for number, event in enumerate(events, 1)]
    if json:
        print_json({"run": summary_json(summary), "events": rows})
        return OK
    console().print(_tree(summary, rows, events, 1_000_000 if full else 300))
    return OK


async def _read(run_id: str, store: str) -> tuple[RunSummary, tuple[RunEvent, ...]]:
    opened = open_existing(store)
    try:
        summary = await found(opened, run_id)
        return summary, decode_events(await opened.read(run_id, 0))
    finally:
        await opened.aclose()


def _tree(summary: RunSummary, rows: Sequence[Row], events: Sequence[RunEvent], most: int) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    used = spent(summary.tokens, summary.paid or None)
    begun = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(summary.started_at))
    head = f"{plain(summary.run_id)}  {summary.status}  {summary.turns} turns, {used}, {took(summary.elapsed)}, begun {begun}"
    root = Tree(Text(head, "bold"))
    if summary.error or summary.reason:
        root.add(Text(one_line(summary.error or summary.reason, most), "red"))
    branches: dict[tuple[tuple[str, ...], int], Tree] = {}
    calls: dict[tuple[str, ...], Tree] = {(): root}
    for row, event in zip(rows, events, strict=True):
        path, inner = unnested(event)
        around = calls.get(path, root)
        branch = around
        if row.turn:
            key = (path, row.turn)
            if key not in branches:
                branches[key] = around.add(Text(f"turn {row.turn}  {plain(row.agent)}", "dim"))
            branch = branches[key]
        if row.type in _LEFT_OUT:
            continue
        if isinstance(inner, ModelReplied):
            _reply(branch, row, inner, path, calls, most)
        elif isinstance(inner, ToolFinished) and (*path, inner.call_id) in calls:
            text = "" if inner.is_withheld else output_text(inner.output)
            calls[*path, inner.call_id].add(
                Text(f"-> {one_line(text, most)}{_lasted(inner)}", "red" if inner.is_error else "green")
            )
        else:
            branch.add(_line(row, most))
    return root


def _reply(
    branch: Tree, row: Row, reply: ModelReplied, path: tuple[str, ...], calls: dict[tuple[str, ...], Tree], most: int
) -> None:
    from rich.text import Text

    tokens = f"{row.tokens.input:,} in, {row.tokens.output:,} out" if row.tokens else ""
    asked = f", {took(reply.at - reply.asked_at)}" if reply.asked_at else ""
    node = branch.add(Text(plain(row.title), "blue") + Text(f"  {tokens}{asked}", "dim"))
    for item in reply.response.output:
        if isinstance(item, Message):
            node.add(Text(one_line(item.text or item.refusal, most)))
        elif isinstance(item, FunctionCall):
            calls[*path, item.call_id] = branch.add(Text(f"{plain(item.name)} ", "bold") + Text(one_line(item.arguments, most)))


def _line(row: Row, most: int) -> Text:
    from rich.text import Text

    style = {"error": "red", "waits": "yellow", "ok": "green"}.get(row.status, "")
    return Text(plain(row.title), style) + Text(f"  {one_line(row.summary, most)}" if row.summary else "", "dim")


def _lasted(event: ToolFinished) -> str:
    return f"  ({took(event.at - event.started_at)})" if event.started_at and event.at else ""
