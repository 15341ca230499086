"""A plan: a model makes it, a person sees its drawing and changes it, and another process carries it out, steps side by side.

python examples/plan.py    # its models follow a script
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from agentsdk import Agent, RunConfig, Runner, SQLiteRunStore, ToolAnswerItem
from agentsdk.patterns import plan_then_execute
from agentsdk.testing import ScriptedModel
from agentsdk.workflow import Plan, PlanReview, PlanStep, step

PRICES = {"train": 120, "plane": 90, "hotel": 80}


@step(effect="none", retry=0)
async def price(of: str, nights: int = 1) -> int:
    """What a train, a plane or a hotel costs, in euros."""
    if of == "plane":
        raise LookupError("there is no seat left")
    return PRICES[of] * nights


@step(effect="idempotent")
async def book(way: str, euros: int) -> str:
    """Book a way to get there."""
    print(f"  books the {way} for {euros} euros")
    return f"{way} booked"


@book.undo
async def cancel(booking: str) -> None:
    print(f"  cancels: {booking}")


def planned(id: str, do: str, **inputs: str | int) -> dict[str, object]:
    """A step, as a model gives it."""
    given = [{"name": name, "source": None, "value": value} for name, value in inputs.items() if value != "a result"]
    taken = [{"name": name, "source": "way", "value": None} for name, value in inputs.items() if value == "a result"]
    return {"id": id, "do": do, "task": "", "inputs": given + taken, "after": [], "when": []}


def plan(request: object) -> str:
    """What the planner says: by plane, and once it is told that this failed, by train."""
    if "no seat left" in str(request):
        return json.dumps({"steps": [planned("rail", "price", of="train"), planned("go", "book", way="train", euros=120)]})
    way, stay = planned("way", "price", of="plane"), planned("stay", "price", of="hotel", nights=9)
    return json.dumps({"steps": [way, stay, planned("booked", "book", way="plane", euros="a result")]})


ACTIONS = price, book
planner = Agent(name="Planner", instructions="Plan journeys.", model=ScriptedModel([plan, plan]))
writer = Agent(name="Writer", instructions="Answer the customer.", model=ScriptedModel(["You go by train, for 120 euros."]))
journey = plan_then_execute(ACTIONS, planner, writer, review=True)


def shown(item: ToolAnswerItem) -> Plan:
    """The plan that a person is asked about."""
    return Plan.from_json(json.dumps(json.loads(item.arguments)["about"]["plan"]))


async def go_on(database: Path, *, is_first: bool) -> bool:
    """What one process does: it goes on with the run until that waits for a person, who answers. False once it has ended."""
    store = SQLiteRunStore(database)
    config = RunConfig(store=store)
    result = await journey.drive("oslo", "To Oslo for two nights.", run_config=config)
    for item in result.interruptions:
        assert isinstance(item, ToolAnswerItem)
        proposed = shown(item)
        print(proposed.draw(actions=ACTIONS) if is_first else f"a person sees: {proposed.to_json()}")
        answer = PlanReview()
        if is_first:  # nine nights are too many
            stay = PlanStep("stay", "price", values={"of": "hotel", "nights": 2})
            answer = PlanReview(plan=Plan([stay if one.id == "stay" else one for one in proposed.steps]))
        state = result.to_state()
        state.answer(item, answer, by="ann")
        await Runner.decide(state, run_config=config)
    if result.is_finished:
        for done in result.final_output.rounds:
            print(f"plan: {', '.join(f'{id} {one.status}' for id, one in done.steps.items())}; {done.reason or 'the first'}")
        print(f"the hotel: {result.final_output.outputs['stay']} euros; answer: {result.final_output.answer}")
    await store.aclose()
    return not result.is_finished


def main() -> None:
    if len(sys.argv) > 1:
        asyncio.run(go_on(Path(sys.argv[1]), is_first=False))
        return
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "runs.db"
        asyncio.run(go_on(database, is_first=True))
        for _ in range(2):  # each a new process, which knows the store alone
            subprocess.run([sys.executable, __file__, str(database)], check=True)


if __name__ == "__main__":
    main()
