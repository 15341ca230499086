"""Servers that end when they should not."""

from __future__ import annotations

import os
import select
import signal
import sys
import time

from tests.mcp.misbehaving.servers.base import PONG, WAITING, Message, Server, case, line, text, tool


@case("death/at_start")
class AtStart(Server):
    def begin(self) -> None:
        os.write(2, b"FATAL: no configuration\n")
        self.die()


@case("death/at_first_start")
class AtFirstStart(Server):
    def begin(self) -> None:
        if self.starts == 1:
            self.die()


@case("death/opening")
class Opening(Server):
    def receive(self, message: Message) -> None:
        self.die()


@case("death/list")
class List(Server):
    def on_list(self, message: Message) -> None:
        self.die()


@case("death/first_list")
class FirstList(Server):
    def on_list(self, message: Message) -> None:
        if self.starts == 1:
            self.die()
        super().on_list(message)


@case("death/call")
class Call(Server):
    """Dies in every first call of a process."""

    def on_call(self, message: Message) -> None:
        self.die()


@case("death/first_call")
class FirstCall(Server):
    def on_call(self, message: Message) -> None:
        if self.starts == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        super().on_call(message)


@case("death/first_call_of_a_reader")
class Reader(FirstCall):
    tools = [tool(annotations={"readOnlyHint": True})]


@case("death/after_each_call")
class AfterCall(Server):
    def on_call(self, message: Message) -> None:
        self.note(f"leaves {os.getpid()}")
        super().on_call(message)
        self.die(0)


@case("death/with_a_call_unread")
class CallUnread(Server):
    """Answers a call, and dies with the next in its input."""

    def on_call(self, message: Message) -> None:
        super().on_call(message)
        if self.starts == 1:
            select.select([0], [], [])
            self.die(0)


@case("death/after_list")
class AfterList(Server):
    def on_list(self, message: Message) -> None:
        super().on_list(message)
        if self.starts == 1:
            self.die(0)


@case("death/second_call")
class SecondCall(Server):
    def on_call(self, message: Message) -> None:
        if self.starts == 1 and self.calls == 2:
            self.die()
        super().on_call(message)


@case("death/in_an_answer")
class InAnswer(Server):
    def on_call(self, message: Message) -> None:
        if self.starts == 1:
            self.raw(line(self.answered(message, PONG))[:-20])
            self.die()
        super().on_call(message)


@case("death/answer_without_newline")
class NoNewline(Server):
    def on_call(self, message: Message) -> None:
        if self.starts == 1:
            self.raw(line(self.answered(message, PONG))[:-1])
            self.die(0)
        super().on_call(message)


@case("death/comes_back_at_the_third_start")
class ThirdStart(Server):
    def begin(self) -> None:
        if self.starts == 2:
            self.die()

    def on_call(self, message: Message) -> None:
        if self.starts == 1:
            self.die()
        super().on_call(message)


@case("death/closes_its_output")
class ClosesOutput(Server):
    def on_call(self, message: Message) -> None:
        if self.starts == 1:
            os.close(1)
            sys.stdin.buffer.read()
            self.keep_silent()
            time.sleep(60)
        super().on_call(message)


@case("death/closes_its_input")
class ClosesInput(Server):
    def on_list(self, message: Message) -> None:
        if self.starts == 1:
            os.close(0)
        super().on_list(message)
        if self.starts == 1:
            time.sleep(60)


@case("death/with_a_child_on_its_output")
class ChildOnOutput(Server):
    """Dies in a call; its child holds the pipe open, so that no end of file ever comes."""

    def on_call(self, message: Message) -> None:
        if self.starts == 1:
            import subprocess

            child = subprocess.Popen([sys.executable, "-S", "-E", "-c", WAITING.replace("print(os.getpid(), flush=True)", "")])
            self.note(f"pid {child.pid}")
            self.die()
        super().on_call(message)


@case("death/changed_when_it_came_back")
class Changed(Server):
    """Comes back with another definition of its tool."""

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self.tools = [tool(description=f"ping, version {self.starts}")]

    def on_call(self, message: Message) -> None:
        if self.starts == 1:
            self.die()
        self.answer(message, text(f"pong of version {self.starts}"))
