"""What the user's callables are given of the run they work for: their own context object, and the usage so far."""

from __future__ import annotations

from typing import Generic, Protocol

from agentsdk.core.overflow import MAX_RESULT_CHARS
from agentsdk.types.generics import TContext
from agentsdk.types.usage import Usage

_NO_USAGE = Usage()


class RunContextWrapper(Generic[TContext]):
    """The run as tools, hooks, guardrails and dynamic instructions see it.

    `context` is the object given to `Runner.run(context=...)`: never sent to a model, never saved with the state. `usage` is
    what the run has spent up to now.
    """

    __slots__ = ("context", "usage")

    def __init__(self, context: TContext, usage: Usage = _NO_USAGE) -> None:
        self.context = context
        self.usage = usage

    def __repr__(self) -> str:
        return f"{type(self).__name__}(usage={self.usage!r})"


class FullResults(Protocol):
    """Where the whole of results that were cut can be had: the run."""

    @property
    def max_result_chars(self) -> int:
        """The most characters of a result that are not cut."""
        ...

    async def full_result(self, result_id: str) -> str | None:
        """The whole text of a result, by the id that its marker names; None for an unknown id."""
        ...


class ToolContext(RunContextWrapper[TContext]):
    """The run as one tool call sees it.

    `tool_call_id` is unique in the run. `tool_arguments` is the model's JSON text, unchanged. `idempotency_key` is the same
    whenever this call is run again after a crash: pass it on to whatever must take effect once. `agent_name` is the agent that
    asked for the call.
    """

    __slots__ = ("_results", "agent_name", "idempotency_key", "tool_arguments", "tool_call_id", "tool_name")

    def __init__(
        self,
        context: TContext,
        usage: Usage = _NO_USAGE,
        tool_name: str = "",
        tool_call_id: str = "",
        tool_arguments: str = "",
        idempotency_key: str = "",
        agent_name: str = "",
        results: FullResults | None = None,
    ) -> None:
        self.context = context
        self.usage = usage
        self.tool_name = tool_name
        self.tool_call_id = tool_call_id
        self.tool_arguments = tool_arguments
        self.idempotency_key = idempotency_key
        self.agent_name = agent_name
        self._results = results

    @property
    def max_result_chars(self) -> int:
        """A result with more characters is cut before the model sees it."""
        return MAX_RESULT_CHARS if self._results is None else self._results.max_result_chars

    async def full_result(self, result_id: str) -> str | None:
        """The whole text of a result of this run that was cut, by the id its marker names; None for an unknown id."""
        return None if self._results is None else await self._results.full_result(result_id)

    def __repr__(self) -> str:
        return f"ToolContext(tool_name={self.tool_name!r}, tool_call_id={self.tool_call_id!r}, agent_name={self.agent_name!r})"
