"""A scheduled job: a report each morning, written by an agent and mailed. Killed in the middle it goes on, and mails once.

    pip install 'agentsdk[local]' && python -m agentsdk.models.local    # a model on this machine; or AGENTSDK_MODEL and a key
    python examples/scheduled_job.py             # a morning in a few seconds: submitted twice, its worker killed after the mail

In production a line of cron plans the next morning, as often as you like, and a worker is always up:

    0 * * * *   python examples/scheduled_job.py plan
    python -m agentsdk worker scheduled_job:daily_report --store sqlite:runs.db
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import agentsdk
from agentsdk import Agent, ModelSettings, RunConfig, RunQuery, SQLiteRunStore
from agentsdk.workflow import flow, step, workflow

OUTBOX = Path("outbox.txt")  # plays the mail service
SALES = {"tea": 103, "cake": 54}
PATHS = os.pathsep.join(filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))))
"""Where a worker finds this module."""

writer = Agent[None, str](
    name="Writer",
    instructions="Write one short sentence about these sales.",
    model_settings=ModelSettings(temperature=0, max_tokens=60, stop=("\n",)),
)


@step(effect="none")
async def sales_of(day: str) -> dict[str, int]:
    """Yesterday's figures: a query of your database."""
    return SALES


@step(effect="idempotent")
async def mail(day: str, text: str) -> None:
    """Mail the report. A mail service drops what comes again under the same key, as this one does."""
    key = flow.idempotency_key()
    sent = OUTBOX.read_text() if OUTBOX.exists() else ""
    if key not in sent:
        OUTBOX.write_text(f"{sent}{key} report of {day}: {text}\n")
    if os.environ.get("CRASH"):  # the mail is out, and nobody has written that down: the worst moment to be killed at
        os.kill(os.getpid(), 9)


@workflow
async def daily_report(day: str) -> str:
    """Each step is recorded: what is done is not done again."""
    figures = await sales_of(day)
    text = await flow.agent(writer, f"Sales of {day}: {figures}")
    await mail(day, text)
    return text


async def plan(store: SQLiteRunStore, morning: datetime) -> str:
    """Submit the report of a morning, for seven o'clock. Its id is the day's: submitted again it is the same run."""
    run_id, config = f"report-{morning:%Y-%m-%d}", RunConfig(store=store)
    await daily_report.submit(f"{morning:%Y-%m-%d}", run_id=run_id, at=morning.timestamp(), run_config=config)
    return run_id


def start_worker(**environment: str) -> subprocess.Popen[bytes]:
    """A worker as a process of its own: on this machine or any other that reaches the store."""
    command = ["-m", "agentsdk", "worker", "scheduled_job:daily_report", "--store", "sqlite:runs.db", "--lease", "1"]
    return subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": PATHS, **environment}
    )


async def main() -> None:
    store = SQLiteRunStore("runs.db")
    now = datetime.now(UTC)
    if sys.argv[1:] == ["plan"]:
        print("planned:", await plan(store, (now + timedelta(days=1)).replace(hour=7, minute=0, second=0, microsecond=0)))
    else:
        run_id = await plan(store, now)
        assert await plan(store, now) == run_id
        print(f"planned:  twice, and there is {len(await store.list(RunQuery()))} run")
        print(f"killed:   the first worker, exit code {start_worker(CRASH='yes').wait()}; {lines()} mail is out")
        worker = start_worker()
        result = await until_over(store, run_id)
        print(f"finished: {result}\nmails:    {lines()}")
        worker.terminate()
        worker.wait()
    await store.aclose()
    await agentsdk.aclose()


def lines() -> int:
    """How many mails there are."""
    return len(OUTBOX.read_text().splitlines())


async def until_over(store: SQLiteRunStore, run_id: str) -> str:
    """The report, once there is one."""
    while (summary := await store.summary(run_id)) is None or not summary.is_over:
        await store.wait(run_id, 0 if summary is None else summary.rev, timeout=5)
    return (await daily_report.resume(run_id, run_config=RunConfig(store=store))).final_output


if __name__ == "__main__":
    if not sys.argv[1:]:
        os.chdir(tempfile.mkdtemp())  # played in a new folder, with an empty store
    asyncio.run(main())
