"""A dream: what it may do to the file, what becomes of it beside others, and in a workflow."""

from __future__ import annotations

import asyncio
import runpy
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from agentsdk import MemoryRunStore, ModelRequest, RunConfig, Runner, UserError, Worker
from agentsdk.context_window import EstimatingCounter
from agentsdk.errors import (
    MemoryBusyError,
    MemoryRefusedError,
    ProviderUnavailableError,
    StepFailedError,
    WorkflowFailedError,
)
from agentsdk.patterns import Memory, MemoryChange
from agentsdk.patterns.memory.ledger import Ledger
from agentsdk.testing import ScriptedModel, call, workflow_check
from agentsdk.workflow import flow, workflow
from tests.patterns.keeping import asked, conversation, noting, replacing

pytestmark = pytest.mark.anyio

Make = Callable[..., Memory]
COUNTER = RunConfig(token_counter=EstimatingCounter())


@pytest.fixture
async def memories(tmp_path: Path) -> AsyncIterator[Make]:
    """Makes memories in one folder, and closes them."""
    made: list[Memory] = []

    def make(**options: Any) -> Memory:
        made.append(Memory(tmp_path / "memories", **options))
        return made[-1]

    yield make
    for memory in made:
        await memory.aclose()


FACTS = "".join([f"- 2026-01-{day:02}: Fact number {day} of the month, told by a guest.\n" for day in range(1, 29)])


async def test_a_result_that_is_too_large_is_told_to_the_model(memories: Make) -> None:
    replies = [*noting(FACTS), *replacing(FACTS.strip(), "- 2026-01-28: 28 facts were told."), "Merged."]
    keeper = ScriptedModel(replies)
    memory = memories(model=keeper, max_tokens=100, run_config=COUNTER, after_runs=1)
    change = await memory.remember(await conversation("28 facts."))
    assert change is not None and memory.path.read_text() == "- 2026-01-28: 28 facts were told.\n"
    (feedback,) = [item for item in keeper.requests[2].items if "tokens" in getattr(item, "text", "")][-1:]
    assert "tokens, expected 100 at most: merge lines" in getattr(feedback, "text", "")


@pytest.mark.parametrize("kind", ["too large", "loses all"])
async def test_a_result_that_stays_wrong_is_refused_and_nothing_lost(memories: Make, kind: str) -> None:
    before = FACTS if kind == "loses all" else ""
    edits = replacing(FACTS.strip(), "") if before else noting(FACTS)
    keeper = ScriptedModel([*edits, "No.", "No.", "No.", *noting("- Well.")])
    memory = memories(model=keeper, max_tokens=2_000 if before else 100, run_config=COUNTER, after_runs=1)
    if before:
        memory.path.write_text(before)
    with pytest.raises(MemoryRefusedError, match="came to nothing") as raised:
        await memory.remember(await conversation("Forget everything."))
    assert "Fact number" not in str(raised.value)
    assert (memory.path.read_text() if before else "") == before and (before or not memory.path.exists())
    assert len(keeper.requests) == 5
    assert await memory.dream() is not None, "the conversation is still to be taken in"
    assert "Forget everything." in asked(keeper.requests[-1])


async def test_a_small_memory_may_be_emptied(memories: Make) -> None:
    memory = memories(model=ScriptedModel(replacing("- 2026-01-01: Waits for a parcel.\n", "")))
    memory.path.write_text("- 2026-01-01: Waits for a parcel.\n")
    change = await memory.dream()
    assert change is not None and change.after == "" and not memory.path.exists()
    undone = await memory.undo()
    assert undone is not None and memory.path.read_text() == "- 2026-01-01: Waits for a parcel.\n"


async def test_the_keeper_can_read_and_edit_one_file_and_nothing_else(memories: Make) -> None:
    def reads(request: ModelRequest) -> object:
        return [call("read_memory"), call("edit_memory", old_text="absent", new_text="x"), call("read_memory")]

    keeper = ScriptedModel([reads, call("write_file", path="/etc/passwd", content="x"), "Nothing."])
    memory = memories(model=keeper)
    memory.path.write_text("- A.\n")
    assert await memory.dream() is None
    assert [tool.name for tool in keeper.requests[0].tools] == ["read_memory", "edit_memory"]
    results = [str(getattr(item, "output", "")) for item in keeper.requests[2].items]
    assert results.count("- A.\n") == 2 and any("stands 0 times" in text for text in results)
    assert await memory.dream() is None and len(keeper.requests) == 3, "what a dream has left is not looked at again"


async def test_an_edit_by_hand_in_the_middle_is_not_lost(memories: Make) -> None:
    memory = memories(model=None)

    def edited(request: ModelRequest) -> object:
        memory.path.write_text("- By hand.\n")
        return call("edit_memory", old_text="", new_text="- A.")

    keeper = ScriptedModel([edited, "Noted.", *noting("- A.")])
    dreaming = memories(model=keeper, after_runs=1)
    change = await dreaming.remember(await conversation("A."))
    assert change is not None and change.before == "- By hand.\n" and memory.path.read_text() == "- By hand.\n- A.\n"
    assert "- By hand." in asked(keeper.requests[2])


async def test_an_edit_by_hand_at_the_last_moment_is_not_lost(memories: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = memories(model=ScriptedModel([*noting("- A.")] * 2), after_runs=1)
    real = Ledger._is_made

    def edited(ledger: Ledger, number: int, connection: sqlite3.Connection) -> bool:
        if not memory.path.exists():
            memory.path.write_text("- By hand.\n")
        return real(ledger, number, connection)

    monkeypatch.setattr(Ledger, "_is_made", edited)
    await memory.remember(await conversation("A."))
    assert memory.path.read_text() == "- By hand.\n- A.\n" and len(await memory.history()) == 1


async def test_a_file_that_never_stays_as_it_is_ends_the_dream(memories: Make) -> None:
    count = iter(range(100))
    memory = memories(model=None)

    def edited(request: ModelRequest) -> object:
        memory.path.write_text(f"- By hand {next(count)}.\n")
        return call("edit_memory", old_text="", new_text="- A.")

    dreaming = memories(model=ScriptedModel([edited, "Noted."] * 3), after_runs=1)
    with pytest.raises(MemoryBusyError, match="changed meanwhile"):
        await dreaming.remember(await conversation("A."))
    assert memory.path.read_text() == "- By hand 2.\n"


async def test_of_two_dreams_at_once_one_takes_the_conversations_in(memories: Make) -> None:
    both = asyncio.Barrier(2)

    async def together(request: ModelRequest) -> object:
        await both.wait()
        return call("edit_memory", old_text="", new_text="- Likes tea.")

    keepers = [ScriptedModel([together, "Noted."]) for _ in range(2)]
    dreams = [memories(model=keeper) for keeper in keepers]
    await dreams[0].remember(await conversation("Tea."), dream=False)
    changes = await asyncio.gather(*[memory.dream() for memory in dreams])
    assert sorted(change is None for change in changes) == [False, True]
    assert dreams[0].path.read_text() == "- Likes tea.\n"
    assert len(await dreams[0].history()) == 1


async def test_a_model_that_is_away_leaves_the_conversation_for_the_next_dream(memories: Make) -> None:
    away = ProviderUnavailableError("the provider is away, expected an answer; try again", status=503, retryable=True)
    keeper = ScriptedModel([away, *noting("- Likes tea.")])
    memory = memories(model=keeper, after_runs=1)
    with pytest.raises(ProviderUnavailableError):
        await memory.remember(await conversation("Tea."))
    assert await memory.dream() is not None and "Tea." in asked(keeper.requests[1])


async def test_a_keeper_that_does_not_end_is_stopped(memories: Make) -> None:
    keeper = ScriptedModel([call("edit_memory", old_text="", new_text=f"- {number}.") for number in range(100)])
    memory = memories(model=keeper, after_runs=1)
    with pytest.raises(WorkflowFailedError, match="MaxTurnsExceeded"):
        await memory.remember(await conversation("A."))
    assert len(keeper.requests) == 40 and not memory.path.exists()


async def test_in_a_workflow_a_dream_is_its_steps_and_counts_in_it(memories: Make) -> None:
    keepers = {user: ScriptedModel(noting(f"- {user}.")) for user in ("ada", "ben", "eve")}
    made = {user: memories(user=user, model=keeper) for user, keeper in keepers.items()}
    for user in ("ada", "ben"):
        await made[user].remember(await conversation("Hello."), dream=False)

    async def dream(user: str) -> MemoryChange | None:
        return await made[user].dream()

    @workflow
    async def nightly(users: list[str]) -> int:
        changes = await flow.each(dream, users, limit=2)
        return len([change for change in changes if change is not None])

    config = RunConfig(store=MemoryRunStore())
    run_id = await nightly.submit(["ada", "ben", "eve"], run_config=config, at=0)
    assert config.store is not None
    worker = Worker(config.store, agents=[nightly])
    working = asyncio.create_task(worker.run())
    while (summary := await config.store.summary(run_id)) is None or summary.status != "finished":
        await config.store.wait(run_id, 0 if summary is None else summary.rev, timeout=10)
    worker.stop()
    await working
    result = await nightly.resume(run_id, run_config=config)
    assert result.final_output == 2 and result.usage.requests == 4, "the third has nothing new"
    assert [made[user].path.exists() for user in made] == [True, True, False]
    assert result.taint is None


async def test_a_dream_of_an_untrusted_memory_taints_its_workflow(memories: Make) -> None:
    memory = memories(model=ScriptedModel(noting("- A.")), untrusted=True)
    await memory.remember(await conversation("Hello."), dream=False)

    @workflow
    async def nightly(x: int) -> str:
        return "changed" if await memory.dream() else "as it was"

    result = await nightly.run(1)
    assert result.final_output == "changed" and result.taint is not None


async def test_a_dream_that_fails_in_a_workflow_is_a_failed_step(memories: Make) -> None:
    memory = memories(model=ScriptedModel([*noting(FACTS), "No.", "No.", "No."]), max_tokens=100, run_config=COUNTER)
    await memory.remember(await conversation("28 facts."), dream=False)

    @workflow
    async def nightly(x: int) -> str:
        try:
            await memory.dream()
        except StepFailedError as failed:
            return failed.error_type
        return ""

    assert (await nightly.run(1)).final_output == "InvalidOutputError"


async def test_a_dream_is_resumed_from_every_prefix_of_its_record(memories: Make) -> None:
    memory = memories(model=ScriptedModel(noting("- A.")))
    await memory.remember(await conversation("Hello."), dream=False)

    @workflow
    async def nightly(x: int) -> str:
        change = await memory.dream()
        return "" if change is None else change.after

    checked = await workflow_check(nightly, 1)
    assert "each came out as recorded" in str(checked)
    assert memory.path.read_text() == "- A.\n"
    assert len(await memory.history()) == 1


async def test_the_example_of_a_night_is_resumed_from_every_prefix_too(tmp_path: Path) -> None:
    path = Path(__file__).parents[2] / "examples" / "nightly_memory.py"
    example = runpy.run_path(str(path))
    memories = example["memories_in"](tmp_path / "memories")
    for user in ("ada", "ben"):
        memories[user].path.parent.mkdir(exist_ok=True)
        memories[user].path.write_text("- 2026-05-02: Takes milk in her tea.\n")
    checked = await workflow_check(example["nightly"](memories), ["ada", "ben", "eve"], orders=1)
    assert checked.steps > 6
    assert memories["ada"].path.read_text() == "- 2027-01-15: Takes oat milk in her tea.\n"
    for memory in memories.values():
        await memory.aclose()


async def test_a_commit_whose_record_was_lost_is_made_once(memories: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    real, running = Ledger.commit, list[asyncio.Task[Any]]()

    async def committed(ledger: Ledger, draft_id: str, at: float, clean: Callable[[str], str]) -> MemoryChange | None:
        change = await real(ledger, draft_id, at, clean)
        if running:
            running.pop().cancel()
            await asyncio.Event().wait()
        return change

    monkeypatch.setattr(Ledger, "commit", committed)
    memory = memories(model=ScriptedModel(noting("- A.")))
    await memory.remember(await conversation("Hello."), dream=False)

    @workflow
    async def nightly(x: int) -> str:
        change = await memory.dream()
        return "nothing" if change is None else change.after

    config = RunConfig(store=MemoryRunStore(), run_id="night")
    running.append(asyncio.create_task(nightly.run(1, run_config=config)))
    with pytest.raises(asyncio.CancelledError):
        await running[0]
    assert memory.path.read_text() == "- A.\n"
    assert (await Runner.resume(nightly, "night", run_config=config)).final_output == "- A.\n"
    assert len(await memory.history()) == 1


async def test_in_a_program_only_a_dream_is_allowed(memories: Make) -> None:
    memory = memories(model=ScriptedModel([]))

    @workflow
    async def nightly(method: str) -> None:
        await getattr(memory, method)()

    for method in ("recall", "undo", "history"):
        with pytest.raises(UserError, match="call it in a step"):
            await nightly.run(method)


async def test_a_dream_that_was_cut_goes_on_with_its_draft(memories: Make) -> None:
    away = ProviderUnavailableError("the provider is away, expected an answer; try again", status=503, retryable=True)
    store = MemoryRunStore()
    config = RunConfig(store=store, run_id="night")
    models = [ScriptedModel([*noting("- A.")[:1], away]), ScriptedModel(["Noted."])]
    made = [memories(model=model) for model in models]
    await made[0].remember(await conversation("Hello."), dream=False)

    def night(memory: Memory) -> Any:
        async def nightly(x: int) -> str:
            change = await memory.dream()
            return "" if change is None else change.after

        return workflow(nightly)

    with pytest.raises(ProviderUnavailableError):
        await night(made[0]).run(1, run_config=config)
    assert not made[0].path.exists()
    result = await Runner.resume(night(made[1]), "night", run_config=config)
    assert result.final_output == "- A.\n" == made[0].path.read_text()
