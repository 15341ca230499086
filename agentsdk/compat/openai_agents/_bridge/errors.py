"""Errors of the run beneath, as the program knows them. What a callable of the program raised arrives as it was raised."""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

from agentsdk.compat.openai_agents import exceptions as theirs
from agentsdk.compat.openai_agents._bridge.scope import RunScope
from agentsdk.compat.openai_agents.guardrail import InputGuardrailResult, OutputGuardrailResult
from agentsdk.compat.openai_agents.tool_guardrails import ToolInputGuardrail
from agentsdk.types import errors as own

_OF_CALLBACKS = (own.HookError, own.CallbackError, own.GuardrailFailedError, own.ToolError, own.SessionError, own.ToolsetError)


def their_error(error: own.AgentsException, scope: RunScope) -> BaseException:
    """What the program is to see of an error of the run beneath."""
    from agentsdk.compat.openai_agents._bridge.model import BridgedError

    cause = error.__cause__
    if isinstance(error, BridgedError) and cause is not None:
        return cause
    if isinstance(error, _OF_CALLBACKS) and cause is not None:
        return their_error(cause, scope) if isinstance(cause, own.AgentsException) else cause
    tripped = scope.tripped
    match error:
        case own.InputGuardrailTripwireTriggered() if isinstance(tripped, InputGuardrailResult):
            return theirs.InputGuardrailTripwireTriggered(tripped)
        case own.OutputGuardrailTripwireTriggered() if isinstance(tripped, OutputGuardrailResult):
            return theirs.OutputGuardrailTripwireTriggered(tripped)
        case own.ToolInputGuardrailTripwireTriggered() | own.ToolOutputGuardrailTripwireTriggered() if tripped is not None:
            guardrail, output = cast("tuple[Any, Any]", tripped)
            if isinstance(guardrail, ToolInputGuardrail):
                return theirs.ToolInputGuardrailTripwireTriggered(cast(Any, guardrail), output)
            return theirs.ToolOutputGuardrailTripwireTriggered(guardrail, output)
        case own.MaxTurnsExceeded():
            return theirs.MaxTurnsExceeded(f"Max turns ({scope.max_turns}) exceeded")
        case own.InvalidOutputError():
            return scope.raised or theirs.ModelBehaviorError(str(error))
        case own.ModelRefusalError():
            return theirs.ModelRefusalError(error.refusal)
        case own.ProviderError():
            return _provider_error(error)
        case own.ModelError():
            return theirs.ModelBehaviorError(str(error))
        case own.UserError() | own.StateError():
            return theirs.UserError(str(error))
        case _:
            return theirs.AgentsException(str(error))


def bare_error(error: own.AgentsException) -> BaseException:
    """What the program is to see of an error of a model that it asks itself."""
    match error:
        case own.ProviderError():
            return _provider_error(error)
        case own.ModelRefusalError():
            return theirs.ModelRefusalError(error.refusal)
        case own.ModelError():
            return theirs.ModelBehaviorError(str(error))
        case _:
            return theirs.UserError(str(error))


def unwrapped_user_error(error: Exception) -> Exception:
    """An error of a declaration, as the program knows it."""
    return theirs.UserError(str(error)) if isinstance(error, own.AgentsException) else error


def _http() -> Any:
    """The HTTP client's package that `openai` uses, whose requests its errors hold."""
    from openai import APIConnectionError

    named = APIConnectionError.__init__.__annotations__.get("request")
    module = str(getattr(named, "__module__", named)).partition(".")[0]
    return import_module(module if module in ("httpx", "httpx2") else "httpx")


def _provider_error(error: own.ProviderError) -> BaseException:
    """openai's own error for what its server said, as programs catch those; without `openai` an `AgentsException`."""
    try:
        import openai
    except ImportError:
        return theirs.AgentsException(str(error))
    http = _http()
    request: Any = http.Request("POST", "https://provider.invalid")
    if isinstance(error, own.ModelTimeoutError):
        return openai.APITimeoutError(request)
    if error.status is None:
        return openai.APIConnectionError(message=str(error), request=request)
    kinds: dict[int, type[openai.APIStatusError]] = {
        400: openai.BadRequestError,
        401: openai.AuthenticationError,
        403: openai.PermissionDeniedError,
        404: openai.NotFoundError,
        409: openai.ConflictError,
        422: openai.UnprocessableEntityError,
        429: openai.RateLimitError,
    }
    kind = kinds.get(error.status, openai.InternalServerError if error.status >= 500 else openai.APIStatusError)
    response: Any = http.Response(error.status, request=request)
    return kind(str(error), response=response, body={"code": error.code} if error.code else None)
