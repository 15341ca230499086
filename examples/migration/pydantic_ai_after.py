"""The bank's helper on agentsdk: the same, and no call is repeated when the process dies while a person decides, or after."""

import asyncio
from dataclasses import dataclass, field

from pydantic import BaseModel, Field

import agentsdk
from agentsdk import (
    Agent,
    AgentOutputSchema,
    RunConfig,
    RunContextWrapper,
    Runner,
    SQLiteRunStore,
    SQLiteSession,
    ToolContext,
    function_tool,
)


@dataclass
class Bank:
    customer: str
    balances: dict[str, int]
    blocked: list[str] = field(default_factory=list[str])


class Advice(BaseModel):
    """What the customer is told."""

    reply: str
    risk: int = Field(ge=0, le=10)


def instructions(ctx: RunContextWrapper[Bank], agent: Agent[Bank, Advice]) -> str:
    return f"Help the customer, and judge the risk.\n\nThe customer is {ctx.context.customer}."


@function_tool(effect="none")
def balance(ctx: ToolContext[Bank], account: str) -> str:
    """The balance of an account."""
    if account not in ctx.context.balances:
        raise LookupError(f"There is no such account, only {', '.join(ctx.context.balances)}.")
    return f"{ctx.context.balances[account]} euros"


@function_tool(needs_approval=True)  # effect="once": after a crash it is never run again by itself
def block_card(ctx: ToolContext[Bank], card: str) -> str:
    """Block a card."""
    ctx.context.blocked.append(card)
    return f"Card {card} is blocked."


helper = Agent[Bank, Advice](
    name="Helper",
    model="openai-chat:gpt-4.1",
    instructions=instructions,
    tools=[balance, block_card],
    output_type=AgentOutputSchema(Advice, mode="tool"),  # as pydantic-ai does; plain `Advice` lets the provider enforce it
)


async def main() -> None:
    bank = Bank("Ada", {"main": 420})
    chat = SQLiteSession("ada", "chats.db")
    config = RunConfig(store=SQLiteRunStore("runs.db"), run_id="chat-7")
    await Runner.run(helper, "I lost card 11. What is on my account?", context=bank, session=chat, run_config=config)

    state = await Runner.load("chat-7", run_config=config)  # tomorrow, in a process that needs the store alone
    for item in state.interruptions:
        print(f"approved: {item.tool_name}({item.arguments})")
        state.approve(item, by="bob@example.com")
    await Runner.decide(state, run_config=config)
    result = await Runner.resume(helper, "chat-7", context=bank, session=chat, run_config=config)
    advice = result.final_output  # an Advice, for the type checkers as well
    print(f"{advice.reply} [risk {advice.risk}] {bank.blocked}")

    stream = Runner.run_streamed(helper, "And now?", context=bank, session=chat)
    async for _partial in stream.stream_output():
        pass  # a page would show it
    print(f"{stream.final_output.reply} [risk {stream.final_output.risk}]")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
