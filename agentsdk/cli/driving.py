"""What commands that drive a run share: the config, words as they come, how a run stands in the end, and the exit code."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentsdk.cli.codes import FAILED, OK, WAITS
from agentsdk.cli.given import load_config, load_object, open_store
from agentsdk.cli.shown import one_line, plain, print_json, spent, took
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import AgentsException, RunConflictError, RunNotFoundError, UserError

if TYPE_CHECKING:
    from agentsdk.define.agent import Agent
    from agentsdk.define.run_config import RunConfig
    from agentsdk.ports.run_store import RunStore
    from agentsdk.result import RunResult, RunResultStreaming


def load_agent(name: str) -> Agent[Any, Any]:
    """The agent called so. Raises `UserError` for what is none."""
    from agentsdk.define.agent import Agent

    found = load_object(name)
    if not isinstance(found, Agent):
        raise UserError(f"{name!r} is a {type(found).__name__!r}, expected an Agent; name one")
    return found  # pyright: ignore[reportUnknownVariableType]


@asynccontextmanager
async def opened(
    store: str, config: str, model: str = "", run_id: str = "", *, opener: Callable[[str], RunStore] = open_store
) -> AsyncGenerator[RunConfig]:
    """The config of a run, with its store where one is given; closed at the end, and the clients of models too."""
    from agentsdk.models.shared_client import aclose

    made = load_config(config or None, None)
    kept: RunStore | None = opener(store) if store else None
    try:
        changes: dict[str, Any] = {"store": kept} if kept is not None else {}
        changes |= {"model": model} if model else {}
        changes |= {"run_id": run_id} if run_id else {}
        yield replace(made, **changes)
    finally:
        if kept is not None:
            await kept.aclose()
        await aclose()


def driven(work: Callable[[], Awaitable[int]]) -> int:
    """Run a command's work: an error of a run is told, and is exit code 1; what was given wrong is 2."""

    async def main() -> int:
        return await work()

    try:
        return asyncio.run(main())
    except (UserError, RunNotFoundError, RunConflictError):
        raise
    except AgentsException as error:
        print(f"agentsdk: {type(error).__name__}: {plain(str(error))}", file=sys.stderr)
        return FAILED


async def told(stream: RunResultStreaming[Any], say: Callable[[str], object]) -> None:
    """Give the words of a run as they come, and a line for each call and each result."""
    from agentsdk.define.stream_events import AgentUpdatedStreamEvent, RawResponsesStreamEvent, RunItemStreamEvent
    from agentsdk.types.deltas import AttemptDiscarded, OutputTextDelta
    from agentsdk.types.items import FunctionCall

    is_midline, agents = False, 0

    def line(text: str) -> None:
        nonlocal is_midline
        say(f"\n{text}\n" if is_midline else f"{text}\n")
        is_midline = False

    async for event in stream.stream_events():
        match event:
            case RawResponsesStreamEvent(data=OutputTextDelta(delta=words)):
                say(plain(words))
                is_midline = not words.endswith("\n")
            case RawResponsesStreamEvent(data=AttemptDiscarded()):
                line("[the reply was cut off; it is asked for again]")
            case RunItemStreamEvent(name="tool_called") if isinstance(event.item.raw_item, FunctionCall):
                call = event.item.raw_item
                line(f"[{plain(call.name)} {one_line(call.arguments)}]")
            case RunItemStreamEvent(name="tool_output"):
                line(f"[-> {one_line(str(getattr(event.item, 'output', '')))}]")
            case AgentUpdatedStreamEvent():
                agents += 1
                if agents > 1:  # the first is the one that was asked for
                    line(f"[{plain(event.new_agent.name)}]")
            case _:
                pass
    if is_midline:
        say("\n")


def ending(result: RunResult[Any] | RunResultStreaming[Any]) -> JsonObject:
    """How a run stands, as `--json` has it."""
    output: object = result.final_output if result.is_finished else None
    waiting = [
        {"call_id": item.call_id, "path": item.path, "tool": item.tool_name, "arguments": item.arguments}
        for item in result.interruptions
    ]
    return {
        "run_id": result.run_id,
        "status": "finished" if result.is_finished else "waiting",
        "output": output,
        "agent": result.last_agent.name,
        "waiting": waiting,
        "turns": result.turns,
        "input_tokens": result.usage.input_tokens,
        "output_tokens": result.usage.output_tokens,
        "cost": None if result.cost is None else f"{result.cost:f}",
        "seconds": round(result.duration, 3),
    }


def finish(result: RunResult[Any] | RunResultStreaming[Any], json: bool, store: str, printed: bool = False) -> int:
    """Print how a run ended; the exit code."""
    ended = ending(result)
    if json:
        print_json(ended)
    elif result.is_finished:
        if not printed:
            sys.stdout.write(plain(output_text(ended["output"])) + "\n")
    else:
        for item in result.interruptions:
            sys.stdout.write(f"waits: {plain(item.tool_name)} {one_line(item.arguments)} (call {plain(item.call_id)})\n")
        if store:
            sys.stdout.write(f"decide: agentsdk decide {plain(result.run_id)} approve --store {store}\n")
    if not json:
        used = spent(result.usage.total_tokens, result.cost)
        print(f"[{result.turns} turns, {used}, {took(result.duration)}]", file=sys.stderr)
    return OK if result.is_finished else WAITS


def output_text(output: object) -> str:
    """A final output as text: itself, or its JSON."""
    import msgspec

    if isinstance(output, str):
        return output
    dump = getattr(output, "model_dump_json", None)
    return str(dump()) if dump is not None else msgspec.json.encode(output, enc_hook=str).decode()


def given_text(text: str) -> str:
    """The input, from stdin for `-`. Raises `UserError` for none."""
    read = sys.stdin.read() if text == "-" else text
    if not read.strip():
        raise UserError("the input is empty, expected a text; write one, or - and give it on stdin")
    return read
