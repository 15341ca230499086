"""Counting tokens: texts as tiktoken counts them, items and requests as providers bill them."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import random
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsdk.models import encodings, token_counter
from agentsdk.models.token_counter import EstimatingCounter, TiktokenCounter, token_counter_for
from agentsdk.ports.token_counter import TokenCounter
from agentsdk.types.errors import UserError
from agentsdk.types.items import (
    FunctionCall,
    FunctionCallOutput,
    InputAudio,
    InputFile,
    InputImage,
    InputText,
    InputVideo,
    Item,
    Message,
    OutputText,
    Part,
    ProviderItem,
    Reasoning,
    Refusal,
)
from agentsdk.types.spec import HandoffSpec, OutputSpec, ToolSpec
from tests.models.rank_files import ENCODINGS, needs_rank_files, tiktokens_own

pytestmark = pytest.mark.anyio

MESSAGE = 4
SHORT = r"""
the of Paris don't WE'LL you're snake_case camelCase HTTPServer , . ; :: -> != // /* */ {} [] () 7 42 1234567 aGVsbG8gd29ybGQ=
<|endoftext|> <|fim_prefix|> <|endofprompt|> <|im_start|> <|start|> <| 中文 日本語 한국어 Привет العربية हिन्दी ไทย ñandú
İstanbul ß ﬁ Ⅷ ½ ² 😀 👨‍👩‍👧 👍🏽 🇩🇪 ❤️ https://example.com/a?b=c&d=%20#e
"""
FRAGMENTS = [
    *SHORT.split(),
    *("\n", "\n \n", "\n\n", "\t", "\r\n", " ", "  ", " " * 16, "e\u0301", "\u200b", "\ufeff", "\u2028", "\x00", "\x1b"),
    '{"id": 17, "ok": true, "tags": ["a", null]}',
    "def f(x: int) -> str:\n    return f'{x!r}'\n",
]


def random_text(chance: random.Random, fragments: int) -> str:
    """Words, code, JSON, emoji, look-alikes of special tokens, and any character there is, in any order."""
    parts = []
    for _ in range(fragments):
        kind = chance.random()
        if kind < 0.6:
            parts.append(chance.choice(FRAGMENTS))
        elif kind < 0.8:
            parts.append("".join(chance.choices("abcdefghijklmnopqrstuvwxyzABCDEF \n'", k=chance.randrange(1, 12))))
        else:
            parts.append("".join(map(chr, chance.choices(range(0x110000), k=chance.randrange(1, 6)))))
        parts.append(chance.choice(["", "", " ", "\n"]))
    return "".join(parts)


async def text_tokens(counter: TokenCounter, texts: list[str]) -> list[int]:
    return [tokens - MESSAGE for tokens in await counter.count([Message("user", text) for text in texts])]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tiktoken")


@needs_rank_files
@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_a_thousand_random_texts_are_counted_as_by_tiktoken(encoding: str, folder: Path) -> None:
    chance = random.Random(encoding)
    texts = [random_text(chance, chance.randrange(0, 40)) for _ in range(1_000)]
    own = tiktokens_own(encoding, folder)
    counter = TiktokenCounter(encoding)
    assert await text_tokens(counter, texts) == [len(own.encode(text, disallowed_special=())) for text in texts]
    assert [(await text_tokens(counter, [text]))[0] for text in texts[:50]] == (await text_tokens(counter, texts))[:50]


@needs_rank_files
@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_long_texts_are_cut_where_it_changes_nothing(encoding: str, folder: Path) -> None:
    chance = random.Random(encoding)
    texts = [random_text(chance, 10_000) for _ in range(6)]
    texts += ["word " * 30_000, "word\n" * 30_000, "line ends. \n \nNext  one's\n" * 5_000, "def f():\n    return 1\n" * 5_000]
    own = tiktokens_own(encoding, folder)
    assert min(map(len, texts)) > 3 * token_counter.PIECE_CHARACTERS
    expected = [len(own.encode(text, disallowed_special=())) for text in texts]
    assert await text_tokens(TiktokenCounter(encoding), texts) == expected


@needs_rank_files
@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_long_texts_without_a_place_to_cut_are_counted_almost_as_by_tiktoken(encoding: str, folder: Path) -> None:
    """A million spaces make tiktoken panic when it gets them at once."""
    chance = random.Random(1)
    own = tiktokens_own(encoding, folder)
    texts = [
        *("a" * 100_000, "中" * 50_000, "^" * 50_000, "\n" * 50_000, "😀" * 30_000),
        base64.b64encode(chance.randbytes(60_000)).decode(),
    ]
    counted = await text_tokens(TiktokenCounter(encoding), [" " * 1_000_000, *texts])
    assert 0 < counted[0] < 10_000
    for tokens, text in zip(counted[1:], texts, strict=True):
        cuts = len(text) // token_counter.PIECE_CHARACTERS
        assert abs(tokens - len(own.encode_ordinary(text))) <= 2 * cuts


ESTIMATED: list[tuple[Item, list[str], int]] = [
    (Message("user", "Hello there"), ["Hello there"], 4),
    (Message("assistant", (OutputText("one"), Refusal("two"))), ["one", "two"], 4),
    (FunctionCall("call_17", "get_weather", '{"city":"Rome"}'), ["get_weather", '{"city":"Rome"}'], 9),
    (FunctionCallOutput("call_17", "sunny"), ["sunny"], 8),
    (FunctionCallOutput("call_17", (InputText("sunny"), InputImage(file_id="f"))), ["sunny"], 8 + 765),
    (Reasoning("I think", ("I think",)), ["I think"], 4),
    (Reasoning(summary=("One.", "Two.")), ["One.\n\nTwo."], 4),
    (Reasoning(text="a summary", encrypted="x" * (824 + 700)), [], 4 + 100),
    (Reasoning(encrypted="x" * 100), [], 4),
    (Reasoning("I think", signature="s" * 500, provider="anthropic"), ["I think"], 4),
    (ProviderItem("openai", {"type": "web_search_call", "id": "w"}), ['{"type":"web_search_call","id":"w"}'], 4),
]


@pytest.mark.parametrize(("item", "texts", "more"), ESTIMATED)
async def test_an_item_counts_its_texts_and_what_surrounds_them(item: Item, texts: list[str], more: int) -> None:
    counter = EstimatingCounter()
    assert await counter.count([item]) == [sum(await text_tokens(counter, texts)) + more]


async def test_each_item_has_its_number() -> None:
    counter = EstimatingCounter()
    items = [item for item, _, _ in ESTIMATED]
    assert await counter.count(items) == [(await counter.count([item]))[0] for item in items]
    assert await counter.count([]) == []


def picture(width: int, height: int) -> str:
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)
    return "data:image/png;base64," + base64.b64encode(head + bytes(20)).decode()


MEDIA: list[tuple[Part, int]] = [
    (InputImage(picture(4096, 8192), detail="low"), 85),
    (InputImage(picture(1024, 1024), detail="high"), 765),
    (InputImage(picture(2048, 4096), detail="high"), 1105),
    (InputImage(picture(512, 512)), 255),
    (InputImage(picture(1, 1)), 255),
    (InputImage(picture(1, 100_000)), 85 + 170 * 4),
    (InputImage("https://example.com/a.png"), 765),
    (InputImage("data:image/png;base64,ünreadable!"), 765),
    (InputImage("data:image/bmp;base64,Qk0="), 765),
    (InputImage(), 765),
    (InputAudio(base64.b64encode(bytes(48_000)).decode(), "wav"), 10),
    (InputAudio(base64.b64encode(bytes(16_000)).decode(), "mp3"), 10),
    (InputVideo("data:video/mp4;base64," + base64.b64encode(bytes(4_300)).decode()), 10),
    (InputVideo("https://example.com/a.mp4"), 17_400),
    (InputFile("data:application/pdf;base64," + base64.b64encode(bytes(30_000)).decode()), 1_000),
    (InputFile(base64.b64encode(bytes(30_000)).decode()), 1_000),
    (InputFile(file_id="file_1"), 2_000),
    (InputFile(file_url="https://example.com/a.pdf"), 2_000),
]


@pytest.mark.parametrize(("part", "tokens"), MEDIA)
async def test_images_audio_and_files(part: Part, tokens: int) -> None:
    assert await EstimatingCounter().count([Message("user", (part,))]) == [MESSAGE + tokens]


async def test_a_text_file_counts_as_its_text() -> None:
    text = "Hello there, " * 50
    url = "data:text/plain;base64," + base64.b64encode(text.encode()).decode()
    counter = EstimatingCounter()
    file, same = await counter.count([Message("user", (InputFile(url),)), Message("user", text)])
    assert file == same


def tool(name: str) -> ToolSpec:
    return ToolSpec(name, "A tool.", {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})


TOOLS = (tool("weather"), HandoffSpec("to_sales", "Sales.", {}, "sales"))
OUTPUT = OutputSpec("answer", {"type": "object", "properties": {"city": {"type": "string"}}})


async def test_what_every_request_carries() -> None:
    counter = EstimatingCounter()
    nothing = await counter.count_fixed("", (), None)
    told = await counter.count_fixed("Be brief.", (), None)
    with_tools = await counter.count_fixed("Be brief.", TOOLS, None)
    everything = await counter.count_fixed("Be brief.", TOOLS, OUTPUT)
    assert nothing == 3
    assert told == nothing + (await counter.count([Message("system", "Be brief.")]))[0]
    assert told + 20 < with_tools < told + 80
    assert with_tools + 10 < everything < with_tools + 60


async def test_the_same_declarations_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []

    def noted(text: str) -> int:
        texts.append(text)
        return len(text)

    monkeypatch.setattr(token_counter, "estimate_tokens", noted)
    counter = EstimatingCounter()
    first = await counter.count_fixed("Be brief.", TOOLS, OUTPUT)
    assert len(texts) == 3
    assert await counter.count_fixed("Be brief.", TOOLS, OUTPUT) == first
    assert len(texts) == 3
    await counter.count_fixed("Be brief!", TOOLS, OUTPUT)
    assert texts[3:] == ["Be brief!"]
    for number in range(500):
        tools = (tool(f"tool_{number}" + "_" * (number % 7)),)  # short-lived: ids come again
        assert await counter.count_fixed("", tools, None) == await EstimatingCounter().count_fixed("", tools, None)
    assert len(counter._known) <= token_counter._REMEMBERED


def finished_at_once(coroutine: Any) -> bool:
    """Whether a coroutine ends without ever waiting."""
    try:
        coroutine.send(None)
    except StopIteration:
        return True
    coroutine.close()
    return False


async def test_little_text_is_counted_at_once_and_much_on_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()

    def noted(text: str) -> int:
        threads.add(threading.get_ident())
        assert len(text) <= token_counter.PIECE_CHARACTERS
        return len(text)

    monkeypatch.setattr(token_counter, "estimate_tokens", noted)
    counter = EstimatingCounter()
    here = {threading.get_ident()}
    at_once = [Message("user", "a" * (token_counter.INLINE_CHARACTERS // 4))] * 4
    assert finished_at_once(counter.count(at_once)) and threads == here
    threads.clear()
    assert sum(await counter.count([*at_once, Message("user", "a")])) == token_counter.INLINE_CHARACTERS + 1 + 5 * MESSAGE
    assert threads and not threads & here
    assert (await text_tokens(counter, ["a" * 100_000])) == [100_000]


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Event, threading.Event, list[str]]]:
    """Counting that waits in its first piece: begun, may go on, the pieces counted."""
    begun, go_on = threading.Event(), threading.Event()
    pieces: list[str] = []

    def counting(text: str) -> int:
        pieces.append(text)
        begun.set()
        assert go_on.wait(30)
        return 1

    monkeypatch.setattr(token_counter, "estimate_tokens", counting)
    yield begun, go_on, pieces
    go_on.set()


async def test_a_count_that_is_cancelled_counts_no_further(held: tuple[threading.Event, threading.Event, list[str]]) -> None:
    begun, go_on, pieces = held
    task = asyncio.create_task(EstimatingCounter().count([Message("user", "a" * 200_000)]))
    assert await asyncio.to_thread(begun.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    await asyncio.get_running_loop().shutdown_default_executor()
    assert len(pieces) == 1


@needs_rank_files
async def test_counters_for_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert [repr(token_counter_for(name)) for name in ("gpt-5", "openai:gpt-4", "claude-sonnet-4-5")] == [
        "TiktokenCounter('o200k_base')",
        "TiktokenCounter('cl100k_base')",
        "EstimatingCounter()",
    ]
    assert [token_counter_for(name).is_exact for name in ("gpt-5", "claude-sonnet-4-5")] == [True, False]


async def test_without_a_rank_file_the_count_is_an_estimate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(encodings, "_CARRIERS", ())
    monkeypatch.setattr(encodings, "_loads", {})
    assert not token_counter_for("gpt-5").is_exact
    with pytest.raises(UserError, match=r"'o200k_base' has no rank file"):
        TiktokenCounter()
    asked_for = token_counter_for("gpt-5", download_from="http://127.0.0.1:9")
    assert asked_for.is_exact
    errors = await asyncio.gather(*(asked_for.count([Message("user", "a")]) for _ in range(2)), return_exceptions=True)
    assert [type(error) for error in errors] == [UserError] * 2
    assert errors[0] is not errors[1], "a run marks its error with its state"


async def test_no_such_encoding() -> None:
    with pytest.raises(UserError, match="no encoding is called 'gpt2'"):
        TiktokenCounter("gpt2")


FOLDER = os.environ.get("AGENTSDK_RECORDINGS", "")


def recorded() -> list[Any]:
    """Every request to OpenAI whose prompt the provider counted, without tools of its own."""
    found = []
    for path in sorted(Path(FOLDER).glob("*.json")) if FOLDER else []:
        for number, one in enumerate(json.loads(path.read_text(encoding="utf-8"))["interactions"]):
            asked, tokens = one["request"].get("json") or {}, prompt_tokens(one["response"])
            if not tokens or "api.openai.com" not in one["request"]["uri"]:
                continue
            if all(declared["type"] == "function" for declared in asked.get("tools") or ()):
                found.append(pytest.param(asked, tokens, id=f"{path.stem.removeprefix('models__')}-{number}"))
    return found


def prompt_tokens(response: dict[str, Any]) -> int:
    """As the answer's usage has it; 0 without one."""
    lines = [line[6:] for line in response.get("text", "").splitlines() if line.startswith("data: {")]
    for answer in [response.get("json") or {}, *map(json.loads, reversed(lines))]:
        usage = answer.get("usage") or (answer.get("response") or {}).get("usage") or {}
        if tokens := usage.get("prompt_tokens") or usage.get("input_tokens"):
            return int(tokens)
    return 0


def items_of(entries: list[dict[str, Any]]) -> Iterator[Item]:
    for entry in entries:
        match entry.get("type"):
            case "function_call":
                yield FunctionCall(entry["call_id"], entry["name"], entry["arguments"])
            case "function_call_output":
                yield FunctionCallOutput(entry["call_id"], entry["output"])
            case "reasoning":
                yield Reasoning(encrypted=entry["encrypted_content"])
            case _ if entry["role"] == "tool":
                yield FunctionCallOutput(entry["tool_call_id"], entry["content"])
            case _:
                content = entry.get("content") or ""
                text = content if isinstance(content, str) else "".join(part["text"] for part in content)
                calls = entry.get("tool_calls") or ()
                if text or not calls:
                    yield Message(entry["role"], text)
                for call in calls:
                    yield FunctionCall(call["id"], call["function"]["name"], call["function"]["arguments"])


@needs_rank_files
@pytest.mark.skipif(not FOLDER, reason="AGENTSDK_RECORDINGS is not set")
@pytest.mark.parametrize(("asked", "tokens"), recorded())
async def test_whole_requests_are_counted_about_as_they_were_billed(asked: dict[str, Any], tokens: int) -> None:
    declared = [one.get("function", one) for one in asked.get("tools") or ()]
    tools = tuple(ToolSpec(one["name"], one.get("description") or "", one["parameters"]) for one in declared)
    form = (asked.get("response_format") or {}).get("json_schema") or (asked.get("text") or {}).get("format")
    output = OutputSpec(form["name"], form["schema"]) if form else None
    counter = token_counter_for(asked["model"])
    counts = await counter.count(list(items_of(asked.get("messages") or asked["input"])))
    counted = await counter.count_fixed(asked.get("instructions") or "", tools, output) + sum(counts)
    print(f"{asked['model']}: counted {counted}, billed {tokens}, {counted - tokens:+d} ({counted / tokens - 1:+.0%})")
    assert counter.is_exact
    if asked.get("instructions") == "":
        pytest.skip("given empty instructions, gpt-4o was billed about 210 tokens that nobody sent")
    slack = 70 if output else 12  # a schema's braces and `additionalProperties` are billed for less than they would be as text
    assert abs(counted - tokens) <= max(slack, tokens // 20)
