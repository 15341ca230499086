"""`AgentInput`: what a call of an agent used as a tool takes, and the input that its run is given for that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec

from agentsdk.core.problems import MAX_NAME, list_problems
from agentsdk.define.context import ToolContext
from agentsdk.define.output import root_object
from agentsdk.define.problems import problems_of
from agentsdk.define.strict_schema import NotStrictError, strict_json_schema
from agentsdk.define.tool_body import BoundArguments, ToolBody
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import CALLABLE, Fields, a, optional
from agentsdk.types.errors import CallbackError, InvalidArgumentsError, UserError
from agentsdk.types.generics import TContext, TInput
from agentsdk.types.items import InputItem

if TYPE_CHECKING:
    from pydantic import TypeAdapter

AgentInputBuilder = Callable[
    [ToolContext[TContext], TInput], "str | Sequence[InputItem] | Awaitable[str | Sequence[InputItem]]"
]
"""Called with the context of a call of an agent and with what the call gives it, a text or an object of the type `parameters`:
the input of its run, a text or items."""

_TEXT: JsonObject = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}


async def _no_body(context: object, arguments: str) -> object:
    raise UserError("an agent as tool runs only inside a run, expected Runner.run to call it; run its agent instead")


class AgentInput(ToolBody[TContext]):
    """What a call of an agent takes: `input`, a text, or the fields of the type `parameters`.

    The engine runs the agent, on what `builder` makes of that. Raises `UserError` for arguments that are wrong, and where the
    schema is asked for, if the type has none.
    """

    __slots__ = ("_described", "_parameters", "builder")

    def __init__(self, parameters: type[Any] | None, builder: AgentInputBuilder[TContext, Any] | None) -> None:
        _FIELDS.check_given(parameters=parameters, input_builder=builder)
        super().__init__(_no_body if builder is None else builder)
        self.builder = builder
        self._parameters = parameters
        self._described: tuple[TypeAdapter[Any], JsonObject] | None = None

    @property
    def params_json_schema(self) -> JsonObject:
        return _TEXT if self._parameters is None else self._known[1]

    def bind(self, given: JsonObject | None, arguments: Mapping[str, object]) -> BoundArguments:
        """What the call gives the agent: a text, or an object of the type. Raises as `ToolBody.bind` does."""
        if self._parameters is not None:
            return (self._checked(arguments),), {}
        from agentsdk.core.json_schema import check_arguments  # few programs use an agent as a tool

        check_arguments(_TEXT, arguments)
        return (arguments["input"],), {}

    def start(self, name: str, ctx: ToolContext[TContext], bound: BoundArguments) -> Awaitable[object]:
        return self.refuse(ctx, "")

    refuse = staticmethod(_no_body)
    """Called in place of a body outside a run."""

    def text_of(self, value: object) -> str:
        """What the call gives, as a text: an object as its JSON, a field a line. Raises `CallbackError`."""
        if self._parameters is None:
            return cast(str, value)
        try:
            return self._known[0].dump_json(value, indent=2, by_alias=True).decode()
        except Exception as error:  # of a serializer of the user's
            raise CallbackError(
                f"an object of {self._parameters.__name__!r} could not be written as JSON ({type(error).__name__}), expected "
                "what its schema says; give as_tool() an input_builder"
            ) from error

    def _checked(self, arguments: Mapping[str, object]) -> object:
        from pydantic import ValidationError

        adapter, schema = self._known
        known = cast(JsonObject, schema["properties"])
        unknown = [f"{name[:MAX_NAME]}: unknown, expected only {[*known]}" for name in arguments if name not in known]
        try:
            # As JSON once more: only there does pydantic take a date or an enum from its text and yet no number from one.
            value = cast(object, adapter.validate_json(msgspec.json.encode(arguments), strict=True))
        except ValidationError as error:
            raise InvalidArgumentsError(list_problems([*problems_of(error), *unknown])) from None
        if unknown:
            raise InvalidArgumentsError(list_problems(unknown))
        return value

    @property
    def _known(self) -> tuple[TypeAdapter[Any], JsonObject]:
        if self._described is None:
            self._described = _described(self._parameters)
        return self._described


def _described(parameters: Any) -> tuple[TypeAdapter[Any], JsonObject]:
    from pydantic import TypeAdapter

    what = f"parameters={parameters.__name__} of an agent as a tool"
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(parameters)
        schema = root_object(adapter.json_schema())
    except Exception as error:
        why = str(error).partition("\n")[0]
        raise UserError(
            f"{what} has no JSON schema: {why}; expected a pydantic model, dataclass or TypedDict of JSON-like types"
        ) from error
    if schema is None:
        raise UserError(f"{what} has no fields, expected a pydantic model, dataclass or TypedDict: declare one with them")
    schema.pop("description", None)  # the tool has one
    schema.setdefault("properties", {})
    try:
        return adapter, strict_json_schema(schema)
    except NotStrictError as error:
        raise UserError(
            f"{what} has no strict JSON schema: {error}, expected types whose shape is known; give its fields such types"
        ) from None


_FIELDS = Fields(
    "Agent.as_tool",
    parameters=optional(a(type, "a pydantic model, dataclass or TypedDict; its fields are what a call takes")),
    input_builder=optional(CALLABLE),
)
