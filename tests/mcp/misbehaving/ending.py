"""`python -m tests.mcp.misbehaving.ending MODULE HOW PROGRAM CASE ERA JOURNAL`: a program that does not close its server."""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import sys
from pathlib import Path

from tests.mcp.misbehaving.play import Script, Target


def main(module: str, how: str, *program: str) -> None:
    contestant = importlib.import_module(module).Contestant()
    server = contestant.server(Target(sys.executable, ("-S", "-E", *program)))

    async def run(*descriptions: str) -> None:
        script = Script([(one, {}) for one in descriptions])
        await contestant.run(server, script)
        assert set(script.outcomes) == {"ok"}, script.outcomes

    async def raising() -> None:
        await run("ping")
        print("ran", flush=True)
        raise ValueError("the user's own")

    async def interrupted() -> None:
        await run("plain")
        bell = program[-1] + ".bell"
        pipe = os.open(bell, os.O_RDONLY | os.O_NONBLOCK)
        asyncio.get_running_loop().add_reader(pipe, called, pipe, program[-1])
        await run("ping")

    def called(pipe: int, journal: str) -> None:
        os.read(pipe, 4096)
        if "\ncall " in Path(journal).read_text():
            print("ran", flush=True)

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job begins with it ignored
    if how == "raises":
        asyncio.run(raising())
    elif how == "interrupted":
        asyncio.run(interrupted())
    else:
        asyncio.run(run("ping"))
        if how == "two_loops":
            asyncio.run(run("ping"))
        print("ran", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
