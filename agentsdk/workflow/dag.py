"""`Dag`: a workflow for who would have the graph first: actions by name, and the edges between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from agentsdk.types.declared import Expected, Fields, a, sequence_of, whole
from agentsdk.workflow.actions import Usable, actions_of
from agentsdk.workflow.plan import Plan, PlanResult, plan_error
from agentsdk.workflow.plan_check import UNKNOWN, problems_of_steps
from agentsdk.workflow.plan_step import INPUT, PlanStep
from agentsdk.workflow.workflow import Workflow

Edge = tuple[str, str]


def _is_edge(given: object) -> bool:
    return isinstance(given, tuple) and [type(end) for end in cast("tuple[object, ...]", given)] == [str, str]


_FIELDS = Fields(
    "Dag",
    actions=a(Mapping, "a dict of actions by name; pass {'fetch': fetch}"),
    edges=sequence_of(Expected("a pair of texts such as ('fetch', 'pay.order')", _is_edge), "a list of pairs of texts"),
    limit=whole("a whole number, 1 or more", 1),
)


class Dag(Workflow[Any, PlanResult]):
    """A graph as a workflow: `Dag({"fetch": fetch, "pay": pay}, edges=[("fetch.order", "pay.order")])`.

    `("fetch", "pay")`: `pay` comes after `fetch`. `("fetch", "pay.order")`: what `fetch` gives is its argument `order`;
    `("fetch.lines.0", "pay.line")`: a field of that is. `("input.id", "fetch.id")`: a field of what the workflow is given.
    `plan` is the same as a `Plan`. At most `limit` steps run at once.

    Raises `PlanError` where it cannot be, `UserError` for what is no graph.
    """

    def __init__(
        self, actions: Mapping[str, Usable], edges: Sequence[Edge] = (), *, name: str = "dag", limit: int = 16
    ) -> None:
        _FIELDS.check_given("Dag", actions=actions, edges=edges, limit=limit)
        known = actions_of(actions)
        plan = self.plan = Plan(_steps(list(known), edges))
        if problems := problems_of_steps(plan.steps, known, {INPUT: UNKNOWN}):
            raise plan_error(problems)

        async def run(input: Any) -> PlanResult:
            result = await plan.with_input(input).execute(known, limit=limit)
            result.raise_for_failure()
            return result

        super().__init__(run, name)


def _steps(ids: list[str], edges: Sequence[Edge]) -> list[PlanStep]:
    """The steps with what the edges say of them. Raises `PlanError` for edges that lead nowhere."""
    after: dict[str, list[str]] = {id: [] for id in ids}
    inputs: dict[str, dict[str, str]] = {id: {} for id in ids}
    problems: list[str] = []
    for source, target in edges:
        id, _, argument = target.partition(".")
        if id not in after:
            problems.append(f"edge ({source!r}, {target!r}): {id!r} is no action, expected one of {ids}")
        elif not argument:
            after[id].append(source)
        elif argument in inputs[id]:
            problems.append(f"edge ({source!r}, {target!r}): another one leads there, expected one")
        else:
            inputs[id][argument] = source
    if problems:
        raise plan_error(problems)
    return [PlanStep(id, id, after=after[id], inputs=inputs[id]) for id in ids]
