"""An agent works on a git repository with two MCP servers: mcp-server-git (PyPI) and server-filesystem (npm).

    pip install 'agentsdk[mcp,local]' mcp-server-git && npm install -g @modelcontextprotocol/server-filesystem
    python examples/mcp_client.py           # the steps of a model are written down here: the local one is too small for this
    python examples/mcp_client.py --local   # the local one all the same: it asks for the status, and reads the file
    AGENTSDK_MODEL=openai:gpt-5 python examples/mcp_client.py    # any model that calls tools well, with its key

It reads and edits a file, stages it and commits it. What destroys something, as the servers say, and each commit wait for a
person, who approves here.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from agentsdk import Agent, ModelSettings, RunConfig, Runner, ToolCallItem
from agentsdk.mcp import MCPServerStdio
from agentsdk.models import LocalModel, Model
from agentsdk.testing import ScriptedModel, call

TASK = "In README.md a day is misspelt. Correct it."
INSTRUCTIONS = "You work on the git repository in the folder '.'. Commit what you change."
SMALL_TASKS = {"git_status": '{"repo_path": "."}', "read_text_file": '{"path": "README.md"}'}  # it has to be told what to call
OURS = Path(__file__).parents[1] / ".venv" / "npm" / "node_modules" / ".bin"  # where `make .venv/.npm` puts it
NPM = shutil.which("mcp-server-filesystem") or shutil.which("mcp-server-filesystem", path=str(OURS))


def missing() -> str:
    """Why the example cannot run here; "" where it can."""
    if shutil.which("git") is None:
        return "git is not installed"
    if find_spec("mcp_server_git") is None:
        return "mcp-server-git is not installed: pip install mcp-server-git"
    if shutil.which("node") is None or NPM is None:
        return "server-filesystem is not installed: npm install -g @modelcontextprotocol/server-filesystem"
    return ""


def new_repository(folder: Path) -> None:
    """A repository with one commit."""
    person = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
    (folder / "README.md").write_text("# Shop\n\nOpen on mondays.\n")
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], [*person, "commit", "-q", "-m", "Begin"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True)


def scripted() -> Model:
    """What a model would say that fixes the spelling."""
    path, edit = "README.md", {"oldText": "mondays", "newText": "Mondays"}
    return ScriptedModel(
        [
            call("read_text_file", path=path),
            call("edit_file", path=path, edits=[edit]),
            call("git_add", repo_path=".", files=["README.md"]),
            call("git_commit", repo_path=".", message="Names of days begin with a capital"),
            call("git_log", repo_path=".", max_count=1),
            "I have corrected the spelling of Mondays, and committed it.",
        ]
    )


def small(name: str, server: MCPServerStdio) -> Agent[None, str]:
    """An agent on the local model with one tool of a server."""
    settings = ModelSettings(tool_choice=name, temperature=0, max_tokens=60)
    toolset = server.filtered(lambda context, tool: tool.name == name)
    return Agent("Editor", INSTRUCTIONS, model=LocalModel(), model_settings=settings, toolsets=[toolset])


async def work(agent: Agent[None, str], task: str) -> None:
    """Runs the agent; a person approves all that waits."""
    config = RunConfig(max_continuations=0)  # a small model would write on and on
    result = await Runner.run(agent, task, run_config=config)
    while result.interruptions:
        state = result.to_state()
        for item in state.interruptions:
            print("approved:", item.tool_name)
            state.approve(item)
        result = await Runner.run(agent, state, run_config=config)
    print("called:", ", ".join([item.raw_item.name for item in result.new_items if isinstance(item, ToolCallItem)]))
    print("answer:", result.final_output)


async def main(is_local: bool) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = os.path.realpath(place)
        new_repository(Path(folder))
        who = ("AUTHOR", "COMMITTER")
        person = {f"GIT_{one}_NAME": "Ann" for one in who} | {f"GIT_{one}_EMAIL": "ann@example.com" for one in who}
        git = MCPServerStdio(
            {"command": sys.executable, "args": ["-m", "mcp_server_git", "--repository", folder], "env": person, "cwd": folder},
            name="git",
            trusted=True,
            tool_filter={"allowed_tool_names": ["git_status", "git_add", "git_commit", "git_log"]},
            require_approval={"git_commit": "always"},
        )
        files = MCPServerStdio(
            {"command": str(NPM), "args": [folder], "cwd": folder},
            name="files",
            trusted=True,
            tool_filter={"allowed_tool_names": ["read_text_file", "edit_file"]},
        )
        async with git, files:
            if is_local:
                for name, arguments in SMALL_TASKS.items():
                    await work(small(name, git if name.startswith("git") else files), f"Call {name} with {arguments}")
            else:
                model = os.environ.get("AGENTSDK_MODEL") or scripted()
                await work(Agent("Editor", INSTRUCTIONS, model=model, toolsets=[git, files]), TASK)
        log = subprocess.run(["git", "log", "--format=%an: %s", "-1"], cwd=folder, check=True, capture_output=True, text=True)
        print("commit:", log.stdout.strip())


if __name__ == "__main__":
    if why := missing():
        print(f"This example cannot run here: {why}")
    else:
        asyncio.run(main("--local" in sys.argv))
