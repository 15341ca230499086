"""What a run is given and what it gives: its settings and error handlers, results and states, the calls that wait for a
person, the next step of a turn, and what `Runner.replay` and `Runner.diff` tell. All are imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.types.lazy import lazy_names

if TYPE_CHECKING:
    from agentsdk.core.diff import Divergence, RunDiff
    from agentsdk.core.next_step import (
        FinalOutput,
        Handoff,
        Interruption,
        NextStep,
        PendingCall,
        RunAgain,
        ToolAnswerItem,
        ToolApprovalItem,
        ToolInDoubtItem,
    )
    from agentsdk.core.progress import RunProgress
    from agentsdk.core.run_state import RunState
    from agentsdk.define.context import RunContextWrapper, TurnContext
    from agentsdk.define.inbox import Inbox
    from agentsdk.define.run_config import (
        ContextCodec,
        ModelHandler,
        RunConfig,
        RunErrorHandlerInput,
        RunErrorHandlerResult,
        ToolHandler,
        WrapModelCall,
        WrapToolCall,
    )
    from agentsdk.engine.replay import Replay
    from agentsdk.engine.rerun import ReplayWithChanges
    from agentsdk.ports.clock import Clock
    from agentsdk.result import RunResult, RunResultStreaming
    from agentsdk.types.owner import RunOwner
    from agentsdk.types.signals import Decision
    from agentsdk.worker import WorkerStatus

__all__ = [
    "Clock",
    "ContextCodec",
    "Decision",
    "Divergence",
    "FinalOutput",
    "Handoff",
    "Inbox",
    "Interruption",
    "ModelHandler",
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
    "RunOwner",
    "RunProgress",
    "RunResult",
    "RunResultStreaming",
    "RunState",
    "ToolAnswerItem",
    "ToolApprovalItem",
    "ToolHandler",
    "ToolInDoubtItem",
    "TurnContext",
    "WorkerStatus",
    "WrapModelCall",
    "WrapToolCall",
]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "agentsdk.core.diff": "Divergence RunDiff",
            "agentsdk.core.next_step": (
                "FinalOutput Handoff Interruption NextStep PendingCall RunAgain ToolAnswerItem ToolApprovalItem ToolInDoubtItem"
            ),
            "agentsdk.core.progress": "RunProgress",
            "agentsdk.core.run_state": "RunState",
            "agentsdk.define.context": "RunContextWrapper TurnContext",
            "agentsdk.define.inbox": "Inbox",
            "agentsdk.define.run_config": (
                "ContextCodec ModelHandler RunConfig RunErrorHandlerInput RunErrorHandlerResult ToolHandler WrapModelCall "
                "WrapToolCall"
            ),
            "agentsdk.engine.replay": "Replay",
            "agentsdk.engine.rerun": "ReplayWithChanges",
            "agentsdk.ports.clock": "Clock",
            "agentsdk.result": "RunResult RunResultStreaming",
            "agentsdk.types.owner": "RunOwner",
            "agentsdk.types.signals": "Decision",
            "agentsdk.worker": "WorkerStatus",
        },
    )
