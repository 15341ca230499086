"""Registration of agents, which agentsdk has not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentsdk.compat.openai_agents._absent import names_absent_in


@dataclass(frozen=True)
class OpenAIAgentRegistrationConfig:
    """A harness's id. It changes nothing."""

    harness_id: str | None = None


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
