"""A bank's helper on pydantic-ai: dependencies, a tool that asks again, a call that waits for a person, typed and streamed.

pip install 'pydantic-ai-slim[openai]==2.68.0'
"""

import asyncio
from dataclasses import dataclass, field

from pydantic import BaseModel, Field
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelMessagesTypeAdapter,
    ModelRetry,
    RunContext,
)


@dataclass
class Bank:
    customer: str
    balances: dict[str, int]
    blocked: list[str] = field(default_factory=list)


class Advice(BaseModel):
    """What the customer is told."""

    reply: str
    risk: int = Field(ge=0, le=10)


helper = Agent(
    "openai-chat:gpt-4.1",
    deps_type=Bank,
    output_type=[Advice, DeferredToolRequests],
    instructions="Help the customer, and judge the risk.",
)


@helper.instructions
def customer(ctx: RunContext[Bank]) -> str:
    return f"The customer is {ctx.deps.customer}."


@helper.tool
def balance(ctx: RunContext[Bank], account: str) -> str:
    """The balance of an account."""
    if account not in ctx.deps.balances:
        raise ModelRetry(f"There is no such account, only {', '.join(ctx.deps.balances)}.")
    return f"{ctx.deps.balances[account]} euros"


@helper.tool(requires_approval=True)
def block_card(ctx: RunContext[Bank], card: str) -> str:
    """Block a card."""
    ctx.deps.blocked.append(card)
    return f"Card {card} is blocked."


async def main() -> None:
    bank = Bank("Ada", {"main": 420})
    result = await helper.run("I lost card 11. What is on my account?", deps=bank)
    assert isinstance(result.output, DeferredToolRequests)
    saved = result.all_messages_json()  # a person decides tomorrow, perhaps in another process

    history = ModelMessagesTypeAdapter.validate_json(saved)
    decisions = DeferredToolResults()
    for call in result.output.approvals:
        print(f"approved: {call.tool_name}({call.args})")
        decisions.approvals[call.tool_call_id] = True
    result = await helper.run(message_history=history, deferred_tool_results=decisions, deps=bank)
    assert isinstance(result.output, Advice)
    print(f"{result.output.reply} [risk {result.output.risk}] {bank.blocked}")

    async with helper.run_stream("And now?", message_history=result.all_messages(), deps=bank) as stream:
        async for _partial in stream.stream_output(debounce_by=None):
            pass  # a page would show it
        advice = await stream.get_output()
    assert isinstance(advice, Advice)
    print(f"{advice.reply} [risk {advice.risk}]")


if __name__ == "__main__":
    asyncio.run(main())
