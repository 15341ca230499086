"""`ShellTool` in a real workspace: one shell for all calls, the providers' own forms, nothing run that nobody allowed."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agentsdk import Agent, ModelRequest, RunConfig, Runner, RunState, UserError
from agentsdk.items import FunctionCall, FunctionCallOutput
from agentsdk.models.openai_responses.calls import output_entries
from agentsdk.sandboxes import LocalSandbox, Sandbox
from agentsdk.testing import ScriptedModel, call
from agentsdk.tools import ShellTool, is_read_only, read_result

pytestmark = pytest.mark.anyio


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with LocalSandbox(unsafe=True) as made:
        yield made


def shell(call_id: str = "", namespace: str = "", **arguments: object) -> FunctionCall:
    return FunctionCall(call_id, "shell", json.dumps(arguments), kind="shell", namespace=namespace)


async def results(sandbox: Sandbox, *calls: FunctionCall, **options: Any) -> list[FunctionCallOutput]:
    model = ScriptedModel([*([call] for call in calls), "Done."])
    await Runner.run(Agent[Any, str](name="Operator", model=model, tools=[ShellTool(sandbox, **options)]), "Go.")
    return [item for item in model.requests[-1].items if isinstance(item, FunctionCallOutput)]


def entries(result: FunctionCallOutput) -> list[dict[str, Any]]:
    assert isinstance(result.output, str)
    known: list[dict[str, Any]] = json.loads(result.output)["output"]
    return known


async def test_a_command_has_its_streams_and_its_exit_code(sandbox: Sandbox) -> None:
    (result,) = await results(sandbox, shell(commands=["echo out; echo err >&2; exit 3", "pwd"]))
    assert entries(result) == [
        {"stdout": "out\n", "stderr": "err\n", "outcome": {"type": "exit", "exit_code": 3}},
        {"stdout": f"{sandbox.workdir}\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
    ]


async def test_the_shell_lives_on_until_it_is_begun_anew(sandbox: Sandbox) -> None:
    await sandbox.run(["mkdir", "inner"])
    calls = [shell(commands=["cd inner; X=1"]), shell(commands=["pwd; echo $X"]), shell(restart=True), shell(commands=["pwd"])]
    _, kept, told, anew = await results(sandbox, *calls)
    assert entries(kept)[0]["stdout"] == f"{sandbox.workdir}/inner\n1\n"
    assert told.output == "The shell is a new one."
    assert entries(anew)[0]["stdout"] == f"{sandbox.workdir}\n"


async def test_a_command_that_takes_too_long_ends_the_call(sandbox: Sandbox) -> None:
    (result,) = await results(sandbox, shell(commands=["echo a; sleep 600", "echo never"], timeout_ms=300))
    assert entries(result) == [{"stdout": "a\n", "stderr": "", "outcome": {"type": "timeout"}}]
    (capped,) = await results(sandbox, shell(commands=["sleep 600"], timeout_ms=10**9), max_seconds=0.3)
    assert entries(capped)[0]["outcome"] == {"type": "timeout"}


async def test_output_is_cut_as_the_model_asks(sandbox: Sandbox) -> None:
    (result,) = await results(sandbox, shell(commands=["printf 'abcdefghij'"], max_output_length=4))
    assert entries(result)[0]["stdout"] == "ab\n[... 6 characters left out ...]\nij"
    assert isinstance(result.output, str)
    assert json.loads(result.output)["max_output_length"] == 4


async def test_long_output_keeps_its_ends_and_its_exit_code_and_the_rest_can_be_read(sandbox: Sandbox) -> None:
    seen: list[str] = []

    def read_on(request: ModelRequest) -> Any:
        (result,) = [item for item in request.items if isinstance(item, FunctionCallOutput)]
        (sent,) = output_entries(result, "")
        (entry,) = sent["output"]
        assert entry["outcome"] == {"type": "exit", "exit_code": 3} and entry["stderr"] == "failed\n"
        seen.append(entry["stdout"])
        found = re.search(r"read_result\(result_id='(\w+)', offset=(\d+)\)", entry["stdout"])
        assert found is not None
        return call("read_result", result_id=found[1], offset=int(found[2]), length=1_000)

    model = ScriptedModel([[shell(commands=["seq 1 5000; echo failed >&2; exit 3"])], read_on, "Done."])
    agent = Agent[Any, str](name="Operator", model=model, tools=[ShellTool(sandbox), read_result])
    await Runner.run(agent, "Count.", run_config=RunConfig(max_tool_result_chars=2_000))
    (printed,) = seen
    assert printed.startswith("1\n2\n3\n") and printed.endswith("\n4999\n5000\n") and len(printed) < 2_000
    rest = str(model.requests[-1].items[-1].output)
    kept = printed[: printed.index("\n[... characters")]
    assert rest.split("\n", 1)[1].startswith("".join(f"{n}\n" for n in range(1, 5_001))[len(kept) :].replace("\n", "\\n")[:900])


async def test_the_older_call_has_a_folder_and_variables_of_its_own(sandbox: Sandbox) -> None:
    await sandbox.run(["mkdir", "a b"])
    once = shell(namespace="local_shell", commands=["pwd; echo $X"], working_directory="a b", env={"X": "it's"})
    first, second = await results(sandbox, once, shell(commands=["pwd; echo $X"]))
    assert entries(first)[0]["stdout"] == f"{sandbox.workdir}/a b\nit's\n"
    assert entries(second)[0]["stdout"] == f"{sandbox.workdir}\n\n"


async def test_a_call_without_commands_is_an_error_the_model_is_told(sandbox: Sandbox) -> None:
    (result,) = await results(sandbox, shell())
    assert result.is_error
    assert "there are no commands" in str(result.output)


async def test_openai_is_sent_the_result_in_its_own_form(sandbox: Sandbox) -> None:
    calls = [
        shell("call_1", commands=["echo a"], max_output_length=99),
        shell("call_2", namespace="local_shell", commands=["ls"]),
    ]
    new, old = await results(sandbox, *calls)
    (sent,) = output_entries(new, "")
    outcome = {"type": "exit", "exit_code": 0}
    printed = {"stdout": "a\n", "stderr": "", "outcome": outcome}
    assert sent == {"type": "shell_call_output", "call_id": "call_1", "output": [printed], "max_output_length": 99}
    (sent,) = output_entries(old, "")
    assert (sent["type"], sent["id"], sent["output"]) == ("local_shell_call_output", "call_2", old.output)


async def test_what_may_change_something_is_asked_for(sandbox: Sandbox) -> None:
    tool = ShellTool(sandbox, needs_approval=lambda ctx, arguments, call_id: not is_read_only(arguments))
    model = ScriptedModel([shell("look", commands=["ls"]), shell("make", commands=["touch made"]), "Done."])
    agent = Agent[Any, str](name="Operator", model=model, tools=[tool])
    paused = await Runner.run(agent, "Go.")
    (item,) = paused.interruptions
    assert (item.tool_name, await sandbox.files.list()) == ("shell", [])
    state: RunState[Any, str] = paused.to_state()
    state.approve(item)
    assert (await Runner.run(agent, state)).final_output == "Done."
    assert [entry.path for entry in await sandbox.files.list()] == ["made"]


def test_what_it_declares(tmp_path: Path) -> None:
    tool = ShellTool(LocalSandbox(tmp_path, unsafe=True))
    assert (tool.name, tool.kind, tool.effect) == ("shell", "shell", "once")
    assert list(tool.params_json_schema["properties"])[:2] == ["commands", "timeout_ms"]


@pytest.mark.parametrize("wrong", [{"sandbox": "bwrap"}, {"max_seconds": 0}, {"max_seconds": "60"}])
def test_a_wrong_option_is_refused(wrong: dict[str, Any], tmp_path: Path) -> None:
    sandbox = LocalSandbox(tmp_path, unsafe=True)
    with pytest.raises(UserError, match=next(iter(wrong))):
        ShellTool(**{"sandbox": sandbox, **wrong})
