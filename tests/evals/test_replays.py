"""What yesterday's runs would have done with another prompt: replays, beside the runs as they were."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk import Agent, Message, ModelRequest, Runner, RunQuery, UserError, function_tool, shared_limits
from agentsdk.errors import AgentsException, ModelRefusalError, StateVersionError
from agentsdk.evals import Case, calls_tools, equals, evaluate, recorded_cases
from agentsdk.items import FunctionCallOutput
from agentsdk.stores import MemoryRunStore
from agentsdk.testing import call
from tests.evals.agents import A_RUN, asked, config, model_of

pytestmark = pytest.mark.anyio

paid: list[int] = []


@function_tool(effect="none")
def look(order: int) -> str:
    """Look an order up."""
    return f"order {order} is late"


@function_tool(effect="once")
def refund(order: int) -> str:
    """Pay an order back."""
    paid.append(order)
    return "done"


def reply(request: ModelRequest) -> object:
    results = [item for item in request.items if isinstance(item, FunctionCallOutput)]
    first = request.items[0]
    assert isinstance(first, Message)
    order = int(first.text.split()[-1])
    if not results:
        return call("look", order=order)
    if "Refund" in request.instructions and order == 2:
        return call("refund", order=order)
    return "It is late." if "brief" in request.instructions else f"I am so sorry that order {order} is late."


def clerk() -> Agent[None, str]:
    return Agent(name="Clerk", instructions="Be kind.", tools=[look, refund], model=model_of(reply))


async def recorded(agent: Agent[None, str], store: MemoryRunStore) -> None:
    for order in (1, 2):
        await Runner.run(agent, f"Where is order {order}", run_config=config(store))


async def test_two_prompts_over_yesterdays_runs() -> None:
    store, agent = MemoryRunStore(), clerk()
    await recorded(agent, store)
    cases = await recorded_cases(agent, run_config=config(store))
    assert sorted((case.input, case.expected) for case in cases) == [
        (f"Where is order {order}", f"I am so sorry that order {order} is late.") for order in (1, 2)
    ]
    agents = {
        "yesterday": agent,
        "brief": agent.clone(instructions="Be brief."),
        "bold": agent.clone(instructions="Refund it."),
    }
    scorers = [equals(), calls_tools("look", order="exact")]
    before = asked(agent)
    report = await evaluate("prompts", cases, agents, scorers, replay=agent, run_config=config(store))

    same = report.only("yesterday").results
    assert [(one.status, one.cost, one.calls) for one in same] == [("passed", 2 * A_RUN, ("look",))] * 2
    assert [one.replay is not None and (one.replay.reused, one.replay.asked, one.replay.divergence) for one in same] == [
        (2, 0, "")
    ] * 2
    brief = report.only("brief").results
    assert [(one.status, one.output) for one in brief] == [("failed", "It is late.")] * 2
    assert [one.replay is not None and (one.replay.reused, one.replay.asked) for one in brief] == [(0, 2)] * 2
    bold = {one.status: one for one in report.only("bold").results}
    assert set(bold) == {"passed", "error"}
    assert bold["error"].error == (
        "the replay stopped before a call of refund, which would have an effect that the recorded run did not have"
    )
    assert (bold["error"].calls, paid, asked(agent) - before) == (("look", "refund"), [], 8)

    again = await evaluate("prompts", cases, agents, scorers, replay=agent, run_config=config(store))
    assert (again, asked(agent) - before) == (report, 8)


async def test_a_replay_that_was_cut_is_made_again() -> None:
    store, agent = MemoryRunStore(), clerk()
    await recorded(agent, store)
    cases = await recorded_cases(agent, RunQuery(limit=1), run_config=config(store))
    changed = agent.clone(instructions="Be brief.")
    first = await evaluate("e", cases, changed, [equals()], replay=agent, run_config=config(store))
    run_id = first.results[0].run_id
    await store.delete(run_id)
    await Runner.fork(cases[0].run_id, at=1, new_run_id=run_id, run_config=config(store))
    again = await evaluate("e", cases, changed, [equals()], replay=agent, run_config=config(store))
    assert again == first


async def test_a_replay_that_raises_is_an_error_and_a_budget_holds() -> None:
    store, agent = MemoryRunStore(), clerk()
    await recorded(agent, store)
    cases = await recorded_cases(agent, run_config=config(store))

    def refuses(request: ModelRequest) -> object:
        return ModelRefusalError("it will not", refusal="no")

    changed = agent.clone(model=model_of(refuses))
    report = await evaluate("e", cases, changed, [equals()], replay=agent, run_config=config(store))
    assert [(one.status, one.error) for one in report.results] == [("error", "ModelRefusalError: it will not")] * 2
    with shared_limits(requests=2):
        changed = agent.clone(instructions="Be brief.")
        report = await evaluate("e", cases, changed, [equals()], replay=agent, concurrency=1, run_config=config(store))
    assert [one.status for one in report.results] == ["failed", "not_run"]


async def test_cases_are_of_the_agents_own_finished_runs() -> None:
    store, agent = MemoryRunStore(), clerk()
    other = Agent(name="Other", model=model_of(lambda request: "y"))
    await recorded(agent, store)
    await Runner.run(other, "x", run_config=config(store))
    await evaluate("e", [Case("Where is order 1")], agent, [lambda run: True], run_config=config(store))
    with pytest.raises(AgentsException):
        await Runner.run(
            agent.clone(model=model_of(lambda request: ModelRefusalError("no", refusal="no"))), "x", run_config=config(store)
        )
    cases = await recorded_cases(agent, run_config=config(store))
    assert sorted(str(case.input) for case in cases) == ["Where is order 1", "Where is order 2"]
    assert all(case.name == f"{case.input} ({case.run_id})" for case in cases)
    assert len(await recorded_cases(agent, RunQuery(limit=1), run_config=config(store))) == 1


async def test_items_are_an_input_too() -> None:
    store = MemoryRunStore()
    agent = Agent(name="A", model=model_of(lambda request: "y"))
    await Runner.run(agent, [Message("user", "a"), Message("user", "b")], run_config=config(store))
    (case,) = await recorded_cases(agent, run_config=config(store))
    report = await evaluate("e", [case], agent, [equals()], run_config=config(store))
    assert (report.summary("A").passed, asked(agent)) == (1, 2)


async def test_a_run_that_is_gone_is_an_error_of_its_case() -> None:
    store, agent = MemoryRunStore(), clerk()
    await recorded(agent, store)
    cases = await recorded_cases(agent, run_config=config(store))
    await store.delete(cases[0].run_id)
    report = await evaluate("e", cases, agent, [equals()], replay=agent, run_config=config(store))
    assert [one.status for one in report.results] == ["error", "passed"]
    assert "RunNotFoundError" in report.results[0].error


class _Newer(MemoryRunStore):
    """A newer version has written its runs."""

    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        return [b"[9999," + event.partition(b",")[2] for event in await super().read(run_id, from_rev)]


async def test_a_newer_store_says_so() -> None:
    store, agent = _Newer(), clerk()
    await recorded(agent, store)
    with pytest.raises(StateVersionError):
        await recorded_cases(agent, run_config=config(store))


async def test_wrong_arguments() -> None:
    given: Any = "clerk"
    with pytest.raises(UserError, match="agent="):
        await recorded_cases(given, run_config=config(MemoryRunStore()))
    with pytest.raises(UserError, match="store"):
        await recorded_cases(clerk(), run_config=config())
