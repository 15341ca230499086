"""`run_demo_loop`: a conversation in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentsdk.compat.openai_agents.items import ToolCallItem, ToolCallOutputItem
from agentsdk.compat.openai_agents.run import Runner
from agentsdk.compat.openai_agents.run_config import DEFAULT_MAX_TURNS
from agentsdk.compat.openai_agents.run_context import TContext
from agentsdk.compat.openai_agents.stream_events import (
    AgentUpdatedStreamEvent,
    RawResponsesStreamEvent,
    RunItemStreamEvent,
)

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent import Agent


async def run_demo_loop(
    agent: Agent[Any], *, stream: bool = True, context: TContext | None = None, max_turns: int | None = DEFAULT_MAX_TURNS
) -> None:
    """Ask for input and answer it, until the word is `exit` or `quit` or the input ends."""
    current, entries = agent, list[Any]()
    while True:
        try:
            said = input(" > ")
        except (EOFError, KeyboardInterrupt):
            print()
            return
        if said.strip().lower() in ("exit", "quit"):
            return
        if not said:
            continue
        entries.append({"role": "user", "content": said})
        if not stream:
            done = await Runner.run(current, entries, context=context, max_turns=max_turns)
            if done.final_output is not None:
                print(done.final_output)
            current, entries = done.last_agent, done.to_input_list()
            continue
        result = Runner.run_streamed(current, entries, context=context, max_turns=max_turns)
        async for event in result.stream_events():
            _show(event)
        print()
        current, entries = result.last_agent, result.to_input_list()


def _show(event: Any) -> None:
    match event:
        case RawResponsesStreamEvent() if event.data.type == "response.output_text.delta":
            print(event.data.delta, end="", flush=True)
        case RunItemStreamEvent(item=ToolCallItem()):
            print("\n[tool called]", flush=True)
        case RunItemStreamEvent(item=ToolCallOutputItem(output=output)):
            print(f"\n[tool output: {output}]", flush=True)
        case AgentUpdatedStreamEvent(new_agent=agent):
            print(f"\n[agent: {agent.name}]", flush=True)
        case _:
            pass
