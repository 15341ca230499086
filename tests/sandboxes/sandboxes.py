"""The sandboxes that the tests run on, and why one cannot be had here."""

from __future__ import annotations

import asyncio
import functools
import os
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from agentsdk.sandboxes import BubblewrapSandbox, DockerSandbox, SandlockSandbox
from agentsdk.sandboxes.host import HostSandbox
from agentsdk.types.errors import SandboxUnavailableError

SANDBOXES: dict[str, Callable[..., HostSandbox]] = {"bubblewrap": BubblewrapSandbox, "sandlock": SandlockSandbox}

DOCKER_IMAGE = os.environ.get("AGENTSDK_DOCKER_IMAGE", "python:3-slim")
"""What `DockerSandbox` is tested with, where there is a daemon that has it: an image with python3."""


@functools.cache
def missing(name: str) -> str:
    """Why the sandbox cannot be tested here; `""` if it can."""
    if sys.platform != "linux":
        return "needs Linux"
    if name == "bubblewrap" and shutil.which("bwrap") is None:
        return "needs bubblewrap: apt install bubblewrap"

    async def proven() -> None:
        async with DockerSandbox(image=DOCKER_IMAGE) if name == "docker" else SANDBOXES[name]() as sandbox:
            await sandbox.prove()

    with ThreadPoolExecutor(1) as thread:  # a test that asks may run in an event loop itself
        error = thread.submit(asyncio.run, proven()).exception()
    if isinstance(error, SandboxUnavailableError):
        return str(error)
    if error is not None:
        raise error
    return ""
