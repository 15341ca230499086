"""Rules between an agent and code: `check=` of a step judges its arguments, that of `flow.agent` the agent's output."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import Any

from agentsdk.define.output_validator import ModelRetry, OutputValidator, ValidatorContext
from agentsdk.define.tool_guardrail import callable_name
from agentsdk.types.errors import UserError

Judgement = Awaitable[None] | None
"""What a rule returns: nothing. It raises where what it judges is not to be."""


async def judged(rule: Any, *args: Any, **kwargs: Any) -> None:
    """Have a rule judge something. Raises what it raises, and `UserError` where it returns something."""
    given: object = rule(*args, **kwargs)
    if inspect.isawaitable(given):
        given = await given
    if given is not None:
        raise UserError(
            f"check {callable_name(rule)!r} returned {type(given).__name__!r}, expected None where it accepts; raise "
            "ValueError('why not') where it does not"
        )


def validator_of(rule: Any) -> OutputValidator[Any, Any]:
    """The rule as an output validator, of an agent's final output: what it raises is told to the model."""

    async def validate(context: ValidatorContext[Any], output: object) -> None:
        try:
            await judged(rule, output)
        except (ModelRetry, UserError):
            raise
        except Exception as error:
            raise ModelRetry(str(error).strip() or type(error).__name__) from error

    return OutputValidator(validate, callable_name(rule))
