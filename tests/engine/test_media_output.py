"""Images, sounds and files of the model's as final output, over real connections."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from pydantic import BaseModel

from agentsdk import (
    Agent,
    AgentOutputSchema,
    FunctionCallOutput,
    GoogleModel,
    InputImage,
    MemoryRunStore,
    Message,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    UserError,
)
from agentsdk.errors import InvalidOutputError
from agentsdk.hosted_tools import ImageGenerationTool
from agentsdk.items import InputAudio, OutputText, ProviderItem
from agentsdk.models import respond
from agentsdk.output import ModelRetry, OutputAudio, OutputFile, OutputImage, reviewed_by
from agentsdk.testing import FakeGoogleServer, FakeResponsesServer, ScriptedModel, call
from agentsdk.types.items import InputFile, InputVideo
from tests.scenarios import reloaded

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n and so on"
JPEG = b"\xff\xd8\xff and so on"


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def image(data: bytes = PNG, kind: str = "image/png") -> InputImage:
    return InputImage(f"data:{kind};base64,{encoded(data)}")


def drawn(data: bytes = PNG, form: str = "png") -> ProviderItem:
    made = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": encoded(data)}
    return ProviderItem("openai", {**made, "output_format": form})


def shown(*parts: Any) -> Message:
    return Message("assistant", tuple(OutputText(part) if isinstance(part, str) else part for part in parts))


def agent_of(*replies: Any, kind: Any = OutputImage, **fields: Any) -> Agent[Any, Any]:
    return Agent("painter", model=ScriptedModel(replies), output_type=kind, **fields)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("beside", ["", "Here it is."])
async def test_an_image_that_openai_draws_is_the_output(streamed: bool, beside: str) -> None:
    text = [Message("assistant", beside)] if beside else []
    async with FakeResponsesServer([[drawn(JPEG, "jpeg"), *text]]) as server:
        model = OpenAIResponsesModel("gpt-test", base_url=server.base_url)
        agent = Agent[None, OutputImage]("painter", tools=[ImageGenerationTool()], model=model, output_type=OutputImage)
        result = await (Runner.run_streamed(agent, "Draw.") if streamed else Runner.run(agent, "Draw."))
        (request,) = server.requests
    assert result.final_output == OutputImage(JPEG, "image/jpeg")
    assert request.json["tools"] == [{"type": "image_generation"}]
    assert "text" not in request.json or "format" not in request.json["text"]


@pytest.mark.parametrize("streamed", [False, True])
async def test_an_image_that_gemini_draws_is_the_output(streamed: bool) -> None:
    async with FakeGoogleServer([[shown("Here it is.", image())]]) as server:
        model = GoogleModel("gemini-test", base_url=server.base_url, api_key="k")
        agent = Agent[None, OutputImage]("painter", model=model, output_type=OutputImage)
        result = await (Runner.run_streamed(agent, "Draw.") if streamed else Runner.run(agent, "Draw."))
    assert result.final_output == OutputImage(PNG, "image/png")
    assert repr(result.final_output) == f"OutputImage({len(PNG)} bytes of 'image/png')"


@pytest.mark.parametrize(
    ("part", "made"),
    [
        (image(), OutputImage(PNG, "image/png")),
        (InputAudio(encoded(PNG), "wav"), OutputAudio(PNG, "audio/wav")),
        (InputVideo(f"data:video/mp4;base64,{encoded(PNG)}"), OutputFile(PNG, "video/mp4")),
        (InputFile(file_data=f"data:application/pdf;base64,{encoded(PNG)}"), OutputFile(PNG, "application/pdf")),
    ],
    ids=lambda one: type(one).__name__,
)
async def test_each_kind_of_media_is_the_output(part: Any, made: Any) -> None:
    result = await Runner.run(agent_of([shown(part)], kind=type(made)), "go")
    assert result.final_output == made
    assert made.as_part() == part
    several = agent_of([shown(part)], kind=[OutputImage, OutputAudio, OutputFile])
    assert (await Runner.run(several, "go")).final_output == made


async def test_of_several_images_the_last_is_the_output() -> None:
    result = await Runner.run(agent_of([drawn(), shown(image(JPEG), "and", image())]), "go")
    assert result.final_output == OutputImage(PNG, "image/png")


class City(BaseModel):
    name: str


@pytest.mark.parametrize(
    ("kind", "reply", "output"),
    [
        ([str, OutputImage], "I cannot draw.", "I cannot draw."),
        ([str, OutputImage], [shown("Look:", image())], OutputImage(PNG, "image/png")),
        (str | OutputImage, "I cannot draw.", "I cannot draw."),
        ([City, OutputImage], '{"name":"Rome"}', City(name="Rome")),
        ([City, OutputImage], [shown(image())], OutputImage(PNG, "image/png")),
        ([City, int, OutputImage], '{"response":5}', 5),
    ],
)
async def test_an_image_or_else_another_type(kind: Any, reply: Any, output: object) -> None:
    agent = agent_of(reply, kind=kind)
    assert (await Runner.run(agent, "go")).final_output == output
    assert isinstance(agent.model, ScriptedModel)
    asked = agent.model.requests[0].output
    assert (asked is not None) == (City in (kind if isinstance(kind, list) else []))


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("Here is your image!", "it holds no image"),
        ([shown(InputAudio("AAAA", "wav"))], "it holds no image"),
        ([shown(InputImage("https://example.com/a.png"))], "it holds no image"),
        ([shown(InputImage("data:image/png;base64"))], "what it gave as a data: URL cannot be read, expected a comma"),
        ([shown(InputImage("data:image/png;base64,!!!"))], "what it gave as 'image/png' cannot be read, expected base64"),
    ],
    ids=["text", "sound", "elsewhere", "cut", "broken"],
)
async def test_a_reply_without_an_image_goes_back_to_the_model(reply: Any, told: str) -> None:
    agent = agent_of(reply, [shown(image())])
    assert (await Runner.run(agent, "go")).final_output == OutputImage(PNG, "image/png")
    assert isinstance(agent.model, ScriptedModel)
    (feedback,) = agent.model.requests[1].items[-1:]
    assert isinstance(feedback, Message)
    assert feedback.text.startswith(f"Your answer does not fit the required format: {told}")
    assert feedback.text.endswith("\nAnswer again.")
    with pytest.raises(InvalidOutputError, match=told):
        await Runner.run(agent_of(reply, reply), "go")


async def test_a_run_that_is_loaded_has_its_image_and_the_log_has_it_once() -> None:
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    agent = agent_of([shown("Look:", image())])
    result = await Runner.run(agent, "go", run_config=config)
    state = result.to_state()
    assert state.to_string().count(encoded(PNG)) == 1
    assert (await Runner.run(agent, reloaded(agent, state))).final_output == OutputImage(PNG, "image/png")
    assert (await Runner.resume(agent, "r", run_config=config)).final_output == OutputImage(PNG, "image/png")
    replay = await Runner.replay(agent, "r", run_config=config)
    assert (replay.divergence, replay.turns) == (None, 1)
    same = await Runner.replay(agent, "r", change=agent.clone(), run_config=config)
    assert (same.divergence, same.final_output) == (None, OutputImage(PNG, "image/png"))


async def test_validators_judge_an_image_and_may_change_it() -> None:
    def sign(context: Any, given: OutputImage) -> OutputImage:
        assert context.text == ""
        if given.data == JPEG:
            raise ModelRetry("no JPEG, please")
        return OutputImage(given.data + b" signed", given.media_type)

    agent = agent_of(
        [shown(image(JPEG, "image/jpeg"))], [shown(image())], output_validators=[lambda context, given: None, sign]
    )
    result = await Runner.run(agent, "go")
    signed = OutputImage(PNG + b" signed", "image/png")
    assert result.final_output == signed
    assert (await Runner.run(agent, reloaded(agent, result.to_state()))).final_output == signed


async def test_a_validator_may_put_another_type_of_the_union_in_its_place() -> None:
    agent = agent_of([shown(image())], kind=[str, OutputImage], output_validators=[lambda context, given: "too large"])
    result = await Runner.run(agent, "go")
    assert result.final_output == "too large"
    assert (await Runner.run(agent, reloaded(agent, result.to_state()))).final_output == "too large"
    only = agent_of([shown(image())], output_validators=[lambda context, given: "too large"])
    with pytest.raises(UserError, match="returned 'str', expected None or 'OutputImage'"):
        await Runner.run(only, "go")


async def test_a_critic_is_shown_the_image() -> None:
    critic = Agent[None, Any]("critic", model=ScriptedModel(['{"accepted":true,"feedback":""}']))
    await Runner.run(agent_of([shown(image())], output_validators=[reviewed_by(critic)]), "Draw a cat.")
    assert isinstance(critic.model, ScriptedModel)
    (asked,) = critic.model.requests[0].items
    assert isinstance(asked, Message)
    assert "Draw a cat." in asked.text and asked.content[-1] == image()


async def test_an_agent_used_as_a_tool_gives_its_image_to_the_one_that_called_it() -> None:
    painter = agent_of([shown(image())])
    model = ScriptedModel([call("painter", input="a cat"), "done"])
    await Runner.run(Agent("main", model=model, tools=[painter.as_tool()]), "go")
    result = model.requests[1].items[-1]
    assert isinstance(result, FunctionCallOutput) and result.output == (image(),)


async def test_one_request_without_an_agent() -> None:
    model = ScriptedModel([[shown(image())], "no"])
    assert (await respond(model, "Draw.", output_type=OutputImage)).final_output == OutputImage(PNG, "image/png")
    with pytest.raises(InvalidOutputError, match="it holds no image"):
        await respond(model, "Draw.", output_type=OutputImage)


@pytest.mark.parametrize(
    "make",
    [
        lambda: AgentOutputSchema(OutputImage),
        lambda: AgentOutputSchema([str, OutputImage], mode="tool"),
        lambda: agent_of("x", kind=list[OutputImage]),
        lambda: agent_of("x", kind=[str, dict[str, OutputImage]]),
    ],
)
async def test_media_inside_something_else_is_the_callers_fault(make: Any) -> None:
    with pytest.raises(UserError, match="OutputImage"):
        await Runner.run(make(), "go")
