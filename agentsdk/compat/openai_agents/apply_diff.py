"""`apply_diff`: the text that a model's diff makes of another."""

from __future__ import annotations

from typing import Literal

from agentsdk.core.patch import created_text, patched_text
from agentsdk.types.errors import PatchError

ApplyDiffMode = Literal["default", "create"]


def apply_diff(input: str, diff: str, mode: ApplyDiffMode = "default") -> str:
    """`input` with the changes of a V4A diff, or with `mode="create"` the text of a new file. Raises `ValueError`."""
    crlf = "\r\n" in input or (not input and "\r\n" in diff)
    text, change = input.replace("\r\n", "\n"), diff.replace("\r\n", "\n")
    try:
        made = created_text(change) if mode == "create" else patched_text(text, change)
    except PatchError as error:
        raise ValueError(str(error)) from error
    if mode == "create":
        made = made.removesuffix("\n")
    return made.replace("\n", "\r\n") if crlf else made
