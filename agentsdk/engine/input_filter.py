"""`call_model_input_filter`: the user's last word on what the model is sent."""

from __future__ import annotations

from msgspec import structs

from agentsdk.core.pairing import paired
from agentsdk.define.run_config import CallModelInputFilter
from agentsdk.engine.callbacks import call_user
from agentsdk.ports.model import ModelRequest
from agentsdk.types.errors import UserError
from agentsdk.types.tape import Tape


async def filtered(change: CallModelInputFilter, request: ModelRequest) -> ModelRequest:
    """The request as a `call_model_input_filter` wants it. Raises `UserError` if it gives something else."""
    given = await call_user("call_model_input_filter", change, request)
    return checked_request("call_model_input_filter returned", given, request)


def checked_request(what: str, given: object, request: ModelRequest) -> ModelRequest:
    """What a callable made of `request`, its items paired. Raises `UserError`, which begins with `what`, if it is none."""
    if not isinstance(given, ModelRequest):
        raise UserError(f"{what} {type(given).__name__!r}, expected a ModelRequest; give msgspec.structs.replace(request, ...)")
    if given.items is request.items:
        return given
    if request.conversation is not None:
        raise UserError(
            "call_model_input_filter changed the items of a request, of which the provider keeps some, expected them as they "
            "are; change another field, or leave the conversation_id or previous_response_id out"
        )
    try:
        return structs.replace(given, items=Tape(paired(given.items)))
    except Exception as error:
        raise UserError(
            f"{what} a request whose items are {type(given.items).__name__!r}, expected items; "
            "give msgspec.structs.replace(request, items=...)"
        ) from error
