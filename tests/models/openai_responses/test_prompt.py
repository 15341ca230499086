"""A prompt that OpenAI keeps: how it is named in a request, and a model that only it names."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk import Agent, InputFile, InputImage, InputText, ModelSettings, OpenAIResponsesModel, RunConfig, Runner, UserError
from agentsdk.models import Model, Prompt
from agentsdk.testing import FakeResponsesServer, ScriptedModel
from tests.models.openai_responses.server import model_at
from tests.models.wire import ask, request

pytestmark = pytest.mark.anyio


async def sent(model: Any, server: FakeResponsesServer, **fields: Any) -> dict[str, Any]:
    await ask(model, request(**fields))
    body: dict[str, Any] = server.requests[-1].json
    return body


async def test_what_is_sent() -> None:
    picture = InputImage("https://example.com/a.png", detail="low")
    given = Prompt("pmpt_1", "3", {"city": "Rome", "note": InputText("hi"), "map": picture, "file": InputFile(file_id="f1")})
    async with FakeResponsesServer(["a", "b"]) as server:
        body = await sent(model_at(server), server, prompt=given, instructions="Be kind.")
        assert (
            await sent(model_at(server), server, prompt=Prompt("pmpt_1")) | {"prompt": {"id": "pmpt_1"}}
            == server.requests[1].json
        )
    assert body["prompt"] == {
        "id": "pmpt_1",
        "version": "3",
        "variables": {
            "city": "Rome",
            "note": {"type": "input_text", "text": "hi"},
            "map": {"type": "input_image", "detail": "low", "image_url": "https://example.com/a.png"},
            "file": {"type": "input_file", "file_id": "f1"},
        },
    }
    assert (body["model"], body["instructions"]) == ("gpt-test", "Be kind.")


@pytest.mark.parametrize(
    "wrong",
    [{"id": ""}, {"id": "p", "version": 2}, {"id": "p", "variables": {"n": 1}}, {"id": "p", "variables": ["n"]}],
    ids=str,
)
def test_a_wrong_prompt_is_refused(wrong: dict[str, Any]) -> None:
    *_, field = wrong
    with pytest.raises(UserError, match=rf"Prompt\({field}="):
        Prompt(**wrong)


async def test_a_model_may_be_the_prompts() -> None:
    async with FakeResponsesServer(["Rome."]) as server:
        model = OpenAIResponsesModel(base_url=server.base_url, encrypted_reasoning=None)
        agent = Agent("Guide", model=model, prompt=Prompt("pmpt_1"), model_settings=ModelSettings(thinking="low"))
        assert (await Runner.run(agent, "The capital of Italy?")).final_output == "Rome."
        body: Any = server.requests[0].json
        assert "model" not in body and "include" not in body
        with pytest.raises(UserError, match="no model and the agent no prompt"):
            await Runner.run(Agent("Guide", model=model), "The capital of Italy?")


async def test_an_agent_with_a_prompt_needs_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent("Guide", prompt=Prompt("pmpt_1"))
    monkeypatch.setenv("AGENTSDK_MODEL", "local:another")
    async with FakeResponsesServer(["Rome.", "Rome!"]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        assert (await Runner.run(agent, "The capital of Italy?")).final_output == "Rome."
        assert "model" not in server.requests[0].json
        config = RunConfig(model="openai:gpt-test")
        await Runner.run(agent, "The capital of Italy?", run_config=config)
        assert server.requests[1].json["model"] == "gpt-test"


async def test_a_provider_of_ones_own_is_asked_for_its_default() -> None:
    class Provider:
        def get_model(self, name: str | None) -> Model:
            assert name is None
            return ScriptedModel(["Rome."])

    result = await Runner.run(Agent("Guide", prompt=Prompt("p")), "go", run_config=RunConfig(model_provider=Provider()))
    assert result.final_output == "Rome."
