"""Self-consistency: a question is put to one agent several times, and the answer that came most often counts."""

import asyncio

import agentsdk
from agentsdk import Agent, ModelSettings, RunConfig, RunLimits
from agentsdk.patterns import vote

# The samples must be able to differ, so the temperature is above 0.
solver = Agent[None, int](
    name="Solver",
    instructions="Answer with the number only.",
    output_type=int,
    model_settings=ModelSettings(temperature=0.8, max_tokens=40),
)


async def main() -> None:
    limits = RunLimits(turns=10, tokens=20_000)  # of all samples together
    result = await vote(solver, samples=5).run("What is 17 times 23?", run_config=RunConfig(limits=limits))
    outcome = result.final_output
    for count in outcome.counts:
        print(f"{count.votes} x {count.answer}")
    print(f"answer: {outcome.answer}{' (a tie)' if outcome.is_tie else ''}")
    print(f"[{outcome.samples} samples, {outcome.failed} failed, {result.usage.total_tokens} tokens]")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
