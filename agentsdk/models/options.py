"""What the constructors of all HTTP adapters take in common: written once, checked once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypedDict

from agentsdk.models.auth import Auth
from agentsdk.models.transport import ModelTimeouts, Transport
from agentsdk.ports.clock import CLOCK, Clock
from agentsdk.types.declared import CALLABLE, SYNC, Fields, a, a_name, any_text, either, having, mapping_of, optional, secret
from agentsdk.types.errors import UserError
from agentsdk.types.settings import ModelRetrySettings

if TYPE_CHECKING:
    import httpx


class HttpModelOptions(TypedDict, total=False):
    """The keyword arguments that every adapter takes beside its own. Each may be left out; None means the same."""

    base_url: str | None
    """The server's address. By default the provider's environment variable, or the provider's own server."""
    api_key: str | None
    """The key. By default the environment's, which goes only to the `base_url` of the environment or to the provider; another
    `base_url` needs its own key, or none: `""`."""
    auth: Auth | None
    """In the place of a key: a callable, sync or async, that gets an `AuthRequest` and returns headers to add. It is asked for
    every attempt, and once more where the server says that the credentials have expired."""
    http_client: httpx.AsyncClient | Transport | None
    """What sends the requests; it is never closed here. By default all models of an event loop share a client."""
    timeouts: ModelTimeouts | None
    """The deadlines of one attempt, in seconds."""
    retry: ModelRetrySettings | None
    """What is tried again, where the run's own settings do not say."""
    headers: Mapping[str, str] | None
    """Sent with every request. They are never shown."""
    provider: str | None
    """Names where reasoning and the provider's own items come from and may be sent back to. By default the host."""
    clock: Clock | None
    """For tests: the clock that gives the time and waits."""
    random: Callable[[], float] | None
    """For tests: gives numbers in [0, 1), for the jitter between retries."""


_FIELDS = Fields(
    "HttpModel",
    model=a_name("the name of a model; pass it first"),
    base_url=optional(any_text("a URL; write 'https://host/v1'")),
    api_key=optional(secret(any_text("a str; leave it out to take it from the environment"))),
    auth=optional(secret(CALLABLE)),
    http_client=optional(
        either(having(("build_request", "send"), ""), having(("post",), ""), what="an httpx.AsyncClient or a Transport")
    ),
    timeouts=optional(a(ModelTimeouts, "ModelTimeouts; pass ModelTimeouts(total=60), say")),
    retry=optional(a(ModelRetrySettings, "ModelRetrySettings; pass ModelRetrySettings(max_retries=4), say")),
    headers=optional(secret(mapping_of(any_text(""), "a dict of header names and values, both texts"))),
    provider=optional(any_text("a str; it names where reasoning may be sent back to")),
    clock=optional(CLOCK),
    random=optional(SYNC),
)
_NAMES = HttpModelOptions.__annotations__


def check_options(adapter: str, model: object, options: Mapping[str, object]) -> None:
    """Raise `UserError` for an option that is not what it must be, and `TypeError`, as Python would, for an unknown one."""
    for name in options:
        if name not in _NAMES:
            raise TypeError(f"{adapter}.__init__() got an unexpected keyword argument {name!r}")
    _FIELDS.check_given(adapter, model=model, **options)
    if options.get("auth") is not None and options.get("api_key"):
        raise two_credentials(adapter, "api_key=...", "auth=...")


def two_credentials(adapter: str, first: str, second: str) -> UserError:
    """The error for an adapter that was given two credentials, of which only one could count."""
    return UserError(f"{adapter}({first}, {second}) has two credentials, expected one; leave one of them out")
