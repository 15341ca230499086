"""Runs and sessions as released versions left them in every store, and what must come of each.

    python -m tests.stores.released

leaves each scenario in every store, in `fixtures/v<version>/` of the present schema version, which is to be released, and never
overwrites: to a released version only a new store's is added. `runs.db` and `encrypted.db` are SQLite files, `files` is a
directory of logs, `postgres.sql` a dump, `redis.json` the values by their keys.
A scenario runs in a process of its own, which it may kill. `v1-earlier` is of a build whose events had fewer fields.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentsdk import (
    Agent,
    EncryptedRunStore,
    FileRunStore,
    FunctionTool,
    PostgresRunStore,
    PostgresSession,
    RedisRunStore,
    RedisSession,
    RunConfig,
    Runner,
    RunStore,
    Session,
    SQLiteRunStore,
    SQLiteSession,
    function_tool,
    handoff,
)
from agentsdk.core.codec import VERSION
from agentsdk.testing import ScriptedModel, call
from tests import postgres_server, redis_server
from tests.models.wire import FakeClock

FIXTURES = Path(__file__).parent / "fixtures"
KINDS = ("runs.db", "encrypted.db", "files", "postgres.sql", "redis.json")
"""What is kept of each version. Of an earlier one than a store is, there is none of that store."""
KEY = b"the key that the fixtures carry."
SCHEMA = "released"
"""The schema of the PostgreSQL dump."""
PREFIX = "released"
"""The prefix of the Redis keys."""
SESSION = "Ada"
LEFT_AT = 1_700_000_000.0
"""When the runs began, a Unix timestamp in seconds: a lease that a process died with has passed."""
LONG = "line of a long result\n" * 20
TAKES_CHARS = 200


@dataclass(frozen=True)
class Scenario:
    """What the models said before the run was left, where its process died, and what comes of it.

    The process dies after the append of an event with the tag `dies_after`, or in the body of the tool `dies_in`. Resumed, the
    run waits for calls of the tools `waits_for`; once those are approved or settled, the models say `after`, and only `effects`
    are had.
    """

    before: Sequence[Any]
    after: Sequence[Any] = ("done",)
    dies_after: str = ""
    dies_in: str = ""
    decided: bool = False
    waits_for: Sequence[str] = ()
    effects: Sequence[str] = ()
    first_agent: str = "clerk"
    agent: str = "clerk"


SCENARIOS = {
    "approval": Scenario([call("read"), call("pay")], waits_for=["pay"], effects=["pay"]),
    "approved": Scenario([call("pay")], decided=True, effects=["pay"]),
    "nested": Scenario([call("ask_helper", input="Pay."), call("pay")], ["paid", "done"], waits_for=["pay"], effects=["pay"]),
    "handed_over": Scenario([call("transfer_to_cashier"), call("pay")], waits_for=["pay"], effects=["pay"], agent="cashier"),
    "after_reply": Scenario([call("note")], dies_after="reply", effects=["note"]),
    "in_tool": Scenario([call("note")], dies_in="note", effects=["note"]),
    "in_doubt": Scenario([call("send")], dies_in="send", waits_for=["send"]),
    "after_result": Scenario([call("note")], dies_after="result"),
    "finished": Scenario(["done"], after=()),
}
ENCRYPTED = ("approval", "after_result")


class Desk:
    """The outside of a run: the effects its tools had, and the tool that is the end of its process."""

    def __init__(self, dies_in: str = "") -> None:
        self.effects: list[str] = []
        self._dies_in = dies_in

    def tool(self, name: str, result: str, **options: Any) -> FunctionTool[Any]:
        async def body() -> str:
            if name == self._dies_in:
                os._exit(9)
            self.effects.append(name)
            return result

        return function_tool(body, name_override=name, description_override=f"{name}.", **options)

    def agent(self, *replies: Any) -> Agent[Any, str]:
        """A clerk who can ask another or hand over; each of them says `replies` in turn."""
        model = ScriptedModel(replies)
        pay = self.tool("pay", "paid", needs_approval=True)
        helper = Agent[Any, str](name="helper", model=model, tools=[pay])
        cashier = Agent[Any, str](name="cashier", model=model, tools=[pay])
        tools: list[Any] = [
            pay,
            self.tool("read", LONG, effect="none"),
            self.tool("note", "noted", effect="idempotent"),
            self.tool("send", "sent"),
            helper.as_tool("ask_helper", "Ask the helper."),
        ]
        return Agent[Any, str](name="clerk", model=model, tools=tools, handoffs=[handoff(cashier)])


def config_of(store: RunStore, run_id: str | None = None, **options: Any) -> RunConfig:
    return RunConfig(store=store, run_id=run_id, max_tool_result_chars=TAKES_CHARS, **options)


def store_at(place: str) -> RunStore:
    if place.startswith("postgresql:"):
        return PostgresRunStore(place)
    if place.startswith("redis:"):
        return RedisRunStore(place, prefix=PREFIX)
    if place.endswith("files"):
        return FileRunStore(place)
    store = SQLiteRunStore(place)
    return EncryptedRunStore(store, KEY) if place.endswith("encrypted.db") else store


def session_at(place: str) -> Session:
    if place.startswith("postgresql:"):
        return PostgresSession(SESSION, place)
    if place.startswith("redis:"):
        return RedisSession(SESSION, place, prefix=PREFIX)
    return SQLiteSession(SESSION, place)


async def leave(name: str, place: str) -> None:
    """Run the scenario up to where it is left, or dies. `session` is none of them: a turn of a conversation."""
    if name == "session":
        session: Any = session_at(place)
        await Runner.run(Desk().agent("Hello, Ada."), "I am Ada.", session=session)
        await session.aclose()
        return
    scenario, store = SCENARIOS[name], store_at(place)
    append = store.append

    async def append_and_die(run_id: str, expected_rev: int, events: Sequence[bytes], summary: Any) -> int:
        signals = await append(run_id, expected_rev, events, summary)
        if scenario.dies_after and any(json.loads(event)[1][0] == scenario.dies_after for event in events):
            os._exit(9)
        return signals

    store.append = append_and_die  # type: ignore[method-assign]
    config = config_of(store, name, clock=FakeClock(LEFT_AT + list(SCENARIOS).index(name)))
    await Runner.run(Desk(scenario.dies_in).agent(*scenario.before), "go", run_config=config)
    if scenario.decided:
        state = await Runner.load(name, run_config=config_of(store))
        for item in state.interruptions:
            state.approve(item)
        await Runner.decide(state, run_config=config_of(store, clock=config.clock))
    await store.aclose()


def leave_all(place: str, names: Sequence[str]) -> None:
    for name in names:
        done = subprocess.run([sys.executable, "-m", "tests.stores.released", name, place], check=False)
        scenario = SCENARIOS.get(name)
        dies = scenario is not None and bool(scenario.dies_after or scenario.dies_in)
        assert done.returncode == (9 if dies else 0), f"{name} in {place} ended with {done.returncode}"


async def postgres_dump(server: postgres_server.PostgresServer) -> str:
    dumped = subprocess.run(
        [server.program("pg_dump"), "--inserts", "--no-owner", "--no-acl", f"--schema={SCHEMA}", server.url],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    not_ours = ("--", "\\", "SET ", "SELECT pg_catalog.set_config")
    said = [line for line in dumped.splitlines() if line and not line.startswith(not_ours)]
    return "\n".join(said) + "\n"


async def restored_postgres(server_url: str, dump: str) -> str:
    """The URL of a new schema with what the dump holds."""
    import asyncpg

    name = f"released_{os.urandom(8).hex()}"
    connection = await asyncpg.connect(server_url)
    await connection.execute(dump.replace(f"{SCHEMA}.", f"{name}.").replace(f"SCHEMA {SCHEMA};", f"SCHEMA {name};"))
    await connection.close()
    return f"{server_url}&search_path={name}"


async def redis_dump(url: str) -> str:
    from redis.asyncio import Redis

    values: dict[str, Any] = {}
    async with Redis.from_url(url, decode_responses=True) as client:
        for key in sorted([key async for key in client.scan_iter(f"{{{PREFIX}}}:*")]):
            kind = await client.type(key)
            read = {
                "string": lambda key: client.get(key),
                "hash": lambda key: client.hgetall(key),
                "list": lambda key: client.lrange(key, 0, -1),
                "zset": lambda key: client.zrange(key, 0, -1, withscores=True),
            }[kind]
            values[key] = [kind, await read(key)]
    return json.dumps(values, indent=1) + "\n"


async def restore_redis(url: str, dump: str) -> None:
    """Put what the dump holds in the place of what has its prefix."""
    from redis.asyncio import Redis

    async with Redis.from_url(url) as client:
        for key in [key async for key in client.scan_iter(f"{{{PREFIX}}}:*")]:
            await client.delete(key)
        for key, (kind, value) in json.loads(dump).items():
            if kind == "string":
                await client.set(key, value)
            elif kind == "hash":
                await client.hset(key, mapping=value)
            elif kind == "list":
                await client.rpush(key, *value)
            else:
                await client.zadd(key, dict(value))


async def main() -> None:
    folder = FIXTURES / f"v{VERSION}"
    names = [*SCENARIOS, "session"]
    with ExitStack() as stack:
        made = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        leave_all(str(made / "runs.db"), names)
        leave_all(str(made / "encrypted.db"), ENCRYPTED)
        for file in ("runs.db", "encrypted.db"):  # the last to close the file leaves all of it in one
            store = store_at(str(made / file))
            assert await store.summary("approval") is not None
            await store.aclose()
        leave_all(str(made / "files"), [*SCENARIOS])
        server = stack.enter_context(postgres_server.running())
        import asyncpg

        connection = await asyncpg.connect(server.url)
        await connection.execute(f"CREATE SCHEMA {SCHEMA}")
        await connection.close()
        leave_all(f"{server.url}&search_path={SCHEMA}", names)
        redis = stack.enter_context(redis_server.running())
        leave_all(redis.url, names)
        (made / "postgres.sql").write_text(await postgres_dump(server), encoding="utf-8")
        (made / "redis.json").write_text(await redis_dump(redis.url), encoding="utf-8")
        folder.mkdir(parents=True, exist_ok=True)
        for left in KINDS:
            if (folder / left).exists():
                print(f"{folder / left} was released: left as it is")
            else:
                shutil.move(made / left, folder / left)
                print(f"{folder / left} written")


if __name__ == "__main__":
    asyncio.run(leave(*sys.argv[1:3]) if len(sys.argv) > 1 else main())
