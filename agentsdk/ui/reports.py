"""A report of an eval as the page shows it."""

from __future__ import annotations

from agentsdk.evals import EvalReport
from agentsdk.evals.report import CaseResult, pass_rates
from agentsdk.types.base import JsonObject


def shown_report(report: EvalReport) -> JsonObject:
    """Cases by agents, of several repeats the last; `changed` says which way from the first agent to the last."""
    by_agent = {agent: pass_rates([one for one in report.results if one.agent == agent]) for agent in report.agents}
    first, last = by_agent[report.agents[0]], by_agent[report.agents[-1]]
    cases: list[JsonObject] = []
    for case in report.cases:
        before, after = first.get(case.name), last.get(case.name)
        changed = None
        if before is not None and after is not None and before != after:
            changed = "better" if after > before else "worse"
        results = {one.agent: one for one in report.results if one.case == case.name}
        shown = [_shown(results.get(agent)) for agent in report.agents]
        cases.append({"name": case.name, "input": case.input, "results": shown, "changed": changed})
    return {"name": report.name, "agents": report.agents, "summary": str(report), "cases": cases}


def _shown(result: CaseResult | None) -> JsonObject:
    if result is None:
        return {"passed": False, "error": "it was not run", "output": "", "seconds": None, "cost": None}
    return {
        "passed": result.status == "passed",
        "error": result.error,
        "output": result.error or result.output,
        "seconds": result.duration,
        "cost": None if result.cost is None else f"{result.cost:f}",
        "run_id": result.run_id,
    }
