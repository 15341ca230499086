"""`call_model_input_filter`: the program's last word on what the model is sent."""

from __future__ import annotations

import inspect
from typing import Any

from msgspec import structs

from agentsdk.compat.openai_agents._bridge.scope import scope_of
from agentsdk.compat.openai_agents.exceptions import UserError
from agentsdk.compat.openai_agents.run_config import CallModelData, ModelInputData
from agentsdk.define.agent import Agent as OwnAgent
from agentsdk.define.context import TurnContext as OwnTurnContext
from agentsdk.define.run_config import ModelHandler
from agentsdk.ports.model import ModelRequest
from agentsdk.types.response import ModelResponse as OwnResponse
from agentsdk.types.tape import Tape


async def filtered_call(
    ctx: OwnTurnContext[Any], agent: OwnAgent[Any, Any], request: ModelRequest, handler: ModelHandler
) -> OwnResponse:
    """Ask the model what the filter has made of the request."""
    scope = scope_of(ctx)
    change = scope.config.call_model_input_filter
    assert change is not None
    items = [*request.items, *request.tail]
    entries = [scope.originals.entry(item) for item in items]
    given = scope.translation.given(agent)
    prompt = request.instructions or (None if agent.instructions is None else "")
    called = change(CallModelData(ModelInputData(list(entries), prompt), given, scope.wrapper.context))
    made: Any = await called if inspect.isawaitable(called) else called
    if not isinstance(made, ModelInputData):
        raise UserError(f"call_model_input_filter returned {type(made).__name__!r}, expected a ModelInputData")
    if made.input != entries:
        items = [scope.originals.item(entry) for entry in made.input]
    changed = structs.replace(request, items=Tape(items), tail=(), instructions=made.instructions or "")
    return await handler(changed)
