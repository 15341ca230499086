"""Execution of calls: what is checked first, what is tried again, in which order calls run, when a broken tool is left alone.

python examples/execution.py

Its model is scripted: a small one can not be told to make several calls in one reply, and to call a tool again and again.
"""

from __future__ import annotations

import asyncio
from typing import Any

from agentsdk import Agent, FunctionCallOutput, RunConfig, RunLimits, Runner, ToolContext, function_tool
from agentsdk.errors import TransientToolError
from agentsdk.testing import ScriptedModel, call
from agentsdk.tools import ToolRetrySettings


@function_tool(effect="none", retry=ToolRetrySettings(initial_delay=0.01))
async def get_price(ctx: ToolContext[None], item: str) -> str:
    """The price of an item. Its service is busy at first: the run tries again, and the model never hears of it."""
    print(f"get_price, attempt {ctx.attempt}")
    if ctx.attempt == 1:
        raise TransientToolError("503 from the shop")
    return f"{item} costs 5"


def in_project(ctx: ToolContext[None], arguments: dict[str, Any]) -> str | None:
    """A business rule, asked once the arguments fit the schema: what it says goes to the model, and nothing is run."""
    return "only files of the project may be written" if arguments["path"].startswith("/") else None


@function_tool(check=in_project, resource=lambda arguments: arguments["path"])
async def write_file(path: str, text: str) -> str:
    """Write a file. Calls on one file follow each other, those on others run beside them."""
    print(f"write {path}: {text}")
    await asyncio.sleep(0)
    return "written"


@function_tool(effect="none", after=("write_file",))
async def run_tests() -> str:
    """Run the tests. Wherever the model has put it: once all files of the reply are written."""
    print("test")
    return "passed"


@function_tool(effect="none", retry=ToolRetrySettings(max_retries=0, circuit_failures=2))
async def search(query: str) -> str:
    """Search the web. Nobody answers: after two failures the circuit opens, and the body is not run."""
    print(f"search {query}")
    raise ConnectionError("no route to host")


model = ScriptedModel(
    [
        call("get_price", item="A lamp"),
        [call("write_file", path="a.py"), call("write_file", path="/etc/hosts", text="none")],
        [
            call("run_tests"),
            call("write_file", path="a.py", text="one"),
            call("write_file", path="a.py", text="two"),
            call("write_file", path="b.py", text="three"),
        ],
        *[call("search", query=query) for query in ("lamp", "lamps", "a lamp")],
        "Done.",
    ]
)
agent = Agent[None, str](name="Coder", model=model, tools=[get_price, write_file, run_tests, search])


async def main() -> None:
    config = RunConfig(limits=RunLimits(consecutive_errors=None))  # else the failing search would end the run
    result = await Runner.run(agent, "Build it.", run_config=config)
    print("told:")
    for item in result.to_state().items():
        if isinstance(item, FunctionCallOutput):
            print("-", item.output)


if __name__ == "__main__":
    asyncio.run(main())
