"""`function_schema`: the JSON schema of a function's parameters."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Field, create_model
from pydantic.fields import FieldInfo

from agentsdk.compat.openai_agents.exceptions import ModelBehaviorError, UserError
from agentsdk.compat.openai_agents.run_context import RunContextWrapper
from agentsdk.compat.openai_agents.strict_schema import ensure_strict_json_schema
from agentsdk.define.docstring import parse_docstring

DocstringStyle = Literal["google", "numpy", "sphinx"]


@dataclass
class FuncSchema:
    """A function as a tool: what the model is told of it, and how its arguments are laid out for a call."""

    name: str
    description: str | None
    params_pydantic_model: type[BaseModel]
    params_json_schema: dict[str, Any]
    signature: inspect.Signature
    takes_context: bool = False
    strict_json_schema: bool = True
    return_annotation: Any = inspect.Signature.empty

    @functools.cached_property
    def _by_position(self) -> list[str] | None:
        """The names of the parameters, where all may be given by position, as those of most functions may."""
        parameters = list(self.signature.parameters.values())[int(self.takes_context) :]
        is_plain = all(one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in parameters)
        return [one.name for one in parameters] if is_plain else None

    def to_call_args(self, data: BaseModel) -> tuple[list[Any], dict[str, Any]]:
        """The checked arguments, by position and by name. Raises `ModelBehaviorError` for one that is given twice."""
        values = vars(data)
        if (by_position := self._by_position) is not None:
            return [values.get(name) for name in by_position], {}
        args: list[Any] = []
        named: dict[str, Any] = {}
        behind_args = False
        parameters = list(self.signature.parameters.values())[int(self.takes_context) :]
        for parameter in parameters:
            value = values.get(parameter.name)
            if parameter.kind is parameter.VAR_POSITIONAL:
                args.extend(value or ())
                behind_args = True
            elif parameter.kind is parameter.VAR_KEYWORD:
                taken = {one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)} & (
                    value or {}
                ).keys()
                if taken:
                    raise ModelBehaviorError(
                        f"the call of tool {self.name} gives {', '.join(map(repr, sorted(taken)))} twice: as a parameter, and "
                        f"in {parameter.name!r}; give each once"
                    )
                named.update(value or {})
            elif parameter.kind is parameter.KEYWORD_ONLY or behind_args:
                named[parameter.name] = value
            else:
                args.append(value)
        return args, named


@dataclass
class FuncDocumentation:
    """What a function's docstring says."""

    name: str
    description: str | None
    param_descriptions: dict[str, str] | None


def generate_func_documentation(func: Callable[..., Any], style: DocstringStyle | None = None) -> FuncDocumentation:
    """Read a function's docstring."""
    name = str(getattr(func, "__name__", type(func).__name__))
    description, parameters = parse_docstring(inspect.getdoc(func), style)
    return FuncDocumentation(name, description or None, parameters or None)


def function_schema(
    func: Callable[..., Any],
    docstring_style: DocstringStyle | None = None,
    name_override: str | None = None,
    description_override: str | None = None,
    use_docstring_info: bool = True,
    strict_json_schema: bool = True,
) -> FuncSchema:
    """Read a function's signature, annotations and docstring. Raises `UserError` for one that no schema can be made of."""
    documented = generate_func_documentation(func, docstring_style) if use_docstring_info else None
    described = (documented.param_descriptions if documented is not None else None) or {}
    name = name_override or str(getattr(func, "__name__", type(func).__name__))
    try:
        hints = get_type_hints(func, include_extras=True)
    except (NameError, TypeError):
        hints = get_type_hints(type(func).__call__, include_extras=True) if not hasattr(func, "__name__") else {}
    signature = inspect.signature(func)
    parameters = list(signature.parameters.values())
    takes_context = bool(parameters) and _is_context(hints.get(parameters[0].name, parameters[0].annotation))
    fields: dict[str, Any] = {}
    for parameter in parameters[int(takes_context) :]:
        kind = hints.get(parameter.name, Any if parameter.annotation is parameter.empty else parameter.annotation)
        if _is_context(kind):
            raise UserError(
                f"function {name!r} has its context as parameter {parameter.name!r}, expected it to be the first one; move it"
            )
        fields[parameter.name] = _field(parameter, kind, described.get(parameter.name))
    model = create_model(f"{name}_args", __base__=BaseModel, **fields)
    schema = model.model_json_schema()
    if strict_json_schema:
        schema = ensure_strict_json_schema(schema)
    description = description_override or (documented.description if documented is not None else None)
    return FuncSchema(
        name,
        description,
        model,
        schema,
        signature,
        takes_context,
        strict_json_schema,
        hints.get("return", signature.return_annotation),
    )


def _field(parameter: inspect.Parameter, kind: Any, described: str | None) -> tuple[Any, Any]:
    """The field of a parameter: its type, and its default with a description."""
    bare: Any = kind
    metadata: tuple[Any, ...] = ()
    if get_origin(kind) is Annotated:
        bare, *rest = get_args(kind)
        metadata = tuple(rest)
    text = next((one for one in metadata if isinstance(one, str)), None)
    kept = tuple([one for one in metadata if not isinstance(one, str)])
    said = next((one.description for one in kept if isinstance(one, FieldInfo) and one.description), None)
    description = described or text or said
    if parameter.kind is parameter.VAR_POSITIONAL:
        inner: Any = Any if parameter.annotation is parameter.empty else bare
        if get_origin(inner) is tuple:
            arguments = get_args(inner)
            inner = arguments[0] if len(arguments) == 2 and arguments[1] is Ellipsis else Any
        inner = _annotated(inner, kept)
        return list.__class_getitem__(inner), Field(default_factory=list, description=description)
    if parameter.kind is parameter.VAR_KEYWORD:
        inner = Any if parameter.annotation is parameter.empty else bare
        if get_origin(inner) in (dict, Mapping):
            arguments = get_args(inner)
            return dict.__class_getitem__((arguments[0], arguments[1])), Field(default_factory=dict, description=description)
        return dict.__class_getitem__((str, _annotated(inner, kept))), Field(default_factory=dict, description=description)
    annotated = _annotated(bare, kept)
    default = parameter.default
    if isinstance(default, FieldInfo):
        if default.description is None and description is not None:
            field = copy(default)
            field.description = description
            return annotated, field
        return annotated, default
    if default is parameter.empty:
        given = next((one for one in kept if isinstance(one, FieldInfo) and not one.is_required()), None)
        if given is not None:
            filled = {"default_factory": given.default_factory} if given.default_factory else {"default": given.default}
            return annotated, Field(**cast(Any, filled), description=description)
        if any(isinstance(one, FieldInfo) for one in kept):
            return annotated, (Field(description=description) if description is not None else ...)
        return annotated, Field(..., description=description)
    return annotated, Field(default=default, description=description)


def _annotated(kind: Any, metadata: tuple[Any, ...]) -> Any:
    """A type with what was said of it."""
    annotated: Any = Annotated
    return annotated[(kind, *metadata)] if metadata else kind


def _is_context(kind: Any) -> bool:
    """Whether a parameter of this type is the run's context."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    origin = get_origin(kind) or kind
    if origin in (Union, types.UnionType):
        return False
    return isinstance(origin, type) and issubclass(cast("type[Any]", origin), RunContextWrapper)
