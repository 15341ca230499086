"""`reviewed_by`: reflection. A critic, an agent of its own, judges the final output of another agent."""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from agentsdk.define.agent import Agent
from agentsdk.define.output import AgentOutputSchema
from agentsdk.define.output_validator import ModelRetry, OutputValidator, ValidatorContext, When
from agentsdk.types.declared import CALLABLE, Fields, a, optional
from agentsdk.types.errors import UserError
from agentsdk.types.generics import TContext
from agentsdk.types.items import InputItem, InputText, Message

if TYPE_CHECKING:
    from agentsdk.types.media import OutputMedia

PROMPT = "Review an answer.\n\nWhat was asked:\n{question}\n\nThe answer:\n{answer}"

CriticPrompt = Callable[[ValidatorContext[TContext], Any], "str | Sequence[InputItem] | Awaitable[str | Sequence[InputItem]]"]
"""Called with the context and the final output: what the critic is asked."""


@dataclass(frozen=True)
class Critique:
    """Whether an answer is accepted; if it is not, `feedback` says what must change, in words for who wrote it."""

    accepted: bool
    feedback: str


def reviewed_by(
    critic: Agent[TContext, Any],
    *,
    when: When[TContext, Any] | None = None,
    prompt: CriticPrompt[TContext] | None = None,
    name: str | None = None,
    timeout: float = math.inf,
) -> OutputValidator[TContext, Any]:
    """An output validator that asks `critic`, in a run nested in the one whose output it judges, and follows its `Critique`.

    A critic without an output type is given that one. `when` chooses the outputs that it is asked about (None: all). `prompt`
    says what it is asked; without one it is shown the run's input and the output, as text. `name` is the critic's unless given,
    `timeout` in seconds. Raises `UserError` for a critic with another output type.
    """
    _FIELDS.check_given(critic=critic, prompt=prompt)
    kind: object = critic.output_type
    if isinstance(kind, AgentOutputSchema):
        kind = kind.output_type
    if kind is not None and kind is not Critique:
        raise UserError(
            f"critic {critic.name!r} has an output_type of its own, expected Critique; leave it out, or write a validator "
            "that runs the critic by context.run(...)"
        )
    asked: Agent[TContext, Critique] = critic if kind is Critique else critic.clone(output_type=Critique)
    ask = _shown if prompt is None else prompt

    async def review(context: ValidatorContext[TContext], output: Any) -> None:
        given = ask(context, output)
        critique = await context.run(asked, await given if inspect.isawaitable(given) else given)
        if not critique.accepted:
            raise ModelRetry(critique.feedback.strip() or f"{asked.name} did not accept it.")

    return OutputValidator(review, critic.name if name is None else name, when, timeout, (asked,))


def _shown(context: ValidatorContext[Any], output: object) -> str | Sequence[InputItem]:
    question = "\n".join([item.text for item in context.input if isinstance(item, Message)])
    if getattr(type(output), "is_output_media", False) is not True:
        return PROMPT.format(question=question, answer=context.text)
    media = cast("OutputMedia", output)
    return [Message("user", (InputText(PROMPT.format(question=question, answer="")), media.as_part()))]


_FIELDS = Fields("reviewed_by", critic=a(Agent, "an Agent; pass the critic"), prompt=optional(CALLABLE))
