"""Tests of `triage.py`: a script plays the models, so they take no time and cost nothing. Run them with `pytest`."""

from __future__ import annotations

import asyncio
from typing import Any

from triage import Desk, Ticket, triage

from agentsdk import Agent, RunConfig, Runner, RunResult
from agentsdk.testing import ScriptedModel, ToolCallingModel, call, no_real_requests


def run(model: Any, question: str = "Why is my bill so high?") -> tuple[RunResult[str], Desk]:
    """A run in which every agent is played by `model`."""
    desk = Desk()
    with no_real_requests():
        result = asyncio.run(Runner.run(triage, question, context=desk, run_config=RunConfig(model=model)))
    return result, desk


def test_a_bill_goes_to_billing_with_its_ticket() -> None:
    script = ScriptedModel(
        [call("transfer_to_billing", urgency="low", about="a bill"), call("last_bill"), "20 euros are for calls abroad."]
    )
    result, desk = run(script)
    assert result.last_agent.name == "Billing"
    assert result.final_output == "20 euros are for calls abroad."
    assert desk.tickets == [("Billing", Ticket(urgency="low", about="a bill"))]


def test_the_specialist_sees_the_question_and_not_the_handoff() -> None:
    script = ScriptedModel([call("transfer_to_repairs", urgency="high", about="a phone"), "Which phone is it?"])
    run(script, "It does not ring.")
    assert [item.type for item in script.requests[1].items] == ["message"]


def test_a_ticket_that_does_not_fit_goes_back_to_the_model() -> None:
    script = ScriptedModel(
        [
            call("transfer_to_billing", urgency="at once", about="a bill"),
            call("transfer_to_billing", urgency="high", about="a bill"),
            "It is for calls abroad.",
        ]
    )
    _, desk = run(script)
    assert [ticket.urgency for _, ticket in desk.tickets] == ["high"]
    assert "'low', 'normal' or 'high'" in str(script.requests[1].items[-1])


def test_every_tool_and_handoff_can_be_called() -> None:
    """This model makes up arguments that fit, and calls whatever it is offered."""
    result, desk = run(ToolCallingModel(seed=1))
    assert isinstance(result.last_agent, Agent) and len(desk.tickets) == 1
