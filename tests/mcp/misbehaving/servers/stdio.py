"""`python -S -E stdio.py CASE ERA JOURNAL`: one of the servers over its standard input and output."""

from __future__ import annotations

import importlib
import json
import os
import sys

sys.path[0] = os.path.dirname(os.path.abspath(__file__)).rpartition("/tests/mcp/")[0]

SERVERS = "tests.mcp.misbehaving.servers"


def main(name: str, era: str, journal: str) -> None:
    base = importlib.import_module(f"{SERVERS}.base")
    if "/" in name:
        importlib.import_module(f"{SERVERS}.{name.partition('/')[0]}")

    def write(data: bytes) -> None:
        sent = memoryview(data)
        while sent:
            sent = sent[os.write(1, sent) :]

    with open(journal, "a") as file:
        file.write(f"start {os.getpid()}\n")
    server = base.CASES[name](era, journal, write)
    server.begin()
    for line in sys.stdin.buffer:
        server.receive(json.loads(line))
    server.note("eof")
    server.end()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except BrokenPipeError:
        os._exit(0)
