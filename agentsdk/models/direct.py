"""`respond`: one request to a model, without an agent or a run.

A function and no method of models: a `Model` is a Protocol of a name and `stream`, so one of your own has no more than that.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from msgspec import structs

from agentsdk.core.process import cleaned, is_empty, process_model_response, with_unique_calls
from agentsdk.define.agent import MODEL, Agent
from agentsdk.define.declaration import Declaration
from agentsdk.define.output import AgentOutputSchema, InvalidOutput
from agentsdk.define.tool import FunctionTool
from agentsdk.models.provider import find_model
from agentsdk.ports.model import Model, ModelRequest
from agentsdk.types.declared import Fields
from agentsdk.types.deltas import ResponseCompleted
from agentsdk.types.errors import (
    AgentsException,
    ContentFilterError,
    EmptyResponseError,
    IncompleteResponseError,
    InvalidOutputError,
    ModelError,
    ModelRefusalError,
)
from agentsdk.types.items import FunctionCall, InputItem, items_from_input
from agentsdk.types.response import ModelResponse
from agentsdk.types.settings import ModelSettings
from agentsdk.types.tape import Tape
from agentsdk.types.usage import Usage

if TYPE_CHECKING:
    from agentsdk.define.media_output import MediaOutput

T = TypeVar("T")

_FIELDS = Fields("respond", model=MODEL)


@dataclass(frozen=True)
class DirectResponse(Generic[T]):
    """What `respond` gives: the model's reply, and its text or what the output type reads of that.

    `final_output` is None where the model made calls instead; nobody has run them.
    """

    response: ModelResponse
    final_output: T

    @property
    def calls(self) -> tuple[FunctionCall, ...]:
        """The calls that the model made."""
        return tuple([item for item in self.response.output if isinstance(item, FunctionCall)])

    @property
    def usage(self) -> Usage:
        """What the request took, attempts that failed included."""
        return self.response.usage


@overload
async def respond(
    model: Model | str | None,
    input: str | Sequence[InputItem],
    *,
    instructions: str = "",
    tools: Sequence[FunctionTool[Any]] = (),
    settings: ModelSettings | None = None,
) -> DirectResponse[str]: ...
@overload
async def respond(
    model: Model | str | None,
    input: str | Sequence[InputItem],
    *,
    instructions: str = "",
    tools: Sequence[FunctionTool[Any]] = (),
    output_type: type[T] | AgentOutputSchema[T],
    settings: ModelSettings | None = None,
) -> DirectResponse[T]: ...
async def respond(
    model: Model | str | None,
    input: str | Sequence[InputItem],
    *,
    instructions: str = "",
    tools: Sequence[FunctionTool[Any]] = (),
    output_type: Any = None,
    settings: ModelSettings | None = None,
) -> DirectResponse[Any]:
    """Ask a model, or the one of a name (None: the default), for one reply to `input`. No loop, no tool is run.

    Raises `ModelError`s: a reply that is cut, empty, refused, filtered, or does not fit the output type is one too. Raises
    `UserError` for an argument that is wrong.
    """
    _FIELDS.check_given(model=model)
    asked = find_model(model)
    given = settings or ModelSettings()
    agent = Agent[Any, Any]("respond", instructions, tools, output_type=output_type, model_settings=given)
    declared = Declaration.of(agent)
    request = ModelRequest(
        Tape(items_from_input(input)),
        "\n\n".join(filter(None, (instructions, declared.output_prompt))),
        tools=declared.request_tools,
        output=declared.request_output,
        settings=given,
        request_id=f"{os.urandom(8).hex()}-1",
    )
    response = _usable(asked, await _asked(asked, request))
    calls = any(isinstance(item, FunctionCall) for item in response.output)
    text = process_model_response(declared.spec, response).text
    tool = declared.output_tool
    if tool is not None:
        own = [item for item in response.output if isinstance(item, FunctionCall) and item.name == tool.name]
        calls, text = not own, own[0].arguments if own else text
    if calls:
        return DirectResponse(response, None)
    return DirectResponse(response, text if declared.output is None else _read(asked, declared.output, response, text))


async def _asked(model: Model, request: ModelRequest) -> ModelResponse:
    """The model's reply, with the usage of all attempts. Leaving closes its connection, whatever happened."""
    try:
        async with aclosing(model.stream(request)) as events:
            async for event in events:
                if isinstance(event, ResponseCompleted):
                    usage = sum((attempt.usage for attempt in event.attempts), event.response.usage)
                    return with_unique_calls(cleaned(structs.replace(event.response, usage=usage)), set())
    except AgentsException:
        raise
    except Exception as error:
        raise ModelError(
            f"model {model.name!r} raised {type(error).__name__}, expected a ModelError; see the chained exception"
        ) from error
    raise IncompleteResponseError(
        f"model {model.name!r} ended its stream without ResponseCompleted, expected it last; the reply counts as cut"
    )


def _usable(model: Model, response: ModelResponse) -> ModelResponse:
    """The reply. Raises a `ModelError` for one that is of no use; it carries what that has cost."""
    error: ModelError | None = None
    refusal = "".join([getattr(item, "refusal", "") for item in response.output])
    if refusal:
        error = ModelRefusalError(f"model {model.name!r} refused to answer; its words are in error.refusal", refusal=refusal)
    elif response.finish == "content_filter":
        error = ContentFilterError(f"the provider's content filter stopped the reply of model {model.name!r}; change the input")
    elif response.finish not in ("stop", "tool_calls"):
        error = IncompleteResponseError(
            f"model {model.name!r} stopped with finish {response.finish!r}, expected a finished reply; raise max_tokens, "
            "or ask again",
            partial=response.text,
        )
    elif is_empty(response):
        error = EmptyResponseError(f"model {model.name!r} gave an empty reply, expected text or a call; ask again")
    if error is None:
        return response
    error.usage = response.usage
    raise error


def _read(model: Model, schema: AgentOutputSchema[T], response: ModelResponse, text: str) -> T:
    try:
        if schema.is_media:
            return cast("MediaOutput[T]", schema).take(response.output, text)[1]
        return schema.validate(text)
    except InvalidOutput as problem:
        raise InvalidOutputError(
            f"the reply of model {model.name!r} does not fit {schema.name!r}: {problem}; ask again, or change the output_type",
            output=text,
        ) from problem
