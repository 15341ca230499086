"""The context objects: what they hold, and that they show no secrets."""

from __future__ import annotations

from agentsdk.define.context import RunContextWrapper, ToolContext
from agentsdk.types.usage import Usage


def test_a_wrapper_holds_context_and_usage() -> None:
    mine = {"user": "ada"}
    wrapper = RunContextWrapper(mine)
    assert wrapper.context is mine
    assert wrapper.usage == Usage()
    wrapper.usage = Usage(requests=1)
    assert wrapper.usage.requests == 1


def test_a_tool_context_is_a_wrapper_that_knows_its_call() -> None:
    context = ToolContext(None, Usage(), "pay", "call_1", '{"sum":1}', "key_1", "clerk")
    assert isinstance(context, RunContextWrapper)
    assert (context.tool_name, context.tool_call_id, context.tool_arguments) == ("pay", "call_1", '{"sum":1}')
    assert (context.idempotency_key, context.agent_name) == ("key_1", "clerk")


def test_repr_shows_neither_context_nor_arguments() -> None:
    shown = repr(RunContextWrapper("sk-secret")) + repr(ToolContext("sk-secret", tool_arguments="sk-secret", tool_name="pay"))
    assert "secret" not in shown
    assert "pay" in shown
