"""Notices that a run rests: signed, once for each rest, sent again until they are received, and lost by nobody's death."""

from __future__ import annotations

import asyncio
import base64
import json
import signal
import sys
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from agentsdk import Agent, MemoryRunStore, RunConfig, Runner, RunQuery, RunSummary, SQLiteRunStore, Worker
from agentsdk.errors import CallbackError, StoreUnavailableError
from agentsdk.runs import Decision
from agentsdk.stores import RunStore
from agentsdk.testing.store_conformance import check_store
from agentsdk.web import Webhooks, WebhookTarget
from tests.asgi_server import listening
from tests.web.served import clerk, nap, served
from tests.workflow.programs import StillClock

pytestmark = pytest.mark.anyio

SECRET = b"a secret of at least 24 bytes"


class Receiver:
    """What notices it got, checked by the official library, and what it answers to each, 204 in the end."""

    def __init__(self, *answers: int) -> None:
        self.got: list[tuple[str, dict[str, Any]]] = []
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.arrived, self.refused = asyncio.Event(), asyncio.Event()
        self._answers = list(answers)
        self.url = ""

    async def take(self, request: Request) -> Response:
        """Take a notice."""
        self.requests.append((dict(request.headers), await request.body()))
        try:
            notice = Webhook(base64.b64encode(SECRET).decode()).verify(await request.body(), dict(request.headers))
        except WebhookVerificationError:
            self.refused.set()
            return Response(status_code=403)
        self.got.append((request.headers["webhook-id"], notice))
        self.arrived.set()
        status = self._answers.pop(0) if self._answers else 204
        return RedirectResponse("/elsewhere") if status == 307 else Response(status_code=status)

    async def until(self, fits: Callable[[Sequence[tuple[str, dict[str, Any]]]], bool]) -> None:
        """Return when what it got fits."""
        async with asyncio.timeout(60):
            while not fits(self.got):
                self.arrived.clear()
                await self.arrived.wait()

    async def until_refused(self) -> None:
        """Return when it has refused a notice."""
        async with asyncio.timeout(60):
            await self.refused.wait()

    def target(self, run: RunSummary) -> WebhookTarget:
        """That it is to be told."""
        return WebhookTarget(self.url, SECRET)


@asynccontextmanager
async def receiving(*answers: int) -> AsyncGenerator[Receiver, None]:
    receiver = Receiver(*answers)
    app = Starlette(routes=[Route("/hook", receiver.take, methods=["POST"])])
    async with listening(app) as address:
        receiver.url = f"{address}/hook"
        yield receiver


def webhooks_to(receiver: Receiver, store: RunStore, **options: Any) -> Webhooks:
    return Webhooks(
        store, receiver.target, **{"allowed_networks": ["127.0.0.1"], "allow_http": True, "waits": [0.01] * 3, **options}
    )


@asynccontextmanager
async def working(webhooks: Webhooks, *agents: Agent[Any, Any]) -> AsyncGenerator[None, None]:
    worker = Worker(webhooks.store, agents=[*agents, webhooks.workflow], grace=0.0)
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await task


async def ended(store: RunStore, number: int = 1) -> list[RunSummary]:
    """The notices as runs, once so many have ended."""
    async with asyncio.timeout(60):
        seen = 0
        while True:
            notices = [run for run in await store.list(RunQuery(status="finished")) if run.first_agent == "webhook"]
            if len(notices) >= number:
                return notices
            seen = await store.wait_due(seen, 0.05)


async def test_of_a_run_that_sleeps_nobody_is_told() -> None:
    clock = StillClock()
    store = MemoryRunStore()
    async with receiving() as receiver:
        webhooks = webhooks_to(receiver, store)
        config = RunConfig(store=webhooks.store, run_id="r", clock=clock)
        assert not (await nap.run(60.0, run_config=config)).is_finished
        clock.now += 60.0
        assert (await Runner.resume(nap, "r", run_config=config)).is_finished
    notices = [run for run in await store.list(RunQuery()) if run.first_agent == "webhook"]
    assert len(notices) == 1, "of its end only"


async def said(store: RunStore) -> list[str]:
    """What became of the notices."""
    outputs = []
    for notice in await ended(store):
        state = await Runner.load(notice.run_id, run_config=RunConfig(store=store))
        assert state.value.ended is not None
        outputs.append(json.loads(state.value.ended.output))
    return outputs


async def test_each_rest_of_a_run_is_told_once_and_signed() -> None:
    store = MemoryRunStore()
    async with receiving() as receiver:
        webhooks = webhooks_to(receiver, store)
        agent = clerk()
        async with served(agent, store=webhooks.store, works=False) as client, working(webhooks, agent):
            run_id = await client.begin()
            await receiver.until(lambda got: len(got) == 1)
            [waiting] = (await client.until(run_id, "waiting"))["calls"]
            await client.post(f"/runs/{run_id}/decisions", json={"call_id": waiting["call_id"], "action": "approve"})
            await receiver.until(lambda got: len(got) == 2)
            await ended(store, 2)
            assert (await client.get("/runs")).json()["runs"][0]["run_id"] == run_id
            assert len((await client.get("/runs")).json()["runs"]) == 1, "notices are no runs of a tenant"
    (first_id, first), (second_id, second) = receiver.got
    assert [first["type"], second["type"]] == ["run.waiting", "run.finished"] and first_id != second_id
    assert first["data"]["run_id"] == run_id and first["data"]["waiting"] == 1
    assert (second["data"]["tenant"], second["data"]["user"]) == ("acme", "ada")
    log = b"".join([event for run in await store.list(RunQuery()) for event in await store.read(run.run_id)])
    assert SECRET not in log and receiver.url.encode() not in log, "neither the secret nor the address is recorded"


async def test_a_notice_that_is_forged_or_replayed_later_is_refused_by_who_checks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryRunStore()
    async with receiving() as receiver:
        webhooks, agent = webhooks_to(receiver, store), clerk("Done.", "Done.")
        await Runner.submit(agent, "Hello.", run_config=RunConfig(store=webhooks.store))
        async with working(webhooks, agent):
            assert await said(store) == ["received"]
            [(headers, body)] = receiver.requests
            check = Webhook(base64.b64encode(SECRET).decode()).verify
            check(body, headers)
            at = str(int(headers["webhook-timestamp"]) + 60)
            for forged in ({"webhook-id": "another"}, {"webhook-timestamp": at}, {"webhook-signature": "v1,AAAA"}):
                with pytest.raises(WebhookVerificationError):
                    check(body, {**headers, **forged})
            with pytest.raises(WebhookVerificationError):
                check(body.replace(b"finished", b"failed"), headers)
            with pytest.raises(WebhookVerificationError):
                Webhook(base64.b64encode(b"of somebody else" * 2).decode()).verify(body, headers)
            early = SimpleNamespace(time=lambda: time.time() - 3600)
            monkeypatch.setattr("agentsdk.web.webhooks.time", early)
            await Runner.submit(agent, "Hello.", run_config=RunConfig(store=webhooks.store))
            await receiver.until_refused()
    assert len(receiver.got) == 1, "one that was signed an hour ago is taken no more"


async def test_a_notice_is_sent_again_under_its_id_until_it_is_received() -> None:
    store = MemoryRunStore()
    async with receiving(500, 307, 204) as receiver:
        webhooks, agent = webhooks_to(receiver, store), clerk("Done.")
        await Runner.submit(agent, "Hello.", run_config=RunConfig(store=webhooks.store))
        async with working(webhooks, agent):
            assert await said(store) == ["received"]
    assert len(receiver.got) == 3 and len({notice_id for notice_id, _ in receiver.got}) == 1


@pytest.mark.parametrize(("answers", "attempts", "word"), [((500,) * 9, 4, "given up: status 500"), ((410,), 1, "410")])
async def test_a_notice_that_is_never_taken_is_given_up(answers: tuple[int, ...], attempts: int, word: str) -> None:
    store = MemoryRunStore()
    async with receiving(*answers) as receiver:
        webhooks, agent = webhooks_to(receiver, store), clerk("Done.")
        await Runner.submit(agent, "Hello.", run_config=RunConfig(store=webhooks.store))
        async with working(webhooks, agent):
            [what] = await said(store)
    assert word in what and len(receiver.got) == attempts


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9/",
        "https://localhost:9/",
        "https://169.254.169.254/latest",
        "https://[::ffff:10.0.0.1]/",
        "file:///etc",
    ],
)
async def test_a_notice_goes_to_no_private_address(url: str) -> None:
    store, agent = MemoryRunStore(), clerk("Done.")
    webhooks = Webhooks(store, lambda run: WebhookTarget(url, SECRET), waits=[0.0])
    await Runner.submit(agent, "Hello.", run_config=RunConfig(store=webhooks.store))
    async with working(webhooks, agent):
        [what] = await said(store)
    assert what.startswith("may not be sent: ")


async def test_a_network_that_is_allowed_is_reached_over_https_only() -> None:
    store, agent = MemoryRunStore(), clerk("Done.")
    async with receiving() as receiver:
        webhooks = webhooks_to(receiver, store, allow_http=False)
        await Runner.submit(agent, "Hello.", run_config=RunConfig(store=webhooks.store))
        async with working(webhooks, agent):
            assert "https" in (await said(store))[0]
    assert receiver.got == []


async def test_a_notice_of_an_append_that_was_never_made_is_not_sent_and_the_rest_that_comes_is_told() -> None:
    """As after a kill between the two: the run is gone on with once its lease has passed."""

    class Dying(MemoryRunStore):
        dies = True

        async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
            if self.dies and summary.status == "finished" and summary.first_agent == "Clerk":
                self.dies = False
                raise StoreUnavailableError("the process is killed")
            return await super().append(run_id, expected_rev, events, summary)

    store = Dying()
    async with receiving() as receiver:
        webhooks, agent = webhooks_to(receiver, store), clerk("Done.", "Done.")
        config = RunConfig(store=webhooks.store, run_id="r", lease=0.2, store_timeout=0.1)
        try:
            await Runner.run(agent, "Hello.", run_config=config)
        except StoreUnavailableError:
            pass
        async with working(webhooks, agent):
            await receiver.until(lambda got: len(got) == 1)
            assert set(await said(store)) <= {"received", "the run went on"}
    assert [notice["type"] for _, notice in receiver.got] == ["run.finished"]


async def test_a_notice_is_there_before_the_rest_is() -> None:
    appended: list[tuple[str, str]] = []

    class Noting(MemoryRunStore):
        async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
            appended.append((summary.first_agent, summary.status))
            return await super().append(run_id, expected_rev, events, summary)

    webhooks = Webhooks(Noting(), lambda run: WebhookTarget("https://example.com", SECRET))
    await Runner.run(clerk("Done."), "Hello.", run_config=RunConfig(store=webhooks.store))
    assert appended.index(("webhook", "ready")) < appended.index(("Clerk", "finished"))


async def test_a_run_that_went_on_is_told_of_by_its_next_rest() -> None:
    store = MemoryRunStore()
    async with receiving() as receiver:
        webhooks, agent = webhooks_to(receiver, store), clerk()
        config = RunConfig(store=webhooks.store, run_id="r")
        result = await Runner.run(agent, "Pay.", run_config=config)
        await Runner.decide("r", Decision(result.interruptions[0].call_id, "approve"), run_config=config)
        await Runner.drive(agent, "r", run_config=config)
        async with working(webhooks, agent):
            await ended(store, 2)
            assert sorted(await said(store)) == ["received", "the run went on"]
    assert [notice["type"] for _, notice in receiver.got] == ["run.finished"]


async def test_a_target_that_fails_stops_the_append_and_nothing_is_lost() -> None:
    store, agent = MemoryRunStore(), clerk("Done.")
    webhooks = Webhooks(store, lambda run: {}["no such tenant"])
    with pytest.raises(CallbackError):
        await Runner.run(agent, "Hello.", run_config=RunConfig(store=webhooks.store, run_id="r"))
    wrong: Any = lambda run: "https://example.com"  # noqa: E731
    with pytest.raises(CallbackError, match="WebhookTarget"):
        await Runner.run(clerk("Done."), "Hello.", run_config=RunConfig(store=Webhooks(MemoryRunStore(), wrong).store))


async def test_a_run_that_nobody_is_to_be_told_of_makes_no_notice() -> None:
    store = MemoryRunStore()
    webhooks = Webhooks(store, lambda run: None)
    await Runner.run(clerk("Done."), "Hello.", run_config=RunConfig(store=webhooks.store))
    assert [run.first_agent for run in await store.list(RunQuery())] == ["Clerk"]


async def test_its_store_is_a_store_as_any() -> None:
    def make() -> RunStore:
        return Webhooks(MemoryRunStore(), lambda run: None).store

    outcomes = await check_store(make, shared=False)
    assert [outcome for outcome in outcomes if outcome.result == "failed"] == []


KILLED = """
import asyncio, sys
from agentsdk import Agent, RunConfig, Runner, SQLiteRunStore, Worker
from agentsdk.testing import ScriptedModel
from agentsdk.web import WebhookTarget, Webhooks

async def main() -> None:
    path, url = sys.argv[1:]
    target = WebhookTarget(url, b"a secret of at least 24 bytes")
    options = {"allowed_networks": ["127.0.0.1"], "allow_http": True, "waits": [0.05] * 50}
    webhooks = Webhooks(SQLiteRunStore(path), lambda run: target, **options)
    clerk = Agent(name="Clerk", model=ScriptedModel(["Done."] * 100))
    worker = Worker(webhooks.store, agents=[clerk, webhooks.workflow], config=RunConfig(lease=0.5))
    await worker.run()

asyncio.run(main())
"""


async def test_no_notice_is_lost_by_workers_that_are_killed(tmp_path: Path) -> None:
    """A worker is killed whenever another notice has come in: in the middle of that one, as it has no answer yet."""
    path, runs = tmp_path / "runs.db", 5
    store = SQLiteRunStore(path)
    agent = clerk("Done.")
    async with receiving() as receiver:
        ids = [await Runner.submit(agent, "Hello.", run_config=RunConfig(store=store)) for _ in range(runs)]
        for is_last in (False, False, True):
            process = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, str(path), receiver.url)
            before = len(receiver.got)
            try:
                if is_last:
                    await receiver.until(lambda got: {notice["data"]["run_id"] for _, notice in got} == set(ids))
                else:
                    await receiver.until(lambda got, before=before: len(got) > before)  # type: ignore[misc]
            finally:
                process.send_signal(signal.SIGKILL)
                await process.wait()
    by_run: dict[str, set[str]] = {}
    for notice_id, notice in receiver.got:
        by_run.setdefault(notice["data"]["run_id"], set()).add(notice_id)
    assert {run_id: len(notices) for run_id, notices in by_run.items()} == dict.fromkeys(ids, 1)
    await store.aclose()
