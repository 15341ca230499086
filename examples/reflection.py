"""Reflection: a critic, an agent of its own, reviews what another agent wrote, and sends it back until it is good.

The critic's run is part of the writer's: one usage, one set of limits, one log. It is asked about long texts only.
"""

import asyncio

import agentsdk
from agentsdk import Agent, ModelSettings, RunConfig, RunErrorHandlerInput, RunErrorHandlerResult, RunLimits, Runner
from agentsdk.errors import InvalidOutputError
from agentsdk.events import OutputRejectedStreamEvent
from agentsdk.output import ValidatorContext, reviewed_by

critic = Agent[None, str](
    name="Critic",
    instructions="You review product descriptions. Accept one that names the price; otherwise say that the price is missing.",
    model_settings=ModelSettings(temperature=0),
)


def is_worth_it(context: ValidatorContext[None], text: str) -> bool:
    return len(text) > 20


writer = Agent[None, str](
    name="Writer",
    instructions="Describe the product in one sentence.",
    output_validators=[reviewed_by(critic, when=is_worth_it)],
    max_output_retries=3,
    model_settings=ModelSettings(temperature=0),
)


def keep_last(data: RunErrorHandlerInput) -> RunErrorHandlerResult | None:
    """What the critic never accepted is better than nothing."""
    return RunErrorHandlerResult(data.error.output) if isinstance(data.error, InvalidOutputError) else None


async def main() -> None:
    run = Runner.run_streamed(
        writer,
        "A chair of oak, 120 euros.",
        run_config=RunConfig(limits=RunLimits(turns=12)),  # the critic's turns count too
        error_handlers={"invalid_final_output": keep_last},
    )
    async for event in run.stream_events():
        if isinstance(event, OutputRejectedStreamEvent):
            print(f"{event.validator} says: {event.feedback}")
    print(f"answer: {run.final_output}")
    print(f"{run.usage.requests} requests in all")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
