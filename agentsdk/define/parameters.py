"""A function's signature as a tool reads it: parameters with resolved types, and whether the context comes first."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple, cast, get_args, get_origin, get_type_hints

from agentsdk.define.context import RunContextWrapper
from agentsdk.types.errors import UserError

MISSING = inspect.Parameter.empty
POSITIONAL_ONLY = inspect.Parameter.POSITIONAL_ONLY
KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY
VAR_POSITIONAL = inspect.Parameter.VAR_POSITIONAL
VAR_KEYWORD = inspect.Parameter.VAR_KEYWORD


class Parameter(NamedTuple):
    """A parameter the model fills in. `annotation` and `default` are `MISSING` where there is none.

    `*args: T` reads as a list of T, `**kwargs: T` as an object of T; both may be left out.
    """

    name: str
    annotation: object
    default: object
    kind: object

    @property
    def required(self) -> bool:
        """Whether the function cannot be called without it."""
        return self.default is MISSING

    @property
    def note(self) -> str:
        """The text in `Annotated[type, "text"]`, or `""`."""
        if get_origin(self.annotation) is not Annotated:
            return ""
        return next((note for note in get_args(self.annotation)[1:] if isinstance(note, str)), "")


def unwrapped(func: Callable[..., object]) -> Callable[..., object]:
    """The function whose name, docstring and annotations count: past `functools.partial`, and `__call__` of an object."""
    while isinstance(func, functools.partial):
        func = cast("functools.partial[object]", func).func
    return func if hasattr(func, "__name__") else cast("Callable[..., object]", type(func).__call__)


def read_parameters(func: Callable[..., object], name: str, scope: Mapping[str, object]) -> tuple[list[Parameter], bool]:
    """The parameters the model fills in, and whether the function takes the context before them.

    `scope` are names that annotations may use besides the function's globals. Raises `UserError` naming the tool for an
    annotation that cannot be resolved, and for a context that is not the first parameter.
    """
    hints = _hints(func, name, scope)
    try:
        signature = inspect.signature(func)
    except Exception as error:  # a builtin, or an object that raises when it is looked at
        raise UserError(f"tool {name!r} has no signature to read, expected a Python function; wrap it in one") from error
    parameters: list[Parameter] = []
    takes_context = False
    for position, parameter in enumerate(signature.parameters.values()):
        annotation = hints.get(parameter.name, MISSING)
        if _is_context(annotation):
            if position > 0 or parameter.kind in (KEYWORD_ONLY, VAR_POSITIONAL, VAR_KEYWORD):
                raise UserError(
                    f"tool {name!r} takes its context as parameter {parameter.name!r}, expected it as the first positional "
                    "one; move it there"
                )
            takes_context = True
            continue
        default: object = parameter.default
        if parameter.kind is VAR_POSITIONAL:
            annotation, default = list[_or_any(annotation)], []  # type: ignore[misc]
        elif parameter.kind is VAR_KEYWORD:
            annotation, default = dict[str, _or_any(annotation)], {}  # type: ignore[misc]
        parameters.append(Parameter(parameter.name, annotation, default, parameter.kind))
    return parameters, takes_context


def read_return_type(func: Callable[..., object], name: str, scope: Mapping[str, object]) -> object:
    """The annotation of a function's result, resolved as `read_parameters` resolves the others; `MISSING` where there is none.

    Raises `UserError` naming the tool for one that cannot be.
    """
    return _hints(func, name, scope, of_result=True).get("return", MISSING)


def local_names(func: object, depth: int) -> dict[str, object]:
    """The names that the text annotations of a function defined inside another one may mean, found `depth` frames up."""
    if "<locals>" not in getattr(func, "__qualname__", ""):
        return {}
    annotations = cast("dict[str, object]", getattr(func, "__annotations__", {}))
    texts = " ".join(given for given in annotations.values() if isinstance(given, str))
    if not texts:
        return {}
    known = sys._getframe(depth).f_locals  # pyright: ignore[reportPrivateUsage]
    return {word: known[word] for word in _WORD.findall(texts) if word in known}


_WORD = re.compile(r"[^\W\d]\w*")


def _or_any(annotation: object) -> Any:
    return Any if annotation is MISSING else annotation


def _is_context(annotation: object) -> bool:
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    origin = get_origin(annotation) or annotation
    return isinstance(origin, type) and issubclass(origin, RunContextWrapper)


def _hints(
    func: Callable[..., object], name: str, scope: Mapping[str, object], *, of_result: bool = False
) -> dict[str, object]:
    target = inspect.unwrap(unwrapped(func))
    annotations = cast("dict[str, object]", getattr(target, "__annotations__", {}))
    given = {key: annotation for key, annotation in annotations.items() if (key == "return") == of_result}
    if all(isinstance(annotation, type) for annotation in given.values()):
        return given
    enclosing: Mapping[str, object] = inspect.getclosurevars(target).nonlocals if inspect.isfunction(target) else {}
    try:
        return cast(
            "dict[str, object]",
            get_type_hints(_Annotated(target, given), None, {**enclosing, **scope}, include_extras=True),
        )
    except Exception as error:
        unknown = f" {error.name!r}" if isinstance(error, NameError) and error.name else ""
        where = next((key for key, text in given.items() if isinstance(text, str) and (unknown.strip(" '") or "?") in text), "")
        place = " of its result" if of_result else f" at parameter {where!r}" if where else ""
        raise UserError(
            f"tool {name!r} has an annotation{unknown}{place} that cannot be resolved "
            f"({type(error).__name__}), expected types known where the function is defined; import them there, outside "
            "`if TYPE_CHECKING:`"
        ) from error


class _Annotated:
    """Some of a function's annotations: those of its parameters, or that of its result, which few tools need resolved."""

    def __init__(self, target: object, annotations: dict[str, object]) -> None:
        self.__annotations__ = annotations
        self.__globals__: object = getattr(target, "__globals__", {})
