"""What spans say of the work they cover."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class SpanData(abc.ABC):
    """The data of a span; `export` gives it as a dict."""

    @abc.abstractmethod
    def export(self) -> dict[str, Any]:
        """The data as a dict."""

    @property
    @abc.abstractmethod
    def type(self) -> str:
        """The kind of span."""


class _Data(SpanData):
    """Data whose fields are exported under their names."""

    kind: ClassVar[str] = ""
    _names: ClassVar[tuple[str, ...]] = ()

    @property
    def type(self) -> str:
        """The kind of span."""
        return self.kind

    def export(self) -> dict[str, Any]:
        """The data as a dict."""
        return {"type": self.kind, **{name: getattr(self, name) for name in self._names}}


class AgentSpanData(_Data):
    """An agent's part of a run."""

    kind = "agent"
    _names = ("name", "handoffs", "tools", "output_type")

    def __init__(
        self,
        name: str,
        handoffs: list[str] | None = None,
        tools: list[str] | None = None,
        output_type: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.handoffs = handoffs
        self.tools = tools
        self.output_type = output_type
        self.metadata = metadata


class TaskSpanData(_Data):
    """A whole run."""

    kind = "task"

    def __init__(self, name: str, usage: dict[str, Any] | None = None, metadata: dict[str, Any] | None = None) -> None:
        self.name = name
        self.usage = usage
        self.metadata = metadata

    def export(self) -> dict[str, Any]:
        """The data as a dict."""
        return {
            "type": "custom",
            "name": "task",
            "data": {"sdk_span_type": "task", "name": self.name, **({"usage": self.usage} if self.usage else {})},
        }


class TurnSpanData(_Data):
    """A turn."""

    kind = "turn"

    def __init__(
        self, turn: int, agent_name: str, usage: dict[str, Any] | None = None, metadata: dict[str, Any] | None = None
    ) -> None:
        self.turn = turn
        self.agent_name = agent_name
        self.usage = usage
        self.metadata = metadata

    def export(self) -> dict[str, Any]:
        """The data as a dict."""
        data = {"sdk_span_type": "turn", "turn": self.turn, "agent_name": self.agent_name}
        return {"type": "custom", "name": "turn", "data": {**data, **({"usage": self.usage} if self.usage else {})}}


class FunctionSpanData(_Data):
    """A call of a tool."""

    kind = "function"

    def __init__(self, name: str, input: str | None, output: Any | None, mcp_data: dict[str, Any] | None = None) -> None:
        self.name = name
        self.input = input
        self.output = output
        self.mcp_data = mcp_data

    def export(self) -> dict[str, Any]:
        """The data as a dict."""
        output = None if self.output is None else str(self.output)
        return {"type": "function", "name": self.name, "input": self.input, "output": output, "mcp_data": self.mcp_data}


class GenerationSpanData(_Data):
    """A request to a model."""

    kind = "generation"
    _names = ("input", "output", "model", "model_config", "usage")

    def __init__(
        self,
        input: Sequence[Mapping[str, Any]] | None = None,
        output: Sequence[Mapping[str, Any]] | None = None,
        model: str | None = None,
        model_config: Mapping[str, Any] | None = None,
        usage: dict[str, Any] | None = None,
    ) -> None:
        self.input = input
        self.output = output
        self.model = model
        self.model_config = model_config
        self.usage = usage


class ResponseSpanData(_Data):
    """A reply of the Responses API."""

    kind = "response"

    def __init__(self, response: Any | None = None, input: Any | None = None, usage: dict[str, Any] | None = None) -> None:
        self.response = response
        self.input = input
        self.usage = usage

    def export(self) -> dict[str, Any]:
        """The data as a dict."""
        response_id = getattr(self.response, "id", None)
        return {"type": "response", "response_id": response_id, **({"usage": self.usage} if self.usage else {})}


class HandoffSpanData(_Data):
    """A handoff."""

    kind = "handoff"
    _names = ("from_agent", "to_agent")

    def __init__(self, from_agent: str | None, to_agent: str | None) -> None:
        self.from_agent = from_agent
        self.to_agent = to_agent


class CustomSpanData(_Data):
    """Work of the program's own."""

    kind = "custom"
    _names = ("name", "data")

    def __init__(self, name: str, data: dict[str, Any]) -> None:
        self.name = name
        self.data = data


class GuardrailSpanData(_Data):
    """A guardrail's check."""

    kind = "guardrail"
    _names = ("name", "triggered")

    def __init__(self, name: str, triggered: bool = False) -> None:
        self.name = name
        self.triggered = triggered


class TranscriptionSpanData(_Data):
    """Speech made text."""

    kind = "transcription"

    def __init__(
        self,
        input: str | None = None,
        input_format: str | None = "pcm",
        output: str | None = None,
        model: str | None = None,
        model_config: Mapping[str, Any] | None = None,
    ) -> None:
        self.input = input
        self.input_format = input_format
        self.output = output
        self.model = model
        self.model_config = model_config

    def export(self) -> dict[str, Any]:
        """The data as a dict."""
        audio = {"data": self.input or "", "format": self.input_format}
        return {
            "type": self.kind,
            "input": audio,
            "output": self.output,
            "model": self.model,
            "model_config": self.model_config,
        }


class SpeechSpanData(_Data):
    """Text made speech."""

    kind = "speech"

    def __init__(
        self,
        input: str | None = None,
        output: str | None = None,
        output_format: str | None = "pcm",
        model: str | None = None,
        model_config: Mapping[str, Any] | None = None,
        first_content_at: str | None = None,
    ) -> None:
        self.input = input
        self.output = output
        self.output_format = output_format
        self.model = model
        self.model_config = model_config
        self.first_content_at = first_content_at

    def export(self) -> dict[str, Any]:
        """The data as a dict."""
        audio = {"data": self.output or "", "format": self.output_format}
        rest = {"model": self.model, "model_config": self.model_config, "first_content_at": self.first_content_at}
        return {"type": self.kind, "input": self.input, "output": audio, **rest}


class SpeechGroupSpanData(_Data):
    """Several of them."""

    kind = "speech_group"
    _names = ("input",)

    def __init__(self, input: str | None = None) -> None:
        self.input = input


class MCPListToolsSpanData(_Data):
    """A server asked for its tools."""

    kind = "mcp_tools"
    _names = ("server", "result")

    def __init__(self, server: str | None = None, result: list[str] | None = None) -> None:
        self.server = server
        self.result = result
