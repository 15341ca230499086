"""A clerk in the Assistants style: a thread at the provider, a run that is polled, calls answered when it asks for them.

pip install openai. OpenAI has ended the service; servers that speak the same protocol remain.
"""

import json
import time

from openai import OpenAI

ORDERS = {1815: "two chairs", 1816: "a lamp"}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "show_order",
            "description": "What an order holds.",
            "parameters": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
        },
    },
    {
        "type": "function",
        "function": {
            "name": "cancel_order",
            "description": "Cancel an order.",
            "parameters": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
        },
    },
]


def show_order(number: int) -> str:
    return f"Order {number}: {ORDERS[number]}."


def cancel_order(number: int) -> str:
    del ORDERS[number]
    return f"Order {number} is cancelled."


def answer(name: str, arguments: str) -> str:
    if name == "cancel_order":
        print(f"approved: {name}({arguments})")  # the run expires ten minutes after it asked
    return {"show_order": show_order, "cancel_order": cancel_order}[name](**json.loads(arguments))


def ask(client: OpenAI, assistant_id: str, thread_id: str, question: str) -> str:
    client.beta.threads.messages.create(thread_id, role="user", content=question)
    run = client.beta.threads.runs.create(thread_id, assistant_id=assistant_id)
    while run.status in ("queued", "in_progress", "requires_action"):
        if run.required_action is not None:
            calls = run.required_action.submit_tool_outputs.tool_calls
            outputs = [{"tool_call_id": one.id, "output": answer(one.function.name, one.function.arguments)} for one in calls]
            run = client.beta.threads.runs.submit_tool_outputs(run.id, thread_id=thread_id, tool_outputs=outputs)
        else:
            time.sleep(0.05)
            run = client.beta.threads.runs.retrieve(run.id, thread_id=thread_id)
    if run.status != "completed":
        raise RuntimeError(f"the run is {run.status}")
    latest = client.beta.threads.messages.list(thread_id, order="desc", limit=1).data[0]
    return latest.content[0].text.value


def main() -> None:
    client = OpenAI()
    assistant = client.beta.assistants.create(
        name="Clerk", model="gpt-4.1", instructions="Help with orders, briefly.", tools=TOOLS
    )
    thread = client.beta.threads.create()
    for question in ("What is in order 1815?", "Cancel it, please."):
        print(ask(client, assistant.id, thread.id, question))


if __name__ == "__main__":
    main()
