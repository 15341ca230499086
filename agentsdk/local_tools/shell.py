"""`ShellTool`: the tool with which a model runs commands in a sandbox, one after the other in a shell that lives on."""

from __future__ import annotations

import json
import posixpath
import shlex
from typing import Any, Unpack

from agentsdk.define.function_tool import function_tool
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_options import ToolOptions
from agentsdk.ports.sandbox import DEFAULT_TIMEOUT, SANDBOX, Completed, Sandbox
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import Fields, number
from agentsdk.types.errors import InvalidArgumentsError

_FIELDS = Fields(
    "ShellTool",
    sandbox=SANDBOX,
    max_seconds=number("seconds above 0 that one command may take", above=0),
)


class ShellTool(FunctionTool[Any]):
    """Runs a model's commands in a shell of `sandbox`: folder, variables and background processes last from call to call.

    A provider's own shell tool (OpenAI's `shell` and `local_shell`, Anthropic's `bash`) is used where there is one; other
    models call it as a function. A command has the seconds that the model asks for, at most `max_seconds`; one that takes
    longer ends the shell. The result is JSON, an entry for each command. `options` are those of every tool: a command takes
    effect once, so a call that was cut is in doubt. Raises `UserError` for a wrong one.
    """

    def __init__(self, sandbox: Sandbox, *, max_seconds: float = DEFAULT_TIMEOUT, **options: Unpack[ToolOptions[Any]]) -> None:
        _FIELDS.check_given(sandbox=sandbox, max_seconds=max_seconds)
        given: ToolOptions[Any] = {"effect": "once", "sequential": True, **options, "kind": "shell"}
        vars(self).update(vars(_of(sandbox, max_seconds, given)))


def _of(sandbox: Sandbox, max_seconds: float, options: ToolOptions[Any]) -> FunctionTool[Any]:
    running = sandbox.shell()

    async def shell(
        commands: list[str] | None = None,
        timeout_ms: int | None = None,
        max_output_length: int | None = None,
        restart: bool = False,
        working_directory: str | None = None,
        env: dict[str, str] | None = None,
    ) -> str:
        """Run shell commands, one after the other, in a shell that keeps its folder and variables.

        Args:
            commands: The command lines.
            timeout_ms: Milliseconds that each may take.
            max_output_length: How many characters of the output of each to return.
            restart: Begin with a new shell.
            working_directory: The folder of the workspace to run them in, this time.
            env: Variables for them, this time.
        """
        if restart:
            await running.restart()
        seconds = max_seconds if timeout_ms is None or timeout_ms <= 0 else min(timeout_ms / 1000, max_seconds)
        outputs: list[JsonObject] = []
        for command in commands or ():
            done = await running.run(_line(command, working_directory, env), timeout=seconds)
            outputs.append(_entry(done, max_output_length))
            if done.timed_out:
                break  # the shell is gone, and with it what the next command would stand on
        if not outputs:
            if not restart:
                raise InvalidArgumentsError("there are no commands, expected one at least")
            return "The shell is a new one."
        result: JsonObject = {"output": outputs}
        if max_output_length is not None:
            result["max_output_length"] = max_output_length
        return json.dumps(result, ensure_ascii=False)

    return function_tool(shell, strict_mode=False, **options)


def _line(command: str, folder: str | None, env: dict[str, str] | None) -> str:
    """The command, in a shell within the shell where a folder or variables hold for it only."""
    if not folder and not env:
        return command
    variables = [f"export {shlex.quote(name)}={shlex.quote(value)}" for name, value in (env or {}).items()]
    enter = [f"cd -- {shlex.quote(posixpath.normpath(folder))}"] if folder else []
    return f"( {' && '.join([*enter, *variables, ':'])} && eval {shlex.quote(command)} )"


def _entry(done: Completed, length: int | None) -> JsonObject:
    outcome: JsonObject = {"type": "timeout"} if done.timed_out else {"type": "exit", "exit_code": done.exit_code}
    return {"stdout": _cut(done.stdout, length), "stderr": _cut(done.stderr, length), "outcome": outcome}


def _cut(text: str, length: int | None) -> str:
    """The first and the last part of a text that is too long."""
    if length is None or len(text) <= max(length, 0):
        return text
    half = max(length, 0) // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n[... {left_out} characters left out ...]\n{text[len(text) - half :]}"
