"""`agentsdk init`: a small project to begin with, an agent with its tools, a test, and a run that is kept."""

from __future__ import annotations

import argparse
import re
import tempfile
from importlib.resources import files
from pathlib import Path

from agentsdk.types.errors import UserError

FILES = {
    "README.md": "README.md.txt",
    "agent.py": "agent.py.txt",
    "main.py": "main.py.txt",
    "test_agent.py": "test_agent.py.txt",
    ".gitignore": "gitignore.txt",
}
"""What a project has, by the file of the package that it is made from."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}\Z")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("name", help="the project's folder, made where the command is called")


def run(given: argparse.Namespace) -> None:
    """Make the project, whole or not at all. Raises `UserError` for a name that cannot be, and for a folder that is there."""
    name: str = given.name
    if not _NAME.match(name):
        raise UserError(
            f"a project cannot be named {name!r}, expected a letter and then letters, digits, - or _; "
            "write agentsdk init my-agent"
        )
    folder = Path(name)
    if folder.exists():
        raise UserError(f"{name!r} is there already, expected a name that is not; choose another, or remove it")
    try:
        with tempfile.TemporaryDirectory(dir=".", prefix=f".{name}-") as draft:
            made = Path(draft) / name
            made.mkdir()
            for file, source in FILES.items():
                text = (files("agentsdk.cli") / "project" / source).read_text(encoding="utf-8")
                (made / file).write_text(text.replace("{name}", name), encoding="utf-8")
            made.rename(folder)
    except OSError as error:
        raise UserError(f"{name!r} cannot be made ({error.strerror}), expected a folder that can be written") from error
    print(f"{name} is made: {', '.join(FILES)}\n\nNext:")
    for command in (f"cd {name}", "python -m unittest", "python main.py first 'How is order 1815?'"):
        print(f"  {command}")
