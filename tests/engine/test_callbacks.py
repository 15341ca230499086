"""What a user's callable may do wrong: whatever it raises or returns, the error is typed, and names it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from msgspec import structs
from pydantic import BaseModel, field_validator

from agentsdk import (
    Agent,
    AgentHooks,
    AgentsException,
    ContextCodec,
    ContextWindow,
    FunctionCall,
    FunctionTool,
    InputGuardrail,
    MemoryRunStore,
    MemorySession,
    Message,
    ModelBehaviorError,
    ModelResponse,
    OutputGuardrail,
    RunConfig,
    RunHooks,
    RunLimits,
    Runner,
    UserError,
    function_tool,
    handoff,
)
from agentsdk.context_window import EstimatingCounter
from agentsdk.errors import CallbackError, StoreUnavailableError
from agentsdk.events import ResponseCompleted
from agentsdk.guardrails import ToolInputGuardrail, ToolOutputGuardrail
from agentsdk.models import RateLimitedModel
from agentsdk.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


class NoText(Exception):
    """An exception that has no message."""

    def __str__(self) -> str:
        raise KeyError("detail")

    __repr__ = __str__


class Odd:
    """Cannot be compared, printed, or asked whether it is true."""

    def _raise(self, *args: object) -> Any:
        raise RuntimeError("odd")

    __eq__ = __hash__ = __bool__ = __str__ = __repr__ = __iter__ = __len__ = _raise  # type: ignore[assignment]


def raises(error: Exception) -> Callable[..., Any]:
    def callback(*args: object, **kwargs: object) -> Any:
        raise error

    return callback


def gives(value: object) -> Callable[..., Any]:
    return lambda *args, **kwargs: value


async def later(*args: object) -> object:
    return Odd()


CALLBACKS: dict[str, Callable[..., Any]] = {
    "raises": raises(ValueError("no")),
    "raises what has no text": raises(NoText()),
    "gives None": gives(None),
    "gives a text": gives("x"),
    "gives a number": gives(3),
    "gives a dict": gives({"a": 1}),
    "gives a list": gives([1]),
    "gives what cannot be looked at": gives(Odd()),
    "is async and gives that": later,
}


@function_tool
def add(a: int) -> str:
    """Add."""
    return str(a)


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}


def made(**fields: Any) -> Agent[Any, Any]:
    return Agent(**{"name": "A", "model": ScriptedModel([call("add", a=1), "2", "3"]), "tools": [add], **fields})


def plain(a: int) -> str:
    """Plain."""
    return str(a)


def tooled(**options: Any) -> Agent[Any, Any]:
    return made(tools=[function_tool(plain, **options)], model=ScriptedModel([call("plain", a=1), "2"]))


def handing(**options: Any) -> Agent[Any, Any]:
    other = Agent[Any, Any](name="B", model=ScriptedModel(["b"]))
    return made(tools=[], handoffs=[handoff(other, **options)], model=ScriptedModel([call("transfer_to_b")]))


def nesting(extract: Any) -> Agent[Any, Any]:
    inner = Agent[Any, Any](name="inner", model=ScriptedModel(["x"]))
    return made(tools=[inner.as_tool("ask", "Ask.", extract)], model=ScriptedModel([call("ask", input="x"), "2"]))


def hooks(kind: type, callback: Any) -> Any:
    names = [name for name in dir(kind) if name.startswith("on_")]
    return type("Hooks", (kind,), {name: staticmethod(callback) for name in names})()


class Modelled:
    name = "m"

    def __init__(self, callback: Any) -> None:
        self.stream = callback


class Kept(MemorySession):
    def __init__(self, method: str, callback: Any) -> None:
        super().__init__("s")
        setattr(self, method, callback)


class Provided:
    def __init__(self, callback: Any) -> None:
        self.get_model = callback


class Counting(EstimatingCounter):
    def __init__(self, method: str, callback: Any) -> None:
        super().__init__()
        setattr(self, method, callback)


class Timed:
    """A clock by which no time passes, of which one method does wrong."""

    def __init__(self, method: str, callback: Any) -> None:
        setattr(self, method, callback)

    def time(self) -> float:
        return 1_000.0

    async def sleep(self, seconds: float) -> None:
        pass


class Away(MemoryRunStore):
    async def append(self, *args: Any) -> int:
        raise StoreUnavailableError("away")


def timed(method: str, given: Any, **fields: Any) -> RunConfig:
    return RunConfig(clock=Timed(method, given), limits=RunLimits(deadline=5), **fields)


def limited(method: str, given: Any) -> Agent[Any, Any]:
    model = ScriptedModel([call("add", a=1), "2", "3"])
    return made(model=RateLimitedModel(model, requests_per_minute=1, clock=Timed(method, given)))


PLACES: dict[str, Callable[[Any], tuple[Agent[Any, Any], dict[str, Any]]]] = {
    "instructions": lambda given: (made(instructions=given), {}),
    "tool_use_behavior": lambda given: (made(tool_use_behavior=given), {}),
    "agent hooks": lambda given: (made(hooks=hooks(AgentHooks, given)), {}),
    "run hooks": lambda given: (made(), {"hooks": hooks(RunHooks, given)}),
    "input guardrail": lambda given: (made(input_guardrails=[InputGuardrail(given, "g")]), {}),
    "output guardrail": lambda given: (made(output_guardrails=[OutputGuardrail(given, "g")]), {}),
    "tool input guardrail": lambda given: (tooled(tool_input_guardrails=[ToolInputGuardrail(given, "g")]), {}),
    "tool output guardrail": lambda given: (tooled(tool_output_guardrails=[ToolOutputGuardrail(given, "g")]), {}),
    "is_enabled": lambda given: (tooled(is_enabled=given), {}),
    "needs_approval": lambda given: (tooled(needs_approval=given), {}),
    "body": lambda given: (made(tools=[FunctionTool("add", "d", SCHEMA, given)]), {}),
    "failure_error_function": lambda given: (
        made(tools=[FunctionTool("add", "d", SCHEMA, raises(NoText()), failure_error_function=given)]),
        {},
    ),
    "on_handoff": lambda given: (handing(on_handoff=given), {}),
    "input_filter": lambda given: (handing(input_filter=given), {}),
    "handoff is_enabled": lambda given: (handing(is_enabled=given), {}),
    "custom_output_extractor": lambda given: (nesting(given), {}),
    "on_limit": lambda given: (made(), {"max_turns": 1, "run_config": RunConfig(on_limit=given)}),
    "error handler": lambda given: (made(), {"max_turns": 1, "error_handlers": {"max_turns": given}}),
    "call_model_input_filter": lambda given: (made(), {"run_config": RunConfig(call_model_input_filter=given)}),
    "filter that gives other items": lambda given: (
        made(),
        {"run_config": RunConfig(call_model_input_filter=lambda request: structs.replace(request, items=given()))},
    ),
    "model": lambda given: (made(model=Modelled(given)), {}),
    "model provider": lambda given: (made(model="m"), {"run_config": RunConfig(model_provider=Provided(given))}),
    "session get_items": lambda given: (made(), {"session": Kept("get_items", given)}),
    "session_input_callback": lambda given: (
        made(),
        {"session": MemorySession("s"), "run_config": RunConfig(session_input_callback=given)},
    ),
    "session add_items": lambda given: (made(), {"session": Kept("add_items", given)}),
    "token counter count": lambda given: (
        made(),
        {"run_config": RunConfig(token_counter=Counting("count", given), limits=RunLimits(tokens=9_000))},
    ),
    "token counter count_fixed": lambda given: (
        made(),
        {"run_config": RunConfig(token_counter=Counting("count_fixed", given), window=ContextWindow(size=9_000))},
    ),
    "clock time": lambda given: (made(), {"run_config": timed("time", given)}),
    "clock time of a stored run": lambda given: (made(), {"run_config": timed("time", given, store=MemoryRunStore())}),
    "clock sleep": lambda given: (made(), {"run_config": timed("sleep", given, store=Away())}),
    "clock time of a rate limit": lambda given: (limited("time", given), {}),
    "clock sleep of a rate limit": lambda given: (limited("sleep", given), {}),
}


@pytest.mark.filterwarnings("ignore:coroutine 'later' was never awaited:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("callback", CALLBACKS)
@pytest.mark.parametrize("place", PLACES)
async def test_whatever_a_callable_does_the_error_is_typed(place: str, callback: str) -> None:
    agent, options = PLACES[place](CALLBACKS[callback])
    try:
        async with asyncio.timeout(10):
            await Runner.run(agent, "go", **options)
    except AgentsException as error:
        assert "please report it" not in str(error), repr(error.__cause__.__class__)


@pytest.mark.filterwarnings("ignore:coroutine 'later' was never awaited:RuntimeWarning")
@pytest.mark.parametrize("callback", [name for name in CALLBACKS if name not in ("gives a text", "is async and gives that")])
async def test_a_codec_that_does_wrong_is_typed(callback: str) -> None:
    config = RunConfig(context_codec=ContextCodec(CALLBACKS[callback], str))
    with pytest.raises(UserError, match=r"context_codec\.encode"):
        await Runner.run(made(), "go", context="c", run_config=config)


async def a_moment(*args: object) -> None:
    """Sleeps for no time."""


@pytest.mark.parametrize(
    ("place", "callback", "told"),
    [
        ("token counter count", gives(None), "token_counter 'Counting' gave None from count, expected tokens as whole numbers"),
        ("token counter count", gives([]), "token_counter 'Counting' gave 0 counts of 1 items"),
        ("token counter count", gives([-1]), "token_counter 'Counting' gave <list> from count"),
        ("token counter count", raises(NoText()), "count of the token_counter raised NoText"),
        ("token counter count_fixed", gives(1.5), r"token_counter 'Counting' gave 1\.5 from count_fixed"),
        ("clock time", gives(None), "clock 'Timed' failed: time gave None, expected a Unix timestamp in seconds"),
        ("clock time", gives(float("nan")), "clock 'Timed' failed: time gave nan"),
        ("clock time", raises(NoText()), "clock 'Timed' failed: time raised NoText"),
        ("clock sleep", gives(None), "clock 'Timed' failed: sleep raised TypeError, expected it to wait"),
        ("clock sleep", a_moment, "away"),
        ("clock time of a rate limit", gives("x"), "clock 'Timed' failed: time gave 'x'"),
        ("clock sleep of a rate limit", raises(NoText()), "clock 'Timed' failed: sleep raised NoText"),
        ("clock sleep of a rate limit", a_moment, "clock 'Timed' failed: its time stands still while it sleeps"),
    ],
)
async def test_a_counter_and_a_clock_that_do_wrong_are_named(place: str, callback: Any, told: str) -> None:
    """A wait by a clock that stands still ends too."""
    agent, options = PLACES[place](callback)
    with pytest.raises(AgentsException, match=told):
        async with asyncio.timeout(10):
            await Runner.run(agent, "go", **options)


class JunkReply:
    name = "m"

    async def stream(self, request: Any) -> AsyncGenerator[Any, None]:
        yield ResponseCompleted(Odd())  # type: ignore[arg-type]


async def test_a_reply_that_is_none_is_the_models_fault() -> None:
    with pytest.raises(AgentsException, match="expected a ModelResponse"):
        await Runner.run(made(model=JunkReply()), "go")


REPLY = ModelResponse((Message("assistant", "hi"),))
JUNK: dict[str, Any] = {"None": None, "a number": 5, "bytes": b"x", "an object": object(), "what cannot be looked at": Odd()}


class Replying:
    name = "m"

    def __init__(self, reply: ModelResponse) -> None:
        self.reply = reply

    async def stream(self, request: Any) -> AsyncGenerator[Any, None]:
        yield ResponseCompleted(self.reply)


@pytest.mark.parametrize("junk", JUNK)
@pytest.mark.parametrize(
    "reply",
    [
        lambda junk: structs.replace(REPLY, usage=junk),
        lambda junk: structs.replace(REPLY, finish=junk),
        lambda junk: structs.replace(REPLY, model=junk),
        lambda junk: structs.replace(REPLY, output=junk),
        lambda junk: ModelResponse((junk,)),
        lambda junk: ModelResponse((Message("assistant", junk),)),
        lambda junk: ModelResponse((FunctionCall(junk, "add", '{"a":1}'),)),
        lambda junk: ModelResponse((FunctionCall("c", junk, '{"a":1}'),)),
        lambda junk: ModelResponse((FunctionCall("c", "add", junk),)),
    ],
)
async def test_a_reply_whose_parts_are_not_what_they_should_be_is_the_models_fault(reply: Any, junk: str) -> None:
    """Never recorded: what a store has could not be read again."""
    try:
        await Runner.run(made(model=Replying(reply(JUNK[junk]))), "go", max_turns=1)
    except AgentsException as error:
        assert "please report it" not in str(error), repr(error.__cause__)


async def test_a_call_of_bytes_is_not_recorded() -> None:
    broken = Replying(ModelResponse((FunctionCall("c", "add", b"{}"),)))  # type: ignore[arg-type]
    with pytest.raises(ModelBehaviorError, match="model 'm' gave a reply whose parts are not what their types say") as caught:
        await Runner.run(made(model=broken), "go")
    assert caught.value.state.turns == 0


class Strategy:
    def __init__(self, callback: Any) -> None:
        self.offer = callback


@pytest.mark.parametrize(
    ("callback", "told"), [(gives(5), "offered 5, expected a Replace"), (raises(NoText()), "raised NoText, expected an offer")]
)
async def test_a_strategy_that_does_wrong_is_told(callback: Any, told: str) -> None:
    window = ContextWindow(size=3_000, reserve=0, strategies=[Strategy(callback)])
    with pytest.raises(CallbackError, match=f"a strategy of the ContextWindow {told}"):
        await Runner.run(made(), "go " * 4_000, run_config=RunConfig(window=window))


async def test_a_rule_must_say_yes_or_no() -> None:
    """None, what a forgotten return gives, would let the call run unasked."""
    with pytest.raises(UserError, match=r"needs_approval of tool 'plain' returned 'NoneType', expected True or False"):
        await Runner.run(tooled(needs_approval=gives(None)), "go")


async def test_a_handler_must_give_its_result_in_the_result_class() -> None:
    with pytest.raises(UserError, match=r"error handler 'max_turns' returned 'str', expected a RunErrorHandlerResult or None"):
        await Runner.run(made(), "go", max_turns=1, error_handlers={"max_turns": gives("sorry")})


async def test_an_exception_without_a_text_is_told_by_its_class() -> None:
    agent = made(tools=[FunctionTool("add", "d", SCHEMA, raises(NoText()))])
    result = await Runner.run(agent, "go")
    assert result.to_input_list()[2]["output"] == "Error while running the tool: NoText"


class Checked(BaseModel):
    a: int

    @field_validator("a")
    @classmethod
    def check(cls, value: int) -> int:
        raise KeyError(value)


async def test_a_validator_that_raises_something_else_is_named() -> None:
    with pytest.raises(UserError, match="a validator of the output type raised KeyError, expected a ValueError"):
        await Runner.run(made(output_type=Checked, model=ScriptedModel(['{"a": 1}'])), "go")


async def test_hooks_may_be_plain_functions() -> None:
    seen: list[str] = []

    class Hooks(RunHooks[Any]):
        def on_llm_start(self, *args: object) -> None:  # type: ignore[override]
            seen.append("asked")

    await Runner.run(made(), "go", hooks=Hooks())
    assert seen == ["asked", "asked"]
