"""A call that turns out to need an answer from outside before it can go on: what its body raises, and what it gets then."""

from __future__ import annotations

from dataclasses import dataclass

from agentsdk.types.base import JsonObject
from agentsdk.types.errors import ToolError


class AnswerNeededError(ToolError):
    """Raised by a tool's body: the call waits for an answer, and the body runs again when there is one, with it.

    `question` is what a person is asked, `schema` the JSON schema of the answer (None: any will do), `kept` a text that is
    recorded with the question and given back with the answer: all that the body needs in whichever process it goes on.
    """

    def __init__(self, question: str, *, schema: JsonObject | None = None, kept: str = "") -> None:
        super().__init__(f"an answer is needed: {question}")
        self.question = question
        self.schema = schema
        self.kept = kept


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """The answer that a body was waiting for, as JSON data, and what it has `kept`."""

    value: object
    kept: str
