"""An agent as an MCP server, and a client of it: the server is killed while its question is open, and the next one goes on.

python examples/mcp_server.py
python -m agentsdk mcp mcp_server:clerk --http 127.0.0.1:0 --store sqlite:runs.db     # what it starts
npx @modelcontextprotocol/inspector --cli python -m agentsdk mcp mcp_server:clerk --method tools/list
"""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from mcp import Client
from mcp_types import ElicitResult, TextContent

from agentsdk import Agent, ModelSettings, function_tool

PATHS = os.pathsep.join(filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))))
"""Where a server finds this module."""

CALL = {"input": "Please pay order 7 back.", "run_id": "refund-7"}


@function_tool(needs_approval=True)
def refund(order: int) -> str:
    """Pay an order back."""
    return f"Order {order} is paid back."


# The call is forced because a small model would often rather talk, and what the tool returns is the answer.
clerk = Agent[None, str](
    name="Clerk",
    tools=[refund],
    tool_use_behavior="stop_on_first_tool",
    handoff_description="Looks after orders.",
    model_settings=ModelSettings(tool_choice="refund", temperature=0, max_tokens=60),
)


def start_server() -> tuple[subprocess.Popen[str], str]:
    """A server as a process of its own, and its address."""
    command = ["-m", "agentsdk", "mcp", "mcp_server:clerk", "--http", "127.0.0.1:0", "--store", "sqlite:runs.db", "--verbose"]
    environment = {**os.environ, "PYTHONPATH": PATHS}
    process = subprocess.Popen([sys.executable, *command], stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr is not None
    for line in process.stderr:
        if listens := re.search(r"listens at (http://\S+)", line):
            return process, f"{listens[1]}/mcp"
    raise SystemExit("the server did not start")


async def approve(context: Any, params: Any) -> ElicitResult:
    """The person at the client, who is shown a form."""
    print("asked:   ", params.message.partition("(")[0])
    return ElicitResult(action="accept", content={"approve": True})


async def main() -> None:
    first, address = start_server()
    async with Client(address, elicitation_callback=approve) as client:
        print("tools:   ", *[tool.name for tool in (await client.list_tools()).tools])
        asked = await client.session.call_tool("Clerk", CALL, allow_input_required=True)
        print("answered:", asked.result_type)
    first.kill()
    print("killed:   the server, with its question open")
    second, address = start_server()
    async with Client(address, elicitation_callback=approve) as client:
        for _ in range(2):  # the second time nothing is done, and nobody is asked
            result = await client.call_tool("Clerk", CALL)
            assert isinstance(result.content[0], TextContent)
            print("result:  ", result.content[0].text)
        stands = await client.call_tool("get_run", {"run_id": "refund-7"})
        print("status:  ", stands.structured_content["status"] if stands.structured_content else "")
    second.terminate()
    for process in (first, second):
        process.communicate()


if __name__ == "__main__":
    asyncio.run(main())
