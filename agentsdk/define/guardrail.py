"""Guardrails: checks of a run's input, of its output, and of single tool calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar, overload

from msgspec import Struct

from agentsdk.define.context import RunContextWrapper, ToolContext
from agentsdk.types.declared import CALLABLE, FLAG, Expected, Fields, a, a_name, any_text, one_of, sequence_of
from agentsdk.types.events import GuardrailPlace
from agentsdk.types.generics import TContext
from agentsdk.types.items import Item, Part
from agentsdk.types.text import require_text

if TYPE_CHECKING:
    from agentsdk.define.agent import Agent


_VERDICT = Fields("GuardrailFunctionOutput", tripwire_triggered=FLAG)
_TOOL_VERDICT = Fields(
    "ToolGuardrailFunctionOutput",
    behavior=one_of("'allow', 'reject_content' or 'raise_exception'", ("allow", "reject_content", "raise_exception")),
    message=any_text("a str; it is what the model is told"),
)


class GuardrailFunctionOutput(Struct, frozen=True):
    """A guardrail's verdict. `output_info` is any JSON-like detail: it is kept in the run's log."""

    output_info: Any
    tripwire_triggered: bool

    def __post_init__(self) -> None:
        _VERDICT.check(self)


class ToolGuardrailFunctionOutput(Struct, frozen=True):
    """A tool guardrail's verdict: let the call be, give the model `message` instead, or stop the run."""

    output_info: Any = None
    behavior: Literal["allow", "reject_content", "raise_exception"] = "allow"
    message: str = ""

    def __post_init__(self) -> None:
        _TOOL_VERDICT.check(self)

    @classmethod
    def allow(cls, output_info: Any = None) -> ToolGuardrailFunctionOutput:
        """Let the call, or its output, pass."""
        return cls(output_info)

    @classmethod
    def reject_content(cls, message: str, output_info: Any = None) -> ToolGuardrailFunctionOutput:
        """Give the model `message` in place of the result; of an input guardrail, the tool is not run."""
        return cls(output_info, "reject_content", message)

    @classmethod
    def raise_exception(cls, output_info: Any = None) -> ToolGuardrailFunctionOutput:
        """Stop the run with a tripwire error."""
        return cls(output_info, "raise_exception")


class ToolInputGuardrailData(Struct, Generic[TContext], frozen=True):
    """What a tool input guardrail sees: the call, in `context.tool_name` and `context.tool_arguments`."""

    context: ToolContext[TContext]
    agent: Agent[TContext, Any]


class ToolOutputGuardrailData(Struct, Generic[TContext], frozen=True):
    """What a tool output guardrail sees: the call and its recorded result.

    `output` is what the model is to get, whole also where the model gets it cut: text (of other values their JSON) or a tuple
    of content parts. `is_error`: it says that the call failed.
    """

    context: ToolContext[TContext]
    agent: Agent[TContext, Any]
    output: str | tuple[Part, ...]
    is_error: bool = False


InputGuardrailFunction = Callable[
    [RunContextWrapper[TContext], "Agent[TContext, Any]", tuple[Item, ...]],
    "GuardrailFunctionOutput | Awaitable[GuardrailFunctionOutput]",
]
OutputGuardrailFunction = Callable[
    [RunContextWrapper[TContext], "Agent[TContext, Any]", Any],
    "GuardrailFunctionOutput | Awaitable[GuardrailFunctionOutput]",
]
ToolInputGuardrailFunction = Callable[
    [ToolInputGuardrailData[TContext]], "ToolGuardrailFunctionOutput | Awaitable[ToolGuardrailFunctionOutput]"
]
ToolOutputGuardrailFunction = Callable[
    [ToolOutputGuardrailData[TContext]], "ToolGuardrailFunctionOutput | Awaitable[ToolGuardrailFunctionOutput]"
]


def _fields(kind: str, **more: Expected) -> Fields:
    return Fields(kind, guardrail_function=CALLABLE, name=a_name("a str that is not empty; name the guardrail"), **more)


_INPUT = _fields("InputGuardrail", run_in_parallel=FLAG)
_OUTPUT = _fields("OutputGuardrail")
_TOOL_INPUT = _fields("ToolInputGuardrail")
_TOOL_OUTPUT = _fields("ToolOutputGuardrail")


class InputGuardrail(Struct, Generic[TContext], frozen=True):
    """Checks the input of a run, once, for the agent the run starts with, and each message that enters it later.

    With `run_in_parallel` it runs beside the first model call; no tool starts before it has passed either way.
    """

    guardrail_function: InputGuardrailFunction[TContext]
    name: str
    run_in_parallel: bool = True

    def __post_init__(self) -> None:
        _INPUT.check(self)
        require_text("an input guardrail", self.name)


class OutputGuardrail(Struct, Generic[TContext], frozen=True):
    """Checks the final output of the agent that gives it."""

    guardrail_function: OutputGuardrailFunction[TContext]
    name: str

    def __post_init__(self) -> None:
        _OUTPUT.check(self)
        require_text("an output guardrail", self.name)


class ToolInputGuardrail(Struct, Generic[TContext], frozen=True):
    """Checks a tool call before it runs."""

    guardrail_function: ToolInputGuardrailFunction[TContext]
    name: str

    def __post_init__(self) -> None:
        _TOOL_INPUT.check(self)
        require_text("a tool input guardrail", self.name)


class ToolOutputGuardrail(Struct, Generic[TContext], frozen=True):
    """Checks the result of a call, once it is recorded and before the model sees it."""

    guardrail_function: ToolOutputGuardrailFunction[TContext]
    name: str

    def __post_init__(self) -> None:
        _TOOL_OUTPUT.check(self)
        require_text("a tool output guardrail", self.name)


def _guardrails(kind: type, decorator: str) -> Expected:
    one = a(kind, f"an {kind.__name__}; decorate the function with @{decorator}")
    return sequence_of(one, f"a list or tuple of {kind.__name__}s; decorate functions with @{decorator}")


INPUT_GUARDRAILS = _guardrails(InputGuardrail, "input_guardrail")
OUTPUT_GUARDRAILS = _guardrails(OutputGuardrail, "output_guardrail")
TOOL_INPUT_GUARDRAILS = _guardrails(ToolInputGuardrail, "tool_input_guardrail")
TOOL_OUTPUT_GUARDRAILS = _guardrails(ToolOutputGuardrail, "tool_output_guardrail")


class _Named(Protocol):
    @property
    def name(self) -> str: ...


G = TypeVar("G", bound=_Named)


def places(guardrails: Sequence[G]) -> list[tuple[GuardrailPlace, G]]:
    """The guardrails declared together, each with its place: what its verdicts are bound to, as names may repeat."""
    if len(guardrails) == 1:
        return [((guardrails[0].name, 0, 1), guardrails[0])]
    occurrences = Counter([guardrail.name for guardrail in guardrails])
    seen: Counter[str] = Counter()
    placed: list[tuple[GuardrailPlace, G]] = []
    for guardrail in guardrails:
        name = guardrail.name
        placed.append(((name, seen[name], occurrences[name]), guardrail))
        seen[name] += 1
    return placed


class GuardrailResult(Struct, frozen=True):
    """A verdict with the name of its guardrail."""

    guardrail: str
    output: GuardrailFunctionOutput | ToolGuardrailFunctionOutput


@overload
def input_guardrail(
    func: InputGuardrailFunction[TContext], *, name: str | None = None, run_in_parallel: bool = True
) -> InputGuardrail[TContext]: ...
@overload
def input_guardrail(
    func: None = None, *, name: str | None = None, run_in_parallel: bool = True
) -> Callable[[InputGuardrailFunction[TContext]], InputGuardrail[TContext]]: ...
def input_guardrail(
    func: InputGuardrailFunction[TContext] | None = None, *, name: str | None = None, run_in_parallel: bool = True
) -> InputGuardrail[TContext] | Callable[[InputGuardrailFunction[TContext]], InputGuardrail[TContext]]:
    """Make `func(context, agent, input)`, sync or async, an input guardrail."""

    def make(function: InputGuardrailFunction[TContext]) -> InputGuardrail[TContext]:
        return InputGuardrail(function, _name(function) if name is None else name, run_in_parallel)

    return make if func is None else make(func)


@overload
def output_guardrail(func: OutputGuardrailFunction[TContext], *, name: str | None = None) -> OutputGuardrail[TContext]: ...
@overload
def output_guardrail(
    func: None = None, *, name: str | None = None
) -> Callable[[OutputGuardrailFunction[TContext]], OutputGuardrail[TContext]]: ...
def output_guardrail(
    func: OutputGuardrailFunction[TContext] | None = None, *, name: str | None = None
) -> OutputGuardrail[TContext] | Callable[[OutputGuardrailFunction[TContext]], OutputGuardrail[TContext]]:
    """Make `func(context, agent, output)`, sync or async, an output guardrail."""

    def make(function: OutputGuardrailFunction[TContext]) -> OutputGuardrail[TContext]:
        return OutputGuardrail(function, _name(function) if name is None else name)

    return make if func is None else make(func)


def tool_input_guardrail(func: ToolInputGuardrailFunction[TContext]) -> ToolInputGuardrail[TContext]:
    """Make `func(data)`, sync or async, a tool input guardrail."""
    return ToolInputGuardrail(func, _name(func))


def tool_output_guardrail(func: ToolOutputGuardrailFunction[TContext]) -> ToolOutputGuardrail[TContext]:
    """Make `func(data)`, sync or async, a tool output guardrail."""
    return ToolOutputGuardrail(func, _name(func))


def _name(function: object) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
