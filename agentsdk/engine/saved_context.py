"""Serialization of the user's context object with the run, where they gave a codec for it; never otherwise."""

from __future__ import annotations

from typing import cast

from agentsdk.core.state import State
from agentsdk.define.run_config import RunConfig
from agentsdk.engine.run import Run
from agentsdk.types.errors import CallbackError, UserError
from agentsdk.types.events import ContextSaved
from agentsdk.types.text import clean_text


async def save_context(run: Run) -> None:
    """Record the context object as it is now, if it is to be kept and has changed."""
    changed = changed_context(run)
    if changed:
        await run.record(*changed)


def changed_context(run: Run) -> tuple[ContextSaved, ...]:
    """The context object as it is now, if it is to be kept and has changed: the first time it goes with the run's start."""
    codec = run.deps.config.context_codec
    if codec is None or run.parent is not None:
        return ()
    try:
        text = cast(object, codec.encode(run.context.context))
    except Exception as error:
        raise CallbackError(f"context_codec.encode raised {type(error).__name__}, expected the context as text") from error
    if not isinstance(text, str):
        raise UserError(f"context_codec.encode returned {type(text).__name__!r}, expected a str; return JSON text, say")
    text = clean_text(text)
    return (ContextSaved(text),) if text != run.state.context else ()


def load_context(config: RunConfig, state: State) -> object:
    """The context object of a run that goes on, as it was last saved; None where it was not."""
    if config.context_codec is None or not state.context:
        return None
    try:
        return cast(object, config.context_codec.decode(state.context))
    except Exception as error:
        raise CallbackError(
            f"context_codec.decode raised {type(error).__name__}, expected to read what encode gave; fix it, or pass context="
        ) from error
