"""Settings of tracing."""

from typing_extensions import TypedDict


class TracingConfig(TypedDict, total=False):
    """The key that traces are exported with."""

    api_key: str
