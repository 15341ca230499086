"""What a tool runs: a function, on arguments bound to its parameters, or a callable that takes them as JSON text."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, cast

import msgspec

from agentsdk.core.arguments import parse_arguments
from agentsdk.define.context import ToolContext
from agentsdk.define.parameters import read_return_type, unwrapped
from agentsdk.define.schema import FunctionSchema
from agentsdk.define.threads import run_in_thread
from agentsdk.define.tool_timeout import THREAD_GRACE
from agentsdk.types.base import JsonObject
from agentsdk.types.generics import TContext

if TYPE_CHECKING:
    from agentsdk.define.answer_type import AnswerType

OnInvokeTool = Callable[[ToolContext[TContext], str], Awaitable[object]]
"""Called with the context and the arguments as JSON text: the result."""

BoundArguments = tuple[Sequence[object], Mapping[str, object]]
"""Arguments that were checked and laid out for the body: by position, and by name."""


class ToolBody(Generic[TContext]):
    """What a tool runs, and how it takes its arguments. Copies of a tool share it.

    `source` is the callable whose code says what the tool does. `runs_on_thread`: it is a sync function, nothing can stop it.
    """

    __slots__ = ("runs_on_thread", "source")

    def __init__(self, source: Callable[..., object], *, runs_on_thread: bool = False) -> None:
        self.source = source
        self.runs_on_thread = runs_on_thread

    @property
    def description(self) -> str:
        """The description sent to the model, for a tool that was given none."""
        raise NotImplementedError

    @property
    def params_json_schema(self) -> JsonObject:
        """The JSON schema of the arguments of a tool that was given none."""
        raise NotImplementedError

    @property
    def code(self) -> str:
        """What decides, besides the declaration, what the tool does: an approval is bound to it. By default the source of the
        callable, `""` where that cannot be read."""
        try:
            return inspect.getsource(self.source)
        except (OSError, TypeError):
            return ""

    def parse(self, text: str) -> JsonObject:
        """The arguments of a call as a dict. Raises `InvalidArgumentsError` for what is no JSON object."""
        return parse_arguments(text)

    def bind(self, given: JsonObject | None, arguments: Mapping[str, object]) -> BoundArguments:
        """These parsed arguments as `start` takes them, checked; `given` is the JSON schema that the tool was given.

        Raises `InvalidArgumentsError`.
        """
        raise NotImplementedError

    def start(self, name: str, ctx: ToolContext[TContext], bound: BoundArguments) -> Awaitable[object]:
        """Run it on these arguments, for the tool of this name."""
        raise NotImplementedError

    def answer_type(self, name: str) -> AnswerType:
        """What answers to the tool of this name must be, where it is external. Raises `UserError` for a wrong declaration."""
        from agentsdk.define.answer_type import ANY_ANSWER  # few tools are external

        return ANY_ANSWER

    def asks(self, arguments: Mapping[str, object]) -> tuple[str, tuple[str, ...]]:
        """What a call of an external tool asks a person, and the answers there are: `""` and none where it asks nobody."""
        return "", ()

    @property
    def defaults(self) -> Mapping[str, object]:
        """What the parameters are that a call may leave out although the schema requires them."""
        return {}


class JsonBody(ToolBody[TContext]):
    """A callable that takes the arguments as JSON text; `check`, where given, checks them in place of the tool's schema."""

    __slots__ = ("_check", "invoke")

    def __init__(self, invoke: OnInvokeTool[TContext], check: Callable[[Mapping[str, object]], object] | None = None) -> None:
        super().__init__(invoke)
        self.invoke = invoke
        self._check = check

    def bind(self, given: JsonObject | None, arguments: Mapping[str, object]) -> BoundArguments:
        if self._check is not None:
            self._check(arguments)
        elif given is not None:
            from agentsdk.core.json_schema import check_arguments  # the schema is not ours: few tools are like that

            check_arguments(given, arguments)
        return (msgspec.json.encode(arguments).decode(),), {}

    def start(self, name: str, ctx: ToolContext[TContext], bound: BoundArguments) -> Awaitable[object]:
        return self.invoke(ctx, cast(str, bound[0][0]))


class StandInBody(JsonBody[TContext]):
    """A callable that takes the arguments as JSON text in place of the body `of` a tool, which is described as before."""

    __slots__ = ("_of",)

    def __init__(
        self, invoke: OnInvokeTool[TContext], of: ToolBody[TContext], check: Callable[[Mapping[str, object]], object]
    ) -> None:
        super().__init__(invoke, check)
        self._of = of

    def answer_type(self, name: str) -> AnswerType:
        return self._of.answer_type(name)

    @property
    def defaults(self) -> Mapping[str, object]:
        return self._of.defaults


class FunctionBody(ToolBody[TContext]):
    """A function. `read` reads its schema, when it is first needed: types may be declared further down than the function.

    `scope` are names that its annotations may use besides its globals.
    """

    __slots__ = ("_answer_type", "_description", "_read", "_schema", "_scope")

    def __init__(
        self,
        func: Callable[..., object],
        read: Callable[[], FunctionSchema],
        description: str | None,
        scope: Mapping[str, object],
    ) -> None:
        super().__init__(func, runs_on_thread=not inspect.iscoroutinefunction(unwrapped(func)))
        self._read = read
        self._schema: FunctionSchema | None = None
        self._description = description
        self._scope = scope
        self._answer_type: AnswerType | None = None

    @property
    def description(self) -> str:
        """The description sent to the model: by default the docstring's. Raises `UserError` for a wrong declaration."""
        return self._known.description if self._description is None else self._description

    @property
    def params_json_schema(self) -> JsonObject:
        """The JSON schema of the parameters. Raises `UserError` for a wrong declaration."""
        return self._known.params_json_schema

    def bind(self, given: JsonObject | None, arguments: Mapping[str, object]) -> BoundArguments:
        return self._known.bind(arguments)

    def start(self, name: str, ctx: ToolContext[TContext], bound: BoundArguments) -> Awaitable[object]:
        args, kwargs = bound
        if self._known.takes_context:
            args = (ctx, *args)
        if not self.runs_on_thread:
            return cast("Awaitable[object]", self.source(*args, **kwargs))
        return _threaded(name, functools.partial(self.source, *args, **kwargs), ctx.thread_patience(THREAD_GRACE))

    def answer_type(self, name: str) -> AnswerType:
        if self._answer_type is None:
            from agentsdk.define.answer_type import AnswerType

            self._answer_type = AnswerType(name, read_return_type(self.source, name, self._scope))
        return self._answer_type

    @property
    def defaults(self) -> Mapping[str, object]:
        return self._known.defaults

    @property
    def _known(self) -> FunctionSchema:
        if self._schema is None:
            self._schema = self._read()
        return self._schema


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
