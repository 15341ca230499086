"""The conformance suite of run stores: what each must do, as checks that anyone can run on theirs, without a test framework.

```python
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
async def test_my_store(check: Check, tmp_path: Path) -> None:
    await check(functools.partial(MyStore, tmp_path / "runs"))
```

or, for all of them, `await check_store(factory, progress=print)`. The factory opens another handle on the same data with each
call; the checks marked * also call it in processes they start, so it must be picklable: a function of a module, or
`functools.partial` of one. A store that lives in one process says `shared=False`: the factory is then called once for each
check, and the checks marked * or + are skipped. Checks use run ids of their own, take place in 1970 and delete what they
made, so the data need not be empty; but use a test's. A store that lacks `wait` is waited on by polling.

| check | kind | rule |
|---|---|---|
| `create` | semantics | an append at 0 begins a run |
| `create_twice` | semantics | a second one at 0 conflicts |
| `append_in_order` | semantics | appends at the right revision add their events, in order |
| `wrong_revision` | semantics | a lower or higher one, or one of a missing run, conflicts and changes nothing |
| `exact_bytes` | semantics | events come back byte for byte: empty, NUL, invalid UTF-8, 1 MB |
| `many_events` | semantics | 1,000 events in one append |
| `read_from` | semantics | events from any revision on; none from beyond the end |
| `unknown_run` | semantics | read and attach raise `RunNotFoundError`, summary and attachment are None, delete does nothing |
| `run_ids` | semantics | ids that look like paths, patterns or statements, or differ little, are runs of their own |
| `summary_fields` | semantics | every field of a summary comes back, floats to the last bit; each append replaces them all |
| `append_without_events` | semantics | replaces the summary only |
| `lease` | semantics | another owner is refused before `held_until`, not after; the same owner never |
| `lease_release` | semantics | a run released by `held_until` 0 is anyone's |
| `fencing` | semantics | after a takeover the old owner's late append is refused, whatever its revision |
| `list_filters` | semantics | every filter of `RunQuery`, alone and combined, finds what `RunQuery.fits` says |
| `list_metadata` | semantics | runs by pairs of their metadata, exactly, alone and with other filters; a change shows |
| `list_pages` | semantics | latest first, ties by run id; pages with `after`, a summary or its cursor, cover each run once |
| `list_follows` | semantics | an append or delete shows in the next list |
| `attachments` | semantics | any bytes under any name, replaced by the next, apart from other names, runs and the log |
| `delete` | semantics | removes log, summary, lease, mailbox and attachments; the id may begin again at 0 |
| `prune` | semantics | deletes by time and status only, and says how many |
| `closing` | semantics | a second `aclose` does nothing, any other call raises `StoreError` |
| `handles` + | semantics | what one handle did another sees; closing one leaves the others |
| `event_loops` + | semantics | one handle works in one event loop after another |
| `task_race` | concurrency | of tasks that append at one revision exactly one wins each round, the others conflict |
| `task_lease_race` | concurrency | of tasks that take the lease at one revision exactly one wins each round |
| `runs_apart` | concurrency | runs written concurrently do not disturb each other |
| `whole_appends` | concurrency | a reader sees only complete appends, and a summary that fits |
| `cancelled_append` | concurrency | an append cancelled at any await is complete or absent, and the store works on |
| `wait_returns` | semantics | at once if the run is above already, else at the timeout, with its revision, 0 without a run |
| `wait_deleted` | semantics | a run's deletion ends no wait; begun again, it is waited for as before |
| `wait_closed` | semantics | `aclose` ends waits with `StoreError` |
| `wait_wakes` | concurrency | an append wakes a waiter, at whatever point of its beginning it comes |
| `wait_apart` | concurrency | many waiters on many runs wake only for theirs, and only above their revision |
| `wait_cancelled` | concurrency | waiters that are cancelled leave no task behind, and the others waiting |
| `wait_signals_returns` | semantics | as `wait_returns`, for how many signals were posted |
| `wait_signals_wakes` | concurrency | a signal wakes a waiter for signals, an append one for appends, and not the other |
| `process_wait` * | concurrency | an append of another process wakes a waiter |
| `process_wait_signals` * | concurrency | a signal of another process wakes a waiter |
| `wait_event_loops` + | concurrency | an append on one event loop wakes a waiter on another |
| `post` | semantics | signals are numbered from 1 and come back byte for byte, in order, from any number on |
| `post_refused` | semantics | a run that does not exist, is finished or cancelled takes none, and nothing changes |
| `post_beside_the_log` | semantics | a signal leaves log, revision and lease alone; each append tells how many were posted |
| `post_readies` | semantics | a run that waits or has failed is ready then, due since it was last appended to; others stay |
| `post_taken` | semantics | an append leaves a run ready until it has taken all that was posted, and then as it says |
| `post_deleted` | semantics | delete and prune empty the mailbox |
| `post_race` | concurrency | many posters: numbers without a gap, each signal under the number it was given |
| `post_while_appending` | concurrency | posters never make the owner's append fail, and what they post is kept |
| `post_or_wait` | concurrency | a signal beside the append that leaves its run waiting: it is ready, whichever came first |
| `cancelled_post` | concurrency | a post cancelled at any await is complete or absent |
| `process_post_race` * | concurrency | as `post_race` and `post_while_appending`, with processes |
| `killed_poster` * | kill | after SIGKILL each signal reported posted is there, none in part, and no lock is left |
| `due` | semantics | what `DueRuns.fits` says: highest priority first, then due longest, then by run id; the first `limit` |
| `due_follows` | semantics | an append or delete shows at once |
| `claim` | semantics | the first runs that are due, but none of those named, are held then; each as it stood before |
| `claim_race` | concurrency | of tasks that claim what is due each run is got by one |
| `queue` | semantics | how many runs are due, for how long the oldest has been, and how many are held |
| `wait_due_returns` | semantics | the first call returns at once, another at its timeout at the latest |
| `wait_due_wakes` | concurrency | a worker that waits takes each run that an append or a signal leaves ready |
| `process_wait_due` * | concurrency | as `wait_due_wakes`, for another process's appends and signals |
| `process_race` * | concurrency | as `task_race`, with processes |
| `process_lease_race` * | concurrency | as `task_lease_race`, with processes |
| `process_whole_appends` * | concurrency | as `runs_apart` and `whole_appends`, with processes |
| `forked_process` * | concurrency | a handle that was used works on in a fork of the process |
| `killed_writer` * | kill | after SIGKILL each append reported done is there, none in part, and another process continues |
| `killed_owner` * | kill | the lease of a killed process holds until it expires |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal
from unittest import SkipTest

from msgspec import Struct

from agentsdk.testing.store_conformance import concurrency, due, mailbox, processes, semantics, waiting
from agentsdk.testing.store_conformance.check import Check, Factory, Kind
from agentsdk.testing.store_conformance.processes import race

__all__ = ["CHECKS", "Check", "Factory", "Kind", "Outcome", "check_store", "race"]

CHECKS: tuple[Check, ...] = tuple(
    one
    for module in (semantics, concurrency, waiting, mailbox, due, processes)
    for one in vars(module).values()
    if isinstance(one, Check)
)
"""Every check, in the order of the table."""


class Outcome(Struct, frozen=True):
    """How a check went; `detail` says what was seen and what was expected, or why it was skipped."""

    check: str
    result: Literal["passed", "failed", "skipped"]
    detail: str = ""


async def check_store(
    factory: Factory,
    *,
    shared: bool = True,
    workers: int = 8,
    rounds: int = 20,
    progress: Callable[[str], None] | None = None,
) -> tuple[Outcome, ...]:
    """Run every check on a store of `factory`; `progress` is given a line after each.

    Raises `AssertionError` that lists the checks that failed, and `UserError` for a factory that other processes cannot call.
    """
    outcomes: list[Outcome] = []
    for check in CHECKS:
        try:
            await check(factory, shared=shared, workers=workers, rounds=rounds)
            outcome = Outcome(check.name, "passed")
        except SkipTest as reason:
            outcome = Outcome(check.name, "skipped", str(reason))
        except AssertionError as error:
            outcome = Outcome(check.name, "failed", str(error))
        outcomes.append(outcome)
        if progress is not None:
            progress(f"{outcome.result}  {outcome.check}" + (f"  ({outcome.detail})" if outcome.detail else ""))
    failed = [outcome.detail for outcome in outcomes if outcome.result == "failed"]
    if failed:
        raise AssertionError(f"{len(failed)} of {len(CHECKS)} checks failed:\n" + "\n".join(failed))
    return tuple(outcomes)
