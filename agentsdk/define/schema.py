"""The JSON schema of a function as a tool, and the validation of its arguments.

Parameters of plain types are handled by `plain_type`; as soon as one needs more (models, dates, constraints), all of them are
handled by one pydantic model, strict in JSON terms either way: a wrong type is reported to the model, never converted.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol, cast

from agentsdk.core.problems import MAX_NAME, list_problems
from agentsdk.define.docstring import DocstringStyle, parse_docstring
from agentsdk.define.parameters import (
    KEYWORD_ONLY,
    MISSING,
    POSITIONAL_ONLY,
    VAR_KEYWORD,
    VAR_POSITIONAL,
    Parameter,
    read_parameters,
    unwrapped,
)
from agentsdk.define.plain_type import PlainType, plain_type
from agentsdk.define.strict_schema import NotStrictError, tidy_json_schema
from agentsdk.define.strict_schema import strict_json_schema as to_strict
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import InvalidArgumentsError, UserError

if TYPE_CHECKING:
    from pydantic import BaseModel

_MAX_CACHED = 1024


class _Check(Protocol):
    """The checked values of what the model gave, by parameter. Raises `InvalidArgumentsError`."""

    def __call__(self, arguments: Mapping[str, object]) -> dict[str, object]: ...


class FunctionSchema:
    """The description and JSON schema of a function, and the binding of a call's arguments to its parameters.

    `takes_context` says whether the function takes the context before all else.
    """

    __slots__ = ("_check", "_in_order", "_parameters", "description", "name", "params_json_schema", "takes_context")

    def __init__(
        self,
        func: Callable[..., object],
        name: str,
        *,
        strict: bool,
        use_docstring: bool,
        style: DocstringStyle | None,
        scope: Mapping[str, object],
    ) -> None:
        self.name = name
        self.description, described = parse_docstring(_docstring(func), style) if use_docstring else ("", {})
        parameters, self.takes_context = read_parameters(func, name, scope)
        self._parameters = parameters
        # By name where the function allows it; in order as soon as one parameter takes no name.
        self._in_order = any(parameter.kind in (POSITIONAL_ONLY, VAR_POSITIONAL, VAR_KEYWORD) for parameter in parameters)
        plain = _plain_fields(parameters)
        if plain is None:
            check = _PydanticCheck(name, parameters)
            self._check: _Check = check
            schema = check.schema
        else:
            self._check = _PlainCheck(plain)
            schema = _plain_schema(plain)
        self.params_json_schema = _finished(schema, name, strict, parameters, described)

    @property
    def text_parameters(self) -> list[str]:
        """The names of the parameters, where all of them are of type str and have no default; none where one is not."""
        texts = [one.name for one in self._parameters if one.annotation is str and one.default is MISSING]
        return texts if len(texts) == len(self._parameters) else []

    @property
    def defaults(self) -> dict[str, object]:
        """What the parameters are that a call may leave out."""
        return {one.name: one.default for one in self._parameters if not one.required}

    def bind(self, arguments: Mapping[str, object]) -> tuple[list[object], dict[str, object]]:
        """The arguments checked and laid out for the call, without the context; every container in them is a new one.

        Raises `InvalidArgumentsError` naming each field that is wrong, missing or unknown, and what was expected.
        """
        values = self._check(arguments)
        return self._laid_out(values) if self._in_order else ([], values)

    def _laid_out(self, values: dict[str, object]) -> tuple[list[object], dict[str, object]]:
        args: list[object] = []
        kwargs: dict[str, object] = {}
        extra: list[object] = []
        for parameter in self._parameters:
            if parameter.kind is VAR_POSITIONAL:
                extra = cast("list[object]", values.get(parameter.name, extra))
        for parameter in self._parameters:
            name = parameter.name
            if parameter.kind is VAR_POSITIONAL:
                args.extend(extra)
            elif parameter.kind is VAR_KEYWORD:
                free = cast("dict[str, object]", values.get(name, {}))
                taken = sorted(free.keys() & {other.name for other in self._parameters if other is not parameter})
                if taken:
                    raise InvalidArgumentsError(list_problems([f"{name}: {taken} are arguments of their own; give them there"]))
                kwargs.update(free)
            elif parameter.kind is POSITIONAL_ONLY or (extra and parameter.kind is not KEYWORD_ONLY):
                # A positional argument before others must be given: its default, where the model left it out.
                args.append(values.get(name, parameter.default))
            elif name in values:
                kwargs[name] = values[name]
        return args, kwargs


def function_schema(
    func: Callable[..., object],
    *,
    name_override: str | None = None,
    use_docstring_info: bool = True,
    docstring_style: DocstringStyle | None = None,
    strict_json_schema: bool = True,
    scope: Mapping[str, object] | None = None,
) -> FunctionSchema:
    """The schema of a function, from its type hints and docstring.

    A first parameter annotated `RunContextWrapper` or `ToolContext` is the context and left out. Kept per function: functions
    made again from the same code with the same annotations and defaults share one. `scope` are names that the function's
    annotations may use besides its globals.

    Raises `UserError` naming function and parameter when an annotation cannot be resolved, has no JSON schema, or has no strict
    one while `strict_json_schema` asks for it.
    """
    name = name_override or unwrapped(func).__name__
    scope = scope or {}
    key = _cache_key(func, (name, use_docstring_info, docstring_style, strict_json_schema), scope)
    if key is not None and (known := _cache.get(key)) is not None:
        return known
    schema = FunctionSchema(
        func, name, strict=strict_json_schema, use_docstring=use_docstring_info, style=docstring_style, scope=scope
    )
    if key is not None:
        if len(_cache) >= _MAX_CACHED:
            _cache.pop(next(iter(_cache)), None)
        _cache[key] = schema
    return schema


_cache: dict[object, FunctionSchema] = {}


class _SameObject:
    """A cache key for an object that has no hash: itself, kept alive so that no other can take its place."""

    __slots__ = ("subject",)

    def __init__(self, subject: object) -> None:
        self.subject = subject

    def __hash__(self) -> int:
        return id(self.subject)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SameObject) and other.subject is self.subject


def _cache_key(func: Callable[..., object], options: object, scope: Mapping[str, object]) -> object:
    """All that the schema depends on, or None where that is not known."""
    inner: Any = getattr(func, "__func__", func)
    if not hasattr(inner, "__code__") or hasattr(inner, "__wrapped__") or hasattr(inner, "__signature__"):
        return None
    annotations = cast("dict[str, object]", inner.__annotations__)
    resolved_in = _SameObject(inner.__globals__) if any(isinstance(given, str) for given in annotations.values()) else None
    defaults = (
        *cast("tuple[object, ...]", inner.__defaults__ or ()),
        *_items(cast("dict[str, object]", inner.__kwdefaults__ or {})),
    )
    key = (
        *(cast(object, inner.__code__), inner is func, cast(object, inner.__doc__), options, resolved_in),
        *(_items(annotations), defaults, repr(defaults), _items(scope)),
    )
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _items(mapping: Mapping[str, object]) -> tuple[tuple[str, object], ...]:
    return tuple(mapping.items())


def _docstring(func: Callable[..., object]) -> str | None:
    inner = unwrapped(func)
    return inner.__doc__ or (type(func).__doc__ if inner is not func and not hasattr(func, "func") else None)


class _PlainField(NamedTuple):
    name: str
    type: PlainType
    required: bool
    default: object


def _plain_fields(parameters: list[Parameter]) -> list[_PlainField] | None:
    fields: list[_PlainField] = []
    for parameter in parameters:
        plain = plain_type(parameter.annotation)
        if plain is None or not _is_json(parameter.default):
            return None
        fields.append(_PlainField(parameter.name, plain, parameter.required, parameter.default))
    return fields


def _is_json(default: object) -> bool:
    if isinstance(default, list):
        return all(map(_is_json, cast("list[object]", default)))
    return (
        default is MISSING or default is None or (isinstance(default, str | int | float) and not isinstance(default, enum.Enum))
    )


def _plain_schema(fields: list[_PlainField]) -> JsonObject:
    properties: JsonObject = {}
    for field in fields:
        schema = field.type.schema()
        if not field.required:
            schema["default"] = field.default
        properties[field.name] = schema
    return {"type": "object", "properties": properties, "required": [field.name for field in fields if field.required]}


class _PlainCheck:
    __slots__ = ("_fields",)

    def __init__(self, fields: list[_PlainField]) -> None:
        self._fields = fields

    def __call__(self, arguments: Mapping[str, object]) -> dict[str, object]:
        problems: list[str] = []
        values: dict[str, object] = {}
        for name, plain, required, _ in self._fields:
            if name in arguments:
                values[name] = plain.check(arguments[name], name, problems)
            elif required:
                problems.append(f"{name}: missing, expected {plain.expected()}")
        if len(values) < len(arguments):
            problems.extend(_unknown(arguments, [field.name for field in self._fields]))
        if problems:
            raise InvalidArgumentsError(list_problems(problems))
        return values


def _unknown(arguments: Mapping[str, object], known: list[str]) -> Iterator[str]:
    for name in arguments:
        if name not in known:
            yield f"{name[:MAX_NAME]}: unknown, expected only {known}"


class _PydanticCheck:
    """One pydantic model for all parameters, its fields f0, f1, ... so that no parameter's name can clash with it."""

    __slots__ = ("_defaults_inside", "_fields", "_names", "_validate", "schema")

    def __init__(self, name: str, parameters: list[Parameter]) -> None:
        from pydantic.fields import FieldInfo

        self._names = [parameter.name for parameter in parameters]
        self._fields = {f"f{position}": parameter.name for position, parameter in enumerate(parameters)}
        self._defaults_inside = {f"f{i}" for i, given in enumerate(parameters) if isinstance(given.default, FieldInfo)}
        model, self.schema = _model(name, parameters)
        self._validate = model.__pydantic_validator__.validate_json

    def __call__(self, arguments: Mapping[str, object]) -> dict[str, object]:
        from pydantic import ValidationError

        from agentsdk.define.problems import problems_of

        unknown = list(_unknown(arguments, self._names))
        try:
            # As JSON once more: only there does pydantic take a date or an enum from its text and yet no number from one.
            model = cast("BaseModel", self._validate(json.dumps(arguments), strict=True))
        except ValidationError as error:
            raise InvalidArgumentsError(list_problems([*problems_of(error), *unknown])) from None
        if unknown:
            raise InvalidArgumentsError(list_problems(unknown))
        # What was left out stays out, so that the function's own default applies, unless a `Field` holds it.
        chosen = model.model_fields_set | self._defaults_inside
        return {name: getattr(model, field) for field, name in self._fields.items() if field in chosen}


def _model(name: str, parameters: list[Parameter]) -> tuple[type[BaseModel], JsonObject]:
    try:
        return _described_model(parameters)
    except Exception as error:
        raise UserError(
            f"parameter {_guilty(parameters)!r} of tool {name!r} has no JSON schema: {_first_line(error)}; expected JSON-like "
            "types, enums, pydantic models, dataclasses or TypedDicts: take one of these and convert it inside"
        ) from error


def _described_model(parameters: list[Parameter]) -> tuple[type[BaseModel], JsonObject]:
    from pydantic import create_model
    from pydantic.json_schema import GenerateJsonSchema

    class Generate(GenerateJsonSchema):
        # A default that is no JSON is left out of the schema.
        ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    declared: dict[str, Any] = {f"f{position}": _declared(given) for position, given in enumerate(parameters)}
    model: type[BaseModel] = create_model("Arguments", **declared)
    return model, model.model_json_schema(schema_generator=Generate)


def _declared(parameter: Parameter) -> tuple[Any, Any]:
    """The parameter as a pydantic field that the model knows by the parameter's name."""
    from pydantic import Field
    from pydantic.fields import FieldInfo

    annotation: Any = Any if parameter.annotation is MISSING else parameter.annotation
    default = parameter.default
    if isinstance(default, FieldInfo):
        return Annotated[annotation, default], Field(alias=parameter.name)
    return annotation, Field(alias=parameter.name) if parameter.required else Field(default, alias=parameter.name)


def _guilty(parameters: list[Parameter]) -> str:
    """The name of the first parameter with which they cannot be described."""
    for position in range(len(parameters) - 1):
        try:
            _described_model(parameters[: position + 1])
        except Exception:
            return parameters[position].name
    return parameters[-1].name


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


_BARE = {
    "self": "make the method of an object a tool, not that of its class: function_tool(thing.method)",
    **dict.fromkeys(("ctx", "context", "wrapper"), "annotate it as ToolContext[...] where it is to be the run's context"),
}
"""What to do about parameters without an annotation that are known by their names."""


def _finished(
    schema: JsonObject, name: str, strict: bool, parameters: list[Parameter], described: dict[str, str]
) -> JsonObject:
    """The schema with descriptions, tidy or strict."""
    properties = cast("dict[str, JsonObject]", schema.setdefault("properties", {}))
    for parameter in parameters:
        description = parameter.note or described.get(parameter.name)
        if description and parameter.name in properties:
            properties[parameter.name].setdefault("description", description)
        if strict and parameter.annotation is MISSING:
            remedy = _BARE.get(parameter.name, "annotate it, or take any value with strict_mode=False")
            raise UserError(f"parameter {parameter.name!r} of tool {name!r} has no annotation, expected a type; {remedy}")
    schema.pop("description", None)
    schema["additionalProperties"] = False
    if not strict:
        return tidy_json_schema(schema)
    try:
        return to_strict(schema)
    except NotStrictError as error:
        raise UserError(
            f"tool {name!r} has no strict JSON schema: {error}, expected types whose shape is known; give them one "
            "(a pydantic model, a TypedDict, list[...]), or declare the tool with strict_mode=False"
        ) from None
