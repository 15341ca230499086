"""Items: what a run is made of. `raw_item` is the Responses API's own: openai's type for what a model gave, else a dict."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast
from uuid import uuid4

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents.exceptions import AgentsException, ModelBehaviorError
from agentsdk.compat.openai_agents.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentsdk.compat.openai_agents.agent import Agent
    from agentsdk.compat.openai_agents.tool import ToolOrigin

TResponseInputItem = dict[str, Any]
TResponseOutputItem = Any
TResponse = Any
TResponseStreamEvent = Any
ToolCallItemTypes = Any
ToolCallOutputTypes = Any
ToolApprovalRawItem = Any
ToolSearchCallRawItem = Any
ToolSearchOutputRawItem = Any


_PLAIN = frozenset((str, int, float, bool, type(None)))


def plain(value: Any) -> Any:
    """A raw item, or a part of one, as dicts and lists."""
    if type(value) in _PLAIN:
        return value
    if type(value) is list:
        return [plain(one) for one in cast("list[Any]", value)]
    if type(value) is dict:
        return {key: one if type(one) in _PLAIN else plain(one) for key, one in cast("dict[Any, Any]", value).items()}
    if type(value).__module__.startswith("openai.types.") and not getattr(value, "__pydantic_extra__", True):
        given = value.__pydantic_fields_set__  # what its own `model_dump` gives, in a third of the time
        return {name: one if type(one) in _PLAIN else plain(one) for name, one in value.__dict__.items() if name in given}
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(exclude_unset=True, warnings=False)
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in cast("Sequence[Any]", value)]
    return value


def _replayed(raw: Any) -> Any:
    """A raw item as an input may have it: without `created_by`, which only replies have."""
    fields: Any = plain(raw)
    if isinstance(fields, dict):
        cast("dict[str, Any]", fields).pop("created_by", None)
    return cast(Any, fields)


def field_of(raw: Any, name: str) -> Any:
    """A field of a raw item, which is a dict or an object; None where it has none."""
    if type(raw) is dict:
        return cast("dict[str, Any]", raw).get(name)
    return cast("Mapping[str, Any]", raw).get(name) if isinstance(raw, Mapping) else getattr(raw, name, None)


class _Lazy:
    """`raw_item` is built when it is first looked at, where the run made the item."""

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            if name in ("raw_item", "output") and "_build" in self.__dict__:
                self.__dict__.update(self.__dict__["_build"]())
                if name in self.__dict__:
                    return self.__dict__[name]
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")


@dataclass(eq=False)
class RunItemBase(_Lazy):
    """What every item has: `agent`, whose turn it was, and the raw item."""

    agent: Agent[Any]
    raw_item: Any

    def to_input_item(self) -> TResponseInputItem:
        """The item as a dict, fit for the input of another run."""
        raw = _replayed(self.raw_item)
        if not isinstance(raw, dict):
            raise AgentsException(
                f"the raw item of {type(self).__name__} is a {type(raw).__name__}, expected a dict or a model"
            )
        return cast("dict[str, Any]", raw)

    def release_agent(self) -> None:
        """Nothing: agents are not held longer than the item."""


@dataclass(eq=False)
class InputItem(RunItemBase):
    """An item of the input."""

    type: Literal["input_item"] = "input_item"
    input_id: str = field(default_factory=lambda: uuid4().hex)


@dataclass(eq=False)
class MessageOutputItem(RunItemBase):
    """A message of the model."""

    type: Literal["message_output_item"] = "message_output_item"


@dataclass(eq=False)
class ToolSearchCallItem(RunItemBase):
    """A search for tools."""

    type: Literal["tool_search_call_item"] = "tool_search_call_item"


@dataclass(eq=False)
class ToolSearchOutputItem(RunItemBase):
    """What a search for tools found."""

    type: Literal["tool_search_output_item"] = "tool_search_output_item"


@dataclass(eq=False)
class HandoffCallItem(RunItemBase):
    """The model's call to hand over."""

    type: Literal["handoff_call_item"] = "handoff_call_item"


@dataclass(eq=False)
class HandoffOutputItem(RunItemBase):
    """A handoff that took place."""

    source_agent: Agent[Any]
    target_agent: Agent[Any]
    type: Literal["handoff_output_item"] = "handoff_output_item"


class _OfCall:
    """What is known of a call by its raw item."""

    if TYPE_CHECKING:
        raw_item: Any

    @property
    def call_id(self) -> str | None:
        """The call's id."""
        return field_of(self.raw_item, "call_id") or field_of(self.raw_item, "id")


@dataclass(eq=False)
class ToolCallItem(RunItemBase, _OfCall):
    """A call of a tool."""

    type: Literal["tool_call_item"] = "tool_call_item"
    description: str | None = None
    title: str | None = None
    tool_origin: ToolOrigin | None = None

    @property
    def tool_name(self) -> str | None:
        """The tool's name."""
        name = field_of(self.raw_item, "name") or field_of(self.raw_item, "type")
        return None if name is None else str(name).removesuffix("_call")


@dataclass(eq=False)
class ToolCallOutputItem(RunItemBase, _OfCall):
    """A call's result: `output` is what the tool returned, as it is."""

    output: Any
    type: Literal["tool_call_output_item"] = "tool_call_output_item"
    tool_origin: ToolOrigin | None = None
    custom_data: dict[str, Any] | None = None


@dataclass(eq=False)
class ReasoningItem(RunItemBase):
    """The model's reasoning."""

    type: Literal["reasoning_item"] = "reasoning_item"


@dataclass(eq=False)
class MCPListToolsItem(RunItemBase):
    """The tools of an MCP server that the provider asked."""

    type: Literal["mcp_list_tools_item"] = "mcp_list_tools_item"


@dataclass(eq=False)
class MCPApprovalRequestItem(RunItemBase):
    """A call of an MCP server's tool that waits for approval."""

    type: Literal["mcp_approval_request_item"] = "mcp_approval_request_item"


@dataclass(eq=False)
class MCPApprovalResponseItem(RunItemBase):
    """What was decided on such a call."""

    type: Literal["mcp_approval_response_item"] = "mcp_approval_response_item"


@dataclass(eq=False)
class CompactionItem(RunItemBase):
    """A conversation that the provider has made smaller."""

    type: Literal["compaction_item"] = "compaction_item"


@dataclass(eq=False)
class ToolApprovalItem(RunItemBase, _OfCall):
    """A call that waits for a person: `state.approve(item)` or `state.reject(item)`."""

    tool_name: str | None = None
    type: Literal["tool_approval_item"] = "tool_approval_item"
    tool_namespace: str | None = None
    tool_origin: ToolOrigin | None = None
    tool_lookup_key: tuple[str, ...] | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        if self.tool_name is None:
            self.tool_name = field_of(self.raw_item, "name")
        if self.tool_namespace is None:
            self.tool_namespace = field_of(self.raw_item, "namespace")
        if self.tool_lookup_key is None and field_of(self.raw_item, "type") == "function_call" and self.tool_name:
            namespace = self.tool_namespace
            if namespace is None:
                self.tool_lookup_key = ("bare", self.tool_name)
            elif namespace != self.tool_name:
                self.tool_lookup_key = ("namespaced", namespace, self.tool_name)

    @property
    def name(self) -> str | None:
        """The tool's name."""
        return self.tool_name or field_of(self.raw_item, "tool_name")

    @property
    def qualified_name(self) -> str | None:
        """The tool's name, after that of its namespace."""
        if self.tool_name and self.tool_namespace and self.tool_namespace != self.tool_name:
            return f"{self.tool_namespace}.{self.tool_name}"
        return self.tool_name

    @property
    def arguments(self) -> str | None:
        """The call's arguments as JSON text."""
        raw = self.raw_item
        given = next((value for name in ("arguments", "params", "input") if (value := field_of(raw, name)) is not None), None)
        return given if given is None or isinstance(given, str) else json.dumps(given, default=str)

    def to_input_item(self) -> TResponseInputItem:
        """Raises `AgentsException`: a call that waits is no item of a conversation."""
        raise AgentsException(
            "a ToolApprovalItem is no input, expected it to be approved or rejected; leave it out of the input"
        )


RunItem = (
    InputItem
    | MessageOutputItem
    | ToolSearchCallItem
    | ToolSearchOutputItem
    | HandoffCallItem
    | HandoffOutputItem
    | ToolCallItem
    | ToolCallOutputItem
    | ReasoningItem
    | MCPListToolsItem
    | MCPApprovalRequestItem
    | MCPApprovalResponseItem
    | CompactionItem
    | ToolApprovalItem
)


@dataclass
class ModelResponse:
    """A model's reply."""

    output: list[TResponseOutputItem]
    usage: Usage
    response_id: str | None
    request_id: str | None = None
    raw_usage: dict[str, Any] | None = None

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            if name == "output" and "_build" in self.__dict__:
                self.output = self.__dict__.pop("_build")()
                return self.output
            raise AttributeError(f"'ModelResponse' has no attribute {name!r}")

    def to_input_items(self) -> list[TResponseInputItem]:
        """The items as dicts, fit for the input of another run."""
        return [_replayed(item) for item in self.output]


def _parts(message: Any) -> list[Any]:
    if field_of(message, "type") != "message":
        return []
    content = field_of(message, "content")
    if isinstance(content, str):
        return [{"type": "output_text", "text": content}]
    return list(content or [])


class ItemHelpers:
    """Small helpers over items."""

    @classmethod
    def extract_last_content(cls, message: TResponseOutputItem) -> str:
        """The last text or refusal of a message; `""` for another item."""
        parts = _parts(message)
        if not parts:
            return ""
        kind = field_of(parts[-1], "type")
        if kind not in ("output_text", "refusal"):
            raise ModelBehaviorError(f"a message ends with a part of type {kind!r}, expected text or a refusal")
        return field_of(parts[-1], "text" if kind == "output_text" else "refusal") or ""

    @classmethod
    def extract_last_text(cls, message: TResponseOutputItem) -> str | None:
        """The last text of a message; None where it ends with something else."""
        parts = _parts(message)
        return field_of(parts[-1], "text") if parts and field_of(parts[-1], "type") == "output_text" else None

    @classmethod
    def extract_text(cls, message: TResponseOutputItem) -> str | None:
        """All text of a message; None where it has none."""
        texts = [field_of(part, "text") or "" for part in _parts(message) if field_of(part, "type") == "output_text"]
        return "".join(texts) or None

    @classmethod
    def extract_refusal(cls, message: TResponseOutputItem) -> str | None:
        """The refusal of a message; None where it has none."""
        texts = [field_of(part, "refusal") or "" for part in _parts(message) if field_of(part, "type") == "refusal"]
        return "".join(texts) or None

    @classmethod
    def input_to_new_input_list(cls, input: str | list[TResponseInputItem]) -> list[TResponseInputItem]:
        """An input as a list of items, which is a new one."""
        return [{"content": input, "role": "user"}] if isinstance(input, str) else [plain(item) for item in input]

    @classmethod
    def text_message_outputs(cls, items: list[RunItem]) -> str:
        """The text of all messages, joined."""
        return "".join(cls.text_message_output(item) for item in items if isinstance(item, MessageOutputItem))

    @classmethod
    def text_message_output(cls, message: MessageOutputItem) -> str:
        """The text of a message."""
        return cls.extract_text(message.raw_item) or ""

    @classmethod
    def tool_call_output_item(cls, tool_call: Any, output: Any, **_: Any) -> dict[str, Any]:
        """A call's result as a dict: text, or parts where the tool returned some."""
        from agentsdk.compat.openai_agents._bridge.outputs import parts_of

        parts = parts_of(output)
        return {
            "call_id": field_of(tool_call, "call_id"),
            "output": str(output) if parts is None else parts,
            "type": "function_call_output",
        }


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
