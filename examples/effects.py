"""What becomes of a call that was cut: it runs again, under the same key, or waits for a person. Its tool's effect decides.

    python examples/effects.py

Each run is cancelled while its tool works, as by a deploy, and then resumed.
"""

from __future__ import annotations

import asyncio
from typing import Literal, get_args

import agentsdk
from agentsdk import Agent, MemoryRunStore, ModelSettings, RunConfig, Runner, ToolContext, ToolInDoubtItem, function_tool

Effect = Literal["none", "idempotent", "once"]

keys: list[str] = []
working = asyncio.Event()


def clerk(effect: Effect) -> Agent[None, str]:
    @function_tool(effect=effect)
    async def charge(ctx: ToolContext[None], euros: int) -> str:
        """Charge the customer's card."""
        keys.append(ctx.idempotency_key)  # a payment service takes a second charge under the same key for the first
        if len(keys) == 1:
            working.set()
            await asyncio.Event().wait()  # cut here: has the card been charged?
        return f"{euros} euros are charged."

    return Agent[None, str](
        name="Clerk",
        tools=[charge],
        tool_use_behavior="stop_on_first_tool",
        model_settings=ModelSettings(tool_choice="charge", temperature=0),
    )


async def main() -> None:
    store = MemoryRunStore()
    for effect in get_args(Effect):
        keys.clear()
        working.clear()
        agent, config = clerk(effect), RunConfig(store=store, run_id=effect)
        run = asyncio.create_task(Runner.run(agent, "Please charge my card 30 euros.", run_config=config))
        await working.wait()
        run.cancel()
        await asyncio.wait([run])

        result = await Runner.resume(agent, effect, run_config=config)
        for call in result.interruptions:
            assert isinstance(call, ToolInDoubtItem)
            print(f"{effect}: {call.tool_name} is in doubt; a person looks, and says that it was done")
            state = result.to_state()
            state.provide_result(call, result="30 euros are charged.")
            result = await Runner.run(agent, state, run_config=config)
        same = "under the same key" if len(set(keys)) == 1 else "under another key"
        print(f"{effect}: begun {len(keys)} time{'s' * (len(keys) > 1)}, {same}: {result.final_output}")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
