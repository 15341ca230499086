"""`python -m tests.mcp.misbehaving.ending MODULE`: programs that do not close their servers.

Each line of the input, `[how, case, era, journal]` as JSON, is a program: a fork of this process, which has imported the
contestant, so that none pays for that again. It writes its number and `ran`, its errors to the file `JOURNAL.errors`, and ends
as a program does; then this process writes how it ended.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import signal
import sys
from pathlib import Path

from tests.mcp.misbehaving.play import PROGRAM, Contestant, Script, Target


def main(module: str) -> None:
    contestants = importlib.import_module(module)
    importlib.import_module("mcp")  # which contestants import when they first need it
    for line in sys.stdin:
        if not (child := os.fork()):
            return program(contestants.Contestant(), *json.loads(line))
        say(str(os.waitpid(child, 0)[1]))
    return None


def say(word: str) -> None:
    print(word, flush=True)


def program(contestant: Contestant, how: str, case: str, era: str, journal: str) -> None:
    os.dup2(os.open(f"{journal}.errors", os.O_WRONLY | os.O_CREAT), 2)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job begins with it ignored
    say(str(os.getpid()))
    server = contestant.server(Target(sys.executable, ("-S", "-E", PROGRAM, case, era, journal)))

    async def run(*descriptions: str) -> None:
        script = Script([(one, {}) for one in descriptions])
        await contestant.run(server, script)
        assert set(script.outcomes) == {"ok"}, script.outcomes

    async def raising() -> None:
        await run("ping")
        say("ran")
        raise ValueError("the user's own")

    async def interrupted() -> None:
        await run("plain")
        loop = asyncio.get_running_loop()
        pipe = os.open(journal + ".bell", os.O_RDWR | os.O_NONBLOCK)

        def rung() -> None:
            os.read(pipe, 4096)
            if "\ncall " in Path(journal).read_text():
                loop.remove_reader(pipe)
                say("ran")

        loop.add_reader(pipe, rung)
        await run("ping")

    if how == "raises":
        asyncio.run(raising())
    elif how == "interrupted":
        asyncio.run(interrupted())
    else:
        asyncio.run(run("ping"))
        if how == "two_loops":
            asyncio.run(run("ping"))
        say("ran")


if __name__ == "__main__":
    main(*sys.argv[1:])
