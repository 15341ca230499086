"""`AdvancedSQLiteSession`: turns, branches and usage, on a database."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agentsdk.compat.openai_agents import Agent, Runner, SQLiteSession, function_tool
from agentsdk.compat.openai_agents.extensions.memory import AdvancedSQLiteSession
from agentsdk.compat.openai_agents.testing import ScriptedModel, assistant_message, function_call

pytestmark = pytest.mark.anyio


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


TWO = [user("first"), assistant("one"), user("second"), assistant("two")]


@function_tool
def look_up(word: str) -> str:
    """Look a word up."""
    return word


async def test_runs_are_kept_with_their_turns_tools_and_usage() -> None:
    session = AdvancedSQLiteSession(session_id="s", create_tables=True)
    call = function_call("look_up", {"word": "a"}, call_id="c")
    model = ScriptedModel([[call], [assistant_message("one")], [assistant_message("two")]])
    agent = Agent("A", model=model, tools=[look_up])
    for text in ("first", "second"):
        await session.store_run_usage(await Runner.run(agent, text, session=session))
    turns = await session.get_conversation_by_turns()
    assert [item["type"] for item in turns[1]] == ["user", "function_call", "function_call_output", "assistant"]
    assert [item["type"] for item in turns[2]] == ["user", "assistant"]
    assert await session.get_tool_usage() == [("look_up", 1, 1)]
    usage = await session.get_session_usage()
    assert usage is not None and (usage["requests"], usage["total_turns"]) == (3, 2)
    first = await session.get_turn_usage(1)
    assert isinstance(first, dict) and first["requests"] == 2
    assert first["output_tokens_details"] == {"reasoning_tokens": 0}
    assert await session.get_turn_usage(3) == {}
    assert await session.get_session_usage("other") is None
    assert [turn["content"] for turn in await session.get_conversation_turns()] == ["first", "second"]


async def test_a_branch_shares_what_is_before_it_and_goes_its_own_way(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    session = AdvancedSQLiteSession(session_id="s", db_path=place, create_tables=True)
    await session.add_items(TWO)
    assert await session.create_branch_from_content("SECOND", "b") == "b"
    await session.add_items([user("other")])
    assert await session.get_items() == [*TWO[:2], user("other")]
    assert await session.get_items(1, "main") == TWO[3:]
    branches = await session.list_branches()
    assert [(one["branch_id"], one["message_count"], one["is_current"]) for one in branches] == [
        ("main", 4, False),
        ("b", 3, True),
    ]
    assert [await session.pop_item() for _ in range(4)] == [user("other"), TWO[1], TWO[0], None]
    session.close()
    again = AdvancedSQLiteSession(session_id="s", db_path=place)
    assert await again.get_items() == TWO  # the messages that the branch shared are still there
    with pytest.raises(ValueError, match="already been used"):
        await again.create_branch_from_turn(2, "b")
    made = [await again.create_branch_from_turn(1)]
    await again.switch_to_branch("main")
    made.append(await again.create_branch_from_turn(1))
    assert len(set(made)) == 2 and all(name.startswith("branch_from_turn_1_") for name in made)
    again.close()


async def test_what_only_a_deleted_branch_had_is_deleted() -> None:
    session = AdvancedSQLiteSession(session_id="s", create_tables=True)
    await session.add_items(TWO)
    await session.create_branch_from_turn(2, "b")
    await session.add_items([user("only here")])
    with pytest.raises(ValueError, match="Cannot delete current branch 'b'"):
        await session.delete_branch("b")
    await session.delete_branch("b", force=True)
    assert await session.get_items() == TWO
    assert await session.get_items(branch_id="b") == []
    for name, said in (("main", "Cannot delete the 'main'"), (" ", "cannot be empty"), ("b", "does not exist")):
        with pytest.raises(ValueError, match=said):
            await session.delete_branch(name)
    with pytest.raises(ValueError, match="'b' does not exist"):
        await session.switch_to_branch("b")
    with pytest.raises(ValueError, match="Turn 7 does not contain a user message in branch 'main'"):
        await session.create_branch_from_turn(7)
    with pytest.raises(ValueError, match="Branch name cannot be empty"):
        await session.create_branch_from_turn(1, " ")
    with pytest.raises(ValueError, match="containing 'only here'"):
        await session.create_branch_from_content("only here")


async def test_the_usage_of_a_turn_goes_with_its_last_item(caplog: pytest.LogCaptureFixture) -> None:
    session = AdvancedSQLiteSession(session_id="s", create_tables=True)
    agent = Agent("A", model=ScriptedModel([[assistant_message("one")]]))
    result = await Runner.run(agent, "first")
    await session.store_run_usage(result)  # no turn has it
    assert await session.get_turn_usage() == []
    await session.add_items(TWO[:2])
    await session.store_run_usage(result)
    await session.store_run_usage(result)
    await session.pop_item()
    assert len(await session.get_turn_usage()) == 1
    await session.pop_item()
    assert await session.get_turn_usage() == [] and await session.get_session_usage() is None
    session.close()
    with caplog.at_level(logging.ERROR):
        await session.store_run_usage(result)
    assert "was not kept" in caplog.text
    with pytest.raises(RuntimeError, match="is closed"):
        await session.get_items()


async def test_a_cleared_session_starts_anew_on_its_first_branch() -> None:
    session = AdvancedSQLiteSession(session_id="s", create_tables=True)
    await session.add_items(TWO)
    await session.create_branch_from_turn(2, "b")
    await session.clear_session()
    assert await session.list_branches() == []
    await session.add_items(TWO[:1])
    assert [(one["branch_id"], one["user_turns"]) for one in await session.list_branches()] == [("main", 1)]
    with pytest.raises(ValueError, match="already been used"):
        await session.create_branch_from_turn(1, "b")


async def test_texts_are_searched_as_they_are_read() -> None:
    session = AdvancedSQLiteSession(session_id="s", create_tables=True)
    parts = [{"type": "input_text", "text": "50% off"}, {"type": "input_image", "image_url": "https://example.org/cat"}]
    await session.add_items([user("Caf\u00e9"), user(parts), user("x" * 101)])
    for term, turns in (("caf\u00e9", [1]), ("%", [2]), ("cat", []), ("_", []), ("X", [3])):
        assert [one["turn"] for one in await session.find_turns_by_content(term)] == turns
    first, second, third = await session.get_conversation_turns()
    assert first["content"] == "Caf\u00e9" and second["full_content"] == parts and '"50% off"' in second["content"]
    assert third["content"] == "x" * 100 + "..." and third["can_branch"] is True


async def test_tools_are_named_with_their_server_or_namespace() -> None:
    session = AdvancedSQLiteSession(session_id="s", create_tables=True)
    await session.add_items(
        [
            user("go"),
            {"type": "mcp_call", "server_label": "files", "name": "read"},
            {"type": "function_call", "name": "find", "namespace": "crm"},
            {"type": "function_call", "name": "find", "namespace": "find"},
            {"type": "shell_call"},
            {"type": "tool_search_output"},
        ]
    )
    used = {name: count for name, count, _ in await session.get_tool_usage()}
    assert used == {"files.read": 1, "crm.find": 1, "find": 1, "shell_call": 1, "tool_search": 1}


async def test_writes_at_once_lose_nothing_and_pops_give_each_item_once(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    sessions = [AdvancedSQLiteSession(session_id="s", db_path=place, create_tables=True) for _ in range(2)]
    await asyncio.gather(*(sessions[n % 2].add_items([user(f"{n}"), assistant(f"{n}")]) for n in range(10)))
    items = await sessions[0].get_items()
    assert len(items) == 20
    assert all(one["content"] == two["content"] for one, two in zip(items[::2], items[1::2], strict=True))
    popped = await asyncio.gather(*(sessions[n % 2].pop_item() for n in range(22)))
    assert sorted(str(item) for item in popped) == sorted([*(str(item) for item in items), "None", "None"])
    for session in sessions:
        session.close()


async def test_tables_of_others_are_refused(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    with pytest.raises(ValueError, match="create_tables=True"):
        AdvancedSQLiteSession(session_id="s", db_path=place)
    AdvancedSQLiteSession(session_id="s", db_path=place, create_tables=True).close()
    with pytest.raises(ValueError, match="already belongs to 'agent_messages'"):
        AdvancedSQLiteSession(session_id="s", db_path=place, create_tables=True, messages_table="mine")
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.execute("DROP TABLE agent_messages")
    with pytest.raises(ValueError, match="no table 'agent_messages'"):
        AdvancedSQLiteSession(session_id="s", db_path=place)


async def test_messages_of_a_plain_session_are_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    session = AdvancedSQLiteSession(session_id="s", db_path=place, create_tables=True)
    plain = SQLiteSession("s", place)
    await plain.add_items([user("plain")])
    await session.add_items(TWO)
    while await session.pop_item() is not None:
        pass
    assert await plain.get_items() == [user("plain")]
    plain.close()
    session.close()
