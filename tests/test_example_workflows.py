"""The workflows of the examples are deterministic, and each can be drawn."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentsdk import RunState
from agentsdk.runs import PendingCall, ToolAnswerItem
from agentsdk.testing import ScriptedModel, workflow_check
from agentsdk.workflow import Workflow

pytestmark = pytest.mark.anyio

EXAMPLES = Path(__file__).parents[1] / "examples"

Given = tuple[Workflow[Any, Any], object, list[object]]
"""A workflow, what it is given, and what people answer, one after another."""


async def pipeline(module: Any, folder: Path, closing: AsyncExitStack) -> Given:
    return module.report, "invoices", []


async def review(module: Any, folder: Path, closing: AsyncExitStack) -> Given:
    return module.announce, "chair", module.ANSWERS[1:]


async def nightly(module: Any, folder: Path, closing: AsyncExitStack) -> Given:
    memories = module.memories_in(folder)
    for memory in memories.values():
        closing.push_async_callback(memory.aclose)
    await module.conversation("ben", memories["ben"], "I am allergic to nuts.")
    return module.nightly(memories), ["ada", "ben"], []


async def refund(module: Any, folder: Path, closing: AsyncExitStack) -> Given:
    return module.refund, "o-1", [True]


async def refund_that_is_undone(module: Any, folder: Path, closing: AsyncExitStack) -> Given:
    module.analyst.model = ScriptedModel(['{"score": 1, "why": "a small sum"}'])
    return module.refund, "o-2", []


async def scheduled(module: Any, folder: Path, closing: AsyncExitStack) -> Given:
    module.OUTBOX = folder / "outbox.txt"
    module.writer.model = ScriptedModel(["Tea sold best."])
    return module.daily_report, "2026-11-27", []


WORKFLOWS: list[tuple[str, Callable[[Any, Path, AsyncExitStack], Awaitable[Given]]]] = [
    ("document_pipeline", pipeline),
    ("human_review", review),
    ("nightly_memory", nightly),
    ("refund", refund),
    ("refund", refund_that_is_undone),
    ("scheduled_job", scheduled),
]


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_no_workflow_is_forgotten() -> None:
    """Those made by patterns are checked in the tests of these."""
    written = {path.stem for path in EXAMPLES.glob("*.py") if re.search(r"^ *@workflow", path.read_text(), re.MULTILINE)}
    assert written == {name for name, _ in WORKFLOWS}


@pytest.mark.parametrize(("name", "build"), WORKFLOWS, ids=lambda each: getattr(each, "__name__", None))
async def test_it_is_deterministic_and_drawn(name: str, build: Any, tmp_path: Path) -> None:
    async with AsyncExitStack() as closing:
        workflow, given, answers = await build(loaded(name), tmp_path, closing)

        def decide(state: RunState, item: PendingCall) -> None:
            assert isinstance(item, ToolAnswerItem)
            state.answer(item, answers[int(item.call_id.partition("#")[2] or 1) - 1])

        checked = await workflow_check(workflow, given, decide=decide, orders=2)
    assert checked.steps >= 3
    assert workflow.draw().startswith("flowchart TD") and "</svg>" in workflow.draw(format="svg")
