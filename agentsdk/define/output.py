"""`AgentOutputSchema`: a final output of a type, described to the model and checked when it comes back."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from types import UnionType
from typing import TYPE_CHECKING, Any, Generic, Union, cast, get_args, get_origin, overload

from msgspec import structs

from agentsdk.core.problems import list_problems
from agentsdk.define.problems import problems_of
from agentsdk.define.strict_schema import NotStrictError, strict_json_schema, tidy_json_schema
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import FLAG, Fields, one_of, shown
from agentsdk.types.errors import CallbackError, UserError
from agentsdk.types.generics import TOutput
from agentsdk.types.spec import OutputMode, OutputSpec

if TYPE_CHECKING:
    from pydantic import BaseModel, TypeAdapter, ValidationError

WRAPPED_KEY = "response"
"""The property that carries an output which is not a JSON object itself: providers take only objects."""

_FENCE = "```"
_FIELDS = Fields(
    "AgentOutputSchema", strict_json_schema=FLAG, mode=one_of(f"one of {get_args(OutputMode)}", get_args(OutputMode))
)


class InvalidOutput(ValueError):  # noqa: N818 - reads as the outcome it is
    """A text that does not fit the output type; the message tells the model what to change, without any of its values."""


class AgentOutputSchema(Generic[TOutput]):
    """The final output's type: a pydantic model, dataclass, TypedDict, `list[T]`, union, primitive, or `str` for plain text.

    A list of types is one of them. `mode` says how the model is brought to give it: see `OutputMode`.

    With `strict_json_schema` the provider is asked to enforce the schema, and `UserError` is raised for a type whose shape is
    not known in full (free keys, values of any type). It is also raised for a type pydantic cannot describe. Types are
    described once and kept, so that making a schema again costs nothing.
    """

    __slots__ = ("_described", "mode", "name", "output_type", "spec", "strict_json_schema")

    @overload
    def __init__(
        self,
        output_type: type[TOutput] | Sequence[type[TOutput]],
        strict_json_schema: bool = True,
        *,
        mode: OutputMode = "native",
    ) -> None: ...
    @overload
    def __init__(
        self: AgentOutputSchema[Any], output_type: UnionType, strict_json_schema: bool = True, *, mode: OutputMode = "native"
    ) -> None: ...
    def __init__(
        self,
        output_type: type[TOutput] | Sequence[type[TOutput]] | UnionType,
        strict_json_schema: bool = True,
        *,
        mode: OutputMode = "native",
    ) -> None:
        check_mode(strict_json_schema, mode)
        # To a type checker `A | B` is a UnionType that no longer says what it is of: the agent's own parameters do.
        self.output_type = cast("type[TOutput]", one_type(output_type))
        if media_kinds(self.output_type):
            raise UserError(
                f"AgentOutputSchema was given {shown(output_type)}, expected a type that JSON can be; give images, sounds and "
                "files to the agent itself: output_type=OutputImage, or output_type=[str, OutputImage]"
            )
        self.strict_json_schema = strict_json_schema
        self.mode: OutputMode = mode
        self.name = _name(self.output_type)
        is_text = cast(object, self.output_type) in (str, None) and mode == "native"
        self._described = None if is_text else _described(self.output_type, strict_json_schema)
        self.spec: OutputSpec | None = None if self._described is None else _in_mode(self._described.spec, mode)
        """The schema sent to the model, the same object each time; None for plain text."""

    def __repr__(self) -> str:
        return f"AgentOutputSchema({self.name})"

    @property
    def is_plain_text(self) -> bool:
        """Whether the output is the model's text, unchanged."""
        return self._described is None

    @property
    def is_function(self) -> bool:
        """Whether a function makes the output of what the model gives."""
        return False

    @property
    def is_media(self) -> bool:
        """Whether the output may be an image, a sound or a file, which the text does not hold."""
        return False

    def validate(self, text: str) -> TOutput:
        """The model's final text as the output type. JSON types must match: no text is taken for a number.

        A fence (```` ```json ````) around the whole text is taken off; words around the JSON are an error. Raises
        `InvalidOutput`, a `ValueError` whose message goes back to the model.
        """
        if self._described is None:
            return cast(TOutput, text)
        return cast(TOutput, self._described.read(unfenced(text)))

    def validate_json(self, text: str) -> TOutput:
        """A value given as JSON text as the output type: `validate` without fence and `"response"` wrapper.

        Raises `InvalidOutput`.
        """
        return cast(TOutput, (self._described or _described(str, True)).read_alone(text))

    def partial(self, text: str) -> object:
        """What can be read of a text that is still being written: plain JSON, not yet of the output type; None for nothing yet.

        Strings and containers show as far as they have come.
        """
        if self._described is None:
            return text or None
        return self._described.read_partly(text)


def check_mode(strict_json_schema: object, mode: object) -> None:
    """Raises `UserError` for what is no such argument of an output."""
    _FIELDS.check_given(strict_json_schema=strict_json_schema, mode=mode)


def unfenced(text: str) -> str:
    """The text without a fence around the whole of it."""
    text = text.strip()
    opened = _after_fence(text)
    return opened.removesuffix(_FENCE) if opened is not None and opened.endswith(_FENCE) else text


def read_json_partly(text: str) -> object:
    """What can be read of the beginning of a JSON text, fenced or not; None where nothing can."""
    from pydantic_core import from_json

    text = text.lstrip()
    opened = _after_fence(text)
    try:
        return cast(object, from_json(text if opened is None else opened, allow_partial="trailing-strings"))
    except ValueError:
        return None


def reader_of(kind: object) -> Callable[[str], object]:
    """What reads a value of a type, given as JSON text. Raises `UserError` for a type that has no JSON form."""
    return _described(kind, False).read_alone


def one_type(given: object) -> object:
    """The type that an `output_type` means: of several the union."""
    if not isinstance(given, list | tuple):
        return given
    types = cast("Sequence[object]", given)
    if not types:
        raise UserError("output_type is an empty list, expected types; name one")
    union: Any = types[0]
    try:
        for other in types[1:]:
            union = union | other
        return union
    except TypeError:
        raise UserError(f"output_type is {shown(types)}, expected a type or a list of types; name types only") from None


def union_members(kind: object) -> tuple[Any, ...]:
    """The types that a type is one of: of a union its members."""
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def media_kinds(kind: object) -> tuple[type[Any], ...]:
    """Those of the types that a type is one of that are media: `OutputImage` and its like.

    Raises `UserError` for such a type inside another, as `list[OutputImage]`.
    """
    members = union_members(kind)
    for member in members:
        if any(map(_is_media, _within(member))):
            raise UserError(
                f"output_type {shown(kind)} holds media inside another type, expected them by themselves; write OutputImage, "
                "or a list of several types"
            )
    return tuple([cast("type[Any]", member) for member in members if _is_media(member)])


def _is_media(kind: object) -> bool:
    return isinstance(kind, type) and getattr(kind, "is_output_media", False) is True


def _within(kind: object) -> Iterator[object]:
    for inner in get_args(kind):
        yield inner
        yield from _within(inner)


def union_name(kind: object) -> str:
    """What a type is called where providers take a name."""
    return _name(kind)


def _in_mode(spec: OutputSpec, mode: OutputMode) -> OutputSpec:
    return spec if mode == spec.mode else structs.replace(spec, mode=mode)


class _Described:
    """A type as pydantic validates it: by itself, and wrapped as the model writes it."""

    __slots__ = ("_alone", "_wrapped", "spec")

    def __init__(self, output_type: Any, strict: bool) -> None:
        from pydantic import ConfigDict, TypeAdapter, create_model

        name = _name(output_type)
        self._wrapped: type[BaseModel] | None = None
        try:
            self._alone: TypeAdapter[Any] = TypeAdapter(output_type)
            schema = root_object(self._alone.json_schema())
            if schema is None:
                fields: dict[str, Any] = {WRAPPED_KEY: (output_type, ...)}
                self._wrapped = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
                schema = self._wrapped.model_json_schema()
        except Exception as error:
            why = str(error).partition("\n")[0]
            raise UserError(
                f"output_type {name!r} has no JSON schema: {why}; expected a pydantic model, dataclass, TypedDict, list[...], "
                "union or primitive: declare one of these"
            ) from error
        try:
            self.spec = OutputSpec(name, strict_json_schema(schema) if strict else tidy_json_schema(schema), strict)
        except NotStrictError as error:
            raise UserError(
                f"output_type {name!r} has no strict JSON schema: {error}, expected types whose shape is known; "
                "use AgentOutputSchema(output_type, strict_json_schema=False)"
            ) from None

    def read(self, text: str) -> object:
        """The value in the model's text. Raises `InvalidOutput`."""
        if self._wrapped is None:
            return self.read_alone(text)
        return getattr(_checked(self._wrapped.__pydantic_validator__.validate_json, text), WRAPPED_KEY)

    def read_partly(self, text: str) -> object:
        """What can be read of the beginning of a text; None where nothing can."""
        value = read_json_partly(text)
        if self._wrapped is None:
            return value
        return cast(JsonObject, value).get(WRAPPED_KEY) if isinstance(value, dict) else None

    def read_alone(self, text: str) -> object:
        """The value of a text that is nothing else. Raises `InvalidOutput`."""
        return _checked(self._alone.validate_json, text)


def _after_fence(text: str) -> str | None:
    """What follows the line that opens a fence (```` ```json ````); None where no such line begins the text."""
    opening, _, rest = text.partition("\n")
    return rest if opening.rstrip(" \t\r") in (_FENCE, f"{_FENCE}json", f"{_FENCE}JSON") else None


@functools.lru_cache(maxsize=256)
def _kept(output_type: Any, strict: bool) -> _Described:
    return _Described(output_type, strict)


def _described(output_type: Any, strict: bool) -> _Described:
    try:
        hash(output_type)
    except TypeError:
        return _Described(output_type, strict)
    return _kept(output_type, strict)


def root_object(schema: JsonObject) -> JsonObject | None:
    """The schema with an object of its own at the root, or None where the value is no object."""
    if "$ref" in schema:
        definitions = cast("dict[str, JsonObject]", schema["$defs"])
        schema = {**definitions[cast(str, schema["$ref"]).rpartition("/")[2]], "$defs": definitions}
    return schema if schema.get("type") == "object" else None


def _checked(validate_json: Callable[..., object], text: str) -> object:
    from pydantic import ValidationError

    try:
        return validate_json(text, strict=True)
    except ValidationError as error:
        raise InvalidOutput(_message(error)) from None
    except Exception as error:
        raise CallbackError(
            f"a validator of the output type raised {type(error).__name__}, expected a ValueError for what does not fit; "
            "see the chained exception"
        ) from error


def _message(error: ValidationError) -> str:
    if error.errors(include_url=False, include_context=False, include_input=False)[0]["type"] == "json_invalid":
        return "the output is not valid JSON; answer with the JSON object alone, without any words or marks around it"
    return "the JSON does not fit its schema:\n" + list_problems(problems_of(error))


def _name(output_type: object) -> str:
    name = (
        getattr(output_type, "__name__", "") if isinstance(output_type, type) and not _args(output_type) else str(output_type)
    )
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_")[:64] or "output"


def _args(output_type: object) -> object:
    return getattr(output_type, "__args__", None)
