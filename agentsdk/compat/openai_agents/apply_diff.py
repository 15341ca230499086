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
        if mode == "create":
            created_text(change)  # raises for lines that are none of a new file
            made = "\n".join([line[1:] for line in change.removesuffix("\n").split("\n")])
        else:
            made = patched_text(text, change)
    except PatchError as error:
        raise ValueError(str(error)) from error
    return made.replace("\n", "\r\n") if crlf else made
