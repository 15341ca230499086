"""Evals: cases run by agents side by side, scored, reported, and compared with an earlier report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.types.lazy import lazy_names

if TYPE_CHECKING:
    from agentsdk.evals.case import Case, CaseRun
    from agentsdk.evals.case_sources import read_cases, recorded_cases
    from agentsdk.evals.comparison import EvalComparison
    from agentsdk.evals.evaluating import evaluate
    from agentsdk.evals.judging import Verdict, judge
    from agentsdk.evals.report import AgentSummary, CaseResult, EvalReport, assert_passes, compare
    from agentsdk.evals.score import Score, Scorer
    from agentsdk.evals.scorers import calls_tools, contains, equals, matches_schema, max_cost, max_duration

__all__ = [
    "AgentSummary",
    "Case",
    "CaseResult",
    "CaseRun",
    "EvalComparison",
    "EvalReport",
    "Score",
    "Scorer",
    "Verdict",
    "assert_passes",
    "calls_tools",
    "compare",
    "contains",
    "equals",
    "evaluate",
    "judge",
    "matches_schema",
    "max_cost",
    "max_duration",
    "read_cases",
    "recorded_cases",
]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "agentsdk.evals.case": "Case CaseRun",
            "agentsdk.evals.case_sources": "read_cases recorded_cases",
            "agentsdk.evals.comparison": "EvalComparison",
            "agentsdk.evals.evaluating": "evaluate",
            "agentsdk.evals.judging": "Verdict judge",
            "agentsdk.evals.report": "AgentSummary CaseResult EvalReport assert_passes compare",
            "agentsdk.evals.score": "Score Scorer",
            "agentsdk.evals.scorers": "calls_tools contains equals matches_schema max_cost max_duration",
        },
    )
