"""Long results: the model is shown head and tail of one, and reads on in it where it has to.

python examples/long_results.py

Its model is scripted, as a small one can not be told to look for a line.
"""

from __future__ import annotations

import asyncio
import re

from agentsdk import Agent, FunctionCallOutput, ModelRequest, RunConfig, Runner, function_tool
from agentsdk.items import FunctionCall
from agentsdk.testing import ScriptedModel, call

LOG = "\n".join([f"{minute:04} GET /orders 200" if minute != 613 else f"{minute:04} GET /orders 500" for minute in range(1440)])


@function_tool(effect="none")
def read_log(day: str) -> str:
    """The requests of a day, one a line."""
    return LOG


def read_on(request: ModelRequest) -> FunctionCall:
    """What a model does with the marker in a result that was cut: it asks for the part that it needs."""
    result = request.items[-1]
    assert isinstance(result, FunctionCallOutput) and isinstance(result.output, str)
    marker = next(line for line in result.output.splitlines() if "read_result" in line)
    print("shown:", len(result.output), "characters, and", marker.strip())
    found = re.search(r"[0-9a-f]{16}", marker)
    assert found is not None
    return call("read_result", result_id=found[0], offset=LOG.index(" 500") - 20, length=60)


def answer(request: ModelRequest) -> str:
    result = request.items[-1]
    assert isinstance(result, FunctionCallOutput)
    print("read: ", str(result.output).splitlines()[0])
    return "One request failed: " + next(line for line in str(result.output).splitlines() if line.endswith(" 500"))


clerk = Agent[None, str](
    name="Operator", tools=[read_log], model=ScriptedModel([call("read_log", day="Monday"), read_on, answer])
)


async def main() -> None:
    result = await Runner.run(clerk, "What failed on Monday?", run_config=RunConfig(max_tool_result_chars=2_000))
    print("answer:", result.final_output)


if __name__ == "__main__":
    asyncio.run(main())
