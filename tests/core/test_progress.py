"""`RunProgress`: where a run in work stands."""

from __future__ import annotations

from agentsdk.core.progress import progress_of
from agentsdk.core.state import fold
from agentsdk.types.events import ModelReplied, Nested, RunEvent, RunStarted, StepBegan, ToolFinished, ToolsIntended
from agentsdk.types.items import FunctionCall, Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import Usage

STARTED = RunStarted("run-1", "clerk", (Message("user", "go"),), 0, 5.0)
CALLS = (FunctionCall("c1", "pay", "{}"), FunctionCall("c2", "research", "{}"), FunctionCall("c3", "ask", "{}"))
CALLED = ModelReplied(ModelResponse(CALLS, Usage(1, 10, 4), "tool_calls"), 6.0)
SEARCHED = ModelReplied(ModelResponse((FunctionCall("d1", "search", "{}"),), Usage(1, 10, 4), "tool_calls"), 7.0)
IN_RESEARCH: list[RunEvent] = [RunStarted("", "researcher", (), 0, 6.5), SEARCHED, ToolsIntended(("d1",))]


def test_before_its_first_reply_a_run_is_in_its_first_turn_and_at_nothing() -> None:
    progress = progress_of(fold([STARTED]))
    assert (progress.run_id, progress.agent, progress.turn, progress.phase) == ("run-1", "clerk", 1, "prepare")
    assert progress.tools == ()
    assert (progress.tokens, progress.revision) == (0, 1)


def test_it_names_the_calls_that_are_going_nested_ones_too() -> None:
    going = [STARTED, CALLED, ToolsIntended(("c1", "c2")), *[Nested("c2", event) for event in IN_RESEARCH]]
    progress = progress_of(fold(going))
    assert progress.tools == ("pay", "research", "research: search")
    assert (progress.turn, progress.phase, progress.tokens, progress.revision) == (2, "act", 28, len(going))
    after = progress_of(fold([*going, ToolFinished("c1", "paid")]))
    assert after.tools == ("research", "research: search")


def test_of_a_program_the_open_steps_are_going() -> None:
    assert progress_of(fold([STARTED, StepBegan("s", "pay", "{}")])).tools == ("pay",)
