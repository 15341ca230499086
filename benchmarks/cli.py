"""`python -m benchmarks.cli`: what `agentsdk --help` takes of the processor, and how soon `agentsdk chat` shows its first word.

Both are processes of their own. The second is compared with a program of a few lines that prints the SDK's deltas as they come,
in a pseudo-terminal too: from the return key to the first word, of a model that answers at once. The first answer of a process
also imports what runs need.
"""

from __future__ import annotations

import argparse
import os
import pty
import resource
import select
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

AGENT = """
from agentsdk import Agent, RunConfig
from agentsdk.testing import ScriptedModel
words = Agent(name="Words", model=ScriptedModel(["<first> and some more words"] * 1_000))
quiet = RunConfig(tracing_disabled=True)
"""
BARE = """
import asyncio, sys
from agentsdk import MemorySession, OutputTextDelta, RawResponsesStreamEvent, Runner
from words import quiet, words
session = MemorySession("bare")
async def answer(line):
    async for event in Runner.run_streamed(words, line, session=session, run_config=quiet).stream_events():
        if isinstance(event, RawResponsesStreamEvent) and isinstance(event.data, OutputTextDelta):
            sys.stdout.write(event.data.delta)
            sys.stdout.flush()
with asyncio.Runner() as loop:
    while True:
        line = input("Words> ")
        loop.run(answer(line))
        print()
"""
CHAT = [sys.executable, "-m", "agentsdk", "chat", "words:words", "--config", "words:quiet"]
PROMPT, WORD = "Words> ", "<first>"
PATIENCE = 30.0


def help_seconds(arguments: list[str], rounds: int) -> float:
    """Processor seconds of a command, the least of several."""
    taken: list[float] = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "agentsdk", *arguments], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(taken)


def first_words(program: list[str], folder: str, answers: int) -> list[float]:
    """Seconds from the return key to the first word, of each answer of one process."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((folder, str(Path(__file__).parents[1])))}
    process = subprocess.Popen(program, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=environment)
    os.close(theirs)
    seconds: list[float] = []
    try:
        _until(ours, PROMPT)
        for _ in range(answers):
            began = time.perf_counter()
            os.write(ours, b"go\n")
            rest = _until(ours, WORD)
            seconds.append(time.perf_counter() - began)
            _until(ours, PROMPT, rest)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return seconds


def _until(terminal: int, word: str, screen: str = "") -> str:
    """What came after `word`, once it is there."""
    while word not in screen:
        if not select.select([terminal], [], [], PATIENCE)[0]:
            raise TimeoutError(f"{word!r} did not come: {screen!r}")
        screen += os.read(terminal, 65_536).decode(errors="replace")
    return screen.partition(word)[2]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cli", description="what the command line takes")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--answers", type=int, default=20)
    flags = parser.parse_args()
    for arguments in (["--help"], ["runs", "--help"], ["worker", "--help"]):
        taken = help_seconds(arguments, flags.rounds) * 1_000
        print(f"{'agentsdk ' + ' '.join(arguments):24}{taken:8.0f} ms of processor time")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "words.py").write_text(AGENT, encoding="utf-8")
        both = {"chat": CHAT, "the SDK": [sys.executable, "-c", BARE]}
        told: dict[str, list[list[float]]] = {name: [] for name in both}
        for _ in range(flags.rounds):
            for name, program in both.items():
                told[name].append(first_words(program, folder, flags.answers))
    print("first word after the return key, medians:")
    for name, rounds in told.items():
        first = statistics.median(one[0] for one in rounds) * 1_000
        later = statistics.median(seconds for one in rounds for seconds in one[1:]) * 1_000
        print(f"{'  ' + name:24}{first:8.1f} ms of a process's first answer, {later:6.2f} ms of a later one")


if __name__ == "__main__":
    main()
