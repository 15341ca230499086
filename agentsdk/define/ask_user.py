"""`ask_user`: the tool with which a model asks a person."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from agentsdk.define.schema import function_schema
from agentsdk.define.tool import FunctionTool, tool_of
from agentsdk.define.tool_body import FunctionBody

_NAME = "ask_user"


def _ask_user(question: str, choices: list[str] | None = None) -> str:
    """Ask the user a question and wait for the answer. Ask only what you cannot find out otherwise.

    Args:
        question: The question.
        choices: The answers that the user can choose from. Leave it out where the user is to answer in their own words.
    """
    raise NotImplementedError("the user answers")


class _Question(FunctionBody[Any]):
    """What the model's arguments ask a person."""

    __slots__ = ()

    def asks(self, arguments: Mapping[str, object]) -> tuple[str, tuple[str, ...]]:
        choices = cast("list[str] | None", arguments.get("choices"))
        return cast(str, arguments["question"]), tuple(dict.fromkeys(choices or ()))


_body = _Question(_ask_user, partial(function_schema, _ask_user, name_override=_NAME), None, {})

ask_user: FunctionTool[Any] = tool_of(_NAME, _body, True, {"external": True, "permission": "read"})
"""Lets the model ask a person: `question`, and `choices` where only one of these is an answer.

The call waits as a `ToolAnswerItem` with `question` and `choices`; `state.answer(item, "...")` goes on. `ask_user.clone` gives
it another name or description, a `timeout` and a `default_answer`.
"""
