"""The figures as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

from benchmarks.cluster.measure import Figures

WAITING, BUSY = "waiting", "busy"
"""With a model that takes its time to reply, and with one that replies at once."""
_DISK_MB_PER_S = 100
_DATABASE_CORES = 16
_SECONDS_IN_WORK = 30

_RUNS = {
    "workers": "{workers}",
    "slots": "{slots}",
    "runs/s": "{runs_per_s:.1f}",
    "runs of a worker, fewest to most": "{fewest} to {most}",
    "out of turn, p99": "{places_p99}",
}
_RUNS_OF = {WAITING: _RUNS | {"urgent, ms": "{urgent_ms:.0f}", "begun before it": "{overtaking:.1f}"}, BUSY: _RUNS}
_TAKEOVERS = {
    "workers": "{workers}",
    "runs taken over": "{held}",
    "median, s": "{takeover_s:.1f}",
    "longest, s": "{takeover_max_s:.1f}",
}

_DATABASE: Mapping[str, str] = {
    "workers": "{workers}",
    "statements/s": "{statements_per_s:.0f}",
    "statements a run": "{statements_per_run:.0f}",
    "commits a run": "{commits_per_run:.1f}",
    "disk syncs/s": "{syncs_per_s:.0f}",
    "WAL KB a run": "{wal_kb_per_run:.1f}",
    "CPU ms a run, worker": "{worker_cpu_ms:.1f}",
    "CPU ms a run, PostgreSQL": "{database_cpu_ms:.1f}",
    "connections": "{connections}",
}


def tables(measured: Mapping[str, Sequence[Figures]]) -> dict[str, str]:
    """Every table in Markdown, by what it is about. `measured`: the figures by mode."""
    made: dict[str, str] = {}
    for mode, rows in measured.items():
        made[f"{mode}: runs"] = _table(rows, _RUNS_OF[mode])
        made[f"{mode}: database"] = _table(rows, _DATABASE)
        if taken_over := [row for row in rows if row.held]:
            made[f"{mode}: takeover"] = _table(taken_over, _TAKEOVERS)
    made["to many machines"] = _extrapolated({mode: rows[-1] for mode, rows in measured.items()})
    return made


def _table(rows: Sequence[Figures], columns: Mapping[str, str]) -> str:
    """A line for each number of workers."""
    return _markdown(list(columns), [[form.format(**asdict(row)) for form in columns.values()] for row in rows])


def _extrapolated(measured: Mapping[str, Figures]) -> str:
    """What larger machines do, if a run costs there what it costs here. By mode."""

    def line(about: str, figure: Callable[[Figures], float]) -> list[str]:
        return [about, *(_rounded(figure(row)) for row in measured.values())]

    def most(row: Figures) -> float:
        return _DATABASE_CORES * 1000 / row.database_cpu_ms

    lines = [
        line("CPU ms a run, worker", lambda row: row.worker_cpu_ms),
        line("CPU ms a run, PostgreSQL", lambda row: row.database_cpu_ms),
        line("runs/s for each core of PostgreSQL", lambda row: 1000 / row.database_cpu_ms),
        line(f"runs/s with {_DATABASE_CORES} cores of PostgreSQL, all in use", most),
        line("cores of workers in use beside them", lambda row: most(row) * row.worker_cpu_ms / 1000),
        line("write-ahead log, MB/s", lambda row: most(row) * row.wal_kb_per_run / 1024),
        line(f"runs/s that a log of {_DISK_MB_PER_S} MB/s takes", lambda row: _DISK_MB_PER_S * 1024 / row.wal_kb_per_run),
        line(f"runs in work at once, of {_SECONDS_IN_WORK} s each", lambda row: most(row) * _SECONDS_IN_WORK),
    ]
    return _markdown(["", *(f"{mode}, {row.workers} workers" for mode, row in measured.items())], lines)


def _rounded(value: float) -> str:
    """Two digits that count."""
    return f"{float(f'{value:.2g}'):,g}" if value < 10 else f"{float(f'{value:.2g}'):,.0f}"


def _markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose columns are figures, the first one also words."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [heads, ["---", *["---:"] * (len(heads) - 1)], *rows])
