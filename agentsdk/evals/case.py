"""`Case`: an input and what is expected of it; `CaseRun`: a finished run of one, as scorers see it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar, Generic

from agentsdk.core.given_json import json_text
from agentsdk.core.keys import digest
from agentsdk.core.run_state import RunState
from agentsdk.define.agent import Agent
from agentsdk.define.run_config import RunConfig
from agentsdk.evals.digest import agent_digest
from agentsdk.result import RunResult
from agentsdk.runner import Runner
from agentsdk.types.declared import ANYTHING, Fields, any_text, mapping_of
from agentsdk.types.events import ModelReplied
from agentsdk.types.generics import TOutput
from agentsdk.types.items import FunctionCall
from agentsdk.types.text import escaped, shortened, storable_text
from agentsdk.types.usage import Usage

if sys.version_info >= (3, 13):
    from typing import TypeVar
else:
    from typing_extensions import TypeVar

CaseInput = TypeVar("CaseInput", covariant=True, default=Any)
"""What the runs of a case are given."""

CaseOutput = TypeVar("CaseOutput", covariant=True, default=Any)
"""What they come to."""

RUN_IDS = "eval/"
"""What the ids of the runs of evals begin with."""

_MAX_NAME = 40


@dataclass(frozen=True)
class Case(Generic[CaseInput, CaseOutput]):
    """One case of an eval: the `input` of its runs, and the output that is `expected`; None where no certain one is.

    Without a `name` it is called as its input begins. `metadata` is for scorers of yours. `run_id` names the stored run that
    the case is of, where it is of one. Raises `UserError` for fields of wrong types.
    """

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    input: CaseInput
    expected: CaseOutput | None = None
    name: str = field(default="", kw_only=True)
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any], kw_only=True)
    run_id: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        _FIELDS.check(self)
        name = self.name or shortened(escaped(as_text(self.input)), _MAX_NAME) or "(empty)"
        object.__setattr__(self, "name", storable_text(name))


@dataclass(frozen=True, kw_only=True)
class CaseRun(Generic[CaseInput, CaseOutput]):
    """A finished run of a case, for scorers: its `output`, and all that happened (`state`).

    `agent` is the name of the agent under test in the eval, `repeat` counts the case's runs from 1. `cost` is in US dollars,
    None where a price is not known; `duration` counts the seconds in which the run was in work.
    """

    case: Case[CaseInput, CaseOutput]
    agent: str
    repeat: int
    output: CaseOutput
    state: RunState
    cost: Decimal | None
    duration: float
    run_config: RunConfig = field(repr=False)

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self.state.run_id

    @property
    def usage(self) -> Usage:
        """What the run has used, nested runs included."""
        return self.state.value.usage

    @property
    def calls(self) -> tuple[FunctionCall, ...]:
        """The calls that the model asked for, in their order; not those of nested runs."""
        replies = [event.response for event in self.state.value.log if isinstance(event, ModelReplied)]
        return tuple([item for reply in replies for item in reply.output if isinstance(item, FunctionCall)])

    async def ask(self, agent: Agent[Any, TOutput], input: str) -> RunResult[TOutput]:
        """Ask an agent about this run, a judge say. With a store the same question is asked once. Raises like `Runner.run`."""
        given = self.run_config
        config = RunConfig(
            **{name: getattr(given, name) for name in _SHARED},
            metadata=given.metadata if given.store is None else {**(given.metadata or {}), "eval_of": self.run_id},
        )
        if given.store is None:
            return await Runner.run(agent, input, run_config=config)
        question = digest("agentsdk.evals.ask", self.run_id, agent_digest(agent), input)[:16]
        return await Runner.drive(agent, f"{RUN_IDS}ask/{question}", input, run_config=config)


_SHARED = (
    *("model_provider", "token_counter", "prices", "tracing_disabled", "tracer", "clock", "state_key"),
    *("store", "durability", "lease", "store_timeout"),
)
"""What a judge's run takes from the configuration of the run that it judges."""

_FIELDS = Fields(
    "Case",
    name=any_text("a str; name the case"),
    metadata=mapping_of(ANYTHING, "a dict by text; write {'topic': 'taxes'}, say"),
    run_id=any_text("a str; give the id of a stored run"),
)


def as_text(value: object) -> str:
    """A value as a report shows it, and a judge reads it: a text as it is, all else as JSON. Raises `UserError`."""
    return value if isinstance(value, str) else json_text("a value of an eval", value)
