"""A refund as a workflow: steps side by side, an agent's opinion, a person above a risk, and a payment that is taken back.

python examples/refund.py    # its models follow a script
"""

import asyncio
import tempfile
from pathlib import Path

from pydantic import BaseModel

from agentsdk import Agent, RunConfig, Runner, SQLiteRunStore
from agentsdk.errors import WorkflowFailedError
from agentsdk.runs import Decision
from agentsdk.testing import ScriptedModel
from agentsdk.workflow import flow, step, workflow


class Order(BaseModel):
    id: str
    cents: int
    photos: list[str]


class Risk(BaseModel):
    score: int
    why: str


class Receipt(BaseModel):
    id: str
    cents: int


ORDERS = {
    "o-1": Order(id="o-1", cents=4200, photos=["scratch", "scratch", "dent"]),
    "o-2": Order(id="o-2", cents=900, photos=["dent"]),
}


@step(effect="none", retry=3, timeout=10)
async def fetch(order_id: str) -> Order:
    print(f"  fetch {order_id}")
    return ORDERS[order_id]


@step(effect="none")
async def damage(photo: str) -> int:
    return {"scratch": 10, "dent": 30}[photo]


@step  # it must not happen twice: cut in the middle, a person is asked what became of it
async def pay(order: Order, percent: int) -> Receipt:
    receipt = Receipt(id=f"r-{order.id}", cents=order.cents * percent // 100)
    print(f"  pay {receipt.cents} cents")
    return receipt


@pay.undo
async def take_back(receipt: Receipt) -> None:
    print(f"  take back {receipt.cents} cents")


@step(effect="idempotent", retry=0)
async def send(letter: str, receipt: Receipt) -> None:
    if receipt.id == "r-o-2":
        raise ConnectionError("the mail server is away")
    print(f"  send: {letter}")


analyst = Agent(
    name="Analyst",
    instructions="How risky is this refund, from 0 to 10?",
    output_type=Risk,
    model=ScriptedModel(['{"score": 8, "why": "a new customer"}', '{"score": 1, "why": "a small sum"}']),
)
writer = Agent(name="Writer", instructions="Write to the customer.", model=ScriptedModel(["Sorry for the dents!"] * 2))


@workflow
async def refund(order_id: str) -> Receipt | None:
    order = await fetch(order_id)
    percents, risk = await asyncio.gather(flow.each(damage, order.photos, limit=2), flow.agent(analyst, order))
    if risk.score > 7 and not await flow.ask(f"Refund although the risk is {risk.score}?", risk):
        return None
    receipt = await pay(order, sum(percents))
    await send(await flow.agent(writer, receipt), receipt)
    return receipt


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteRunStore(Path(folder) / "runs.db")
        config = RunConfig(store=store)

        print("o-1 begins")
        result = await refund.drive("refund-1", "o-1", run_config=config)
        for item in result.interruptions:  # here the process may end: whoever has the store can answer
            print(f"a person is asked about {item.arguments}")
            await Runner.decide("refund-1", Decision(item.call_id, "answer", answer=True, by="ann"), run_config=config)
        result = await refund.drive("refund-1", "o-1", run_config=config)
        print(f"o-1 is refunded: {result.final_output}")

        print("o-2 begins")
        try:
            await refund.drive("refund-2", "o-2", run_config=config)
        except WorkflowFailedError as error:
            print(f"o-2 failed at {error.step!r}, undone: {', '.join(error.undone)}")
        await store.aclose()


if __name__ == "__main__":
    asyncio.run(main())
