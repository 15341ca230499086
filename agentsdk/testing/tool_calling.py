"""`ToolCallingModel`: a model that calls every tool it is offered, with arguments made from the tool's JSON schema."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import msgspec

from agentsdk.core.deltas import deltas_of
from agentsdk.ports.model import ModelRequest
from agentsdk.testing.example_values import example_of
from agentsdk.testing.scripted import USAGE, to_response
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import Fields, any_text, json_object, mapping_of, whole
from agentsdk.types.deltas import ModelStreamEvent, ResponseCompleted
from agentsdk.types.items import FunctionCall
from agentsdk.types.spec import HandoffSpec

_FIELDS = Fields(
    "ToolCallingModel",
    seed=whole("a whole number"),
    text=any_text("a str; what the model says at the end"),
    arguments=mapping_of(json_object(""), "a dict of arguments by the tool's name; write {'tool': {'x': 1}}"),
)


class ToolCallingModel:
    """Calls every tool that it is offered and has not called yet, all in one reply; then it hands over, where it can; and
    then it gives its final answer: `text`, or JSON that fits the output type.

    The arguments fit the tool's schema, and are the same for one `seed`. `arguments` are for tools whose schema says too
    little: by the tool's name, in place of those made. Keeps the `requests` it got. Raises `UserError` for a schema that
    nothing can be made from.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        text: str = "done",
        arguments: Mapping[str, JsonObject] | None = None,
        name: str = "tool calling",
    ) -> None:
        _FIELDS.check_given(seed=seed, text=text, arguments=arguments or {})
        self.name = name
        self.requests: list[ModelRequest] = []
        self._seed = seed
        self._text = text
        self._arguments = arguments or {}

    def __repr__(self) -> str:
        return f"ToolCallingModel(seed={self._seed}, {len(self.requests)} requests)"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """The next reply."""
        self.requests.append(request)
        response = to_response(self._calls(request) or self._answer(request), len(request.all_items), USAGE)
        if request.stream:
            for delta in deltas_of(response):
                yield delta
        yield ResponseCompleted(response)

    def _calls(self, request: ModelRequest) -> list[FunctionCall]:
        choice = request.settings.tool_choice
        if choice == "none":
            return []
        called = {item.name for item in request.all_items if isinstance(item, FunctionCall)}
        offered = [tool for tool in request.tools if choice in (None, "auto", "required", tool.name)]
        new = [tool for tool in offered if tool.name not in called]
        tools = [tool for tool in new if not isinstance(tool, HandoffSpec)] or new[:1]
        if not tools and choice is not None and choice != "auto":
            tools = offered[:1]
        if request.settings.parallel_tool_calls is False:
            tools = tools[:1]
        return [FunctionCall("", tool.name, self._arguments_of(tool.name, tool.parameters)) for tool in tools]

    def _arguments_of(self, name: str, schema: JsonObject) -> str:
        given = self._arguments.get(name)
        value: Any = given if given is not None else example_of(schema, self._random(name), f"tool {name!r}")
        return msgspec.json.encode(value).decode()

    def _answer(self, request: ModelRequest) -> str:
        output = request.output
        if output is None:
            return self._text
        return msgspec.json.encode(example_of(output.schema, self._random(output.name), f"output {output.name!r}")).decode()

    def _random(self, name: str) -> random.Random:
        return random.Random(f"{self._seed} {name}")
