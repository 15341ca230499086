"""What calls and requests are known by outside: the same when they are sent again, and never another's, whatever ids hold."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from agentsdk import Agent, FunctionCall, RunConfig, Runner, RunState, ToolContext, UserError, function_tool
from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.testing import FakeOpenAIServer, ScriptedModel

pytestmark = pytest.mark.anyio

HOSTILE = ["order-7", "Auftrag-ä", "a\r\nx-evil: 1", "a\x1b[2J", "a/b", "a-1", "x" * 200]


class Till:
    """Notes the key of each call that is run."""

    def __init__(self) -> None:
        self.keys: list[str] = []

        @function_tool(effect="idempotent")
        def pay(ctx: ToolContext[Any], amount: int) -> str:
            """Pay."""
            self.keys.append(ctx.idempotency_key)
            return f"paid {amount}"

        self.pay = pay


def paying(call_id: str, amount: int = 1) -> FunctionCall:
    return FunctionCall(call_id, "pay", json.dumps({"amount": amount}))


async def test_a_nested_call_and_one_of_the_outer_run_have_two_keys() -> None:
    till = Till()
    child = Agent("Child", model=ScriptedModel([[paying("c")], "ok"]), tools=[till.pay])
    both = [FunctionCall("a", "child", '{"input":"x"}'), paying("a/c")]
    top = Agent("Top", model=ScriptedModel([both, "ok"]), tools=[child.as_tool("child"), till.pay])
    await Runner.run(top, "x", run_config=RunConfig(run_id="run"))
    assert len(till.keys) == len(set(till.keys)) == 2


async def test_calls_of_two_runs_have_two_keys() -> None:
    till = Till()
    for run_id, call_id in [("order", "17/x"), ("order/17", "x"), ("order/17/x", ""), ("order-17", "x")]:
        agent = Agent("a", model=ScriptedModel([[paying(call_id)], "ok"]), tools=[till.pay])
        await Runner.run(agent, "x", run_config=RunConfig(run_id=run_id))
    assert len(till.keys) == len(set(till.keys)) == 4


async def test_no_request_shares_its_id_with_one_of_another_run() -> None:
    ids: list[str] = []
    for run_id in ("user", "user-1", "user-1-1"):
        model = ScriptedModel(["", [paying("y")], "", "done"])
        await Runner.run(Agent("a", model=model, tools=[Till().pay]), "x", run_config=RunConfig(run_id=run_id))
        ids += [request.request_id for request in model.requests]
    assert len(ids) == len(set(ids)) == 12


@pytest.mark.parametrize("hostile", HOSTILE, ids=ascii)
async def test_any_run_id_gives_a_plain_header(hostile: str) -> None:
    async with FakeOpenAIServer(["hi"]) as server:
        model = OpenAIChatCompletionsModel("m", base_url=server.base_url, api_key="k")
        result = await Runner.run(Agent("a", model=model), "x", run_config=RunConfig(run_id=hostile))
    assert result.final_output == "hi"
    assert re.fullmatch("[0-9a-f]{40}-1", server.requests[0].headers["idempotency-key"])
    assert "x-evil" not in server.requests[0].headers


@pytest.mark.parametrize("hostile", [*HOSTILE, "c\ud800", "x" * 120_000], ids=lambda text: ascii(text)[:20])
async def test_any_call_id_that_leads_to_a_nested_run_gives_a_plain_header(hostile: str) -> None:
    async with FakeOpenAIServer(["hi"]) as server:
        model = OpenAIChatCompletionsModel("m", base_url=server.base_url, api_key="k")
        parent = ScriptedModel([[FunctionCall(hostile, "ask", '{"input":"x"}')], "done"])
        result = await Runner.run(Agent("P", model=parent, tools=[Agent("Child", model=model).as_tool("ask")]), "x")
    assert result.final_output == "done"
    (told,) = [item["output"] for item in result.to_input_list() if item["type"] == "function_call_output"]
    assert told == "hi"
    assert re.fullmatch("[0-9a-f]{40}-1", server.requests[0].headers["idempotency-key"])


BEGUN_UNDER_JOINED_KEYS = """{"version":1,"log":[
["started","r","main",[{"type":"message","role":"user","content":"go"}],0,1795333712.0670035,"",""],
["reply",{"output":[{"type":"function_call","call_id":"c1","name":"pay","arguments":"{\\"amount\\":1}"},
{"type":"function_call","call_id":"c2","name":"child","arguments":"{\\"input\\":\\"x\\"}"}],
"usage":[1,10,5,0,0,0,true],"finish":"tool_calls","response_id":"resp_1","model":"scripted"},1795333712.067368,[],0],
["intend",["c1","c2"]],
["nested","c2",["started","","child",[{"type":"message","role":"user","content":"x"}],0,1795333712.0697367,"",""]],
["nested","c2",["reply",{"output":[{"type":"function_call","call_id":"c1","name":"pay","arguments":"{\\"amount\\":2}"}],
"usage":[1,10,5,0,0,0,true],"finish":"tool_calls","response_id":"resp_1","model":"scripted"},1795333712.0698833,[],0]],
["nested","c2",["intend",["c1"]]],
["stopped","CancelledError"]]}"""
"""A run of the first released version, cut while two idempotent calls were in flight."""


async def test_a_run_that_an_earlier_version_began_goes_on_under_the_keys_it_began_with() -> None:
    till = Till()
    child = Agent("child", model=ScriptedModel(["paid"]), tools=[till.pay])
    agent = Agent("main", model=ScriptedModel([[paying("c3", 3)], "done"]), tools=[till.pay, child.as_tool("child")])
    state = RunState.from_string(agent, BEGUN_UNDER_JOINED_KEYS)
    result = await Runner.run(agent, RunState.from_string(agent, state.to_string()))
    assert result.final_output == "done"
    assert sorted(till.keys) == ["r/c1", "r/c2/c1", "r/c3"]


async def test_a_call_that_is_run_again_has_its_key_again() -> None:
    till = Till()
    agent = Agent("main", model=ScriptedModel([[paying("c1")], "done"]), tools=[till.pay])
    result = await Runner.run(agent, "go", run_config=RunConfig(run_id="r"))
    text = result.to_state().to_string()
    log = json.loads(text)
    log["log"] = log["log"][: 1 + next(at for at, event in enumerate(log["log"]) if event[0] == "intend")]
    await Runner.run(agent.clone(model=ScriptedModel(["done"])), RunState.from_json(agent, log))
    assert len(till.keys) == 2 and len(set(till.keys)) == 1


async def test_a_run_id_without_a_store_names_the_run_and_keeps_nothing() -> None:
    """A job that is done again under its own id gives services the same keys; what it did is nowhere to be found."""
    till = Till()
    config = RunConfig(run_id="job-7")
    agent = Agent("a", model=ScriptedModel([[paying("c")], "ok", [paying("c")], "ok"]), tools=[till.pay])
    runs = [await Runner.run(agent, "x", run_config=config) for _ in range(2)]
    assert [run.to_state().run_id for run in runs] == ["job-7", "job-7"]
    assert len(till.keys) == 2 and len(set(till.keys)) == 1
    await Runner.run(agent.clone(model=ScriptedModel([[paying("c")], "ok"])), "x", run_config=RunConfig(run_id="job-8"))
    assert len(set(till.keys)) == 2
    with pytest.raises(UserError, match=r"no store given.*; a run_id alone keeps nothing: pass run_config"):
        await Runner.load("job-7", run_config=config)
