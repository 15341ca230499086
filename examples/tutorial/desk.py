"""The desk of the tutorial, with a store: `python desk.py`, again after a crash, and it goes on from where it stood.

With CRASH=1 the process is killed while it writes the letter.
"""

import asyncio
import os
import signal
from pathlib import Path

import agentsdk
from agentsdk import Agent, FunctionCall, FunctionCallOutput, ModelRequest, RunConfig, Runner, SQLiteRunStore, function_tool
from agentsdk.testing import ScriptedModel, call


@function_tool
def refund(number: int) -> str:
    """Pay an order back."""
    with Path("paid.txt").open("a") as paid:
        paid.write(f"order {number}\n")
    return f"Order {number} is paid back."


@function_tool(effect="idempotent")
def write_letter(number: int) -> str:
    """Write to the customer that an order is paid back."""
    if os.environ.get("CRASH"):
        os.kill(os.getpid(), signal.SIGKILL)
    return "The letter is on its way."


def reply(request: ModelRequest) -> FunctionCall | str:
    """What the model says next. A real model needs no such function."""
    says: list[FunctionCall | str] = [
        call("refund", number=1815),
        call("write_letter", number=1815),
        "Your money is on its way.",
    ]
    return says[sum(isinstance(item, FunctionCallOutput) for item in request.all_items)]


desk = Agent[None, str](name="Desk", tools=[refund, write_letter], model=ScriptedModel([reply] * 9))


async def main() -> None:
    store = SQLiteRunStore("desk.db")
    config = RunConfig(store=store, lease=2)  # a run of a process that died is free after two seconds
    result = await Runner.drive(desk, "complaint-7", "Order 1815 came broken.", run_config=config)
    print(result.final_output)
    await store.aclose()
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
