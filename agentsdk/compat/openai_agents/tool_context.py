"""`ToolContext`: the run as one tool call sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentsdk.compat.openai_agents.run_context import RunContextWrapper, TContext
from agentsdk.compat.openai_agents.usage import Usage

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent import AgentBase
    from agentsdk.compat.openai_agents.run_config import RunConfig


@dataclass(eq=False, init=False)
class ToolContext(RunContextWrapper[TContext]):
    """The call: its tool, its id, its arguments as the model wrote them, and the agent that asked for it."""

    tool_name: str = ""
    tool_call_id: str = ""
    tool_arguments: str = ""
    tool_namespace: str | None = None
    agent: AgentBase[Any] | None = None
    run_config: RunConfig | None = None

    def __init__(
        self,
        context: TContext,
        usage: Usage | None = None,
        tool_name: str | None = None,
        tool_call_id: str | None = None,
        tool_arguments: str | None = None,
        tool_call: Any | None = None,
        *,
        tool_namespace: str | None = None,
        agent: AgentBase[Any] | None = None,
        run_config: RunConfig | None = None,
        turn_input: list[Any] | None = None,
        tool_input: Any | None = None,
    ) -> None:
        if tool_name is None or tool_call_id is None or tool_arguments is None:
            given = {"tool_name": tool_name, "tool_call_id": tool_call_id, "tool_arguments": tool_arguments}
            missing = next(name for name, value in given.items() if value is None)
            raise ValueError(f"ToolContext was given no {missing}, expected that of the call")
        super().__init__(context, Usage() if usage is None else usage, turn_input or [], tool_input)
        self.tool_name = tool_name
        self.tool_call_id = tool_call_id
        self.tool_arguments = tool_arguments
        self._tool_call = tool_call
        self._call_builder: Callable[[], Any] | None = None
        self.tool_namespace = tool_namespace
        self.agent = agent
        self.run_config = run_config
        self.nested_answer: Any = None  # what a nested run has waited for

    @classmethod
    def of_call(
        cls,
        run: RunContextWrapper[TContext],
        call: tuple[str, str, str],
        agent: AgentBase[Any],
        run_config: RunConfig,
        build_call: Callable[[], Any],
    ) -> ToolContext[TContext]:
        """The context of a call in a run, of its tool's name, its id and its arguments; `build_call` gives its raw item."""
        made = object.__new__(cls)
        made.__dict__.update(
            context=run.context,
            turn_input=run.turn_input,
            tool_input=run.tool_input,
            decisions=run.decisions,
            tool_name=call[0],
            tool_call_id=call[1],
            tool_arguments=call[2],
            agent=agent,
            run_config=run_config,
            nested_answer=None,
            _tool_call=None,
            _call_builder=build_call,
        )
        run.share_usage(made)
        return made

    @property
    def tool_call(self) -> Any | None:
        """The raw item of the call. In a run it is built when it is first looked at."""
        if self._tool_call is None and self._call_builder is not None:
            self._tool_call = self._call_builder()
        return self._tool_call

    @tool_call.setter
    def tool_call(self, value: Any | None) -> None:
        self._tool_call = value

    def build_call_by(self, builder: Callable[[], Any]) -> None:
        """Have `builder` give the raw item of the call."""
        self._call_builder = builder

    @property
    def qualified_tool_name(self) -> str:
        """The tool's name, after that of its namespace."""
        return f"{self.tool_namespace}.{self.tool_name}" if self.tool_namespace else self.tool_name

    @classmethod
    def from_agent_context(
        cls,
        context: RunContextWrapper[TContext],
        tool_call_id: str,
        tool_call: Any | None = None,
        agent: AgentBase[Any] | None = None,
        *,
        tool_name: str | None = None,
        tool_arguments: str | None = None,
        tool_namespace: str | None = None,
        run_config: RunConfig | None = None,
    ) -> ToolContext[TContext]:
        """The context of a call in a run."""
        made = cls(
            context.context,
            context.usage,
            tool_name or str(getattr(tool_call, "name", "") or ""),
            tool_call_id,
            tool_arguments if tool_arguments is not None else str(getattr(tool_call, "arguments", "") or ""),
            tool_call,
            tool_namespace=tool_namespace or getattr(tool_call, "namespace", None),
            agent=agent or getattr(context, "agent", None),
            run_config=run_config or getattr(context, "run_config", None),
            turn_input=context.turn_input,
            tool_input=context.tool_input,
        )
        made.decisions = context.decisions
        return made
