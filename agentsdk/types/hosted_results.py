"""What hosted tools did, and what a text rests on: read from the providers' own items and notes, which stay as they are.

`HostedToolUse.of(item)` reads a `ProviderItem`, `sources_of(message)` the notes of a message's texts. What is missing, or of
another shape than known, is left empty; nothing is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import msgspec
from msgspec import Struct

from agentsdk.types.base import JsonObject
from agentsdk.types.items import InputFile, InputImage, Message, OutputText, ProviderItem
from agentsdk.types.loose import as_list, as_object, as_text

HostedToolName = Literal[
    "web_search", "web_fetch", "file_search", "code_interpreter", "image_generation", "mcp", "tool_search", "other"
]
"""Which hosted tool an item is of; `"other"`: none of those that can be declared."""


class Source(Struct, frozen=True):
    """Where something was found: a page (`url`), or a file that the provider keeps (`file_id`).

    `text` is the passage, where the provider gives it, `score` how well it fits, from 0 to 1.
    """

    url: str = ""
    title: str = ""
    file_id: str = ""
    filename: str = ""
    text: str = ""
    score: float | None = None


class HostedToolUse(Struct, frozen=True):
    """What a hosted tool was asked for and what came of it, as far as one item says: some providers send two.

    Items of one use share their `call_id`. `name` is the provider's name for what was called, in an MCP `server` the server's.
    `output` is what it printed or answered, as text, `tools` are the names of tools that it found, and `error` says, in the
    provider's words, why it failed.
    """

    tool: HostedToolName
    name: str = ""
    call_id: str = ""
    status: str = ""
    server: str = ""
    arguments: JsonObject = {}
    output: str = ""
    sources: tuple[Source, ...] = ()
    files: tuple[InputFile, ...] = ()
    images: tuple[InputImage, ...] = ()
    tools: tuple[str, ...] = ()
    error: str = ""

    @classmethod
    def of(cls, item: ProviderItem) -> HostedToolUse:
        """What an item says."""
        data = item.data
        read = _READERS.get(as_text(data.get("type")))
        if read is None:
            return _google(data)
        return read(data)


def _arguments(value: object) -> JsonObject:
    """Arguments, which some providers send as JSON text."""
    if not isinstance(value, str):
        return as_object(value)
    try:
        return as_object(msgspec.json.decode(value))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}


def _objects(value: object) -> list[JsonObject]:
    return [as_object(one) for one in as_list(value) if one]


def _error(value: object) -> str:
    """An error as text: its message, its code, or itself."""
    fields = as_object(value)
    return as_text(value) or as_text(fields.get("message")) or as_text(fields.get("error_code"))


def _texts(value: object) -> str:
    """A text, or the texts of content parts, one per line."""
    return as_text(value) or "\n".join(as_text(part.get("text")) for part in _objects(value))


def _head(data: JsonObject) -> tuple[str, str]:
    return as_text(data.get("call_id")) or as_text(data.get("id")), as_text(data.get("status"))


# OpenAI's items.


def _web_search(data: JsonObject) -> HostedToolUse:
    call_id, status = _head(data)
    action = as_object(data.get("action"))
    asked = {name: value for name, value in action.items() if name not in ("type", "sources")}
    sources = tuple(Source(url=as_text(one.get("url"))) for one in _objects(action.get("sources")))
    return HostedToolUse("web_search", as_text(action.get("type")), call_id, status, arguments=asked, sources=sources)


def _file_search(data: JsonObject) -> HostedToolUse:
    call_id, status = _head(data)
    found = tuple(
        Source(
            file_id=as_text(one.get("file_id")),
            filename=as_text(one.get("filename")),
            text=as_text(one.get("text")),
            score=score if isinstance(score := one.get("score"), float) else None,
        )
        for one in _objects(data.get("results"))
    )
    return HostedToolUse("file_search", "", call_id, status, arguments={"queries": as_list(data.get("queries"))}, sources=found)


def _code_interpreter(data: JsonObject) -> HostedToolUse:
    call_id, status = _head(data)
    outputs = _objects(data.get("outputs"))
    return HostedToolUse(
        "code_interpreter",
        "",
        call_id,
        status,
        arguments={"code": as_text(data.get("code"))},
        output="".join(as_text(one.get("logs")) for one in outputs),
        images=tuple(InputImage(url) for one in outputs if (url := as_text(one.get("url")))),
    )


def _image_generation(data: JsonObject) -> HostedToolUse:
    call_id, status = _head(data)
    drawn = as_text(data.get("result"))
    form = as_text(data.get("output_format")) or "png"
    kind = "image/svg+xml" if form == "svg" else f"image/{form}"
    return HostedToolUse(
        "image_generation",
        "",
        call_id,
        status,
        arguments={"prompt": as_text(data.get("revised_prompt"))},
        images=(InputImage(f"data:{kind};base64,{drawn}"),) if drawn else (),
        error=_error(data.get("error")),
    )


def _mcp_call(data: JsonObject) -> HostedToolUse:
    call_id, status = _head(data)
    return HostedToolUse(
        "mcp",
        as_text(data.get("name")),
        call_id,
        status,
        as_text(data.get("server_label")),
        _arguments(data.get("arguments")),
        as_text(data.get("output")),
        error=_error(data.get("error")),
    )


def _mcp_list_tools(data: JsonObject) -> HostedToolUse:
    call_id, status = _head(data)
    server = as_text(data.get("server_label"))
    return HostedToolUse("mcp", "", call_id, status, server, tools=_names(data.get("tools")), error=_error(data.get("error")))


def _tool_search(data: JsonObject) -> HostedToolUse:
    call_id, status = _head(data)
    asked = _arguments(data.get("arguments"))
    return HostedToolUse("tool_search", "", call_id, status, arguments=asked, tools=_names(data.get("tools")))


def _names(tools: object) -> tuple[str, ...]:
    """The names of tools: of those in a namespace, theirs."""
    names: list[str] = []
    for one in _objects(tools):
        inner = _objects(one.get("tools"))
        names += [as_text(tool.get("name")) for tool in inner or (one,)]
    return tuple(names)


# Anthropic's blocks: one for the call, one for its result.

_SERVER_TOOLS: dict[str, HostedToolName] = {
    "web_search": "web_search",
    "web_fetch": "web_fetch",
    "code_execution": "code_interpreter",
    "bash_code_execution": "code_interpreter",
    "text_editor_code_execution": "code_interpreter",
    "tool_search_tool_bm25": "tool_search",
    "tool_search_tool_regex": "tool_search",
}


def _server_tool_use(data: JsonObject) -> HostedToolUse:
    name = as_text(data.get("name"))
    tool = _SERVER_TOOLS.get(name, "other")
    return HostedToolUse(tool, name, as_text(data.get("id")), arguments=as_object(data.get("input")))


def _mcp_tool_use(data: JsonObject) -> HostedToolUse:
    name, server = as_text(data.get("name")), as_text(data.get("server_name"))
    return HostedToolUse("mcp", name, as_text(data.get("id")), server=server, arguments=as_object(data.get("input")))


def _tool_result(data: JsonObject) -> HostedToolUse:
    """The result of a server tool: what it found, what it printed, or an error."""
    kind = as_text(data.get("type")).removesuffix("_tool_result")
    tool: HostedToolName = "tool_search" if kind == "tool_search" else _SERVER_TOOLS.get(kind, "other")
    content = as_object(data.get("content"))
    document = as_object(content.get("content"))
    pages = _objects(data.get("content"))
    if url := as_text(content.get("url")):
        pages = [{"url": url, "title": document.get("title")}]
    printed = "".join(as_text(content.get(stream)) for stream in ("stdout", "stderr"))
    return HostedToolUse(
        tool,
        "" if tool == "tool_search" else kind,
        as_text(data.get("tool_use_id")),
        output=printed or as_text(content.get("content")) or as_text(as_object(document.get("source")).get("data")),
        sources=tuple(Source(as_text(page.get("url")), as_text(page.get("title"))) for page in pages),
        files=tuple(
            InputFile(file_id=file_id) for made in _objects(content.get("content")) if (file_id := as_text(made.get("file_id")))
        ),
        tools=tuple(as_text(one.get("tool_name")) for one in _objects(content.get("tool_references"))),
        error=as_text(content.get("error_code")),
    )


def _mcp_tool_result(data: JsonObject) -> HostedToolUse:
    said = _texts(data.get("content"))
    failed = data.get("is_error") is True
    call_id = as_text(data.get("tool_use_id"))
    return HostedToolUse("mcp", call_id=call_id, output="" if failed else said, error=said if failed else "")


_READERS: dict[str, Callable[[JsonObject], HostedToolUse]] = {
    "web_search_call": _web_search,
    "file_search_call": _file_search,
    "code_interpreter_call": _code_interpreter,
    "image_generation_call": _image_generation,
    "mcp_call": _mcp_call,
    "mcp_list_tools": _mcp_list_tools,
    "tool_search_call": _tool_search,
    "tool_search_output": _tool_search,
    "server_tool_use": _server_tool_use,
    "web_search_tool_result": _tool_result,
    "web_fetch_tool_result": _tool_result,
    "code_execution_tool_result": _tool_result,
    "bash_code_execution_tool_result": _tool_result,
    "text_editor_code_execution_tool_result": _tool_result,
    "tool_search_tool_result": _tool_result,
    "mcp_tool_use": _mcp_tool_use,
    "mcp_tool_result": _mcp_tool_result,
}

# Google's parts, which have no type.

_GOOGLE_TOOLS: dict[str, HostedToolName] = {
    "GOOGLE_SEARCH_WEB": "web_search",
    "GOOGLE_SEARCH_IMAGE": "web_search",
    "URL_CONTEXT": "web_fetch",
    "FILE_SEARCH": "file_search",
}


def _google(data: JsonObject) -> HostedToolUse:
    if code := as_object(data.get("executableCode")):
        return HostedToolUse("code_interpreter", call_id=as_text(code.get("id")), arguments={"code": as_text(code.get("code"))})
    if result := as_object(data.get("codeExecutionResult")):
        outcome, printed = as_text(result.get("outcome")), as_text(result.get("output"))
        failed = outcome not in ("", "OUTCOME_OK")
        return HostedToolUse(
            "code_interpreter", "", as_text(result.get("id")), outcome, output=printed, error=outcome if failed else ""
        )
    call = as_object(data.get("toolCall") or data.get("toolResponse"))
    tool = _GOOGLE_TOOLS.get(as_text(call.get("toolType")), "other")
    name, call_id = as_text(call.get("toolType")), as_text(call.get("id"))
    return HostedToolUse(tool, name, call_id, arguments=as_object(call.get("args")))


# What a text rests on.


def sources_of(message: Message) -> tuple[Source, ...]:
    """The sources that the notes of a message's texts name, each once, in their order."""
    return tuple(dict.fromkeys(source for note in _notes(message) for source in _note_sources(note)))


def files_of(message: Message) -> tuple[InputFile, ...]:
    """The files that a hosted tool made and a message's texts name, by the provider's ids, each once."""
    made = [note for note in _notes(message) if note.get("type") in ("container_file_citation", "file_path")]
    files = [InputFile(file_id=as_text(note.get("file_id")), filename=as_text(note.get("filename"))) for note in made]
    return tuple(dict.fromkeys(files))


def hosted_tools_of(message: Message) -> tuple[HostedToolName, ...]:
    """The hosted tools whose use the notes of a message's texts tell of, each once, in their order."""
    return tuple(dict.fromkeys(tool for note in _notes(message) if (tool := _noted_tool(note)) is not None))


def _noted_tool(note: JsonObject) -> HostedToolName | None:
    match note.get("type"):
        case "url_citation" | "web_search_result_location":
            return "web_search"
        case "urlContextMetadata":
            return "web_fetch"
        case "groundingMetadata":
            chunks = _objects(note.get("groundingChunks"))
            is_own = bool(chunks) and all("retrievedContext" in chunk for chunk in chunks) and not note.get("webSearchQueries")
            return "file_search" if is_own else "web_search"
        case "file_citation":
            return "file_search"
        case "container_file_citation":
            return "code_interpreter"
        case _:
            return None


def _notes(message: Message) -> Iterable[JsonObject]:
    for part in () if isinstance(message.content, str) else message.content:
        if isinstance(part, OutputText):
            yield from part.annotations


def _note_sources(note: JsonObject) -> Iterable[Source]:
    match note.get("type"):
        case "url_citation":  # chat completions nest what it says
            note = as_object(note.get("url_citation")) or note
            yield Source(as_text(note.get("url")), as_text(note.get("title")))
        case "web_search_result_location" | "search_result_location":
            url = as_text(note.get("url")) or as_text(note.get("source"))
            yield Source(url, as_text(note.get("title")), text=as_text(note.get("cited_text")))
        case "char_location" | "page_location" | "content_block_location":
            title, text = as_text(note.get("document_title")), as_text(note.get("cited_text"))
            yield Source(title=title, file_id=as_text(note.get("file_id")), text=text)
        case "file_citation":
            yield Source(file_id=as_text(note.get("file_id")), filename=as_text(note.get("filename")))
        case "groundingMetadata":
            for chunk in _objects(note.get("groundingChunks")):
                found = as_object(chunk.get("web") or chunk.get("retrievedContext") or chunk.get("maps"))
                yield Source(as_text(found.get("uri")), as_text(found.get("title")), text=as_text(found.get("text")))
        case "citationMetadata":
            for one in _objects(note.get("citationSources") or note.get("citations")):
                yield Source(as_text(one.get("uri")), as_text(one.get("title")))
        case "urlContextMetadata":
            for one in _objects(note.get("urlMetadata")):
                yield Source(as_text(one.get("retrievedUrl")))
        case _:
            pass
