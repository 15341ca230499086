"""Misbehaving MCP servers: the rows of `tests/mcp/misbehaving`, played by agentsdk and by two peers.

    python -m benchmarks.mcp_servers                    # all rows, the three side by side
    python -m benchmarks.mcp_servers --only agentsdk --rows death/

Each contestant plays in an environment of its own, all rows one after another in one process; a row that hangs it is ended from
outside and counted as failed. What must come of a row is the same for each, but that the peers need not tell the model that a
server is down. `benchmarks/results/mcp_servers.json` has each verdict.
"""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import envs
from benchmarks.processes import RESULTS, environment

CONTESTANTS = {"agentsdk": "agentsdk", "openai_agents": "openai-agents-mcp", "pydantic_ai": "pydantic-ai-mcp"}
"""The contestants, and the environment of each."""

HANGS_AFTER = 40
"""Seconds without a word after which a row counts as hanging."""


def verdicts(name: str, python: Path, numbers: Sequence[int]) -> Iterator[tuple[int, str]]:
    """The verdict of each row, "" for one that was passed."""
    left = list(numbers)
    while left:
        command = (str(python), "-m", "benchmarks.mcp_peers.worker", name, *map(str, left))
        with (RESULTS / f"mcp-{name}.log").open("ab") as log:
            worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment(), cwd=envs.REPO)
        lines = _lines(worker)
        begun = None
        try:
            while left:
                line = lines.get(timeout=HANGS_AFTER)
                said = json.loads(line) if line else None
                if said is None:
                    raise queue.Empty
                if "begins" in said:
                    begun = said["begins"]
                else:
                    left.remove(said["number"])
                    begun = None
                    yield said["number"], said["verdict"]
        except queue.Empty:
            lost = left[0] if begun is None else begun
            left.remove(lost)
            yield lost, "hangs" if worker.poll() is None else f"the process ended with {worker.returncode}"
        finally:
            worker.kill()
            worker.wait()


def _lines(worker: subprocess.Popen[str]) -> queue.Queue[str]:
    lines: queue.Queue[str] = queue.Queue()

    def read() -> None:
        assert worker.stdout is not None
        for line in worker.stdout:
            lines.put(line)
        lines.put("")

    threading.Thread(target=read, daemon=True).start()
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--only", choices=CONTESTANTS, action="append", help="a contestant; may be given again")
    parser.add_argument("--rows", default="", help="only rows whose name begins so")
    parser.add_argument("--verbose", action="store_true", help="say why each row failed")
    given = parser.parse_args()
    from benchmarks.mcp_peers.worker import PLAYS

    RESULTS.mkdir(exist_ok=True)
    names = [f"{row.case} {over} {era[:4]}" for row, over, era in PLAYS]
    numbers = [number for number, name in enumerate(names) if name.startswith(given.rows)]
    found: dict[str, dict[str, str]] = {}
    for name in given.only or CONTESTANTS:
        python = Path(sys.executable) if name == "agentsdk" else envs.ensure(CONTESTANTS[name]).python
        found[name] = {}
        for number, verdict in verdicts(name, python, numbers):
            found[name][names[number]] = verdict
            if verdict and given.verbose:
                print(f"{name}: {names[number]}: {verdict}", flush=True)
    (RESULTS / "mcp_servers.json").write_text(json.dumps(found, indent=1))
    show(found)


def show(found: dict[str, dict[str, str]]) -> None:
    """Prints how many rows of each group each contestant passes."""
    groups = list(dict.fromkeys(row.partition("/")[0] for verdicts in found.values() for row in verdicts))
    print(f"| group (rows) | {' | '.join(found)} |")
    print("|---" * (len(found) + 1) + "|")
    for group in [*groups, ""]:
        cells = []
        count = 0
        for verdicts in found.values():
            of_group = [verdict for row, verdict in verdicts.items() if row.startswith(f"{group}/" if group else "")]
            count = len(of_group)
            cells.append(str(of_group.count("")))
        print(f"| {group or 'all'} ({count}) | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
