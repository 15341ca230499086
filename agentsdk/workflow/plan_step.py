"""`PlanStep`: a step of a plan, as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field

from agentsdk.types.declared import ANYTHING, Fields, a, any_text, mapping_of, number, one_of, optional, sequence_of, whole

INPUT = "input"
"""What steps call the plan's own input."""

Operator = Literal["==", "!=", "<", "<=", ">", ">=", "in"]

CLOSED: Any = {"extra": "forbid"}
"""What reads these takes no other fields."""

_TEXT = any_text("a str")
_OPERATORS = get_args(Operator)
_CONDITION = Fields(
    "Condition", field=any_text("a str such as 'risk.score'"), op=one_of(f"one of {', '.join(_OPERATORS)}", _OPERATORS)
)


@dataclass(frozen=True)
class Condition:
    """What must hold of an earlier result: `Condition("risk.score", "<=", 7)`. Without a comparison: that it is true.

    `field` is the id of a step, or that and the names that lead into its result. What is not there, or cannot be compared, does
    not hold. `"in"`: it is an entry of the list `value`. Raises `UserError` for values of wrong types.
    """

    __pydantic_config__: ClassVar[Any] = CLOSED

    field: str
    op: Operator = "=="
    value: object = True

    def __post_init__(self) -> None:
        _CONDITION.check(self)

    def __str__(self) -> str:
        return self.field if self.op == "==" and self.value is True else f"{self.field} {self.op} {self.value!r}"


_STEP = Fields(
    "PlanStep",
    id=any_text("a str; name the step"),
    do=any_text("a str; name what does it"),
    task=_TEXT,
    after=sequence_of(_TEXT, "a list of the ids of steps"),
    inputs=mapping_of(_TEXT, "a dict of arguments and where they come from, such as {'order': 'fetch.order'}"),
    values=mapping_of(ANYTHING, "a dict of arguments and what they are"),
    when=sequence_of(a(Condition, "a Condition"), "a list of Condition(...)"),
    retry=optional(whole("a whole number, 0 or more", 0)),
    timeout=optional(number("seconds above 0", above=0)),
)


@dataclass(frozen=True)
class PlanStep:
    """A step of a plan: `do` names what does it, of the actions that the plan is carried out with.

    `inputs` says which arguments come from earlier results (`{"order": "fetch", "cents": "total.cents"}`) or from the plan's
    input (`"input.id"`); `values` gives the others as they are. An agent is given its `task`, and all of these with it.

    It begins once the steps that it takes something from have ended, and those that it comes `after`. It is skipped where a
    condition in `when` does not hold, or where there is no result to take from. `retry`, how often it is tried again, and
    `timeout`, in seconds for one attempt, stand in for what the action itself declares.

    Raises `UserError` for values of wrong types.
    """

    __pydantic_config__: ClassVar[Any] = CLOSED

    id: str
    do: str
    task: str = ""
    after: Sequence[str] = ()
    inputs: Mapping[str, str] = field(default_factory=dict[str, str])
    values: Mapping[str, object] = field(default_factory=dict[str, object])
    when: Sequence[Condition] = ()
    retry: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None

    def __post_init__(self) -> None:
        _STEP.check(self)
        for name in ("after", "when"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in ("inputs", "values"):
            object.__setattr__(self, name, dict(getattr(self, name)))

    @property
    def sources(self) -> dict[str, None]:
        """The ids of what it takes something from, in order."""
        taken = [*self.inputs.values(), *(condition.field for condition in self.when)]
        return dict.fromkeys(path.partition(".")[0] for path in taken)


def dependencies(steps: Iterable[PlanStep]) -> dict[str, tuple[str, ...]]:
    """The steps by id, each with the ids of what it waits for, which may not be there."""
    return {step.id: tuple(dict.fromkeys([*step.after, *step.sources])) for step in steps}
