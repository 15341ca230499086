"""Tracing: the spans of a run, and how long each took, by OpenTelemetry. A service would send them to its collector.

pip install opentelemetry-sdk
python examples/tracing.py
"""

import asyncio

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import agentsdk
from agentsdk import Agent, ModelSettings, Runner, function_tool

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)  # from here on, runs record spans


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


def show(spans: tuple[ReadableSpan, ...], parent: int | None = None, depth: int = 0) -> None:
    """The spans below one, each under the span it was part of, with the tokens of a model's reply."""
    for span in spans:
        if (span.parent.span_id if span.parent else None) == parent:
            attributes = span.attributes or {}
            tokens = attributes.get("gen_ai.usage.output_tokens") if span.name.startswith("chat") else None
            print("  " * depth + span.name + (f" [{tokens} tokens]" if tokens else ""))
            assert span.context is not None
            show(spans, span.context.span_id, depth + 1)


async def main() -> None:
    await Runner.run(guide, "How many people live in Rome?")
    show(exporter.get_finished_spans())
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
