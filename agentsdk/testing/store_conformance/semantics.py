"""What each method does, one caller at a time.

Longer than most modules, as it is a list: each check is read by itself, and their order is the order of the package's table.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from itertools import cycle, product
from typing import cast, get_args

from msgspec.structs import replace

from agentsdk.ports.run_store import RunStore
from agentsdk.testing.store_conformance.check import NOW, Ground, append, expect, expect_error, expect_log, rule, summed
from agentsdk.types.errors import RunConflictError, RunNotFoundError, StoreError
from agentsdk.types.summary import MAX_RUN_ID_CHARS, DueRuns, RunQuery, RunStatus, RunSummary

AWKWARD_BYTES = (
    b"",
    b"\0",
    b"\xff\xfe\x80",
    b"a\0b\n\r\n",
    b"null",
    b"'\"\\",
    "\u2028\ud7ff\U0010ffff".encode(),
    bytes(range(256)),
)


@rule("semantics")
async def create(ground: Ground) -> None:
    run_id = ground.run_id()
    await append(ground.store, run_id, 0, b"a", b"b")
    await expect_log(ground.store, run_id, [b"a", b"b"], "a run begun at 0")


@rule("semantics")
async def create_twice(ground: Ground) -> None:
    run_id = ground.run_id()
    await append(ground.store, run_id, 0, b"a")
    await expect_error(RunConflictError, append(ground.store, run_id, 0, b"b"), "a run begun again")
    await expect_log(ground.store, run_id, [b"a"], "the run that was there")


@rule("semantics")
async def append_in_order(ground: Ground) -> None:
    run_id = ground.run_id()
    events = [b"%d" % number for number in range(30)]
    for rev in range(0, 30, 3):
        await append(ground.store, run_id, rev, *events[rev : rev + 3])
    await expect_log(ground.store, run_id, events, "ten appends of three events")


@rule("semantics")
async def wrong_revision(ground: Ground) -> None:
    run_id, missing = ground.run_id(), ground.run_id()
    await append(ground.store, run_id, 0, b"a", b"b")
    before = await ground.store.summary(run_id)
    for rev in (0, 1, 3, 100):
        call = ground.store.append(run_id, rev, [b"c"], summed(run_id, rev + 1, agent="other"))
        await expect_error(RunConflictError, call, f"an append at {rev} to a run at 2")
        await expect_log(ground.store, run_id, [b"a", b"b"], f"after a refused append at {rev}")
        expect(await ground.store.summary(run_id), before, f"the summary after a refused append at {rev}")
    await expect_error(RunConflictError, append(ground.store, missing, 1, b"a"), "an append at 1 to a run that does not exist")
    expect(await ground.store.summary(missing), None, "a run that was never begun")


@rule("semantics")
async def exact_bytes(ground: Ground) -> None:
    run_id = ground.run_id()
    events = [*AWKWARD_BYTES, b"\xf0" * 1_000_000]
    await append(ground.store, run_id, 0, *events)
    await expect_log(ground.store, run_id, events, "awkward bytes and one megabyte")


@rule("semantics")
async def many_events(ground: Ground) -> None:
    run_id = ground.run_id()
    events = [b"%d" % number for number in range(1000)]
    await append(ground.store, run_id, 0, *events)
    await expect_log(ground.store, run_id, events, "1,000 events in one append")


@rule("semantics")
async def read_from(ground: Ground) -> None:
    run_id = ground.run_id()
    events = [b"%d" % number for number in range(12)]
    await append(ground.store, run_id, 0, *events[:7])
    await append(ground.store, run_id, 7, *events[7:])
    for rev in (*range(13), 13, 1000):
        expect(await ground.store.read(run_id, rev), events[rev:], f"read from {rev} of 12")


@rule("semantics")
async def unknown_run(ground: Ground) -> None:
    run_id = ground.run_id()
    await expect_error(RunNotFoundError, ground.store.read(run_id), "read of a run that does not exist")
    await expect_error(RunNotFoundError, ground.store.attach(run_id, "a", b"a"), "attach to a run that does not exist")
    expect(await ground.store.summary(run_id), None, "the summary of a run that does not exist")
    expect(await ground.store.attachment(run_id, "a"), None, "an attachment of a run that does not exist")
    await ground.store.delete(run_id)


@rule("semantics")
async def run_ids(ground: Ground) -> None:
    awkward = [
        "../../",
        "/etc/",
        "C:\\",
        "{a}:*?",
        "[a-z]",
        "%",
        "_",
        "a b ",
        "'; --",
        '"',
        "\n",
        "\x7f",
        "é",
        "e\u0301",
        "\U0001f600",
    ]
    ids = [ground.run_id(prefix) for prefix in awkward]
    plain = ground.run_id("a")
    ids += [plain, *map(ground.own, (plain.upper(), f"{plain}1", f"{plain}:log", f"{plain} ", f"{plain}/..", f"{plain}{{}}"))]
    ids.append(ground.own(ground.run_id().ljust(MAX_RUN_ID_CHARS, "\U0001f600")))
    for run_id in ids:
        await append(ground.store, run_id, 0, run_id.encode())
        await ground.store.attach(run_id, run_id, run_id.encode())
    for run_id in ids:
        await expect_log(ground.store, run_id, [run_id.encode()], f"run {run_id!r}")
        expect(await ground.store.attachment(run_id, run_id), run_id.encode(), f"the attachment of run {run_id!r}")
    await ground.store.delete(plain)
    expect([one for one in ids if await ground.store.summary(one) is None], [plain], "the runs gone after one was deleted")
    for run_id in ids:
        if run_id != plain:
            await expect_log(ground.store, run_id, [run_id.encode()], f"run {run_id!r} after the deletion of {plain!r}")


@rule("semantics")
async def summary_fields(ground: Ground) -> None:
    numbers = (5e-324, 0.1 + 0.2, math.nextafter(1_763_632_800.0, math.inf), 1e300)
    for status, number in zip(get_args(RunStatus), cycle(numbers), strict=False):
        run_id = ground.run_id()
        held_until = math.nextafter(number, 0.0)
        given = RunSummary(
            run_id=run_id,
            rev=1,
            status=status,
            agent="é \U0001f600 '\"\\ " * 1000,
            started_at=number,
            updated_at=math.nextafter(number, math.inf),
            turns=1,
            requests=2,
            input_tokens=2**53 + 1,
            output_tokens=3,
            waiting=4,
            reason="r" * 100_000,
            forked_from=ground.run_id(),
            owner="owner",
            held_until=held_until,
            first_agent="é \U0001f600 '\"\\ " * 1000,
            paid="0.000000000000000000000000000000000001",
            phase="judge",
            error="e\n\u2028" * 10_000,
            due_at=held_until,
            priority=-(2**40),
            elapsed=math.nextafter(number, math.inf),
            ended_at=number,
            taken=2**40,
            metadata={"user": "é \U0001f600 '\"\\ %_", "": "", "'; --": "\n", "a.b[0]": "null", "long": "x" * 10_000},
        )
        second, third = replace(given, rev=2, metadata={"user": "é"}), summed(run_id, 3, status=status, agent="", at=number)
        for summary in (given, second, third):
            await ground.store.append(run_id, summary.rev - 1, [b"a"], replace(summary, signals=99))
            expect(await ground.store.summary(run_id), summary, "a summary that was appended")


@rule("semantics")
async def append_without_events(ground: Ground) -> None:
    run_id = ground.run_id()
    await append(ground.store, run_id, 0, b"a")
    renewed = replace(summed(run_id, 1, status="waiting", at=NOW + 1, owner="a", held_until=NOW + 60), waiting=2)
    await ground.store.append(run_id, 1, [], renewed)
    expect(await ground.store.summary(run_id), renewed, "the summary an append without events brought")
    await expect_error(
        RunConflictError, append(ground.store, run_id, 0, owner="a"), "an append without events at an old revision"
    )
    await expect_log(ground.store, run_id, [b"a"], "the log after appends without events")
    empty = ground.run_id()
    await append(ground.store, empty, 0)
    await expect_log(ground.store, empty, [], "a run begun without events")


@rule("semantics")
async def lease(ground: Ground) -> None:
    run_id = ground.run_id()
    until = math.nextafter(NOW + 60, math.inf)
    await append(ground.store, run_id, 0, b"a", owner="a", held_until=until)
    other = append(ground.store, run_id, 1, b"b", owner="b", at=NOW + 60, held_until=NOW + 120)
    await expect_error(RunConflictError, other, "another owner before held_until")
    other = append(ground.store, run_id, 1, owner="b", at=NOW + 59, held_until=NOW + 120)
    await expect_error(RunConflictError, other, "another owner without events before held_until")
    await expect_error(RunConflictError, append(ground.store, run_id, 1, b"b", at=NOW + 59), "no owner before held_until")
    await expect_log(ground.store, run_id, [b"a"], "the log after the refused appends")
    await append(ground.store, run_id, 1, b"c", owner="a", at=NOW + 59, held_until=until)
    await append(ground.store, run_id, 2, b"d", owner="b", at=until, held_until=NOW + 120)
    await append(ground.store, run_id, 3, b"e", owner="b", at=NOW + 500, held_until=NOW + 560)
    await expect_log(ground.store, run_id, [b"a", b"c", b"d", b"e"], "the log of two owners")


@rule("semantics")
async def lease_release(ground: Ground) -> None:
    run_id = ground.run_id()
    await append(ground.store, run_id, 0, b"a", owner="a", held_until=NOW + 60)
    await append(ground.store, run_id, 1, owner="a", at=NOW + 1)
    await append(ground.store, run_id, 1, b"b", owner="b", at=NOW + 1, held_until=NOW + 60)
    await expect_log(ground.store, run_id, [b"a", b"b"], "the log of a run that was released and taken")


@rule("semantics")
async def fencing(ground: Ground) -> None:
    run_id = ground.run_id()
    await append(ground.store, run_id, 0, b"a", owner="old", held_until=NOW + 60)
    await append(ground.store, run_id, 1, owner="new", at=NOW + 60, held_until=NOW + 120)
    before = await ground.store.summary(run_id)
    for rev in (0, 1, 2):
        for events in ([b"late"], []):
            late = append(ground.store, run_id, rev, *events, owner="old", at=NOW + 61, held_until=NOW + 121)
            await expect_error(RunConflictError, late, f"the old owner's append of {len(events)} events at {rev}")
    expect(await ground.store.summary(run_id), before, "the new owner's summary")
    await append(ground.store, run_id, 1, b"b", owner="new", at=NOW + 61, held_until=NOW + 121)
    await expect_error(
        RunConflictError, append(ground.store, run_id, 1, b"late", owner="old"), "the old owner's append at its own rev"
    )
    await expect_log(ground.store, run_id, [b"a", b"b"], "the log after late appends")


async def listed(ground: Ground, query: RunQuery) -> list[RunSummary]:
    """This check's runs that `query` finds, over all pages. Raises `AssertionError` where they are not in order."""
    found: list[RunSummary] = []
    page = await ground.store.list(query)
    while page:
        if len(page) > query.limit:
            raise AssertionError(f"list: saw a page of {len(page)}, expected at most {query.limit}")
        keys = [*(() if query.before is None else (query.before,)), *((one.started_at, one.run_id) for one in page)]
        expect(keys, sorted(set(keys), reverse=True), f"list({query!r}), start and id of the last one before and of the page")
        found += [summary for summary in page if summary.run_id in ground.run_ids]
        query = replace(query, after=page[-1].cursor if len(found) % 2 else page[-1])
        page = await ground.store.list(query)
    return found


def in_order(summaries: list[RunSummary]) -> list[RunSummary]:
    return sorted(summaries, key=lambda one: (one.started_at, one.run_id), reverse=True)


@rule("semantics")
async def list_filters(ground: Ground) -> None:
    runs: list[RunSummary] = []
    start = NOW + 1 / 3
    for number, (status, agent, tokens) in enumerate(product(get_args(RunStatus), ("a", "A", "b c"), (0, 7, 2**40))):
        summary = summed(
            ground.run_id(), 0, status=status, agent=agent, at=start + number % 5, held_until=start + number // 2 % 3
        )
        summary = replace(summary, input_tokens=tokens // 2, output_tokens=tokens - tokens // 2)
        await ground.store.append(summary.run_id, 0, [], summary)
        runs.append(summary)
    statuses: tuple[RunStatus | None, ...] = (None, *get_args(RunStatus))
    agents, least = (None, "a", "b c"), (None, 7, 8)
    starts, ends, abandoned = (None, start + 1), (None, start + 3), (None, start + 1)
    for wanted, of, after, before, spent, at in product(statuses, agents, starts, ends, least, abandoned):
        query = RunQuery(
            status=wanted,
            agent=of,
            started_after=after,
            started_before=before,
            min_tokens=spent,
            abandoned_at=at,
            limit=1000,
        )
        expected = in_order([one for one in runs if query.fits(one)])
        expect(await listed(ground, query), expected, f"list({query!r})")


@rule("semantics")
async def list_metadata(ground: Ground) -> None:
    runs: list[RunSummary] = []
    users = ("ada", "Ada", "a%", "é '\"\\")
    tags: tuple[dict[str, str], ...] = ({}, {"tag": ""}, {"tag": "x", "ada": "user"})
    for number, (user, tag, status) in enumerate(product(users, tags, get_args(RunStatus))):
        summary = replace(summed(ground.run_id(), 0, status=status, at=NOW + number % 5), metadata={"user": user, **tag})
        await ground.store.append(summary.run_id, 0, [], summary)
        runs.append(summary)
    wanted: tuple[dict[str, str], ...] = (
        *({"user": user} for user in users),
        {"user": "ad"},
        {"user": "ada", "tag": ""},
        {"tag": "x", "user": "ada", "ada": "user"},
        {"USER": "ada"},
        {"ada": "ada"},
        {"tag": "x"},
    )
    for metadata, status, after, limit in product(wanted, (None, "ready"), (None, NOW + 2), (2, 1000)):
        query = RunQuery(metadata=metadata, status=cast("RunStatus | None", status), started_after=after, limit=limit)
        expect(await listed(ground, query), in_order([one for one in runs if query.fits(one)]), f"list({query!r})")
    changed = replace(runs[0], metadata={"user": "bob"})
    await ground.store.append(changed.run_id, 0, [], changed)
    await ground.store.delete(runs[1].run_id)
    query = RunQuery(metadata={"user": "ada"}, limit=1000)
    left = in_order([one for one in runs[2:] if query.fits(one)])
    expect(await listed(ground, query), left, "the runs of a user after one was changed and one deleted")
    expect(await listed(ground, RunQuery(metadata={"user": "bob"})), [changed], "the runs of the user of one that was changed")


@rule("semantics")
async def list_pages(ground: Ground) -> None:
    prefixes = ("a", "B", "_", "é", "\uff5e", "\U0001f600")
    runs = [summed(ground.run_id(prefix), 0, at=NOW + number // 6 % 2) for number, prefix in enumerate(prefixes * 4)]
    for summary in runs:
        await ground.store.append(summary.run_id, 0, [], summary)
    for limit in (1, 5, 24, 1000):
        query = RunQuery(started_after=NOW, started_before=NOW + 2, limit=limit)
        expect(await listed(ground, query), in_order(runs), f"pages of {limit}, runs begun at the same time by run_id")
    expect(len(await ground.store.list(RunQuery(limit=5))), 5, "the length of a page of 5 of more runs")


@rule("semantics")
async def list_follows(ground: Ground) -> None:
    run_id = ground.run_id()
    running, finished, large = RunQuery(status="running"), RunQuery(status="finished", agent="b"), RunQuery(min_tokens=100)
    await append(ground.store, run_id, 0, b"a")
    expect([one.rev for one in await listed(ground, running)], [1], "a run just begun")
    done = replace(summed(run_id, 2, status="finished", agent="b"), input_tokens=100)
    await ground.store.append(run_id, 1, [b"b"], done)
    expect(await listed(ground, running), [], "the running ones after the run has finished")
    expect(await listed(ground, finished), [done], "the finished ones of agent 'b'")
    expect(await listed(ground, large), [done], "the ones of 100 tokens")
    await ground.store.delete(run_id)
    expect(await listed(ground, finished), [], "the finished ones after it was deleted")


@rule("semantics")
async def attachments(ground: Ground) -> None:
    run_id, other = ground.run_id(), ground.run_id()
    for one in (run_id, other):
        await append(ground.store, one, 0, b"a")
    before = await ground.store.summary(run_id)
    names = ["a", "A", "../../a", "{a}:*?", "é\U0001f600 '\"", "n" * 200, "0", "log"]
    for number, name in enumerate(names):
        expect(await ground.store.attachment(run_id, name), None, f"attachment {name!r} before it was made")
        await ground.store.attach(run_id, name, AWKWARD_BYTES[number] * 1000)
        expect(await ground.store.attachment(run_id, name), AWKWARD_BYTES[number] * 1000, f"attachment {name!r}")
    await ground.store.attach(run_id, "a", b"new")
    expect(await ground.store.attachment(run_id, "a"), b"new", "an attachment made again")
    expect(await ground.store.attachment(run_id, "A"), AWKWARD_BYTES[1] * 1000, "the one beside it")
    expect(await ground.store.attachment(other, "a"), None, "an attachment of that name of another run")
    expect(await ground.store.summary(run_id), before, "the summary after attach")
    await expect_log(ground.store, run_id, [b"a"], "the log after attach")


@rule("semantics")
async def delete(ground: Ground) -> None:
    run_id, other = ground.run_id(), ground.run_id()
    for one in (run_id, other):
        await append(ground.store, one, 0, b"a", b"b", owner="a", held_until=NOW + 60)
        await ground.store.attach(one, "a", b"a")
    await ground.store.delete(run_id)
    expect(await ground.store.summary(run_id), None, "the summary of a deleted run")
    await expect_error(RunNotFoundError, ground.store.read(run_id), "read of a deleted run")
    expect(await ground.store.attachment(run_id, "a"), None, "an attachment of a deleted run")
    await expect_error(
        RunConflictError, append(ground.store, run_id, 2, b"c", owner="a"), "an append to a deleted run at its old rev"
    )
    await append(ground.store, run_id, 0, b"again")
    await expect_log(ground.store, run_id, [b"again"], "a run begun again after it was deleted")
    expect(await ground.store.attachment(run_id, "a"), None, "its attachment of before")
    await expect_log(ground.store, other, [b"a", b"b"], "another run")
    expect(await ground.store.attachment(other, "a"), b"a", "an attachment of another run")


@rule("semantics")
async def prune(ground: Ground) -> None:
    await ground.store.prune(100.0, get_args(RunStatus))
    runs = {(status, at): ground.run_id() for status in get_args(RunStatus) for at in (10.0, 20.0, 100.0)}
    for (status, at), run_id in runs.items():
        await ground.store.append(run_id, 0, [b"a"], replace(summed(run_id, 1, status=status, at=1.0), updated_at=at))
        await ground.store.attach(run_id, "a", b"a")
    cases: tuple[tuple[float, tuple[RunStatus, ...], int], ...] = (
        (20.0, ("finished",), 1),
        (20.0, ("finished",), 0),
        (50.0, ("failed", "finished"), 3),
        (50.0, (), 0),
    )
    gone: set[str] = set()
    for before, statuses, count in cases:
        what = f"prune({before}, {statuses})"
        expect(await ground.store.prune(before, iter(statuses)), count, what)
        gone |= {run_id for (status, at), run_id in runs.items() if at < before and status in statuses}
        for (status, at), run_id in runs.items():
            one = f"a run {status} at {at} after {what}"
            expect(await ground.store.summary(run_id) is None, run_id in gone, f"whether there is no summary of {one}")
            expect(await ground.store.attachment(run_id, "a"), None if run_id in gone else b"a", f"the attachment of {one}")
    again = runs["finished", 10.0]
    await append(ground.store, again, 0, b"again")
    await expect_log(ground.store, again, [b"again"], "a run begun again after it was pruned")


@rule("semantics")
async def closing(ground: Ground) -> None:
    run_id = ground.run_id()
    store = ground.open()
    await append(store, run_id, 0, b"a")
    await store.aclose()
    await store.aclose()
    calls: dict[str, Callable[[], Awaitable[object]]] = {
        "append": lambda: append(store, run_id, 1, b"b"),
        "read": lambda: store.read(run_id),
        "summary": lambda: store.summary(run_id),
        "list": lambda: store.list(RunQuery()),
        "due": lambda: store.due(DueRuns(at=NOW)),
        "post": lambda: store.post(run_id, b"a"),
        "signals": lambda: store.signals(run_id),
        "attach": lambda: store.attach(run_id, "a", b"a"),
        "attachment": lambda: store.attachment(run_id, "a"),
        "delete": lambda: store.delete(run_id),
        "prune": lambda: store.prune(1.0),
    }
    for name, call in calls.items():
        try:
            await call()
        except (RunConflictError, RunNotFoundError) as error:
            raise AssertionError(
                f"{name} after aclose: saw {type(error).__name__}, expected a StoreError of its own"
            ) from error
        except StoreError:
            continue
        raise AssertionError(f"{name} after aclose: saw it return, expected StoreError")
    await ground.open().aclose()


@rule("semantics", shared=True)
async def handles(ground: Ground) -> None:
    first, second, run_id = ground.open(), ground.open(), ground.run_id()
    await append(first, run_id, 0, b"a")
    await expect_log(second, run_id, [b"a"], "what another handle has appended")
    await append(second, run_id, 1, b"b")
    await expect_log(first, run_id, [b"a", b"b"], "what the other has appended to it")
    await first.aclose()
    await expect_log(second, run_id, [b"a", b"b"], "a run after another handle was closed")
    await second.aclose()
    await expect_log(ground.open(), run_id, [b"a", b"b"], "a run seen by a handle opened later")


@rule("semantics", shared=True)
async def event_loops(ground: Ground) -> None:
    store, run_id = ground.open(), ground.run_id()
    await append(store, run_id, 0, b"here")
    await asyncio.to_thread(asyncio.run, _elsewhere(store, run_id))
    await append(store, run_id, 2, b"here again")
    await expect_log(store, run_id, [b"here", b"there", b"here again"], "the log of two event loops")


async def _elsewhere(store: RunStore, run_id: str) -> None:
    await append(store, run_id, 1, b"there")
    await expect_log(store, run_id, [b"here", b"there"], "the log seen from a second event loop")
