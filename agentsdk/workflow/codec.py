"""How the values of a workflow are recorded: as JSON text, by their types, checked both ways."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast, get_type_hints

from pydantic import ConfigDict, TypeAdapter, with_config
from pydantic_core import PydanticSerializationError
from typing_extensions import TypedDict

from agentsdk.types.base import JsonObject
from agentsdk.types.errors import UserError

_CONFIG = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64", ser_json_inf_nan="strings")

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Codec:
    """The values of one type. `what` says whose they are. Raises `UserError` for a type that pydantic cannot describe."""

    __slots__ = ("_annotation", "_read", "_schema", "_what", "_write")

    def __init__(self, annotation: object, what: str) -> None:
        self._annotation: Any = annotation
        self._schema: JsonObject | None = None
        self._what = what
        try:
            # In a tuple, as a model or a dataclass alone takes no settings.
            alone: Any = tuple.__class_getitem__(annotation)
            adapter = TypeAdapter[tuple[Any]](alone, config=_CONFIG)
        except Exception as error:
            raise UserError(
                f"{what} has a type that cannot be recorded ({type(error).__name__}), expected JSON-like types, enums, "
                "pydantic models, dataclasses or TypedDicts; annotate it with one"
            ) from error
        self._write = adapter.serializer.to_json
        self._read = adapter.validator.validate_json

    @property
    def annotation(self) -> object:
        """The type of the values."""
        return self._annotation

    @property
    def is_text(self) -> bool:
        """Whether the values are texts."""
        return self._annotation is str

    @property
    def schema(self) -> JsonObject:
        """The JSON schema of the values, made when it is first asked for."""
        if self._schema is None:
            self._schema = TypeAdapter[Any](self._annotation).json_schema()
        return self._schema

    def write(self, value: object) -> str:
        """`value` as JSON text. Raises `UserError` where it is not of the type."""
        try:
            return self._write((value,), warnings="error")[1:-1].decode()
        except (PydanticSerializationError, ValueError, RecursionError) as error:
            raise UserError(
                f"{self._what} is a {type(value).__name__!r} that cannot be recorded as what it is annotated with, expected a "
                "value of that type; return one, or change the annotation"
            ) from error

    def read(self, text: str) -> object:
        """The value of JSON text. Raises `ValueError` where that does not fit."""
        return cast(object, self._read(f"[{text}]")[0])


class Signature:
    """The parameters of a step or a workflow, and its result. Read when first used: types may be declared further down.

    Raises `UserError` for annotations that cannot be resolved, and for parameters of any number.
    """

    __slots__ = ("_codecs", "_signature", "_write", "result")

    def __init__(self, function: Callable[..., object], what: str, scope: Mapping[str, object]) -> None:
        self._signature = inspect.signature(function)
        enclosing = inspect.getclosurevars(function).nonlocals
        try:
            hints = get_type_hints(function, None, {**enclosing, **scope}, include_extras=True)
        except Exception as error:
            raise UserError(
                f"{what} has an annotation that cannot be resolved ({type(error).__name__}), expected types known where it is "
                "defined; import them there, outside `if TYPE_CHECKING:`"
            ) from error
        self._codecs: dict[str, Codec] = {}
        for name, parameter in self._signature.parameters.items():
            if parameter.kind not in _POSITIONAL:
                raise UserError(f"{what} takes any number of arguments by {name!r}, expected named ones; take a list or a dict")
            self._codecs[name] = Codec(hints.get(name, Any), f"argument {name!r} of {what}")
        make: Any = TypedDict
        kinds: Any = with_config(_CONFIG)(make("Arguments", {name: hints.get(name, Any) for name in self._codecs}))
        self._write = TypeAdapter[Any](kinds).serializer.to_json  # all at once takes half the time
        self.result = Codec(hints.get("return", Any), f"the result of {what}")

    def write(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> str:
        """The arguments as a JSON object. Raises `TypeError` as a call does, and `UserError`."""
        codecs = self._codecs
        given: Mapping[str, object]
        if not kwargs and len(args) == len(codecs):
            given = dict(zip(codecs, args, strict=True))
        else:
            bound = self._signature.bind(*args, **kwargs)
            bound.apply_defaults()
            given = bound.arguments
        try:
            return self._write(given, warnings="error").decode()
        except (PydanticSerializationError, ValueError, RecursionError):  # of one of them: which, they say one by one
            return "{" + ",".join([f'"{name}":{codecs[name].write(value)}' for name, value in given.items()]) + "}"

    @property
    def parameters(self) -> Mapping[str, Codec]:
        """The parameters, by their names."""
        return self._codecs

    @property
    def required(self) -> tuple[str, ...]:
        """The names of the parameters that have no default."""
        given = self._signature.parameters
        return tuple([name for name in self._codecs if given[name].default is inspect.Parameter.empty])
