"""What is given from outside as JSON text: the answer to a call, other arguments for one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Protocol, cast, runtime_checkable

import msgspec

from agentsdk.core.arguments import parse_arguments
from agentsdk.core.json_schema import problems_with
from agentsdk.core.next_step import PendingCall, ToolAnswerItem
from agentsdk.core.problems import list_problems
from agentsdk.core.state import State
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import shown
from agentsdk.types.errors import InvalidArgumentsError, UserError
from agentsdk.types.spec import ToolSpec, handler_of
from agentsdk.types.text import clean_value


def answer_text(item: ToolAnswerItem, value: object) -> str:
    """The answer to a call as JSON text. Raises `UserError` for one that does not fit what is recorded of the call."""
    what = f"the answer to call {item.call_id!r} of tool {item.tool_name!r}"
    answer = json_text(what, value)
    if answer == item.awaited.default:
        return answer
    if item.choices and answer not in map(_written, item.choices):
        raise UserError(f"{what} is {shown(value)}, expected one of {list(item.choices)}; give one of item.choices")
    schema = item.answer_schema
    if schema is not None and (problems := problems_with(schema, msgspec.json.decode(answer))):
        raise UserError(f"{what} does not fit:\n{list_problems(problems)}\nexpected what item.answer_schema says; give that")
    return answer


def arguments_text(state: State, item: PendingCall, arguments: Mapping[str, object]) -> str:
    """Other arguments for a call of the run at `state`, as JSON text.

    Raises `UserError` for what cannot be the arguments of any call, and for what does not fit the tool, where a toolset has
    offered it: that is recorded. What the agent's own tools take is not known here.
    """
    what = f"arguments of call {item.call_id!r} of tool {item.tool_name!r}"
    text = json_text(f"the {what}", dict(arguments))
    try:
        parse_arguments(text)
    except InvalidArgumentsError as error:
        raise UserError(f"the edited {what} cannot be read: {error.reason}") from None
    spec = _offered(state, item)
    if spec is not None:
        schema = _with_all_optional(spec.parameters) if spec.strict else spec.parameters
        if problems := problems_with(schema, msgspec.json.decode(text)):
            raise UserError(
                f"the edited {what} do not fit:\n{list_problems(problems)}\nexpected what the tool declared when "
                "it was offered; give that"
            )
    return text


def _offered(state: State, item: PendingCall) -> ToolSpec | None:
    """The tool of a call as a toolset offered it; None where none did."""
    for call_id in item.path:
        assert state.turn is not None, "a call that waits is of an open turn"
        state = state.turn.children[call_id]
    for (agent, _), offered in state.offered.items():
        if agent == item.agent and (spec := handler_of(item.call, offered.tools)) is not None:
            return spec
    return None


def _with_all_optional(schema: JsonObject) -> JsonObject:
    """A schema in the strict form, which requires also what has a default, as one that requires nothing."""
    changed = {key: value for key, value in schema.items() if key != "required"}
    for key, value in changed.items():
        if key in ("properties", "$defs") and isinstance(value, dict):
            changed[key] = {name: _optional(inner) for name, inner in cast(JsonObject, value).items()}
        elif key in ("anyOf", "oneOf", "allOf") and isinstance(value, list):
            changed[key] = [_optional(inner) for inner in cast("list[object]", value)]
        elif key == "items":
            changed[key] = _optional(value)
    return changed


def _optional(given: object) -> object:
    return _with_all_optional(cast(JsonObject, given)) if isinstance(given, dict) else given


def json_text(what: str, value: object) -> str:
    """`value` as JSON text. Raises `UserError` where it has no JSON form; `what` it is."""
    try:
        plain = msgspec.to_builtins(value, str_keys=True, enc_hook=_of_a_model)
        return _written(plain)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise UserError(
            f"{what} is {shown(value)}, which has no JSON form ({type(error).__name__}), expected text, numbers, lists, dicts "
            "or objects of these; convert it first"
        ) from error


def plain_json(what: str, value: object) -> object:
    """`value` as JSON reads it: text, numbers, lists and dicts. Raises like `json_text`."""
    return msgspec.json.decode(json_text(what, value))


def _written(plain: object) -> str:
    return json.dumps(clean_value(plain), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


@runtime_checkable
class _Model(Protocol):
    """A pydantic model."""

    def model_dump(self, *, mode: str, by_alias: bool) -> JsonObject: ...


def _of_a_model(value: object) -> object:
    if isinstance(value, _Model) and not isinstance(cast(object, value), type):
        return value.model_dump(mode="json", by_alias=True)
    raise TypeError(type(value).__name__)
