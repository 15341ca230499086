"""What a run is given and what it gives: its settings and error handlers, results and states, the calls that wait for a
person, the next step of a turn, and what `Runner.replay` and `Runner.diff` tell."""

from __future__ import annotations

from agentsdk.core.diff import Divergence, RunDiff
from agentsdk.core.next_step import (
    FinalOutput,
    Handoff,
    Interruption,
    NextStep,
    PendingCall,
    RunAgain,
    ToolApprovalItem,
    ToolInDoubtItem,
)
from agentsdk.core.run_state import RunState
from agentsdk.define.context import RunContextWrapper
from agentsdk.define.inbox import Inbox
from agentsdk.define.run_config import ContextCodec, RunConfig, RunErrorHandlerInput, RunErrorHandlerResult
from agentsdk.engine.replay import Replay
from agentsdk.engine.rerun import ReplayWithChanges
from agentsdk.ports.clock import Clock
from agentsdk.result import RunResult, RunResultStreaming

__all__ = [
    "Clock",
    "ContextCodec",
    "Divergence",
    "FinalOutput",
    "Handoff",
    "Inbox",
    "Interruption",
    "NextStep",
    "PendingCall",
    "Replay",
    "ReplayWithChanges",
    "RunAgain",
    "RunConfig",
    "RunContextWrapper",
    "RunDiff",
    "RunErrorHandlerInput",
    "RunErrorHandlerResult",
    "RunResult",
    "RunResultStreaming",
    "RunState",
    "ToolApprovalItem",
    "ToolInDoubtItem",
]
