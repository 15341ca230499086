"""What is meant by arguments and methods that an agent, a run's config, a run or a tool does not have."""

from __future__ import annotations

from importlib import import_module

from agentsdk.core.limits.run_limits import RunLimits
from agentsdk.types.misnamed import known, meant_for_limits, meant_for_settings
from agentsdk.types.settings import ModelSettings

_AGENT = {
    "instructions=...": "system_prompt system system_message instruction prompt_template",
    "output_type=...": "result_type response_format output_schema response_model output_model output",
    "toolsets=[...]": "mcp_servers mcp_server",
    "tools=[...]": "functions",
    "handoffs=[...]": "sub_agents subagents agents",
    "input_guardrails=[...], or output_guardrails=[...]": "guardrails",
    "handoff_description=...": "description",
    "model=...": "llm model_name model_id",
    "max_output_retries=...": "retries result_retries output_retries",
    "Agent[Context, str](...) for its type, and Runner.run(..., context=...)": "context deps deps_type context_type",
    "Runner.run(..., session=...)": "session memory",
    "Runner.run(..., max_turns=...)": "max_turns max_iterations",
}
METHODS = {
    "await Runner.run(agent, input)": "run arun ainvoke invoke chat",
    "Runner.run_sync(agent, input)": "run_sync",
    "Runner.run_streamed(agent, input)": "run_stream run_streamed stream astream",
    "@function_tool, and tools=[...] for the agent": "tool tool_plain",
}
"""What agents of other libraries do themselves."""

_RUN = {
    "context=...": "deps ctx dependencies",
    "session=...": "memory conversation",
    "run_config=RunConfig(...)": "config settings",
    "the input as the second argument": "messages prompt message user_prompt",
    "Runner.run_streamed(...)": "stream streaming",
}
_TOOL = {
    "name_override=...": "name",
    "description_override=...": "description",
    "needs_approval=...": "requires_approval approval",
}


def _setting(given: str) -> str:
    """The setting of a model of that name, or that is meant by it."""
    if given in ModelSettings.__dataclass_fields__:
        return f"model_settings=ModelSettings({given}=...)"
    there = meant_for_settings(given)
    return f"model_settings=ModelSettings({there})" if there else ""


def _limit(given: str) -> str:
    """The limit of a run of that name, or that is meant by it."""
    there = f"{given}=..." if given in RunLimits.__dataclass_fields__ else meant_for_limits(given)
    return f"limits=RunLimits({there})" if there else ""


def _of_run(given: str) -> str:
    config = import_module("agentsdk.define.run_config").RunConfig  # which says what is meant by means of this module
    return f"run_config=RunConfig({given}=...)" if given in config.__dataclass_fields__ else ""


def meant_for_agent(given: str) -> str:
    """What of `Agent` is meant, or where else it belongs."""
    of_run = _of_run(given)
    return known(_AGENT, given) or _setting(given) or (f"Runner.run(..., {of_run})" if of_run else "")


def meant_for_config(given: str) -> str:
    """What of `RunConfig` is meant, or where else it belongs."""
    if given in ("max_turns", "hooks", "session", "context", "error_handlers"):
        return f"Runner.run(..., {given}=...)"
    return _setting(given) or _limit(given)


def meant_for_run(given: str) -> str:
    """What of `Runner.run` is meant, or where else it belongs."""
    of_config = _setting(given) or _limit(given)
    return known(_RUN, given) or _of_run(given) or (f"run_config=RunConfig({of_config})" if of_config else "")


def meant_for_tool(given: str) -> str:
    """What of `function_tool` is meant."""
    return known(_TOOL, given)
