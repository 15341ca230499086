"""Registration of agents, which agentsdk has not."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OpenAIAgentRegistrationConfig:
    """A harness's id. It changes nothing."""

    harness_id: str | None = None
