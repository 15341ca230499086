"""The type of an agent's final output."""

from __future__ import annotations

import abc
from typing import Any, Literal, cast, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from agentsdk.compat.openai_agents.exceptions import ModelBehaviorError, UserError
from agentsdk.compat.openai_agents.strict_schema import ensure_strict_json_schema

_WRAPPED = "response"


class AgentOutputSchemaBase(abc.ABC):
    """What the model is told of the final output, and how its JSON is read: subclass it for a format of your own."""

    @abc.abstractmethod
    def is_plain_text(self) -> bool:
        """Whether the output is the model's text, unchanged."""

    @abc.abstractmethod
    def name(self) -> str:
        """The name of the type."""

    @abc.abstractmethod
    def json_schema(self) -> dict[str, Any]:
        """The schema. Not asked for plain text."""

    @abc.abstractmethod
    def is_strict_json_schema(self) -> bool:
        """Whether the provider is to enforce the schema."""

    @abc.abstractmethod
    def validate_json(self, json_str: str) -> Any:
        """The output that the model's text is. Raises `ModelBehaviorError` where it does not fit."""


class AgentOutputSchema(AgentOutputSchemaBase):
    """The schema of a Python type."""

    output_type: type[Any]

    def __init__(self, output_type: type[Any], strict_json_schema: bool = True) -> None:
        self.output_type = output_type
        self._strict_json_schema = strict_json_schema
        given: Any = output_type
        self._is_plain = given is None or given is str
        self._is_wrapped = not self._is_plain and not _is_object(output_type)
        wanted: Any = output_type
        if self._is_wrapped:
            wanted = _wrapper(output_type)
        self._adapter: TypeAdapter[Any] = TypeAdapter(wanted)
        self._schema = {"type": "string"} if self._is_plain else self._adapter.json_schema()
        if strict_json_schema and not self._is_plain:
            try:
                self._schema = ensure_strict_json_schema(self._schema)
            except UserError as error:
                raise UserError(
                    f"output type {self.name()} has no strict JSON schema: {error}; use "
                    "AgentOutputSchema(output_type, strict_json_schema=False)"
                ) from error

    def is_plain_text(self) -> bool:
        """Whether the output is the model's text, unchanged."""
        return self._is_plain

    def json_of(self, value: Any) -> str:
        """The text that a model would write for an output."""
        wrapped: Any = {_WRAPPED: value} if self._is_wrapped else value
        return self._adapter.dump_json(wrapped).decode()

    def is_strict_json_schema(self) -> bool:
        """Whether the provider is to enforce the schema."""
        return self._strict_json_schema

    def json_schema(self) -> dict[str, Any]:
        """The schema. Raises `UserError` for plain text."""
        if self._is_plain:
            raise UserError("plain text has no JSON schema, expected an output type; ask is_plain_text() first")
        return self._schema

    def validate_json(self, json_str: str) -> Any:
        """The output that the model's text is. Raises `ModelBehaviorError` where it does not fit."""
        try:
            value: Any = self._adapter.validate_json(json_str)
        except ValidationError as error:
            raise ModelBehaviorError(f"Invalid JSON: the output does not fit {self.name()}: {error}") from error
        if not self._is_wrapped:
            return value
        if not isinstance(value, dict) or _WRAPPED not in value:
            raise ModelBehaviorError(f"the output does not fit {self.name()}: it has no {_WRAPPED!r}")
        return cast("dict[str, Any]", value)[_WRAPPED]

    def name(self) -> str:
        """The name of the type."""
        return _type_name(self.output_type)


def _wrapper(kind: Any) -> Any:
    """The object that carries an output which is none itself."""
    make: Any = TypedDict
    return make("OutputType", {_WRAPPED: kind})


def _is_object(kind: Any) -> bool:
    origin = get_origin(kind) or kind
    return isinstance(origin, type) and issubclass(origin, BaseModel | dict)


def _type_name(kind: Any) -> str:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is None:
        return str(getattr(kind, "__name__", kind))
    if not inner:
        return str(origin)
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, inner))}]"
    return f"{_type_name(origin)}[{', '.join(map(_type_name, inner))}]"
