"""Filters, prompts, sessions and models beyond the root."""

from agentsdk.compat.openai_agents.extensions.tool_output_trimmer import ToolOutputTrimmer as ToolOutputTrimmer

__all__ = ["ToolOutputTrimmer"]
