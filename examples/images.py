"""Images: one in the question, one that a tool returns. Both go to the model as images, and are kept with the run.

python examples/images.py

Its model is scripted, as a small one sees nothing: give the agent one that does.
"""

from __future__ import annotations

import asyncio
import base64
import struct
import zlib

from agentsdk import Agent, FunctionCallOutput, InputImage, InputText, Message, ModelRequest, Runner, RunState, function_tool
from agentsdk.items import Item
from agentsdk.testing import ScriptedModel, call
from agentsdk.tools import ToolOutputImage, ToolOutputText


def picture(shade: int, size: int = 8) -> str:
    """A gray square as a PNG, in a `data:` URL."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes([shade]) * size) * size)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(png).decode()


@function_tool(effect="none")
def brighten(by: int) -> list[ToolOutputText | ToolOutputImage]:
    """Make the picture brighter."""
    return [ToolOutputText(f"brighter by {by}"), ToolOutputImage(picture(100 + by))]


def seen(item: Item) -> str:
    """What an item shows the model."""
    parts = item.content if isinstance(item, Message) else item.output if isinstance(item, FunctionCallOutput) else ()
    if isinstance(parts, str):
        return "words"
    return " and ".join(["a picture" if isinstance(part, InputImage) else "words" for part in parts]) or "a call"


def answer(request: ModelRequest) -> str:
    print("the model sees:", ", ".join(map(seen, request.items)))
    return "It is lighter now."


artist = Agent[None, str](name="Artist", tools=[brighten], model=ScriptedModel([call("brighten", by=50), answer]))


async def main() -> None:
    question = Message("user", (InputText("Make this brighter."), InputImage(picture(100))))
    result = await Runner.run(artist, [question])
    print("answer:", result.final_output)
    saved = RunState.from_string(artist, result.to_state().to_string())
    print("saved: ", ", ".join(map(seen, saved.items())))


if __name__ == "__main__":
    asyncio.run(main())
