"""The version of openai-agents that this package speaks."""

__version__ = "0.24.0"
