"""`Webhooks`: whoever should know is told when a run rests: it waits, has ended, has failed or is cancelled.

A notice is a run of its own, of a small workflow, so it is as durable as any run: it is submitted before the append by which
the run comes to rest, and looks first whether that was made. A process may be killed anywhere; a notice may come twice, under
one id, and is never lost. What it needs of secrets and addresses is asked for when it is sent, and never recorded.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from agentsdk.core.keys import digest
from agentsdk.define.run_config import RunConfig
from agentsdk.local_tools.fetch import answered
from agentsdk.local_tools.host_rules import NETWORKS, HostRules
from agentsdk.ports.run_store import RUN_STORE, RunStore
from agentsdk.runner import Runner
from agentsdk.types.declared import CALLABLE, FLAG, SECONDS, Expected, Fields, a_name, number, sequence_of
from agentsdk.types.errors import CallbackError, FetchError, RunConflictError, TransientToolError
from agentsdk.types.summary import RunSummary
from agentsdk.web.bodies import Run
from agentsdk.web.caller import TENANT, USER
from agentsdk.web.telling_store import TellingStore
from agentsdk.workflow import Workflow, flow, step, workflow

logger = logging.getLogger("agentsdk")

WAITS = (5.0, 30.0, 120.0, 600.0, 3_600.0, 21_600.0, 86_400.0)
"""Seconds before each further attempt: more than a day in all."""

NAME = "webhook"
"""The name of the workflow."""

RESTS = ("waiting", "finished", "failed", "cancelled")
MIN_SECRET_BYTES = 24

_LOOKS = 40
_LOOK_S = 0.05
"""The append by which a run comes to rest follows its notice at once: so often, and so many seconds apart, it is looked for."""


@dataclass(frozen=True)
class WebhookTarget:
    """Where a run's notices go. They are signed with `secret`, 24 random bytes or more. Raises `UserError`."""

    url: str
    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        _TARGET.check(self)


_TARGET = Fields(
    "WebhookTarget",
    url=a_name("a URL; write 'https://example.com/hook'"),
    secret=Expected(
        f"{MIN_SECRET_BYTES} bytes or more; use secrets.token_bytes(32)",
        lambda value: isinstance(value, bytes) and len(value) >= MIN_SECRET_BYTES,
        secret=True,
    ),
)

TargetOf = Callable[[RunSummary], "WebhookTarget | None"]
"""Where the notices of a run go, None for nowhere."""


@dataclass(frozen=True)
class Rest:
    """That a run comes to rest with a revision."""

    run_id: str
    revision: int


class Webhooks:
    """Sends a signed notice when a run of `store` rests: `webhooks = Webhooks(store, target)`.

    Give `webhooks.store` to the `web_app` and to the workers in place of the store, and `webhooks.workflow` to a worker, beside
    its agents. `target` is called with a run's summary; a client never says where notices go.

    A notice is a POST of JSON, signed as Standard Webhooks have it. It counts as received with a status of 200 to 299, within
    `timeout` seconds; otherwise it is sent again after each of `waits`, in seconds, and not after 410. Only public addresses
    are connected to, and those of `allowed_networks`; only over https, unless `allow_http`. Redirects are not followed.

    Raises `UserError` naming the argument that is wrong.
    """

    def __init__(
        self,
        store: RunStore,
        target: TargetOf,
        *,
        waits: Sequence[float] = WAITS,
        timeout: float = 10.0,
        allowed_networks: Sequence[str] = (),
        allow_http: bool = False,
    ) -> None:
        _FIELDS.check_given(
            store=store, target=target, waits=waits, timeout=timeout, allowed_networks=allowed_networks, allow_http=allow_http
        )
        self._inner = store
        self._target = target
        self._waits = tuple(waits)
        self._timeout = timeout
        self._rules = HostRules(allowed_hosts=(), blocked_hosts=(), allowed_networks=allowed_networks)
        self._schemes = ("https", "http") if allow_http else ("https",)
        self.store: RunStore = TellingStore(store, self._announce)
        self.workflow: Workflow[Rest, str] = self._made()

    async def _announce(self, summary: RunSummary) -> None:
        """Submit the notice of a run that is about to rest. Raises `StoreError`, and `CallbackError`."""
        if not _rests(summary) or summary.first_agent == NAME or self._target_of(summary) is None:
            return
        config = RunConfig(store=self._inner, run_id=_notice_id(summary.run_id, summary.rev))
        given = self.workflow.written(Rest(summary.run_id, summary.rev))
        with suppress(RunConflictError):  # it is there already, begun by another version
            await Runner.submit(self.workflow, given, run_config=config)

    def _target_of(self, summary: RunSummary) -> WebhookTarget | None:
        try:
            target = self._target(summary)
        except Exception as error:
            raise CallbackError(
                f"the target of Webhooks raised {type(error).__name__}, expected it to return; see the chained exception"
            ) from error
        if target is not None and not isinstance(target, WebhookTarget):
            raise CallbackError(
                f"the target of Webhooks returned a {type(target).__name__!r}, expected a WebhookTarget or None"
            )
        return target

    def _made(self) -> Workflow[Rest, str]:
        @step(name="post", effect="idempotent", timeout=self._timeout + 2 * _LOOKS * _LOOK_S)
        async def post(rest: Rest) -> str:
            return await self._sent(rest)

        @workflow(name=NAME)
        async def notify(rest: Rest) -> str:
            for wait in self._waits:
                said = await post(rest)
                if not said.startswith(_AGAIN):
                    return said
                await flow.sleep(wait)
            said = await post(rest)
            return said.replace(_AGAIN, "given up: ")

        return notify

    async def _sent(self, rest: Rest) -> str:
        """What became of an attempt, in words for who looks at the record."""
        summary = await self._at_rest(rest)
        if summary is None:
            return "the run is not there"
        if summary.rev > rest.revision:
            return "the run went on"  # its next rest has a notice of its own
        if summary.rev < rest.revision or not _rests(summary):
            return _AGAIN + "the run does not rest yet"
        target = self._target_of(summary)
        if target is None:
            return "nobody is to be told"
        return await self._posted(target, _notice_id(rest.run_id, rest.revision), _notice(summary))

    async def _at_rest(self, rest: Rest) -> RunSummary | None:
        """The run, once the append that the notice went ahead of has been made, or seems not to come."""
        summary: RunSummary | None = None
        for _ in range(_LOOKS):
            summary = await self._inner.summary(rest.run_id)
            if summary is None or summary.rev > rest.revision or (summary.rev == rest.revision and _rests(summary)):
                break
            await asyncio.sleep(_LOOK_S)
        return summary

    async def _posted(self, target: WebhookTarget, notice_id: str, body: bytes) -> str:
        import httpx

        at = str(int(time.time()))
        headers = {
            "content-type": "application/json",
            "webhook-id": notice_id,
            "webhook-timestamp": at,
            "webhook-signature": _signature(target.secret, notice_id, at, body),
        }
        try:
            url = self._rules.parsed(target.url)
            if url.scheme not in self._schemes:
                raise FetchError("the URL is not one of https, expected one; or pass Webhooks(allow_http=True)")
            async with asyncio.timeout(self._timeout):
                async with answered(self._rules, "POST", url, headers, self._timeout, body) as reply:
                    status = reply.status
        except FetchError as error:
            logger.warning("a webhook may not be sent: %s", error)
            return f"may not be sent: {error}"
        except (TransientToolError, TimeoutError, httpx.HTTPError) as error:
            return f"{_AGAIN}{type(error).__name__}"
        if 200 <= status < 300:
            return "received"
        return "refused for good: status 410" if status == 410 else f"{_AGAIN}status {status}"


_AGAIN = "not received: "

_FIELDS = Fields(
    "Webhooks",
    store=RUN_STORE,
    target=CALLABLE,
    waits=sequence_of(number("seconds, 0 or more", least=0), "a list of seconds; write [5, 60, 3600]"),
    timeout=SECONDS,
    allowed_networks=NETWORKS,
    allow_http=FLAG,
)


def _rests(summary: RunSummary) -> bool:
    """Whether there is something to tell of a run. Of one that waits for a time alone there is not."""
    sleeps = summary.status == "waiting" and not summary.waiting and summary.due_at > 0
    return summary.status in RESTS and not sleeps


def _notice_id(run_id: str, revision: int) -> str:
    return digest("webhook", run_id, str(revision))


def _notice(summary: RunSummary) -> bytes:
    whose = {"tenant": summary.metadata.get(TENANT, ""), "user": summary.metadata.get(USER, "")}
    data: dict[str, Any] = {**msgspec.structs.asdict(Run.of(summary)), **whose}
    at = datetime.fromtimestamp(summary.updated_at, UTC).isoformat()
    return msgspec.json.encode({"type": f"run.{summary.status}", "timestamp": at, "data": data})


def _signature(secret: bytes, notice_id: str, at: str, body: bytes) -> str:
    signed = f"{notice_id}.{at}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
