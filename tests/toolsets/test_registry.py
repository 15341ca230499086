"""`ToolRegistry`: what is registered, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk import Agent, FunctionTool, Runner, UserError, function_tool
from agentsdk.testing import ScriptedModel
from agentsdk.toolsets import ToolRegistry, ToolSummary

pytestmark = pytest.mark.anyio


@function_tool(tags=["billing", "read"], effect="none")
def invoice(number: int) -> str:
    """Show an invoice."""
    return f"invoice {number}"


@function_tool(tags=("mail",))
def send() -> str:
    """Send a mail."""
    return "sent"


def test_tools_are_registered_found_and_taken_out() -> None:
    registry = ToolRegistry[Any]([invoice])
    assert registry.register(send) is send
    assert registry.tools == (invoice, send)
    assert registry.get("send") is send
    assert registry.get("other") is None
    assert len(registry) == 2 and "send" in registry and "other" not in registry
    assert registry.unregister("invoice") is invoice
    assert registry.tools == (send,)


def test_register_makes_a_tool_of_a_function() -> None:
    registry = ToolRegistry[Any]()

    @registry.register
    def shout(text: str) -> str:
        """Shout."""
        return text.upper()

    assert isinstance(shout, FunctionTool)
    assert registry.get("shout") is shout


def test_summaries_say_what_a_choice_needs() -> None:
    registry = ToolRegistry[Any]([invoice, send])
    summary = ToolSummary("invoice", "Show an invoice.", ("billing", "read"), "none")
    assert registry.summaries("billing") == registry.summaries("read", "other") == (summary,)
    assert [one.name for one in registry.summaries()] == ["invoice", "send"]


async def test_a_registry_by_its_tags() -> None:
    registry = ToolRegistry[Any]([invoice, send], instructions="Ask first.")
    model = ScriptedModel(["done"])
    await Runner.run(Agent[None, str](name="A", model=model, toolsets=[registry.tagged("mail", "other")]), "go")
    assert [tool.name for tool in model.requests[0].tools] == ["send"]
    assert model.requests[0].instructions == "Ask first."


def test_what_a_registry_refuses() -> None:
    registry = ToolRegistry[Any]([send], name="r")
    with pytest.raises(UserError, match="registry 'r' has a tool 'send' already"):
        registry.register(send.clone())
    with pytest.raises(UserError, match=r"registry 'r' has no tool 'other', expected one of \['send'\]"):
        registry.unregister("other")
    with pytest.raises(UserError, match="function_tool was given a 'int'"):
        registry.register(3)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="name="):
        ToolRegistry[Any](name="")
    with pytest.raises(UserError, match=r"tags\[0\]=''"):
        registry.tagged("")
    with pytest.raises(UserError, match="tags="):
        send.clone(tags="mail")  # type: ignore[arg-type]
