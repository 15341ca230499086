"""Runs behind a durable engine: `agentsdk.durable.dbos`, and how a run stands behind any.

The engine's workflow does one thing: it drives the run until it rests, again and again. What happens in between is recorded in
the run's store, so nothing of a run's loop is replayed by the engine, and nothing of it has to be deterministic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.types.lazy import lazy_names

if TYPE_CHECKING:
    from agentsdk.durable.rest import Failure, Rest, WaitingCall

__all__ = ["Failure", "Rest", "WaitingCall"]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(__name__, {"agentsdk.durable.rest": "Failure Rest WaitingCall"}, ("dbos",))
