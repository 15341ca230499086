"""`output_validator`: a callable of the user that judges a final output, and may send the model back with feedback."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast, overload

from agentsdk.define.context import TurnContext
from agentsdk.define.output import AgentOutputSchema
from agentsdk.define.tool_guardrail import CallingAgent, callable_name
from agentsdk.define.tool_options import TIMEOUT
from agentsdk.types.declared import CALLABLE, Fields, a_name, having, optional, sequence_of
from agentsdk.types.errors import UserError
from agentsdk.types.generics import TContext, TOutput
from agentsdk.types.items import InputItem, Item
from agentsdk.types.text import require_text
from agentsdk.types.usage import Usage

DEFAULT_TIMEOUT = 60.0
"""Seconds that an output validator has to answer."""


class ModelRetry(Exception):  # noqa: N818 - the field's name
    """Raised by an output validator, or an output function: the model is told `feedback` and answers again.

    Raises `UserError` for what is no text.
    """

    def __init__(self, feedback: str) -> None:
        if not isinstance(feedback, str) or not feedback.strip():
            raise UserError("ModelRetry was given no feedback, expected a text that tells the model what to change; write one")
        super().__init__(feedback)
        self.feedback = feedback


T = TypeVar("T")


class AskedAgent(Protocol[T]):
    """An `Agent` that a validator asks, as far as its type can be named here. `T` is its final output."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def output_type(self) -> type[T] | Sequence[type[T]] | AgentOutputSchema[T] | None:
        """What its final output is."""
        ...


Ask = Callable[[AskedAgent[Any], "str | Sequence[InputItem]"], Awaitable[Any]]
"""Runs an agent on an input; its final output."""


class ValidatorContext(TurnContext[TContext]):
    """The run as an output validator sees it. `input` is what it was given, without a session's history; `items` the history
    that the model was sent before it gave the output.

    `agent` gave the output. `text` is the output as text: of a type its JSON, of media nothing. `attempt` counts the outputs
    since the last one that was accepted, from 1. `retries_left` says how often the model can still be sent back: with 0 a
    `ModelRetry` ends the run with `InvalidOutputError`.
    """

    __slots__ = ("_ask", "agent", "attempt", "input", "retries_left", "text")

    def __init__(
        self,
        context: TContext,
        usage: Usage,
        agent: CallingAgent,
        *,
        turn: int = 1,
        items: Sequence[Item] = (),
        run_id: str = "",
        path: tuple[str, ...] = (),
        input: Sequence[Item] = (),
        text: str = "",
        attempt: int = 1,
        retries_left: int = 1,
        ask: Ask | None = None,
    ) -> None:
        super().__init__(context, usage, turn=turn, items=items, run_id=run_id, path=path)
        self.agent = agent
        self.input = input
        self.text = text
        self.attempt = attempt
        self.retries_left = retries_left
        self._ask = ask

    async def run(self, agent: AskedAgent[T], input: str | Sequence[InputItem]) -> T:
        """Run an agent of the validator's, a critic say, in a run nested in this one: its final output.

        Its turns, tokens and limits are this run's, and it is recorded with it: a run that is resumed does not ask again what
        it has asked already, and goes on with what was cut. What ends the nested run in an error is raised. Raises `UserError`
        for an agent that is not one of the validator's `agents`, and outside a run.
        """
        if self._ask is None:
            raise UserError("this ValidatorContext is of no run, expected that of a run; let a run call the validator")
        return cast(T, await self._ask(agent, input))


OutputValidatorFunction = Callable[[ValidatorContext[TContext], TOutput], "TOutput | Awaitable[TOutput | None] | None"]
"""Called with the context and the final output. It accepts by returning None, or the output as it is to be from now on."""

When = Callable[[ValidatorContext[TContext], TOutput], "bool | Awaitable[bool]"]
"""Called with the context and the final output: whether the validator is to judge it."""


# Without slots: of a frozen generic class that has them Python 3.11 cannot make `OutputValidator[User, str](...)`.
@dataclass(frozen=True)
class OutputValidator(Generic[TContext, TOutput]):
    """Judges the final output of its agent, before the output guardrails do.

    `when` chooses the outputs that it judges (None: all); it accepts the others. `timeout` are the seconds it has, `math.inf`
    for no end. `agents` are those that it may run by `context.run`. Raises `UserError` for a field that is wrong.
    """

    function: OutputValidatorFunction[TContext, TOutput]
    name: str
    when: When[TContext, TOutput] | None = None
    timeout: float = DEFAULT_TIMEOUT
    agents: Sequence[AskedAgent[Any]] = ()

    def __post_init__(self) -> None:
        _FIELDS.check(self)
        require_text("an output validator", self.name)
        names = [agent.name for agent in self.agents]
        if len(set(names)) < len(names):
            raise UserError(f"output validator {self.name!r} has agents {names}, expected unique names; rename one of them")

    def __call__(self, context: ValidatorContext[TContext], output: TOutput) -> TOutput | Awaitable[TOutput | None] | None:
        """Call the function, as a test may."""
        return self.function(context, output)


_FIELDS = Fields(
    "OutputValidator",
    function=CALLABLE,
    name=a_name("a str that is not empty; name the validator"),
    when=optional(CALLABLE),
    timeout=TIMEOUT,
    agents=sequence_of(having(("as_tool", "clone"), "an Agent", texts=("name",)), "a list or tuple of agents; pass [agent]"),
)


@overload
def output_validator(
    func: OutputValidatorFunction[TContext, TOutput],
    *,
    name: str | None = None,
    when: When[TContext, TOutput] | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    agents: Sequence[AskedAgent[Any]] = (),
) -> OutputValidator[TContext, TOutput]: ...
@overload
def output_validator(
    func: None = None,
    *,
    name: str | None = None,
    when: When[TContext, TOutput] | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    agents: Sequence[AskedAgent[Any]] = (),
) -> Callable[[OutputValidatorFunction[TContext, TOutput]], OutputValidator[TContext, TOutput]]: ...
def output_validator(
    func: OutputValidatorFunction[TContext, TOutput] | None = None,
    *,
    name: str | None = None,
    when: When[TContext, TOutput] | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    agents: Sequence[AskedAgent[Any]] = (),
) -> (
    OutputValidator[TContext, TOutput]
    | Callable[[OutputValidatorFunction[TContext, TOutput]], OutputValidator[TContext, TOutput]]
):
    """Make `func(context, output)`, sync or async, an output validator with options. A plain function is one without."""

    def make(function: OutputValidatorFunction[TContext, TOutput]) -> OutputValidator[TContext, TOutput]:
        return OutputValidator(function, callable_name(function) if name is None else name, when, timeout, agents)

    return make if func is None else make(func)


def validators_of(given: Sequence[OutputValidatorFunction[Any, Any]]) -> tuple[OutputValidator[Any, Any], ...]:
    """What an agent is given as its output validators, each with a name and options."""
    made: list[OutputValidator[Any, Any]] = []
    for one in given:
        known = cast("OutputValidator[Any, Any]", one)  # of an isinstance a type checker would take unknown parameters
        made.append(known if isinstance(one, OutputValidator) else output_validator(one))
    return tuple(made)
