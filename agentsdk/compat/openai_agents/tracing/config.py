"""Settings of tracing."""

from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from agentsdk.compat.openai_agents._absent import names_absent_in


class TracingConfig(TypedDict, total=False):
    """The key that traces are exported with."""

    api_key: str


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
