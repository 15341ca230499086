"""What a run has come to, as the result of the call behind which it ran."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

import mcp_types as wire
import msgspec

from agentsdk.core.json_schema import problems_with
from agentsdk.core.state import State, transcript
from agentsdk.define.tool_output import to_output
from agentsdk.mcp.serving.offer import RESULT_KEY, Served
from agentsdk.result import RunResult
from agentsdk.types.errors import AgentsException
from agentsdk.types.items import (
    FunctionCallOutput,
    InputAudio,
    InputFile,
    InputImage,
    InputText,
    InputVideo,
    OutputText,
    Part,
)

RUN_ID = "agentsdk/run_id"
"""In the `_meta` of a call and of its result: the run behind it."""

ERROR = "agentsdk/error"
"""In the `_meta` of a failed call's result: the name of the error's class."""

_DATA_URL = re.compile(r"data:([\w.+/-]+);base64,")


def answer_of(served: Served, result: RunResult[object]) -> wire.CallToolResult:
    """The result of a call whose run has ended: its output, structured where the tool says that it is."""
    if served.is_one_call:
        items = transcript(result.to_state().value)
        output = next(item for item in reversed(items) if isinstance(item, FunctionCallOutput))
        given, is_error = output.output, output.is_error
    else:
        given, is_error = to_output(result.final_output), False
    content = _content(given)
    if is_error or served.output_schema is None:
        return wire.CallToolResult(content=content, is_error=is_error)
    structured = _structured(served, given)
    if structured is None:
        # A guardrail put a text in its place, it was cut, or the declared type is not what is returned. All of it is told.
        return wire.CallToolResult(content=content, is_error=True, _meta={ERROR: "InvalidOutputError"})
    return wire.CallToolResult(content=content, structured_content=structured)


def output_text(state: State) -> str:
    """The output of a run as text; `""` while there is none."""
    items = transcript(state)
    if state.ended is None:
        return ""
    last = items[-1] if items else None
    if not isinstance(last, FunctionCallOutput):
        return state.ended.output
    return last.output if isinstance(last.output, str) else f"[{len(last.output)} parts]"


def error_of(error: AgentsException) -> wire.CallToolResult:
    """The result of a call that failed: the error's own words, which hold no argument values and no keys."""
    return failed(type(error).__name__, str(error))


def failed(name: str, text: str) -> wire.CallToolResult:
    """The result of a call that failed with an error of that name."""
    return wire.CallToolResult(content=[wire.TextContent(text=f"{name}: {text}")], is_error=True, _meta={ERROR: name})


def _structured(served: Served, given: str | Sequence[Part]) -> dict[str, object] | None:
    """The output as a JSON object that fits the declared schema, or None."""
    if not isinstance(given, str):
        return None
    assert served.output_schema is not None
    try:
        value: object = msgspec.json.decode(given)
    except ValueError:
        value = given  # a text is itself, not JSON: of a tool that returns `str | None`, say
    structured = {RESULT_KEY: value} if served.is_wrapped else value
    if not isinstance(structured, dict):
        return None
    known = cast("dict[str, object]", structured)
    return None if problems_with(served.output_schema, known) else known


def _content(given: str | Sequence[Part]) -> list[wire.ContentBlock]:
    if isinstance(given, str):
        return [wire.TextContent(text=given)]
    return [_block(part) for part in given]


def _block(part: Part) -> wire.ContentBlock:
    """A part of a result; what the protocol has no form for is named by its address."""
    match part:
        case InputText() | OutputText():
            return wire.TextContent(text=part.text)
        case InputImage():
            return _media(part.image_url, part.file_id, "image")
        case InputAudio():
            return wire.AudioContent(data=part.data, mime_type=f"audio/{part.format}")
        case InputFile():
            return _media(part.file_data or part.file_url, part.file_id, part.filename or "file")
        case InputVideo():
            return _media(part.video_url, part.file_id, "video")
        case _:
            return wire.TextContent(text=part.refusal)


def _media(address: str, file_id: str, name: str) -> wire.ContentBlock:
    data = _DATA_URL.match(address)
    if data is None:
        return wire.TextContent(text=f"[{name}: {address or file_id}]")
    encoded, mime_type = address[data.end() :], data[1]
    if mime_type.startswith("image/"):
        return wire.ImageContent(data=encoded, mime_type=mime_type)
    resource = wire.BlobResourceContents(uri=f"attachment:{name}", mime_type=mime_type, blob=encoded)
    return wire.EmbeddedResource(resource=resource)
