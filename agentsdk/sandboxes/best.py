"""`best_sandbox`: the first sandbox that isolates on this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from agentsdk.ports.sandbox import Sandbox, SandboxLimits
from agentsdk.sandboxes.bubblewrap import BubblewrapSandbox
from agentsdk.sandboxes.host import HostSandbox
from agentsdk.sandboxes.sandlock import SandlockSandbox
from agentsdk.types.errors import SandboxUnavailableError


async def best_sandbox(
    workspace: str | Path | None = None,
    *,
    readable: Sequence[str | Path] = (),
    allow_net: Sequence[str] = (),
    limits: SandboxLimits | None = None,
) -> Sandbox:
    """A `BubblewrapSandbox`, or else a `SandlockSandbox`; the latter at once where commands may connect to `allow_net`.

    Each is tried with a real command that must not reach out of it. Raises `SandboxUnavailableError` where none isolates,
    with the reason of each and what to install: never is something run without a sandbox.
    """
    kinds: list[Callable[[], HostSandbox]] = [
        lambda: SandlockSandbox(workspace, readable=readable, allow_net=allow_net, limits=limits)
    ]
    if not allow_net:
        kinds.insert(0, lambda: BubblewrapSandbox(workspace, readable=readable, limits=limits))
    reasons: list[str] = []
    for make in kinds:
        sandbox = make()
        try:
            await sandbox.prove()
        except SandboxUnavailableError as error:
            reasons.append(str(error))
            await sandbox.aclose()
        except BaseException:
            await sandbox.aclose()
            raise
        else:
            return sandbox
    raise SandboxUnavailableError("no sandbox isolates on this machine: " + "; ".join(reasons))
