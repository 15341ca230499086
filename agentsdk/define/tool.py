"""`FunctionTool`: what a user declares as a tool, and running its body. `function_tool.py` makes one of a function."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from dataclasses import MISSING, fields
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, Unpack, cast, get_args

import msgspec
from msgspec import UNSET

from agentsdk.core.arguments import parse_arguments
from agentsdk.define.context import ToolContext
from agentsdk.define.strict_schema import NotStrictError, strict_json_schema
from agentsdk.define.tool_body import BoundArguments, JsonBody, OnInvokeTool, StandInBody, ToolBody
from agentsdk.define.tool_guardrail import TOOL_INPUT_GUARDRAILS, TOOL_OUTPUT_GUARDRAILS
from agentsdk.define.tool_options import TIMEOUT, TOOL_RETRY, ToolChanges, ToolFields
from agentsdk.define.tool_timeout import within_timeout
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import (
    CALLABLE,
    FLAG,
    RULE,
    SYNC,
    Expected,
    Fields,
    a_name,
    any_text,
    either,
    is_tool_name,
    json_object,
    one_of,
    optional,
    sequence_of,
    shown,
)
from agentsdk.types.errors import AgentsException, CallbackError, ToolError, UserError
from agentsdk.types.generics import TContext
from agentsdk.types.items import CallKind
from agentsdk.types.permission import PERMISSIONS, Permission
from agentsdk.types.spec import Effect, ToolSpec
from agentsdk.types.text import clean_text, clean_value

if TYPE_CHECKING:
    from agentsdk.define.answer_type import AnswerType

T = TypeVar("T", bound="FunctionTool[Any]")

MAX_ERROR_CHARS = 2_000
"""The most of an error's text that the model is sent."""


class FunctionTool(ToolFields[TContext]):
    """A tool with a Python body. Make one with `@function_tool`, or here from a schema and a callable of your own.

    Frozen: `clone` gives a changed copy. `name` is what the model calls it by. `effect` says what running a call again would
    do. Without `failure_error_function` (None) an error of the body ends the run. `polling` tools (the state of a job, a clock)
    are there to be called again: a run that does so is not taken to be stuck. `tags` are words of yours, by which toolsets
    choose. With `strict_json_schema` the schema is brought into the form that providers enforce, as that of a function is.

    `check` is asked about arguments that fit, before a call begins: the model is told what it says against them. `timeout` is
    in seconds: None for that of its agent or the run, `math.inf` for none at all. Unless its effect is `"once"`, a call that
    fails with a `TransientToolError`, or an error of the classes `transient`, is tried again as `retry` says (None: as its
    agent or the run does).

    Of the calls of a reply those of a `sequential` tool run alone, those on one `resource` one after the other, and those of a
    tool that comes `after` others when all calls of these have ended.

    `permission` is what a run must be granted to call it: None for `"read"` where the effect is `"none"`, else `"write"`.
    Results of an `untrusted` tool may hold what strangers wrote: once the model has read one, calls that take more than
    `"read"` wait for a person, but for those of tools that are `allowed_after_untrusted`.

    With `defer_loading` the model is not told of the tool before it has found it by the provider's own search: see
    `agentsdk.hosted_tools.ToolSearchTool`.

    A tool of another `kind` handles calls of that kind, whose arguments `CallKind` tells; `kind_settings` are what the provider
    is told of it besides.

    A call of an `external` tool runs nothing, so that one needs no `on_invoke_tool`: it waits for `RunState.answer`. Its
    `timeout` is how long; then the `default_answer` is its result, or without one an error.
    Raises `UserError` for a name providers do not take, a timeout that is not positive, an unknown effect, and for options that
    do not go together.
    """

    _CHANGEABLE: ClassVar[frozenset[str]] = ToolChanges.__optional_keys__
    _description: str | None
    _params_json_schema: JsonObject | None
    _body: ToolBody[TContext]
    _spec: ToolSpec | None
    _fingerprint: str | None

    def __post_init__(
        self, description: str, params_json_schema: JsonObject, on_invoke_tool: OnInvokeTool[TContext] | None
    ) -> None:
        if on_invoke_tool is None and self.external is True:
            on_invoke_tool = _no_body
        vars(self).update(  # around what keeps it frozen
            _description=description,
            _params_json_schema=params_json_schema,
            _body=JsonBody(cast("OnInvokeTool[TContext]", on_invoke_tool)),
            _spec=None,
            _fingerprint=None,
        )
        self._check()
        _GIVEN.check_given(
            f"tool {self.name!r}",
            description=description,
            params_json_schema=params_json_schema,
            on_invoke_tool=on_invoke_tool,
        )
        self._make_strict()

    def _check(self) -> None:
        _check_name(self.name)
        _FIELDS.check(self, "tool")
        self._check_external()
        if self.kind != "function":
            _check_kind(self.name, self.kind)

    def _check_external(self) -> None:
        """Raises `UserError` for options of which one leaves another without a meaning."""
        if self.external and self.reconcile is not None:
            raise UserError(
                f"tool {self.name!r} is external and has a reconcile function, expected one of them: a call that waits for its "
                "answer is never in doubt; drop reconcile"
            )
        if self.default_answer is not UNSET and not (self.external and self.timeout is not None):
            raise UserError(
                f"tool {self.name!r} has a default_answer, expected it beside external=True and a timeout: it is the result of "
                "a call that nobody has answered by then; give both, or drop it"
            )

    def _make_strict(self) -> None:
        if self._params_json_schema is not None and self.strict_json_schema:
            vars(self)["_params_json_schema"] = _in_strict_form(self.name, self._params_json_schema)

    def __setattr__(self, field: str, value: object) -> None:
        if field == "__orig_class__":  # which typing would set on what `FunctionTool[User](...)` made
            return
        raise UserError(f"tool {self.name!r} is frozen, so {field!r} cannot be set; use tool.clone({field}=...)")

    def __repr__(self) -> str:
        return f"FunctionTool(name={self.name!r}, effect={self.effect!r})"

    # A checker takes the three for overrides of what `ToolFields` only hands to `__post_init__`.

    @property
    def description(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The description sent to the model."""
        return self._body.description if self._description is None else self._description

    @property
    def params_json_schema(self) -> JsonObject:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The JSON schema of the arguments. Raises `UserError` where the function has none."""
        return self._body.params_json_schema if self._params_json_schema is None else self._params_json_schema

    @property
    def on_invoke_tool(  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]
        self,
    ) -> OnInvokeTool[TContext]:
        """Runs the tool on arguments as JSON text."""
        body = self._body
        return body.invoke if isinstance(body, JsonBody) else self._parse_and_invoke

    @property
    def fingerprint(self) -> str:
        """A digest of what the tool is: its declaration, and its body's source where that can be read."""
        if self._fingerprint is None:
            import hashlib  # 2.4 ms that a program without approvals and stored runs does not pay

            declared = msgspec.to_builtins(self.spec, order="deterministic")
            del declared["polling"], declared["defer_loading"]  # which say nothing of what the tool does
            if self.kind == "function":  # as it was before there were other kinds
                del declared["kind"], declared["kind_settings"]
            encoded = msgspec.json.encode((declared, self._body.code))
            vars(self)["_fingerprint"] = hashlib.sha256(encoded).hexdigest()[:16]
        return cast(str, self._fingerprint)

    @property
    def runs_on_thread(self) -> bool:
        """Whether the body is a sync function, which nothing can stop."""
        return self._body.runs_on_thread

    @property
    def level(self) -> Permission:
        """What a run must be granted to call it: its `permission`, or what follows from its effect."""
        return self.permission or ("read" if self.effect == "none" else "write")

    @property
    def spec(self) -> ToolSpec:
        """The tool as plain data, the same object each time. Raises `UserError` where the function's declaration is wrong."""
        if self._spec is None:
            approval = self.needs_approval
            if self.external:
                _ = self.answer_type, self.default_answer_text
            vars(self)["_spec"] = ToolSpec(
                self.name,
                clean_text(self.description),
                clean_value(self.params_json_schema),
                self.strict_json_schema,
                self.effect,
                approval if isinstance(approval, bool) else None,
                self.polling,
                self.kind,
                self.kind_settings or {},
                self.defer_loading,
            )
        return cast(ToolSpec, self._spec)

    @property
    def answer_type(self) -> AnswerType:
        """What answers to an external tool must be. Raises `UserError` where the function's declaration is wrong."""
        return self._body.answer_type(self.name)

    @property
    def defaults(self) -> Mapping[str, object]:
        """What the parameters of its function are that a call may leave out. Raises `UserError` as `spec` does."""
        return self._body.defaults

    @property
    def default_answer_text(self) -> str:
        """The default answer as JSON text, `""` where there is none. Raises `UserError` for one that does not fit."""
        if self.default_answer is UNSET:
            return ""
        what = f"the default_answer of tool {self.name!r}"
        from agentsdk.core.given_json import json_text  # few tools are external

        text = json_text(what, self.default_answer)
        try:
            self.answer_type.read(text)
        except ValueError as error:
            raise UserError(f"{what} does not fit its result type:\n{error}\ngive one that does") from None
        return text

    def asks(self, arguments: Mapping[str, object]) -> tuple[str, tuple[str, ...]]:
        """What a call of an external tool asks a person, and the answers there are: `""` and none where it asks nobody."""
        return self._body.asks(arguments)

    def clone(self, **changes: Unpack[ToolChanges[TContext]]) -> Self:
        """A copy with some fields replaced. Raises `UserError` for a field there is not."""
        return self._copy(changes, _spec=None, _fingerprint=None)

    def _copy(self, changes: Mapping[str, object], **internal: object) -> Self:
        if unknown := sorted(changes.keys() - self._CHANGEABLE):
            raise UserError(f"tool {self.name!r} has no fields {unknown}, expected some of those that FunctionTool takes")
        twin = object.__new__(type(self))
        stored = {_STORED.get(field, field): value for field, value in changes.items()}
        vars(twin).update(vars(self) | internal | stored)
        twin._check()
        twin._make_strict()
        return twin

    def parse(self, text: str) -> JsonObject:
        """The arguments of a call as a dict. Raises `InvalidArgumentsError` for what is no JSON object."""
        return self._body.parse(text)

    def bind(self, arguments: Mapping[str, object]) -> BoundArguments:
        """These parsed arguments, checked against the schema and the types' own validators, as the body gets them: copies.

        Raises `InvalidArgumentsError` when they do not fit, and whatever a validator raises besides.
        """
        return self._body.bind(self._params_json_schema, arguments)

    async def invoke(self, ctx: ToolContext[TContext], arguments: Mapping[str, object]) -> object:
        """What the body returns for these parsed arguments. Raises as `bind` and `invoke_bound` do, and `UserError` for an
        external tool."""
        if self.external:
            raise _answered_outside(self.name)
        return await self.invoke_bound(ctx, self.bind(arguments))

    async def invoke_bound(self, ctx: ToolContext[TContext], bound: BoundArguments, timeout: float | None = None) -> object:
        """What the body returns for what `bind` gave. `timeout` is in seconds, that of the tool unless given.

        A sync body runs on a thread, with the caller's context variables. Raises `ToolTimeoutError` when `timeout` passed,
        `ToolError` when the body raised `CancelledError` although nobody cancelled it, and whatever else the body raises.
        """
        timeout = self.timeout if timeout is None else timeout
        body = self._body.start(self.name, ctx, bound)
        task = asyncio.current_task()
        cancelling = task.cancelling() if task else 0
        try:
            if timeout is None or timeout == inf:
                return await body
            return await within_timeout(self.name, timeout, body, on_thread=self.runs_on_thread)
        except asyncio.CancelledError as error:
            if task is None or task.cancelling() > cancelling:
                raise
            raise ToolError(f"tool {self.name!r} raised CancelledError although nobody cancelled it") from error

    async def error_text(self, ctx: ToolContext[TContext], error: Exception) -> str:
        """The text that tells the model of `error`, at most `MAX_ERROR_CHARS` long.

        Without a `failure_error_function` raises the error itself, wrapped in `ToolError` when it is none of ours. Raises
        `CallbackError` when that function raises or returns no text.
        """
        describe = self.failure_error_function
        if describe is None:
            if isinstance(error, AgentsException):
                raise error
            raise ToolError(f"tool {self.name!r} raised {type(error).__name__}") from error
        try:
            message = describe(ctx, error)
            text = cast(object, await message if inspect.isawaitable(message) else message)
        except Exception as failure:
            raise CallbackError(f"failure_error_function of tool {self.name!r} raised {type(failure).__name__}") from failure
        if not isinstance(text, str):
            raise CallbackError(
                f"failure_error_function of tool {self.name!r} returned {type(text).__name__!r}, expected a str; return one"
            )
        text = clean_text(text).replace("\0", "\ufffd")
        return text if len(text) <= MAX_ERROR_CHARS else text[: MAX_ERROR_CHARS - 3] + "..."

    async def _parse_and_invoke(self, ctx: ToolContext[TContext], args_json: str) -> object:
        return await self.invoke(ctx, parse_arguments(args_json))


def tool_of(name: str, body: ToolBody[Any], strict: bool, options: Mapping[str, object]) -> FunctionTool[Any]:
    """A tool of a body that has its own description and schema. Raises `UserError` for a wrong name or option."""
    _check_name(name)
    made = object.__new__(FunctionTool)  # in a third of the time that its `__init__` takes
    fields = vars(made)
    fields.update(_DEFAULTS)
    fields["name"], fields["_body"], fields["strict_json_schema"] = name, body, strict
    if options:
        _FIELDS.check_given(f"tool {name!r}", **options)
        fields.update(options)
        made._check_external()  # pyright: ignore[reportPrivateUsage]
        if made.kind != "function":
            _check_kind(name, made.kind)
    return made


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not is_tool_name(name):
        raise UserError(f"a tool is named {shown(name)}, expected 1 to 64 letters, digits, '_' or '-'; give it a name_override")


def _check_kind(name: str, kind: CallKind) -> None:
    if kind == "mcp_approval":
        raise UserError(
            f"tool {name!r} is of kind {kind!r}, expected one that a body handles; declare the server as a HostedMCPTool"
        )
    if kind != "custom" and name != kind:
        raise UserError(f"the tool of kind {kind!r} is named {name!r}, expected {kind!r}; such calls have no other name")


def stand_in(tool: T, body: OnInvokeTool[Any] | None = None, **changes: Unpack[ToolChanges[Any]]) -> T:
    """A changed copy that passes for `tool`: its spec and fingerprint are the tool's, whatever is changed.

    `body` runs in place of the tool's own, and gets the arguments as JSON text once they are checked as the tool checks them.
    """
    kept: dict[str, object] = {"_spec": tool.spec, "_fingerprint": tool.fingerprint}
    if body is not None:
        kept["_body"] = StandInBody(body, tool._body, tool.bind)  # pyright: ignore[reportPrivateUsage]
    return tool._copy(changes, **kept)  # pyright: ignore[reportPrivateUsage]


async def _no_body(ctx: ToolContext[Any], arguments: str) -> object:
    raise _answered_outside(ctx.tool_name)


def _answered_outside(name: str) -> UserError:
    return UserError(
        f"tool {name!r} is answered from outside, so it has no body to run, expected it to be called in a run; answer the call "
        "with state.answer(item, value)"
    )


def recorded_tool(spec: ToolSpec, fingerprint: str) -> FunctionTool[Any]:
    """A tool that stands for a recorded one whose calls have run: it has its spec and fingerprint, and no body."""
    options = {"effect": spec.effect, "polling": spec.polling, "kind": spec.kind}
    tool = tool_of(spec.name, JsonBody(_not_run_again), spec.strict, options)
    vars(tool).update(_spec=spec, _fingerprint=fingerprint)
    return tool


def known_by_spec(tool: T) -> T:
    """The tool under the fingerprint of its spec alone: what a record has of a toolset's tool."""
    twin = tool._copy({}, _spec=tool.spec, _fingerprint=spec_fingerprint(tool.spec))  # pyright: ignore[reportPrivateUsage]
    return twin


def spec_fingerprint(spec: ToolSpec) -> str:
    """A digest of a tool as it was recorded."""
    import hashlib

    return hashlib.sha256(msgspec.json.encode(spec, order="deterministic")).hexdigest()[:16]


async def _not_run_again(context: object, arguments: str) -> object:
    raise UserError("a tool that stands for a recorded one has no body, expected its call to have run; run the tool itself")


def _is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Exception)


_EFFECTS = get_args(Effect)
_KINDS = get_args(CallKind)
DESCRIPTION = any_text("a str; it tells the model what the tool does")
_SCHEMA = json_object("a dict that is a JSON schema; write {'type': 'object', 'properties': {...}}")
_FIELDS = Fields(
    FunctionTool,
    _description=optional(DESCRIPTION),
    _params_json_schema=optional(_SCHEMA),
    strict_json_schema=FLAG,
    is_enabled=RULE,
    needs_approval=RULE,
    tool_input_guardrails=TOOL_INPUT_GUARDRAILS,
    tool_output_guardrails=TOOL_OUTPUT_GUARDRAILS,
    timeout=optional(TIMEOUT),
    effect=one_of(f"one of {_EFFECTS}", _EFFECTS),
    failure_error_function=optional(CALLABLE),
    reconcile=optional(CALLABLE),
    polling=FLAG,
    defer_loading=FLAG,
    external=FLAG,
    tags=sequence_of(a_name("a text that is not empty"), "a list or tuple of texts; write ('billing',)"),
    kind=one_of(f"one of {_KINDS}", _KINDS),
    kind_settings=optional(json_object("a dict that is a JSON object; it goes to the provider with the tool")),
    retry=optional(TOOL_RETRY),
    transient=sequence_of(
        Expected("an exception class; write ConnectionError, say", _is_error),
        "a list or tuple of exception classes; write (ConnectionError,)",
    ),
    check=either(CALLABLE, sequence_of(CALLABLE, ""), what="a callable or a list of them; pass a def"),
    sequential=FLAG,
    after=sequence_of(a_name("the name of a tool"), "a list or tuple of names of tools; write ('write_file',)"),
    resource=optional(either(a_name(""), SYNC, what="a name, or a callable that is not async; write resource='db'")),
    permission=optional(one_of(f"one of {PERMISSIONS}", PERMISSIONS)),
    untrusted=FLAG,
    allowed_after_untrusted=FLAG,
)
_GIVEN = Fields("FunctionTool", description=DESCRIPTION, params_json_schema=_SCHEMA, on_invoke_tool=CALLABLE)
_DEFAULTS: dict[str, object] = {
    "_description": None,
    "_params_json_schema": None,
    "_spec": None,
    "_fingerprint": None,
    **{field.name: field.default for field in fields(ToolFields) if field.default is not MISSING},
}
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
