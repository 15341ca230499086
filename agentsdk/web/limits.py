"""`WebLimits`: what one client may ask of a service, and what it costs to refuse the rest."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from agentsdk.types.declared import SECONDS, Fields, number, whole

MAX_CLIENTS = 10_000
"""How many clients' rates are remembered; of more, the one that has been silent for longest is forgotten."""


@dataclass(frozen=True, kw_only=True)
class WebLimits:
    """What a client may ask of a `web_app`. A client is a user of a tenant; without authentication all are one.

    A request's body has at most `body_bytes`, and comes within `body_seconds`. A client makes `requests_per_second` on average
    and `request_burst` at once. A page has at most `page_size` runs.

    A client follows at most `streams` runs at once. A stream that it takes nothing from for `stall_seconds` is left, and so is
    one that lags more than `stream_bytes` behind; after `stream_seconds` each ends, so that who asks is asked again. The client
    comes again, and goes on where it was. After `ping_seconds` of silence there is a comment.

    These hold in one process: of several, each counts for itself. Raises `UserError` naming the field that is wrong.
    """

    body_bytes: int = 1_048_576
    body_seconds: float = 30.0
    requests_per_second: float = 50.0
    request_burst: int = 100
    page_size: int = 100
    streams: int = 32
    stream_bytes: int = 1_048_576
    stream_seconds: float = 3600.0
    stall_seconds: float = 30.0
    ping_seconds: float = 15.0

    def __post_init__(self) -> None:
        _FIELDS.check(self)


_FIELDS = Fields(
    "WebLimits",
    body_bytes=whole("at least 1", 1),
    body_seconds=SECONDS,
    requests_per_second=number("above 0", above=0),
    request_burst=whole("at least 1", 1),
    page_size=whole("at least 1", 1),
    streams=whole("at least 1", 1),
    stream_bytes=whole("at least 1", 1),
    stream_seconds=SECONDS,
    stall_seconds=SECONDS,
    ping_seconds=SECONDS,
)

Client = tuple[str, str]
"""A tenant and a user."""


class Rates:
    """How much each client may still ask for: a bucket of `request_burst` that fills by `requests_per_second`."""

    def __init__(self, limits: WebLimits, now: Callable[[], float]) -> None:
        self._limits = limits
        self._now = now
        self._buckets: OrderedDict[Client, tuple[float, float]] = OrderedDict()

    def wait(self, client: Client) -> float:
        """Count a request; the seconds after which it may be made, 0 for now."""
        rate, burst, now = self._limits.requests_per_second, self._limits.request_burst, self._now()
        left, at = self._buckets.pop(client, (float(burst), now))
        left = min(burst, left + (now - at) * rate)
        wait = max(0.0, (1 - left) / rate)
        self._buckets[client] = (left if wait else left - 1, now)
        if len(self._buckets) > MAX_CLIENTS:
            self._buckets.popitem(last=False)
        return wait
