"""Metrics: what runs used and how long it took, by OpenTelemetry. A service would have an exporter send them to its collector.

pip install opentelemetry-sdk
python examples/metrics.py
"""

import asyncio

from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader

import agentsdk
from agentsdk import Agent, ModelSettings, Runner, function_tool

reader = InMemoryMetricReader()
metrics.set_meter_provider(MeterProvider(metric_readers=[reader]))  # from here on, runs are measured


@function_tool(effect="none")
def count_people(city: str) -> str:
    """The population of a city."""
    return f"{city} has 2.8 million people."


guide = Agent(
    name="Guide",
    tools=[count_people],
    tool_use_behavior="stop_on_first_tool",
    model_settings=ModelSettings(tool_choice="count_people", temperature=0, max_tokens=40),
)


def show(name: str, label: str) -> None:
    """What one instrument has collected, by one of its attributes."""
    data = reader.get_metrics_data()
    assert data is not None
    for metric in data.resource_metrics[0].scope_metrics[0].metrics:
        if metric.name == name:
            for point in metric.data.data_points:
                value = point.sum if isinstance(point, HistogramDataPoint) else getattr(point, "value", 0)
                print(f"{name} {(point.attributes or {})[label]!s}: {value:.0f} {metric.unit}")


async def main() -> None:
    await Runner.run(guide, "How many people live in Rome?")
    show("gen_ai.client.token.usage", "gen_ai.token.type")
    show("agentsdk.tool.calls", "agentsdk.tool.outcome")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
