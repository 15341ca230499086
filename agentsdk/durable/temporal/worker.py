"""`temporal_worker`: a worker of Temporal that has agents and a run store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from temporalio.client import Client
from temporalio.worker import Worker

from agentsdk.define.agent import Agent, RunHooks
from agentsdk.define.run_config import RunConfig, RunErrorHandlers
from agentsdk.durable.driver import Driver
from agentsdk.durable.temporal.activities import RunActivities
from agentsdk.durable.temporal.workflow import AgentRun
from agentsdk.engine.drive import ForRun
from agentsdk.ports.run_store import RunStore
from agentsdk.types.declared import Fields, a, a_name, number, whole

_FIELDS = Fields(
    "temporal_worker",
    client=a(Client, "a temporalio Client; pass await Client.connect('localhost:7233')"),
    task_queue=a_name("the name of a task queue; the one that TemporalRuns was given"),
    concurrency=whole("at least 1", 1),
    grace=number("finite seconds, 0 or more", least=0),
)
_LONGEST_SILENCE = timedelta(seconds=5)
"""How seldom a heartbeat goes out at the least, whatever its timeout: by its answer a run learns that it was cancelled."""


def temporal_worker(
    client: Client,
    *,
    store: RunStore,
    agents: Agent[Any, Any] | Mapping[str, Agent[Any, Any]] | Sequence[Agent[Any, Any]],
    task_queue: str,
    concurrency: int = 16,
    config: RunConfig | None = None,
    context: ForRun | None = None,
    session: ForRun | None = None,
    hooks: RunHooks[Any] | None = None,
    error_handlers: RunErrorHandlers | None = None,
    grace: float = 20.0,
    **options: Any,
) -> Worker:
    """A worker that drives the runs of `store` that begin with one of `agents`: `await temporal_worker(...).run()`.

    At most `concurrency` runs at once. `config`, `context`, `session`, `hooks` and `error_handlers` are those of
    `agentsdk.Worker`. Stopped, it hands back the runs in work at the end of their turn, after `grace` seconds by cancelling
    them. `options` are those of `temporalio.worker.Worker`; `workflows` and `activities` of yours come beside ours.

    Raises `UserError` naming the argument that is wrong.
    """
    _FIELDS.check_given(client=client, task_queue=task_queue, concurrency=concurrency, grace=grace)
    driver = Driver(store, agents, config, context, session, hooks, error_handlers)
    options.setdefault("max_heartbeat_throttle_interval", _LONGEST_SILENCE)
    return Worker(
        client,
        task_queue=task_queue,
        workflows=[AgentRun, *options.pop("workflows", ())],
        activities=[*RunActivities(driver).all, *options.pop("activities", ())],
        max_concurrent_activities=concurrency,
        graceful_shutdown_timeout=timedelta(seconds=grace),
        **options,
    )
