"""Programs that use what is not here, mix two packages, or give what fits nothing."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

import agentsdk
from agentsdk.compat import openai_agents as agents
from agentsdk.compat.openai_agents.doctor import examine
from agentsdk.compat.openai_agents.testing import ScriptedModel, assistant_message

pytestmark = pytest.mark.anyio


def answering(**fields: Any) -> agents.Agent[Any]:
    return agents.Agent(name="A", model=ScriptedModel([[assistant_message("ok")]]), **fields)


def test_every_public_name_is_there() -> None:
    missing = [name for name in agents.__all__ if not hasattr(agents, name)]
    assert not missing and len(agents.__all__) > 250


def test_an_absent_name_says_why_and_what_instead() -> None:
    with pytest.raises(ImportError, match=r"'sandbox' .* other services; use agentsdk\.sandboxes"):
        _ = agents.sandbox
    with pytest.raises(ImportError, match=r"'sandbox' .* other services; use agentsdk\.sandboxes"):
        exec("from agentsdk.compat.openai_agents import sandbox")
    with pytest.raises(AttributeError, match="no attribute 'SomethingOld'"):
        _ = agents.SomethingOld
    with pytest.raises(ImportError, match=r"no MongoDB store; use RedisSession"):
        exec("from agentsdk.compat.openai_agents.extensions.memory import MongoDBSession")
    with pytest.raises(ModuleNotFoundError, match="speech over an open connection"):
        importlib.import_module("agentsdk.compat.openai_agents.realtime")


async def test_both_packages_in_one_program() -> None:
    with pytest.raises(agents.UserError, match=r"expected an Agent of 'agentsdk\.compat\.openai_agents'"):
        await agents.Runner.run(agentsdk.Agent(name="other"), "x")  # type: ignore[arg-type]  # pyright: ignore
    with pytest.raises(agents.UserError, match="among its handoffs"):
        await agents.Runner.run(answering(handoffs=[agentsdk.Agent(name="other")]), "x")


@pytest.mark.parametrize(
    "entry",
    [{}, {"foo": 1}, 3, {"role": "robot", "content": "x"}, {"role": "user", "content": [{"type": "smell"}]}, None],
    ids=["empty", "foreign", "number", "role", "part", "none"],
)
async def test_items_that_fit_nothing_are_named(entry: Any) -> None:
    with pytest.raises(agents.UserError, match="entry 1 of the input"):
        await agents.Runner.run(answering(), [{"role": "user", "content": "x"}, entry])


async def test_arguments_of_another_type() -> None:
    with pytest.raises(agents.UserError, match="the input is 'int'"):
        await agents.Runner.run(answering(), 3)  # type: ignore[arg-type]  # pyright: ignore
    with pytest.raises(TypeError, match="tools must be a list"):
        agents.Agent(name="A", tools=())  # type: ignore[arg-type]  # pyright: ignore
    with pytest.raises(agents.UserError, match="run_config has"):
        await agents.Runner.run(answering(), "x", run_config={"modl": "x"})
    with pytest.raises(agents.UserError, match="no run state of this package"):
        await agents.RunState.from_json(answering(), {"$schemaVersion": "1.9"})


def test_the_doctor_says_what_becomes_of_each_import(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text(
        "from agents import Agent, Runner\nfrom agents.voice import VoicePipeline\nfrom agents import sandbox\n"
        "import agents.mcp\n"
        "from agents.extensions.memory import MongoDBSession\nfrom agents import AgentOld, OpenAIProvider\n"
        "from agents.mcp import MCPServerSse\ntry:\n    from agents.voice import X\nexcept ImportError:\n    pass\n",
        encoding="utf-8",
    )
    found = {one.name: one.reason for one in examine(tmp_path)}
    here = [name for name, reason in found.items() if not reason]
    assert here == ["agents.Agent", "agents.Runner", "agents.mcp", "agents.OpenAIProvider"]
    assert "audio client" in found["agents.voice.VoicePipeline"]
    assert "agentsdk.sandboxes" in found["agents.sandbox"]
    assert "no MongoDB store; use RedisSession" in found["agents.extensions.memory.MongoDBSession"]
    assert "given up that transport" in found["agents.mcp.MCPServerSse"]
    assert [one.how for one in examine(tmp_path) if one.how] == [
        "asked by agentsdk's adapter, with the key and address of the client that is given"
    ]
    assert "no attribute 'AgentOld'" in found["agents.AgentOld"]
