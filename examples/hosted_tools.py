"""Hosted tools: the provider searches the web and calls a remote MCP server, and asks before it does the latter.

The test kit's server plays OpenAI's part here, so that this runs anywhere. With a key, leave `base_url` out.

python examples/hosted_tools.py
"""

import asyncio

import agentsdk
from agentsdk import Agent, FunctionCall, MessageOutputItem, OpenAIResponsesModel, Runner
from agentsdk.hosted_tools import HostedMCPTool, WebSearchTool
from agentsdk.items import HostedToolItem, Message, OutputText, ProviderItem
from agentsdk.testing import FakeResponsesServer

SEARCHED: dict[str, object] = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "asyncio", "sources": [{"type": "url", "url": "https://docs.python.org/3/"}]},
}
CALLED: dict[str, object] = {
    "type": "mcp_call",
    "id": "mcp_1",
    "server_label": "tickets",
    "name": "open_ticket",
    "output": "Ticket 7",
}
CITED: dict[str, object] = {
    "type": "url_citation",
    "url": "https://docs.python.org/3/",
    "title": "Python",
    "start_index": 0,
    "end_index": 6,
}
ASKED = FunctionCall("mcpr_1", "open_ticket", '{"title":"asyncio"}', kind="mcp_approval", namespace="tickets")
ANSWER = Message("assistant", (OutputText("Opened ticket 7.", (CITED,)),))

TOOLS = [
    WebSearchTool(allowed_domains=["docs.python.org"]),
    HostedMCPTool(server_label="tickets", server_url="https://mcp.example.com", approved_tools=["list_tickets"]),
]


async def main() -> None:
    async with FakeResponsesServer([[ProviderItem("", SEARCHED), ASKED], [ProviderItem("", CALLED), ANSWER]]) as server:
        model = OpenAIResponsesModel("gpt-test", base_url=server.base_url)
        agent = Agent(name="Clerk", tools=TOOLS, model=model)
        result = await Runner.run(agent, "What is asyncio? Open a ticket about it.")
        state = result.to_state()
        for call in state.interruptions:
            print(f"asks:   {call.tool_name}({call.arguments})")
            state.approve(call)
        result = await Runner.run(agent, state)
    for item in result.new_items:
        if isinstance(item, HostedToolItem):
            use = item.use
            print(f"{use.tool}: {use.arguments or use.output} {[source.url for source in use.sources]}")
        elif isinstance(item, MessageOutputItem):
            print(f"answer: {item.raw_item.text} {[source.title for source in item.sources]}")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
