from __future__ import annotations

import asyncio

import pytest

from agentsdk.engine.channel import Channel, NestedChannel

pytestmark = pytest.mark.anyio


async def drained(channel: Channel[int]) -> list[int]:
    items: list[int] = []
    while True:
        try:
            items.append(await channel.get())
        except StopAsyncIteration:
            return items


async def test_items_come_out_in_order_and_then_the_end() -> None:
    channel: Channel[int] = Channel(2)
    for n in range(5):
        channel.put_nowait(n)
    channel.close()
    assert await drained(channel) == [0, 1, 2, 3, 4]
    with pytest.raises(StopAsyncIteration):
        await channel.get()


async def test_a_waiting_reader_is_woken_by_an_item_and_by_the_end() -> None:
    channel: Channel[int] = Channel(2)
    reader = asyncio.create_task(drained(channel))
    await asyncio.sleep(0)
    channel.put_nowait(1)
    await asyncio.sleep(0)
    channel.close()
    assert await reader == [1]


async def test_the_error_of_close_comes_after_the_items() -> None:
    channel: Channel[int] = Channel(2)
    channel.put_nowait(1)
    channel.close(ValueError("late"))
    channel.close()
    assert await channel.get() == 1
    for _ in range(2):
        with pytest.raises(ValueError, match="late"):
            await channel.get()


async def test_all_writers_go_on_when_there_is_room_again() -> None:
    channel: Channel[int] = Channel(2)
    channel.put_nowait(1)
    channel.put_nowait(2)
    writers = [asyncio.create_task(channel.wait_for_room()) for _ in range(3)]
    await asyncio.sleep(0)
    writers[0].cancel()
    await channel.get()
    await asyncio.wait_for(asyncio.gather(*writers[1:]), 60)
    assert writers[0].cancelled()


async def test_a_nested_channel_is_held_by_itself_and_with_the_one_around_it() -> None:
    channel: Channel[int] = Channel(2)
    middle, beside = NestedChannel(channel), NestedChannel(channel)
    inner = NestedChannel(middle)
    middle.hold()
    inner.put_nowait(1)
    beside.put_nowait(2)
    inner.hold()
    inner.put_nowait(3)
    inner.put_nowait(4)
    inner.release(lambda item: item != 3)
    middle.release()
    inner.close()
    inner.put_nowait(5)
    assert not inner.is_full and beside.is_full
    channel.close()
    assert await drained(channel) == [2, 1, 4]


async def test_a_writer_waits_until_half_of_the_queue_is_read() -> None:
    channel: Channel[int] = Channel(4)
    for n in range(4):
        channel.put_nowait(n)
    assert channel.is_full
    writer = asyncio.create_task(channel.wait_for_room())
    await asyncio.sleep(0)
    await channel.get()
    await asyncio.sleep(0)
    assert not writer.done()
    await channel.get()
    await asyncio.sleep(0)
    assert writer.done() and not channel.is_full
    await writer


async def test_the_end_wakes_a_waiting_writer() -> None:
    channel: Channel[int] = Channel(1)
    channel.put_nowait(1)
    writer = asyncio.create_task(channel.wait_for_room())
    await asyncio.sleep(0)
    channel.close()
    await writer


async def test_a_reader_cancelled_while_it_waits_loses_no_item() -> None:
    channel: Channel[int] = Channel(2)
    reader = asyncio.create_task(channel.get())
    await asyncio.sleep(0)
    reader.cancel()
    channel.put_nowait(1)
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert await channel.get() == 1


async def test_a_reader_cancelled_as_its_item_arrives_loses_no_item() -> None:
    channel: Channel[int] = Channel(2)
    reader = asyncio.create_task(channel.get())
    await asyncio.sleep(0)
    channel.put_nowait(1)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert await channel.get() == 1


async def test_a_fast_writer_and_a_slow_reader_lose_nothing() -> None:
    channel: Channel[int] = Channel(3)

    async def write() -> None:
        for n in range(1_000):
            channel.put_nowait(n)
            if channel.is_full:
                await channel.wait_for_room()
        channel.close()

    writer = asyncio.create_task(write())
    read: list[int] = []
    while len(read) < 1_000:
        read.append(await channel.get())
        if len(read) % 7 == 0:
            await asyncio.sleep(0)
    await writer
    assert read == list(range(1_000))
