"""Skills: folders of instructions, of which the model is told the names, and reads what it needs.

    python examples/skills.py

The skills are in examples/skills. What the model has loaded is in the conversation, as the result of a call.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import agentsdk
from agentsdk import Agent, ModelSettings, RunConfig, Runner
from agentsdk.toolsets import SkillsToolset

skills = SkillsToolset[None](Path(__file__).parent / "skills")

writer = Agent[None, str](
    name="Writer",
    instructions="You write for the team.",
    toolsets=[skills],
    model_settings=ModelSettings(tool_choice="load_skill", temperature=0, max_tokens=60),  # a small model has to be told
)


async def main() -> None:
    print("skills:", ", ".join([skill.name for skill in skills.skills]))
    config = RunConfig(max_continuations=0)  # a small model would write on and on
    result = await Runner.run(writer, "Write release notes: exports keep their time zone now.", run_config=config)
    for item in result.new_items:
        if item.type == "tool_call_output_item":
            print("read:", str(item.output).splitlines()[0])
    print("answer:", result.final_output)
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
