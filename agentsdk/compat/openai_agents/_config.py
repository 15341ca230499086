"""Settings of the process: which key, client and API the models of OpenAI have that are given none."""

from __future__ import annotations

import logging
import sys
from typing import Any, Literal


class Defaults:
    """What was set last."""

    key: str | None = None
    client: Any = None
    use_responses: bool = True


def set_default_openai_key(key: str, use_for_tracing: bool = True) -> None:
    """Have models that are given no client use this key, in place of `OPENAI_API_KEY`."""
    Defaults.key, Defaults.client = key, None


def set_default_openai_client(client: Any, use_for_tracing: bool = True) -> None:
    """Have models that are given no client use the key and address of this one. The last one that was set counts."""
    Defaults.client = client


def set_default_openai_api(api: Literal["chat_completions", "responses"]) -> None:
    """Have models that are named speak this API."""
    Defaults.use_responses = api == "responses"


def set_default_openai_responses_transport(transport: Literal["http", "websocket"]) -> None:
    """Replies come over HTTP either way: agentsdk has no other transport."""
    if transport not in ("http", "websocket"):
        raise ValueError(f"the transport is {transport!r}, expected one of: 'http', 'websocket'")


def set_default_openai_agent_registration(config: Any) -> None:
    """Nothing: agents are registered nowhere."""


def set_default_openai_harness(harness_id: str | None) -> None:
    """Nothing: agents are registered nowhere."""


def enable_verbose_stdout_logging() -> None:
    """Log to stdout all that there is to log."""
    for name in ("openai.agents", "agentsdk"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.DEBUG)
        if not any(getattr(handler, "is_compat", False) for handler in logger.handlers):
            handler = logging.StreamHandler(sys.stdout)
            handler.is_compat = True  # type: ignore[attr-defined]  # pyright: ignore
            logger.addHandler(handler)
