"""The agents of the service: what the workers drive, and the web processes begin runs of."""

from agentsdk import Agent, function_tool


@function_tool(effect="none")
def look_up(order: int) -> str:
    """Look an order up."""
    return f"Order {order} is at the door."


@function_tool(needs_approval=True)
def refund(order: int) -> str:
    """Give the money of an order back. Yours: a request to your payments, under its idempotency key."""
    return f"Order {order} is refunded."


clerk = Agent[None, str](name="Clerk", instructions="Help with orders.", tools=[look_up, refund], model="openai:gpt-5-mini")
agents = [clerk]
