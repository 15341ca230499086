"""`agentsdk runs`: what runs a store has."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any, cast

from agentsdk.cli.codes import OK
from agentsdk.cli.given import open_existing
from agentsdk.cli.shown import console, one_line, plain, print_json, say, summary_json, took, working
from agentsdk.types.errors import UserError
from agentsdk.types.summary import RunQuery, RunSummary


def list_runs(store: str, status: str, agent: str, meta: Sequence[str], limit: int, after: str, json: bool) -> int:
    """Print a page of runs. Raises `UserError` for what fits nothing, `StoreError` where the store cannot be read."""
    query = RunQuery(
        status=cast(Any, status or None),
        agent=agent or None,
        metadata=dict(_pair(one) for one in meta),
        limit=limit,
        after=after or None,
    )
    with working("reading"):
        page = asyncio.run(_listed(store, query))
    last = page[-1].cursor if len(page) == limit else None
    if json:
        print_json({"runs": [summary_json(run) for run in page], "after": last})
        return OK
    _print(page)
    if last:
        console(stderr=True).print(f"more: --after {last!r}")
    return OK


async def _listed(store: str, query: RunQuery) -> list[RunSummary]:
    opened = open_existing(store)
    try:
        return await opened.list(query)
    finally:
        await opened.aclose()


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UserError(f"--meta is {text!r}, expected NAME=VALUE; write user=ada")
    return name, value


def _print(page: Sequence[RunSummary]) -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()
    if not page:
        say("no runs")
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("run", "status", "agent", "turns", "tokens", "cost", "took", "begun"):
        table.add_column(name, justify="right" if name in ("turns", "tokens", "cost", "took") else "left", overflow="fold")
    styles = {
        "finished": "green",
        "failed": "red",
        "cancelled": "red",
        "waiting": "yellow",
        "ready": "yellow",
        "running": "blue",
    }
    for run in page:
        why = (
            f" {one_line(run.error or run.reason, 60)}" if run.error or run.reason else f" {run.waiting}" if run.waiting else ""
        )
        begun = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.started_at))
        cells = (plain(run.run_id), Text(run.status, styles.get(run.status, "")) + Text(why, "dim"), plain(run.agent))
        figures = (str(run.turns), f"{run.tokens:,}", f"${run.paid}" if run.paid else "", took(run.elapsed), begun)
        table.add_row(*(one if isinstance(one, Text) else Text(one) for one in (*cells, *figures)))
    out.print(table)
