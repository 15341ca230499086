"""Workflows: programs whose steps are recorded in the log of a run, so that they survive their process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.types.lazy import lazy_names
from agentsdk.workflow.flow import Flow, flow
from agentsdk.workflow.step import Step, step
from agentsdk.workflow.workflow import Workflow, workflow

if TYPE_CHECKING:
    from agentsdk.workflow.dag import Dag
    from agentsdk.workflow.plan import Plan, PlanResult, PlanReview, plan_workflow
    from agentsdk.workflow.plan_run import PlanStepResult
    from agentsdk.workflow.plan_step import Condition, PlanStep
    from agentsdk.workflow.planner_output import describe_actions, plan_output

__all__ = [
    "Condition",
    "Dag",
    "Flow",
    "Plan",
    "PlanResult",
    "PlanReview",
    "PlanStep",
    "PlanStepResult",
    "Step",
    "Workflow",
    "describe_actions",
    "flow",
    "plan_output",
    "plan_workflow",
    "step",
    "workflow",
]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "agentsdk.workflow.dag": "Dag",
            "agentsdk.workflow.plan": "Plan PlanResult PlanReview plan_workflow",
            "agentsdk.workflow.planner_output": "describe_actions plan_output",
            "agentsdk.workflow.plan_run": "PlanStepResult",
            "agentsdk.workflow.plan_step": "Condition PlanStep",
        },
    )
