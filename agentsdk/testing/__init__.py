"""A test kit for agents: scripted models, a model that calls every tool, cassettes, a fake provider on a real socket, a store
that fails, and a lock on real requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.types.lazy import lazy_names

if TYPE_CHECKING:
    from agentsdk.testing.anthropic_dialect import FakeAnthropicServer
    from agentsdk.testing.bedrock_dialect import FakeBedrockServer
    from agentsdk.testing.cassette import (
        CassetteCorruptError,
        CassetteError,
        CassetteExhaustedError,
        CassetteMismatchError,
        CassetteVersionError,
        RecordingModel,
        ReplayModel,
    )
    from agentsdk.testing.checked_workflow import WorkflowCheck, workflow_check
    from agentsdk.testing.faulty_store import FaultyStore
    from agentsdk.testing.google_dialect import FakeGoogleServer
    from agentsdk.testing.no_requests import no_real_requests
    from agentsdk.testing.recorded import assert_replays
    from agentsdk.testing.responses_dialect import FakeResponsesServer
    from agentsdk.testing.scripted import ScriptedModel, call
    from agentsdk.testing.server import CapturedRequest, FakeOpenAIServer, FakeServer, ServerReply
    from agentsdk.testing.tool_calling import ToolCallingModel

__all__ = [
    "CapturedRequest",
    "CassetteCorruptError",
    "CassetteError",
    "CassetteExhaustedError",
    "CassetteMismatchError",
    "CassetteVersionError",
    "FakeAnthropicServer",
    "FakeBedrockServer",
    "FakeGoogleServer",
    "FakeOpenAIServer",
    "FakeResponsesServer",
    "FakeServer",
    "FaultyStore",
    "RecordingModel",
    "ReplayModel",
    "ScriptedModel",
    "ServerReply",
    "ToolCallingModel",
    "WorkflowCheck",
    "assert_replays",
    "call",
    "no_real_requests",
    "workflow_check",
]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "agentsdk.testing.anthropic_dialect": "FakeAnthropicServer",
            "agentsdk.testing.bedrock_dialect": "FakeBedrockServer",
            "agentsdk.testing.cassette": (
                "CassetteCorruptError CassetteError CassetteExhaustedError CassetteMismatchError CassetteVersionError "
                "RecordingModel ReplayModel"
            ),
            "agentsdk.testing.faulty_store": "FaultyStore",
            "agentsdk.testing.google_dialect": "FakeGoogleServer",
            "agentsdk.testing.no_requests": "no_real_requests",
            "agentsdk.testing.recorded": "assert_replays",
            "agentsdk.testing.responses_dialect": "FakeResponsesServer",
            "agentsdk.testing.scripted": "ScriptedModel call",
            "agentsdk.testing.server": "CapturedRequest FakeOpenAIServer FakeServer ServerReply",
            "agentsdk.testing.tool_calling": "ToolCallingModel",
            "agentsdk.testing.checked_workflow": "WorkflowCheck workflow_check",
        },
    )
