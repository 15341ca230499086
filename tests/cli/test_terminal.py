"""`agentsdk chat` in a real terminal: answers as they come, approvals, Ctrl-C and Ctrl-D."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="the command line needs typer and rich: pip install 'agentsdk[cli]'")

ROOT = Path(__file__).parents[2]
PATIENCE = 30.0


class Terminal:
    """A program in a pseudo-terminal."""

    def __init__(self, *arguments: str, cwd: Path) -> None:
        self._ours, theirs = pty.openpty()
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80", "TERM": "xterm"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "agentsdk", *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env=environment,
            start_new_session=True,
            preexec_fn=_control,
        )
        os.close(theirs)
        self.screen = ""

    def until(self, pattern: str) -> str:
        """Wait until it has printed this; what it printed since the last time."""
        deadline = time.monotonic() + PATIENCE
        while (found := re.search(pattern, self.screen)) is None:
            ready, _, _ = select.select([self._ours], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"{pattern!r} did not come: {self.screen!r}"
            piece = self._read()
            assert piece, f"it ended, and {pattern!r} did not come: {self.screen!r}"
            self.screen += piece
        seen, self.screen = self.screen[: found.end()], self.screen[found.end() :]
        return seen

    def type(self, text: str) -> None:
        """Press keys: `\\n` is the return key, `\\x03` Ctrl-C, `\\x04` Ctrl-D."""
        os.write(self._ours, text.encode())

    def end(self) -> int:
        """The exit code, once it has ended."""
        while select.select([self._ours], [], [], PATIENCE)[0] and (piece := self._read()):
            self.screen += piece
        return self._process.wait(PATIENCE)

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        os.close(self._ours)

    def _read(self) -> str:
        try:
            return os.read(self._ours, 65_536).decode(errors="replace")
        except OSError:  # how Linux says that the program has closed it
            return ""


def _control() -> None:
    """Make the terminal that of the program, so that Ctrl-C reaches it."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal("chat", "tests.cli.app:clerk", "--config", "tests.cli.app:quiet", "--session", "s", cwd=tmp_path)
    terminal.until("Clerk> ")
    yield terminal
    terminal.close()


def test_it_answers_remembers_and_says_what_it_took(chat: Terminal, tmp_path: Path) -> None:
    chat.type("hello\n")
    told = chat.until("Clerk> ")
    assert "You said 'hello' after 1 items." in told and "tokens" in told
    assert "\\x1b[31m" in told and "\u202e" not in told
    chat.type("again\n")
    assert "after 3 items." in chat.until("Clerk> ")
    chat.type("\x04")
    assert chat.end() == 0
    later = Terminal("chat", "tests.cli.app:clerk", "--session", "s", cwd=tmp_path)
    try:
        later.until("Clerk> ")
        later.type("and now\n")
        assert "after 5 items." in later.until("Clerk> ")
    finally:
        later.close()


def test_it_asks_for_approval_edits_arguments_and_takes_a_no(chat: Terminal) -> None:
    chat.type("please pay\n")
    assert 'refund {"order":7}' in chat.until("arguments: ")
    chat.type("maybe\n")
    chat.until("arguments: ")
    chat.type("y\n")
    assert "Done: Order 7 is paid back." in chat.until("Clerk> ")
    chat.type("please pay\n")
    chat.until("arguments: ")
    chat.type("e\n")
    chat.until("as JSON: ")
    chat.type('{"order": 8}\n')
    assert "Order 8 is paid back." in chat.until("Clerk> ")
    chat.type("please pay\n")
    chat.until("arguments: ")
    chat.type("n\n")
    chat.until("why: ")
    chat.type("too much\n")
    assert "too much" in chat.until("Clerk> ")


def test_ctrl_c_stops_an_answer_and_the_talk_goes_on(chat: Terminal) -> None:
    chat.type("hang\n")
    chat.until("it hangs")
    chat.type("\x03")
    chat.until(r"\[stopped\]\s+Clerk> ")
    chat.type("hello\n")
    assert "You said 'hello'" in chat.until("Clerk> ")
    chat.type("\x03")
    assert chat.end() == 0
