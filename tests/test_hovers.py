"""What an editor shows of the names that programs begin with: `pytest -s tests/test_hovers.py` prints it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import pytest

from agentsdk import Agent, RunConfig, Runner
from tests.language_server import LanguageServer

PROGRAM = '''
from agentsdk import Agent, RunConfig, Runner, function_tool

agent = Agent(name="Clerk", )
config = RunConfig(store=None, )


@function_tool(timeout=5)
def pay(amount: int) -> str:
    """Pay."""
    return "paid"


async def main() -> None:
    result = await Runner.run(agent, "Hi.", )
    streamed = Runner.run_streamed(agent, "Hi.")
    print(result.final_output, streamed)
'''
NOISE = re.compile(r"Unknown|\bcast\(|default_factory|list\[\"|\*\*arguments|Overload|overload|\.\.\.,?$", re.MULTILINE)


@pytest.fixture(scope="module")
def editor() -> Iterator[LanguageServer]:
    with LanguageServer(PROGRAM) as server:
        yield server


def parameters(of: object) -> set[str]:
    return set(inspect.signature(of).parameters)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("after", "of"),
    [
        ("agent = Agent", Agent),
        ("config = RunConfig", RunConfig),
        ("await Runner.run", Runner.run),
        ("Runner.run_streamed", Runner.run_streamed),
    ],
)
def test_a_signature_is_shown_with_its_defaults_and_explained(editor: LanguageServer, after: str, of: object) -> None:
    shown = editor.hover(after)
    print(f"\n{shown}")
    signature, _, words = shown.partition("---")
    assert NOISE.findall(signature) == []
    assert {name for name in parameters(of) if not re.search(rf"^    {name}: ", signature, re.MULTILINE)} == set()
    needed = {name for name in parameters(of) if re.search(rf"^    {name}: [^=\n]*,$", signature, re.MULTILINE)}
    assert needed <= {"name", "starting_agent", "input"}
    assert words.strip().endswith(".") and "Raises" in words


SAID_IN_PASSING = {"input", "input_guardrails", "output_guardrails", "limits", "durability", "tracing_disabled", "inbox"}
"""Parameters whose name says it."""


@pytest.mark.parametrize(("after", "of"), [("await Runner.run", Runner.run), ("config = RunConfig", RunConfig)])
def test_the_words_name_the_parameters(editor: LanguageServer, after: str, of: object) -> None:
    words = editor.hover(after).partition("---")[2]
    assert {name for name in parameters(of) if f"`{name}" not in words} <= SAID_IN_PASSING


def test_a_decorator_is_explained_with_its_options(editor: LanguageServer) -> None:
    shown = editor.hover("@function_tool")
    print(f"\n{shown}")
    assert "Make a function, sync or async, a tool" in shown and "`needs_approval`" in shown
    assert len(shown.partition("---")[0].splitlines()) <= 8


@pytest.mark.parametrize(
    ("after", "offered"),
    [
        ('Agent(name="Clerk", ', ["instructions=", "model=", "output_type=", "tools="]),
        ("RunConfig(store=None, ", ["grants=", "limits=", "model=", "window="]),
        ("@function_tool(", ["effect=", "needs_approval=", "retry="]),
        ('Runner.run(agent, "Hi.", ', ["context=", "run_config=", "session="]),
        ("await Runner.", ["resume", "run", "run_streamed", "run_sync", "submit"]),
        ("result.", ["final_output", "new_items", "to_state", "usage"]),
    ],
)
def test_completion_offers_what_can_be_given(editor: LanguageServer, after: str, offered: list[str]) -> None:
    found = editor.completions(after)[:60]
    print(f"\n{after} {found}")
    assert [name for name in offered if name not in found] == []


def test_a_result_has_the_type_of_the_output(editor: LanguageServer) -> None:
    assert "final_output: str" in editor.hover("result.final_output")
    assert "agent: Agent[Any, str]" in editor.hover("Runner.run_streamed(agent")
