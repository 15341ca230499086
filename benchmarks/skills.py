"""What skills save: ten skills loaded by name, in tokens of each request, beside the same instructions all told at once.

    python -m benchmarks.skills

The skills are ten pages of these docs, whole; their descriptions are the table of docs/index.md. The model loads one after the
other, and every request is counted as it would be sent.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from pathlib import Path

from agentsdk import Agent, Runner
from agentsdk.models.token_counter import token_counter_for
from agentsdk.testing import ScriptedModel, call
from agentsdk.toolsets import SkillsToolset

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("agents", "approvals", "context", "durability", "guardrails", "handoffs", "limits", "sessions", "testing", "tools")


def write_skills(folder: Path) -> str:
    """Write the skills, and give all their instructions as one text."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| \[.*?\]\((\w+)\.md\) \| (.*) \|$", index, re.MULTILINE))
    texts = {page: (DOCS / f"{page}.md").read_text(encoding="utf-8") for page in PAGES}
    for page, text in texts.items():
        (folder / page).mkdir()
        header = f"---\nname: {page}\ndescription: |\n  How to use agentsdk. {rows[page]}\n---\n"
        (folder / page / "SKILL.md").write_text(header + text, encoding="utf-8")
    return "\n\n".join(texts.values())


async def main() -> None:
    counter = token_counter_for("gpt-4o")
    with tempfile.TemporaryDirectory() as folder:
        everything = write_skills(Path(folder))
        model = ScriptedModel([*[call("load_skill", name=page) for page in PAGES], "done"])
        toolset = SkillsToolset[None](folder)
        await Runner.run(Agent[None, str](name="A", model=model, toolsets=[toolset]), "How do I begin?", max_turns=20)
    sizes = [
        await counter.count_fixed(request.instructions, request.tools, None) + sum(await counter.count(request.items))
        for request in model.requests
    ]
    question = sum(await counter.count(model.requests[0].items))
    at_once = await counter.count_fixed(everything, (), None) + question
    print(f"tokens of a request, {'counted' if counter.is_exact else 'estimated'}")
    print(f"all ten in the instructions     {at_once:>7,}")
    for loaded in (0, 1, 2, 5, 10):
        print(f"by name, {loaded:>2} loaded              {sizes[loaded]:>7,}  {sizes[loaded] / at_once:>5.0%}")


if __name__ == "__main__":
    asyncio.run(main())
