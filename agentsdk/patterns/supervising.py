"""`supervisor`: an agent starts runs of others in the background, goes on, and is told when one has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, make_dataclass
from typing import Any, Generic, Literal, TypeVar

from agentsdk.define.agent import Agent
from agentsdk.patterns.agents import as_text, by_name, output_type_of
from agentsdk.types.declared import Fields, a, a_name, optional, sequence_of, whole
from agentsdk.types.errors import StepFailedError
from agentsdk.types.text import shortened
from agentsdk.workflow import Workflow, flow

T = TypeVar("T")

PROMPT = """You lead others, who work in the background while you go on. You are told below as their tasks end.

{workers}

Each time say:
- start: tasks to start now, each the name of a worker and an input that says all that it needs to know;
- cancel: ids of tasks that are not needed any more;
- note: what you want to remember, as you will see nothing else of what you think now;
- then: "go_on" to be asked again at once, "wait" to be asked again once a task has ended, "finish" if no more tasks are needed.

What you are to do:
{question}

What has happened:
{events}"""
ANSWER = "{question}\n\nWhat was done for that:\n{events}\n\nGive the answer."


@dataclass(frozen=True)
class Order:
    """A task for a worker, by its name."""

    worker: str
    input: str


@dataclass(frozen=True)
class Orders:
    """What the lead gives each time it is asked: tasks to `start`, ids to `cancel`, a `note` to itself, and what comes then."""

    start: list[Order]
    cancel: list[str]
    note: str
    then: Literal["go_on", "wait", "finish"]


@dataclass
class BackgroundTask:
    """A run that the lead has started. `result`: the worker's answer, as text, or the type of the error that it failed with."""

    id: str
    worker: str
    input: str
    status: Literal["running", "finished", "failed", "cancelled"] = "running"
    result: str = ""


@dataclass(frozen=True)
class Supervised(Generic[T]):
    """What a `supervisor` came to: the lead's `answer`, all the tasks it has started, and how often it was asked for orders."""

    answer: T
    tasks: tuple[BackgroundTask, ...]
    turns: int


def supervisor(
    lead: Agent[Any, T],
    workers: Sequence[Agent[Any, Any]],
    *,
    turns: int = 12,
    max_tasks: int = 8,
    max_chars: int = 4_000,
    name: str | None = None,
) -> Workflow[str, Supervised[T]]:
    """A workflow in which `lead` starts tasks of `workers`, which run beside it and each other, and is told as they end.

    It is asked for `Orders` up to `turns` times, and each time shown what has happened since the start: of each result and note
    `max_chars` characters at most. It has its tools each time, and may start `max_tasks` in all. After "finish", or its last
    turn, all tasks come to their end; then it gives the answer, of its output type.

    The tasks are runs nested in the workflow's: one that goes on after a crash starts none of them twice, they count against
    its limits, and end where it is cancelled. It is named after the lead unless it is given a `name`.

    Raises `UserError` for what is no team.
    """
    _FIELDS.check_given(
        "supervisor", lead=lead, workers=workers, turns=turns, max_tasks=max_tasks, max_chars=max_chars, name=name
    )
    named = by_name("supervisor", workers)
    planner = _planner(lead, named)
    known = "\n".join([f"- {worker.name}: {worker.handoff_description or worker.name}" for worker in workers])

    async def supervise(question: str) -> Supervised[T]:
        turn, then = 0, ""
        async with asyncio.TaskGroup() as group:  # it waits for all tasks, and cancels them where the lead fails
            team = _Team(named, max_tasks, max_chars, group)
            while turn < turns and then != "finish":
                turn += 1
                orders = await flow.agent(planner, PROMPT.format(workers=known, question=question, events=team.read()))
                await team.obey(orders)
                then = orders.then
        answer = await flow.agent(lead, ANSWER.format(question=question, events=team.read()))
        return Supervised(answer, tuple(team.tasks), turn)

    return Workflow(supervise, f"{lead.name} supervisor" if name is None else name, {"T": output_type_of(lead)})


def _planner(lead: Agent[Any, Any], workers: dict[str, Agent[Any, Any]]) -> Agent[Any, Orders]:
    """The lead as it gives orders, to its workers only. What judges its answers does not judge these."""
    names: Any = Literal[tuple(workers)]
    order: Any = make_dataclass("Order", [("worker", names)], bases=(Order,), frozen=True)
    orders = make_dataclass("Orders", [("start", list[order])], bases=(Orders,), frozen=True)
    return lead.clone(output_type=orders, handoffs=(), output_validators=(), output_guardrails=())


class _Team:
    """The tasks of one run, and what has happened, in words for the lead."""

    def __init__(self, workers: dict[str, Agent[Any, Any]], max_tasks: int, max_chars: int, group: asyncio.TaskGroup) -> None:
        self.tasks: list[BackgroundTask] = []
        self._workers = workers
        self._max_tasks = max_tasks
        self._max_chars = max_chars
        self._group = group
        self._running: dict[str, asyncio.Task[None]] = {}
        self._lines: list[str] = []
        self._has_news = False

    def read(self) -> str:
        """All that has happened."""
        self._has_news = False
        return "\n".join(self._lines) or "Nothing yet."

    async def obey(self, orders: Orders) -> None:
        """Do what the lead says. To "wait" is over where a task has ended since it was told."""
        if orders.note:
            self._say("You noted", orders.note)
        for task in self.tasks:
            if task.id in orders.cancel and task.id in self._running:
                self._running[task.id].cancel()
                await asyncio.wait({self._running[task.id]})
        for order in orders.start[: self._max_tasks - len(self.tasks)]:
            task = BackgroundTask(f"t{len(self.tasks) + 1}", order.worker, order.input)
            self.tasks.append(task)
            self._say(f"You started {task.id}, {task.worker}", task.input)
            self._running[task.id] = self._group.create_task(self._work(task))
        if orders.start and len(self.tasks) == self._max_tasks:
            self._say("There may be no more tasks than", str(self._max_tasks))
        if orders.then == "wait" and self._running and not self._has_news:
            await asyncio.wait(self._running.values(), return_when=asyncio.FIRST_COMPLETED)

    async def _work(self, task: BackgroundTask) -> None:
        try:
            said = await flow.agent(self._workers[task.worker], task.input)
        except StepFailedError as error:
            self._end(task, "failed", error.error_type)
        except asyncio.CancelledError:
            self._end(task, "cancelled", "")
            raise
        else:
            self._end(task, "finished", as_text(said))

    def _end(self, task: BackgroundTask, status: Literal["finished", "failed", "cancelled"], result: str) -> None:
        del self._running[task.id]
        task.status, task.result = status, result
        self._has_news = True
        self._say(f"{task.id} {status}", result)

    def _say(self, what: str, text: str) -> None:
        self._lines.append(f"{what}: {shortened(text, self._max_chars)}" if text else what)


_FIELDS = Fields(
    "supervisor",
    lead=a(Agent, "an Agent; pass the one that gives the orders"),
    workers=sequence_of(a(Agent, "an Agent"), "a list of Agents; pass those that work for it"),
    turns=whole("a whole number, 1 or more; 12 suits most", 1),
    max_tasks=whole("a whole number, 1 or more; 8 suits most", 1),
    max_chars=whole("a whole number of characters, 100 or more", 100),
    name=optional(a_name("a name for the workflow")),
)
