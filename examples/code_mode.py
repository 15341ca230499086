"""Code as tool calls: a model writes a program, the process is killed in the middle of it, and another one goes on from there.

python examples/code_mode.py                      # plays both processes, one after the other
python examples/code_mode.py begin|finish FOLDER  # what each of them does
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from typing_extensions import TypedDict  # before Python 3.12 pydantic takes no other

from agentsdk import Agent, RunConfig, Runner, SQLiteRunStore, ToolApprovalItem, ToolContext, function_tool
from agentsdk.testing import ScriptedModel, call
from agentsdk.tools import CodeTool

PROGRAM = """
import asyncio

overdue = [invoice for invoice in await list_invoices() if invoice["days"] > 30]
await asyncio.gather(*[send_reminder(invoice["id"]) for invoice in overdue if invoice["days"] <= 60])
for invoice in overdue:
    if invoice["days"] > 60:
        print(await cancel_contract(invoice["customer"]))
print(len(overdue), "of them overdue,", sum(invoice["euros"] for invoice in overdue), "euros")
"""


class Invoice(TypedDict):
    """What a customer owes."""

    id: int
    customer: str
    euros: int
    days: int


@function_tool(effect="none")
def list_invoices() -> list[Invoice]:
    """The invoices that are not paid."""
    return [Invoice(id=number, customer=f"customer {number}", euros=10 * number, days=15 * number) for number in range(1, 6)]


@function_tool(effect="idempotent")
def send_reminder(ctx: ToolContext[Path], invoice: int) -> str:
    """Remind a customer of an invoice."""
    with (ctx.context / "outbox").open("a") as outbox:
        outbox.write(f"reminder of invoice {invoice}\n")
    return "sent"


@function_tool(needs_approval=True)
def cancel_contract(customer: str) -> str:
    """End the contract with a customer."""
    return f"the contract with {customer} is ended"


model = ScriptedModel([call("run_code", code=PROGRAM), "Three invoices are overdue; one contract is ended."])
clerk = Agent[Path, str](name="Clerk", model=model, tools=[CodeTool([list_invoices, send_reminder, cancel_contract])])


async def begin(folder: Path, config: RunConfig) -> None:
    """Run until a call of the program waits for a person, and die without a word."""
    result = await Runner.run(clerk, "See to what is overdue.", context=folder, run_config=config)
    for item in result.interruptions:
        print(f"begin:  {item.tool_name} {item.arguments} waits; this process is killed", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


async def finish(folder: Path, config: RunConfig) -> None:
    """Approve what waits, and go on in the middle of the program."""
    state = await Runner.load("dunning", run_config=config)
    for item in state.interruptions:
        assert isinstance(item, ToolApprovalItem)
        state.approve(item, by="ann")
    await Runner.decide(state, run_config=config)
    resumed = clerk.clone(model=ScriptedModel(["Three invoices are overdue; one contract is ended."]))
    result = await Runner.resume(resumed, "dunning", context=folder, run_config=config)
    print(f"finish: {result.final_output}")
    printed = str(result.to_input_list()[-2]["output"])
    print("        the program printed:", printed.replace("\n", "\n        ").rstrip())
    print("        the outbox has:", ", ".join(sorted((folder / "outbox").read_text().splitlines())))


async def play(part: str, folder: Path) -> None:
    """What one process does."""
    store = SQLiteRunStore(folder / "runs.db")
    await {"begin": begin, "finish": finish}[part](folder, RunConfig(store=store, run_id="dunning"))
    await store.aclose()


def main() -> None:
    """Play both processes, or the one that is named."""
    if len(sys.argv) > 2:
        asyncio.run(play(sys.argv[1], Path(sys.argv[2])))
        return
    with tempfile.TemporaryDirectory() as folder:
        for part in ("begin", "finish"):
            subprocess.run([sys.executable, __file__, part, folder], check=False)


if __name__ == "__main__":
    main()
