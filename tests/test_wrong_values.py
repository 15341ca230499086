"""Whatever is given to a declared object by mistake: it works, or it is a `UserError` that names the field. Never a hang.

Each field of each object is given each of the wrong values; what can still be made is then used.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import sys
from collections.abc import Awaitable, Callable, Iterator
from copy import copy
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp.server.mcpserver import MCPServer as OfficialServer
from temporalio.client import Client

import agentsdk
from agentsdk import (
    Agent,
    AgentsException,
    ContextCodec,
    ContextWindow,
    FunctionTool,
    InputGuardrail,
    MemoryRunStore,
    MemorySession,
    Message,
    ModelPrice,
    ModelRequest,
    ModelRetrySettings,
    ModelSettings,
    OutputGuardrail,
    RunConfig,
    RunLimits,
    Runner,
    RunQuery,
    RunState,
    StateError,
    UserError,
    function_tool,
    handoff,
)
from agentsdk.context_window import TiktokenCounter
from agentsdk.core.state import fold
from agentsdk.durable.dbos import DBOSRuns, JSONSerializer
from agentsdk.durable.temporal import EncryptedPayloads, TemporalRuns
from agentsdk.evals import (
    Case,
    CaseResult,
    EvalReport,
    Score,
    assert_passes,
    calls_tools,
    compare,
    contains,
    equals,
    evaluate,
    judge,
    matches_schema,
    max_cost,
    max_duration,
    read_cases,
    recorded_cases,
)
from agentsdk.guardrails import ToolInputGuardrail, ToolOutputGuardrail
from agentsdk.mcp import MCPServerInProcess, MCPServerStdio, MCPServerStreamableHttp, asgi_app
from agentsdk.models import (
    BedrockModel,
    ConcurrencyLimitedModel,
    ModelTimeouts,
    RateLimitedModel,
    Thinking,
    VertexAnthropicModel,
    VertexGoogleModel,
)
from agentsdk.output import OutputAudio, OutputFile, OutputImage, OutputValidator
from agentsdk.patterns import Memory, cited_from, debate, map_reduce, plan_then_execute, router, supervisor, todo_tool, vote
from agentsdk.permissions import Grant
from agentsdk.runs import RunOwner
from agentsdk.sandboxes import BubblewrapSandbox, DockerSandbox, LocalSandbox, SandboxLimits, SandlockSandbox
from agentsdk.sessions import SessionQuery
from agentsdk.testing import ScriptedModel, call
from agentsdk.tools import (
    ApplyPatchTool,
    BraveSearch,
    ChromiumBrowser,
    CodeTool,
    ComputerTool,
    MemoryTool,
    PythonTool,
    ShellTool,
    TavilySearch,
    TextEditorTool,
    TextSearch,
    file_tools,
    web_fetch,
    web_search,
)
from agentsdk.toolsets import SkillsToolset, ToolRegistry
from agentsdk.types.events import ToolsIntended
from agentsdk.types.tape import Tape
from agentsdk.web import Caller, Webhooks, WebhookTarget, WebLimits, ag_ui_app, vercel_app, web_app
from agentsdk.workflow import Condition, Dag, Plan, PlanStep, Step, flow, plan_output, plan_workflow, step, workflow
from tests.local_tools.test_computer import Desk
from tests.shown import show

pytestmark = [
    pytest.mark.anyio,
    # Python's own word about a coroutine function where a plain one is due, beside the typed error.
    pytest.mark.filterwarnings("ignore:coroutine '_junk' was never awaited:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

DEADLINE = 5.0
KEY = b"k" * 32
SECRET = ("api_key", "headers", "extra_headers", "key", "state_key")


class Evil:
    """Raises at whatever Python itself may ask of it."""

    def _raise(self, *args: object) -> Any:
        raise RuntimeError("evil")

    __eq__ = __hash__ = __bool__ = __str__ = __repr__ = __len__ = __iter__ = __call__ = _raise  # type: ignore[assignment]


class YesMan:
    """Has every attribute, each of which is callable and gives the same again."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self


async def _junk(*args: object) -> object:
    return object()


WRONG: dict[str, Any] = {
    "None": None,
    "True": True,
    "0": 0,
    "-1": -1,
    "1.5": 1.5,
    "nan": math.nan,
    "inf": math.inf,
    "an integer of 6,000 digits": 10**6_000,
    "an empty text": "",
    "a text": "low",
    "a lone surrogate": "\ud800",
    "a NUL": "a\0b",
    "bytes": b"sk-secret",
    "an empty list": [],
    "a list of texts": ["low"],
    "a dict": {"verbosity": "low"},
    "a dict with a number for a key": {1: 2},
    "a class": int,
    "an object": object(),
    "a function": lambda *args: object(),
    "a coroutine function": _junk,
    "an evil object": Evil(),
    "a list of evil objects": [Evil()],
    "a yes-man": YesMan(),
}


@function_tool
def add(a: int) -> str:
    """Add."""
    return str(a)


def agent(**fields: Any) -> Agent[Any, Any]:
    model = ScriptedModel([call("add", a=1), "2"])
    return Agent(**{"name": "A", "model": model, "tools": [add], **fields})


async def run(given: Agent[Any, Any], input: Any = "go", **options: Any) -> None:
    await Runner.run(given, input, **options)


def with_tool(tool: Any) -> Awaitable[None]:
    return run(agent(tools=[tool], model=ScriptedModel([call(tool.name, a=1), "2"])))


async def closing(made: Any) -> None:
    await made.aclose()


async def with_sandbox(limits: Any) -> None:
    async with LocalSandbox(unsafe=True, limits=limits) as sandbox:
        await sandbox.run(["true"])


def with_handoff(declared: Any) -> Awaitable[None]:
    return run(agent(tools=[], handoffs=[declared], model=ScriptedModel([call(declared.spec.name), "2"])))


def with_config(**fields: Any) -> Callable[[Any], Awaitable[None]]:
    return lambda made: run(agent(), run_config=RunConfig(**dict.fromkeys(fields, made)))


async def with_session(session: Any) -> None:
    try:
        await run(agent(), session=session)
    finally:
        await getattr(session, "aclose", _junk)()


async def with_store(store: Any) -> None:
    try:
        await run(agent(), run_config=RunConfig(store=store))
    finally:
        await store.aclose()


async def with_model(model: Any) -> None:
    await model.stream(request()).aclose()


async def with_settings(settings: ModelSettings) -> None:
    await run(agent(model_settings=settings))
    for kind in (
        agentsdk.OpenAIChatCompletionsModel,
        agentsdk.OpenAIResponsesModel,
        agentsdk.AnthropicModel,
        agentsdk.GoogleModel,
    ):
        kind("m", base_url="http://127.0.0.1:9", api_key="k").body(request(settings=settings))


def request(**fields: Any) -> ModelRequest:
    return ModelRequest(Tape([Message("user", "go")]), **fields)


async def scored(scorer: Any) -> None:
    await evaluate("e", [Case("x", "2")], agent(), {"it": scorer})


RESULT = CaseResult(case="x", agent="A", repeat=1, status="passed")
REPORT = EvalReport(name="e", agents=("A",), scorers=(), repeats=1, cases=(), results=(RESULT,), at=0.0)


async def unused(made: object) -> None:
    """What would need a server."""


async def check_verdict(ctx: Any, agent: Any, given: Any) -> agentsdk.GuardrailFunctionOutput:
    return agentsdk.GuardrailFunctionOutput(None, False)


def allow(data: Any) -> agentsdk.ToolGuardrailFunctionOutput:
    return agentsdk.ToolGuardrailFunctionOutput.allow()


async def body(ctx: Any, arguments: str) -> str:
    return arguments


def plain(a: int) -> str:
    """Plain."""
    return str(a)


def fetching(
    allowed_hosts: Any = (),
    blocked_hosts: Any = (),
    allowed_networks: Any = (),
    max_bytes: Any = 1000,
    max_chars: Any = 1000,
    seconds: Any = 1.0,
) -> FunctionTool[Any]:
    return web_fetch(
        allowed_hosts=allowed_hosts,
        blocked_hosts=blocked_hosts,
        allowed_networks=allowed_networks,
        max_bytes=max_bytes,
        max_chars=max_chars,
        seconds=seconds,
    )


async def remembered(memory: Memory) -> None:
    try:
        await memory.remember(await Runner.run(agent(), "go"), dream=True)
        await run(agent(tools=[memory.tool()]), await memory.recall() or "go")
    finally:
        await memory.aclose()


async def used_and_closed(made: MCPServerInProcess) -> None:
    try:
        await run(agent(toolsets=[made]))
    finally:
        await made.aclose()


def searching(engine: Any = None, results: Any = 3) -> FunctionTool[Any]:
    return web_search(TextSearch({"a": "b"}) if engine is None else engine, results=results)


def skills_in(folder: Any = ".", name: Any = "skills", max_bytes: Any = 100) -> SkillsToolset[Any]:
    return SkillsToolset(folder, name=name, max_bytes=max_bytes)


def tool_of(func: Any = plain, **fields: Any) -> Any:
    made: Any = function_tool(func, **fields)
    return made if func is not None else made(plain)


tool_of.__signature__ = inspect.signature(function_tool)  # type: ignore[attr-defined]


def guarded(kind: str) -> Callable[[Any], Awaitable[None]]:
    return lambda made: run(agent(**{kind: [made]}))


def guarded_tool(kind: str) -> Callable[[Any], Awaitable[None]]:
    return lambda made: with_tool(function_tool(plain, **{kind: [made]}))  # type: ignore[call-overload]


async def plain_step(x: int) -> int:
    return x


def step_of(
    effect: Any = "once",
    retry: Any = None,
    timeout: Any = None,
    name: Any = None,
    untrusted: Any = False,
    check: Any = None,
) -> Any:
    return step(effect=effect, retry=retry, timeout=timeout, name=name, untrusted=untrusted, check=check)(plain_step)


def workflow_of(name: Any = "w", version: Any = "2", earlier: Any = (), on_cancel: Any = "stop") -> Any:
    return workflow(name=name, version=version, earlier=earlier, on_cancel=on_cancel)(plain_step)


def flow_of(method: str) -> Callable[..., Callable[[], Awaitable[Any]]]:
    """A call of `flow`, to be made in a workflow."""

    def make(**given: Any) -> Callable[[], Awaitable[Any]]:
        return lambda: getattr(flow, method)(**given)

    make.__signature__ = inspect.signature(getattr(flow, method))  # type: ignore[attr-defined]
    return make


async def planned(made: Any) -> None:
    """A plan, or what makes one, carried out."""
    plan = made if isinstance(made, Plan) else Plan([made if isinstance(made, PlanStep) else PlanStep("a", "x", when=[made])])
    await plan_workflow({"x": step(plain_step)}).run(plan)


async def in_workflow(made: Any) -> None:
    @workflow
    async def program(x: int) -> None:
        await (made(x) if isinstance(made, Step) else made())

    await program.run(1)


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}

OBJECTS: dict[str, tuple[Callable[..., Any], dict[str, Any], Callable[[Any], Awaitable[None]]]] = {
    "Agent": (Agent, {"name": "A", "model": ScriptedModel(["2"] * 100_000)}, run),
    "Agent.as_tool": (
        agent().as_tool,
        {},
        lambda made: run(agent(tools=[made], model=ScriptedModel([call(made.name, input="x"), "2"]))),
    ),
    "RunConfig": (RunConfig, {}, lambda made: run(agent(), run_config=made)),
    "EncryptedPayloads": (EncryptedPayloads, {"key": bytes(32)}, unused),
    "RunOwner": (RunOwner, {"name": "engine/r", "attempt": 1}, lambda made: run(agent(), run_config=RunConfig(owner=made))),
    "RunLimits": (RunLimits, {}, lambda made: run(agent(), run_config=RunConfig(limits=made))),
    "ModelSettings": (ModelSettings, {}, with_settings),
    "Thinking": (Thinking, {}, lambda made: with_settings(ModelSettings(thinking=made))),
    "ModelRetrySettings": (ModelRetrySettings, {}, lambda made: with_settings(ModelSettings(retry=made))),
    "ModelPrice": (ModelPrice, {"input": 1, "output": 1}, lambda made: run(agent(), run_config=RunConfig(prices={"m": made}))),
    "ContextWindow": (ContextWindow, {"size": 50_000}, with_config(window=...)),
    "TruncateToolResults": (
        agentsdk.TruncateToolResults,
        {},
        lambda made: run(agent(), run_config=RunConfig(window=ContextWindow(size=50_000, strategies=[made]))),
    ),
    "SlidingWindow": (
        agentsdk.SlidingWindow,
        {"turns": 2},
        lambda made: run(agent(), run_config=RunConfig(window=ContextWindow(size=50_000, strategies=[made]))),
    ),
    "KeepByPriority": (
        agentsdk.KeepByPriority,
        {},
        lambda made: run(agent(), run_config=RunConfig(window=ContextWindow(size=50_000, strategies=[made]))),
    ),
    "Summarize": (
        agentsdk.Summarize,
        {},
        lambda made: run(agent(), run_config=RunConfig(window=ContextWindow(size=50_000, strategies=[made]))),
    ),
    "ContextCodec": (ContextCodec, {"encode": str, "decode": str}, with_config(context_codec=...)),
    "Grant": (Grant, {"permission": "read"}, with_config(grants=...)),
    "Inbox": (agentsdk.Inbox, {}, with_config(inbox=...)),
    "Inbox.put": (agentsdk.Inbox().put, {"message": "x"}, unused),
    "StopAtTools": (agentsdk.StopAtTools, {}, lambda made: run(agent(tool_use_behavior=made))),
    "function_tool": (tool_of, {}, with_tool),
    "FunctionTool": (
        FunctionTool,
        {"name": "t", "description": "d", "params_json_schema": SCHEMA, "on_invoke_tool": body},
        with_tool,
    ),
    "handoff": (handoff, {"agent": agent()}, with_handoff),
    "InputGuardrail": (InputGuardrail, {"guardrail_function": check_verdict, "name": "g"}, guarded("input_guardrails")),
    **{
        kind.__name__: (kind, {"data": b"x", "media_type": "image/png"}, unused)
        for kind in (OutputImage, OutputAudio, OutputFile)
    },
    "OutputValidator": (OutputValidator, {"function": lambda *_: None, "name": "v"}, guarded("output_validators")),
    "OutputGuardrail": (OutputGuardrail, {"guardrail_function": check_verdict, "name": "g"}, guarded("output_guardrails")),
    "ToolInputGuardrail": (
        ToolInputGuardrail,
        {"guardrail_function": allow, "name": "g"},
        guarded_tool("tool_input_guardrails"),
    ),
    "ToolOutputGuardrail": (
        ToolOutputGuardrail,
        {"guardrail_function": allow, "name": "g"},
        guarded_tool("tool_output_guardrails"),
    ),
    "GuardrailFunctionOutput": (
        agentsdk.GuardrailFunctionOutput,
        {"output_info": None, "tripwire_triggered": False},
        lambda made: run(agent(input_guardrails=[InputGuardrail(lambda *given: made, "g")])),
    ),
    "ToolGuardrailFunctionOutput": (
        agentsdk.ToolGuardrailFunctionOutput,
        {},
        lambda made: with_tool(function_tool(plain, tool_input_guardrails=[ToolInputGuardrail(lambda data: made, "g")])),
    ),
    "ToolsToFinalOutputResult": (
        agentsdk.ToolsToFinalOutputResult,
        {"is_final_output": True},
        lambda made: run(agent(tool_use_behavior=lambda ctx, results: made)),
    ),
    "RunErrorHandlerResult": (
        agentsdk.RunErrorHandlerResult,
        {},
        lambda made: run(agent(), max_turns=1, error_handlers={"max_turns": lambda given: made}),
    ),
    "ToolRegistry": (ToolRegistry, {}, lambda made: run(agent(toolsets=[made]))),
    "ApplyPatchTool": (
        ApplyPatchTool,
        {"sandbox": LocalSandbox(".", unsafe=True)},
        lambda made: run(agent(tools=[made])),
    ),
    "CodeTool": (CodeTool, {"tools": [function_tool(plain)]}, lambda made: run(agent(tools=[made]))),
    "ShellTool": (ShellTool, {"sandbox": LocalSandbox(".", unsafe=True)}, lambda made: run(agent(tools=[made]))),
    "ChromiumBrowser": (ChromiumBrowser, {"executable": sys.executable}, closing),
    "ComputerTool": (ComputerTool, {"computer": Desk()}, lambda made: run(agent(tools=[made]))),
    "TextEditorTool": (
        TextEditorTool,
        {"sandbox": LocalSandbox(".", unsafe=True)},
        lambda made: run(agent(tools=[made])),
    ),
    "PythonTool": (PythonTool, {"sandbox": LocalSandbox(".", unsafe=True)}, lambda made: run(agent(tools=[made]))),
    "MemoryTool": (MemoryTool, {"folder": "."}, lambda made: run(agent(tools=[made]))),
    "Memory": (Memory, {"folder": ".", "model": ScriptedModel(["2"] * 100_000)}, remembered),
    "file_tools": (file_tools, {"sandbox": LocalSandbox(".", unsafe=True)}, lambda made: run(agent(tools=made))),
    "web_fetch": (fetching, {}, lambda made: run(agent(tools=[made]))),
    "web_search": (searching, {}, lambda made: run(agent(tools=[made]))),
    "BraveSearch": (BraveSearch, {"api_key": "k"}, lambda made: run(agent(tools=[web_search(made)]))),
    "TavilySearch": (TavilySearch, {"api_key": "k"}, lambda made: run(agent(tools=[web_search(made)]))),
    "TextSearch": (TextSearch, {"texts": {"a": "b"}}, lambda made: run(agent(tools=[web_search(made)]))),
    "SkillsToolset": (skills_in, {}, lambda made: run(agent(toolsets=[made]))),
    "MCPServerStdio": (MCPServerStdio, {"params": {"command": "false"}}, lambda made: run(agent(toolsets=[made]))),
    "MCPServerInProcess": (MCPServerInProcess, {"server": OfficialServer("x")}, used_and_closed),
    "ag_ui_app": (ag_ui_app, {"store": agentsdk.MemoryRunStore(), "agents": agent(), "authenticate": None}, unused),
    "vercel_app": (vercel_app, {"store": agentsdk.MemoryRunStore(), "agents": agent(), "authenticate": None}, unused),
    "web_app": (web_app, {"store": agentsdk.MemoryRunStore(), "agents": agent(), "authenticate": None}, unused),
    "DBOSRuns": (DBOSRuns, {"store": agentsdk.MemoryRunStore(), "agents": agent()}, unused),
    "TemporalRuns": (TemporalRuns, {"client": object.__new__(Client), "task_queue": "q"}, unused),
    "JSONSerializer": (JSONSerializer, {}, unused),
    "Caller": (Caller, {"tenant": "acme"}, unused),
    "WebLimits": (WebLimits, {}, unused),
    "WebhookTarget": (WebhookTarget, {"url": "https://example.com", "secret": b"x" * 32}, unused),
    "Webhooks": (Webhooks, {"store": agentsdk.MemoryRunStore(), "target": lambda run: None}, unused),
    "asgi_app": (asgi_app, {"thing": agent()}, lambda made: made.aclose()),
    "MCPServerStreamableHttp": (MCPServerStreamableHttp, {"params": {"url": "http://127.0.0.1:9/mcp"}}, unused),
    "SandboxLimits": (SandboxLimits, {}, with_sandbox),
    "BubblewrapSandbox": (BubblewrapSandbox, {}, closing),
    "DockerSandbox": (DockerSandbox, {"image": "python:3-slim"}, closing),
    "SandlockSandbox": (SandlockSandbox, {}, closing),
    "LocalSandbox": (LocalSandbox, {"unsafe": True}, closing),
    "step": (step_of, {}, in_workflow),
    "Step": (Step, {"function": plain_step}, in_workflow),
    "vote": (vote, {"agent": agent()}, unused),
    "Case": (Case, {"input": "x"}, lambda made: evaluate("e", [made], agent(), [contains("2")])),
    "Score": (Score, {"value": 1.0}, lambda made: evaluate("e", [Case("x")], agent(), [lambda run: made])),
    "evaluate": (
        evaluate,
        {"name": "e", "cases": [Case("x")], "agents": agent(), "scorers": [contains("2")]},
        lambda running: running,
    ),
    "recorded_cases": (
        recorded_cases,
        {"agent": agent(), "run_config": RunConfig(store=MemoryRunStore())},
        lambda reading: reading,
    ),
    "read_cases": (read_cases, {"path": "cases.json"}, unused),
    "equals": (equals, {}, scored),
    "contains": (contains, {}, scored),
    "matches_schema": (matches_schema, {"schema": int}, scored),
    "calls_tools": (calls_tools, {}, scored),
    "max_duration": (max_duration, {"seconds": 60}, scored),
    "max_cost": (max_cost, {"dollars": 1}, scored),
    "judge": (judge, {"rubric": "x", "model": ScriptedModel(["y"] * 100_000)}, scored),
    "assert_passes": (assert_passes, {"report": REPORT}, unused),
    "compare": (compare, {"report": REPORT, "baseline": REPORT}, unused),
    "workflow": (workflow_of, {}, lambda made: made.run(1)),
    "debate": (debate, {"debaters": [agent()], "judge": agent()}, unused),
    "supervisor": (supervisor, {"lead": agent(), "workers": [agent()]}, unused),
    "map_reduce": (map_reduce, {"mapper": agent(), "reducer": agent()}, unused),
    "cited_from": (cited_from, {"texts": {"a": "b"}}, unused),
    "router": (router, {"classifier": agent(), "agents": [agent()], "default": agent()}, unused),
    "flow.ask": (flow_of("ask"), {"question": "?"}, in_workflow),
    "flow.agent": (flow_of("agent"), {"agent": agent(), "input": "x"}, in_workflow),
    "flow.each": (flow_of("each"), {"function": plain_step, "items": [1]}, in_workflow),
    "flow.wait_for": (flow_of("wait_for"), {"name": "x", "kind": int}, in_workflow),
    "flow.sleep": (flow_of("sleep"), {"seconds": 0}, in_workflow),
    "flow.until": (flow_of("until"), {"at": 0}, in_workflow),
    "Workflow.run": (workflow(plain_step).run, {"input": 1}, lambda running: running),
    "Condition": (Condition, {"field": "a"}, planned),
    "PlanStep": (PlanStep, {"id": "a", "do": "x", "values": {"x": 1}}, planned),
    "Plan": (Plan, {"steps": [PlanStep("a", "x", inputs={"x": "input"})], "input": 1}, planned),
    "Dag": (Dag, {"actions": {"x": step(plain_step)}, "edges": [("input", "x.x")]}, lambda made: made.run(1)),
    "plan_output": (plan_output, {"actions": [step(plain_step)]}, lambda made: run(agent(output_type=made))),
    "plan_then_execute": (
        plan_then_execute,
        {"actions": [step(plain_step)], "planner": agent(tools=[]), "writer": agent()},
        lambda made: made.run("go"),
    ),
    "todo_tool": (todo_tool, {}, lambda made: run(agent(tools=[add, made]))),
    "plan_workflow": (plan_workflow, {"actions": [step(plain_step)]}, lambda made: made.run(Plan([]))),
    "RunQuery": (RunQuery, {}, lambda made: MemoryRunStore().list(made)),
    "SessionQuery": (SessionQuery, {}, lambda made: agentsdk.SQLiteSession.list("sessions.db", made)),
    "MemorySession": (MemorySession, {"session_id": "s"}, with_session),
    "MemorySession.update": (MemorySession("s").update, {}, lambda updating: updating),
    "MemorySession.branch": (MemorySession("s").branch, {"session_id": "b"}, lambda branching: branching),
    "SQLiteSession": (agentsdk.SQLiteSession, {"session_id": "s"}, with_session),
    "PostgresSession": (agentsdk.PostgresSession, {"session_id": "s", "url_or_pool": "postgresql://u@127.0.0.1:9/d"}, unused),
    "RedisSession": (agentsdk.RedisSession, {"session_id": "s", "url_or_client": "redis://127.0.0.1:9/0"}, unused),
    "EncryptedSession": (agentsdk.EncryptedSession, {"session": MemorySession("s"), "key": KEY}, unused),
    "FileRunStore": (agentsdk.FileRunStore, {"directory": "runs"}, with_store),
    "SQLiteRunStore": (agentsdk.SQLiteRunStore, {"db_path": "runs.db"}, with_store),
    "PostgresRunStore": (agentsdk.PostgresRunStore, {"url_or_pool": "postgresql://u@127.0.0.1:9/d"}, unused),
    "RedisRunStore": (agentsdk.RedisRunStore, {"url_or_client": "redis://127.0.0.1:9/0"}, unused),
    "EncryptedRunStore": (agentsdk.EncryptedRunStore, {"store": MemoryRunStore(), "key": KEY}, unused),
    "ModelTimeouts": (ModelTimeouts, {}, unused),
    "OpenAIChatCompletionsModel": (agentsdk.OpenAIChatCompletionsModel, {"model": "m", "api_key": "k"}, with_model),
    "OpenAIResponsesModel": (agentsdk.OpenAIResponsesModel, {"model": "m", "api_key": "k"}, with_model),
    "AnthropicModel": (agentsdk.AnthropicModel, {"model": "m", "api_key": "k"}, with_model),
    "GoogleModel": (agentsdk.GoogleModel, {"model": "m", "api_key": "k"}, with_model),
    "BedrockModel": (BedrockModel, {"model": "m", "api_key": "k", "region": "us-east-1"}, with_model),
    "VertexGoogleModel": (VertexGoogleModel, {"model": "m", "api_key": "k", "project": "p"}, with_model),
    "VertexAnthropicModel": (VertexAnthropicModel, {"model": "m", "api_key": "k", "project": "p"}, with_model),
    "FallbackModel": (agentsdk.FallbackModel, {}, with_model),
    "ConcurrencyLimitedModel": (
        ConcurrencyLimitedModel,
        {"model": ScriptedModel(["x"]), "limit": 1},
        with_model,
    ),
    "RateLimitedModel": (
        RateLimitedModel,
        {"model": ScriptedModel(["x"]), "requests_per_minute": 1},
        with_model,
    ),
    "TiktokenCounter": (TiktokenCounter, {}, unused),
    "trace": (agentsdk.trace, {"workflow_name": "w"}, unused),
    "Runner.compact_session": (
        Runner.compact_session,
        {"session": MemorySession("s"), "window": ContextWindow(size=50_000)},
        lambda compacting: compacting,
    ),
    "Runner.run": (Runner.run, {"starting_agent": agent(), "input": "go"}, lambda running: running),
}

counts = {"cases": 0, "refused": 0, "in use": 0}


@pytest.fixture(scope="module", autouse=True)
def told(request: pytest.FixtureRequest) -> Iterator[None]:
    """Says how many cases there were, also where output is captured."""
    counts.update(dict.fromkeys(counts, 0))
    yield
    line = (
        f"wrong values: {counts['cases']} cases over {len(OBJECTS)} objects and {len(DECISIONS)} methods of a state, "
        f"{counts['refused']} refused where they were given, {counts['in use']} typed errors in use, 0 untyped, 0 hung"
    )
    show(request.config, [line])


@pytest.mark.parametrize("name", OBJECTS)
async def test_every_field_takes_a_wrong_value_or_says_what_it_expects(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENTSDK_MODEL", "groq:m")  # what no model means: one that has no key
    make, valid, use = OBJECTS[name]
    faults: list[str] = []
    cases = 0
    for field, parameter in parameters(make):
        for label, value in WRONG.items():
            cases += 1
            outcome = await tried(make, valid, field, parameter, value, use)
            if outcome:
                faults.append(f"{name}({field}={label}): {outcome}")
    counts["cases"] += cases
    assert not faults, f"{len(faults)} of {cases}:\n" + "\n".join(faults)


DECISIONS: dict[str, dict[str, Any]] = {
    "approve": {"item": ..., "always_approve": False, "reason": "", "by": "", "expires_at": None},
    "reject": {"item": ..., "always_reject": False, "reason": "", "by": ""},
    "provide_result": {"item": ..., "result": "r"},
    "retry": {"item": ...},
    "mark_failed": {"item": ..., "reason": "r"},
    "raise_limit": {"kind": "turns", "allowed": 40},
    "replace_input": {"new_input": "x"},
    "add_input": {"new_input": "x"},
    "restore_view": {},
    "to_string": {"state_key": None},
    "to_json": {"state_key": None},
    "from_string": {"agent": ..., "text": ..., "state_key": None, "run_id": None},
    "from_json": {"agent": ..., "data": ..., "state_key": None, "run_id": None},
}


@pytest.mark.parametrize("method", DECISIONS)
async def test_a_decision_on_a_state_takes_a_wrong_value_or_says_what_it_expects(method: str) -> None:
    paying = function_tool(plain, effect="once", needs_approval=method in ("approve", "reject"))
    declared = agent(tools=[paying], model=ScriptedModel([call("plain", a=1), *["2"] * 1_000]))
    state = (await Runner.run(declared, "go")).to_state()
    if method in ("provide_result", "retry", "mark_failed"):
        log = tuple(state.value.log)
        begun = next(number for number, event in enumerate(log, 1) if isinstance(event, ToolsIntended))
        state = (await Runner.run(declared, RunState(fold(log[:begun])))).to_state()
    given = dict(DECISIONS[method])
    for name, value in {"agent": declared, "text": state.to_string(), "data": state.to_json()}.items():
        if name in given:
            given[name] = value
    if "item" in given:
        (given["item"],) = state.interruptions
    faults: list[str] = []
    for field in given:
        for label, value in WRONG.items():
            counts["cases"] += 1
            at = copy(state)

            def decided(at: RunState = at, **arguments: Any) -> RunState:
                told = getattr(at, method)(**arguments)
                return told if isinstance(told, RunState) else at

            parameter = inspect.Parameter(field, inspect.Parameter.KEYWORD_ONLY)
            outcome = await tried(decided, given, field, parameter, value, lambda made: run(declared, input=made))
            if outcome:
                faults.append(f"RunState.{method}({field}={label}): {outcome}")
    assert not faults, f"{len(faults)}:\n" + "\n".join(faults)


@pytest.mark.parametrize(
    ("decide", "message"),
    [
        (lambda state, item: state.approve(item, reason=5), r"RunState\.approve has reason=5, expected a str"),
        (
            lambda state, item: state.approve(item, expires_at="soon"),
            r"RunState\.approve has expires_at='soon', expected a f",
        ),
        (lambda state, item: state.approve(item, 1), r"RunState\.approve has always_approve=1, expected True or False"),
        (lambda state, item: state.reject(item, by=None), r"RunState\.reject has by=None, expected a str"),
        (lambda state, item: state.provide_result(item, result=5), r"RunState\.provide_result has result=5, expected a str"),
        (lambda state, item: state.mark_failed(item, None), r"RunState\.mark_failed has reason=None, expected a str"),
        (lambda state, item: state.raise_limit("turns", []), r"RunState\.raise_limit has allowed=\[\], expected a number"),
        (lambda state, item: state.raise_limit(Evil(), 4), r"limit <Evil> cannot be raised so"),
        (lambda state, item: state.replace_input(Evil()), r"the input raised RuntimeError while it was read"),
        (lambda state, item: state.retry(Evil()), r"a 'Evil' does not wait in this state"),
    ],
)
async def test_a_wrong_decision_names_the_method(decide: Callable[[RunState, Any], None], message: str) -> None:
    declared = agent(tools=[function_tool(plain, needs_approval=True)], model=ScriptedModel([call("plain", a=1)]))
    state = (await Runner.run(declared, "go")).to_state()
    with pytest.raises(UserError, match=message):
        decide(state, state.interruptions[0])
    assert state.pieces()[1] == ()


def parameters(make: Callable[..., Any]) -> list[tuple[str, inspect.Parameter]]:
    if isinstance(make, type) and issubclass(make, msgspec.Struct):
        return [(field, inspect.Parameter(field, inspect.Parameter.KEYWORD_ONLY)) for field in make.__struct_fields__]
    return list(inspect.signature(make).parameters.items())


async def tried(
    make: Callable[..., Any],
    valid: dict[str, Any],
    field: str,
    parameter: inspect.Parameter,
    value: Any,
    use: Callable[[Any], Awaitable[None]],
) -> str:
    """What is wrong with what comes of it; `""` for nothing."""
    positional = [value] if parameter.kind is inspect.Parameter.VAR_POSITIONAL else []
    if parameter.kind is inspect.Parameter.VAR_KEYWORD:
        return ""
    try:
        made = make(*positional, **(valid if positional else {**valid, field: value}))
    except (UserError, StateError) as error:
        counts["refused"] += 1
        return message_fault(field, error)
    except BaseException as error:
        return f"{type(error).__name__}: {told_by(error)}"
    try:
        async with asyncio.timeout(DEADLINE):
            await use(made)
    except AgentsException as error:
        counts["in use"] += 1
        return message_fault(field, error)
    except TimeoutError:
        return "hangs"
    except Exception as error:
        return f"in use {type(error).__name__}: {told_by(error)}"
    return ""


def message_fault(field: str, error: AgentsException) -> str:
    message = str(error)
    if "please report it" in message:
        return f"{message} ({error.__cause__.__class__.__name__}: {told_by(error.__cause__)})"
    return f"shows a secret: {message}" if "sk-secret" in message and field in SECRET else ""


def told_by(error: BaseException | None) -> str:
    try:
        return str(error)
    except Exception:
        return "<no text>"
