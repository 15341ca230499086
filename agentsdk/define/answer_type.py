"""The type of the answers to an external tool: what its function says that it returns, described and checked as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec

from agentsdk.core.problems import list_problems
from agentsdk.define.parameters import MISSING
from agentsdk.define.plain_type import plain_type
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import UserError


class WrongAnswer(ValueError):  # noqa: N818 - reads as the outcome it is
    """An answer that does not fit its type; the message says to who gave it what to change, without any of its values."""


class AnswerType:
    """What an answer must be. Without an annotation, or for `Any` and `object`, any will do: `schema` is None then.

    Raises `UserError` for a type of tool `name` that pydantic cannot describe.
    """

    __slots__ = ("_check", "schema")

    def __init__(self, name: str, annotation: object) -> None:
        self.schema: JsonObject | None = None
        self._check: Callable[[str], object] | None = None
        if annotation is MISSING or annotation is Any or annotation is object:
            return
        plain = plain_type(annotation)
        if plain is None:
            self._check, self.schema = _described(name, annotation)
            return
        self.schema = plain.schema()

        def check(answer: str) -> object:
            problems: list[str] = []
            value = plain.check(msgspec.json.decode(answer), "the whole", problems)
            if problems:
                raise WrongAnswer(list_problems(problems))
            return value

        self._check = check

    def read(self, answer: str) -> object:
        """The value of an answer given as JSON text. Raises `WrongAnswer`, and whatever a validator of the type raises."""
        return msgspec.json.decode(answer) if self._check is None else self._check(answer)


def _described(name: str, annotation: object) -> tuple[Callable[[str], object], JsonObject]:
    """What checks an answer of a type that takes pydantic, and its JSON schema."""
    from pydantic import TypeAdapter, ValidationError

    try:
        adapter: TypeAdapter[object] = TypeAdapter(cast(Any, annotation))
        schema = adapter.json_schema()
    except Exception as error:
        why = str(error).partition("\n")[0]
        raise UserError(
            f"the result type of tool {name!r} has no JSON schema: {why}; expected JSON-like types, enums, pydantic models, "
            "dataclasses or TypedDicts: an answer from outside is JSON"
        ) from error

    def check(answer: str) -> object:
        try:
            return adapter.validate_json(answer, strict=True)
        except ValidationError as error:
            from agentsdk.define.problems import problems_of

            raise WrongAnswer(list_problems(problems_of(error))) from None

    return check, schema


ANY_ANSWER = AnswerType("", MISSING)
"""Whatever is answered fits."""
