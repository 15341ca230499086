"""`python -m benchmarks.code_mode`: ten tasks done by plain calls and by a program that makes them: turns, tokens, seconds.

The model is scripted, once as a good model calls tools (side by side where it can) and once as it writes a program. Both make
the same changes, and the program gives what the answer says, which is checked. Tokens are those of each request and reply,
counted as OpenAI's models bill them, without a prompt cache. The model takes 0.2 s and 5 ms a token of its reply, a call 20 ms.
Then: how large the programs' snapshots are, and how long a step of a program takes. The exit code is 1 where fewer than eight
tasks take fewer tokens as programs.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

from agentsdk.core.limits.run_limits import RunLimits
from agentsdk.define.agent import Agent
from agentsdk.define.function_tool import function_tool
from agentsdk.define.run_config import RunConfig
from agentsdk.define.tool import FunctionTool
from agentsdk.local_tools.code import CodeTool
from agentsdk.models.token_counter import TiktokenCounter
from agentsdk.ports.model import ModelRequest
from agentsdk.result import RunResult
from agentsdk.runner import Runner
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.deltas import ModelStreamEvent, ResponseCompleted
from agentsdk.types.events import ModelReplied, Nested
from agentsdk.types.items import FunctionCall, Message
from benchmarks.report import rows_table

FIXED_S, TOKEN_S, CALL_S = 0.2, 0.005, 0.02
STEPS = 200
FEWER = 8
"""The tasks, of ten, that must take fewer tokens as programs."""

done: list[str] = []
"""The calls of a run that change something."""

ORDERS = [
    {"id": 1000 + n, "customer": f"c{n % 15}", "cents": 900 + 137 * n % 5000, "state": ("paid", "open", "late")[n % 3]}
    for n in range(60)
]
LOG = [
    f"2026-03-{1 + n % 28:02} {('GET', 'POST')[n % 2]} /orders/{n} {(200, 200, 200, 404, 500)[n % 5]} {n % 90} ms"
    for n in range(160)
]


@function_tool(effect="none")
async def get_weather(city: str) -> dict[str, int]:
    """The weather in a city: degrees and wind."""
    await asyncio.sleep(CALL_S)
    return {"degrees": len(city) * 3, "wind": len(city)}


@function_tool(effect="none")
async def list_orders(state: str | None = None) -> list[dict[str, Any]]:
    """All orders (id, customer, cents, state), or those in a state: paid, open or late."""
    await asyncio.sleep(CALL_S)
    return [order for order in ORDERS if state in (None, order["state"])]


@function_tool(effect="none")
async def read_log(day: str) -> str:
    """The log of the web server since a day, one request a line: day, method, path, status, time."""
    await asyncio.sleep(CALL_S)
    return "\n".join(line for line in LOG if line >= day)


@function_tool(effect="none")
async def find_customer(name: str) -> dict[str, str]:
    """The id of a customer."""
    await asyncio.sleep(CALL_S)
    return {"id": f"c{len(name)}", "name": name, "email": f"{name.lower()}@example.com"}


@function_tool(effect="none")
async def orders_of(customer: str) -> list[int]:
    """The ids of a customer's orders, the latest last."""
    await asyncio.sleep(CALL_S)
    return [int(order["id"]) for order in ORDERS if order["customer"] == customer]


@function_tool(effect="none")
async def shipment_of(order: int) -> dict[str, str]:
    """Where the shipment of an order is."""
    await asyncio.sleep(CALL_S)
    return {"carrier": "post", "at": f"hub {order % 7}", "due": f"2026-04-{1 + order % 28:02}"}


@function_tool(effect="none")
async def balance_of(customer: str) -> int:
    """The balance of a customer in cents."""
    await asyncio.sleep(CALL_S)
    return 137 * int(customer[1:]) % 1000 - 400


@function_tool(effect="none")
async def events_page(page: int) -> dict[str, Any]:
    """A page of the sign-ups, from 1: `rows` with name and score, and `more`, whether another one follows."""
    await asyncio.sleep(CALL_S)
    rows = [{"name": f"user{20 * page + n}", "score": (20 * page + n) * 31 % 997} for n in range(20)]
    return {"rows": rows, "more": page < 6}


@function_tool(effect="none")
async def shelf_of(shelf: int) -> list[str]:
    """What is on a shelf of the store, from 1."""
    await asyncio.sleep(CALL_S)
    return [f"part-{shelf}-{n}" for n in range(6)]


@function_tool(effect="none")
async def get_product(number: int) -> dict[str, int]:
    """The price in cents and the stock of a product."""
    await asyncio.sleep(CALL_S)
    return {"number": number, "cents": 1000 + 40 * number, "stock": number % 3}


@function_tool(effect="idempotent")
async def set_price(number: int, cents: int) -> str:
    """Set the price of a product."""
    await asyncio.sleep(CALL_S)
    done.append(f"product {number} costs {cents}")
    return "ok"


@function_tool(effect="idempotent")
async def send_reminder(order: int) -> str:
    """Remind the customer of an order that is late."""
    await asyncio.sleep(CALL_S)
    done.append(f"reminder of {order}")
    return "sent"


Plan = Callable[[], Sequence[Sequence[FunctionCall]]]


@dataclass(frozen=True)
class Task:
    """What is asked, with which tools; the calls that a model makes, reply by reply; the program in their place, and what that
    gives; the answer."""

    name: str
    asks: str
    tools: Sequence[FunctionTool[Any]]
    plain: Plan
    program: str
    gives: str
    answer: str


LATE = [int(order["id"]) for order in ORDERS if order["state"] == "late"][:12]
IN_STOCK = [n for n in range(1, 11) if n % 3]

TASKS = [
    Task(
        "one look-up",
        "How warm is it in Rome?",
        [get_weather],
        lambda: [[call("get_weather", city="Rome")]],
        'await get_weather("Rome")',
        '{"degrees":12,"wind":4}',
        "It has 12 degrees.",
    ),
    Task(
        "two look-ups, compared",
        "Where is it warmer, Rome or Lisbon?",
        [get_weather],
        lambda: [[call("get_weather", city="Rome"), call("get_weather", city="Lisbon")]],
        'import asyncio\nawait asyncio.gather(get_weather("Rome"), get_weather("Lisbon"))',
        '[{"degrees":12,"wind":4},{"degrees":18,"wind":6}]',
        "In Lisbon.",
    ),
    Task(
        "a chain of three",
        "Where is the latest order of Abraham?",
        [find_customer, orders_of, shipment_of],
        lambda: [
            [call("find_customer", name="Abraham")],
            [call("orders_of", customer="c7")],
            [call("shipment_of", order=1052)],
        ],
        'customer = await find_customer("Abraham")\nawait shipment_of((await orders_of(customer["id"]))[-1])',
        '{"carrier":"post","at":"hub 2","due":"2026-04-17"}',
        "It is at hub 2, and due on 2026-04-17.",
    ),
    Task(
        "sums over 60 rows",
        "What do the orders come to, by state?",
        [list_orders],
        lambda: [[call("list_orders")]],
        "sums = {}\nfor order in await list_orders():\n"
        '    sums[order["state"]] = sums.get(order["state"], 0) + order["cents"]\nsums',
        '{"paid":61090,"open":58830,"late":61570}',
        "Paid: 610.90, open: 588.30, late: 615.70.",
    ),
    Task(
        "160 lines of a log",
        "How many requests failed since the 1st of March, by status?",
        [read_log],
        lambda: [[call("read_log", day="2026-03-01")]],
        'counts = {}\nfor line in (await read_log("2026-03-01")).splitlines():\n    status = line.split()[3]\n'
        '    if status >= "400":\n        counts[status] = counts.get(status, 0) + 1\ncounts',
        '{"404":32,"500":32}',
        "32 were not found, and 32 failed.",
    ),
    Task(
        "12 reminders",
        "Remind the customers of the first twelve late orders.",
        [list_orders, send_reminder],
        lambda: [[call("list_orders", state="late")], [call("send_reminder", order=order) for order in LATE]],
        "import asyncio\nlate = await list_orders('late')\n"
        'len(await asyncio.gather(*[send_reminder(order["id"]) for order in late[:12]]))',
        "12",
        "Twelve reminders are sent.",
    ),
    Task(
        "15 balances",
        "Which of the customers c0 to c14 owe us money?",
        [balance_of],
        lambda: [[call("balance_of", customer=f"c{n}") for n in range(15)]],
        'import asyncio\nnames = [f"c{n}" for n in range(15)]\n'
        "balances = await asyncio.gather(*[balance_of(name) for name in names])\n"
        "[name for name, balance in zip(names, balances) if balance < 0]",
        '["c0","c1","c2","c8","c9","c10"]',
        "c0, c1, c2, c8, c9 and c10 do.",
    ),
    Task(
        "6 pages",
        "Who of the sign-ups has the highest score?",
        [events_page],
        lambda: [[call("events_page", page=page)] for page in range(1, 7)],
        'page, best = 1, {"score": -1}\nwhile True:\n    found = await events_page(page)\n'
        '    best = max([best, *found["rows"]], key=lambda row: row["score"])\n'
        '    if not found["more"]:\n        break\n    page += 1\nbest',
        '{"name":"user32","score":992}',
        "user32, with 992.",
    ),
    Task(
        "a search over shelves",
        "On which shelf is part-7-3?",
        [shelf_of],
        lambda: [[call("shelf_of", shelf=shelf)] for shelf in range(1, 8)],
        'shelf = 1\nwhile "part-7-3" not in await shelf_of(shelf):\n    shelf += 1\nshelf',
        "7",
        "On shelf 7.",
    ),
    Task(
        "10 products, 7 prices",
        "Raise the price of the products 1 to 10 by 5 % where they are in stock.",
        [get_product, set_price],
        lambda: [
            [call("get_product", number=n) for n in range(1, 11)],
            [call("set_price", number=n, cents=(1000 + 40 * n) * 105 // 100) for n in IN_STOCK],
        ],
        "import asyncio\nproducts = await asyncio.gather(*[get_product(n) for n in range(1, 11)])\n"
        'raised = [p for p in products if p["stock"]]\n'
        'await asyncio.gather(*[set_price(p["number"], p["cents"] * 105 // 100) for p in raised])\nlen(raised)',
        "7",
        "Seven prices are raised.",
    ),
]


class CountedModel:
    """A scripted model that takes its time, and counts the tokens of its requests and replies."""

    def __init__(self, replies: Sequence[Any]) -> None:
        self.name = "counted"
        self.tokens = self.turns = 0
        self._script = ScriptedModel(replies)
        self._counter = TiktokenCounter()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        async for event in self._script.stream(request):
            if isinstance(event, ResponseCompleted):
                fixed = await self._counter.count_fixed(request.instructions, request.tools, request.output)
                written = sum(await self._counter.count(event.response.output))
                self.tokens += fixed + sum(await self._counter.count(request.items)) + written
                self.turns += 1
                await asyncio.sleep(FIXED_S + TOKEN_S * written)
            yield event


class Done(NamedTuple):
    """A task done: what was changed, what the last calls gave, and the characters of each snapshot of its program."""

    turns: int
    tokens: int
    seconds: float
    changed: tuple[str, ...]
    gave: str
    snapshots: list[int]


async def measured(task: Task, *, as_program: bool) -> Done:
    """Do a task."""
    done.clear()
    replies = [[call("run_code", code=task.program)]] if as_program else [list(calls) for calls in task.plain()]
    model = CountedModel([*replies, task.answer])
    tools = [CodeTool(task.tools)] if as_program else [*task.tools]
    agent = Agent[Any, str]("Worker", instructions="You do what you are asked.", tools=tools, model=model)
    started = time.perf_counter()
    result = await Runner.run(agent, task.asks, run_config=RunConfig(limits=RunLimits(turns=50), tracing_disabled=True))
    seconds = time.perf_counter() - started
    outputs = [item for item in result.to_input_list() if item.get("type") == "function_call_output"]
    if errors := [item for item in outputs if "Error" in str(item["output"])]:
        raise RuntimeError(f"task {task.name!r} had an error: {json.dumps(errors)[:500]}")
    changed, gave = tuple(sorted(done)), str(outputs[-1]["output"])
    return Done(model.turns, model.tokens, seconds, changed, gave, snapshots(result))


def snapshots(result: RunResult[str]) -> list[int]:
    """The characters of each snapshot from which a program of the run went on."""
    nested = [event.event for event in result.to_state().value.log if isinstance(event, Nested)]
    return [
        len(event.snapshot) for event in nested if isinstance(event, ModelReplied) and event.response.finish == "tool_calls"
    ]


async def seconds_of_a_step() -> float:
    """The median of a program's steps, each from one call to the next, of a tool that does nothing."""
    called: list[float] = []

    @function_tool(effect="none")
    async def tick() -> None:
        """Nothing."""
        called.append(time.perf_counter())

    replies = [call("run_code", code=f"for _ in range({STEPS}):\n    await tick()"), "Done."]
    agent = Agent[Any, str]("Worker", tools=[CodeTool([tick])], model=ScriptedModel(replies))
    await Runner.run(agent, "Go.", run_config=RunConfig(tracing_disabled=True))
    return median(after - before for before, after in pairwise(called))


async def main() -> int:
    """Do each task both ways; whether enough of them take fewer tokens as programs."""
    rows: list[tuple[object, ...]] = [("task", "turns", "as program", "tokens", "as program", "seconds", "as program")]
    fewer, sizes = 0, list[int]()
    await TiktokenCounter().count([Message("user", "x")])  # the first takes the time to load its ranks
    for task in TASKS:
        plain = await measured(task, as_program=False)
        program = await measured(task, as_program=True)
        if (program.changed, program.gave) != (plain.changed, task.gives):
            expected = f"expected {task.gives} and {plain.changed}"
            raise RuntimeError(f"task {task.name!r} gave {program.gave} and changed {program.changed}, {expected}")
        fewer += program.tokens < plain.tokens
        sizes += program.snapshots
        both = (plain.turns, program.turns, plain.tokens, program.tokens, f"{plain.seconds:.2f}", f"{program.seconds:.2f}")
        rows.append((task.name, *both))
    print(rows_table(rows))
    print(f"a snapshot of a program: {min(sizes)} to {max(sizes)} characters")
    print(f"a step of a program, from one call to the next: {await seconds_of_a_step() * 1000:.1f} ms (median of {STEPS})")
    print(f"fewer tokens as a program: {fewer} of {len(TASKS)}, expected at least {FEWER}")
    return int(fewer < FEWER)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
