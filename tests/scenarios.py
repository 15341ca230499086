"""Runs worth testing, each with everything it does counted.

A `Scenario` declares an agent over a `World`: the outside of one process, which notes every request, every effect and every
question put to a callable of the user. Its models answer from the request alone, so that a run resumed anywhere gets the same
replies, and `recorded` says which of those notes a log already accounts for.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import structs

from agentsdk import (
    Agent,
    AgentOutputSchema,
    AgentsException,
    ContextWindow,
    DropOldest,
    FunctionTool,
    GuardrailFunctionOutput,
    KeepByPriority,
    Model,
    ModelRequest,
    ModelResponse,
    OutputFunction,
    OutputGuardrailTripwireTriggered,
    OutputTextDelta,
    RunConfig,
    RunContextWrapper,
    Runner,
    RunResult,
    RunState,
    SlidingWindow,
    StopAtTools,
    StoreError,
    Summarize,
    ToolAnswerItem,
    ToolApprovalItem,
    ToolContext,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrailData,
    ToolOutputGuardrailData,
    ToolOutputGuardrailTripwireTriggered,
    ToolsToFinalOutputResult,
    TruncateToolResults,
    Usage,
    function_tool,
    handoff,
    input_guardrail,
    output_guardrail,
    tool_input_guardrail,
    tool_output_guardrail,
)
from agentsdk.context_window import EstimatingCounter
from agentsdk.core.keys import SCHEME, call_key, request_id, request_prefix
from agentsdk.core.overflow import result_id
from agentsdk.define.answer_needed import AnswerNeededError
from agentsdk.define.handoff_filter import HandoffInputData
from agentsdk.define.tool import stand_in
from agentsdk.errors import ContextTooLongError, TransientToolError
from agentsdk.events import ResponseCompleted
from agentsdk.hosted_tools import HostedMCPTool, WebSearchTool
from agentsdk.models import Prompt
from agentsdk.output import ModelRetry, OutputImage, OutputValidator, ValidatorContext, output_validator
from agentsdk.permissions import Grant
from agentsdk.ports.sandbox import Completed, SandboxShell
from agentsdk.runs import ModelHandler, PendingCall, ToolHandler, TurnContext
from agentsdk.sandboxes import LocalSandbox
from agentsdk.testing import call
from agentsdk.testing.scripted import Say, to_response
from agentsdk.tools import CodeTool, Grammar, ShellTool, ToolResult, ToolRetrySettings, ask_user, custom_tool
from agentsdk.toolsets import SelectedToolset, ToolRegistry, Toolset, ToolsetContext
from agentsdk.types.events import (
    AnswerAwaited,
    ApprovalJudged,
    AttemptSpent,
    CallRetried,
    GuardrailJudged,
    HandedOff,
    ModelReplied,
    Nested,
    OutputJudged,
    OutputValidated,
    RunEvent,
    RunStarted,
    ToolFinished,
    ToolsetChanged,
    ToolsIntended,
    ToolUseJudged,
)
from agentsdk.types.items import Caller, CallKind, FunctionCall, InputImage, InputItem, Message, OutputText, ProviderItem
from agentsdk.types.spec import Effect

RUN_ID = "r"


@dataclass
class World:
    """The outside of one process."""

    asked: dict[str, object] = field(default_factory=dict)
    """What each model request said, by its id."""
    done: Counter[str] = field(default_factory=Counter)
    """How often each effect and each question to a callable happened, by what identifies it."""

    def did(self, what: str) -> None:
        self.done[what] += 1


class Brain:
    """A model whose reply follows from the request's id: `"2"` is the second turn, `"2-1"` its next attempt, `"2-summary-1"`
    the summary of what came before. An exception in place of a reply is raised."""

    def __init__(self, world: World, replies: dict[str, Say | Exception], name: str = "brain") -> None:
        self.name = name
        self._world = world
        self._replies = replies

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Any, None]:
        asked = request.request_id
        assert asked not in self._world.asked, f"request {asked} was sent twice in one process"
        self._world.asked[asked] = (
            request.instructions,
            tuple(request.items),
            request.tail,
            tuple(tool.name for tool in request.tools),
            request.settings,
            request.prompt,
            request.conversation,
        )
        await asyncio.sleep(0)
        turn = asked.partition("-")[2]
        said = self._replies[turn]
        if isinstance(said, Exception):
            raise said
        response = to_response(said, int(turn.partition("-")[0]), Usage(1, 10, 5))
        if request.stream:
            for word in response.text.split(" "):
                yield OutputTextDelta(word)
                await asyncio.sleep(0)
        yield ResponseCompleted(response)


@dataclass(frozen=True)
class Scenario:
    """One run.

    It ends with the final output or the error `ends`, after tools took effect `effects` times. `decide` decides a pending
    approval, `recover` turns an error on the way into a state to go on with.
    """

    name: str
    build: Callable[[World], Agent[Any, Any]]
    ends: object
    effects: int = 0
    config: RunConfig = RunConfig()
    decide: Callable[[RunState, PendingCall], None] = RunState.approve
    recover: Callable[[AgentsException], RunState] | None = None
    input: str = "go"
    max_turns: Callable[[RunState | None], int | None] = lambda state: None

    def __str__(self) -> str:
        return self.name


@dataclass
class Played:
    """A run taken to its end, however often it paused: its last state, what it came to, and what was settled on the way."""

    state: RunState
    result: RunResult[Any] | None
    error: AgentsException | None
    settled: list[str]


async def play(
    scenario: Scenario, world: World, given: RunState | None, known: dict[str, ToolFinished], streamed: bool
) -> Played:
    """Run to the end. Pending approvals are decided as the scenario says, calls in doubt get the result in `known`."""
    agent = scenario.build(world)
    settled: list[str] = []
    for _ in range(20):
        try:
            result = await start(scenario, agent, given, streamed)
        except AgentsException as error:
            state = error.state
            assert isinstance(state, RunState)
            if scenario.recover is None:
                return Played(state, None, error, settled)
            given = scenario.recover(error)
            continue
        state = result.to_state()
        if not state.interruptions:
            return Played(state, result, None, settled)
        given = reloaded(agent, state)
        settled += decided(scenario, given, known)
    raise AssertionError("the run does not come to its end")


async def play_stored(
    scenario: Scenario, world: World, config: RunConfig, known: dict[str, ToolFinished], streamed: bool, take_over: bool = False
) -> Played:
    """Run to the end in `config.store`: from where the store has the run, decided on as by another process."""
    agent = scenario.build(world)
    settled: list[str] = []
    for _ in range(20):
        try:
            result = await start_stored(scenario, agent, config, streamed, take_over)
        except StoreError:
            raise
        except AgentsException as error:
            if scenario.recover is None:
                assert isinstance(error.state, RunState)
                return Played(error.state, None, error, settled)
            await Runner.decide(scenario.recover(error), run_config=config)
            continue
        if not result.interruptions:
            return Played(result.to_state(), result, None, settled)
        waiting = await Runner.load(RUN_ID, run_config=config)
        settled += decided(scenario, waiting, known)
        await Runner.decide(waiting, run_config=config)
    raise AssertionError("the run does not come to its end")


def decided(scenario: Scenario, state: RunState, known: dict[str, ToolFinished]) -> list[str]:
    """Decide what waits in `state`; the keys of the calls that were in doubt, each settled with its result in `known`."""
    settled: list[str] = []
    for item in state.interruptions:
        if isinstance(item, ToolApprovalItem | ToolAnswerItem):
            scenario.decide(state, item)
            continue
        key = "/".join((RUN_ID, *item.path, item.call_id))
        settled.append(key)
        was = known[key]
        if was.is_error:
            state.mark_failed(item, str(was.output))
        else:
            state.provide_result(item, result=str(was.output))
    return settled


async def start_stored(
    scenario: Scenario, agent: Agent[Any, Any], config: RunConfig, streamed: bool, take_over: bool
) -> RunResult[Any]:
    assert config.store is not None
    if await config.store.summary(RUN_ID) is None:
        run = Runner.run_streamed if streamed else Runner.run
        return await run(agent, scenario.input, run_config=config, max_turns=scenario.max_turns(None))
    resume = Runner.resume_streamed if streamed else Runner.resume
    turns = scenario.max_turns(await Runner.load(RUN_ID, run_config=config))
    return await resume(agent, RUN_ID, run_config=config, max_turns=turns, take_over=take_over)


async def start(scenario: Scenario, agent: Agent[Any, Any], given: RunState | None, streamed: bool) -> RunResult[Any]:
    run = Runner.run_streamed if streamed else Runner.run
    config = config_of(scenario)
    return await run(agent, scenario.input if given is None else given, run_config=config, max_turns=scenario.max_turns(given))


def config_of(scenario: Scenario, **changes: Any) -> RunConfig:
    return dataclasses.replace(scenario.config, run_id=RUN_ID, **changes)


def reloaded(agent: Agent[Any, Any], state: RunState) -> RunState:
    """The state as another process loads it."""
    return RunState.from_string(agent, state.to_string())


def unwrapped(log: Iterable[RunEvent]) -> Iterable[tuple[str, RunEvent]]:
    """Each event with the path of the run it belongs to."""
    for event in log:
        path = RUN_ID
        while isinstance(event, Nested):
            path, event = f"{path}/{event.call_id}", event.event
        yield path, event


def finished_calls(log: Iterable[RunEvent]) -> dict[str, ToolFinished]:
    return {f"{path}/{event.call_id}": event for path, event in unwrapped(log) if isinstance(event, ToolFinished)}


def intended_calls(log: Iterable[RunEvent]) -> set[str]:
    """The calls that began, as far as the log says: not those that are to run from their start, or wait for an answer."""
    began: set[str] = set()
    for path, event in unwrapped(log):
        if isinstance(event, ToolsIntended):
            began |= {f"{path}/{call_id}" for call_id in event.call_ids}
        elif isinstance(event, CallRetried | AnswerAwaited):
            began.discard(f"{path}/{event.call_id}")
    return began


def answered_requests(log: Iterable[RunEvent]) -> set[str]:
    """The ids of the requests whose replies the log holds."""
    ids: set[str] = set()
    turns: Counter[str] = Counter()
    attempts: Counter[str] = Counter()
    for path, event in unwrapped(log):
        run_id, *calls = path.split("/")
        place = (request_prefix(run_id, calls), turns[path] + 1, attempts[path])
        if isinstance(event, AttemptSpent) and event.kind == "summary":
            number = 1
            while request_id(*place, number) in ids:
                number += 1
            ids.add(request_id(*place, number))
        elif isinstance(event, AttemptSpent) or (isinstance(event, ModelReplied) and not event.snapshot):
            ids.add(request_id(*place))
            attempts[path] += 1
        if isinstance(event, ModelReplied):
            turns[path] += 1
            attempts[path] = 0
    return ids


def recorded(log: Iterable[RunEvent]) -> set[str]:
    """What the log proves to have happened, in the words of `World.did`."""
    happened: set[str] = set()
    turns: Counter[str] = Counter()
    for path, event in unwrapped(log):
        match event:
            case ModelReplied():
                turns[path] += 1
                happened |= {f"toolset in turn {turns[path]}", f"wrap_model_call in turn {turns[path]}"}
            case ToolFinished(call_id=call_id):
                happened |= {f"{path}/{call_id}", f"wrap_tool_call of {path}/{call_id}"}
            case GuardrailJudged(kind="tool_output", call_id=call_id):
                happened.add(f"output guardrail of {path}/{call_id}")
            case ToolsetChanged(toolset="picked"):
                happened.add("embedder for the request")
            case OutputJudged():
                happened.add(f"output function in turn {turns[path]}")
            case OutputValidated(validator=name):
                happened.add(f"output validator {name} in turn {turns[path]} of {path}")
            case ToolUseJudged():
                happened.add(f"tool_use_behavior in turn {turns[path]}")
            case GuardrailJudged(kind="input", guardrail="polite", behavior=behavior):
                happened.add(f"input guardrail polite {'passed' if behavior == 'allow' else 'tripped'}")
            case GuardrailJudged(kind=kind, guardrail=name, call_id=call_id):
                happened.add(f"{kind} guardrail {name}" + (f" of {path}/{call_id}" if call_id else ""))
            case RunStarted() if path != RUN_ID:
                happened.add(f"input_builder of {path}")
            case HandedOff(agent=name):
                happened.add(f"on_handoff to {name}")
            case ApprovalJudged(call_id=call_id):
                happened.add(f"rule for {call_id}")
            case _:
                pass
    return happened


# The building blocks of the scenarios.


def place_of(ctx: ToolContext[Any]) -> str:
    """A call by its run, the calls that lead to it, and its own id: readable, where its idempotency key is not."""
    place = (SCHEME, ctx.run_id, ctx.path, ctx.tool_call_id)
    assert ctx.idempotency_key in (call_key(*place), call_key(*place, ctx.tool_arguments))
    return "/".join((ctx.run_id, *ctx.path, ctx.tool_call_id))


def tool_of(
    world: World, name: str, effect: Effect = "once", *, fails: bool = False, steps: int = 1, **options: Any
) -> FunctionTool[Any]:
    """A tool that notes each run of its body under the call's place, and whose result follows from its argument."""

    async def body(ctx: ToolContext[Any], x: int = 0) -> str:
        world.did(place_of(ctx))
        for _ in range(steps):
            await asyncio.sleep(0)
        if fails:
            raise ValueError(f"no {name} today")
        return f"{name} gave {x}"

    return function_tool(body, name_override=name, effect=effect, **options)


def thread_tool(world: World, name: str, effect: Effect = "once") -> FunctionTool[Any]:
    def body(ctx: ToolContext[Any], x: int = 0) -> str:
        world.did(place_of(ctx))
        return f"{name} gave {x}"

    return function_tool(body, name_override=name, effect=effect)


def agent_of(
    world: World, replies: dict[str, Say | Exception] | Sequence[Say], name: str = "main", **fields: Any
) -> Agent[Any, Any]:
    by_turn: dict[str, Say | Exception] = {str(n): said for n, said in enumerate(replies, 1)}
    if isinstance(replies, dict):
        by_turn = replies
    model: Model = Brain(world, by_turn, name)
    return Agent(name, model=model, **fields)


def cut(text: str) -> ModelResponse:
    """Text that stopped at its length."""
    return ModelResponse((Message("assistant", text),), Usage(1, 10, 5), "length")


def _one_answer(world: World) -> Agent[Any, Any]:
    return agent_of(world, ["hello there"], instructions="Be brief.")


def _tool_turns(world: World) -> Agent[Any, Any]:
    return agent_of(
        world,
        [call("add", x=1), call("add", x=2), [Message("assistant", "one more"), call("add", x=3)], "six"],
        tools=[tool_of(world, "add")],
    )


def _parallel(world: World) -> Agent[Any, Any]:
    tools = [
        tool_of(world, "read", "none", steps=3),
        tool_of(world, "put", "idempotent"),
        tool_of(world, "pay", "once", steps=2),
        thread_tool(world, "sync", "idempotent"),
    ]
    first = [call("read", x=1), call("put", x=2), call("pay", x=3), call("pay", x=4), call("sync", x=5)]
    return agent_of(world, [first, [call("pay", x=5), call("read", x=6)], "done"], tools=tools)


def _tool_error(world: World) -> Agent[Any, Any]:
    tools = [tool_of(world, "bad", fails=True), tool_of(world, "good")]
    return agent_of(world, [[call("bad", x=1), call("good", x=2)], "one failed"], tools=tools)


def _retried(world: World) -> Agent[Any, Any]:
    async def fetch(ctx: ToolContext[Any], x: int) -> str:
        if ctx.attempt <= x:
            raise TransientToolError("busy")
        world.did(place_of(ctx))
        return f"fetched {x}"

    tools = [function_tool(fetch, effect="idempotent"), tool_of(world, "pay", steps=3)]
    return agent_of(
        world, [[call("fetch", x=2), call("pay", x=1), call("fetch", x=1), call("fetch", x=0)], "done"], tools=tools
    )


def _checkpointed(world: World) -> Agent[Any, Any]:
    async def copy(ctx: ToolContext[Any], x: int) -> str:
        """Two pages, each noted once it is copied."""
        for page in range(int(ctx.checkpoint or 0), 2):
            await asyncio.sleep(0)
            await ctx.save_checkpoint(str(page + 1))
        world.did(place_of(ctx))
        return f"copied {x}"

    tools = [function_tool(copy, effect="idempotent"), tool_of(world, "pay", steps=3)]
    return agent_of(world, [[call("copy", x=1), call("pay", x=1), call("copy", x=2)], "done"], tools=tools)


def _circuit(world: World) -> Agent[Any, Any]:
    async def down(ctx: ToolContext[Any], x: int) -> str:
        raise ConnectionError("reset")

    pay = tool_of(world, "pay")
    replies = [[call("down", x=x), call("pay", x=x)] for x in range(4)]
    return agent_of(world, [*replies, "without it"], tools=[function_tool(down, effect="idempotent"), pay])


def _ordered(world: World) -> Agent[Any, Any]:
    def table(arguments: dict[str, Any]) -> str | None:
        return None if arguments["x"] > 8 else f"table {arguments['x'] % 2}"

    tools = [
        tool_of(world, "write", steps=3, needs_approval=True),
        tool_of(world, "check", "none", after=("write",)),
        tool_of(world, "update", "idempotent", steps=2, resource=table),
        tool_of(world, "move", steps=2, sequential=True),
    ]
    first = [call("check", x=1), call("update", x=2), call("update", x=4), call("update", x=9), call("write", x=5)]
    second = [call("update", x=1), call("move", x=2), call("move", x=3), call("update", x=4), call("update", x=6)]
    return agent_of(world, [first, second, "done"], tools=tools)


def _unknown_tool(world: World) -> Agent[Any, Any]:
    return agent_of(world, [[call("nope", x=1), call("add", x=2)], "so be it"], tools=[tool_of(world, "add")])


def _invalid_arguments(world: World) -> Agent[Any, Any]:
    calls = [
        FunctionCall("", "add", '{"x": "seven"}'),
        FunctionCall("", "add", "{"),
        FunctionCall("", "add", '{"x": 1, "x": 2}'),
        FunctionCall("", "add", "[1]"),
        FunctionCall("", "add", '{"x": 1, "y": 2}'),
        call("add", x=3),
    ]
    return agent_of(world, [calls, "mostly wrong"], tools=[tool_of(world, "add")])


def _kinds(world: World) -> Agent[Any, Any]:
    """Calls of other kinds than functions, one of them made by a program and in a namespace of its own."""

    async def query(ctx: ToolContext[Any], text: str) -> str:
        world.did(place_of(ctx))
        return f"found {text}"

    tools = [
        custom_tool(grammar=Grammar("regex", "[a-z]+"), needs_approval=True)(query),
        tool_of(world, "shell", kind="shell"),
        tool_of(world, "rate", "none"),
    ]
    first = [
        FunctionCall("", "query", '{"input":"a"}', kind="custom", caller=Caller("program", "p")),
        FunctionCall("", "shell", '{"x":1}', kind="shell", namespace="local_shell"),
        FunctionCall("", "rate", '{"x":2}', namespace="rate"),
    ]
    return agent_of(world, [first, "found"], tools=tools)


class QuietSandbox(LocalSandbox):
    """A sandbox whose shell starts nothing: what a command prints follows from it."""

    def shell(self) -> SandboxShell:
        return QuietShell()


class QuietShell(SandboxShell):
    async def run(self, command: str, *, timeout: float = 60.0) -> Completed:
        await asyncio.sleep(0)
        return Completed(0, f"{command}\n" * 40)

    async def restart(self) -> None:
        await asyncio.sleep(0)


def _shell(world: World) -> Agent[Any, Any]:
    """Commands by a provider's own calls and as a function's, some of them approved; what they print is cut."""

    def asked(command: str, kind: CallKind = "shell", **arguments: object) -> FunctionCall:
        return FunctionCall("", "shell", json.dumps({"commands": [command], **arguments}), kind=kind)

    def rule(ctx: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool:
        world.did(f"rule for {call_id}")
        return "timeout_ms" in arguments

    async def noted(ctx: ToolContext[Any], arguments: str) -> object:
        world.did(place_of(ctx))
        return await shell.on_invoke_tool(ctx, arguments)

    shell = ShellTool(QuietSandbox(".", unsafe=True), needs_approval=rule)
    first = [asked("ls"), asked("rm a", timeout_ms=9), asked("ps", "function", restart=True)]
    return agent_of(world, [first, asked("rm b", timeout_ms=8), "done"], tools=[stand_in(shell, noted)])


def _hosted_tools(world: World) -> Agent[Any, Any]:
    """Approvals of an MCP server that the provider calls, asked of a rule and then of a person."""

    def rule(ctx: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool:
        world.did(f"rule for {call_id}")
        return bool(arguments["x"] > 10)

    server = HostedMCPTool(server_label="docs", server_url="https://mcp.example.com", needs_approval=rule)

    def asked(x: int) -> FunctionCall:
        return FunctionCall("", "search", msgspec.json.encode({"x": x}).decode(), kind="mcp_approval", namespace="docs")

    tools = [server, WebSearchTool(), tool_of(world, "add")]
    searched = ProviderItem("scripted", {"type": "web_search_call", "id": "ws_1", "action": {}})
    return agent_of(world, [[searched, asked(1), asked(20), call("add", x=1)], asked(30), "found"], tools=tools)


def _approvals(world: World) -> Agent[Any, Any]:
    def rule(ctx: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool:
        world.did(f"rule for {call_id}")
        return bool(arguments["x"] > 10)

    tools = [
        tool_of(world, "pay", needs_approval=True),
        tool_of(world, "look", "none", steps=2),
        tool_of(world, "send", needs_approval=rule),
    ]
    replies = [
        [call("pay", x=1), call("look", x=2), call("send", x=3), call("send", x=30), call("pay", x=2)],
        call("pay", x=4),
        "paid",
    ]
    return agent_of(world, replies, tools=tools)


def _approve_odd(state: RunState, item: PendingCall) -> None:
    if item.arguments in ('{"x":2}', '{"x":30}'):
        state.reject(item, reason="not now")
    else:
        state.approve(item, reason="fine")


def _approve_later(state: RunState, item: PendingCall) -> None:
    assert isinstance(item, ToolApprovalItem)
    assert "is untrusted" in item.reason
    state.approve(item)


def _approve_always(state: RunState, item: PendingCall) -> None:
    # An earlier decision for the same tool covers this one only from the next turn on.
    state.approve(item, always_approve=True)


def _reject_always(state: RunState, item: PendingCall) -> None:
    state.reject(item, always_reject=True, reason="never")


def _granted(world: World) -> Agent[Any, Any]:
    tools = [tool_of(world, "look", "none"), tool_of(world, "pay", tags=["till"]), tool_of(world, "drop", permission="admin")]
    helper = agent_of(world, [[call("look", x=1), call("drop", x=2)], "looked"], "helper", tools=tools)
    replies = [
        [call("look", x=1), call("pay", x=2), call("drop", x=3)],
        [call("helper", input="look"), call("pay", x=4), FunctionCall("", "shell", '{"commands":[]}', kind="shell")],
        "paid",
    ]
    shell = function_tool(lambda commands: "", name_override="shell", kind="shell", strict_mode=False)
    return agent_of(world, replies, tools=[*tools, shell, helper.as_tool()])


def _tainted(world: World) -> Agent[Any, Any]:
    def rule(ctx: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool:
        return False

    tools = [
        tool_of(world, "page", "none", untrusted=True),
        tool_of(world, "look", "none"),
        tool_of(world, "put", "idempotent", needs_approval=rule),
        tool_of(world, "note", allowed_after_untrusted=True),
    ]
    reader = agent_of(world, [[call("page", x=1), call("put", x=2)], call("put", x=3), "read"], "reader", tools=tools)
    second = agent_of(world, {"3": [call("put", x=5), call("note", x=6)], "4": "noted"}, "second", tools=tools)
    replies = {
        "1": [call("reader", input="read"), call("put", x=1)],
        "2": [call("put", x=20), call("look", x=4), call("reader", input="again"), call("transfer_to_second")],
    }
    return agent_of(world, replies, tools=[*tools, reader.as_tool()], handoffs=[second])


async def _grants(context: Any) -> list[Grant]:
    """What the till may do: to look, and to pay in the first turn."""
    return [Grant("read", name="till"), *([Grant("write", tags=["till"], name="payer")] if context.turn == 1 else [])]


def _handoff_filtered(world: World) -> Agent[Any, Any]:
    async def forget(data: HandoffInputData) -> HandoffInputData:
        return data.clone(pre_handoff_items=())

    expert = agent_of(
        world, {"3": call("solve", x=3), "4": "solved"}, "expert", tools=[tool_of(world, "solve")], instructions="Solve."
    )
    to_expert = handoff(expert, on_handoff=lambda ctx: world.did("on_handoff to expert"), input_filter=forget)
    return agent_of(
        world,
        [call("look", x=1), [call("look", x=2), call("transfer_to_expert")]],
        tools=[tool_of(world, "look")],
        handoffs=[to_expert],
    )


def _handoff_payload(world: World) -> Agent[Any, Any]:
    expert = agent_of(world, {"3": "solved"}, "expert")

    def taken(ctx: RunContextWrapper[Any], level: int) -> None:
        world.did("on_handoff to expert")
        assert level == 7

    to_expert = handoff(expert, on_handoff=taken, input_type=int)
    return agent_of(
        world, [call("transfer_to_expert", response="high"), call("transfer_to_expert", response=7)], handoffs=[to_expert]
    )


def _two_handoffs(world: World) -> Agent[Any, Any]:
    one = agent_of(world, {"2": "from one"}, "one")
    two = agent_of(world, {"2": "from two"}, "two")
    return agent_of(
        world,
        [[call("pay", x=1), call("transfer_to_one"), call("transfer_to_two")]],
        tools=[tool_of(world, "pay", needs_approval=True)],
        handoffs=[handoff(one, on_handoff=lambda ctx: world.did("on_handoff to one")), two],
    )


def _handoff_and_back(world: World) -> Agent[Any, Any]:
    first = agent_of(
        world, {"1": call("transfer_to_second"), "3": [call("note", x=1)], "4": "home"}, "first", tools=[tool_of(world, "note")]
    )
    second = agent_of(world, {"2": call("transfer_to_first")}, "second", handoffs=[first])
    first.handoffs = [second]
    return first


def _agent_as_tool(world: World) -> Agent[Any, Any]:
    helper = agent_of(world, [call("dig", x=1), "dug"], "helper", tools=[tool_of(world, "dig"), tool_of(world, "sift", "none")])
    replies = [[call("helper", input="dig one"), call("helper", input="dig two"), call("pay", x=1)], "both dug"]
    return agent_of(world, replies, tools=[helper.as_tool(), tool_of(world, "pay")])


@dataclass
class Plot:
    name: str
    depth: int = 1


def _typed_agent_tool(world: World) -> Agent[Any, Any]:
    async def build(ctx: ToolContext[Any], plot: Plot) -> list[InputItem]:
        world.did(f"input_builder of {place_of(ctx)}")
        await asyncio.sleep(0)
        return [Message("user", f"Dig at {plot.name}."), Message("user", f"{plot.depth} deep.")]

    helper = agent_of(world, [call("dig", x=1), "dug"], "helper", tools=[tool_of(world, "dig")])
    first = [call("helper", name="a"), call("helper", name="b", depth=2), call("helper", depth="x"), call("plain", name="c")]
    plain = agent_of(world, ["plainly"], "plain").as_tool(parameters=Plot)
    return agent_of(world, [first, "both dug"], tools=[helper.as_tool(parameters=Plot, input_builder=build), plain])


def _nested_approval(world: World) -> Agent[Any, Any]:
    tools = [tool_of(world, "dig", needs_approval=True), tool_of(world, "sift", "none")]
    helper = agent_of(world, [[call("dig", x=1), call("sift", x=2)], "dug"], "helper", tools=tools)
    replies = [[call("helper", input="dig"), call("pay", x=1), call("helper", input="dig again")], "done"]
    return agent_of(world, replies, tools=[helper.as_tool(), tool_of(world, "pay")])


def _nested_nested(world: World) -> Agent[Any, Any]:
    inner = agent_of(world, [call("dig", x=1), "dug deep"], "inner", tools=[tool_of(world, "dig", needs_approval=True)])
    specialist = agent_of(world, {"2": "specialised"}, "specialist")
    middle = agent_of(
        world,
        {"1": [call("inner", input="deeper"), call("mark", x=2), call("transfer_to_specialist")]},
        "middle",
        tools=[inner.as_tool(), tool_of(world, "mark")],
        handoffs=[specialist],
    )
    return agent_of(world, [call("middle", input="go deep"), "deep enough"], tools=[middle.as_tool()])


def _program(world: World) -> Agent[Any, Any]:
    code = """
import asyncio
first = await dig(1)
second, third = await asyncio.gather(sift(x=5), pay(3))
print(first, second)
try:
    await pay(2)
except RuntimeError as error:
    print(error)
third
"""
    tools = [tool_of(world, "dig"), tool_of(world, "sift", "none"), tool_of(world, "pay", needs_approval=True)]
    replies = [[call("run_code", code=code), call("dig", x=9)], call("run_code", code="await dig(7) + 1"), "done"]
    return agent_of(world, replies, tools=[CodeTool(tools), tool_of(world, "dig")])


def _external(world: World) -> Agent[Any, Any]:
    @function_tool(external=True)
    def weigh(x: int) -> dict[str, int]:
        raise AssertionError("no body is run")

    first = [call("weigh", x=1), call("pay", x=2), call("ask_user", question="Now?", choices=["yes", "no"])]
    replies = [first, [call("weigh", x=3), call("transfer_to_expert")]]
    expert = agent_of(world, {"3": call("weigh", x=4), "4": "weighed"}, "expert", tools=[weigh])
    return agent_of(world, replies, tools=[weigh, tool_of(world, "pay"), ask_user], handoffs=[expert])


def _external_nested(world: World) -> Agent[Any, Any]:
    @tool_output_guardrail
    async def light(data: ToolOutputGuardrailData[Any]) -> ToolGuardrailFunctionOutput:
        world.did(f"output guardrail of {place_of(data.context)}")
        await asyncio.sleep(0)
        if data.output == "20":
            return ToolGuardrailFunctionOutput.reject_content("too heavy")
        return ToolGuardrailFunctionOutput.allow()

    @function_tool(external=True, needs_approval=True, tool_output_guardrails=[light])
    def weigh(x: int) -> int:
        raise AssertionError("no body is run")

    helper = agent_of(world, [[call("weigh", x=1), call("weigh", x=2)], "weighed"], "helper", tools=[weigh])
    replies = [[call("helper", input="weigh"), call("weigh", x=3), call("pay", x=1)], "done"]
    return agent_of(world, replies, tools=[helper.as_tool(), weigh, tool_of(world, "pay")])


def _asking(world: World) -> Agent[Any, Any]:
    """Tools whose bodies ask for an answer, one of them twice, also of a nested run and after an approval."""

    async def weigh(ctx: ToolContext[Any], x: int) -> str:
        asked = 0 if ctx.answer is None else int(ctx.answer.kept)
        if asked < x:
            raise AnswerNeededError(f"How heavy is {x}?", schema={"type": "integer"}, kept=str(asked + 1))
        world.did(place_of(ctx))
        await asyncio.sleep(0)
        return f"weighed {None if ctx.answer is None else ctx.answer.value}"

    once = function_tool(weigh, name_override="weigh", needs_approval=True)
    again = function_tool(weigh, name_override="weigh_again", effect="none")
    helper = agent_of(world, [[call("weigh", x=1), call("weigh_again", x=1)], "weighed"], "helper", tools=[once, again])
    replies = [[call("helper", input="weigh"), call("weigh", x=2), call("pay", x=1)], [call("weigh", x=0)], "done"]
    return agent_of(world, replies, tools=[helper.as_tool(), once, tool_of(world, "pay")])


def _answer(state: RunState, item: PendingCall) -> None:
    if isinstance(item, ToolApprovalItem):
        state.approve(item)
    elif isinstance(item, ToolAnswerItem) and item.choices:
        state.answer(item, item.choices[0], by="Ann")
    elif '"x":3' in item.arguments:
        state.mark_failed(item, "the scales are broken")
    else:
        assert isinstance(item, ToolAnswerItem) and item.answer_schema is not None
        kg = 10 * json.loads(item.arguments)["x"]
        state.answer(item, kg if item.answer_schema == {"type": "integer"} else {"kg": kg})


def _edited(world: World) -> Agent[Any, Any]:
    pay = tool_of(world, "pay", needs_approval=True)
    put = tool_of(world, "put", "idempotent", needs_approval=True)
    helper = agent_of(world, [call("pay", x=5), "paid"], "helper", tools=[pay])
    first = [call("pay", x=1), call("pay", x=2), call("put", x=3), call("helper", input="pay 5")]
    return agent_of(world, [first, call("pay", x=1), "done"], tools=[pay, put, helper.as_tool(needs_approval=True)])


def _edit_odd(state: RunState, item: PendingCall) -> None:
    given = json.loads(item.arguments)
    edited = {"input": "pay 6"} if "input" in given else {"x": given["x"] + 10} if given["x"] % 2 and given["x"] < 10 else None
    state.approve(item, arguments=edited, by="Ann")


def _typed(world: World) -> Agent[Any, Any]:
    return agent_of(
        world,
        [call("add", x=1), '{"response": ["not numbers"]}', '{"response": [1, 2]}'],
        tools=[tool_of(world, "add")],
        output_type=list[int],
    )


def _output_by_call(world: World) -> Agent[Any, Any]:
    def output(*numbers: object) -> FunctionCall:
        return call("final_result", response=[*numbers])

    replies = [[call("add", x=1), output(9)], output("one"), [output(1, 2), output(3)]]
    schema = AgentOutputSchema(list[int], mode="tool")
    return agent_of(world, replies, tools=[tool_of(world, "add")], output_type=schema)


def _output_asked_for(world: World) -> Agent[Any, Any]:
    schema = AgentOutputSchema([int, str], mode="prompted")
    replies = [call("add", x=1), "ten", '{"response": 10}']
    return agent_of(world, replies, instructions="Add.", tools=[tool_of(world, "add")], output_type=schema)


def _output_function(world: World) -> Agent[Any, Any]:
    async def settle(ctx: ToolContext[Any], x: int) -> dict[str, int]:
        world.did(f"output function in turn {ctx.usage.requests}")
        if x < 2:
            raise ValueError("too small")
        return {"settled": x}

    replies = [call("add", x=1), call("final_result", x=1), call("final_result", x=2)]
    return agent_of(world, replies, tools=[tool_of(world, "add")], output_type=OutputFunction(settle, mode="tool"))


def _image(world: World) -> Agent[Any, Any]:
    def drawn(data: str) -> Message:
        return Message("assistant", (OutputText("Look:"), InputImage(f"data:image/png;base64,{data}")))

    validators = [
        _validator(world, "large", _must("larger", lambda image: len(image.data) > 2)),
        _validator(world, "signed", lambda image: None),
    ]
    replies = [call("add", x=1), "I drew it.", [drawn("aGk=")], [drawn("aGVsbG8=")]]
    return agent_of(
        world,
        replies,
        tools=[tool_of(world, "add")],
        output_type=OutputImage,
        output_validators=validators,
        max_output_retries=2,
    )


def _validator(world: World, name: str, judge: Callable[[Any], Any]) -> OutputValidator[Any, Any]:
    """An output validator that notes each output it is asked about; what `judge` raises or returns is its answer."""

    async def validate(ctx: ValidatorContext[Any], output: Any) -> Any:
        world.did(f"output validator {name} in turn {ctx.turn} of {'/'.join((ctx.run_id, *ctx.path))}")
        await asyncio.sleep(0)
        return judge(output)

    return output_validator(validate, name=name)


def _must(what: str, judge: Callable[[Any], bool]) -> Callable[[Any], None]:
    def judged(output: Any) -> None:
        if not judge(output):
            raise ModelRetry(f"it must be {what}")

    return judged


def _validated(world: World) -> Agent[Any, Any]:
    validators = [
        _validator(world, "short", _must("short", lambda output: len(output) < 10)),
        _validator(world, "loud", lambda output: output.upper()),
        _validator(world, "kind", _must("kind", lambda output: "YES" in output)),
    ]
    replies = [call("add", x=1), "a very long answer", "no", "yes"]
    helper = agent_of(world, ["nah", "yes"], "helper", output_validators=validators)
    return agent_of(
        world,
        replies,
        tools=[tool_of(world, "add"), helper.as_tool()],
        output_validators=validators,
        max_output_retries=2,
    )


def _validated_by_call(world: World) -> Agent[Any, Any]:
    async def settle(ctx: ToolContext[Any], x: int) -> list[int]:
        world.did(f"output function in turn {ctx.usage.requests}")
        return [x, x]

    validators = [
        _validator(world, "sorted", lambda output: [*output, 9]),
        _validator(world, "big", _must("big", lambda output: output[0] > 1)),
    ]
    replies = [call("add", x=1), [call("final_result", x=1), call("final_result", x=7)], call("final_result", x=2)]
    schema = OutputFunction(settle, mode="tool")
    return agent_of(world, replies, tools=[tool_of(world, "add")], output_type=schema, output_validators=validators)


def _validated_tool_result(world: World) -> Agent[Any, Any]:
    validators = [_validator(world, "two", _must("2", lambda output: output.endswith("2")))]
    replies = [call("helper", input="?"), call("add", x=1), call("add", x=2)]
    helper = agent_of(world, ["1", "2"], "helper", output_validators=validators)
    tools = [tool_of(world, "add"), helper.as_tool()]
    use = StopAtTools(["add"])
    return agent_of(world, replies, tools=tools, tool_use_behavior=use, output_validators=validators)


def _never_accepted(world: World) -> Agent[Any, Any]:
    validators = [_validator(world, "two", _must("2", lambda output: output == 2))]
    replies = [f'{{"response": {number}}}' for number in (5, 4, 3, 2)]
    return agent_of(world, replies, output_type=int, output_validators=validators)


def _critics(world: World) -> Agent[Any, Any]:
    """A critic that looks things up and asks a person; for what is short enough nobody asks it."""
    tools = [tool_of(world, "look", "none"), tool_of(world, "file", needs_approval=True)]
    critic = agent_of(world, [call("look", x=1), call("file", x=2), "too long"], "critic", tools=tools)
    second = agent_of(world, ["hm"], "second")

    async def review(ctx: ValidatorContext[Any], output: str) -> None:
        said = await ctx.run(critic, f"Review: {output}")
        opinions = [await ctx.run(second, "Do you agree?") for _ in range(2)]
        assert opinions == ["hm", "hm"]
        world.did(f"output validator review in turn {ctx.turn} of {'/'.join((ctx.run_id, *ctx.path))}")
        if len(output) > 15:
            raise ModelRetry(said)

    validator = output_validator(review, agents=[critic, second], when=lambda ctx, output: len(output) > 10)
    replies = [call("helper", input="?"), "an answer that is long", "longer still", "short"]
    helper = agent_of(world, ["so long an answer", "fine"], "helper", output_validators=[validator])
    return agent_of(world, replies, tools=[helper.as_tool()], output_validators=[validator], max_output_retries=2)


def _input_guardrail(world: World) -> Agent[Any, Any]:
    @input_guardrail
    async def beside(ctx: RunContextWrapper[Any], agent: Agent[Any, Any], given: object) -> GuardrailFunctionOutput:
        world.did("input guardrail beside")
        for _ in range(5):
            await asyncio.sleep(0)
        return GuardrailFunctionOutput({"fine": True}, False)

    @input_guardrail(run_in_parallel=False)
    def before(ctx: RunContextWrapper[Any], agent: Agent[Any, Any], given: object) -> GuardrailFunctionOutput:
        world.did("input guardrail before")
        return GuardrailFunctionOutput(None, False)

    return agent_of(world, [call("pay", x=1), "paid"], tools=[tool_of(world, "pay")], input_guardrails=[beside, before])


def _input_tripped(world: World) -> Agent[Any, Any]:
    @input_guardrail(run_in_parallel=False)
    def polite(ctx: RunContextWrapper[Any], agent: Agent[Any, Any], given: Any) -> GuardrailFunctionOutput:
        rude = given[-1].text == "go"
        world.did(f"input guardrail polite {'tripped' if rude else 'passed'}")
        return GuardrailFunctionOutput(None, rude)

    return agent_of(world, [call("pay", x=1), "with pleasure"], tools=[tool_of(world, "pay")], input_guardrails=[polite])


def _say_please(error: AgentsException) -> RunState:
    state = error.state
    assert isinstance(state, RunState)
    state.replace_input("go, please")
    return state


def _output_guardrail(world: World) -> Agent[Any, Any]:
    @output_guardrail
    async def proper(ctx: RunContextWrapper[Any], agent: Agent[Any, Any], output: object) -> GuardrailFunctionOutput:
        world.did("output guardrail proper")
        await asyncio.sleep(0)
        return GuardrailFunctionOutput("ok", False)

    @output_guardrail
    def short(ctx: RunContextWrapper[Any], agent: Agent[Any, Any], output: object) -> GuardrailFunctionOutput:
        world.did("output guardrail short")
        return GuardrailFunctionOutput(len(str(output)), False)

    return agent_of(world, [call("add", x=1), "all good"], tools=[tool_of(world, "add")], output_guardrails=[proper, short])


def _output_tripped(world: World) -> Agent[Any, Any]:
    @output_guardrail
    async def never(ctx: RunContextWrapper[Any], agent: Agent[Any, Any], output: object) -> GuardrailFunctionOutput:
        world.did("output guardrail never")
        return GuardrailFunctionOutput("no", True)

    return agent_of(world, [call("add", x=1), "rude words"], tools=[tool_of(world, "add")], output_guardrails=[never])


def _tool_guardrails(world: World) -> Agent[Any, Any]:
    @tool_input_guardrail
    async def sane(data: ToolInputGuardrailData[Any]) -> ToolGuardrailFunctionOutput:
        world.did(f"tool_input guardrail sane of {place_of(data.context)}")
        await asyncio.sleep(0)
        if data.context.tool_arguments == '{"x":2}':
            return ToolGuardrailFunctionOutput.reject_content("2 is not allowed")
        return ToolGuardrailFunctionOutput.allow()

    @tool_output_guardrail
    async def clean(data: ToolOutputGuardrailData[Any]) -> ToolGuardrailFunctionOutput:
        world.did(f"output guardrail of {place_of(data.context)}")
        await asyncio.sleep(0)
        if data.output == "look gave 3":
            return ToolGuardrailFunctionOutput.reject_content("[hidden]")
        return ToolGuardrailFunctionOutput.allow("seen")

    look = tool_of(world, "look", "idempotent", tool_input_guardrails=[sane], tool_output_guardrails=[clean])
    return agent_of(world, [[call("look", x=1), call("look", x=2), call("look", x=3)], "looked"], tools=[look])


def _tool_tripped(world: World) -> Agent[Any, Any]:
    @tool_output_guardrail
    def secret(data: ToolOutputGuardrailData[Any]) -> ToolGuardrailFunctionOutput:
        world.did(f"output guardrail of {place_of(data.context)}")
        return ToolGuardrailFunctionOutput.raise_exception("secret")

    tools = [tool_of(world, "look", "none", tool_output_guardrails=[secret]), tool_of(world, "put", "idempotent", steps=3)]
    return agent_of(world, [[call("look", x=1), call("put", x=2)], "never said"], tools=tools)


def _guarded_and_approved(world: World) -> Agent[Any, Any]:
    @tool_input_guardrail
    def sane(data: ToolInputGuardrailData[Any]) -> ToolGuardrailFunctionOutput:
        world.did(f"tool_input guardrail sane of {place_of(data.context)}")
        return ToolGuardrailFunctionOutput.allow()

    @tool_output_guardrail
    async def clean(data: ToolOutputGuardrailData[Any]) -> ToolGuardrailFunctionOutput:
        world.did(f"output guardrail of {place_of(data.context)}")
        await asyncio.sleep(0)
        return ToolGuardrailFunctionOutput.reject_content(f"[{len(data.output)} characters]")

    guards: dict[str, Any] = {"tool_input_guardrails": [sane], "tool_output_guardrails": [clean]}
    pay = tool_of(world, "pay", "idempotent", needs_approval=True, **guards)
    helper = agent_of(world, [[call("pay", x=1), call("pay", y=2)], "paid"], "helper", tools=[pay])
    replies = [[call("helper", input="pay"), call("helper", question="?")], "done"]
    return agent_of(world, replies, tools=[helper.as_tool(tool_output_guardrails=[clean])])


def _stop_on_first(world: World) -> Agent[Any, Any]:
    replies = [[call("bad", x=1)], [call("bad", x=2), call("good", x=3)]]
    tools = [tool_of(world, "bad", fails=True), tool_of(world, "good")]
    return agent_of(world, replies, tools=tools, tool_use_behavior="stop_on_first_tool")


def _stop_at(world: World) -> Agent[Any, Any]:
    tools = [tool_of(world, "work"), tool_of(world, "finish")]
    return agent_of(
        world,
        [call("work", x=1), [call("work", x=2), call("finish", x=3)]],
        tools=tools,
        tool_use_behavior=StopAtTools(["finish"]),
    )


def _custom_tool_use(world: World) -> Agent[Any, Any]:
    async def enough(ctx: RunContextWrapper[Any], results: list[ToolResult]) -> ToolsToFinalOutputResult:
        world.did(f"tool_use_behavior in turn {ctx.usage.requests}")
        texts = [str(result.output.output) for result in results]
        return ToolsToFinalOutputResult(len(texts) > 1, {"texts": texts})

    replies = [call("work", x=1), [call("work", x=2), call("work", x=3)]]
    return agent_of(world, replies, tools=[tool_of(world, "work")], tool_use_behavior=enough)


def _continued(world: World) -> Agent[Any, Any]:
    replies: dict[str, Say] = {"1": call("add", x=1), "2": cut("a long "), "2-1": cut("long way "), "2-2": "home"}
    return agent_of(world, replies, tools=[tool_of(world, "add")])


def _empty_replies(world: World) -> Agent[Any, Any]:
    replies: dict[str, Say] = {"1": "", "1-1": " ", "1-2": call("add", x=1), "2": "", "2-1": "at last"}
    return agent_of(world, replies, tools=[tool_of(world, "add")])


def _repeated_ids(world: World) -> Agent[Any, Any]:
    replies = [FunctionCall("c", "add", f'{{"x":{x}}}') for x in (1, 2, 3)]
    twice = [FunctionCall("d", "add", '{"x":4}'), FunctionCall("d", "add", '{"x":4}')]
    return agent_of(world, [*replies, twice, "same id each time"], tools=[tool_of(world, "add")])


def _dynamic(world: World) -> Agent[Any, Any]:
    def spent(ctx: RunContextWrapper[Any], agent: Agent[Any, Any]) -> str:
        return f"{agent.name} has made {ctx.usage.requests} requests."

    def early(ctx: RunContextWrapper[Any], agent: Agent[Any, Any]) -> bool:
        return ctx.usage.requests < 2

    async def late(ctx: RunContextWrapper[Any], agent: Agent[Any, Any]) -> bool:
        return ctx.usage.requests >= 2

    tools = [tool_of(world, "early", is_enabled=early), tool_of(world, "late", is_enabled=late), tool_of(world, "always")]
    replies = [
        [call("early", x=1), call("late", x=2)],
        [call("early", x=3), call("always", x=0)],
        [call("early", x=4), call("late", x=5)],
        "done",
    ]
    return agent_of(world, replies, tools=tools, instructions=spent)


def _chosen_models(world: World) -> Agent[Any, Any]:
    """A small model for the first steps, a big one for the last two; both are cut once."""
    small = Brain(world, {"1": cut("I "), "1-1": call("add", x=1), "2": call("add", x=2)}, "small")
    big = Brain(world, {"3": call("add", x=3), "4": "", "4-1": cut("the "), "4-2": "sum"}, "big")
    return Agent("main", model=lambda ctx, agent: small if ctx.turn < 3 else big, tools=[tool_of(world, "add")])


class _Shelf(Toolset[Any]):
    """Offers other tools each turn, and notes which turn it was asked in."""

    name = "shelf"

    def __init__(self, world: World) -> None:
        self._world = world
        self.tools = {name: tool_of(world, name) for name in ("my_saw", "my_axe")}
        self.tools["my_pay"] = tool_of(world, "my_pay", needs_approval=True)

    async def get_tools(self, context: ToolsetContext[Any]) -> list[FunctionTool[Any]]:
        self._world.did(f"toolset in turn {context.turn}")
        return [tool for name, tool in self.tools.items() if name != "my_axe" or context.turn > 1]

    async def get_instructions(self, context: ToolsetContext[Any]) -> str:
        return f"Turn {context.turn}."

    async def find_tool(self, context: ToolsetContext[Any], name: str) -> FunctionTool[Any] | None:
        return self.tools.get(name)


def tools_of_agent(agent: Agent[Any, Any]) -> list[FunctionTool[Any]]:
    """The tools of an agent of a scenario, those of its toolset too."""
    shelves = [toolset for toolset in agent.toolsets if isinstance(toolset, _Shelf | _Picked)]
    return [*agent.tools, *[tool for shelf in shelves for tool in shelf.tools.values()]]


def _toolset(world: World) -> Agent[Any, Any]:
    replies = [
        [call("my_saw", x=1), call("my_axe", x=2), call("my_pay", x=3)],
        [call("my_axe", x=4), call("my_saw", x=5)],
        "built",
    ]
    return agent_of(world, replies, tools=[tool_of(world, "own")], toolsets=[_Shelf(world)])


def _hosted(world: World) -> Agent[Any, Any]:
    async def prompt(ctx: RunContextWrapper[Any], agent: Agent[Any, Any]) -> Prompt:
        return Prompt("pmpt_1", variables={"requests": str(ctx.usage.requests)})

    tools = [tool_of(world, "pay", needs_approval=True), tool_of(world, "look", "none")]
    return agent_of(world, [[call("look", x=1), call("pay", x=2)], call("look", x=3), "paid"], tools=tools, prompt=prompt)


class _Picked(SelectedToolset[Any]):
    """A selection by an embedder that notes when it is asked for the user's request."""

    def __init__(self, world: World) -> None:
        self.tools = {
            name: tool_of(world, name) for name in ("saw_wood", "fix_lamp", "paint_wall", "sweep_floor", "water_plant")
        }
        registry = ToolRegistry[Any](list(self.tools.values()), name="picked")
        super().__init__(registry, top=2, by=_Meaning(world), all_up_to=3, search_above=3)
        self.tools["search_tools"] = tool_of(world, "search_tools", "none")


class _Meaning:
    name = "meaning"

    def __init__(self, world: World) -> None:
        self._world = world

    async def embed(self, texts: Sequence[str], kind: str = "document") -> list[list[float]]:
        await asyncio.sleep(0)
        if texts == ["go"]:
            self._world.did("embedder for the request")
        return [[1.0, *[float(word in text) for word in ("saw", "lamp", "paint", "sweep", "plant")]] for text in texts]


def _selection(world: World) -> Agent[Any, Any]:
    replies = [
        [call("saw_wood", x=1), call("search_tools", query="water the plant")],
        [call("water_plant", x=2), call("sweep_floor", x=3)],
        call("sweep_floor", x=4),
        "all done",
    ]
    return agent_of(world, replies, tools=[tool_of(world, "own")], toolsets=[_Picked(world)])


HERE: ContextVar[World] = ContextVar("the world of the wrappers")


def _wrapped(world: World) -> Agent[Any, Any]:
    HERE.set(world)
    replies = {"1": [call("add", x=1), call("add", x=13)], "3": [call("add", x=3), call("bad", x=4)], "4": "sum"}
    return agent_of(world, replies, tools=[tool_of(world, "add", "idempotent"), tool_of(world, "bad", "none", fails=True)])


async def _wrap_model(
    ctx: TurnContext[Any], agent: Agent[Any, Any], request: ModelRequest, handler: ModelHandler
) -> ModelResponse:
    """Sends other requests, answers the second turn itself, and changes the last reply."""
    HERE.get().did(f"wrap_model_call in turn {ctx.turn}")
    await asyncio.sleep(0)
    if ctx.turn == 2:
        return ModelResponse((FunctionCall("own", "add", '{"x":2}'),), finish="tool_calls")
    reply = await handler(structs.replace(request, instructions=f"Turn {ctx.turn}."))
    return structs.replace(reply, output=(Message("assistant", "the sum"),)) if reply.text == "sum" else reply


async def _wrap_tool(ctx: ToolContext[Any], arguments: dict[str, Any], handler: ToolHandler) -> object:
    """Runs the tool with other arguments, or not at all, and changes what it gave or raised."""
    HERE.get().did(f"wrap_tool_call of {place_of(ctx)}")
    await asyncio.sleep(0)
    if arguments["x"] == 13:
        return "not run"
    try:
        return [await handler({"x": arguments["x"] * 10})]
    except ValueError as error:
        return f"it said {error}"


def _add_forever(world: World) -> Agent[Any, Any]:
    return agent_of(world, [call("add", x=1), call("add", x=2), call("add", x=3), "late"], tools=[tool_of(world, "add")])


def _as_it_stands(error: AgentsException) -> RunState:
    assert isinstance(error.state, RunState)
    return error.state


def _more_turns(state: RunState | None) -> int:
    return 2 if state is None or state.turns < 2 else 10


def _nested_turns(world: World) -> Agent[Any, Any]:
    helper = agent_of(world, [call("dig", x=1), call("dig", x=2), "dug"], "helper", tools=[tool_of(world, "dig")])
    return agent_of(
        world, [[call("pay", x=1), call("helper", input="dig")], "done"], tools=[helper.as_tool(), tool_of(world, "pay")]
    )


def _more_nested_turns(state: RunState | None) -> int:
    return 3 if state is None or state.usage.requests < 3 else 10


def _reconciled(world: World) -> Agent[Any, Any]:
    def known(ctx: ToolContext[Any], arguments: dict[str, Any]) -> str:
        return f"pay gave {arguments['x']}"

    pay = tool_of(world, "pay", reconcile=known)
    return agent_of(world, [[call("pay", x=1), call("pay", x=2)], "paid"], tools=[pay])


def page_tool(world: World) -> FunctionTool[Any]:
    async def page(ctx: ToolContext[Any], x: int) -> str:
        world.did(place_of(ctx))
        return page_text(x)

    return function_tool(page)


def page_text(x: int) -> str:
    return f"page {x}: " + "so on and so forth, " * 100


def _pages(world: World) -> Agent[Any, Any]:
    read = call("read_result", result_id=result_id(page_text(2)), offset=100, length=400)
    pages = [call("page", x=1), [call("page", x=2), call("page", x=3)], call("page", x=4), call("page", x=5), read]
    return agent_of(world, [*pages, call("page", x=6), call("page", x=7), "read"], tools=[page_tool(world)])


def _pages_summed_up(world: World) -> Agent[Any, Any]:
    summary = "The user wants all pages to be read; the first ones were, and nothing was found in them."
    summaries = {f"{n}-summary-1": said for n, said in enumerate(["", "", "", "", "", summary, summary, summary, summary], 1)}
    pages: dict[str, Say] = {str(n): call("page", x=n) for n in range(1, 9)}
    return agent_of(world, {**pages, **summaries, "9": "read"}, tools=[page_tool(world)])


def _pages_refused(world: World) -> Agent[Any, Any]:
    pages: dict[str, Say] = {str(n): call("page", x=n) for n in range(1, 5)}
    too_long = {"5": ContextTooLongError("the prompt is too long")}
    return agent_of(world, {**pages, **too_long, "5-1": call("page", x=5), "6": "read"}, tools=[page_tool(world)])


def _nested_pages(world: World) -> Agent[Any, Any]:
    pages = [call("page", x=n) for n in range(1, 6)]
    helper = agent_of(world, [*pages, "five pages"], "helper", tools=[page_tool(world)])
    replies = [call("page", x=1), call("helper", input="all"), call("page", x=2), call("page", x=3), "done"]
    return agent_of(world, replies, tools=[helper.as_tool(), page_tool(world)])


def _handed_over_pages(world: World) -> Agent[Any, Any]:
    expert = agent_of(world, {str(n): call("page", x=n) for n in (5, 6)} | {"7": "solved"}, "expert", tools=[page_tool(world)])
    replies = [call("page", x=n) for n in (1, 2, 3)]
    return agent_of(world, [*replies, call("transfer_to_expert")], tools=[page_tool(world)], handoffs=[expert])


def in_window(size: int, *strategies: Any) -> RunConfig:
    return RunConfig(token_counter=EstimatingCounter(), window=ContextWindow(size=size, strategies=strategies, reserve=100))


SCENARIOS = [
    Scenario("one answer", _one_answer, "hello there"),
    Scenario("tool turns", _tool_turns, "six", effects=3),
    Scenario("parallel tools of every effect", _parallel, "done", effects=7),
    Scenario("one tool at a time", _parallel, "done", effects=7, config=RunConfig(max_tool_concurrency=1)),
    Scenario("tool error", _tool_error, "one failed", effects=2),
    Scenario("retried", _retried, "done", effects=4, config=RunConfig(tool_retry=ToolRetrySettings(initial_delay=0))),
    Scenario("calls that say how far they have come", _checkpointed, "done", effects=3),
    Scenario(
        "circuit opens",
        _circuit,
        "without it",
        effects=4,
        config=RunConfig(tool_retry=ToolRetrySettings(max_retries=0, circuit_failures=2, circuit_reset=1e9)),
    ),
    Scenario("calls in their declared order", _ordered, "done", effects=10),
    Scenario("unknown tool", _unknown_tool, "so be it", effects=1),
    Scenario("invalid arguments", _invalid_arguments, "mostly wrong", effects=1),
    Scenario("calls of several kinds", _kinds, "found", effects=3, decide=_approve_always),
    Scenario("commands in a shell", _shell, "done", effects=4, config=RunConfig(max_tool_result_chars=200)),
    Scenario("hosted tools and their approvals", _hosted_tools, "found", effects=1, decide=_approve_odd),
    Scenario("approved and rejected", _approvals, "paid", effects=4, decide=_approve_odd),
    Scenario("always approved", _approvals, "paid", effects=6, decide=_approve_always),
    Scenario("always rejected", _approvals, "paid", effects=2, decide=_reject_always),
    Scenario("granted and refused", _granted, "paid", effects=3, config=RunConfig(grants=_grants)),
    Scenario("tainted, nested and after a handoff", _tainted, "noted", effects=11, decide=_approve_later),
    Scenario("handoff with filter", _handoff_filtered, "solved", effects=3),
    Scenario("handoff with payload", _handoff_payload, "solved"),
    Scenario("two handoffs at once behind an approval", _two_handoffs, "from one", effects=1),
    Scenario("handoff and back", _handoff_and_back, "home", effects=1),
    Scenario("agent as tool, twice at once", _agent_as_tool, "both dug", effects=3),
    Scenario("agent as tool, with typed input", _typed_agent_tool, "both dug", effects=2),
    Scenario("nested approval", _nested_approval, "done", effects=5),
    Scenario("nested nested approval and nested handoff", _nested_nested, "deep enough", effects=2, decide=_approve_always),
    Scenario("programs that call tools", _program, "done", effects=5, decide=_approve_odd),
    Scenario("external calls, and a handoff behind one", _external, "weighed", effects=1, decide=_answer),
    Scenario("external calls, approved, guarded, nested", _external_nested, "done", effects=1, decide=_answer),
    Scenario("calls whose bodies ask for an answer", _asking, "done", effects=5, decide=_answer),
    Scenario("edited arguments", _edited, "done", effects=5, decide=_edit_odd),
    Scenario("typed output, one invalid", _typed, [1, 2], effects=1),
    Scenario("output by a call, one aside, one invalid", _output_by_call, [1, 2], effects=1),
    Scenario("output asked for in the instructions", _output_asked_for, 10, effects=1),
    Scenario("output of a function, one refused", _output_function, {"settled": 2}, effects=1),
    Scenario("output validators send back twice, and change it", _validated, "YES", effects=1),
    Scenario("output validators of a function that is called", _validated_by_call, [2, 2, 9], effects=1),
    Scenario("output validators of a tool's result, and in an agent as tool", _validated_tool_result, "add gave 2", effects=2),
    Scenario("output validator never accepts, then it does", _never_accepted, 2, recover=_as_it_stands),
    Scenario("an image, missing and sent back once each", _image, OutputImage(b"hello", "image/png"), effects=1),
    Scenario("critics asked by output validators", _critics, "longer still", effects=6),
    Scenario("input guardrails pass", _input_guardrail, "paid", effects=1),
    Scenario("input guardrail trips, input replaced", _input_tripped, "with pleasure", effects=1, recover=_say_please),
    Scenario("output guardrails pass", _output_guardrail, "all good", effects=1),
    Scenario("output guardrail trips", _output_tripped, OutputGuardrailTripwireTriggered, effects=1),
    Scenario("tool guardrails", _tool_guardrails, "looked", effects=2),
    Scenario("tool output guardrail trips", _tool_tripped, ToolOutputGuardrailTripwireTriggered, effects=2),
    Scenario("guarded and approved, in a guarded agent as tool", _guarded_and_approved, "done", effects=1),
    Scenario("stop on first tool", _stop_on_first, "good gave 3", effects=3),
    Scenario("stop at tools", _stop_at, "finish gave 3", effects=3),
    Scenario("custom tool use", _custom_tool_use, {"texts": ["work gave 2", "work gave 3"]}, effects=3),
    Scenario("continued after length", _continued, "a long long way home", effects=1),
    Scenario("empty replies", _empty_replies, "at last", effects=1),
    Scenario("repeated call ids", _repeated_ids, "same id each time", effects=4),
    Scenario("dynamic tools and instructions", _dynamic, "done", effects=4),
    Scenario("a model chosen for each turn", _chosen_models, "the sum", effects=3),
    Scenario("toolset", _toolset, "built", effects=4, decide=_approve_always),
    Scenario("selection, and a search for tools", _selection, "all done", effects=3),
    Scenario(
        "prompt and history kept at the provider",
        _hosted,
        "paid",
        effects=3,
        config=RunConfig(previous_response_id="resp_0"),
    ),
    Scenario(
        "wrapped model and tools",
        _wrapped,
        "the sum",
        effects=4,
        config=RunConfig(wrap_model_call=_wrap_model, wrap_tool_call=_wrap_tool),
    ),
    Scenario(
        "turn limit, resumed with a higher one", _add_forever, "late", effects=3, recover=_as_it_stands, max_turns=_more_turns
    ),
    Scenario(
        "turn limit in a nested run", _nested_turns, "done", effects=3, recover=_as_it_stands, max_turns=_more_nested_turns
    ),
    Scenario("reconciled", _reconciled, "paid", effects=2),
    Scenario(
        "results cut and dropped", _pages, "read", effects=7, config=in_window(1_500, TruncateToolResults(), DropOldest())
    ),
    Scenario(
        "summed up, or dropped where that fails",
        _pages_summed_up,
        "read",
        effects=8,
        config=in_window(1_500, Summarize(keep_turns=2, max_tokens=50), DropOldest()),
    ),
    Scenario("refused as too long", _pages_refused, "read", effects=5, config=in_window(100_000, SlidingWindow(1))),
    Scenario("nested, each in its own window", _nested_pages, "done", effects=8, config=in_window(1_200, DropOldest())),
    Scenario("handed over in a window", _handed_over_pages, "solved", effects=5, config=in_window(1_200, KeepByPriority())),
]
