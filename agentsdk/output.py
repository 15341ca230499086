"""The final output: its type, the function that makes it, and the validators that judge it before a run ends with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.define.critique import Critique, reviewed_by
from agentsdk.define.output import AgentOutputSchema
from agentsdk.define.output_function import OutputFunction
from agentsdk.define.output_validator import ModelRetry, OutputValidator, ValidatorContext, output_validator
from agentsdk.types.lazy import lazy_names
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

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(__name__)  # a name that is elsewhere says where
