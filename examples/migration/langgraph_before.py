"""A refund as a graph of langgraph: an agent judges it, a person is asked above a risk, it is paid, a letter is written.

pip install langgraph==1.2.22 langgraph-checkpoint-sqlite==3.1.2 langchain==1.4.7 langchain-openai==1.7.3
"""

import asyncio
from typing import Literal, TypedDict

from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel


class Risk(BaseModel):
    """How risky a refund is."""

    score: int
    why: str


class Refund(TypedDict, total=False):
    order: str
    risk: Risk
    agreed: bool
    receipt: str
    letter: str


def look_up(order: str) -> str:
    """Look an order up."""
    return f"Order {order}: a lamp for 40 euros."


model = ChatOpenAI(model="gpt-4.1")
analyst = create_agent(
    model, [look_up], system_prompt="Judge the risk of this refund, from 0 to 10.", response_format=ProviderStrategy(Risk)
)
writer = create_agent(model, system_prompt="Write one line to the customer.")


async def assess(state: Refund) -> Refund:
    result = await analyst.ainvoke({"messages": [{"role": "user", "content": state["order"]}]})
    return {"risk": result["structured_response"]}


def approve(state: Refund) -> Refund:
    return {"agreed": interrupt(f"Refund {state['order']} in spite of the risk?")}  # this node runs from its start again


async def pay(state: Refund) -> Refund:
    return {"receipt": f"Receipt of {state['order']}: 40 euros."}


async def write(state: Refund) -> Refund:
    result = await writer.ainvoke({"messages": [{"role": "user", "content": state["receipt"]}]})
    return {"letter": result["messages"][-1].text}


def next_after_assess(state: Refund) -> Literal["approve", "pay"]:
    return "approve" if state["risk"].score > 7 else "pay"


def next_after_approve(state: Refund) -> Literal["pay", "__end__"]:
    return "pay" if state["agreed"] else END


graph = StateGraph(Refund)
for node in (assess, approve, pay, write):
    graph.add_node(node.__name__, node)
graph.add_edge(START, "assess")
graph.add_conditional_edges("assess", next_after_assess)
graph.add_conditional_edges("approve", next_after_approve)
graph.add_edge("pay", "write")
graph.add_edge("write", END)


async def go_on(given: Refund | Command) -> str | None:
    """Until the graph ends or waits: in one process today, in another one tomorrow."""
    config = {"configurable": {"thread_id": "refund-17"}}
    async with AsyncSqliteSaver.from_conn_string("runs.db") as saver:
        refund = graph.compile(checkpointer=saver)
        async for update in refund.astream(given, config, stream_mode="updates"):
            for node, change in update.items():
                print(f"asked: {change[0].value}" if node == "__interrupt__" else f"node: {node}")
        return (await refund.aget_state(config)).values.get("letter")


async def main() -> None:
    await go_on({"order": "o-17"})
    print(await go_on(Command(resume=True)))


if __name__ == "__main__":
    asyncio.run(main())
