"""A coding agent: it runs the tests of a small project, mends what fails, and runs them again. All of it in a sandbox.

    pip install 'agentsdk[sandbox]'          # Linux; bubblewrap or a container will do as well: docs/sandbox.md
    python examples/coding_agent.py          # the steps of a model are written down here: the local one is too small for this
    AGENTSDK_MODEL=openai:gpt-5 python examples/coding_agent.py    # any model that calls tools well, with its key

Without a sandbox it runs nothing: a `UserError` says what to install.
"""

import asyncio
import json
import os
from typing import Any

from agentsdk import Agent, FunctionCall, Runner
from agentsdk.items import ToolCallItem, ToolCallOutputItem
from agentsdk.sandboxes import Sandbox, best_sandbox
from agentsdk.testing import ScriptedModel
from agentsdk.tools import ApplyPatchTool, ShellTool, is_read_only

SHOP = b"def total(prices):\n    return 0\n"
TEST = b"""import unittest

from shop import total


class TestTotal(unittest.TestCase):
    def test_it_adds_up(self):
        self.assertEqual(total([2, 3]), 5)


unittest.main()
"""
RUN_TESTS = {"commands": ["python3 -B test_shop.py 2>&1 | tail -n 1"]}
PATCH = {"type": "update_file", "path": "shop.py", "diff": "@@ def total(prices):\n-    return 0\n+    return sum(prices)\n"}


def called(kind: str, arguments: object) -> FunctionCall:
    """A call as OpenAI's models make them."""
    return FunctionCall("", kind, json.dumps(arguments), kind=kind)  # type: ignore[arg-type]


STEPS = ScriptedModel(
    [
        called("shell", {"commands": ["ls; cat shop.py"]}),
        called("shell", RUN_TESTS),
        called("apply_patch", PATCH),
        called("shell", RUN_TESTS),
        "total() gave 0 for any prices; now it adds them up, and the test passes.",
    ]
)


def coder(sandbox: Sandbox) -> Agent[Any, str]:
    """The agent. What its commands may do they do to the workspace only; what is doubtful is shown beside the call."""
    instructions = "You mend small Python projects. Run the tests first, and last."
    model = os.environ.get("AGENTSDK_MODEL") or STEPS
    return Agent[Any, str](
        name="Coder", instructions=instructions, model=model, tools=[ShellTool(sandbox), ApplyPatchTool(sandbox)]
    )


async def main() -> None:
    """Mend the project."""
    async with await best_sandbox() as sandbox:
        await sandbox.files.write("shop.py", SHOP)
        await sandbox.files.write("test_shop.py", TEST)
        result = await Runner.run(coder(sandbox), "The tests fail.")
        for item in result.new_items:
            if isinstance(item, ToolCallItem):
                arguments = json.loads(item.raw_item.arguments)
                what = arguments.get("commands") or arguments.get("path")
                print(f"{item.raw_item.name} {what}", "(only looks)" if is_read_only(arguments) else "")
            elif isinstance(item, ToolCallOutputItem) and str(item.output).startswith("{"):
                for entry in json.loads(str(item.output))["output"]:
                    print("    " + entry["stdout"].rstrip().replace("\n", "\n    "))
        print(result.final_output)
        print((await sandbox.files.read("shop.py")).decode(), end="")


if __name__ == "__main__":
    asyncio.run(main())
