"""Sampling: a server asks the model of the run that calls it. The run pays, and says how much at the most."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from agentsdk.define.context import ToolContext
from agentsdk.mcp.results import message_of, part_of
from agentsdk.ports.mcp import MCPSample, MCPSamplingRequest, SamplingRefusedError
from agentsdk.types.errors import ModelError, ToolError, UserError
from agentsdk.types.items import Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.settings import ModelSettings

MAX_ASKED = 200_000
"""How many characters a request may have, as JSON."""


class _Paid(msgspec.Struct):
    """A request, by its digest, and what the model has answered."""

    asked: str
    sample: MCPSample


class Sampler:
    """Answers what a server asks the model in one call: so many `requests` of so many tokens.

    What was answered is the call's checkpoint. A call that runs again, after a crash say, gives the same answers to the same
    requests, and pays for the others only.
    """

    def __init__(self, ctx: ToolContext[Any], requests: int, max_tokens: int) -> None:
        self._ctx = ctx
        self._requests = requests
        self._max_tokens = max_tokens
        self._paid = msgspec.json.decode(ctx.checkpoint, type=list[_Paid]) if ctx.checkpoint else []
        self._left = list(self._paid)
        self._begun = len(self._paid)

    async def __call__(self, request: MCPSamplingRequest) -> MCPSample:
        encoded = msgspec.json.encode(request)
        asked = hashlib.sha256(encoded).hexdigest()
        known = next((one for one in self._left if one.asked == asked), None)
        if known is not None:
            self._left.remove(known)
            return known.sample
        if self._begun >= self._requests:
            raise SamplingRefusedError(f"a call may ask {self._requests} times at the most")
        if not request.messages or len(encoded) > MAX_ASKED:
            raise SamplingRefusedError(f"a request has messages, and {MAX_ASKED} characters at the most")
        self._begun += 1
        return await self._answer(request, asked)

    async def _answer(self, request: MCPSamplingRequest, asked: str) -> MCPSample:
        def checkpoint(reply: ModelResponse) -> str:
            self._paid.append(_Paid(asked, _sample(reply)))
            return msgspec.json.encode(self._paid).decode()

        cap = min(max(request.max_tokens, 1), self._max_tokens)
        try:
            settings = ModelSettings(max_tokens=cap, temperature=request.temperature, stop=request.stop or None)
            items = [message_of(role, list(map(part_of, blocks)), untrusted=True) for role, blocks in request.messages]
            instructions = request.system_prompt
            reply = await self._ctx.ask_model(items, instructions=instructions, settings=settings, checkpoint=checkpoint)
        except ModelError:
            raise SamplingRefusedError("the model gave no answer") from None
        except ToolError:
            raise SamplingRefusedError("the limits of the run do not allow it") from None
        except UserError:
            raise SamplingRefusedError("it asks for what the model does not take") from None
        return _sample(reply)


def _sample(reply: ModelResponse) -> MCPSample:
    refusals = [item.refusal for item in reply.output if isinstance(item, Message)]
    return MCPSample(reply.text or "".join(refusals), reply.model or "unknown", reply.finish == "length")
