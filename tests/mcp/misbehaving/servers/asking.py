"""Servers that ask the client something in the middle of a call."""

from __future__ import annotations

from tests.mcp.misbehaving.servers.base import HANDSHAKE, MODERN, PONG, Message, Server, case, text

FORM = {
    "mode": "form",
    "message": "Which one?",
    "requestedSchema": {"type": "object", "properties": {"which": {"type": "string"}}},
}


class Asks(Server):
    """Sends a request when called, and answers the call with what came back."""

    method = "elicitation/create"
    params: object = FORM
    """What is asked in the handshake era."""

    def on_call(self, message: Message) -> None:
        if self.era == HANDSHAKE:
            self.waiting = message
            return self.send({"jsonrpc": "2.0", "id": f"s{self.calls}", "method": self.method, "params": self.params})
        if message["params"].get("inputResponses") is None:
            asked = {"q": {"method": self.method, "params": self.params}}
            result = {"resultType": "input_required", "inputRequests": asked, "requestState": "opaque"}
            return self.answer(message, result)
        self.note(f"state {message['params'].get('requestState')}")
        return self.answer(message, text("pong"))

    def on_answer(self, message: Message) -> None:
        self.answer(self.waiting, text("pong", "refused" if "error" in message else message["result"].get("action", "")))


case("asking/a_person")(Asks)
case("asking/for_sampling")(
    type("Sampling", (Asks,), {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 10}})
)
case("asking/for_roots")(type("Roots", (Asks,), {"method": "roots/list", "params": {}}))
case("asking/for_an_answer_to_a_ping")(type("Ping", (Asks,), {"method": "ping", "params": {}}))
case("asking/in_a_wrong_form")(type("Wrong", (Asks,), {"params": {"message": 5}}))
case("asking/without_params")(type("Without", (Asks,), {"params": None}))
case("asking/for_a_page")(
    type("Page", (Asks,), {"params": {"mode": "url", "message": "Sign in", "url": "javascript:alert(1)", "elicitationId": "e"}})
)


@case("asking/nobody")
class Nobody(Server):
    """Needs input, but says no question."""

    def on_call(self, message: Message) -> None:
        if self.era == MODERN:
            self.answer(message, {"resultType": "input_required", "inputRequests": {}, "requestState": "s"})
        else:
            self.answer(message, PONG)


@case("asking/for_ever")
class ForEver(Asks):
    """Asks again whatever was answered."""

    def on_call(self, message: Message) -> None:
        message["params"].pop("inputResponses", None)
        super().on_call(message)

    def on_answer(self, message: Message) -> None:
        if self.count("answer") < 100:
            self.send({"jsonrpc": "2.0", "id": f"s{self.count('answer')}", "method": self.method, "params": self.params})
        else:
            super().on_answer(message)
