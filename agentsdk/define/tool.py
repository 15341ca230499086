"""`FunctionTool` and `function_tool`: what a user declares as a tool, and running its body."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, cast, get_args, overload

import msgspec

from agentsdk.core.arguments import parse_arguments
from agentsdk.define.context import RunContextWrapper, ToolContext
from agentsdk.define.docstring import DocstringStyle
from agentsdk.define.json_schema import check_arguments
from agentsdk.define.parameters import local_names, unwrapped
from agentsdk.define.schema import FunctionSchema, function_schema
from agentsdk.define.strict_schema import NotStrictError, strict_json_schema
from agentsdk.define.threads import LeftRunning, run_in_thread, wait_bounded
from agentsdk.define.tool_guardrail import (
    TOOL_INPUT_GUARDRAILS,
    TOOL_OUTPUT_GUARDRAILS,
    ToolInputGuardrail,
    ToolOutputGuardrail,
)
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import (
    CALLABLE,
    FLAG,
    RULE,
    Fields,
    a_tool_name,
    any_text,
    is_tool_name,
    json_object,
    number,
    one_of,
    optional,
    shown,
)
from agentsdk.types.errors import AgentsException, CallbackError, InvalidArgumentsError, ToolError, ToolTimeoutError, UserError
from agentsdk.types.generics import TContext
from agentsdk.types.spec import Effect, ToolSpec
from agentsdk.types.text import clean_text, clean_value, text_of

C = TypeVar("C")
P = ParamSpec("P")

IsEnabled = Callable[[RunContextWrapper[TContext], Any], bool | Awaitable[bool]]
"""Called with the context and the agent: whether the model sees the tool this turn."""

NeedsApproval = Callable[[RunContextWrapper[TContext], dict[str, Any], str], bool | Awaitable[bool]]
"""Called with the context, the parsed arguments and the call's id: whether a person must approve this call."""

FailureErrorFunction = Callable[[ToolContext[TContext], Exception], str | Awaitable[str]]
"""Called with the call's context and what the body raised: the text the model gets as the call's result."""

Reconcile = Callable[[ToolContext[TContext], dict[str, Any]], object]
"""Called with the context and the parsed arguments of a call whose outcome is unknown: the result the call had."""

BoundArguments = tuple[Sequence[object], Mapping[str, object]]
"""Arguments that were checked and laid out for the body: by position, and by name."""

MAX_ERROR_CHARS = 2_000
"""The most of an error's text that the model is sent."""

TIMEOUT_GRACE = 1.0
"""Seconds a body gets to end after its timeout has passed; then it is left behind and the error says so."""

THREAD_GRACE = 0.9 * TIMEOUT_GRACE
"""Of these, the seconds for which a thread is waited for: what a sync body has done by then is its result."""

_stuck: set[asyncio.Future[object]] = set()  # the loop holds its tasks weakly only


def default_tool_error_function(ctx: RunContextWrapper[Any], error: Exception) -> str:
    """What the model is told of an error: its class and message, never a traceback.

    The message of an exception of your own reaches the model as it stands: keep secrets out of it, or give the tool another
    `failure_error_function`.
    """
    if isinstance(error, InvalidArgumentsError):
        return f"The call was not run. Its arguments do not fit the tool:\n{error.reason}"
    if isinstance(error, ToolError):
        return f"Error: {error}"
    told = text_of(error)
    return f"Error while running the tool: {type(error).__name__}" + (f": {told}" if told else "")


class FunctionTool(Generic[TContext]):
    """A tool with a Python body. Make one with `@function_tool`, or here from a schema and a callable of your own.

    Frozen: `clone` gives a changed copy. `name` is what the model calls it by. `timeout` is in seconds. `effect` says what
    running a call again would do. Without `failure_error_function` (None) an error of the body ends the run. `polling` tools
    (the state of a job, a clock) are there to be called again: a run that does so is not taken to be stuck. With
    `strict_json_schema` the schema is brought into the form that providers enforce, as that of a function is.
    Raises `UserError` for a name providers do not take, a timeout that is not positive, or an unknown effect.
    """

    __slots__ = (
        "__weakref__",
        "_description",
        "_fingerprint",
        "_func",
        "_is_async",
        "_on_invoke_tool",
        "_params_json_schema",
        "_read",
        "_schema",
        "_spec",
        "_validate",
        "effect",
        "failure_error_function",
        "is_enabled",
        "name",
        "needs_approval",
        "polling",
        "reconcile",
        "strict_json_schema",
        "timeout",
        "tool_input_guardrails",
        "tool_output_guardrails",
    )
    name: str
    strict_json_schema: bool
    is_enabled: bool | IsEnabled[TContext]
    needs_approval: bool | NeedsApproval[TContext]
    tool_input_guardrails: Sequence[ToolInputGuardrail[TContext]]
    tool_output_guardrails: Sequence[ToolOutputGuardrail[TContext]]
    timeout: float | None
    effect: Effect
    failure_error_function: FailureErrorFunction[TContext] | None
    reconcile: Reconcile[TContext] | None
    polling: bool
    _description: str | None
    _fingerprint: str | None
    _params_json_schema: JsonObject | None
    _on_invoke_tool: Callable[[ToolContext[TContext], str], Awaitable[object]] | None
    _func: Callable[..., object] | None
    _is_async: bool
    _read: Callable[[], FunctionSchema] | None
    _schema: FunctionSchema | None
    _spec: ToolSpec | None
    _validate: Callable[[Mapping[str, object]], object] | None

    def __init__(
        self,
        name: str,
        description: str,
        params_json_schema: JsonObject,
        on_invoke_tool: Callable[[ToolContext[TContext], str], Awaitable[object]],
        strict_json_schema: bool = True,
        is_enabled: bool | IsEnabled[TContext] = True,
        needs_approval: bool | NeedsApproval[TContext] = False,
        tool_input_guardrails: Sequence[ToolInputGuardrail[TContext]] = (),
        tool_output_guardrails: Sequence[ToolOutputGuardrail[TContext]] = (),
        *,
        timeout: float | None = None,
        effect: Effect = "once",
        failure_error_function: FailureErrorFunction[TContext] | None = default_tool_error_function,
        reconcile: Reconcile[TContext] | None = None,
        polling: bool = False,
    ) -> None:
        self._set(
            name=name,
            _description=description,
            _params_json_schema=params_json_schema,
            _on_invoke_tool=on_invoke_tool,
            strict_json_schema=strict_json_schema,
            is_enabled=is_enabled,
            needs_approval=needs_approval,
            tool_input_guardrails=tool_input_guardrails,
            tool_output_guardrails=tool_output_guardrails,
            timeout=timeout,
            effect=effect,
            failure_error_function=failure_error_function,
            reconcile=reconcile,
            polling=polling,
            **_NO_FUNCTION,
        )

    def _set(self, **values: object) -> None:
        for field, value in values.items():
            object.__setattr__(self, field, value)
        name: object = self.name
        if not isinstance(name, str) or not is_tool_name(name):
            raise UserError(
                f"a tool is named {shown(name)}, expected 1 to 64 letters, digits, '_' or '-'; give it a name_override"
            )
        _FIELDS.check(self, f"tool {name!r}")
        if self._read is None:
            _OWN.check_given(
                f"tool {name!r}",
                description=self._description,
                params_json_schema=self._params_json_schema,
                on_invoke_tool=self._on_invoke_tool,
            )
        given = self._params_json_schema
        if given is not None and self.strict_json_schema:
            object.__setattr__(self, "_params_json_schema", _in_strict_form(name, given))

    def __setattr__(self, field: str, value: object) -> None:
        raise UserError(f"tool {self.name!r} is frozen, so {field!r} cannot be set; use tool.clone({field}=...)")

    def __repr__(self) -> str:
        return f"FunctionTool(name={self.name!r}, effect={self.effect!r})"

    @property
    def description(self) -> str:
        """What the model is told of the tool."""
        return self._schema_of_function.description if self._description is None else self._description

    @property
    def params_json_schema(self) -> JsonObject:
        """The JSON schema of the arguments. Raises `UserError` where the function has none."""
        if self._params_json_schema is None:
            return self._schema_of_function.params_json_schema
        return self._params_json_schema

    @property
    def fingerprint(self) -> str:
        """A digest of what the tool is: its declaration, and its body's source where that can be read."""
        if self._fingerprint is None:
            body = self._func or self._on_invoke_tool
            try:
                source = inspect.getsource(cast(Any, body))
            except (OSError, TypeError):
                source = ""
            declared = msgspec.to_builtins(self.spec, order="deterministic")
            del declared["polling"]  # says nothing of what the tool does
            encoded = msgspec.json.encode((declared, source))
            object.__setattr__(self, "_fingerprint", hashlib.sha256(encoded).hexdigest()[:16])
        return cast(str, self._fingerprint)

    @property
    def runs_on_thread(self) -> bool:
        """Whether the body is a sync function, which nothing can stop."""
        return self._func is not None and not self._is_async

    @property
    def on_invoke_tool(self) -> Callable[[ToolContext[TContext], str], Awaitable[object]]:
        """Runs the tool on arguments as JSON text."""
        return self._on_invoke_tool or self._parse_and_invoke

    @property
    def spec(self) -> ToolSpec:
        """The tool as plain data, the same object each time. Raises `UserError` where the function's declaration is wrong."""
        if self._spec is None:
            approval = self.needs_approval
            spec = ToolSpec(
                self.name,
                clean_text(self.description),
                clean_value(self.params_json_schema),
                self.strict_json_schema,
                self.effect,
                approval if isinstance(approval, bool) else None,
                self.polling,
            )
            object.__setattr__(self, "_spec", spec)
            return spec
        return self._spec

    def clone(self, **changes: Any) -> Self:
        """A copy with some fields replaced. Raises `UserError` for a field there is not."""
        slots = [slot for kind in type(self).__mro__ for slot in getattr(kind, "__slots__", ()) if slot != "__weakref__"]
        kept = {slot: getattr(self, slot) for slot in slots}
        changed = {_STORED.get(field, field): value for field, value in changes.items()}
        if unknown := sorted(changed.keys() - kept.keys()):
            raise UserError(f"tool {self.name!r} has no fields {unknown}, expected some of those that FunctionTool takes")
        twin = type(self).__new__(type(self))
        twin._set(**kept | {"_spec": None, "_fingerprint": None} | changed)
        return twin

    def bind(self, arguments: Mapping[str, object]) -> BoundArguments:
        """These parsed arguments, checked against the schema and the types' own validators, as the body gets them: copies.

        Raises `InvalidArgumentsError` when they do not fit, and whatever a validator raises besides.
        """
        if self._func is not None:
            return self._schema_of_function.bind(arguments)
        (check_arguments(self.params_json_schema, arguments) if self._validate is None else self._validate(arguments))
        return (msgspec.json.encode(arguments).decode(),), {}

    async def invoke(self, ctx: ToolContext[TContext], arguments: Mapping[str, object]) -> object:
        """What the body returns for these parsed arguments. Raises as `bind` and `invoke_bound` do."""
        return await self.invoke_bound(ctx, self.bind(arguments))

    async def invoke_bound(self, ctx: ToolContext[TContext], bound: BoundArguments) -> object:
        """What the body returns for what `bind` gave.

        A sync body runs on a thread, with the caller's context variables. Raises `ToolTimeoutError` when `timeout` passed,
        `ToolError` when the body raised `CancelledError` although nobody cancelled it, and whatever else the body raises.
        """
        body = self._body(ctx, bound)
        task = asyncio.current_task()
        cancelling = task.cancelling() if task else 0
        try:
            return await (body if self.timeout is None else within_timeout(self, body))
        except asyncio.CancelledError as error:
            if task is None or task.cancelling() > cancelling:
                raise
            raise ToolError(f"tool {self.name!r} raised CancelledError although nobody cancelled it") from error

    async def error_text(self, ctx: ToolContext[TContext], error: Exception) -> str:
        """The text that tells the model of `error`, at most `MAX_ERROR_CHARS` long.

        Without a `failure_error_function` raises the error itself, wrapped in `ToolError` when it is none of ours. Raises
        `CallbackError` when that function raises or returns no text.
        """
        tell = self.failure_error_function
        if tell is None:
            if isinstance(error, AgentsException):
                raise error
            raise ToolError(f"tool {self.name!r} raised {type(error).__name__}") from error
        try:
            told = tell(ctx, error)
            text = cast(object, await told if inspect.isawaitable(told) else told)
        except Exception as failure:
            raise CallbackError(f"failure_error_function of tool {self.name!r} raised {type(failure).__name__}") from failure
        if not isinstance(text, str):
            raise CallbackError(
                f"failure_error_function of tool {self.name!r} returned {type(text).__name__!r}, expected a str; return one"
            )
        text = clean_text(text).replace("\0", "\ufffd")
        return text if len(text) <= MAX_ERROR_CHARS else text[: MAX_ERROR_CHARS - 3] + "..."

    @property
    def _schema_of_function(self) -> FunctionSchema:
        if self._schema is None:
            assert self._read is not None
            object.__setattr__(self, "_schema", self._read())
        return cast(FunctionSchema, self._schema)

    async def _parse_and_invoke(self, ctx: ToolContext[TContext], args_json: str) -> object:
        return await self.invoke(ctx, parse_arguments(args_json))

    def _body(self, ctx: ToolContext[TContext], bound: BoundArguments) -> Awaitable[object]:
        func = self._func
        args, kwargs = bound
        if func is None:
            assert self._on_invoke_tool is not None
            return self._on_invoke_tool(ctx, cast(str, args[0]))
        if self._schema_of_function.takes_context:
            args = (ctx, *args)
        if self._is_async:
            return cast("Awaitable[object]", func(*args, **kwargs))
        return _threaded(self.name, functools.partial(func, *args, **kwargs), ctx.thread_patience(THREAD_GRACE))


_EFFECTS = get_args(Effect)
_DESCRIPTION = any_text("a str; it tells the model what the tool does")
_SCHEMA = json_object("a dict that is a JSON schema; write {'type': 'object', 'properties': {...}}")
_FIELDS = Fields(
    "FunctionTool",
    _description=optional(_DESCRIPTION),
    _params_json_schema=optional(_SCHEMA),
    strict_json_schema=FLAG,
    is_enabled=RULE,
    needs_approval=RULE,
    tool_input_guardrails=TOOL_INPUT_GUARDRAILS,
    tool_output_guardrails=TOOL_OUTPUT_GUARDRAILS,
    timeout=optional(number("seconds above 0", above=0)),
    effect=one_of(f"one of {_EFFECTS}", _EFFECTS),
    failure_error_function=optional(CALLABLE),
    reconcile=optional(CALLABLE),
    polling=FLAG,
)
_OWN = Fields(
    "FunctionTool",
    description=_DESCRIPTION,
    params_json_schema=_SCHEMA,
    on_invoke_tool=CALLABLE,
)
_OVERRIDES = Fields(
    "function_tool",
    name_override=optional(a_tool_name("a name for the tool")),
    description_override=optional(_DESCRIPTION),
    use_docstring_info=FLAG,
    docstring_style=optional(one_of(f"one of {get_args(DocstringStyle)}", get_args(DocstringStyle))),
    strict_mode=FLAG,
)
_UNREAD: dict[str, object] = {"_schema": None, "_spec": None, "_fingerprint": None}
_NO_FUNCTION: dict[str, object] = {"_func": None, "_is_async": True, "_read": None, "_validate": None, **_UNREAD}
_STORED = {"description": "_description", "params_json_schema": "_params_json_schema"}


def _in_strict_form(name: str, schema: JsonObject) -> JsonObject:
    try:
        if schema.get("type") != "object":
            raise NotStrictError("the arguments are no object")
        return strict_json_schema(schema)
    except NotStrictError as error:
        why = str(error)
    except Exception as error:  # it is no JSON schema: a part of it has another type than such a part has
        why = f"it cannot be read ({type(error).__name__})"
    raise UserError(
        f"tool {name!r} has no strict JSON schema: {why}, expected types whose shape is known; give them one, or declare the "
        "tool with strict_json_schema=False"
    )


async def _threaded(name: str, call: Callable[[], object], patience: Callable[[], float] | None) -> object:
    task = asyncio.current_task()
    cancelling = task.cancelling() if task else 0
    result = await run_in_thread(name, call, patience)
    if not inspect.isawaitable(result):
        return result
    if task is not None and task.cancelling() > cancelling:  # the thread was waited for, what it has returned has not begun
        if inspect.iscoroutine(result):
            result.close()
        raise asyncio.CancelledError
    return await result


async def within_timeout(tool: FunctionTool[Any], body: Awaitable[object]) -> object:
    """The body's result. Raises `ToolTimeoutError` once the timeout passed, also when the body ignores being cancelled.

    A thread cannot be stopped: one that ends soon after all the same has its result.
    """
    assert tool.timeout is not None
    is_thread = tool.runs_on_thread
    task = asyncio.ensure_future(body)
    is_late = False
    try:
        await asyncio.wait({task}, timeout=tool.timeout)
        if task.done():
            return task.result()
        is_late = task.cancel()
        await asyncio.wait({task}, timeout=TIMEOUT_GRACE)
    except asyncio.CancelledError as cancelled:
        await (wait_bounded(task, TIMEOUT_GRACE) if is_late else _cancelled(task))
        if is_thread and task.done() and not task.cancelled():
            return task.result()
        raise ((_cancellation(task) if task.done() else None) or cancelled) from None
    passed = f"tool {tool.name!r} passed its timeout of {tool.timeout:g} seconds"
    if not task.done():
        _stuck.add(task)
        task.add_done_callback(_stuck.discard)
        task.add_done_callback(_cancellation)
        raise ToolTimeoutError(f"{passed}, ignored being cancelled and still runs")
    if is_thread and not task.cancelled():
        return task.result()
    if isinstance(_cancellation(task), LeftRunning):
        raise ToolTimeoutError(f"{passed}; its thread cannot be stopped and still runs")
    raise ToolTimeoutError(f"{passed} and was stopped")


async def _cancelled(task: asyncio.Future[object]) -> None:
    """Pass a cancellation on, every further one too, until the task has ended."""
    task.cancel()
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()


def _cancellation(task: asyncio.Future[object]) -> asyncio.CancelledError | None:
    """What cancelled a task that has ended, if anything; its outcome is marked as taken, so that asyncio does not complain."""
    try:
        task.exception()
    except asyncio.CancelledError as cancelled:
        return cancelled
    return None


class _ToolDecorator(Protocol):
    @overload
    def __call__(self, func: Callable[Concatenate[ToolContext[C], P], object], /) -> FunctionTool[C]: ...
    @overload
    def __call__(self, func: Callable[..., object], /) -> FunctionTool[Any]: ...


@overload
def function_tool(
    func: Callable[Concatenate[ToolContext[C], P], object],
    *,
    name_override: str | None = None,
    description_override: str | None = None,
    use_docstring_info: bool = True,
    docstring_style: DocstringStyle | None = None,
    failure_error_function: FailureErrorFunction[C] | None = default_tool_error_function,
    strict_mode: bool = True,
    is_enabled: bool | IsEnabled[C] = True,
    needs_approval: bool | NeedsApproval[C] = False,
    timeout: float | None = None,
    effect: Effect = "once",
    tool_input_guardrails: Sequence[ToolInputGuardrail[C]] = (),
    tool_output_guardrails: Sequence[ToolOutputGuardrail[C]] = (),
    reconcile: Reconcile[C] | None = None,
    polling: bool = False,
) -> FunctionTool[C]: ...
@overload
def function_tool(
    func: Callable[..., object],
    *,
    name_override: str | None = None,
    description_override: str | None = None,
    use_docstring_info: bool = True,
    docstring_style: DocstringStyle | None = None,
    failure_error_function: FailureErrorFunction[Any] | None = default_tool_error_function,
    strict_mode: bool = True,
    is_enabled: bool | IsEnabled[Any] = True,
    needs_approval: bool | NeedsApproval[Any] = False,
    timeout: float | None = None,
    effect: Effect = "once",
    tool_input_guardrails: Sequence[ToolInputGuardrail[Any]] = (),
    tool_output_guardrails: Sequence[ToolOutputGuardrail[Any]] = (),
    reconcile: Reconcile[Any] | None = None,
    polling: bool = False,
) -> FunctionTool[Any]: ...
@overload
def function_tool(
    func: None = None,
    *,
    name_override: str | None = None,
    description_override: str | None = None,
    use_docstring_info: bool = True,
    docstring_style: DocstringStyle | None = None,
    failure_error_function: FailureErrorFunction[Any] | None = default_tool_error_function,
    strict_mode: bool = True,
    is_enabled: bool | IsEnabled[Any] = True,
    needs_approval: bool | NeedsApproval[Any] = False,
    timeout: float | None = None,
    effect: Effect = "once",
    tool_input_guardrails: Sequence[ToolInputGuardrail[Any]] = (),
    tool_output_guardrails: Sequence[ToolOutputGuardrail[Any]] = (),
    reconcile: Reconcile[Any] | None = None,
    polling: bool = False,
) -> _ToolDecorator: ...
def function_tool(
    func: Callable[..., object] | None = None,
    *,
    name_override: str | None = None,
    description_override: str | None = None,
    use_docstring_info: bool = True,
    docstring_style: DocstringStyle | None = None,
    failure_error_function: FailureErrorFunction[Any] | None = default_tool_error_function,
    strict_mode: bool = True,
    is_enabled: bool | IsEnabled[Any] = True,
    needs_approval: bool | NeedsApproval[Any] = False,
    timeout: float | None = None,
    effect: Effect = "once",
    tool_input_guardrails: Sequence[ToolInputGuardrail[Any]] = (),
    tool_output_guardrails: Sequence[ToolOutputGuardrail[Any]] = (),
    reconcile: Reconcile[Any] | None = None,
    polling: bool = False,
) -> FunctionTool[Any] | _ToolDecorator:
    """Make a function, sync or async, a tool: `@function_tool`, or `@function_tool(timeout=5)`.

    Name, description and arguments come from the function's name, docstring and type hints; a first parameter annotated
    `ToolContext` or `RunContextWrapper` receives the context and is not shown to the model. With `strict_mode` the provider is
    asked to enforce the schema. The rest is described at `FunctionTool`.

    Raises `UserError` at once for what cannot be a tool. Types are read when the tool is first used, so that they may be
    declared further down, and raise `UserError` then, before any request is sent.
    """

    _OVERRIDES.check_given(
        name_override=name_override,
        description_override=description_override,
        use_docstring_info=use_docstring_info,
        docstring_style=docstring_style,
        strict_mode=strict_mode,
    )

    def make(function: Callable[..., object]) -> FunctionTool[Any]:
        own_name = _tool_name(function)
        name = own_name if name_override is None else name_override
        scope = local_names(function, depth)
        tool: FunctionTool[Any] = FunctionTool.__new__(FunctionTool)
        read = functools.partial(
            function_schema,
            function,
            name_override=name,
            use_docstring_info=use_docstring_info,
            docstring_style=docstring_style,
            strict_json_schema=strict_mode,
            scope=scope,
        )
        tool._set(  # pyright: ignore[reportPrivateUsage]
            name=name,
            _description=description_override,
            _params_json_schema=None,
            _on_invoke_tool=None,
            strict_json_schema=strict_mode,
            is_enabled=is_enabled,
            needs_approval=needs_approval,
            tool_input_guardrails=tool_input_guardrails,
            tool_output_guardrails=tool_output_guardrails,
            timeout=timeout,
            effect=effect,
            failure_error_function=failure_error_function,
            reconcile=reconcile,
            polling=polling,
            _func=function,
            _is_async=inspect.iscoroutinefunction(unwrapped(function)),
            _read=read,
            _validate=None,
            **_UNREAD,
        )
        return tool

    # The caller's frame, seen from `local_names`: past `make`, and past this function when it was called with the function.
    depth = 2 if func is None else 3
    return make if func is None else make(func)


tool = function_tool
"""Short for `function_tool`."""


def _tool_name(function: Callable[..., object]) -> str:
    """The name of what can be a tool. Raises `UserError` for what cannot."""
    kind = type(cast(object, function))
    if not callable(cast(object, function)) or issubclass(kind, type | FunctionTool):
        raise UserError(f"function_tool was given a {kind.__name__!r}, expected a function; pass a def or async def")
    inner = unwrapped(function)
    name = kind.__name__ if inner.__name__ == "__call__" else inner.__name__
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        raise UserError(f"tool {name!r} is a generator function, expected one that returns its result; return a list")
    return name
