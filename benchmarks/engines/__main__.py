"""`python -m benchmarks.engines kills|compare|overhead`. The exit code is 1 when a bound is missed."""

from __future__ import annotations

import argparse
import sys

from benchmarks.engines import kills
from benchmarks.engines.compare import compare
from benchmarks.engines.overhead import overhead
from benchmarks.report import rows_table


def main() -> int:
    """Do what the flags ask for; whether every bound was kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines", description="durable engines: kills, ways, costs")
    commands = parser.add_subparsers(dest="command", required=True)
    killing = commands.add_parser("kills", help="kill -9 of workers at random")
    killing.add_argument("--on", action="append", choices=kills.OURS + kills.PEERS, help="only this one; may be given again")
    killing.add_argument("--peers", action="store_true", help="those of others too")
    killing.add_argument("--runs", type=int, default=50, help="how many runs (default: %(default)s)")
    killing.add_argument("--workers", type=int, default=3, help="how many workers (default: %(default)s)")
    killing.add_argument("--seconds", type=float, default=60.0, help="how long workers are killed (default: %(default)s)")
    killing.add_argument("--every", type=float, default=3.0, help="seconds between two kills (default: %(default)s)")
    killing.add_argument("--seed", type=int, default=0, help="which workers are killed (default: %(default)s)")
    commands.add_parser("compare", help="the loop in the engine's workflow, and beside it")
    commands.add_parser("overhead", help="what a run and a turn take, beside a Worker")
    flags = parser.parse_args()
    if flags.command == "kills":
        return of_kills(flags)
    return 0 if (compare() if flags.command == "compare" else overhead()) else 1


def of_kills(flags: argparse.Namespace) -> int:
    """The table of the kills."""
    rows: list[tuple[object, ...]] = [kills.HEAD]
    holds = True
    for name in flags.on or (kills.OURS + (kills.PEERS if flags.peers else ())):
        print(f"{name} ", end="", file=sys.stderr, flush=True)
        timing = {"seconds": flags.seconds, "every": flags.every, "workers": flags.workers, "seed": flags.seed}
        outcome = kills.swept(name, runs=flags.runs, **timing)
        print(file=sys.stderr)
        rows.append(kills.row(kills.contestant_of(name).label, outcome, name in kills.OURS))
        holds = holds and (outcome.holds or name in kills.PEERS)
        for note in outcome.notes:
            print(f"  {note}")
    print(rows_table(rows))
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
