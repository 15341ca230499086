"""A sample of `benchmarks.cluster`: workers as processes around one PostgreSQL, one of them killed."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from benchmarks.cluster.database import Database
from benchmarks.cluster.measure import Claim, Queue, Setting, measure, out_of_turn
from benchmarks.cluster.tables import WAITING, tables
from tests import postgres_server

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(not postgres_server.installed(), reason="needs PostgreSQL's programs")
async def test_a_killed_workers_runs_are_taken_over_and_every_figure_is_there(tmp_path: Path) -> None:
    setting = Setting(workers=2, concurrency=2, reply_s=0.2, queued=100, seconds=3.0, lease=2.0)
    with postgres_server.running() as server:
        async with Database(server) as database:
            queue = Queue(server.url)
            try:
                figures = await measure(setting, server.url, database, queue, tmp_path)
            finally:
                await queue.store.aclose()
    assert figures.held > 0 and figures.takeover_s > 0
    assert figures.statements_per_run > figures.commits_per_run > 0
    assert min(figures.database_cpu_ms, figures.worker_cpu_ms, figures.wal_kb_per_run, figures.connections) > 0
    made = tables({WAITING: [figures]})
    assert f"| 2 | {figures.held} | {figures.takeover_s:.1f} |" in made["waiting: takeover"]


def test_a_run_that_begins_before_earlier_ones_is_out_of_turn() -> None:
    begun = [Claim(float(place), 1, run_id) for place, run_id in enumerate(["run-3", "urgent-1", "run-1", "run-2"])]
    assert out_of_turn(begun) == [2, 1, 1]


def test_the_page_and_its_picture_have_what_was_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    script = importlib.import_module("cluster_tables")
    page = script.PAGE.read_text(encoding="utf-8")
    assert page.count("<!-- recorded: ") == 6
    assert page == script.with_tables(page), "make them anew: python scripts/cluster_tables.py"
    picture = (ROOT / "docs" / "cluster.svg").read_text(encoding="utf-8")
    assert picture == importlib.import_module("draw_cluster").draw(), "python scripts/draw_cluster.py > docs/cluster.svg"
