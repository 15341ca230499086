"""Resources and prompts: listed, read, as input and as instructions of a run."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer

from agentsdk import Agent, Message, Runner
from agentsdk.errors import MCPCallError
from agentsdk.items import InputFile, InputText
from agentsdk.mcp import MCPPrompt, MCPResource, MCPServerInProcess
from agentsdk.testing import ScriptedModel
from tests.mcp.servers import little, of_npm

pytestmark = pytest.mark.anyio


def library() -> MCPServerInProcess:
    official = MCPServer("library")

    @official.resource("book://master", name="Master", mime_type="text/plain")
    def master() -> str:
        return "Manuscripts do not burn."

    @official.resource("book://cover/{title}", mime_type="application/pdf")
    def cover(title: str) -> bytes:
        """A cover."""
        return title.encode()

    @official.prompt()
    def review(title: str) -> str:
        """Review a book."""
        return f"Review {title}."

    return MCPServerInProcess(official, name="library")


async def test_resources_are_listed_and_read() -> None:
    async with library() as server:
        assert await server.list_resources() == (
            MCPResource("book://master", "Master", "", "text/plain"),
            MCPResource("book://cover/{title}", "cover", "A cover.", "application/pdf", True),
        )
        assert await server.read_resource("book://master") == (InputText("[Resource book://master]\nManuscripts do not burn."),)
        assert await server.read_resource("book://cover/x") == (
            InputFile(file_data="data:application/pdf;base64,eA==", filename="x"),
        )
        with pytest.raises(MCPCallError, match="MCP server 'library' refused resources/read"):
            await server.read_resource("book://none")


async def test_a_prompt_is_the_input_or_the_instructions_of_a_run() -> None:
    async with library() as server:
        assert await server.list_prompts() == (MCPPrompt("review", "Review a book.", {"title": True}),)

        async def instructions(context: Any, agent: Any) -> str:
            return await server.get_instructions_of("review", {"title": "it"})

        model = ScriptedModel(["good"])
        agent = Agent[None, str](name="A", model=model, instructions=instructions)
        await Runner.run(agent, list(await server.get_prompt("review", {"title": "Master"})))
        with pytest.raises(MCPCallError):
            await server.get_prompt("none")
    [request] = model.requests
    assert request.instructions == "Review it."
    assert list(request.items) == [Message("user", "Review Master.", untrusted=True)]


async def test_a_server_without_any() -> None:
    async with little() as server:
        assert (await server.list_resources(), await server.list_prompts()) == ((), ())


async def test_those_of_a_real_server() -> None:
    async with of_npm("everything") as server:
        resources = await server.list_resources()
        assert any(resource.is_template for resource in resources)
        assert await server.read_resource(next(one.uri for one in resources if not one.is_template))
        assert {prompt.name for prompt in await server.list_prompts()} >= {"simple-prompt"}
        [message] = await server.get_prompt("simple-prompt")
        assert message.role == "user" and message.content
