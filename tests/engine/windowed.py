"""A model behind a socket that turns page after page, and counts as it likes: what the tests of windows share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx

from agentsdk import Agent, ContextWindow, OpenAIChatCompletionsModel, RunConfig, RunState, function_tool
from agentsdk.context_window import EstimatingCounter
from agentsdk.testing import CapturedRequest, FakeOpenAIServer, call
from agentsdk.testing.scripted import Say
from agentsdk.testing.server import ServerReply
from agentsdk.types.events import RunEvent

SUMMARY = "The user wants every page to be read. The pages so far were read; none of them said anything new."


def page_text(number: int) -> str:
    """2 KB that no other page says."""
    return f"page {number}, DOC-{number * 7919}: " + " ".join(f"{word} {number * word % 997}" for word in range(1, 250))


@function_tool(effect="none")
def page(number: int) -> str:
    """Read a page."""
    return page_text(number)


class Reader:
    """What the model says: it asks for one page after the other, and then says `last`. `summary` gives what it sums up as."""

    def __init__(self, pages: int, last: str = "all read", summary: Callable[[], Say | ServerReply] = lambda: SUMMARY) -> None:
        self.pages = pages
        self.read = 0
        self.summaries = 0
        self.broken: list[str] = []
        self.seen: list[list[dict[str, Any]]] = []
        """The messages of each request that was not for a summary."""
        self._last = last
        self._summary = summary

    def __call__(self, request: CapturedRequest) -> Say | ServerReply:
        messages: list[dict[str, Any]] = request.json["messages"]
        if messages[0]["content"].startswith("You sum up"):
            self.summaries += 1
            return self._summary()
        self.broken += broken_pairs(messages)
        self.seen.append(messages)
        if self.read == self.pages:
            return self._last
        self.read += 1
        return call("page", number=self.read)


def broken_pairs(messages: Sequence[dict[str, Any]]) -> list[str]:
    """The calls without a result right behind them, and the results without a call."""
    broken: list[str] = []
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] in waiting:
                waiting.remove(message["tool_call_id"])
            else:
                broken.append(message["tool_call_id"])
            continue
        broken += waiting
        waiting = [made["id"] for made in message.get("tool_calls", ())]
    return broken + waiting


@asynccontextmanager
async def serving(
    says: Callable[[CapturedRequest], Any], context_window: int
) -> AsyncIterator[tuple[FakeOpenAIServer, OpenAIChatCompletionsModel]]:
    """A server that refuses what is longer than its window, and the model at it."""
    async with FakeOpenAIServer([says] * 1_000, context_window=context_window) as server, httpx.AsyncClient() as client:
        yield server, OpenAIChatCompletionsModel("gpt-test", base_url=server.base_url, api_key="none", http_client=client)


def reading(model: Any, **fields: Any) -> Agent[Any, str]:
    return Agent("reader", model=model, instructions="Read every page.", tools=[page], **fields)


def windowed(size: int | None, *strategies: Any, **options: Any) -> RunConfig:
    window: dict[str, Any] = {"strategies": strategies} if strategies else {}
    window |= {name: options.pop(name) for name in ("reserve", "pin", "trigger", "target") if name in options}
    return RunConfig(window=ContextWindow(size=size, **window), token_counter=EstimatingCounter(), **options)


def of_kind(state: RunState, kind: type[RunEvent]) -> list[Any]:
    return [event for event in state.value.log if isinstance(event, kind)]
