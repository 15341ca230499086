"""What is said of a program that is another than the one whose run it goes on with."""

from __future__ import annotations

from collections.abc import Sequence

from agentsdk.types.errors import WorkflowChangedError

_REMEDY = (
    "give the changed workflow another version=, and earlier=[the one that this run began with], so that it goes on under "
    "that; or fork the run before that step"
)


def called_otherwise(workflow: str, key: str, why: str) -> WorkflowChangedError:
    """It calls a recorded step with something else."""
    return WorkflowChangedError(
        f"workflow {workflow!r} calls step {key!r} otherwise than is recorded: {why}; {_REMEDY}",
        step=key,
    )


def not_called(workflow: str, key: str) -> WorkflowChangedError:
    """It does not call the step whose result is the next in the record."""
    return WorkflowChangedError(
        f"workflow {workflow!r} does not call step {key!r}, which is recorded next, expected the same steps in the same order "
        f"of results: nothing but steps, flow and other tasks may decide what it calls, or be awaited; {_REMEDY}",
        step=key,
    )


def unknown_version(workflow: str, version: str, known: Sequence[str]) -> WorkflowChangedError:
    """A run of it was begun under a version that it does not know."""
    return WorkflowChangedError(
        f"the run was begun under version {version!r} of workflow {workflow!r}, expected one of {list(known)}; pass the "
        "workflow as it was then in earlier=[...], or begin a new run",
        step="",
    )
