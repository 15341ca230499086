"""Models: the interface, and those of OpenAI's two APIs."""

from agentsdk.compat.openai_agents.models.default_models import get_default_model as get_default_model
from agentsdk.compat.openai_agents.models.default_models import get_default_model_settings as get_default_model_settings
from agentsdk.compat.openai_agents.models.default_models import (
    gpt_5_reasoning_settings_required as gpt_5_reasoning_settings_required,
)
from agentsdk.compat.openai_agents.models.default_models import is_gpt_5_default as is_gpt_5_default
from agentsdk.compat.openai_agents.models.openai_agent_registration import (
    OpenAIAgentRegistrationConfig as OpenAIAgentRegistrationConfig,
)

__all__ = [
    "OpenAIAgentRegistrationConfig",
    "get_default_model",
    "get_default_model_settings",
    "gpt_5_reasoning_settings_required",
    "is_gpt_5_default",
]
