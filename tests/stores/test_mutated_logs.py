"""Stored logs, mutated: each is refused with a typed error, or is a run that reads the same again. Nothing else happens.

`AGENTSDK_FUZZ=50000` sets how many are tried.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from msgspec import structs

from agentsdk import RunConfig, Runner, RunState
from agentsdk.core.codec import VERSION, encode_event
from agentsdk.ports.run_store import RunStore
from agentsdk.stores.encrypted import EncryptedRunStore
from agentsdk.stores.memory import MemoryRunStore
from agentsdk.types.errors import RunNotFoundError, StateError, StateTamperedError
from agentsdk.types.events import RunStarted
from agentsdk.types.summary import RunSummary
from tests.core.released import KEY
from tests.core.test_mutated_states import (
    COUNT,
    ODD,
    TEXTS,
    Clerk,
    change_bytes,
    change_tree,
    change_values,
    nothing_but_reading,
)

pytestmark = pytest.mark.anyio

Log = list[bytes]

RUN_ID = "run-1"


def stored(text: str) -> Log:
    """A released run as a store would have it."""
    started, *events = RunState.from_string(Clerk(), text).value.log
    assert isinstance(started, RunStarted)
    return [encode_event(event) for event in (structs.replace(started, run_id=RUN_ID), *events)]


LOGS = [stored(text) for text in TEXTS]
TAGS = sorted({json.loads(record)[1][0] for log in LOGS for record in log})


def change_json(random: Random, log: Log) -> Log:
    """Values of the whole log swapped, removed, repeated, moved and replaced, by odd ones or by others of their type."""
    text = f'{{"version":{VERSION},"log":[{",".join(record.decode() for record in log)}],"seal":""}}'
    changed = json.loads(random.choice([change_tree, change_values])(random, text)).get("log")
    return [json.dumps(record).encode() for record in (changed if isinstance(changed, list) else [changed])]


def change_record(random: Random, log: Log) -> Log:
    """Bytes of one record flipped, cut off, repeated or put in."""
    at = random.randrange(len(log))
    return [*log[:at], change_bytes(random, log[at].decode()), *log[at + 1 :]]


def change_order(random: Random, log: Log) -> Log:
    """Records left out, repeated, moved, or taken from another log."""
    changed = list(log)
    for _ in range(random.randint(1, 3)):
        at = random.randint(0, len(changed))
        what = random.randrange(4)
        if what == 0:
            del changed[at : at + random.choice([1, 2, len(changed)])]
        elif what == 1 and changed:
            changed.insert(at, random.choice(changed))
        elif what == 2 and changed:
            changed.insert(at, changed.pop(random.randrange(len(changed))))
        else:
            changed[at:at] = random.choice(LOGS)[random.randrange(3) :][: random.randint(1, 3)]
    return changed


def change_type(random: Random, log: Log) -> Log:
    """An event taken for another kind, put into another event once or many times, or of another version."""
    at = random.randrange(len(log))
    version, event = json.loads(log[at])
    what = random.randrange(4)
    if what == 0:
        event[0] = random.choice(TAGS)
    elif what == 1:
        event = random.choice(ODD)(random)
    elif what == 2:
        for _ in range(random.choice([1, 2, 50, 400])):
            event = ["nested", random.choice(["c1", "c4"]), event]
    else:
        version = random.choice([0, 1, VERSION + 1, -1, 1.0, "1", None, [], True, 2**80])
    return [*log[:at], json.dumps([version, event]).encode(), *log[at + 1 :]]


CHANGES: tuple[Callable[[Random, Log], Log], ...] = (change_json, change_record, change_order, change_type)


async def keep(store: RunStore, log: Log) -> None:
    await store.append(
        RUN_ID,
        0,
        log,
        RunSummary(run_id=RUN_ID, rev=len(log), status="waiting", agent="clerk", started_at=1.0, updated_at=1.0),
    )


async def load(log: Log) -> RunState | str:
    """The run, or the name of the typed error that refused it. Any other error is a failure of the test."""
    store = MemoryRunStore()
    await keep(store, log)
    with nothing_but_reading():
        try:
            return await Runner.load(RUN_ID, run_config=RunConfig(store=store))
        except (StateError, RunNotFoundError) as error:
            assert len(str(error)) < 400, "a message never holds the log"
            return type(error).__name__


async def assert_usable(state: RunState) -> None:
    """What a caller may do with a run that was taken: look at it, and find it the same after it was stored again."""
    with nothing_but_reading():
        assert len(state.to_input_list()) == len(state.items())
        state.interruptions  # noqa: B018
        assert isinstance(state.value.log[0], RunStarted)
        log = [encode_event(event) for event in state.value.log]
    again = await load(log)
    assert isinstance(again, RunState)
    assert again.pieces() == state.pieces()


async def test_a_mutated_log_is_refused_or_reads_the_same_again() -> None:
    for log in LOGS:
        whole = await load(log)
        assert isinstance(whole, RunState)
        await assert_usable(whole)
    outcomes: Counter[str] = Counter()
    slowest = 0.0
    for number in range(COUNT):
        random = Random(number)
        log = random.choice(CHANGES)(random, random.choice(LOGS))
        try:
            begun = time.perf_counter()
            loaded = await load(log)
            slowest = max(slowest, time.perf_counter() - begun)
            if isinstance(loaded, RunState):
                assert all(json.loads(record)[0] in range(1, VERSION + 1) for record in log)
                await assert_usable(loaded)
        except BaseException as error:
            error.add_note(f"mutation {number}: {b' '.join(log)[:2000]!r}")
            raise
        outcomes[loaded if isinstance(loaded, str) else "taken"] += 1
    print(f"{COUNT} mutated logs: {dict(outcomes)}, the slowest {slowest * 1000:.1f} ms")
    assert set(outcomes) == {"taken", "StateCorruptError", "StateVersionError", "RunNotFoundError"}


async def test_of_a_mutated_encrypted_log_nothing_but_a_beginning_is_read() -> None:
    encrypted: list[Log] = []
    for log in LOGS:
        inner = MemoryRunStore()
        await keep(EncryptedRunStore(inner, KEY), log)
        encrypted.append(await inner.read("run-1"))
    for number in range(COUNT // 4):
        random = Random(-number - 1)
        which = random.randrange(len(LOGS))
        log = list(encrypted[which])
        if random.random() < 0.5:
            log = change_order(random, log)
        else:
            at = random.randrange(len(log))
            log[at] = change_bytes(random, log[at].decode("latin-1"))
        inner = MemoryRunStore()
        await keep(inner, log)
        try:
            events = await EncryptedRunStore(inner, KEY).read("run-1")
            assert events == LOGS[which][: len(events)]
        except StateTamperedError:
            pass
