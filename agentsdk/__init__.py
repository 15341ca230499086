"""agentsdk: an asyncio-native agent SDK whose every turn resolves to one typed next step."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentsdk.core.limits import RunLimits as RunLimits
    from agentsdk.core.next_step import FinalOutput as FinalOutput
