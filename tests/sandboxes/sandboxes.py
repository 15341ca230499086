"""The sandboxes that the tests run on, and why one cannot be had here."""

from __future__ import annotations

import asyncio
import functools
import shutil
import sys
from collections.abc import Callable

from agentsdk.sandboxes import BubblewrapSandbox
from agentsdk.sandboxes.host import HostSandbox
from agentsdk.types.errors import SandboxUnavailableError

SANDBOXES: dict[str, Callable[[], HostSandbox]] = {"bubblewrap": BubblewrapSandbox}


@functools.cache
def missing(name: str) -> str:
    """Why the sandbox cannot be tested here; `""` if it can."""
    if sys.platform != "linux":
        return "needs Linux"
    if name == "bubblewrap" and shutil.which("bwrap") is None:
        return "needs bubblewrap: apt install bubblewrap"

    async def proven() -> None:
        async with SANDBOXES[name]() as sandbox:
            await sandbox.prove()

    try:
        asyncio.run(proven())
    except SandboxUnavailableError as error:
        return str(error)
    return ""
