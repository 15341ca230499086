"""What was said in a run, without secrets; of a tainted run only what its user said."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from agentsdk.core.run_state import RunState
from agentsdk.types.events import RunStarted
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message
from agentsdk.types.text import storable_text

MESSAGE_CHARACTERS = 8_000
CONVERSATION_CHARACTERS = 32_000

_MARGIN = 1_000
"""Of what is cut off, as much is looked at too: a secret at the cut is found whole."""


def new_items(items: Sequence[Item], history: int, given: int) -> int:
    """The position of the first item that is new in a run whose first `history` items came from a session, and the `given` ones
    behind these with it: where the caller passed on an older conversation, that which follows the model's last words."""
    for position in range(history + given - 1, history - 1, -1):
        item = items[position]
        if isinstance(item, FunctionCall | FunctionCallOutput) or (isinstance(item, Message) and item.role == "assistant"):
            return position + 1
    return history


def began_at(state: RunState) -> float:
    """When a run began, a Unix timestamp: what was said is dated by it, however much later it is remembered."""
    first = state.value.log[0]
    return first.at if isinstance(first, RunStarted) else math.inf


def said_in(items: Sequence[Item], clean: Callable[[str], str], *, only_user: bool) -> str:
    """What was said, a paragraph for each message, without what `clean` takes out; `""` where nothing was.

    With `only_user` only what the user said, and nothing of it that is marked as untrusted.
    """
    said: list[str] = []
    room = CONVERSATION_CHARACTERS
    for item in items:
        if not isinstance(item, Message) or item.role not in ("user", "assistant"):
            continue
        if only_user and (item.role == "assistant" or item.untrusted):
            continue
        text = clean(storable_text(item.text[: MESSAGE_CHARACTERS + _MARGIN])).strip()
        if not text:
            continue
        if len(item.text) > MESSAGE_CHARACTERS:
            text = f"{text[:MESSAGE_CHARACTERS]} [...]"
        if len(text) > room:
            said.append("[... the rest was too long ...]")
            break
        room -= len(text)
        said.append(f"{item.role}: {text}")
    return "\n\n".join(said)
