"""Servers that do not end as they should."""

from __future__ import annotations

import signal
import time

from tests.mcp.misbehaving.servers.base import Message, Server, case


@case("lifecycle/stubborn")
class Stubborn(Server):
    """Ignores the end of its input and SIGTERM, and has a grandchild that does so too."""

    def begin(self) -> None:
        self.leave_grandchild()
        signal.signal(signal.SIGTERM, lambda *_: self.keep_silent())

    def end(self) -> None:
        self.keep_silent()
        time.sleep(60)


@case("lifecycle/leaves_a_grandchild")
class Leaves(Server):
    """Ends politely, but its grandchild does not."""

    def begin(self) -> None:
        self.leave_grandchild()


@case("lifecycle/leaves_a_daemon")
class LeavesDaemon(Server):
    """Ends politely, but has started a daemon: in a session of its own, by a process that is there no more."""

    def begin(self) -> None:
        self.leave_grandchild(before="import os; os.fork() and os._exit(0); os.setsid()")


@case("lifecycle/dies_and_leaves_a_grandchild")
class DiesAndLeaves(Server):
    def on_call(self, message: Message) -> None:
        if self.starts == 1:
            self.leave_grandchild()
            self.die()
        super().on_call(message)
