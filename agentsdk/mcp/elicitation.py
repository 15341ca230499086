"""Questions of a server to a person: a modern server's is a pause of the run, which the answer ends in any process.

A modern server ends a call with what it must know and a state of its own, and the call is made again with both. So the question
and the state are recorded, as those of a call that waits for an answer, and nothing has to stay open.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import msgspec

from agentsdk.define.answer_needed import AnswerNeededError, GivenAnswer
from agentsdk.ports.mcp import ROOTS, MCPElicitation, MCPInput, MCPInputRequired, MCPSample
from agentsdk.types.base import JsonObject
from agentsdk.types.text import escaped, shortened

MAX_QUESTION = 2_000
"""How many characters of a server's question are shown."""

_DECLINED: JsonObject = {"type": "null"}


class _Left(msgspec.Struct):
    """What is recorded beside the question: the server's own state, and the keys that it wants its answers under; `forms` are
    those of them that are answered with a form. `round` counts the questions of the call, `samples` are the model's answers."""

    state: str | None
    keys: list[str]
    forms: list[str]
    round: int = 1
    roots: list[str] = []
    samples: dict[str, MCPSample] = {}


def needed_answer(
    server: str, required: MCPInputRequired, earlier: GivenAnswer | None, samples: dict[str, MCPSample]
) -> AnswerNeededError:
    """What a server must know of a person, as what the call waits for.

    One question's answer is the content of its form, or true for an address that was visited; None declines. Several are
    answered by an object of these, by the server's keys.
    """
    asked = required.elicitations
    forms = [key for key, one in asked.items() if not one.url]
    left = _Left(required.state, list(asked), forms, 1 + rounds_of(earlier), list(required.wants_roots), samples)
    schemas = {key: _schema(one) for key, one in asked.items()}
    if len(asked) == 1:
        schema: JsonObject = next(iter(schemas.values()))
    else:
        schema = {"type": "object", "properties": schemas, "required": list(asked), "additionalProperties": False}
    question = "\n".join([_question(server, one) for one in asked.values()])
    return AnswerNeededError(question, schema=schema, kept=msgspec.json.encode(left).decode())


def given_input(answer: GivenAnswer) -> MCPInput:
    """A person's answer as it goes to the server."""
    left = msgspec.json.decode(answer.kept, type=_Left)
    several = cast("Mapping[str, object]", answer.value)
    values = {left.keys[0]: answer.value} if len(left.keys) == 1 else several
    answers = {key: (values.get(key), key in left.forms) for key in left.keys}
    samples = {key: (sample, False) for key, sample in left.samples.items()}
    return MCPInput(left.state, answers | dict.fromkeys(left.roots, (ROOTS, False)) | samples)


def rounds_of(answer: GivenAnswer | None) -> int:
    """How many questions of a call have been answered."""
    return 0 if answer is None else msgspec.json.decode(answer.kept, type=_Left).round


def _question(server: str, asked: MCPElicitation) -> str:
    said = "\n".join([escaped(line) for line in shortened(asked.message, MAX_QUESTION).splitlines()])
    where = f"\nIt asks that you visit {escaped(shortened(asked.url, 1_000))}" if asked.url else ""
    return f"MCP server {server!r} asks: {said}{where}"


def _schema(asked: MCPElicitation) -> JsonObject:
    return {"anyOf": [{"type": "boolean"} if asked.schema is None else asked.schema, _DECLINED]}
