"""An eval as a whole: side by side, within a budget, taken up again, and whatever goes wrong in it."""

from __future__ import annotations

import asyncio
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentsdk import (
    Agent,
    Message,
    ModelRequest,
    RunConfig,
    RunContextWrapper,
    Runner,
    RunQuery,
    SQLiteRunStore,
    UserError,
    function_tool,
    shared_limits,
)
from agentsdk.errors import ModelRefusalError
from agentsdk.evals import Case, CaseRun, EvalReport, equals, evaluate
from agentsdk.stores import MemoryRunStore
from agentsdk.testing import ScriptedModel, call
from agentsdk.workflow import flow, workflow
from tests.evals import killed_eval
from tests.evals.agents import CAPITALS, GOOD, WEAK, asked, config, geographer, model_of

pytestmark = pytest.mark.anyio


def statuses(report: EvalReport) -> list[tuple[str, str, int, str]]:
    return [(one.case, one.agent, one.repeat, one.status) for one in report.results]


async def test_every_case_is_run_by_every_agent() -> None:
    agents = {"good": geographer(GOOD), "weak": geographer(WEAK)}
    report = await evaluate("capitals", CAPITALS, agents, [equals()], repeats=2, run_config=config())
    assert statuses(report) == [
        (case.name, agent, repeat, "passed" if agent == "good" or case.name == "Rome?" else "failed")
        for case in CAPITALS
        for agent in ("good", "weak")
        for repeat in (1, 2)
    ]
    assert (report.name, report.agents, report.scorers, report.repeats) == ("capitals", ("good", "weak"), ("equals",), 2)
    assert [asked(agent) for agent in agents.values()] == [6, 6]
    assert (report.stopped, report.is_whole, report.at) == ("", True, 1_000.0)


async def test_one_agent_is_named_as_it_is() -> None:
    report = await evaluate("capitals", CAPITALS, geographer(GOOD), [equals()])
    assert report.agents == ("Geo",)


async def test_no_more_runs_at_once_than_are_allowed() -> None:
    going, most, all_wait = 0, 0, asyncio.Event()

    async def reply(request: ModelRequest) -> str:
        nonlocal going, most
        going += 1
        most = max(most, going)
        if going == 3:
            all_wait.set()
        async with asyncio.timeout(60):
            await all_wait.wait()
        going -= 1
        return "y"

    cases = [Case(str(number), "y") for number in range(9)]
    report = await evaluate("many", cases, Agent(name="A", model=model_of(reply)), [equals()], concurrency=3)
    assert (most, report.summary("A").passed) == (3, 9)


async def test_a_case_that_raises_is_an_error_and_others_go_on() -> None:
    def hooked(context: RunContextWrapper[Any], agent: Agent[Any, Any]) -> str:
        raise KeyError("no such prompt")

    known = {**GOOD, "Paris?": ModelRefusalError("it will not say", refusal="no")}
    agents = {"refuses": geographer(known), "broken": Agent(name="B", instructions=hooked, model=ScriptedModel([]))}
    report = await evaluate("capitals", CAPITALS, agents, [equals()], run_config=config())
    refused = report.only("refuses").results
    assert [one.status for one in refused] == ["passed", "error", "passed"]
    assert refused[1].error == "ModelRefusalError: it will not say"
    assert {one.status for one in report.only("broken").results} == {"error"}
    assert (
        "no such prompt" in report.only("broken").results[0].error or "instructions" in report.only("broken").results[0].error
    )


async def test_a_run_without_an_output_is_an_error() -> None:
    @function_tool(needs_approval=True)
    def pay() -> str:
        """Pay."""
        raise AssertionError("nobody approved")

    agent = Agent(name="A", tools=[pay], model=ScriptedModel([call("pay")]))
    report = await evaluate("e", [Case("x", "y")], agent, [equals()])
    assert (report.results[0].status, report.results[0].calls) == ("error", ("pay",))
    assert report.results[0].error == "the run has no output: it waits for a decision on pay"


async def test_a_budget_that_runs_out_leaves_the_rest_as_not_run() -> None:
    agent = geographer(GOOD)
    with shared_limits(requests=2) as budget:
        report = await evaluate("capitals", CAPITALS, agent, [equals()], concurrency=1, run_config=config())
    assert [one.status for one in report.results] == ["passed", "passed", "not_run"]
    assert report.stopped == report.results[2].error == "the limit on requests around the eval is reached (2)"
    assert (budget.spent.requests, asked(agent), report.is_whole) == (2, 2, False)
    summary = report.summary("Geo")
    assert (summary.runs, summary.passed, summary.not_run, summary.pass_rate) == (3, 2, 1, 1.0)


@workflow
async def placed(city: str) -> str:
    return await flow.agent(WORKER, city)


WORKER = geographer(GOOD)


async def test_a_budget_stops_workflows_and_runs_that_pause_too() -> None:
    for agent, on_limit in ((placed, "raise"), (geographer(GOOD), "pause")):
        with shared_limits(requests=1):
            given = RunConfig(on_limit=on_limit)
            report = await evaluate("capitals", CAPITALS, agent, [equals()], concurrency=1, run_config=given)
        assert [one.status for one in report.results] == ["passed", "not_run", "not_run"]
        assert report.stopped == "the limit on requests around the eval is reached (1)"


async def test_a_limit_of_the_run_itself_is_an_error_of_that_case() -> None:
    @function_tool(effect="none")
    def look() -> str:
        """Look."""
        return "nothing"

    def reply(request: ModelRequest) -> object:
        first = request.items[0]
        return call("look") if isinstance(first, Message) and first.text == "loop" else "y"

    agent = Agent(name="A", tools=[look], model=model_of(reply))
    with shared_limits(requests=50):
        report = await evaluate("e", [Case("loop", "y"), Case("x", "y")], agent, [equals()], concurrency=1)
    assert [one.status for one in report.results] == ["error", "passed"]


async def test_a_second_call_pays_nothing_again() -> None:
    store, agents = MemoryRunStore(), {"good": geographer(GOOD), "weak": geographer(WEAK)}
    first = await evaluate("capitals", CAPITALS, agents, [equals()], repeats=2, run_config=config(store))
    again = await evaluate("capitals", CAPITALS, agents, [equals()], repeats=2, run_config=config(store))
    assert again == first
    assert [asked(agent) for agent in agents.values()] == [6, 6]
    found = await store.list(RunQuery(metadata={"eval": "capitals", "agent": "weak", "case": "Oslo?", "repeat": "2"}))
    assert [run.run_id for run in found] == [first.results[-1].run_id]


@pytest.mark.parametrize("what", ["name", "prompt", "settings", "tool", "input"])
async def test_what_has_changed_begins_anew(what: str) -> None:
    @function_tool(effect="none")
    def look() -> str:
        """Look."""
        return "nothing"

    store, agent = MemoryRunStore(), geographer(GOOD)
    await evaluate("capitals", CAPITALS[:1], agent, [equals()], run_config=config(store))
    changed = {
        "prompt": agent.clone(instructions="Be brief."),
        "settings": agent.clone(model_settings=type(agent.model_settings)(temperature=0.5)),
        "tool": agent.clone(tools=[look]),
    }.get(what, agent)
    case = Case("Paris?", "France", name="Rome?") if what == "input" else CAPITALS[0]
    name = "anew" if what == "name" else "capitals"
    report = await evaluate(name, [case], changed, [equals()], run_config=config(store))
    assert (asked(agent), report.summary("Geo").passed) == (2, 1)


async def test_what_was_cut_goes_on_in_another_process(tmp_path: Path) -> None:
    """Cancelled in the middle: the report so far is kept, and the next call asks only for what is missing."""
    file, reached = tmp_path / "report.json", asyncio.Event()

    async def stuck(request: ModelRequest) -> str:
        reached.set()
        await asyncio.Event().wait()
        raise AssertionError("cancelled before")

    def reply(request: ModelRequest) -> object:
        first = request.items[0]
        assert isinstance(first, Message)
        return stuck(request) if first.text == "Oslo?" and len(model.requests) <= 3 else GOOD[first.text]

    model = model_of(reply)
    agent = Agent(name="Geo", model=model)
    store = SQLiteRunStore(str(tmp_path / "runs.db"))
    try:
        given = config(store)
        going = asyncio.create_task(
            evaluate("capitals", CAPITALS, agent, [equals()], concurrency=1, save_to=file, run_config=given)
        )
        async with asyncio.timeout(60):
            await reached.wait()
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going
        kept = EvalReport.load(file)
        assert [one.status for one in kept.results] == ["passed", "passed", "not_run"]
        assert kept.stopped == kept.results[2].error == "it was cancelled"
    finally:
        await store.aclose()
    store = SQLiteRunStore(str(tmp_path / "runs.db"))
    try:
        report = await evaluate("capitals", CAPITALS, agent, [equals()], save_to=file, run_config=config(store))
    finally:
        await store.aclose()
    assert [one.status for one in report.results] == ["passed"] * 3
    assert len(model.requests) == 4
    assert EvalReport.load(file) == report


async def test_what_a_killed_process_had_finished_is_not_run_again(tmp_path: Path) -> None:
    runs, asked_of_it = tmp_path / "runs.db", tmp_path / "asked"
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "tests.evals.killed_eval", str(runs), str(asked_of_it))
    async with asyncio.timeout(120):
        assert await process.wait() == -signal.SIGKILL
    assert asked_of_it.read_text().split() == ["Rome?", "Paris?", "Oslo?"]
    report = await killed_eval.evaluated(runs, asked_of_it, dies=False)
    assert [one.status for one in report.results] == ["passed"] * 3
    assert asked_of_it.read_text().split()[3:] == ["Oslo?"]


async def test_a_run_that_another_process_is_at_is_not_run() -> None:
    store, agent = MemoryRunStore(), geographer(GOOD)
    first = await evaluate("capitals", CAPITALS[:1], agent, [equals()], run_config=config(store))
    run_id, begun, go_on = first.results[0].run_id, asyncio.Event(), asyncio.Event()
    await store.delete(run_id)

    async def slow(request: ModelRequest) -> str:
        begun.set()
        await go_on.wait()
        return "Italy"

    elsewhere = Agent(name="Geo", model=model_of(slow))
    given = RunConfig(store=store, run_id=run_id)
    other = asyncio.create_task(Runner.run(elsewhere, "Rome?", run_config=given))
    async with asyncio.timeout(60):
        await begun.wait()
        report = await evaluate("capitals", CAPITALS[:1], agent, [equals()], run_config=config(store))
        go_on.set()
        await other
    assert report.results[0].status == "not_run"
    assert "is held by another process" in report.results[0].error


async def test_a_failed_run_is_tried_again() -> None:
    store = MemoryRunStore()
    agent = Agent(name="A", model=ScriptedModel([ModelRefusalError("no", refusal="no"), "y"]))
    for status in ("error", "passed"):
        report = await evaluate("e", [Case("x", "y")], agent, [equals()], run_config=config(store))
        assert report.results[0].status == status


@dataclass
class Word:
    text: str


@workflow
async def upper(word: Word) -> Word:
    return Word(word.text.upper())


async def test_a_workflow_has_typed_input_and_output() -> None:
    cases = [Case(Word("a"), Word("A")), Case(Word("b"), Word("b"), name="wrong")]
    for given in (RunConfig(), config(MemoryRunStore())):
        report = await evaluate("upper", cases, upper, [equals()], run_config=given)
        assert statuses(report) == [('{"text":"a"}', "upper", 1, "passed"), ("wrong", "upper", 1, "failed")]
        assert report.cases[1].input == '{"text":"b"}'


async def test_each_run_has_a_context_of_its_own() -> None:
    def prompt(context: RunContextWrapper[list[str]], agent: Agent[Any, Any]) -> str:
        context.context.append("used")
        return f"{context.context}"

    made: list[list[str]] = []

    def context(case: Case[Any, Any]) -> list[str]:
        made.append([case.name])
        return made[-1]

    agent = Agent[list[str], str](name="A", instructions=prompt, model=ScriptedModel(["y", "y"]))
    await evaluate("e", [Case("a", "y"), Case("b", "y")], agent, [equals()], context=context)
    assert made == [["a", "used"], ["b", "used"]]


async def test_a_scorer_is_shown_the_run() -> None:
    seen: list[CaseRun[Any, Any]] = []

    def look(run: CaseRun[Any, Any]) -> bool:
        seen.append(run)
        return True

    await evaluate("e", [Case("x", "y")], geographer({"x": "y"}), [look])
    (run,) = seen
    assert (run.output, run.agent, run.repeat, run.usage.total_tokens) == ("y", "Geo", 1, 15)
    assert run.run_id == run.state.run_id


async def test_an_output_without_a_json_form_is_shown_by_its_kind() -> None:
    report = await evaluate("e", [Case("x\x1b[31m\ud800")], geographer({}, "A\0"), [lambda run: True])
    assert report.results[0].status == "passed"
    assert EvalReport.from_json(report.to_json()) == report


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"cases": []}, "no cases"),
        ({"cases": [Case("a"), Case("a")]}, "two cases are named 'a'"),
        ({"cases": ["a"]}, r"cases\[0\]="),
        ({"agents": {}}, "expected an Agent"),
        ({"agents": {"a": "b"}}, "expected an Agent"),
        ({"scorers": []}, "no scorers"),
        ({"scorers": [equals(), equals()]}, "two scorers are named 'equals'"),
        ({"scorers": ["equals"]}, "expected a function"),
        ({"scorers": 3}, "scorers of type 'int'"),
        ({"name": ""}, "name="),
        ({"repeats": 0}, "repeats="),
        ({"concurrency": 0}, "concurrency="),
        ({"save_to": 3}, "save_to="),
        ({"run_config": RunConfig(run_id="x")}, "a RunConfig for one run"),
        ({"replay": geographer(GOOD)}, "no store"),
        ({"replay": geographer(GOOD), "run_config": RunConfig(store=MemoryRunStore())}, "is of no stored run"),
        ({"replay": upper, "run_config": RunConfig(store=MemoryRunStore())}, "workflow 'upper' to replay"),
    ],
)
async def test_wrong_arguments_are_refused_before_anything_is_run(arguments: dict[str, Any], expected: str) -> None:
    agent = geographer(GOOD)
    given: dict[str, Any] = {"name": "e", "cases": CAPITALS, "agents": agent, "scorers": [equals()], **arguments}
    with pytest.raises(UserError, match=expected):
        await evaluate(**given)
    assert asked(agent) == 0
