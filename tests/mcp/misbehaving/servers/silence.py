"""Servers that do not answer."""

from __future__ import annotations

import time

from tests.mcp.misbehaving.servers.base import PONG, Message, Server, case, text


@case("silence/opening")
class Opening(Server):
    def receive(self, message: Message) -> None:
        self.note(f"{message.get('method')} ignored")
        if "id" in message:
            self.keep_silent()


@case("silence/first_opening")
class FirstOpening(Server):
    def receive(self, message: Message) -> None:
        if self.starts > 1:
            super().receive(message)
        elif "id" in message:
            self.keep_silent()


@case("silence/discover")
class Discover(Server):
    """A handshake server that drops methods it does not know, as some do."""

    def on_discover(self, message: Message) -> None:
        self.keep_silent()


@case("silence/list")
class List(Server):
    def on_list(self, message: Message) -> None:
        self.keep_silent()


@case("silence/first_list")
class FirstList(Server):
    def on_list(self, message: Message) -> None:
        if self.count("tools/list") > 1:
            super().on_list(message)
        else:
            self.keep_silent()


@case("silence/call")
class Call(Server):
    def on_call(self, message: Message) -> None:
        self.keep_silent()


@case("silence/first_call")
class FirstCall(Server):
    def on_call(self, message: Message) -> None:
        if self.count("call") > 1:
            super().on_call(message)
        else:
            self.keep_silent()


@case("silence/after_a_call")
class AfterCall(Server):
    """Answers one call, and then nothing any more until it is started again."""

    def receive(self, message: Message) -> None:
        if self.calls:
            self.note(f"{message.get('method')} ignored")
            if "id" in message:
                self.keep_silent()
        else:
            super().receive(message)


@case("silence/late_answer")
class Late(Server):
    """The answer of the first call comes with the second's."""

    def on_call(self, message: Message) -> None:
        if self.calls == 1:
            self.first = message
            self.keep_silent()
        elif self.calls == 2:
            self.answer(self.first, text("the first call's answer"))
            self.answer(message, PONG)
        else:
            self.answer(message, PONG)


@case("silence/progress_only")
class Progress(Server):
    def on_call(self, message: Message) -> None:
        token = message["params"].get("_meta", {}).get("progressToken", "none")
        for step in range(200):
            self.notify("notifications/progress", progressToken=token, progress=step)
        self.keep_silent()


@case("silence/deaf")
class Deaf(Server):
    """Reads no more after its list: what is sent then stays in the pipe."""

    def on_list(self, message: Message) -> None:
        super().on_list(message)
        if self.starts == 1:
            self.note("deaf")
            time.sleep(60)
