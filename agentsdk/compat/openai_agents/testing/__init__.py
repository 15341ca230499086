"""Test doubles: a model whose replies are written down."""

from typing import TYPE_CHECKING

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents.testing.model import InvalidModelStep as InvalidModelStep
from agentsdk.compat.openai_agents.testing.model import ModelCall as ModelCall
from agentsdk.compat.openai_agents.testing.model import ModelScriptError as ModelScriptError
from agentsdk.compat.openai_agents.testing.model import ModelStep as ModelStep
from agentsdk.compat.openai_agents.testing.model import ModelStepSpec as ModelStepSpec
from agentsdk.compat.openai_agents.testing.model import ScriptedModel as ScriptedModel
from agentsdk.compat.openai_agents.testing.model import UnconsumedModelSteps as UnconsumedModelSteps
from agentsdk.compat.openai_agents.testing.model import UnexpectedModelCall as UnexpectedModelCall
from agentsdk.compat.openai_agents.testing.model import assistant_message as assistant_message
from agentsdk.compat.openai_agents.testing.model import function_call as function_call

__all__ = [
    "InvalidModelStep",
    "ModelCall",
    "ModelScriptError",
    "ModelStep",
    "ModelStepSpec",
    "ScriptedModel",
    "UnconsumedModelSteps",
    "UnexpectedModelCall",
    "assistant_message",
    "function_call",
]

if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
