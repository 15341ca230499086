"""A graph is a workflow: its edges say what comes after what, and what is taken from where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from agentsdk import MemoryRunStore, RunConfig
from agentsdk.errors import PlanError, UserError, WorkflowFailedError
from agentsdk.testing import workflow_check
from agentsdk.workflow import Dag, Plan, PlanStep, step

pytestmark = pytest.mark.anyio

done: list[str] = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    done.clear()


@dataclass
class Order:
    id: str
    cents: int


@step(effect="none")
async def fetch(id: str) -> Order:
    done.append(f"fetch {id}")
    return Order(id, 42)


@step
async def pay(order: Order, cents: int = 1) -> str:
    done.append(f"pay {order.id} {cents}")
    return "receipt"


@step(effect="none", retry=0)
async def send() -> None:
    done.append("send")


ACTIONS: dict[str, Any] = {"send": send, "pay": pay, "fetch": fetch}
EDGES = [("input.id", "fetch.id"), ("fetch", "pay.order"), ("fetch.cents", "pay.cents"), ("pay", "send")]


async def test_edges_give_results_and_an_order() -> None:
    refund = Dag(ACTIONS, EDGES)
    result = (await refund.run({"id": "o-1"})).final_output
    assert done == ["fetch o-1", "pay o-1 42", "send"] and result["pay"] == "receipt"
    assert refund.plan == Plan(
        [
            PlanStep("send", "send", after=["pay"]),
            PlanStep("pay", "pay", inputs={"order": "fetch", "cents": "fetch.cents"}),
            PlanStep("fetch", "fetch", inputs={"id": "input.id"}),
        ]
    )


async def test_a_graph_is_a_workflow_that_is_submitted_and_the_same_from_every_prefix() -> None:
    refund = Dag(ACTIONS, EDGES, name="refund")
    config = RunConfig(store=MemoryRunStore())
    run_id = await refund.submit({"id": "o-1"}, run_config=config)
    assert (await refund.resume(run_id, run_config=config)).final_output["pay"] == "receipt" and done[-1] == "send"
    assert (await workflow_check(refund, {"id": "o-1"})).steps == 3


async def test_its_input_is_checked_when_it_is_there() -> None:
    with pytest.raises(PlanError, match=r"'input\.id' is not in 'input'"):
        await Dag(ACTIONS, EDGES).run({})
    with pytest.raises(PlanError, match="expected a string, got an integer"):
        await Dag(ACTIONS, EDGES).run({"id": 5})
    assert done == []


async def test_what_it_has_done_is_undone_where_a_step_fails() -> None:
    @step
    async def book() -> str:
        return "booking"

    @book.undo
    async def cancel(booking: str) -> None:
        done.append(f"cancel {booking}")

    @step(effect="none", retry=0)
    async def fail() -> None:
        raise ConnectionError

    with pytest.raises(WorkflowFailedError):
        await Dag({"book": book, "fail": fail}, [("book", "fail")]).run(None)
    assert done == ["cancel booking"]


@pytest.mark.parametrize(
    ("edges", "problem"),
    [
        ([("fetch", "pey")], "edge ('fetch', 'pey'): 'pey' is no action, expected one of ['send', 'pay', 'fetch']"),
        (
            [("fetsh", "pay.order")],
            "step 'pay': input 'order': 'fetsh' is no step, expected one of their ids; did you mean 'fetch'?",
        ),
        ([("send", "pay.order")], "step 'pay': input 'order': 'send' is null, expected an object"),
        ([("fetch", "pay.order"), ("send", "pay.order")], "edge ('send', 'pay.order'): another one leads there, expected one"),
        ([("send", "pay"), ("pay", "send")], "steps wait for each other: 'send' -> 'pay' -> 'send'; expected no cycle"),
        ([], "step 'fetch': lacks the input 'id' of 'fetch'"),
    ],
)
def test_a_graph_that_cannot_be_carried_out_is_told_at_once(edges: list[tuple[str, str]], problem: str) -> None:
    with pytest.raises(PlanError) as caught:
        Dag(ACTIONS, edges)
    assert problem in caught.value.problems


def test_what_is_no_graph() -> None:
    for wrong in ("ab", [("a", "b", "c")], [("a",)], [5], None):
        with pytest.raises(UserError, match="edges"):
            Dag(ACTIONS, wrong)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="actions"):
        Dag([fetch])  # type: ignore[arg-type]
