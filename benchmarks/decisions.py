"""`python -m benchmarks.decisions`: the small measurements behind `docs/decisions.md`, made again on this machine.

Each is the best of several rounds, in microseconds unless it says otherwise: no network, no files, a few seconds in all.
Whole runs are measured by the other modules of this package.
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import time
from collections.abc import Awaitable, Callable, Iterator

import anyio
import msgspec

from agentsdk import function_tool
from agentsdk.core.arguments import parse_arguments
from agentsdk.engine.channel import Channel
from agentsdk.models.admission import Admission
from agentsdk.models.openai_chat.reply import ReplyAssembler
from agentsdk.models.sse import ServerSentEvent, SSEDecoder
from agentsdk.types.tape import Tape

ROUNDS = 7
ITEMS = 10_000


class Value(msgspec.Struct, frozen=True, gc=False):
    """A recorded value."""

    call_id: str
    output: str
    is_error: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Declared:
    """The same as a dataclass."""

    call_id: str
    output: str
    is_error: bool = False


def main() -> None:
    """Measure and print."""
    for name, figure in (
        *kinds_of_data(),
        *asyncio.run(tasks()),
        *asyncio.run(cancelled()),
        *asyncio.run(queues()),
        *asyncio.run(waiters()),
        *tapes(),
        *events_of_a_stream(),
        *fast_paths(),
        *fingerprints(),
    ):
        print(f"{name:<62} {figure:>10,.2f}")


def best(work: Callable[[], object], times: int) -> float:
    """Microseconds for one of the `times` pieces that `work` is."""
    rounds: list[float] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        rounds.append(time.perf_counter() - began)
    return min(rounds) / times * 1e6


async def best_async(work: Callable[[], Awaitable[object]], times: int) -> float:
    """The same of what is awaited."""
    rounds: list[float] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        await work()
        rounds.append(time.perf_counter() - began)
    return min(rounds) / times * 1e6


def kinds_of_data() -> Iterator[tuple[str, float]]:
    """Building, replacing and defining a Struct and a frozen dataclass with slots."""
    value, declared = Value("c", "x"), Declared("c", "x")
    many = range(ITEMS)
    yield "build a Struct", best(lambda: [Value("c", "x") for _ in many], ITEMS)
    yield "build a dataclass", best(lambda: [Declared("c", "x") for _ in many], ITEMS)
    yield "replace a field of a Struct", best(lambda: [msgspec.structs.replace(value, output="y") for _ in many], ITEMS)
    yield "replace a field of a dataclass", best(lambda: [dataclasses.replace(declared, output="y") for _ in many], ITEMS)
    fields = [("call_id", str), ("output", str), ("is_error", bool, False)]
    yield "define a Struct", best(lambda: [msgspec.defstruct("Value", fields, frozen=True, gc=False) for _ in range(50)], 50)
    yield (
        "define a dataclass",
        best(lambda: [dataclasses.make_dataclass("Declared", fields, frozen=True, slots=True) for _ in range(50)], 50),
    )


async def tasks() -> list[tuple[str, float]]:
    """What a task of its own costs a call."""

    async def body() -> None:
        return None

    async def in_place() -> None:
        for _ in range(ITEMS):
            await body()

    async def in_tasks() -> None:
        for _ in range(ITEMS):
            await asyncio.wait([asyncio.create_task(body())])

    return [
        ("await a body in place", await best_async(in_place, ITEMS)),
        ("await a body in a task of its own", await best_async(in_tasks, ITEMS)),
    ]


async def cancelled() -> list[tuple[str, float]]:
    """How long a cancelled caller is held up by a job that goes on for 500 ms all the same; with a grace of 50 ms."""

    async def stubborn() -> None:
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            try:
                await asyncio.sleep(0.02)
            except asyncio.CancelledError:
                pass

    async def by_gather() -> None:
        await asyncio.gather(stubborn())

    async def by_wait() -> None:
        task = asyncio.create_task(stubborn())
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task], timeout=0.05)
            raise

    figures: list[tuple[str, float]] = []
    for name, work in (("gather", by_gather), ("wait with a grace of 50 ms", by_wait)):
        caller = asyncio.create_task(work())
        await asyncio.sleep(0.01)
        began = time.monotonic()
        caller.cancel()
        await asyncio.wait([caller])
        figures.append((f"ms until a cancelled caller is back, {name}", (time.monotonic() - began) * 1000))
        await asyncio.sleep(0.5)
    return figures


async def queues() -> list[tuple[str, float]]:
    """One text delta from the task that runs to the one that reads."""

    async def through_channel() -> None:
        channel = Channel[int](64)

        async def write() -> None:
            for item in range(ITEMS):
                if channel.is_full:
                    await channel.wait_for_room()
                channel.put_nowait(item)
            channel.close()

        writer = asyncio.create_task(write())
        try:
            while True:
                await channel.get()
        except StopAsyncIteration:
            await writer

    async def through_queue() -> None:
        queue: asyncio.Queue[int | None] = asyncio.Queue(64)

        async def write() -> None:
            for item in range(ITEMS):
                await queue.put(item)
            await queue.put(None)

        writer = asyncio.create_task(write())
        while await queue.get() is not None:
            pass
        await writer

    async def through_anyio() -> None:
        send, receive = anyio.create_memory_object_stream[int](64)

        async def write() -> None:
            async with send:
                for item in range(ITEMS):
                    await send.send(item)

        writer = asyncio.create_task(write())
        async with receive:
            async for _ in receive:
                pass
        await writer

    return [
        ("a delta through Channel", await best_async(through_channel, ITEMS)),
        ("a delta through asyncio.Queue", await best_async(through_queue, ITEMS)),
        ("a delta through an anyio memory stream", await best_async(through_anyio, ITEMS)),
    ]


async def waiters() -> list[tuple[str, float]]:
    """Giving up one of many requests that wait for a connection."""

    async def give_up(count: int) -> float:
        admission = Admission(1)
        await admission.enter()
        waiting = [asyncio.create_task(admission.enter()) for _ in range(count)]
        await asyncio.sleep(0)
        began = time.perf_counter()
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
        return (time.perf_counter() - began) / count * 1e6

    return [(f"give up one of {count:,} requests that wait", await give_up(count)) for count in (500, 5_000)]


def tapes() -> Iterator[tuple[str, float]]:
    """Appending an item to a history of 10,000."""
    copied = tuple(range(ITEMS))
    tape = Tape(range(ITEMS))

    def extend() -> None:
        following = tape
        for _ in range(1_000):
            following = following.extended((1,))

    yield "append to a Tape of 10,000 items", best(extend, 1_000)
    yield "append to a tuple of 10,000 items", best(lambda: [(*copied, 1) for _ in range(1_000)], 1_000)


def events_of_a_stream() -> Iterator[tuple[str, float]]:
    """One event of a stream, and how many events a text splitter makes of five that hold U+2028."""
    block = b'data: {"choices":[{"delta":{"content":"one "}}]}\n\n'
    yield "decode an event, 1 of them a chunk", best(lambda: _decoded(block, 1), 1_000)
    yield "decode an event, 20 of them a chunk", best(lambda: _decoded(block * 20, 20), 1_000)
    text = 'data: {"content":"a\u2028b"}\n\n'
    yield "lines of an event that holds U+2028, by str.splitlines", float(len(text.rstrip().splitlines()))
    yield "lines of it, by the decoder", float(len(SSEDecoder().feed(text.encode())))


def _decoded(chunk: bytes, events: int) -> None:
    decoder = SSEDecoder()
    for _ in range(1_000 // events):
        decoder.feed(chunk)


def fast_paths() -> Iterator[tuple[str, float]]:
    """What nearly all arguments and text deltas go through, and the path that takes any."""
    plain = '{"order":1815,"reason":"the customer asked for it","notify":true,"address":{"city":"London","zip":"W1"}}'
    escaped = plain.replace("customer", "\\u0063ustomer")
    many = range(1_000)
    yield "read a call's arguments, plain", best(lambda: [parse_arguments(plain) for _ in many], 1_000)
    yield "read them by the path that finds every fault", best(lambda: [parse_arguments(escaped) for _ in many], 1_000)
    alone = '{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"one "},"finish_reason":null}]}'
    among = alone.replace("}]}", '},{"index":1,"delta":{"content":""}}]}')
    yield "a text delta of a chat stream, plain", best(lambda: _assembled(alone), 1_000)
    yield "a text delta of a chat stream, any", best(lambda: _assembled(among), 1_000)


def _assembled(data: str) -> None:
    assembler = ReplyAssembler("openai")
    event = ServerSentEvent(data)
    for _ in range(1_000):
        assembler.add_event(event)


def fingerprints() -> Iterator[tuple[str, float]]:
    """A tool's fingerprint, which is made once, where an approval is asked for; and the part that reads the source."""

    def pay(name: str, amount: int) -> str:
        """Pay somebody."""
        return f"{amount} to {name}"

    yield "a tool's fingerprint, with the source of its body", best(lambda: function_tool(pay).fingerprint, 1)
    yield "of that, reading the source", best(lambda: inspect.getsource(pay), 1)


if __name__ == "__main__":
    main()
