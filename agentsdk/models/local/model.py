"""`LocalModel`: a model on this machine, with tools, `tool_choice` and typed output whatever its chat template knows."""

from __future__ import annotations

import dataclasses
import os
import secrets
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing

from msgspec import structs

from agentsdk.models.hosted import check_hosted_tools
from agentsdk.models.http_model import refuse_hosted, refuse_settings
from agentsdk.models.local.constrained import GRAMMAR_IGNORED, Bounds, Piece, ReplyReader, build_grammar, choose
from agentsdk.models.local.served import LocallyServed
from agentsdk.models.local.server import Address, Progress, ServerOptions, shared_server
from agentsdk.models.local.transcript import RESULT_MARKS, answered_tools, plain_messages, system_text
from agentsdk.models.local.weights import KNOWN, find_weights, require_engine
from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.ports.model import ModelRequest
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import FLAG, SYNC, Fields, a, a_name, either, number, optional, whole
from agentsdk.types.deltas import (
    AttemptDiscarded,
    FunctionCallArgumentsDelta,
    ModelStreamEvent,
    OutputItemAdded,
    OutputItemDone,
    OutputTextDelta,
    ResponseCompleted,
)
from agentsdk.types.errors import IncompleteResponseError, MalformedResponseError, ModelBehaviorError, UserError
from agentsdk.types.items import FunctionCall, Item
from agentsdk.types.response import ModelResponse
from agentsdk.types.spec import HandoffSpec, ToolSpec
from agentsdk.types.tape import Tape
from agentsdk.types.usage import SpentAttempt, Usage

_UNSUPPORTED = ("verbosity", "service_tier", "store", "prompt_cache_key", "prompt_cache_retention", "truncation")
_POSITIVE = whole("a whole number above 0", 1)
_FIELDS = Fields(
    "LocalModel",
    weights=either(a_name(""), a(os.PathLike, ""), what="'smollm2' or the path of a .gguf file"),
    context=_POSITIVE,
    parallel=_POSITIVE,
    threads=_POSITIVE,
    max_tokens=_POSITIVE,
    bounds=optional(a(Bounds, "Bounds; pass Bounds(string=200), say")),
    repeat_tools=optional(FLAG),
    start_timeout=number("finite seconds above 0", above=0),
    on_progress=optional(SYNC),
)


class LocalModel(LocallyServed):
    """A GGUF model served by llama.cpp in a child process: no key, no network.

    `weights` is `"smollm2"` (fetched once with `python -m agentsdk.models.local`) or the path of a `.gguf` file. The first
    request starts the server, which all models of this process with equal weights, `context`, `parallel` and `threads` share.

    `context` is what one request and its reply may hold, in tokens; `parallel` how many requests are served at a time, others
    wait; `threads` decode them (more than one is slower on two cores). `max_tokens` caps a reply whose settings set no cap.
    `bounds` hold generated JSON where a schema sets no bound. `repeat_tools`: whether a model that is free to choose may call a
    tool that has already answered since the last user message. A tiny model then repeats itself for ever, so the default is
    False for `"smollm2"` and True for a file. `start_timeout` is in seconds. `on_progress` is told what loading does, in lines
    of text and from a worker thread.

    Raises `UserError` when the weights or the package `xllamacpp` are missing, or a number is not positive.
    """

    def __init__(
        self,
        weights: str | os.PathLike[str] = "smollm2",
        *,
        context: int = 4096,
        parallel: int = 2,
        threads: int = 1,
        max_tokens: int = 1024,
        bounds: Bounds | None = None,
        repeat_tools: bool | None = None,
        start_timeout: float = 120.0,
        on_progress: Progress | None = None,
    ) -> None:
        _FIELDS.check_given(
            weights=weights,
            context=context,
            parallel=parallel,
            threads=threads,
            max_tokens=max_tokens,
            bounds=bounds,
            repeat_tools=repeat_tools,
            start_timeout=start_timeout,
            on_progress=on_progress,
        )
        path = find_weights(weights)
        require_engine()
        self.name = weights if isinstance(weights, str) and weights in KNOWN else path.stem
        self._max_tokens = max_tokens
        self._bounds = bounds if bounds is not None else Bounds()
        self._repeat_tools = repeat_tools if repeat_tools is not None else self.name not in KNOWN
        self.context_window = context
        super().__init__(shared_server(ServerOptions(str(path), context, parallel, threads)), start_timeout, on_progress)
        self._chat: tuple[Address, OpenAIChatCompletionsModel] | None = None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask for one reply: any deltas, then one `ResponseCompleted`.

        Raises `ContextTooLongError` when the request does not fit into the context, `IncompleteResponseError` when a call or a
        typed output is truncated by `max_tokens` or a stop sequence, and whatever else a chat server can cause.
        """
        items = [*request.items, *request.tail]
        tools, answer = choose(request.tools, request.settings.tool_choice)
        if answer and not self._repeat_tools and (answered := answered_tools(items)):
            tools = [tool for tool in tools if tool.name not in answered]
        plain = self._plain_request(request, items, tools, answer)
        chat = await self._started()
        reply = _Reply(request, may_answer=answer)
        usage = Usage(requests=1, known=False)
        try:
            async with aclosing(chat.stream(plain)) as events:
                async for event in events:
                    if isinstance(event, ResponseCompleted):
                        usage = event.response.usage
                    for translated in reply.translate(event) if tools else (event,):
                        if isinstance(translated, ResponseCompleted):
                            reply.check(translated.response)
                        yield translated
        except ModelBehaviorError as error:
            error.attempts = error.attempts or (SpentAttempt(usage, self.name),)
            raise

    def _plain_request(
        self, request: ModelRequest, items: Sequence[Item], tools: Sequence[ToolSpec | HandoffSpec], answer: bool
    ) -> ModelRequest:
        """The request as a chat server without tools takes it: `tools`, and text if an `answer` may be given, by a grammar."""
        settings = request.settings
        refuse_hosted(request, "LocalModel")
        refuse_settings(settings, "LocalModel", *_UNSUPPORTED)
        if request.hosted:
            check_hosted_tools(request.hosted, {}, "LocalModel")
        if settings.thinking:
            raise UserError(
                "ModelSettings(thinking=...) is not available with LocalModel, expected False or none; leave it out, or use a "
                "provider's model that thinks"
            )
        # All tools are described whatever may be called, so that the system message, and with it llama.cpp's cache, stays.
        described = request.tools if settings.tool_choice != "none" else ()
        extra: JsonObject = dict(settings.extra_body or {})
        if described or request.output is not None:
            parallel = bool(settings.parallel_tool_calls)
            extra["grammar"] = build_grammar(
                tools, answer=answer, output=request.output, parallel=parallel, bounds=self._bounds
            )
        return ModelRequest(
            items=Tape(plain_messages(items)),
            instructions=system_text(request.instructions, described, request.output if answer else None),
            settings=dataclasses.replace(
                settings,
                thinking=None,
                tool_choice=None,
                parallel_tool_calls=None,
                max_tokens=settings.max_tokens or self._max_tokens,
                # A small model goes on with a result of its own making.
                stop=(*(settings.stop or ()), *RESULT_MARKS) if described else settings.stop,
                extra_body=extra,
                # llama.cpp sometimes drops a connection it has just offered to keep.
                extra_headers={"Connection": "close", **(settings.extra_headers or {})},
            ),
            stream=request.stream,
            request_id=request.request_id,
        )

    async def _started(self) -> OpenAIChatCompletionsModel:
        address = await self._address()
        if self._chat is None or self._chat[0] != address:
            chat = OpenAIChatCompletionsModel(self.name, base_url=f"{address.base_url}/v1", api_key=address.key)
            self._chat = (address, chat)
        return self._chat[1]


class _Reply:
    """Turns the events of a constrained text reply into those of the calls, or the text, it spells."""

    def __init__(self, request: ModelRequest, *, may_answer: bool) -> None:
        self._request = request
        self._may_answer = may_answer
        self._restart()

    def _restart(self) -> None:
        self._reader = ReplyReader()
        self._calls: list[FunctionCall] = []
        self._heard = ""
        self._opening: OutputItemAdded | None = None

    def translate(self, event: ModelStreamEvent) -> Iterator[ModelStreamEvent]:
        match event:
            case AttemptDiscarded():
                self._restart()
                yield event
            case OutputItemAdded():
                # Whether the text is an answer or a call shows with its first characters.
                self._opening = event
            case OutputTextDelta():
                self._heard += event.delta
                for piece in self._reader.feed(event.delta):
                    yield from self._show(piece)
            case OutputItemDone():
                if not self._calls and self._reader.whole:
                    yield event
            case ResponseCompleted():
                yield structs.replace(event, response=self._whole(event.response))
            case _:
                yield event

    def _show(self, piece: Piece) -> Iterator[ModelStreamEvent]:
        index = len(self._calls) - 1
        match piece.kind:
            case "text":
                if not self._may_answer:
                    raise MalformedResponseError(f"tool_choice asks for a call, but the reply is text, so {GRAMMAR_IGNORED}")
                if self._opening is not None:
                    yield self._opening
                    self._opening = None
                yield OutputTextDelta(piece.text)
            case "name":
                call = FunctionCall(call_id=f"call_{secrets.token_hex(8)}", name=piece.text, arguments="")
                self._calls.append(call)
                yield OutputItemAdded(call, output_index=index + 1)
            case "arguments":
                call = self._calls[index]
                self._calls[index] = structs.replace(call, arguments=call.arguments + piece.text)
                yield FunctionCallArgumentsDelta(piece.text, output_index=index)
            case "end":
                yield OutputItemDone(self._calls[index], output_index=index)

    def _whole(self, response: ModelResponse) -> ModelResponse:
        text = response.text
        if not text.startswith(self._heard):
            raise MalformedResponseError("llama.cpp's reply differs from the deltas it streamed")
        for piece in self._reader.feed(text[len(self._heard) :]):
            for _ in self._show(piece):
                pass
        if not self._reader.whole or (self._calls and response.finish != "stop"):
            raise IncompleteResponseError(
                "the reply ended in the middle of a call, so no call of it is run; raise max_tokens or drop the stop sequences",
                partial=text,
            )
        return structs.replace(response, output=tuple(self._calls), finish="tool_calls") if self._calls else response

    def check(self, response: ModelResponse) -> None:
        """Raises `IncompleteResponseError` for a truncated typed output: unlike text, it cannot be continued."""
        if self._request.output is not None and not self._calls and response.finish == "length":
            raise IncompleteResponseError(
                "the typed output was truncated at its limit; raise max_tokens", partial=response.text
            )
