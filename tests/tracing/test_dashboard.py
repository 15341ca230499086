"""The dashboard for Grafana asks for metrics that there are, by attributes that they have."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import Histogram, InMemoryMetricReader

from agentsdk import Agent, MemoryRunStore, ModelError, ModelPrice, RunConfig, Runner, Worker, function_tool
from agentsdk.cli.probe import probe
from agentsdk.testing import ScriptedModel, call
from agentsdk.tracing import OpenTelemetryMeter

pytestmark = pytest.mark.anyio

DASHBOARD = Path(__file__).parents[2] / "docs" / "grafana.json"


@function_tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def named(name: str) -> str:
    """As Prometheus writes a name."""
    return name.replace(".", "_")


async def recorded() -> dict[str, set[str]]:
    """What Prometheus has of a run and of one that failed: its metrics and their labels."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    config = RunConfig(
        store=MemoryRunStore(), meter=OpenTelemetryMeter(provider), prices={"scripted": ModelPrice(input=1, output=1)}
    )
    agent = Agent("Clerk", tools=[add], model=ScriptedModel([call("add", a=1, b=2), "3", ValueError()]))
    result = Runner.run_streamed(agent, "go", run_config=config)
    async for _ in result.stream_events():
        pass
    with pytest.raises(ModelError):
        await Runner.run(agent, "go", run_config=config)
    data = reader.get_metrics_data()
    assert data is not None
    found: dict[str, set[str]] = {}
    for metric in data.resource_metrics[0].scope_metrics[0].metrics:
        labels = {named(label) for point in metric.data.data_points for label in point.attributes or ()}
        name = named(metric.name) + ("_seconds" if metric.unit == "s" else "")
        if isinstance(metric.data, Histogram):
            found.update({f"{name}_bucket": labels | {"le"}, f"{name}_sum": labels, f"{name}_count": labels})
        else:
            found[f"{name}_total"] = labels
    provider.shutdown()
    return found


async def probed() -> set[str]:
    """What a worker's probe has for Prometheus."""
    agent = Agent("Clerk", model=ScriptedModel([]))
    async with probe(Worker(MemoryRunStore(), agents=[agent]), "127.0.0.1:0") as (host, port), httpx.AsyncClient() as client:
        text = (await client.get(f"http://{host}:{port}/metrics", timeout=60)).text
    return set(re.findall(r"^(agentsdk_\w+) ", text, re.MULTILINE))


async def test_the_dashboard_asks_for_what_is_recorded() -> None:
    found, figures = await recorded(), await probed()
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    used: set[str] = set()
    for panel in panels:
        for target in panel["targets"]:
            if gauge := re.fullmatch(r"(?:max|sum)\((\w+)\)", target["expr"]):
                assert gauge[1] in figures, panel["title"]
                continue
            [metric] = re.findall(r"(\w+)(?:\{[^}]*\})?\[\$__rate_interval\]", target["expr"])
            labels = re.findall(r"by \(([^)]+)\)", target["expr"])[0].split(", ")
            labels += re.findall(r"\{(\w+)!=", target["expr"]) + re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])
            assert metric in found, (panel["title"], metric)
            assert set(labels) <= found[metric], (panel["title"], labels)
            used.add(re.sub("_(bucket|sum|count)$", "", metric))
    assert used == {re.sub("_(bucket|sum|count)$", "", name) for name in found}, "every instrument is on it"
