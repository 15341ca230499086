"""The final output: its type, the function that makes it, and the validators that judge it before a run ends with it."""

from __future__ import annotations

from agentsdk.define.critique import Critique, reviewed_by
from agentsdk.define.output import AgentOutputSchema
from agentsdk.define.output_function import OutputFunction
from agentsdk.define.output_validator import ModelRetry, OutputValidator, ValidatorContext, output_validator
from agentsdk.types.media import OutputAudio, OutputFile, OutputImage

__all__ = [
    "AgentOutputSchema",
    "Critique",
    "ModelRetry",
    "OutputAudio",
    "OutputFile",
    "OutputFunction",
    "OutputImage",
    "OutputValidator",
    "ValidatorContext",
    "output_validator",
    "reviewed_by",
]
