"""The names of what is recorded, attributes and metrics: OpenTelemetry's conventions for generative AI, and ours beside them.

They are written out because the conventions' package deprecates its constants for them, and no other package has them.
"""

from __future__ import annotations

from typing import Final

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
AGENT: Final = "gen_ai.agent.name"
TOOL: Final = "gen_ai.tool.name"
TOKEN_TYPE: Final = "gen_ai.token.type"
PROGRESS: Final = "agentsdk.tool.progress"
PROGRESS_DATA: Final = "agentsdk.tool.progress.data"
OUTCOME: Final = "agentsdk.tool.outcome"
STATUS: Final = "agentsdk.run.status"
WORKFLOW: Final = "gen_ai.workflow.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
ERROR_TYPE: Final = "error.type"
METADATA: Final = "agentsdk.metadata"

OPERATIONS: Final = {"workflow": "invoke_workflow", "run": "invoke_agent", "chat": "chat", "tool": "execute_tool"}
"""Kind of span -> the operation. An agent's stretch and a turn are ours: one invocation of an agent is one run."""

PLAIN: Final = {
    "agent": AGENT,
    "agent_description": "gen_ai.agent.description",
    "conversation_id": "gen_ai.conversation.id",
    "run_id": "agentsdk.run.id",
    "turn": "agentsdk.turn",
    "provider": PROVIDER,
    "model": MODEL,
    "stream": "gen_ai.request.stream",
    "output_type": "gen_ai.output.type",
    "response_id": "gen_ai.response.id",
    "response_model": RESPONSE_MODEL,
    "time_to_first_chunk": "gen_ai.response.time_to_first_chunk",
    "tool": TOOL,
    "tool_description": "gen_ai.tool.description",
    "call_id": "gen_ai.tool.call.id",
    "outcome": OUTCOME,
    "status": STATUS,
    "next_step": "agentsdk.next_step",
}
"""What is recorded unchanged."""

SETTINGS: Final = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
    "max_tokens": "gen_ai.request.max_tokens",
    "stop": "gen_ai.request.stop_sequences",
    "seed": "gen_ai.request.seed",
}

USAGE: Final = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "reasoning_tokens": "gen_ai.usage.reasoning.output_tokens",
    "cached_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_creation.input_tokens",
}

TOKEN_USAGE: Final = "gen_ai.client.token.usage"
CHAT_SECONDS: Final = "gen_ai.client.operation.duration"
FIRST_CHUNK: Final = "gen_ai.client.operation.time_to_first_chunk"
RUN_SECONDS: Final = "gen_ai.invoke_agent.duration"
STORE_SECONDS: Final = "agentsdk.store.duration"
STORE_OPERATION: Final = "agentsdk.store.operation"
TOOL_SECONDS: Final = "gen_ai.execute_tool.duration"
TOOL_CALLS: Final = "agentsdk.tool.calls"
COST: Final = "agentsdk.cost"
WORKER_AGENTS: Final = "agentsdk.worker.agents"
WORKER_SLOTS: Final = "agentsdk.worker.slots"
WORKER_RUNS: Final = "agentsdk.worker.runs"
WORKER_OLDEST: Final = "agentsdk.worker.oldest_run"
WORKER_LEASE: Final = "agentsdk.worker.shortest_lease"
QUEUE_DUE: Final = "agentsdk.queue.due"
QUEUE_OLDEST: Final = "agentsdk.queue.oldest"

INSTRUCTIONS: Final = "gen_ai.system_instructions"
INPUT: Final = "gen_ai.input.messages"
OUTPUT: Final = "gen_ai.output.messages"
TOOLS: Final = "gen_ai.tool.definitions"
ARGUMENTS: Final = "gen_ai.tool.call.arguments"
RESULT: Final = "gen_ai.tool.call.result"
