"""Declaring tools, and running their bodies."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import gc
import inspect
import subprocess
import sys
import textwrap
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from agentsdk import Agent
from agentsdk.define import threads, tool_timeout
from agentsdk.define.context import RunContextWrapper, ToolContext
from agentsdk.define.function_tool import function_tool, tool
from agentsdk.define.threads import abandoned_tools
from agentsdk.define.tool import MAX_ERROR_CHARS, FunctionTool, stand_in
from agentsdk.define.tool_options import default_tool_error_function
from agentsdk.types.errors import AgentsException, CallbackError, InvalidArgumentsError, ToolError, ToolTimeoutError, UserError

CTX: ToolContext[Any] = ToolContext(None, tool_name="it", tool_call_id="call_1")
color: contextvars.ContextVar[str] = contextvars.ContextVar("color", default="none")


@function_tool
async def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@function_tool
def greet(name: str) -> str:
    return f"Hello {name}"


@function_tool(name_override="who", description_override="Who asks", timeout=5, effect="none", needs_approval=True)
def with_context(ctx: RunContextWrapper[str], loud: bool) -> str:
    """Not shown."""
    return ctx.context.upper() if loud else ctx.context


# Declaring


def test_the_spec_is_the_declaration_as_plain_data() -> None:
    spec = add.spec
    assert (spec.name, spec.description, spec.strict, spec.effect, spec.needs_approval) == (
        "add",
        "Add two numbers.",
        True,
        "once",
        False,
    )
    assert spec.parameters["required"] == ["a", "b"]
    assert add.spec is spec
    spec = with_context.spec
    assert (spec.name, spec.description, spec.effect, spec.needs_approval) == ("who", "Who asks", "none", True)
    assert list(spec.parameters["properties"]) == ["loud"]  # type: ignore[call-overload]
    assert add.clone(needs_approval=lambda *_: True).spec.needs_approval is None


def test_tool_is_short_for_function_tool() -> None:
    assert tool is function_tool


def test_a_polling_tool_says_so_and_stays_the_tool_that_was_approved() -> None:
    @function_tool(polling=True)
    def state_of_job() -> str:
        return "running"

    assert state_of_job.spec.polling
    polled = add.clone(polling=True)
    assert add.clone(defer_loading=True).fingerprint == add.fingerprint
    assert (add.spec.polling, polled.spec.polling) == (False, True)
    assert polled.fingerprint == add.fingerprint != add.clone(effect="none").fingerprint


def test_every_option_is_shown_by_name_with_its_default() -> None:
    shown = inspect.signature(function_tool).parameters
    fields = inspect.signature(FunctionTool).parameters
    options = fields.keys() - {"name", "description", "params_json_schema", "on_invoke_tool", "strict_json_schema"}
    assert {name: shown[name].default for name in options} == {name: fields[name].default for name in options}
    own = {"func", "name_override", "description_override", "use_docstring_info", "docstring_style", "strict_mode"}
    assert shown.keys() == options | own
    for_agents = inspect.signature(Agent.as_tool).parameters.keys()
    own_body = {"effect", "reconcile", "polling", "external", "default_answer", "kind", "kind_settings", "retry", "transient"}
    assert options - for_agents == own_body
    with pytest.raises(TypeError, match="unexpected keyword argument 'time_out'"):
        function_tool(abs, time_out=5)  # type: ignore[call-overload]


def test_a_tool_of_a_context_can_be_made_by_its_class() -> None:
    made = FunctionTool[int]("own", "", {}, no_body, strict_json_schema=False)
    assert made.spec.name == "own"


def test_a_tool_is_frozen_and_clones() -> None:
    with pytest.raises(UserError, match=r"tool 'add' is frozen, so 'timeout' cannot be set; use tool.clone\(timeout=...\)"):
        add.timeout = 1
    approved = add.clone(needs_approval=True, name="plus", description="Plus")
    assert (approved.spec.name, approved.spec.description, approved.spec.needs_approval) == ("plus", "Plus", True)
    assert add.spec.needs_approval is False
    assert asyncio.run(approved.invoke(CTX, {"a": 1})) == 2
    with pytest.raises(UserError, match=r"tool 'add' has no fields \['colour'\]"):
        add.clone(colour=1)
    with pytest.raises(UserError, match="effect='twice'"):
        add.clone(effect="twice")
    with pytest.raises(UserError, match="tool 'abs' has effect='twice'"):
        function_tool(abs, effect="twice")  # type: ignore[call-overload]


@pytest.mark.anyio
async def test_a_stand_in_passes_for_its_tool() -> None:
    async def other(ctx: ToolContext[Any], arguments: str) -> str:
        return f"not run: {arguments}"

    double = stand_in(with_context, other, timeout=None, needs_approval=False)
    assert (double.spec, double.fingerprint) == (with_context.spec, with_context.fingerprint)
    assert (double.timeout, double.needs_approval, double.runs_on_thread) == (None, False, False)
    assert await double.invoke(CTX, {"loud": True}) == 'not run: {"loud":true}'
    with pytest.raises(InvalidArgumentsError, match="loud: expected true or false"):
        double.bind({"loud": 1})
    same = stand_in(add, polling=True)
    assert (same.polling, same.spec.polling) == (True, False)
    assert await same.invoke(CTX, {"a": 1}) == 2


def test_a_tool_of_ones_own() -> None:
    seen: list[str] = []

    async def run(ctx: ToolContext[int], arguments: str) -> str:
        seen.append(arguments)
        return f"{ctx.context}"

    schema = {"type": "object", "properties": {"é": {"type": "array"}}, "additionalProperties": False}
    mine = FunctionTool("mine", "Mine", schema, run, strict_json_schema=False, timeout=5)
    assert (mine.spec.name, mine.spec.description, mine.spec.parameters, mine.spec.strict) == ("mine", "Mine", schema, False)
    assert asyncio.run(mine.invoke(ToolContext(7), {"é": [1]})) == "7"
    assert seen == ['{"é":[1]}']
    assert mine.on_invoke_tool is run
    assert repr(mine) == "FunctionTool(name='mine', effect='once')"


@pytest.mark.parametrize("name", ["", "two words", "<lambda>", "a.b", "x" * 65, "ü"])
def test_names_providers_refuse_are_refused_here(name: str) -> None:
    with pytest.raises(UserError, match="expected 1 to 64 letters"):
        add.clone(name=name)


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(UserError, match=r"'<lambda>'.*name_override"):
        function_tool(lambda: 1)
    assert function_tool(lambda: 1, name_override="one").name == "one"


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_timeouts_are_positive(timeout: float) -> None:
    with pytest.raises(UserError, match="timeout="):
        add.clone(timeout=timeout)


def test_what_cannot_be_a_tool_is_refused_at_once() -> None:
    def parts() -> Any:
        yield 1

    async def aparts() -> Any:
        yield 1

    wrong: list[Any] = [1, "x", add, int, BaseModel]
    for given in wrong:
        with pytest.raises(UserError, match="expected a function"):
            function_tool(given)
    for generator in (parts, aparts):
        with pytest.raises(UserError, match="is a generator function"):
            function_tool(generator)


def test_a_wrong_type_is_told_when_the_tool_is_first_used() -> None:
    @function_tool
    def odd(x: threading.Event) -> None: ...

    with pytest.raises(UserError, match="parameter 'x' of tool 'odd'"):
        _ = odd.spec
    with pytest.raises(UserError, match="parameter 'x' of tool 'odd'"):
        asyncio.run(odd.invoke(CTX, {}))


def test_types_declared_further_down_and_local_types_are_found() -> None:
    class Local(BaseModel):
        n: int

    @function_tool
    def direct(x: Local) -> int:
        return x.n

    @function_tool()
    def called(x: Local) -> int:
        return x.n

    @function_tool
    def later(x: Later) -> int:
        return x.n

    for made in (direct, called, later):
        assert asyncio.run(made.invoke(CTX, {"x": {"n": 3}})) == 3


class Later(BaseModel):
    n: int


def test_methods_partials_and_callable_objects() -> None:
    class Shop:
        """A shop."""

        def buy(self, x: int) -> str:
            """Buy it."""
            return f"{type(self).__name__} {x}"

        async def __call__(self, x: int) -> int:
            return x

    def power(base: int, exponent: int) -> int:
        return int(base**exponent)

    shop = Shop()
    bought, called, square = function_tool(shop.buy), function_tool(shop), function_tool(functools.partial(power, exponent=2))
    assert (bought.spec.description, called.name, square.name) == ("Buy it.", "Shop", "power")
    assert called.spec.description == "A shop."
    assert asyncio.run(bought.invoke(CTX, {"x": 1})) == "Shop 1"
    assert asyncio.run(called.invoke(CTX, {"x": 1})) == 1
    assert asyncio.run(square.invoke(CTX, {"base": 3})) == 9


# Running


@pytest.mark.anyio
async def test_async_and_sync_bodies() -> None:
    assert await add.invoke(CTX, {"a": 1, "b": 2}) == 3
    assert await greet.invoke(CTX, {"name": "Ada"}) == "Hello Ada"
    assert await with_context.invoke(ToolContext("me"), {"loud": True}) == "ME"
    assert await add.on_invoke_tool(CTX, '{"a":1}') == 2
    with pytest.raises(InvalidArgumentsError, match="twice"):
        await add.on_invoke_tool(CTX, '{"a":1,"a":2}')


@pytest.mark.anyio
@pytest.mark.parametrize("made", [add, add.clone(timeout=5)])
async def test_arguments_that_do_not_fit_never_reach_the_body(made: FunctionTool[Any]) -> None:
    with pytest.raises(InvalidArgumentsError) as caught:
        await made.invoke(CTX, {"a": "1", "c": 2})
    assert await made.error_text(CTX, caught.value) == (
        "The call was not run. Its arguments do not fit the tool:\n"
        "- a: expected an integer, got a string of 1 characters\n"
        "- c: unknown, expected only ['a', 'b']"
    )


@pytest.mark.anyio
async def test_a_body_cannot_change_the_arguments() -> None:
    @function_tool
    def sort(rows: list[list[int]]) -> list[list[int]]:
        rows[0].sort()
        rows.append([])
        return rows

    arguments: dict[str, object] = {"rows": [[2, 1]]}
    assert await sort.invoke(CTX, arguments) == [[1, 2], []]
    assert arguments == {"rows": [[2, 1]]}


@pytest.mark.anyio
async def test_a_sync_body_runs_on_a_thread_in_the_callers_context() -> None:
    @function_tool
    def where() -> tuple[bool, str]:
        return threading.get_ident() == main, color.get()

    main = threading.get_ident()
    color.set("red")
    assert await where.invoke(CTX, {}) == (False, "red")
    assert await where.clone(timeout=5).invoke(CTX, {}) == (False, "red")


@pytest.mark.anyio
async def test_an_awaitable_returned_by_a_sync_body_is_awaited() -> None:
    @function_tool
    def later() -> Any:
        return asyncio.sleep(0, "slept")

    assert await later.invoke(CTX, {}) == "slept"


@pytest.mark.anyio
@pytest.mark.parametrize("timeout", [None, 5.0])
async def test_errors_of_the_body_pass_through(timeout: float | None) -> None:
    error = TimeoutError("mine")

    @function_tool
    async def fail() -> None:
        raise error

    @function_tool
    def fail_sync() -> None:
        raise error

    for made in (fail, fail_sync):
        with pytest.raises(TimeoutError) as caught:
            await made.clone(timeout=timeout).invoke(CTX, {})
        assert caught.value is error


@pytest.mark.anyio
@pytest.mark.parametrize("timeout", [None, 5.0])
async def test_a_body_that_raises_cancelled_error_itself_is_a_tool_error(timeout: float | None) -> None:
    @function_tool
    async def fail() -> None:
        raise asyncio.CancelledError

    @function_tool
    def fail_sync() -> None:
        raise asyncio.CancelledError

    for made in (fail, fail_sync):
        with pytest.raises(ToolError, match="raised CancelledError although nobody cancelled it"):
            await made.clone(timeout=timeout).invoke(CTX, {})


@pytest.mark.anyio
@pytest.mark.parametrize("timeout", [None, 50.0])
async def test_a_cancelled_caller_stays_cancelled(timeout: float | None) -> None:
    begun = asyncio.Event()
    ended: list[str] = []

    @function_tool
    async def wait() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("cleaned up")

    task = asyncio.create_task(wait.clone(timeout=timeout).invoke(CTX, {}))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()
    assert ended == ["cleaned up"]


@pytest.mark.anyio
async def test_a_body_that_swallows_a_cancellation_is_cancelled_again_with_its_caller() -> None:
    begun = asyncio.Event()
    swallowed: list[int] = []

    @function_tool(timeout=50)
    async def stubborn() -> str:
        begun.set()
        for attempt in range(2):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                swallowed.append(attempt)
        return "late"

    task = asyncio.create_task(stubborn.invoke(CTX, {}))
    await begun.wait()
    for count in (1, 2):
        task.cancel()
        while len(swallowed) < count:  # noqa: ASYNC110
            await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task


# Timeouts


@pytest.mark.anyio
async def test_an_async_body_is_stopped_at_its_timeout() -> None:
    ended: list[str] = []

    @function_tool(timeout=0.01)
    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("stopped")

    with pytest.raises(ToolTimeoutError, match=r"tool 'slow' passed its timeout of 0.01 seconds and was stopped"):
        await slow.invoke(CTX, {})
    assert ended == ["stopped"]


@pytest.mark.anyio
async def test_an_error_while_being_stopped_is_still_a_timeout() -> None:
    @function_tool(timeout=0.01)
    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("while cleaning up")

    with pytest.raises(ToolTimeoutError):
        await slow.invoke(CTX, {})


@pytest.mark.anyio
@pytest.mark.leaves_tasks
async def test_a_body_that_ignores_being_stopped_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_timeout, "TIMEOUT_GRACE", 0.01)
    release, over = asyncio.Event(), asyncio.Event()

    @function_tool(timeout=0.01)
    async def stuck() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                pass
        over.set()
        raise ValueError("nobody asks")

    with pytest.raises(ToolTimeoutError, match="ignored being cancelled and still runs"):
        await stuck.invoke(CTX, {})
    gc.collect()
    release.set()
    await over.wait()
    while tool_timeout._stuck:  # noqa: ASYNC110
        await asyncio.sleep(0)


@pytest.mark.anyio
async def test_a_thread_that_outlives_its_timeout_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_pool", threads._Pool())
    release = threading.Event()

    @function_tool(timeout=0.01)
    def slow() -> None:
        release.wait()

    try:
        with pytest.raises(ToolTimeoutError, match="its thread cannot be stopped and still runs"):
            await slow.invoke(CTX, {})
        assert abandoned_tools() == ("slow",)
    finally:
        release.set()
    while abandoned_tools():  # noqa: ASYNC110
        await asyncio.sleep(0.001)


# Errors told to the model


@pytest.mark.anyio
async def test_the_default_tells_class_and_message() -> None:
    assert await add.error_text(CTX, ValueError("no such city")) == "Error while running the tool: ValueError: no such city"
    assert await add.error_text(CTX, KeyError()) == "Error while running the tool: KeyError"
    assert (
        await add.error_text(CTX, ToolTimeoutError("tool 'add' passed its timeout")) == "Error: tool 'add' passed its timeout"
    )
    assert default_tool_error_function(CTX, ValueError("x")) == "Error while running the tool: ValueError: x"


@pytest.mark.anyio
async def test_the_text_is_cleaned_and_cut() -> None:
    assert await add.error_text(CTX, ValueError("a\ud800\0b")) == "Error while running the tool: ValueError: a\ufffd\ufffdb"
    text = await add.error_text(CTX, ValueError("x" * 10_000))
    assert len(text) == MAX_ERROR_CHARS
    assert text.endswith("...")


@pytest.mark.anyio
async def test_an_error_whose_message_cannot_be_read_is_told_by_its_class() -> None:
    class Unreadable(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    assert await add.error_text(CTX, Unreadable()) == "Error while running the tool: Unreadable"


@pytest.mark.anyio
async def test_an_error_function_of_ones_own() -> None:
    async def tell(ctx: RunContextWrapper[Any], error: Exception) -> str:
        return f"{type(error).__name__} for {ctx.context}"

    assert (
        await add.clone(failure_error_function=tell).error_text(ToolContext("me"), ValueError("secret")) == "ValueError for me"
    )
    assert await add.clone(failure_error_function=lambda ctx, error: "oh").error_text(CTX, ValueError()) == "oh"


@pytest.mark.anyio
async def test_an_error_function_that_fails_is_a_callback_error() -> None:
    def broken(ctx: object, error: Exception) -> str:
        raise KeyError("x")

    with pytest.raises(CallbackError, match="failure_error_function of tool 'add' raised KeyError"):
        await add.clone(failure_error_function=broken).error_text(CTX, ValueError())
    with pytest.raises(CallbackError, match="returned 'NoneType', expected a str"):
        await add.clone(failure_error_function=lambda ctx, error: None).error_text(CTX, ValueError())


@pytest.mark.anyio
async def test_without_an_error_function_the_error_ends_the_run() -> None:
    strict = add.clone(failure_error_function=None)
    with pytest.raises(ToolError, match="tool 'add' raised ValueError") as caught:
        await strict.error_text(CTX, ValueError("sk-secret"))
    assert isinstance(caught.value.__cause__, ValueError)
    assert "secret" not in str(caught.value)
    ours: list[AgentsException] = [InvalidArgumentsError("x"), ToolTimeoutError("y")]
    for error in ours:
        with pytest.raises(type(error)) as raised:
            await strict.error_text(CTX, error)
        assert raised.value is error


# Cost


def test_nothing_holds_a_tool_or_its_call() -> None:
    class Big: ...

    def make() -> tuple[weakref.ref[Any], weakref.ref[Any]]:
        big = Big()

        @function_tool
        def body(x: int) -> int:
            assert big
            return x

        asyncio.run(body.invoke(CTX, {"x": 1}))
        return weakref.ref(body), weakref.ref(big)

    held = make()
    gc.collect()
    assert [ref() for ref in held] == [None, None]


def test_tools_made_again_read_their_function_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Callable[..., Any]] = []

    def count(*args: Any, **kwargs: Any) -> Any:
        made.append(args[0])
        return original(*args, **kwargs)

    from agentsdk.define import schema

    original = schema.FunctionSchema
    monkeypatch.setattr(schema, "FunctionSchema", count)
    for _ in range(3):

        @function_tool
        def fresh(x: int, y: str = "a") -> int:
            """Made again."""
            return x

        assert fresh.spec.description == "Made again."
    assert len(made) == 1


def test_declaring_tools_imports_nothing_heavy() -> None:
    code = """
        import asyncio, sys
        from agentsdk.define.context import ToolContext
        from agentsdk.define.function_tool import function_tool
        @function_tool
        async def f(x: int) -> int:
            "One line."
            return x
        assert f.spec and asyncio.run(f.invoke(ToolContext(None), {"x": 1})) == 1
        heavy = {"pydantic", "anyio", "docstring_parser", "httpx"} & set(sys.modules)
        assert not heavy, heavy
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


async def no_body(ctx: Any, arguments: str) -> str:
    return arguments


def own(schema: dict[str, Any], **options: Any) -> FunctionTool[Any]:
    return FunctionTool("own", "d", schema, no_body, **options)


def test_a_schema_of_ones_own_is_brought_into_the_strict_form_it_claims() -> None:
    schema = {
        "type": "object",
        "title": "Args",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "default": 3}},
    }
    made = own(schema)
    assert made.spec.parameters == {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "description": "Default: 3"}},
        "required": ["name", "age"],
        "additionalProperties": False,
    }
    assert made.clone(strict_json_schema=False, params_json_schema=schema).spec.parameters == schema
    assert own(schema, strict_json_schema=False).clone(strict_json_schema=True).spec.parameters == made.spec.parameters
    assert own(made.params_json_schema).params_json_schema == made.params_json_schema


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "additionalProperties": True},
        {"type": "object", "properties": {"a": {"type": "object"}}},
        {"type": "object", "properties": {"a": {}}},
        {"type": "object", "properties": {"a": 5}},
        {"type": "object", "properties": []},
        {"type": "array", "items": {"type": "string"}},
        {"$ref": "#/$defs/A"},
        {},
    ],
)
def test_a_schema_that_cannot_be_strict_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"tool 'own' has no strict JSON schema: .*strict_json_schema=False"):
        own(schema)
    assert own(schema, strict_json_schema=False).spec.parameters == schema
