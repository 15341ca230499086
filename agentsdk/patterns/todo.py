"""`todo_tool`: a list of what is to be done, for models that plan as they go."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agentsdk.core.arguments import parse_arguments
from agentsdk.core.run_state import RunState
from agentsdk.define.context import ToolContext
from agentsdk.define.function_tool import function_tool
from agentsdk.define.tool import FunctionTool
from agentsdk.result import RunResult, RunResultStreaming
from agentsdk.types.declared import Fields, a_tool_name, whole
from agentsdk.types.errors import InvalidArgumentsError
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item

TodoStatus = Literal["pending", "in_progress", "done"]

_MARKS = {"pending": "[ ]", "in_progress": "[>]", "done": "[x]"}
_FIELDS = Fields(
    "todo_tool",
    name=a_tool_name("a name for the tool"),
    max_items=whole("a whole number, 1 or more; 30 suits most", 1),
    max_chars=whole("a whole number of characters, 1 or more", 1),
)


class Todo(BaseModel):
    """One thing to be done."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: Annotated[str, Field(min_length=1, description="What is to be done, in a few words.")]
    status: TodoStatus


def todo_tool(*, name: str = "todo", max_items: int = 30, max_chars: int = 200) -> FunctionTool[Any]:
    """A tool with which a model writes down what is to be done, and what of it is done.

    Each call gives the whole list anew, `max_items` of `max_chars` characters at most, one of them `in_progress` at most: what
    breaks these rules goes back to the model. The result shows the list. It is kept nowhere but in the calls: `todos_of` reads
    it from a run, and who reads the run's stream is sent it as progress. Raises `UserError` for wrong values.
    """
    _FIELDS.check_given("todo_tool", name=name, max_items=max_items, max_chars=max_chars)

    @function_tool(name_override=name, effect="none", permission="read")
    def todo(ctx: ToolContext[Any], items: list[Todo]) -> str:
        """Write down what is to be done, for work of several steps. Give the whole list each time: it replaces the one before.

        Mark a thing as in_progress when you begin with it, one at a time, and as done as soon as it is. Add what turns out to
        be needed, and leave out what no longer is.

        Args:
            items: All that is to be done, in order, and what is done already.
        """
        if problems := _problems(items, max_items, max_chars):
            raise InvalidArgumentsError("\n".join(f"- {problem}" for problem in problems))
        ctx.emit(tuple(items))
        return rendered(items)

    return todo


def todos_of(run: RunState | RunResult[Any] | RunResultStreaming[Any] | Iterable[Item], *, name: str = "todo") -> list[Todo]:
    """The list as a model has left it in a run, or in a conversation; empty where there is none. `name` is the tool's.

    It is read from the calls, so it is the same in any process that loads the run.
    """
    calls: dict[str, FunctionCall] = {}
    last: FunctionCall | None = None
    for item in _items_of(run):
        if isinstance(item, FunctionCall) and item.name == name:
            calls[item.call_id] = item
        elif isinstance(item, FunctionCallOutput) and not item.is_error and item.call_id in calls:
            last = calls[item.call_id]
    return [] if last is None else _Given.model_validate(parse_arguments(last.arguments)).items


def rendered(items: Iterable[Todo]) -> str:
    """The list as the model reads it."""
    return "\n".join([f"{number}. {_MARKS[one.status]} {one.text}" for number, one in enumerate(items, 1)]) or "nothing to do"


class _Given(BaseModel):
    items: list[Todo]


def _items_of(run: RunState | RunResult[Any] | RunResultStreaming[Any] | Iterable[Item]) -> Iterable[Item]:
    if isinstance(run, RunResult | RunResultStreaming):
        return run.to_state().items()
    return run.items() if isinstance(run, RunState) else run


def _problems(items: list[Todo], max_items: int, max_chars: int) -> list[str]:
    problems: list[str] = []
    if len(items) > max_items:
        problems.append(f"items: there are {len(items)}, expected {max_items} at most; put some together")
    at_work = [number for number, one in enumerate(items, 1) if one.status == "in_progress"]
    if len(at_work) > 1:
        problems.append(
            f"items: {', '.join(map(str, at_work))} are in_progress, expected one at most; the others are pending or done"
        )
    long = [number for number, one in enumerate(items, 1) if len(one.text) > max_chars]
    if long:
        problems.append(f"items: {', '.join(map(str, long))} are too long, expected {max_chars} characters at most")
    return problems
