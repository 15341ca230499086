"""`web_search` and its engines: the two services' own wire forms on a real server, and texts of one's own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk import Agent, Runner, UserError
from agentsdk.errors import ToolError, TransientToolError
from agentsdk.items import FunctionCallOutput
from agentsdk.testing import ScriptedModel, call, no_real_requests
from agentsdk.tools import BraveSearch, SearchResult, TavilySearch, TextSearch, web_search
from tests.local_tools.web_server import page, web_server

pytestmark = pytest.mark.anyio
BRAVE = {"web": {"results": [{"title": "Chairs", "url": "https://a.example/", "description": "Four legs."}]}, "type": "search"}
TAVILY = {"query": "q", "results": [{"title": "Chairs", "url": "https://a.example/", "content": "Four legs.", "score": 0.9}]}
FOUND = [SearchResult("Chairs", "https://a.example/", "Four legs.")]


async def test_a_model_searches() -> None:
    engine = TextSearch({"faq": "Our chairs have four legs. Tables too.", "jobs": "We look for a carpenter."})
    model = ScriptedModel([call("web_search", query="legs of a chair"), "Four."])
    await Runner.run(Agent[Any, str](name="A", model=model, tools=[web_search(engine)]), "How many legs has a chair?")
    (output,) = [item for item in model.requests[1].items if isinstance(item, FunctionCallOutput)]
    assert str(output.output).startswith("1. faq\n   faq\n   Our chairs have four legs.")


async def test_brave_is_asked_in_its_own_form() -> None:
    async with web_server() as web:
        asked = "/search?q=legs+of+chairs&count=3&text_decorations=false"
        web.pages[asked] = page(json.dumps(BRAVE), "application/json")
        assert await BraveSearch("k-1", base_url=f"{web.url}/search").search("legs of chairs", 3) == FOUND
        assert "x-subscription-token: k-1" in web.asked[0].lower()


async def test_tavily_is_asked_in_its_own_form() -> None:
    async with web_server() as web:
        web.pages["/search"] = page(json.dumps(TAVILY), "application/json")
        assert await TavilySearch("k-1", base_url=f"{web.url}/search").search("legs", 3) == FOUND
        assert web.asked[0].startswith("POST /search") and "authorization: bearer k-1" in web.asked[0].lower()


async def test_a_query_is_no_longer_than_the_service_takes() -> None:
    async with web_server() as web:
        with pytest.raises(ToolError):
            await BraveSearch("k", base_url=f"{web.url}/s").search("x" * 5_000, 100)
        query = parse_qs(urlsplit(web.asked[0].split(" ")[1]).query)
        assert (len(query["q"][0]), query["count"]) == (400, ["20"])


@pytest.mark.parametrize("engine", [BraveSearch, TavilySearch])
@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (page("slow down", status="429 Too Many Requests"), TransientToolError, "status 429"),
        (page("no", status="401 Unauthorized"), ToolError, "status 401, expected 200 and results; check the key"),
        (page("<html>"), ToolError, "answered without results"),
        (page('{"web": 3, "results": 3}', "application/json"), ToolError, "answered without results"),
        (page(b"\xff\xff", "application/json"), ToolError, "answered without results"),
    ],
)
async def test_what_a_service_says_wrong_is_a_typed_error_without_the_key(
    engine: type[BraveSearch] | type[TavilySearch], answer: bytes, kind: type[ToolError], said: str
) -> None:
    async with web_server() as web:
        for path in ("/?q=x&count=1&text_decorations=false", "/"):
            web.pages[path] = answer
        with pytest.raises(kind, match=said) as failed:
            await engine("secret-key", base_url=f"{web.url}/").search("x", 1)
    assert "secret-key" not in str(failed.value) and "secret-key" not in repr(engine("secret-key"))


async def test_a_service_that_is_away_may_be_there_later() -> None:
    async with web_server() as web:
        web.pages["/"] = lambda _: web.closing.wait()
        with pytest.raises(TransientToolError, match=r"did not answer within 0\.2 seconds"):
            await TavilySearch("k", base_url=f"{web.url}/", timeout=0.2).search("x", 1)
        gone = web.url
    with pytest.raises(TransientToolError, match="cannot be reached"):
        await TavilySearch("k", base_url=gone).search("x", 1)


@pytest.mark.parametrize("engine", [BraveSearch, TavilySearch])
async def test_no_more_of_an_answer_is_read_than_results_have(engine: type[BraveSearch] | type[TavilySearch]) -> None:
    sent = 0

    async def endless(writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n")
        while sent < 100_000_000:
            writer.write(b" " * 65_536)
            await writer.drain()
            sent += 65_536

    async with web_server() as web:
        for path in ("/?q=x&count=1&text_decorations=false", "/"):
            web.pages[path] = endless
        with pytest.raises(ToolError, match="answered with more than 4000000 bytes"):
            await engine("k", base_url=f"{web.url}/").search("x", 1)
    assert sent < 50_000_000


@pytest.mark.parametrize("engine", [BraveSearch, TavilySearch])
async def test_an_engine_goes_where_models_may_go(engine: type[BraveSearch] | type[TavilySearch]) -> None:
    with no_real_requests(), pytest.raises(UserError, match="no_real_requests"):
        await engine("k").search("x", 1)
    for url in ("ftp://search.example", "https://me:pass@search.example/", "https://search.example/?key=1"):
        with pytest.raises(UserError, match="base_url must be like"):
            engine("k", base_url=url)
    with pytest.raises(UserError, match="api_key holds characters that a header cannot carry") as refused:
        engine("secret\nkey")
    assert "secret" not in str(refused.value)


async def test_the_key_of_the_environment_goes_to_the_service_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRAVE_API_KEY", "from-the-environment")
    async with web_server() as web:
        with pytest.raises(UserError, match="no key for Brave Search: set the environment variable BRAVE_API_KEY"):
            await BraveSearch(base_url=f"{web.url}/").search("x", 1)
        assert web.asked == []


async def test_results_are_one_line_each_and_no_longer_than_is_read() -> None:
    class Chatty:
        name = "chatty"

        async def search(self, query: str, limit: int) -> Sequence[SearchResult]:
            return [SearchResult("a\n2. fake", "https://x.example/", "t" * 5_000), *FOUND, *FOUND]

    text = await ask(Chatty(), results=2)
    lines = text.splitlines()
    assert lines[0] == "1. a 2. fake" and len(lines[2]) < 1_020 and lines[3] == "2. Chairs" and len(lines) == 6
    assert await ask(TextSearch({})) == "Nothing was found."


async def ask(engine: Any, **options: Any) -> str:
    from agentsdk.define.context import ToolContext

    return str(await web_search(engine, **options).invoke(ToolContext[Any](None), {"query": "q"}))


async def test_words_are_found_in_the_forms_that_texts_have_them() -> None:
    engine = TextSearch({"api": "Call sendMail(address).", "de": "Der Urlaub dauert 30 Tage.", "ja": "有給休暇は三十日です"})
    for query, url in (("send mail", "api"), ("休暇", "ja"), ("URLAUB", "de")):
        assert [result.url for result in await engine.search(query, 5)] == [url]
    assert await engine.search("what is it", 5) == []


async def test_a_result_is_the_passage_that_fits_best() -> None:
    filler = "Nothing of interest is said here. " * 100
    engine = TextSearch({"long": f"{filler}The harbour opens at nine.\n{filler}", "other": "A harbour."})
    long, other = sorted(await engine.search("when does the harbour open", 5), key=lambda result: result.url)
    assert "The harbour opens at nine." in long.text and len(long.text) <= 400 and other.text == "A harbour."
    assert len(await engine.search("harbour", 1)) == 1


async def test_texts_with_lone_surrogates_are_searched() -> None:
    engine = TextSearch({"a\ud800": "half \ud83d of a smile"})
    assert [result.url for result in await engine.search("smile \udc00", 5)] == ["a\ud800"]


@given(st.text(), st.dictionaries(st.text(), st.text(), max_size=5), st.integers(1, 10))
async def test_any_query_finds_texts_or_nothing(query: str, texts: dict[str, str], limit: int) -> None:
    found = await TextSearch(texts).search(query, limit)
    assert len(found) <= limit and all(result.url in texts for result in found)
