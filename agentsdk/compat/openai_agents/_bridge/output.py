"""`BridgedOutput`: an output schema of the program, as one of agentsdk."""

from __future__ import annotations

import re
from typing import Any

from agentsdk.compat.openai_agents._bridge.scope import NOTHING, current
from agentsdk.compat.openai_agents.agent_output import AgentOutputSchemaBase
from agentsdk.compat.openai_agents.exceptions import ModelBehaviorError
from agentsdk.define.output import AgentOutputSchema, InvalidOutput, read_json_partly
from agentsdk.types.spec import OutputSpec


class BridgedOutput(AgentOutputSchema[Any]):
    """The program's schema says what the model is told, and reads what it answers."""

    __slots__ = ("given",)

    def __init__(self, given: AgentOutputSchemaBase) -> None:
        super().__init__(str)
        self.given = given
        strict = given.is_strict_json_schema()
        self.strict_json_schema = strict
        self.name = re.sub(r"[^A-Za-z0-9_-]+", "_", given.name()).strip("_")[:64] or "output"
        self.spec = OutputSpec("final_output", given.json_schema(), strict)

    @property
    def is_plain_text(self) -> bool:
        """Whether the output is the model's text, unchanged."""
        return False

    def validate(self, text: str) -> Any:
        """The model's final text as the output; what a tool gave as the final output is not checked. Raises `InvalidOutput`."""
        scope = current.get()
        if scope is not None and scope.final_output is not NOTHING:
            return text
        try:
            return self.given.validate_json(text)
        except ModelBehaviorError as error:
            if scope is not None:
                scope.raised = error
            raise InvalidOutput(str(error)) from error

    def validate_json(self, text: str) -> Any:
        """A value given as JSON text."""
        return self.validate(text)

    def partial(self, text: str) -> object:
        """What can be read of a text that is still being written."""
        return read_json_partly(text)


class AsItIs(AgentOutputSchema[str]):
    """The arguments of a handoff, which the program reads itself."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(str)

    def validate(self, text: str) -> str:
        """The text."""
        return text
