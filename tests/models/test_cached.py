"""`CachedModel`: an equal request is answered once; what is no whole reply is not kept; a cache that fails is passed over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from agentsdk import (
    Agent,
    FunctionCall,
    Message,
    Model,
    ModelRequest,
    ModelResponse,
    ModelSettings,
    OutputTextDelta,
    RateLimitError,
    RunConfig,
    RunLimits,
    Runner,
    Usage,
    UserError,
    function_tool,
)
from agentsdk.events import ResponseCompleted
from agentsdk.models import CachedModel, MemoryResponseCache, ModelRetrySettings, SQLiteResponseCache
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.items import Refusal
from agentsdk.types.spec import OutputSpec, ToolSpec
from agentsdk.types.tape import Tape

pytestmark = pytest.mark.anyio


def request(text: str = "go", **fields: Any) -> ModelRequest:
    return ModelRequest(Tape((Message("user", text),)), **fields)


async def replies(model: Model, *requests: ModelRequest) -> list[ModelResponse]:
    found: list[ModelResponse] = []
    for one in requests:
        found += [event.response async for event in model.stream(one) if isinstance(event, ResponseCompleted)]
    return found


async def test_an_equal_request_is_answered_from_the_cache() -> None:
    model = ScriptedModel([call("add", x=1), "two"])
    cached = CachedModel(model, MemoryResponseCache())
    first, again, other = await replies(cached, request(), request(request_id="another", stream=False), request("no"))
    assert (first.usage, again.usage, other.usage) == (Usage(1, 10, 5), Usage(unsent=1), Usage(1, 10, 5))
    assert again.output == first.output and len(model.requests) == 2


TOOL = ToolSpec("f", "says", {"type": "object"})


@pytest.mark.parametrize(
    "other",
    [
        request("go "),
        request(instructions="x"),
        request(tail=(Message("user", "go"),)),
        request(tools=(TOOL,)),
        request(tools=(structs.replace(TOOL, strict=False),)),
        request(output=OutputSpec("o", {"type": "object"})),
        request(settings=ModelSettings(temperature=0.5)),
        request(settings=ModelSettings(extra_headers={"a": "b"})),
        ModelRequest(Tape((Message("user", "g"), Message("user", "o")))),
        ModelRequest(Tape((Message("assistant", "go"),))),
    ],
)
async def test_all_that_is_sent_is_part_of_the_key(other: ModelRequest) -> None:
    model = ScriptedModel(["one", "two"])
    found = await replies(CachedModel(model, MemoryResponseCache()), request(), other)
    assert [one.text for one in found] == ["one", "two"]


async def test_how_it_is_sent_is_not() -> None:
    model = ScriptedModel(["one"])
    other = request(settings=ModelSettings(retry=ModelRetrySettings(max_retries=7)), stream=True, request_id="r")
    assert [one.text for one in await replies(CachedModel(model, MemoryResponseCache()), request(), other)] == ["one", "one"]


async def test_other_models_and_namespaces_have_entries_of_their_own() -> None:
    cache = MemoryResponseCache()
    models = [
        CachedModel(ScriptedModel(["one"]), cache),
        CachedModel(ScriptedModel(["two"], name="b"), cache),
        CachedModel(ScriptedModel(["three"]), cache, namespace="c"),
    ]
    assert [(await replies(model, request()))[0].text for model in models] == ["one", "two", "three"]


@pytest.mark.parametrize(
    "reply",
    [
        ModelResponse((Message("assistant", "half"),), finish="length"),
        ModelResponse((Message("assistant", "hm"),), finish="content_filter"),
        ModelResponse((Message("assistant", "hm"),), finish="unknown"),
        ModelResponse((Message("assistant", (Refusal("no"),)),)),
        ModelResponse((Message("assistant", " "),)),
        ModelResponse(()),
    ],
)
async def test_what_is_no_whole_reply_is_not_kept(reply: ModelResponse) -> None:
    model = ScriptedModel([reply, "whole"])
    assert (await replies(CachedModel(model, MemoryResponseCache()), request(), request()))[1].text == "whole"


async def test_an_error_is_not_kept() -> None:
    cached = CachedModel(ScriptedModel([RateLimitError("busy"), "fine"]), MemoryResponseCache())
    with pytest.raises(RateLimitError):
        await replies(cached, request())
    assert (await replies(cached, request()))[0].text == "fine"


async def test_a_streamed_request_gets_the_deltas_of_a_kept_reply() -> None:
    cached = CachedModel(ScriptedModel(["all of it"]), MemoryResponseCache())
    await replies(cached, request())
    events = [event async for event in cached.stream(request(stream=True))]
    assert "".join(event.delta for event in events if isinstance(event, OutputTextDelta)) == "all of it"


async def test_a_run_that_is_made_again_asks_nobody_and_limits_count_nothing() -> None:
    @function_tool(effect="none")
    def add(x: int) -> str:
        return f"it is {x}"

    model = ScriptedModel([call("add", x=1), "one"])
    agent = Agent[None, str]("main", model=CachedModel(model, MemoryResponseCache()), tools=[add])
    config = RunConfig(limits=RunLimits(requests=2, turns=9))
    first = await Runner.run(agent, "go", run_config=config)
    again = await Runner.run(agent, "go", run_config=config)
    assert (first.usage, again.usage, len(model.requests)) == (Usage(2, 20, 10), Usage(unsent=2), 2)
    assert again.to_input_list() == first.to_input_list() and again.final_output == "one"


class Broken:
    def __init__(self, value: str | None = None) -> None:
        self.value = value

    async def get(self, key: str) -> str | None:
        if self.value is None:
            raise OSError("away")
        return self.value

    async def set(self, key: str, value: str) -> None:
        raise OSError("full")


@pytest.mark.parametrize("cache", [Broken(), Broken("no reply"), Broken('{"output": 7}')], ids=["away", "torn", "wrong"])
async def test_a_cache_that_fails_is_passed_over_and_said(cache: Broken, caplog: pytest.LogCaptureFixture) -> None:
    cached = CachedModel(ScriptedModel(["one", "two"]), cache)
    assert [one.text for one in await replies(cached, request(), request())] == ["one", "two"]
    assert "gave no reply" in caplog.text and "did not keep" in caplog.text


async def test_the_least_used_goes_first() -> None:
    cache = MemoryResponseCache(2)
    await cache.set("a", "1")
    await cache.set("b", "2")
    assert await cache.get("a") == "1"
    await cache.set("c", "3")
    assert [await cache.get(key) for key in "abc"] == ["1", None, "3"]
    assert repr(cache) == "MemoryResponseCache(2 of 2)"


async def test_a_file_keeps_replies_for_the_next_process(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    first, second = SQLiteResponseCache(path, max_entries=2), SQLiteResponseCache(path, max_entries=2)
    said = ModelResponse((Message("assistant", "one"), FunctionCall("c", "f", "{}")), Usage(1, 10, 5), "tool_calls", "r", "m")
    await replies(CachedModel(ScriptedModel([said]), first), request())
    await first.aclose()
    (known,) = await replies(CachedModel(ScriptedModel([]), second), request())
    assert known == structs.replace(said, usage=Usage(unsent=1))
    await second.set("a", "1")
    await second.set("a", "2")
    assert await second.get("a") == "2"
    (known,) = await replies(CachedModel(ScriptedModel([]), second), request())
    await second.set("b", "3")
    assert (await second.get("a"), await second.get("b")) == (None, "3"), "the least used has gone"
    assert repr(second) == f"SQLiteResponseCache({str(path)!r})"
    await second.aclose()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: CachedModel("gpt", MemoryResponseCache()), "expected a model"),  # type: ignore[arg-type]
        (lambda: CachedModel(ScriptedModel([]), {}), "expected a ResponseCache"),  # type: ignore[arg-type]
        (lambda: CachedModel(ScriptedModel([]), MemoryResponseCache(), namespace=7), "expected a str"),  # type: ignore[arg-type]
        (lambda: MemoryResponseCache(0), "max_entries=0"),
        (lambda: SQLiteResponseCache("x.db", max_entries=0), "max_entries=0"),
        (lambda: SQLiteResponseCache(""), "db_path"),
    ],
)
async def test_what_is_given_wrong_is_a_user_error(make: Any, words: str) -> None:
    with pytest.raises(UserError, match=words):
        make()


def test_its_repr_names_both() -> None:
    assert repr(CachedModel(ScriptedModel([]), MemoryResponseCache())) == (
        "CachedModel(ScriptedModel(0 replies, 0 given), MemoryResponseCache(0 of 1000))"
    )
