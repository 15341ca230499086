"""What every adapter inherits, shown with one that speaks a protocol of three lines."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import pytest

from agentsdk import AnthropicModel, GoogleModel, OpenAIChatCompletionsModel, OpenAIResponsesModel
from agentsdk.models import BedrockModel
from agentsdk.models.errors import ErrorInReply
from agentsdk.models.http_model import HttpModel, given_settings, merge_extra_body, refuse_settings
from agentsdk.models.options import HttpModelOptions
from agentsdk.models.sse import ServerSentEvent
from agentsdk.ports.model import ModelRequest
from agentsdk.testing import FakeOpenAIServer, FakeServer, ServerReply
from agentsdk.types.deltas import ModelStreamEvent, OutputTextDelta
from agentsdk.types.errors import BadRequestError, IncompleteResponseError, MalformedResponseError, UserError
from agentsdk.types.items import Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.settings import ModelSettings
from agentsdk.types.spec import HandoffSpec, ToolSpec
from agentsdk.types.usage import Usage
from tests.models.wire import FakeClock, ask, events_of, request, shown_text

pytestmark = pytest.mark.anyio


class Words:
    """Each event is a word; `.` is the last, `END` the protocol's end mark, `!` an error, `?` not of the protocol."""

    def __init__(self) -> None:
        self.begun = self.complete = self.finished = False
        self.text = ""
        self.usage: Usage | None = None

    def add_event(self, event: ServerSentEvent) -> Sequence[ModelStreamEvent] | None:
        match event.data:
            case "END":
                return None
            case "!":
                raise ErrorInReply({"code": 400, "message": "no sk-canary"})
            case "?":
                raise MalformedResponseError("what?")
            case ".":
                self.complete = self.finished = True
                return ()
        self.begun = True
        self.text += event.data
        return (OutputTextDelta(event.data),)

    def add_whole(self, body: bytes) -> None:
        self.text = body.decode()
        self.complete = True

    def response(self) -> ModelResponse:
        if not self.complete:
            raise IncompleteResponseError("cut", partial=self.text)
        return ModelResponse((Message("assistant", self.text),))

    def done_events(self, response: ModelResponse) -> list[ModelStreamEvent]:
        return []


class WordModel(HttpModel):
    _default_base_url = "https://words.example/v1"
    _base_url_variable = "WORDS_BASE_URL"
    _key_variables = ("WORDS_KEY", "OTHER_WORDS_KEY")

    def body(self, request: ModelRequest) -> bytes:
        return b"{}"

    def _url_for(self, request: ModelRequest) -> str:
        return f"{self.base_url}/chat/completions"

    def _auth_headers(self, key: str) -> dict[str, str]:
        return {"x-key": key, "x-version": "1"}

    def _assembler(self, request: ModelRequest) -> Words:
        return Words()

    def _encode_tools(self, tools: Sequence[ToolSpec | HandoffSpec]) -> bytes:
        return b"[]"


def model_at(server: FakeServer) -> WordModel:
    return WordModel("m", base_url=server.base_url, api_key="sk-canary", clock=FakeClock())


async def test_events_become_deltas_and_the_last_one_ends_the_reply() -> None:
    async with FakeOpenAIServer([ServerReply(events=["a", "b", "."], then="open")]) as server:
        events = await events_of(model_at(server), request(stream=True))
        await server.all_closed()
    assert shown_text(events) == "ab"
    assert server.requests[0].headers["x-version"] == "1"


@pytest.mark.parametrize("events", [["a", "END", "b", "."], ["a"]])
async def test_nothing_is_read_after_the_end_mark(events: list[str]) -> None:
    async with FakeOpenAIServer([ServerReply(events=events)]) as server:
        with pytest.raises(IncompleteResponseError) as caught:
            await ask(model_at(server), request(stream=True))
    assert caught.value.partial == "a"


async def test_only_an_event_that_the_end_cut_may_be_malformed() -> None:
    async with FakeOpenAIServer([ServerReply(events=["a", "?", "."]), ServerReply(events=["a", b"data: ?"])]) as server:
        with pytest.raises(MalformedResponseError):
            await ask(model_at(server), request(stream=True))
        with pytest.raises(IncompleteResponseError):
            await ask(model_at(server), request(stream=True))


async def test_an_error_in_a_reply_is_typed_and_tells_no_key() -> None:
    async with FakeOpenAIServer([ServerReply(events=["!"])]) as server:
        with pytest.raises(BadRequestError, match=r"no \*\*\*") as caught:
            await ask(model_at(server), request(stream=True))
    assert caught.value.__cause__ is None


async def test_the_first_key_that_is_set_goes_to_the_address_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeOpenAIServer([ServerReply(body=b"a")] * 2) as server:
        monkeypatch.setenv("WORDS_BASE_URL", server.base_url)
        monkeypatch.setenv("OTHER_WORDS_KEY", "second")
        await ask(WordModel("m"), request())
        monkeypatch.setenv("WORDS_KEY", "first")
        await ask(WordModel("m"), request())
    assert [sent.headers["x-key"] for sent in server.requests] == ["second", "first"]


def test_a_missing_key_names_every_variable() -> None:
    with pytest.raises(UserError, match="WORDS_KEY or OTHER_WORDS_KEY"):
        WordModel("m").stream(request())


def test_settings_given_and_refused() -> None:
    settings = ModelSettings(seed=0, extra_body={"x": 1, "y": {"z": 2}})
    assert given_settings(settings, "seed", "top_p") == {"seed": 0}
    refuse_settings(settings, "words", "top_p")
    with pytest.raises(UserError, match=r"seed=.*words"):
        refuse_settings(settings, "words", "top_p", "seed")
    fields: dict[str, object] = {"y": 0}
    merge_extra_body(fields, settings, "words")
    assert fields == {"x": 1, "y": {"z": 2}}
    with pytest.raises(UserError, match="'x'"):
        merge_extra_body(fields, settings, "x")


@pytest.mark.parametrize(
    "adapter", [AnthropicModel, BedrockModel, GoogleModel, OpenAIChatCompletionsModel, OpenAIResponsesModel]
)
def test_every_adapter_takes_the_common_options_by_name(adapter: type[HttpModel]) -> None:
    shown = inspect.signature(adapter).parameters
    assert set(HttpModelOptions.__annotations__) < set(shown)
    assert not any(parameter.kind is parameter.VAR_KEYWORD for parameter in shown.values())
    with pytest.raises(TypeError, match=rf"{adapter.__name__}.__init__\(\) got an unexpected keyword argument 'api_kee'"):
        adapter("m", api_kee="k")  # type: ignore[call-arg]
