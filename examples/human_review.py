"""A draft that people review: they let a week pass, send it back, and edit it. Between any two of these the process may end.

python examples/human_review.py    # its models follow a script
"""

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agentsdk import Agent, RunConfig, Runner, SQLiteRunStore
from agentsdk.errors import StepFailedError
from agentsdk.runs import Decision
from agentsdk.testing import ScriptedModel
from agentsdk.workflow import flow, step, workflow

WEEK = 7 * 24 * 3600.0


@dataclass
class Review:
    verdict: Literal["publish", "again", "drop"]
    text: str = ""
    """The edited text; what is wrong with it, where it is to be written again."""


writer = Agent(
    name="Writer",
    instructions="Write one sentence about the product.",
    model=ScriptedModel(["The best chair ever.", "A chair of oak, for 120 euros."]),
)


@step(effect="idempotent")
async def publish(text: str) -> str:
    print(f"  published: {text}")
    return text


async def reviewed(draft: str) -> Review:
    """What a person says to a draft: whoever is asked first; after a week without an answer, the head of the team."""
    try:
        return await flow.ask("Shall this be published?", draft, answer=Review, timeout=WEEK)
    except StepFailedError:  # nobody has answered in time
        return await flow.ask("Nobody has answered. Shall it be published?", draft, answer=Review)


@workflow
async def announce(product: str) -> str | None:
    task = product
    for _ in range(3):
        draft = await flow.agent(writer, task)
        review = await reviewed(draft)
        if review.verdict == "publish":
            return await publish(review.text or draft)
        if review.verdict == "drop":
            return None
        task = f"{product}\nThe last draft: {draft}\nWhat is wrong with it: {review.text}"
    return None


ANSWERS = [
    None,  # nobody answers: a week later somebody else is asked
    {"verdict": "again", "text": "Name the price."},
    {"verdict": "publish", "text": "A chair of solid oak, for 120 euros."},
]


class Clock:
    """The time of the example, which goes on only when it is told to."""

    def __init__(self) -> None:
        self.now = 1_790_000_000.0

    def time(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store, clock = SQLiteRunStore(Path(folder) / "runs.db"), Clock()
        config = RunConfig(store=store, clock=clock)
        result = await announce.drive("chair", "chair", run_config=config)
        for answer in ANSWERS:  # the process may end before each: whoever has the store can answer, and go on
            item = result.interruptions[0]
            print(f"asked: {item.arguments}")
            if answer is None:
                clock.now += WEEK
            else:
                await Runner.decide("chair", Decision(item.call_id, "answer", answer=answer, by="ann"), run_config=config)
            result = await announce.drive("chair", "chair", run_config=config)
        print(f"final: {result.final_output}\n")
        print(announce.draw(await Runner.load("chair", run_config=config)))  # which way it took, for a page that shows Mermaid
        await store.aclose()


if __name__ == "__main__":
    asyncio.run(main())
