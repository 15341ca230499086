"""A data agent: it looks at a file of sales, and draws a chart of it with matplotlib. Its programs run in a sandbox.

    pip install 'agentsdk[sandbox]' matplotlib    # Linux; bubblewrap or a container will do as well: docs/sandbox.md
    python examples/data_agent.py            # the steps of a model are written down here: the local one is too small for this
    AGENTSDK_MODEL=openai:gpt-5 python examples/data_agent.py    # any model that writes Python, with its key

The environment of the programs is the one that runs this, so they have matplotlib and numpy.
"""

import asyncio
import os
from importlib.util import find_spec
from typing import Any

from agentsdk import Agent, Runner
from agentsdk.items import InputText, Part, ToolCallOutputItem
from agentsdk.sandboxes import Sandbox, best_sandbox
from agentsdk.testing import ScriptedModel, call
from agentsdk.tools import PythonTool

SALES = b"month,tea,cake\nJanuary,31,12\nFebruary,28,19\nMarch,44,23\n"
LOOK = """\
import numpy as np

rows = np.genfromtxt("sales.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
for name in rows.dtype.names[1:]:
    print(name, rows[name].sum(), "sold, most in", rows["month"][rows[name].argmax()])
"""
DRAW = """\
import matplotlib.pyplot as plt
import numpy as np

rows = np.genfromtxt("sales.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
figure, axes = plt.subplots(figsize=(5, 3))
for position, name in enumerate(rows.dtype.names[1:]):
    axes.bar(np.arange(len(rows)) + 0.4 * position, rows[name], width=0.4, label=name)
axes.set_xticks(np.arange(len(rows)) + 0.2, rows["month"])
axes.legend()
figure.savefig("output/sales.png", dpi=100)
"""
STEPS = ScriptedModel(
    [
        call("run_python", code=LOOK),
        call("run_python", code=DRAW),
        "Tea sells best, and March was the best month for both: see the chart.",
    ]
)


def analyst(sandbox: Sandbox) -> Agent[Any, str]:
    """The agent. What its programs may do they do to the workspace only."""
    instructions = "You answer questions about the file sales.csv. Draw a chart where it helps."
    model = os.environ.get("AGENTSDK_MODEL") or STEPS
    return Agent[Any, str](name="Analyst", instructions=instructions, model=model, tools=[PythonTool(sandbox)])


def show(output: str | tuple[Part, ...]) -> None:
    """Print what the model was sent of a program: text, and how many pictures."""
    for part in (InputText(output),) if isinstance(output, str) else output:
        print(part.text if isinstance(part, InputText) else f"[{part.type}]")


async def main() -> None:
    if find_spec("matplotlib") is None:
        print("This example cannot run here: matplotlib is not installed; pip install matplotlib")
        return
    async with await best_sandbox() as sandbox:
        await sandbox.files.write("sales.csv", SALES)
        result = await Runner.run(analyst(sandbox), "How do tea and cake sell?")
        for item in result.new_items:
            if isinstance(item, ToolCallOutputItem):
                show(item.output)
        print(result.final_output)


asyncio.run(main())
