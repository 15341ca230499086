"""`python -m benchmarks.instructions`: how many instructions the processor executes for a run.

Unlike times they are the same on a busy machine as on an idle one, within a few per mille: what a change adds to the loop
shows, however little it is. Each kind of run is repeated `FEW` and `MANY` times, in two processes under valgrind's callgrind;
the difference, divided by the runs between them, is free of the start and the imports.

With `--at COMMIT` other commits are counted beside this tree. Instructions are not time: `python -m benchmarks` has that.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from agentsdk import MemoryRunStore, RunConfig, Runner
from benchmarks import fake
from benchmarks.contestants import agentsdk
from benchmarks.durable import script

REPO = Path(__file__).resolve().parent.parent
FEW, MANY = 50, 250
COLLECTED = re.compile(r"Collected : (\d+)")

DURABLE = script(25)
DELTAS = fake.Script("twenty-deltas", (fake.Reply((), "word " * 20, ("word ",) * 20),))

Once = Callable[[], Awaitable[object]]


def plain(said: fake.Script) -> tuple[fake.Script, Once]:
    """A run of `said`."""
    agent = agentsdk.make_agent(None, said.name)
    return said, lambda: agentsdk.run(agent)


def streamed() -> tuple[fake.Script, Once]:
    """A run whose answer is streamed in twenty text deltas."""
    agent = agentsdk.make_agent(None, DELTAS.name)
    return DELTAS, lambda: agentsdk.stream(agent)


def durable() -> tuple[fake.Script, Once]:
    """A run of 25 tool turns and an answer, stored in memory."""
    agent = agentsdk.make_agent(None, DURABLE.name)
    config = RunConfig(store=MemoryRunStore(), limits=agentsdk.NO_LIMIT.limits)
    return DURABLE, lambda: Runner.run(agent, fake.PROMPT, run_config=config)


KINDS: dict[str, Callable[[], tuple[fake.Script, Once]]] = {
    "one answer": lambda: plain(fake.ONE_ANSWER),
    "ten tool turns": lambda: plain(fake.TEN_TURNS),
    "16 calls at once": lambda: plain(fake.PARALLEL),
    "20 text deltas": streamed,
    "25 tool turns, stored": durable,
}


async def repeat(kind: str, times: int) -> None:
    """What is counted: so many runs of a kind."""
    said, once = KINDS[kind]()
    gc.collect()
    gc.freeze()  # as in `python -m benchmarks`: the collector looks at what the runs make
    for _ in range(times):
        work = fake.Run(said)
        fake.RUN.set(work)
        await once()
        work.check(kind, model_calls=len(said.replies), tool_calls=said.tool_calls)


def count(kind: str, tree: Path) -> int:
    """Instructions of one run, by the code in `tree`."""
    few, many = (collected(kind, times, tree) for times in (FEW, MANY))
    return (many - few) // (MANY - FEW)


def collected(kind: str, times: int, tree: Path) -> int:
    """Instructions of a whole process; `-P` because this file's folder holds no modules of anybody's."""
    valgrind = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONHASHSEED": "0", "OTEL_SDK_DISABLED": "true"}
    done = subprocess.run(
        [*valgrind, sys.executable, "-P", __file__, "--repeat", kind, str(times)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    found = COLLECTED.search(done.stderr)
    if done.returncode or found is None:
        sys.exit(f"{kind!r} cannot be counted:\n{done.stderr}")
    return int(found[1])


def main() -> int:
    """Count and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description="instructions of a run")
    parser.add_argument("--only", default="", help=f"one of: {', '.join(KINDS)}")
    parser.add_argument("--at", nargs="*", default=[], metavar="COMMIT", help="commits to count beside this tree")
    parser.add_argument("--repeat", nargs=2, metavar=("KIND", "TIMES"), help="only run: this is what is counted")
    flags = parser.parse_args()
    if flags.repeat:
        asyncio.run(repeat(flags.repeat[0], int(flags.repeat[1])))
        return 0
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        trees = {commit: Path(folder) / commit for commit in flags.at}
        for commit, tree in trees.items():
            subprocess.run(["git", "clone", "-q", "--shared", str(REPO), str(tree)], check=True)
            subprocess.run(["git", "-C", str(tree), "checkout", "-q", commit], check=True)
        trees["this tree"] = REPO
        print(f"{'instructions of a run':24}" + "".join(f"{name:>14}" for name in trees))
        for kind in [flags.only] if flags.only else KINDS:
            print(f"{kind:24}" + "".join(f"{count(kind, tree):>14,}" for tree in trees.values()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
