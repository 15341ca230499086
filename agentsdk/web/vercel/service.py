"""The handlers behind the routes of a `vercel_app`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agentsdk.define.agent import Agent
from agentsdk.types.errors import RunConflictError
from agentsdk.types.generics import TContext, TOutput
from agentsdk.web.caller import Caller
from agentsdk.web.front_ends.follow import Going
from agentsdk.web.front_ends.service import FrontEndService
from agentsdk.web.front_ends.threads import Thread
from agentsdk.web.inputs import json_of
from agentsdk.web.keep_slashes import KeepSlashes, id_in_path
from agentsdk.web.problems import HANDLERS
from agentsdk.web.vercel.chunks import Encoder
from agentsdk.web.vercel.inputs import ChatBody, body_of, decisions_in, said_in
from agentsdk.web.vercel.messages import messages_of

HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}


class VercelService(FrontEndService):
    """Answers what `useChat` asks."""

    def app(self) -> Starlette:
        """The application."""
        chat, again = partial(self.guard.answer, self.chat), partial(self.guard.answer, self.reconnect)
        routes = [Route(path, chat, methods=["POST"]) for path in ("/", "/{agent}")]
        messages = partial(self.guard.answer, self.messages)
        for path in ("/{chat}", "/{agent}/{chat}"):
            routes.append(Route(f"{path}/stream", again, methods=["GET"]))
            routes.append(Route(f"{path}/messages", messages, methods=["GET"]))
        return Starlette(routes=routes, middleware=[Middleware(KeepSlashes)], exception_handlers=HANDLERS)

    async def chat(self, request: Request, caller: Caller | None) -> Response:
        """Answer a request with the chunks of a message."""
        self.guard.require_stream(caller)
        agent = self.agent_of(request)
        body = body_of(await json_of(request, self.limits))
        thread = await self.threads.find(body.id, caller)
        return self._answer(thread, await self._going(thread, agent, body), caller)

    async def reconnect(self, request: Request, caller: Caller | None) -> Response:
        """The message that a run in work writes, from its beginning; 204 where none does."""
        self.guard.require_stream(caller)
        thread = await self.threads.find(id_in_path(request.path_params["chat"]), caller)
        if thread.run is None or thread.run.status not in ("running", "ready"):
            return Response(status_code=204)
        return self._answer(thread, self.threads.going(thread, replay=True), caller)

    async def messages(self, request: Request, caller: Caller | None) -> Response:
        """The messages of a conversation, for a page that is opened anew."""
        thread = await self.threads.find(id_in_path(request.path_params["chat"]), caller)
        data = msgspec.json.encode(messages_of(thread))
        return Response(data, headers={"cache-control": "no-store"}, media_type="application/json")

    def _answer(self, thread: Thread, going: Going, caller: Caller | None) -> Response:
        encoder = Encoder(thread, going.run_id, going.narrator)
        return self.stream(self.pieces(encoder, going, caller, encoder.started()), caller, HEADERS)

    async def _going(self, thread: Thread, agent: Agent[TContext, TOutput], body: ChatBody) -> Going:
        """The run that answers. Raises `RunConflictError` where there is nothing to answer."""
        said, decisions = said_in(body.messages), decisions_in(body.messages, thread)
        if said is not None and (body.trigger == "regenerate-message" or body.message_id == said.id):
            said = replace(said, again=True)
        is_new = said is not None and (said.again or not thread.has(said))
        if decisions and not is_new:
            return await self.threads.decide(thread, decisions)
        if said is not None and is_new:
            return await self.threads.begin(thread, agent, said)
        if said is not None:
            return self.threads.going(thread, replay=True)
        raise RunConflictError("the request says nothing new, expected a message, or a word on a call that waits; add one")
