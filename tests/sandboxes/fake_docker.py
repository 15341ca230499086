"""A program `docker` for tests: it writes down how it was called, and runs the command without any container.

What a container would be shown under another path, the command finds where it is. In the folder `FAKE_DOCKER`, `calls` has a
list of arguments a line, a file with the name of a "container" its process, `refuses` the error of every `docker run`, and
`busy` that of the next `docker rm`.
"""

import json
import os
import re
import signal
import sys
from contextlib import suppress
from pathlib import Path

HOME = Path(os.environ["FAKE_DOCKER"])


def option(arguments: list[str], name: str) -> str:
    return next(word.partition("=")[2] for word in arguments if word.startswith(f"--{name}="))


def run(arguments: list[str]) -> int:
    """As `docker run`: the "container" goes on where this is killed."""
    if (HOME / "refuses").exists():
        print((HOME / "refuses").read_text(), file=sys.stderr)
        return 125
    image = next(place for place, word in enumerate(arguments) if not word.startswith("--"))
    command = arguments[image + 1 :]
    for source, target in re.findall(r'"src=(.*?)","dst=(.*?)"', " ".join(arguments[:image])):
        command[2] = command[2].replace(target, source)
    Path(option(arguments, "cidfile")).write_text("0123")
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.chdir(option(arguments, "workdir"))
        os.execvpe(command[0], command, {"PATH": os.environ["PATH"]})
    (HOME / option(arguments, "name")).write_text(str(pid))
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    kill(pid)
    return 128 - code if code < 0 else code


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def remove(name: str) -> int:
    with suppress(FileNotFoundError):
        print((HOME / "busy").read_text(), file=sys.stderr)
        (HOME / "busy").unlink()
        return 1
    try:
        kill(int((HOME / name).read_text()))
    except FileNotFoundError:
        print(f"Error response from daemon: No such container: {name}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    with (HOME / "calls").open("a") as calls:
        calls.write(json.dumps(sys.argv[1:]) + "\n")
    sys.exit(run(sys.argv[2:]) if sys.argv[1] == "run" else remove(sys.argv[-1]))
