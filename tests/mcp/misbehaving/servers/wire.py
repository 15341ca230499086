"""Servers whose bytes are not what they should be."""

from __future__ import annotations

import json
import os

from tests.mcp.misbehaving.servers.base import HANDSHAKE, MODERN, PONG, Message, Server, case, line, text


@case("wire/banner")
class Banner(Server):
    def begin(self) -> None:
        self.raw(b"Welcome to the server!\nIt listens now.\n")


@case("wire/prints_before_each_answer")
class Prints(Server):
    def send(self, message: object) -> None:
        self.raw(b"DEBUG handling a request\n" + line(message))


@case("wire/half_a_message_first")
class HalfFirst(Server):
    def send(self, message: object) -> None:
        self.raw(b'{"jsonrpc": "2.0", "id": \n' + line(message))


@case("wire/json_that_is_no_message")
class NoMessage(Server):
    def send(self, message: object) -> None:
        self.raw(b'7\n"text"\n[]\nnull\n{}\n{"jsonrpc": "2.0"}\n{"id": 1}\n' + line(message))


@case("wire/answer_is_no_json")
class NoJson(Server):
    def on_call(self, message: Message) -> None:
        if self.calls == 1:
            self.raw(b"Traceback (most recent call last): oops\n")
            self.keep_silent()
        else:
            self.answer(message, PONG)


@case("wire/bad_utf8_first")
class BadUtf8First(Server):
    def begin(self) -> None:
        self.raw(b"\xff\xfe\x80\n")


@case("wire/bad_utf8_line")
class BadUtf8Line(Server):
    def send(self, message: object) -> None:
        self.raw(b"caf\xe9 \xc3\x28\n" + line(message))


@case("wire/bad_utf8_in_a_text")
class BadUtf8Text(Server):
    def on_call(self, message: Message) -> None:
        self.raw(line(self.answered(message, text("pong caf?"))).replace(b"?", b"\xe9"))


@case("wire/utf8_in_pieces")
class Pieces(Server):
    def on_call(self, message: Message) -> None:
        for byte in json.dumps(self.answered(message, text("pong \U0001f600 caf\u00e9")), ensure_ascii=False).encode() + b"\n":
            self.raw(bytes([byte]))


@case("wire/line_of_8_mb")
class Line8(Server):
    def on_call(self, message: Message) -> None:
        self.answer(message, text("pong " + "x" * 8_000_000))


@case("wire/line_of_70_mb")
class Line70(Server):
    def on_call(self, message: Message) -> None:
        self.answer(message, text("x" * 70_000_000 if self.count("call") == 1 else "pong"))


@case("wire/line_without_end")
class Endless(Server):
    def on_call(self, message: Message) -> None:
        if self.count("call") > 1:
            return self.answer(message, PONG)
        while True:
            self.raw(b"x" * 1_000_000)


@case("wire/crlf")
class Crlf(Server):
    def send(self, message: object) -> None:
        self.raw(line(message)[:-1] + b"\r\n")


@case("wire/blank_lines")
class Blank(Server):
    def send(self, message: object) -> None:
        self.raw(b"\n\n \n\r\n" + line(message) + b"\n")


@case("wire/byte_order_mark")
class Bom(Server):
    def begin(self) -> None:
        self.raw(b"\xef\xbb\xbf")


@case("wire/two_messages_in_a_write")
class Two(Server):
    def send(self, message: object) -> None:
        self.raw(
            line({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}})
            + line(message)
        )


@case("wire/answers_twice")
class Twice(Server):
    def send(self, message: object) -> None:
        self.raw(line(message) * 2)


@case("wire/other_id_first")
class OtherFirst(Server):
    def on_call(self, message: Message) -> None:
        self.answer({**message, "id": 99_999}, text("another's"))
        self.answer(message, PONG)


@case("wire/other_id_only")
class OtherOnly(Server):
    def on_call(self, message: Message) -> None:
        if self.calls == 1:
            self.answer({**message, "id": 99_999}, text("another's"))
            self.keep_silent()
        else:
            self.answer(message, PONG)


@case("wire/id_of_an_earlier_request")
class Earlier(Server):
    """Each answer of a call comes with the ids of all requests before it first."""

    def on_call(self, message: Message) -> None:
        for earlier in range(int(message["id"])):
            self.answer({**message, "id": earlier}, text("another's"))
        self.answer(message, PONG)


@case("wire/id_is_a_text")
class TextId(Server):
    def on_call(self, message: Message) -> None:
        self.answer({**message, "id": str(message["id"])}, PONG)


@case("wire/error_without_id")
class NoId(Server):
    def on_call(self, message: Message) -> None:
        self.fail({"id": None}, -32700, "Parse error")
        self.answer(message, PONG)


@case("wire/unknown_notification")
class UnknownNotification(Server):
    def on_call(self, message: Message) -> None:
        self.notify("notifications/of_another_world", odd=[1])
        self.notify("notifications/message", level="of another world", data={})
        self.notify("notifications/progress", progressToken="nobody's", progress="much")
        self.answer(message, PONG)


@case("wire/unknown_request")
class UnknownRequest(Server):
    """Asks the client something it cannot know, and answers the call when it has an answer."""

    def on_call(self, message: Message) -> None:
        self.waiting = message
        self.send({"jsonrpc": "2.0", "id": "s-1", "method": "who/are/you", "params": {}})

    def on_answer(self, message: Message) -> None:
        self.answer(self.waiting, PONG)


@case("wire/flood_of_notifications")
class Flood(Server):
    def on_call(self, message: Message) -> None:
        one = line({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x" * 100}})
        self.raw(one * 2_000)
        self.answer(message, PONG)


@case("wire/flood_of_list_changed")
class ListChanged(Server):
    capabilities = {"tools": {"listChanged": True}}

    def on_call(self, message: Message) -> None:
        self.raw(line({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}) * 1_000)
        self.answer(message, PONG)


class Version(Server):
    version: object = "1999-01-01"

    def on_discover(self, message: Message) -> None:
        if self.era != MODERN:
            return self.fail(message, -32601, "Method not found")
        return self.answer(message, {"supportedVersions": [self.version], "capabilities": {"tools": {}}, "ttlMs": 0})

    def on_initialize(self, message: Message) -> None:
        opened = {"protocolVersion": self.version, "capabilities": {}, "serverInfo": {"name": "bad", "version": "1"}}
        self.answer(message, opened)


case("wire/version_unknown")(Version)
case("wire/version_is_a_number")(type("NumberVersion", (Version,), {"version": 3}))
case("wire/version_is_null")(type("NullVersion", (Version,), {"version": None}))


@case("wire/version_of_the_future_only")
class Future(Server):
    def on_discover(self, message: Message) -> None:
        self.fail(message, -32022, "Unsupported protocol version", {"supported": ["2099-01-01"], "requested": MODERN})

    def on_initialize(self, message: Message) -> None:
        self.fail(message, -32022, "Unsupported protocol version", {"supported": ["2099-01-01"], "requested": HANDSHAKE})


@case("wire/batch")
class Batch(Server):
    def on_call(self, message: Message) -> None:
        self.send([self.answered(message, PONG)])


@case("wire/without_jsonrpc")
class NoVersion(Server):
    def on_call(self, message: Message) -> None:
        self.send({"id": message["id"], "result": PONG})


@case("wire/deeply_nested")
class Deep(Server):
    def on_call(self, message: Message) -> None:
        if self.count("call") > 1:
            return self.answer(message, PONG)
        return self.raw(b'{"jsonrpc": "2.0", "id": %d, "result": ' % message["id"] + b"[" * 200_000 + b"]" * 200_000 + b"}\n")


@case("wire/not_a_number")
class Nan(Server):
    def on_call(self, message: Message) -> None:
        self.raw(line(self.answered(message, text("pong", structuredContent={"value": "?"}))).replace(b'"?"', b"NaN"))


@case("wire/number_of_5000_digits")
class Digits(Server):
    def on_call(self, message: Message) -> None:
        self.raw(line(self.answered(message, text("pong", structuredContent={"value": "?"}))).replace(b'"?"', b"9" * 5_000))


@case("wire/lone_surrogate")
class Surrogate(Server):
    def on_call(self, message: Message) -> None:
        self.answer(message, text("pong \ud800 \udfff"))


@case("wire/control_characters")
class Controls(Server):
    def on_call(self, message: Message) -> None:
        self.answer(message, text("pong \u0000 \u001b[31m \u2028 \u202e"))


@case("wire/result_and_error")
class Both(Server):
    def on_call(self, message: Message) -> None:
        self.send({**self.answered(message, PONG), "error": {"code": 1, "message": "or not"}})


class WrongError(Server):
    error: object = {}

    def on_call(self, message: Message) -> None:
        self.send({"jsonrpc": "2.0", "id": message["id"], "error": self.error})


case("wire/error_is_empty")(WrongError)
case("wire/error_is_a_text")(type("TextError", (WrongError,), {"error": "boom"}))
case("wire/error_code_is_a_text")(type("CodeError", (WrongError,), {"error": {"code": "E1", "message": "boom"}}))
case("wire/error")(type("PlainError", (WrongError,), {"error": {"code": -32603, "message": "boom", "data": {"a": [1]}}}))
for _name, _code in (("of_an_end", -32000), ("of_a_timeout", -32001)):
    case(f"wire/error_with_the_code_{_name}")(type("Coded", (WrongError,), {"error": {"code": _code, "message": "boom"}}))
case("wire/error_of_1_mb")(type("BigError", (WrongError,), {"error": {"code": -32603, "message": "boom" * 250_000}}))


@case("wire/stderr_of_10_mb")
class Stderr(Server):
    def on_call(self, message: Message) -> None:
        os.write(2, b"")
        sent = 0
        while sent < 10_000_000:
            sent += os.write(2, b"\xff a line of a log\n" * 50_000)
        self.answer(message, PONG)


@case("wire/writes_at_the_end")
class Talkative(Server):
    """Writes 5 MB when its input ends: nobody may wait for it, nor it for them."""

    def end(self) -> None:
        self.raw(b"good bye\n" * 600_000)
