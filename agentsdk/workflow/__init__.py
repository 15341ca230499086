"""Workflows: programs whose steps are recorded in the log of a run, so that they survive their process."""

from __future__ import annotations

from agentsdk.workflow.flow import Flow, flow
from agentsdk.workflow.step import Step, step
from agentsdk.workflow.workflow import Workflow, workflow

__all__ = ["Flow", "Step", "Workflow", "flow", "step", "workflow"]
