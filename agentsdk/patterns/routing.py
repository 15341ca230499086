"""`router`: a classifier says who should answer, and then exactly one agent does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, make_dataclass
from typing import Any, Generic, Literal, TypeVar

from agentsdk.define.agent import Agent
from agentsdk.patterns.agents import by_name, output_type_of
from agentsdk.types.declared import Fields, a, a_name, number, optional, sequence_of
from agentsdk.types.errors import StepFailedError, UserError
from agentsdk.workflow import Workflow, flow

T = TypeVar("T")

NOBODY = "nobody"
PROMPT = (
    "Who should answer what is below? {nobody!r} where none of these fits. Say how sure you are, from 0 (a guess) to 1 "
    "(certain).\n\n{agents}\n\nWhat is to be answered:\n{question}"
)


@dataclass(frozen=True)
class Route:
    """What the classifier says: the name of the `agent` who should answer, and its `confidence`, from 0 to 1."""

    agent: str
    confidence: float


@dataclass(frozen=True)
class Routed(Generic[T]):
    """What a `router` came to: the `answer`, the `agent` that gave it, and whether that was the default, as nobody was chosen.

    `route` is what the classifier said; None where it failed.
    """

    answer: T
    agent: str
    is_default: bool
    route: Route | None


def router(
    classifier: Agent[Any, Any],
    agents: Sequence[Agent[Any, T]],
    *,
    default: Agent[Any, T],
    min_confidence: float = 0.5,
    name: str | None = None,
) -> Workflow[str, Routed[T]]:
    """A workflow that has one of `agents` answer: the one that `classifier` names, with `min_confidence` at least.

    The classifier is asked once, knows names and `handoff_description`s, and cannot say anything else. Where nobody fits, it is
    not sure enough, or it fails, `default` answers. It is named after the classifier unless it is given a `name`.

    Raises `UserError` for what is no router: a classifier with an output type of its own, two agents of one name.
    """
    _FIELDS.check_given(
        "router", classifier=classifier, agents=agents, default=default, min_confidence=min_confidence, name=name
    )
    named = by_name("router", agents)
    if classifier.output_type is not None:
        raise UserError(
            f"router was given the classifier {classifier.name!r} with an output_type, expected one without; leave it out: it "
            "names one of the agents"
        )
    names: Any = Literal[(*named, NOBODY)]
    kind = make_dataclass("Route", [("agent", names), ("confidence", float)], bases=(Route,), frozen=True)
    chooser: Agent[Any, Route] = classifier.clone(output_type=kind)
    known = "\n".join([f"- {agent.name}: {agent.handoff_description or agent.name}" for agent in agents])

    async def choose(question: str) -> Route | None:
        try:
            route = await flow.agent(chooser, PROMPT.format(nobody=NOBODY, agents=known, question=question))
        except StepFailedError:
            return None
        return Route(route.agent, route.confidence)

    async def answer(question: str) -> Routed[T]:
        route = await choose(question)
        chosen = None
        if route is not None and route.confidence >= min_confidence:
            chosen = named.get(route.agent)
        agent = default if chosen is None else chosen
        return Routed(await flow.agent(agent, question), agent.name, chosen is None, route)

    return Workflow(answer, f"{classifier.name} router" if name is None else name, {"T": output_type_of(*agents, default)})


_FIELDS = Fields(
    "router",
    classifier=a(Agent, "an Agent; pass the one that chooses"),
    agents=sequence_of(a(Agent, "an Agent"), "a list of Agents; pass those to choose from"),
    default=a(Agent, "an Agent; pass the one that answers where nobody fits"),
    min_confidence=number("a number from 0 to 1", least=0, most=1),
    name=optional(a_name("a name for the workflow")),
)
