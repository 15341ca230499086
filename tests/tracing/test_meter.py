"""Metrics of runs, as a reader of OpenTelemetry's SDK collects them."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader

from agentsdk import (
    Agent,
    MemoryRunStore,
    ModelError,
    ModelPrice,
    RateLimitError,
    RunConfig,
    Runner,
    StoreError,
    UserError,
    function_tool,
)
from agentsdk.ports.meter import Measurement
from agentsdk.testing import ScriptedModel, call
from agentsdk.tracing import OpenTelemetryMeter, meter
from agentsdk.tracing.meter import SECONDS
from agentsdk.types.summary import RunSummary
from agentsdk.types.usage import SpentAttempt, Usage

pytestmark = pytest.mark.anyio

Points = dict[str, list[tuple[dict[str, Any], Any]]]


class Metered:
    """A provider of its own, and what its reader collects."""

    def __init__(self) -> None:
        self.reader = InMemoryMetricReader()
        self.provider = MeterProvider([self.reader], shutdown_on_exit=False)
        self.meter = OpenTelemetryMeter(self.provider)

    def points(self) -> Points:
        data = self.reader.get_metrics_data()
        found: Points = {}
        for resource in data.resource_metrics if data else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    found[metric.name] = [(dict(point.attributes or {}), point) for point in metric.data.data_points]
        return found

    def counts(self, name: str, *labels: str) -> dict[Any, float]:
        """How many values a histogram has, or the sum of a counter, by some of the attributes."""
        totals: dict[Any, float] = {}
        for attributes, point in self.points().get(name, ()):
            key = tuple(attributes.get(label) for label in labels)
            amount = point.count if isinstance(point, HistogramDataPoint) else point.value
            totals[key if len(labels) > 1 else key[0]] = totals.get(key if len(labels) > 1 else key[0], 0) + amount
        return totals


@pytest.fixture
def metered() -> Iterator[Metered]:
    metered = Metered()
    yield metered
    metered.provider.shutdown()


@function_tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@function_tool
def fail() -> str:
    """Fail."""
    raise ValueError("no")


@function_tool(timeout=0.01)
async def wait() -> str:
    """Wait for ever."""
    await asyncio.Event().wait()
    return ""


async def test_a_run_is_measured(metered: Metered) -> None:
    model = ScriptedModel([call("add", a=1, b=2), "3"], name="small")
    agent = Agent("Clerk", tools=[add], model=model)
    config = RunConfig(meter=metered.meter, prices={"scripted": ModelPrice(input=1, output=2)})
    result = Runner.run_streamed(agent, "go", run_config=config)
    async for _ in result.stream_events():
        pass

    points = metered.points()
    who = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "small", "gen_ai.response.model": "scripted"}
    who["gen_ai.agent.name"] = "Clerk"
    assert {name: [attributes for attributes, _ in found] for name, found in points.items()} == {
        "gen_ai.client.operation.duration": [who],
        "gen_ai.client.operation.time_to_first_chunk": [who],
        "gen_ai.client.token.usage": [{**who, "gen_ai.token.type": kind} for kind in ("input", "output")],
        "agentsdk.cost": [who],
        "agentsdk.tool.calls": [{"gen_ai.agent.name": "Clerk", "gen_ai.tool.name": "add", "agentsdk.tool.outcome": "finished"}],
        "gen_ai.execute_tool.duration": [
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.agent.name": "Clerk",
                "gen_ai.tool.name": "add",
                "gen_ai.tool.type": "function",
                "agentsdk.tool.outcome": "finished",
            }
        ],
        "gen_ai.invoke_agent.duration": [
            {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "Clerk", "agentsdk.run.status": "finished"}
        ],
    }
    sums = {attributes["gen_ai.token.type"]: point.sum for attributes, point in points["gen_ai.client.token.usage"]}
    assert sums == {"input": result.usage.input_tokens, "output": result.usage.output_tokens}
    assert points["agentsdk.cost"][0][1].value == pytest.approx(float(result.cost or 0)) != 0
    first = points["gen_ai.client.operation.time_to_first_chunk"][0][1]
    whole = points["gen_ai.client.operation.duration"][0][1]
    assert first.count == whole.count == 2 and 0 < first.sum <= whole.sum
    assert whole.explicit_bounds == tuple(SECONDS), "the buckets that the conventions ask for"


async def test_calls_are_counted_by_what_became_of_them(metered: Metered) -> None:
    @function_tool(needs_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    calls = [
        [call("add", a=1, b=2), call("add", a="x", b=2), call("fail"), call("wait"), call("pay")],
        [call("whatever the model made up")],
        "done",
    ]
    agent = Agent("Clerk", tools=[add, fail, wait, pay], model=ScriptedModel(calls))
    config = RunConfig(meter=metered.meter)
    waiting = await Runner.run(agent, "go", run_config=config)
    assert metered.counts("gen_ai.invoke_agent.duration", "agentsdk.run.status") == {"waiting": 1}
    state = waiting.to_state()
    state.reject(state.interruptions[0])
    await Runner.run(agent, state, run_config=config)

    assert metered.counts("agentsdk.tool.calls", "gen_ai.tool.name", "agentsdk.tool.outcome") == {
        ("add", "finished"): 1,
        ("add", "refused"): 1,
        ("fail", "failed"): 1,
        ("wait", "timed_out"): 1,
        ("pay", "refused"): 1,
        ("_OTHER", "refused"): 1,
    }
    assert metered.counts("gen_ai.execute_tool.duration", "gen_ai.tool.name", "error.type") == {
        ("add", None): 1,
        ("fail", "ValueError"): 1,
        ("wait", "ToolTimeoutError"): 1,
    }
    assert metered.counts("gen_ai.invoke_agent.duration", "agentsdk.run.status") == {"waiting": 1, "finished": 1}


async def test_a_call_that_was_cut_is_cancelled_and_then_in_doubt(metered: Metered) -> None:
    begun = asyncio.Event()

    @function_tool(effect="once")
    async def send() -> str:
        """Send."""
        begun.set()
        await asyncio.Event().wait()
        return ""

    agent = Agent("Clerk", tools=[send], model=ScriptedModel([call("send")]))
    config = RunConfig(meter=metered.meter, store=MemoryRunStore(), run_id="r", cancel_grace=0)
    task = asyncio.create_task(Runner.run(agent, "go", run_config=config))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await Runner.resume(agent, "r", run_config=config)

    outcomes = metered.counts("agentsdk.tool.calls", "agentsdk.tool.outcome")
    assert outcomes == {"cancelled": 1, "in_doubt": 1}
    assert metered.counts("gen_ai.execute_tool.duration", "agentsdk.tool.outcome") == {"cancelled": 1}
    statuses = metered.counts("gen_ai.invoke_agent.duration", "agentsdk.run.status")
    assert statuses == {"ready": 1, "waiting": 1}, "what its process left can go on elsewhere; then it waits for a person"


async def test_a_failed_model_call_has_its_error_and_what_it_cost(metered: Metered) -> None:
    error = RateLimitError("busy")
    error.attempts = (SpentAttempt(Usage(1, 7, 3), "big-1"), SpentAttempt(Usage(1, 1, 1)))
    config = RunConfig(meter=metered.meter, prices={"big": ModelPrice(input=1, output=1)})
    with pytest.raises(ModelError) as raised:
        await Runner.run(Agent("Clerk", model=ScriptedModel([error], name="big")), "go", run_config=config)

    assert metered.counts("gen_ai.client.operation.duration", "error.type") == {"RateLimitError": 1}
    assert metered.counts("gen_ai.invoke_agent.duration", "agentsdk.run.status", "error.type") == {
        ("failed", "RateLimitError"): 1
    }
    spent = sum(point.sum for _, point in metered.points()["gen_ai.client.token.usage"])
    assert spent == raised.value.state.usage.total_tokens == 12
    assert sum(metered.counts("agentsdk.cost", "gen_ai.request.model").values()) == pytest.approx(12e-6)


async def test_a_nested_run_is_no_run_of_its_own(metered: Metered) -> None:
    inner = Agent("Inner", model=ScriptedModel(["yes"]))
    tool = inner.as_tool("ask_inner", "Ask.")
    outer = Agent("Outer", tools=[tool], model=ScriptedModel([call("ask_inner", input="?"), "done"]))
    await Runner.run(outer, "go", run_config=RunConfig(meter=metered.meter))
    assert metered.counts("gen_ai.invoke_agent.duration", "gen_ai.agent.name") == {"Outer": 1}
    assert metered.counts("gen_ai.client.operation.duration", "gen_ai.agent.name") == {"Outer": 2, "Inner": 1}


async def test_nothing_is_measured_where_tracing_is_disabled(metered: Metered) -> None:
    config = RunConfig(meter=metered.meter, tracing_disabled=True)
    await Runner.run(Agent("Clerk", model=ScriptedModel(["yes"])), "go", run_config=config)
    assert not metered.points()


async def test_a_meter_that_raises_harms_no_run(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def keep(self, measured: Measurement) -> None:
            raise OSError(measured)

    agent = Agent("Clerk", model=ScriptedModel(["yes", "no"]))
    with caplog.at_level(logging.WARNING, "agentsdk"):
        for _ in range(2):
            await Runner.run(agent, "go", run_config=RunConfig(meter=Broken()))
    assert [record.name for record in caplog.records] == ["agentsdk.metrics"], "logged once for its class"


async def test_what_a_price_raises_is_logged_and_the_rest_is_recorded(
    metered: Metered, caplog: pytest.LogCaptureFixture
) -> None:
    class Price(ModelPrice):
        def of(self, usage: Usage) -> Decimal:
            raise OSError

    agent = Agent("Clerk", model=ScriptedModel(["yes"]))
    await Runner.run(agent, "go", run_config=RunConfig(meter=metered.meter, prices={"scripted": Price(input=1, output=1)}))
    assert metered.counts("gen_ai.client.operation.duration", "gen_ai.agent.name") == {"Clerk": 1}
    assert [record.name for record in caplog.records] == ["agentsdk.metrics"]


async def test_no_more_is_kept_than_a_bound_where_nobody_reads(metered: Metered, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meter, "MAX_KEPT", 10)
    agent = Agent("Clerk", model=ScriptedModel(["yes"] * 5))
    for _ in range(5):  # a run has two measurements
        await Runner.run(agent, "go", run_config=RunConfig(meter=metered.meter))
    for thread in threading.enumerate():
        if thread.name == "agentsdk metrics":
            await asyncio.to_thread(thread.join)
    assert not metered.meter._instruments._kept
    assert metered.counts("gen_ai.invoke_agent.duration", "gen_ai.agent.name") == {"Clerk": 5}


async def test_totals_are_kept_for_a_bounded_number_of_names(metered: Metered, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meter, "MAX_SERIES", 2)
    for number in range(5):
        agent = Agent(f"Agent {number}", tools=[add], model=ScriptedModel([call("add", a=1, b=2), "3"]))
        await Runner.run(agent, "go", run_config=RunConfig(meter=metered.meter))
    counted = metered.counts("agentsdk.tool.calls", "gen_ai.agent.name", "otel.metric.overflow")
    assert counted == {("Agent 0", None): 1, ("Agent 1", None): 1, (None, True): 3}


@pytest.mark.parametrize("wrong", ["otlp", 1, object()])
def test_what_is_no_provider_is_refused(wrong: Any) -> None:
    with pytest.raises(UserError, match=r"OpenTelemetryMeter\(meter_provider="):
        OpenTelemetryMeter(wrong)


async def test_two_meters_of_one_provider_are_one(metered: Metered, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        config = RunConfig(meter=OpenTelemetryMeter(metered.provider))
        await Runner.run(Agent("Clerk", model=ScriptedModel(["yes"])), "go", run_config=config)
    assert metered.counts("gen_ai.invoke_agent.duration", "gen_ai.agent.name") == {"Clerk": 2}
    assert not caplog.records


FORK = """
import asyncio, os
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from agentsdk import Agent, RunConfig, Runner
from agentsdk.testing import ScriptedModel
from agentsdk.tracing import OpenTelemetryMeter

reader = InMemoryMetricReader()
config = RunConfig(meter=OpenTelemetryMeter(MeterProvider([reader])))
asyncio.run(Runner.run(Agent("Clerk", model=ScriptedModel(["yes"])), "go", run_config=config))
pid = os.fork()
data = reader.get_metrics_data()
print("child" if pid == 0 else "parent", bool(data and data.resource_metrics), flush=True)
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_does_not_count_what_its_parent_has_measured() -> None:
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=60, check=True)
    assert sorted(done.stdout.split("\n")) == ["", "child False", "parent True"]


class Failing(MemoryRunStore):
    """Adds nothing behind the first events."""

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        if expected_rev > 0:
            raise ValueError("full")
        return await super().append(run_id, expected_rev, events, summary)


async def test_what_a_run_asks_its_store_is_measured_by_operation(metered: Metered) -> None:
    for store in (MemoryRunStore(), Failing()):
        agent = Agent("Clerk", tools=[add], model=ScriptedModel([call("add", a=1, b=2), "3"]))
        with suppress(StoreError):
            await Runner.run(agent, "go", run_config=RunConfig(store=store, meter=metered.meter))
    counts = metered.counts("agentsdk.store.duration", "agentsdk.store.operation", "error.type")
    assert counts["append", None] > 1 and counts["append", "ValueError"] > 0
    assert not any(operation.startswith("wait") for operation, _ in counts)
