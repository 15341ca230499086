"""What the commands of the tests are given: `tests.cli.app:clerk` and others."""

from __future__ import annotations

from agentsdk import (
    Agent,
    FunctionCall,
    FunctionCallOutput,
    Message,
    ModelBehaviorError,
    ModelRequest,
    RunConfig,
    function_tool,
)
from agentsdk.testing import ScriptedModel, call

EVIL = "\x1b[31mred\u202e\x07[bold]"

quiet = RunConfig(tracing_disabled=True)


@function_tool(needs_approval=True)
def refund(order: int) -> str:
    """Pay an order back."""
    return f"Order {order} is paid back. {EVIL}"


@function_tool
async def hang() -> str:
    """Wait for ever."""
    import asyncio

    print("it hangs", flush=True)
    await asyncio.Event().wait()
    return ""


def _reply(request: ModelRequest) -> str | FunctionCall:
    asked = [item.text for item in request.items if isinstance(item, Message) and item.role == "user"][-1]
    if "hang" in asked:
        return call("hang")
    if isinstance(last := request.items[-1], FunctionCallOutput):
        return f"Done: {last.output}"
    return call("refund", order=7) if "pay" in asked else f"You said {asked!r} after {len(request.items)} items. {EVIL}"


clerk = Agent[None, str](name="Clerk", model=ScriptedModel([_reply] * 1_000), tools=[refund, hang])


@function_tool
def add(x: int, y: int) -> int:
    return x + y


counting = Agent[None, str](name="Counter", model="antropic:claude", tools=[add, clerk.as_tool("ask_clerk")], handoffs=[clerk])
twice = Agent[None, str](name="Twice", model=ScriptedModel([]), tools=[refund, refund])
broken = Agent[None, str](name="Broken", model=ScriptedModel([ModelBehaviorError("the model is out of its mind")]))
nothing = 5
