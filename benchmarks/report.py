"""From figures per round to the table, the bounds and the JSON file."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from benchmarks.envs import REQUIREMENTS
from benchmarks.scenarios import PROTOCOLS

OURS = "agentsdk"
BARE = "bare"


@dataclass(frozen=True)
class Metric:
    """One row of the table."""

    scenario: str
    figure: str
    label: str
    better: Literal["low", "high"] = "low"
    compared: bool = True
    """Whether "ahead of the fastest peer" applies."""

    @property
    def key(self) -> str:
        """Its name in the JSON file."""
        return f"{self.scenario}.{self.figure}"


METRICS = (
    Metric("S1", "cpu_ms", "S1 one answer, CPU ms"),
    Metric("S2", "cpu_ms", "S2 ten tool turns, CPU ms"),
    Metric("S3", "cpu_ms", "S3 16 parallel calls, CPU ms"),
    Metric("S4", "turn10_ms", "S4 CPU ms a turn, turn 10"),
    Metric("S4", "turn200_ms", "S4 CPU ms a turn, turn 200"),
    Metric("S5", "runs_per_s", "S5 1000 at once, runs/s", "high"),
    Metric("S5", "kib_per_run", "S5 1000 at once, KiB/run"),
    Metric("S6", "kdeltas_per_s", "S6 thousand deltas/s", "high"),
    Metric("S7", "ms", "S7 import, CPU ms"),
    Metric("S7", "mib", "S7 import, MiB"),
    Metric("S7", "distributions", "S7 distributions", compared=False),
    Metric("S8", "cpu_ms", "S8 construct, CPU ms"),
    Metric("S8b", "cpu_ms", "S8b construct + run, CPU ms"),
    Metric("S10", "kb", "S10 saved state, KB"),
    Metric("S10", "dump_ms", "S10 dump, CPU ms"),
    Metric("S10", "load_ms", "S10 load, CPU ms"),
    Metric("S10", "resume_ms", "S10 resume, CPU ms"),
    Metric("STREAMS", "cpu_ms", "STREAMS 1000 at once, CPU ms/run"),
    Metric("STREAMS", "wall_s", "STREAMS 1000 at once, wall s", compared=False),
    Metric("STREAMS", "cancel_ms", "STREAMS cancel, CPU ms/run"),
    Metric("STREAMS", "bounded", "STREAMS wall, times ideal", compared=False),
    Metric("HTTP S2", "cpu_ms", "HTTP S2, CPU ms"),
    Metric("HTTP S4", "turn10_ms", "HTTP S4, turn 10"),
    Metric("HTTP S4", "turn200_ms", "HTTP S4, turn 200"),
    Metric("HTTP S6", "kdeltas_per_s", "HTTP S6 thousand deltas/s", "high"),
    *(
        Metric(f"{scenario} {protocol}", figure, f"{scenario} {protocol}, {label}", better, compared=False)
        for protocol in PROTOCOLS
        for scenario, figure, label, better in (
            ("HTTP S2", "cpu_ms", "CPU ms", "low"),
            ("HTTP S4", "turn10_ms", "turn 10", "low"),
            ("HTTP S4", "turn200_ms", "turn 200", "low"),
            ("HTTP S6", "kdeltas_per_s", "thousand deltas/s", "high"),
        )
    ),
)

Values = list[float | None]


@dataclass
class Results:
    """What was measured: for each contestant and metric one figure per round, None where that round has none."""

    contestants: list[str]
    figures: dict[str, dict[str, Values]] = field(default_factory=dict[str, dict[str, Values]])
    absent: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """Contestant, scenario, and why the package cannot do it."""
    failed: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """Contestant, scenario, and what went wrong."""
    skipped: dict[str, str] = field(default_factory=dict[str, str])
    """Peers that could not be installed, and why."""

    def add(self, contestant: str, scenario: str, round_number: int, figures: dict[str, float]) -> None:
        """Keep one scenario's figures of one round."""
        for figure, value in figures.items():
            values = self.figures.setdefault(contestant, {}).setdefault(f"{scenario}.{figure}", [])
            values.extend([None] * (round_number - len(values)))
            values.append(value)

    def values(self, contestant: str, key: str) -> Values:
        """One figure per round."""
        return self.figures.get(contestant, {}).get(key, [])

    def median(self, contestant: str, key: str) -> float | None:
        """The median over rounds."""
        return _median(self.values(contestant, key))

    def ratio(self, contestant: str, key: str, other: str, other_key: str | None = None) -> float | None:
        """The median over rounds of the ratio to another figure of the same round."""
        pairs = zip(self.values(contestant, key), self.values(other, other_key or key), strict=False)
        return _median([ours / theirs for ours, theirs in pairs if ours is not None and theirs])

    def fastest_peer(self, metric: Metric) -> str | None:
        """The peer with the best median."""
        measured = {name: self.median(name, metric.key) for name in self.contestants if name not in (OURS, BARE)}
        known = {name: value for name, value in measured.items() if value is not None}
        if not known:
            return None
        return (max if metric.better == "high" else min)(known, key=lambda name: known[name])


@dataclass(frozen=True)
class Verdict:
    """One bound beside what was measured."""

    bound: str
    measured: str
    verdict: Literal["PASS", "MISS", "-"]


def table(results: Results) -> str:
    """Medians over rounds, each with its ratio to bare in the same round."""
    rows = [["median (x bare)", *results.contestants]]
    for metric in METRICS:
        row = [metric.label]
        for name in results.contestants:
            value = results.median(name, metric.key)
            ratio = None if name == BARE else results.ratio(name, metric.key, BARE)
            if value is None:
                row.append("failed" if metric.scenario in results.failed.get(name, {}) else "-")
            else:
                row.append(f"{_number(value)}" + (f" ({_number(ratio)})" if ratio is not None else ""))
        if any(cell != "-" for cell in row[1:]):
            rows.append(row)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def rows_table(rows: list[tuple[object, ...]]) -> str:
    """A Markdown table of rows, the first its head."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    texts.insert(1, ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])])
    lines = [[row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in texts]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def remarks(results: Results) -> str:
    """Why something is missing from the table."""
    lines = [f"{name}: skipped: {reason}" for name, reason in results.skipped.items()]
    for word, found in (("not available", results.absent), ("FAILED", results.failed)):
        lines += [f"{name}, {scenario}: {word}: {reason}" for name, why in found.items() for scenario, reason in why.items()]
    return "\n".join(lines)


def bounds(results: Results) -> list[Verdict]:
    """Every bound that must hold, with the figure it is judged by."""

    def ratio_to(other: str, key: str, other_key: str | None = None) -> Callable[[], float | None]:
        return lambda: results.ratio(OURS, key, other, other_key)

    def own(key: str) -> Callable[[], float | None]:
        return lambda: results.median(OURS, key)

    def to_fastest_peer(key: str) -> Callable[[], float | None]:
        peer = results.fastest_peer(next(metric for metric in METRICS if metric.key == key))
        return lambda: None if peer is None else results.ratio(OURS, key, peer)

    checks: Sequence[tuple[str, Callable[[], float | None], Literal["<=", ">="], float]] = (
        ("S1 CPU, times bare", ratio_to(BARE, "S1.cpu_ms"), "<=", 15),
        ("S2 CPU, times bare", ratio_to(BARE, "S2.cpu_ms"), "<=", 5),
        ("S3 CPU, times bare", ratio_to(BARE, "S3.cpu_ms"), "<=", 5),
        ("S4 turn 200, times turn 10", ratio_to(OURS, "S4.turn200_ms", "S4.turn10_ms"), "<=", 1.05),
        ("S5 runs/s, times bare", ratio_to(BARE, "S5.runs_per_s"), ">=", 0.2),
        ("S5 KiB a run", own("S5.kib_per_run"), "<=", 30),
        ("S6 deltas/s, times the fastest peer", to_fastest_peer("S6.kdeltas_per_s"), ">=", 4),
        (
            "S8b construct + first run, times agno (0.1 ms where agno takes 0.157)",
            ratio_to("agno", "S8b.cpu_ms"),
            "<=",
            0.1 / 0.157,
        ),
        ("STREAMS CPU a run, times openai-agents", ratio_to("openai-agents", "STREAMS.cpu_ms"), "<=", 1),
        ("STREAMS cancel, CPU ms a run", own("STREAMS.cancel_ms"), "<=", 0.3),
        ("STREAMS wall over a tenth of the connections, times what they allow", own("STREAMS.bounded"), "<=", 1.3),
        ("HTTP S2 CPU, times bare", ratio_to(BARE, "HTTP S2.cpu_ms"), "<=", 1.3),
        ("HTTP S4 turn 200, times bare", ratio_to(BARE, "HTTP S4.turn200_ms"), "<=", 1.0),
        *(
            (f"HTTP S4 {protocol} turn 200, times bare", ratio_to(BARE, f"HTTP S4 {protocol}.turn200_ms"), "<=", 1.2)
            for protocol in PROTOCOLS
        ),
        ("HTTP S6 deltas/s, times bare", ratio_to(BARE, "HTTP S6.kdeltas_per_s"), ">=", 0.7),
        ("S10 state bytes, times the conversation's JSON", ratio_to(BARE, "S10.kb"), "<=", 1.3),
        ("S10 dump, times json.dumps", ratio_to(BARE, "S10.dump_ms"), "<=", 2),
        ("S10 load, times json.loads", ratio_to(BARE, "S10.load_ms"), "<=", 3),
        ("S7 import ms, times the fastest peer (80 ms where it takes 97)", to_fastest_peer("S7.ms"), "<=", 80 / 97),
        ("S7 import MiB", own("S7.mib"), "<=", 22),
        ("S7 distributions", own("S7.distributions"), "<=", 23),
    )
    verdicts: list[Verdict] = []
    for text, measure, sign, limit in checks:
        value = measure()
        held = value is not None and (value <= limit if sign == "<=" else value >= limit)
        verdicts.append(
            Verdict(
                f"{text} {sign} {_number(limit)}",
                "-" if value is None else _number(value),
                _verdict(None if value is None else held),
            )
        )
    return verdicts + [ahead(results, metric) for metric in METRICS if metric.compared]


def ahead(results: Results, metric: Metric) -> Verdict:
    """Whether we are ahead of the fastest peer in one metric."""
    peer = results.fastest_peer(metric)
    ours = results.median(OURS, metric.key)
    theirs = None if peer is None else results.median(peer, metric.key)
    text = f"ahead of the fastest peer: {metric.label}"
    if ours is None or theirs is None:
        return Verdict(text, "-", "-")
    held = ours > theirs if metric.better == "high" else ours < theirs
    return Verdict(text, f"{_number(ours)}, {peer} {_number(theirs)}", _verdict(held))


def bounds_table(verdicts: list[Verdict]) -> str:
    """The bounds that were measured, as text."""
    verdicts = [verdict for verdict in verdicts if verdict.verdict != "-"]
    width = max((len(verdict.bound) for verdict in verdicts), default=0)
    measured = max((len(verdict.measured) for verdict in verdicts), default=0)
    return "\n".join(
        f"{verdict.bound.ljust(width)}  {verdict.measured.ljust(measured)}  {verdict.verdict}" for verdict in verdicts
    )


def write(path: Path, results: Results, verdicts: list[Verdict], settings: dict[str, object]) -> None:
    """Everything as JSON."""
    content = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"python": platform.python_version(), "system": platform.platform(), "cpus": os.cpu_count()},
        "settings": settings,
        "requirements": {
            name: [part for part in REQUIREMENTS[name] if not part.startswith(("-", "/"))] for name in results.contestants
        },
        "medians": {name: {metric.key: results.median(name, metric.key) for metric in METRICS} for name in results.contestants},
        "ratios_to_bare": {
            name: {metric.key: results.ratio(name, metric.key, BARE) for metric in METRICS} for name in results.contestants
        },
        "bounds": [asdict(verdict) for verdict in verdicts],
        "skipped": results.skipped,
        "not_available": results.absent,
        "failed": results.failed,
        "rounds": results.figures,
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n")


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _verdict(held: bool | None) -> Literal["PASS", "MISS", "-"]:
    return "-" if held is None else "PASS" if held else "MISS"


def _number(value: float) -> str:
    """Three significant digits, no exponent."""
    if value >= 100 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.3g}" if value >= 0.001 else f"{value:.5f}"
