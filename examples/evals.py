"""Evals: what yesterday's runs would have done with another prompt, and what it would cost. Offline: the model is scripted."""

import asyncio

from agentsdk import (
    Agent,
    FunctionCallOutput,
    Message,
    ModelPrice,
    ModelRequest,
    ModelResponse,
    RunConfig,
    Runner,
    SQLiteRunStore,
    Usage,
    function_tool,
)
from agentsdk.evals import CaseRun, calls_tools, evaluate, recorded_cases
from agentsdk.testing import ScriptedModel, call
from agentsdk.testing.scripted import Say

LATE = (1815, 1832)
PRICES = {"scripted": ModelPrice(input="2.50", output="10.00")}


@function_tool(effect="none")
def find_order(number: int) -> str:
    """Find an order by its number."""
    return f"order {number} is {'late' if number in LATE else 'on its way'}"


@function_tool(effect="once")
def refund(number: int) -> str:
    """Pay an order back."""
    print(f"order {number} is paid back!")  # never seen: an eval over stored runs moves no money
    return "done"


def reply(request: ModelRequest) -> Say:
    """A model that looks first, is sorry, and pays back what is late if it is told to."""
    first, last = request.items[0], request.items[-1]
    assert isinstance(first, Message)
    number = int(first.text.split()[-1])
    if not isinstance(last, FunctionCallOutput):
        return call("find_order", number=number)
    if "Refund" in request.instructions and number in LATE:
        return call("refund", number=number)
    apology = "" if "sorry" not in request.instructions else "I am so sorry to hear that. "
    said = f"{apology}Your order {number} is {'late' if number in LATE else 'on its way'}."
    return ModelResponse((Message("assistant", said),), Usage(requests=1, input_tokens=80, output_tokens=len(said) // 4))


def brief(run: CaseRun[object, str]) -> bool:
    """A scorer is a function."""
    return len(run.output.split()) <= 8


async def main() -> None:
    clerk = Agent(
        name="Clerk",
        instructions="Say that you are sorry.",
        tools=[find_order, refund],
        model=ScriptedModel([reply] * 100),
    )
    store = SQLiteRunStore("runs.db")
    config = RunConfig(store=store, prices=PRICES)
    for number in (1815, 1821, 1832):  # yesterday
        await Runner.run(clerk, f"Where is order {number}", run_config=config)

    agents = {
        "yesterday": clerk,
        "brief": clerk.clone(instructions="Be brief."),
        "generous": clerk.clone(instructions="Be brief. Refund what is late."),
    }
    cases = await recorded_cases(clerk, run_config=config)
    report = await evaluate("prompts", cases, agents, [brief, calls_tools("find_order")], replay=clerk, run_config=config)
    report.save("report.json")

    for name in report.agents:
        summary, replays = report.summary(name), [one.replay for one in report.only(name).results if one.replay is not None]
        asked = sum(replay.asked for replay in replays)
        print(f"{name}: {summary.passed} of {summary.runs} passed, ${summary.cost} in all, {asked} replies asked for")
    for result in sorted(report.results, key=lambda result: result.case):
        if result.status == "error":
            print(f"{result.agent}: {result.case.partition(' (')[0]}: {result.error}")
    print(f"[{len(report.results)} runs; the whole report: report.json, or print(report)]")
    await store.aclose()


if __name__ == "__main__":
    asyncio.run(main())
