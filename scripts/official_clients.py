"""Drive the test kit's fake servers with the providers' own client libraries: do the fakes speak the real protocol?

Makes `.venv-clients` with the clients of PyPI, and prints a line per client and mode. Exit status 1 on a difference.
`--install` makes the environment only: `official_types.py` runs in it too, for the tests.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
HOME = ROOT / ".venv-clients"
PACKAGES = ["openai==3.54.0", "anthropic==2.12.0", "google-genai==3.4.0"]  # exact, so that one commit has one answer
MESSAGES: list[Any] = [{"role": "user", "content": "hi"}]


class Read(NamedTuple):
    """What a client made of a reply."""

    text: str
    reasoning: str
    calls: list[tuple[str, Any]]
    finish: str
    tokens: tuple[int, int]


def said(finish: str) -> Read:
    """What each fake server is told to say, ended with its provider's word for it."""
    return Read("I look.", "Hm so", [("add", {"a": 1}), ("add", {"a": 2})], finish, (10, 5))


def script() -> list[Any]:
    """A reply for each mode, and for each a refusal."""
    from agentsdk.testing import ServerReply, call
    from agentsdk.types.items import Message, Reasoning

    reply = [Reasoning("Hm so", signature="c2lnbmVk"), Message("assistant", "I look."), call("add", a=1), call("add", a=2)]
    told = {"message": "slow down", "type": "rate_limit_error", "code": 429, "status": "RESOURCE_EXHAUSTED"}
    refusal = ServerReply(status=429, body={"type": "error", "error": told})
    return [reply, reply, refusal, refusal]


def checked(value: Any) -> Any:
    """`value`, if it holds all that the client's own type demands: these clients take any shape without a word."""
    type(value).model_validate(value.to_dict())
    return value


async def chat(base_url: str, streamed: bool) -> Read:
    """OpenAI's client on chat completions."""
    import openai

    async with openai.AsyncOpenAI(base_url=base_url, api_key="k", max_retries=0) as client:
        if streamed:
            async with client.chat.completions.stream(
                model="m", messages=MESSAGES, stream_options={"include_usage": True}
            ) as stream:
                async for event in stream:
                    if event.type == "chunk":
                        checked(event.chunk)
                answer: Any = await stream.get_final_completion()
        else:
            answer = checked(await client.chat.completions.create(model="m", messages=MESSAGES))
    choice, usage = answer.choices[0], answer.usage
    calls = [(one.function.name, json.loads(one.function.arguments)) for one in choice.message.tool_calls]
    tokens = (usage.prompt_tokens, usage.completion_tokens)
    return Read(choice.message.content, choice.message.reasoning_content, calls, choice.finish_reason, tokens)


async def responses(base_url: str, streamed: bool) -> Read:
    """OpenAI's client on the Responses API."""
    import openai

    async with openai.AsyncOpenAI(base_url=base_url, api_key="k", max_retries=0) as client:
        if streamed:
            async for event in await client.responses.create(model="m", input="hi", stream=True):
                checked(event)
                if event.type == "response.completed":
                    answer: Any = event.response
        else:
            answer = checked(await client.responses.create(model="m", input="hi"))
    thoughts = [part.text for item in answer.output if item.type == "reasoning" for part in item.summary]
    calls = [(item.name, json.loads(item.arguments)) for item in answer.output if item.type == "function_call"]
    return Read(
        answer.output_text, "".join(thoughts), calls, answer.status, (answer.usage.input_tokens, answer.usage.output_tokens)
    )


async def anthropic(base_url: str, streamed: bool) -> Read:
    """Anthropic's client on messages."""
    from anthropic import AsyncAnthropic

    async with AsyncAnthropic(base_url=base_url, api_key="k", max_retries=0) as client:
        if streamed:
            async with client.messages.stream(model="m", max_tokens=9, messages=MESSAGES) as stream:
                async for event in stream:
                    checked(event)
                answer: Any = await stream.get_final_message()
        else:
            answer = checked(await client.messages.create(model="m", max_tokens=9, messages=MESSAGES))
    return Read(
        "".join(block.text for block in answer.content if block.type == "text"),
        "".join(block.thinking for block in answer.content if block.type == "thinking"),
        [(block.name, block.input) for block in answer.content if block.type == "tool_use"],
        answer.stop_reason,
        (answer.usage.input_tokens, answer.usage.output_tokens),
    )


async def google(base_url: str, streamed: bool) -> Read:
    """Google's client, whose types refuse what they do not know."""
    from google import genai
    from google.genai import types

    client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=base_url))
    models = client.aio.models
    if streamed:
        chunks = [chunk async for chunk in await models.generate_content_stream(model="m", contents="hi")]
    else:
        chunks = [await models.generate_content(model="m", contents="hi")]
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts]
    usage, finish = chunks[-1].usage_metadata, chunks[-1].candidates[0].finish_reason
    return Read(
        "".join(part.text for part in parts if part.text and not part.thought),
        "".join(part.text for part in parts if part.text and part.thought),
        [(part.function_call.name, part.function_call.args) for part in parts if part.function_call],
        finish.value,
        (usage.prompt_token_count, usage.candidates_token_count),
    )


Ask = Callable[[str, bool], Awaitable[Read]]


async def compare(ask: Ask, package: str, server_name: str, finish: str, refusal: str) -> bool:
    """Whether the client reads what the fake server was told to say, streamed and not."""
    from agentsdk import testing

    equal = True
    async with getattr(testing, server_name)(script()) as server:
        for number in range(4):
            streamed = number % 2 == 1
            due: object = said(finish) if number < 2 else refusal
            try:
                found: object = await ask(server.base_url, streamed)
            except Exception as error:
                found = type(error).__name__ if number >= 2 else error
            mode = f"{'streamed' if streamed else 'whole'}{', refused' if number >= 2 else ''}"
            same = found == due
            equal = equal and same
            outcome = "equal" if same else f"DIFFERENT: {found!r} instead of {due!r}"
            print(f"{package} {version(package)} on {server_name}, {mode}: {outcome}", flush=True)
    return equal


async def drive() -> bool:
    """Every client, on after the other."""
    return all(
        [
            await compare(chat, "openai", "FakeOpenAIServer", "tool_calls", "RateLimitError"),
            await compare(responses, "openai", "FakeResponsesServer", "completed", "RateLimitError"),
            await compare(anthropic, "anthropic", "FakeAnthropicServer", "tool_use", "RateLimitError"),
            await compare(google, "google-genai", "FakeGoogleServer", "STOP", "ClientError"),
        ]
    )


def main() -> int:
    """Exit status, from within the environment of the clients."""
    if Path(sys.prefix) == HOME:
        return 0 if asyncio.run(drive()) else 1
    inside, stamp = HOME / "bin" / "python", HOME / ".done"
    if not stamp.exists() or stamp.stat().st_mtime < (ROOT / "pyproject.toml").stat().st_mtime:
        print(f"environment {HOME.name}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(HOME)], check=True)
        subprocess.run([str(inside), "-m", "pip", "install", "--quiet", "--editable", str(ROOT), *PACKAGES], check=True)
        stamp.touch()
    return 0 if "--install" in sys.argv[1:] else subprocess.run([str(inside), __file__], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
