"""Workflows are typed: steps, agents, answers and `each` by what they are declared with."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, assert_type

from agentsdk.define.agent import Agent
from agentsdk.define.run_config import RunConfig
from agentsdk.result import RunResult
from agentsdk.runner import Runner
from agentsdk.tools import function_tool
from agentsdk.worker import Worker
from agentsdk.workflow import Step, Workflow, flow, step, workflow


@dataclass
class Order:
    id: str


@dataclass
class Receipt:
    cents: int


@step
async def fetch(id: str, *, again: bool = False) -> Order:
    return Order(id)


@step(effect="idempotent", retry=3, timeout=5)
async def pay(order: Order) -> Receipt:
    return Receipt(1)


@pay.undo
async def take_back(receipt: Receipt) -> None:
    assert_type(receipt, Receipt)


assert_type(pay.undo_step, Step[[Receipt], Any] | None)
assert_type(take_back, Step[[Receipt], Any])
fetch(1)  # type: ignore[arg-type, unused-coroutine]  # pyright: ignore[reportArgumentType, reportUnusedCoroutine]


@pay.undo  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
async def wrong(receipt: Order) -> None: ...


@function_tool
def look_up(id: str) -> Order:
    return Order(id)


async def is_open(order: Order) -> None: ...


@step(check=is_open)
async def book(order: Order) -> None: ...


step(check=lambda order: True)  # type: ignore[arg-type, return-value]  # pyright: ignore[reportArgumentType, reportCallIssue]


async def half(number: int) -> float:
    return number / 2


analyst = Agent[None, Order](name="Analyst", output_type=Order)


@workflow
async def refund(id: str) -> Receipt | None:
    assert_type(await fetch(id), Order)
    both = await asyncio.gather(fetch(id), pay(Order(id)))
    assert_type(both, tuple[Order, Receipt])
    assert_type(await flow.each(pay, [Order(id)], limit=2), list[Receipt])
    assert_type(await flow.each(half, [1, 2]), list[float])
    assert_type(await flow.agent(analyst, id), Order)
    assert_type(await flow.agent(Agent(name="Writer"), id), str)
    assert_type(await flow.agent(analyst, id, check=book.check), Order)
    await flow.agent(Agent(name="Writer"), id, check=book.check)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert_type(await flow.ask("Shall I?"), bool)
    assert_type(await flow.ask("Why?", answer=str, choices=["a", "b"]), str)
    assert_type(await flow.wait_for("shipped", Receipt, timeout=5), Receipt)
    assert_type(await flow.tool(look_up, id="7"), str)
    assert_type(await flow.tool(look_up, Order, id="7"), Order)
    assert_type(await flow.now(), float)
    assert_type(await flow.new_id(), str)
    await flow.sleep(1)
    return None


@workflow(name="outer")
async def outer_1(number: int) -> str:
    return ""


assert_type(outer_1, Workflow[int, str])


@workflow(name="outer", version="2", earlier=[outer_1])
async def outer(number: int) -> int:
    assert_type(await refund(str(number)), Receipt | None)
    return number


assert_type(refund, Workflow[str, Receipt | None])


async def called(config: RunConfig) -> None:
    assert_type(await refund.run("x", run_config=config), RunResult[Receipt | None])
    assert_type((await refund.resume("x", run_config=config)).final_output, Receipt | None)
    assert_type(await Runner.resume(refund, "x", run_config=config), RunResult[Receipt | None])
    assert_type(await outer.drive("x", 3, run_config=config), RunResult[int])
    await refund.run(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert config.store is not None
    Worker(config.store, agents=[refund, analyst])
