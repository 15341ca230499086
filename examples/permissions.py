"""Permissions: two users, what each of them is offered, and the audit of what was refused.

    python examples/permissions.py

The model follows a script, so that it calls what it was not offered: no real one has to be trusted not to.
"""

import asyncio
from dataclasses import dataclass

from agentsdk import Agent, RunConfig, Runner, function_tool
from agentsdk.permissions import Grant
from agentsdk.runs import TurnContext
from agentsdk.testing import ScriptedModel, call


@dataclass
class User:
    name: str
    roles: tuple[str, ...]


GRANTS = {"customer": Grant("read", name="customer"), "clerk": Grant("write", tags=["orders"], name="clerk")}


def grants_of(context: TurnContext[User]) -> list[Grant]:
    """What a user's roles allow. A real one asks a directory; it is asked each turn, so what is revoked is gone."""
    return [GRANTS[role] for role in context.context.roles]


@function_tool(effect="none")  # which makes it "read"
def show_order(number: int) -> str:
    """Show an order."""
    return f"Order {number}: two chairs."


@function_tool(tags=["orders"])  # "write", as it has an effect
def cancel_order(number: int) -> str:
    """Cancel an order."""
    return f"Order {number} is cancelled."


@function_tool(tags=["orders"], permission="admin")
def delete_orders(customer: str) -> str:
    """Delete all orders of a customer."""
    return f"The orders of {customer} are deleted."


async def main() -> None:
    for user in (User("ada", ("customer", "clerk")), User("ben", ("customer",))):
        model = ScriptedModel([[call("cancel_order", number=7), call("delete_orders", customer="eve")], "That is all."])
        shop = Agent[User, str](name="Shop", tools=[show_order, cancel_order, delete_orders], model=model)
        result = await Runner.run(shop, "Cancel order 7.", context=user, run_config=RunConfig(grants=grants_of))
        print(f"{user.name} is offered: {', '.join(tool.name for tool in model.requests[0].tools)}")
        for refused in result.refused_calls:
            why = refused.why
            print(f"  refused: {why.tool}({refused.call.arguments}) takes {why.permission!r}; granted: {', '.join(why.grants)}")


asyncio.run(main())
