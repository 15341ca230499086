"""What the model reads of a call whose arguments a person changed: the result, and that they were changed, and to what.

The history keeps the call as the model asked for it, as providers check the signatures of their replies.
"""

from __future__ import annotations

from agentsdk.core.overflow import Output
from agentsdk.types.items import InputText
from agentsdk.types.text import shortened

MAX_SHOWN_CHARS = 4_000
"""How much of the arguments the model is shown."""


def with_note(output: Output, arguments: str) -> Output:
    """A call's result behind words that say which arguments, JSON text, it ran with in place of the model's."""
    shown = shortened(arguments, MAX_SHOWN_CHARS)
    note = f"[A person changed the arguments of this call before it ran, to {shown}]"
    return f"{note}\n{output}" if isinstance(output, str) else (InputText(note), *output)
