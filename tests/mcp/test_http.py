"""Servers over HTTP: headers of each run, authentication, statuses, redirects, sessions that the server has forgotten."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.server.mcpserver import MCPServer
from starlette.requests import Request as AppRequest
from starlette.responses import JSONResponse, Response

from agentsdk import Agent, FunctionTool, RunContextWrapper, Runner
from agentsdk.errors import MCPError, MCPStatusError, UserError
from agentsdk.items import InputText
from agentsdk.mcp import MCPServerStreamableHttp
from agentsdk.testing import ScriptedModel, call
from agentsdk.toolsets import ToolsetContext
from tests.asgi_server import listening
from tests.mcp.misbehaving.clock import JumpingLoop, pass_time
from tests.mcp.misbehaving.servers.base import HANDSHAKE, MODERN
from tests.mcp.misbehaving.servers.http_front import HttpFront, Request

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "asyncio", {"loop_factory": JumpingLoop}


class Shop:
    """A server of the official package, behind what sees each request first."""

    def __init__(self, gate: Callable[[AppRequest], Response | None] = lambda request: None) -> None:
        self.seen: Counter[str] = Counter()
        official = MCPServer("shop")

        @official.tool()
        def add(a: int, b: int) -> int:
            """Add."""
            return a + b

        @official.resource("shop://hours")
        def hours() -> str:
            """When it is open."""
            return "nine to five"

        @official.prompt()
        def greet(name: str) -> str:
            """Greet."""
            return f"Greet {name}."

        self._app = official.streamable_http_app()
        self._gate = gate

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            request = AppRequest(scope)
            self.seen[request.headers.get("authorization", "")] += 1
            if (response := self._gate(request)) is not None:
                return await response(scope, receive, send)
        await self._app(scope, receive, send)


async def run(server: MCPServerStreamableHttp, context: Any = None) -> Any:
    agent = Agent[Any, str](name="A", model=ScriptedModel([call("add", a=1, b=2), "done"]), toolsets=[server])
    result = await Runner.run(agent, "go", context=context)
    assert result.final_output == "done"
    return next(item.output for item in result.new_items if item.type == "tool_call_output_item")


async def bearer(context: RunContextWrapper[Any]) -> dict[str, str]:
    return {"authorization": f"Bearer {context.context}"}


async def test_each_run_has_headers_of_its_own() -> None:
    shop = Shop()
    async with listening(shop) as url:
        server = MCPServerStreamableHttp({"url": f"{url}/mcp", "headers": bearer}, name="shop")
        for user in ("ada", "bob", "ada"):
            assert await run(server, user) == "3"
        await server.aclose()
    assert shop.seen.keys() == {"Bearer ada", "Bearer bob"}, "no request without the headers of its run"
    assert shop.seen["Bearer ada"] == shop.seen["Bearer bob"] + 1, "the second run of a user has the connection of the first"


async def test_what_is_asked_outside_of_a_run_is_asked_for_somebody() -> None:
    shop = Shop()
    async with listening(shop) as url, MCPServerStreamableHttp({"url": f"{url}/mcp", "headers": bearer}, name="shop") as server:
        ada = RunContextWrapper("ada")
        await server.connect(context=ada)
        assert [tool.name for tool in await server.list_tools(context=ada)] == ["add"]
        assert [one.uri for one in await server.list_resources(context=ada)] == ["shop://hours"]
        assert await server.read_resource("shop://hours", context=ada) == (InputText("[Resource shop://hours]\nnine to five"),)
        assert [one.name for one in await server.list_prompts(context=ada)] == ["greet"]
        assert await server.get_instructions_of("greet", {"name": "Bob"}, context=ada) == "Greet Bob."
        for asked in (server.connect, server.list_tools, server.list_resources, server.list_prompts):
            with pytest.raises(UserError, match="MCP server 'shop' has headers of each run"):
                await asked()
        assert server.health.connections == 1
    assert shop.seen.keys() == {"Bearer ada"}, "nothing is asked without anybody's headers"
    assert server.health.state == "closed"
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "MCP server shop"]


class Personal(HttpFront):
    """Says to each user what is only for them."""

    async def post(self, request: Request, out: asyncio.StreamWriter) -> None:
        self.inner.instructions = f"The secret of {request.headers['authorization']}."
        await super().post(request, out)


async def test_a_run_is_told_nothing_that_is_said_to_another_user(tmp_path: Path) -> None:
    front = Personal(MODERN, str(tmp_path / "journal"))

    async def told(user: str) -> str:
        model = ScriptedModel(["done"])
        await Runner.run(Agent[Any, str](name="A", model=model, toolsets=[server]), "go", context=user)
        return model.requests[0].instructions

    async def rule(context: ToolsetContext[Any], tool: FunctionTool[Any]) -> bool:
        if context.context == "ada":  # bob's run takes place while the tools of hers are found
            assert await told("bob") == "The secret of Bearer bob."
        return True

    params: Any = {"url": await front.start(), "headers": bearer}
    server = MCPServerStreamableHttp(params, name="wiki", include_instructions=True, trusted=True, tool_filter=rule)
    assert await told("ada") == "The secret of Bearer ada."
    await server.aclose()
    await front.stop()


async def test_headers_that_are_none() -> None:
    server = MCPServerStreamableHttp({"url": "http://127.0.0.1:9/mcp", "headers": lambda context: {"x": 1}}, name="shop")  # type: ignore[dict-item,return-value]
    with pytest.raises(UserError, match="the callable of MCP server 'shop'"):
        await run(server)


class Token(httpx2.Auth):
    """Gets a token when it is asked for one."""

    def auth_flow(self, request: httpx2.Request) -> Any:
        response = yield request
        if response.status_code == 401 and response.headers["www-authenticate"] == 'Bearer realm="shop"':
            request.headers["authorization"] = "Bearer secret"
            yield request


def guarded(request: AppRequest) -> Response | None:
    if request.headers.get("authorization") == "Bearer secret":
        return None
    return JSONResponse({"error": "who are you?"}, 401, {"www-authenticate": 'Bearer realm="shop"'})


class FetchedToken(Token):
    """Fetches it from the shop, with a request of its own."""

    requires_response_body = True

    def auth_flow(self, request: httpx2.Request) -> Any:
        response = yield request
        if response.status_code == 401:
            token = yield httpx2.Request("POST", request.url.join("/token"), data={"grant_type": "client_credentials"})
            request.headers["authorization"] = f"Bearer {token.json()['access_token']}"
            yield request


def with_tokens(request: AppRequest) -> Response | None:
    return JSONResponse({"access_token": "secret"}) if request.url.path == "/token" else guarded(request)


@pytest.mark.parametrize("auth", [Token(), FetchedToken()])
async def test_an_auth_flow_of_the_package(auth: httpx2.Auth) -> None:
    async with listening(Shop(with_tokens)) as url:
        server = MCPServerStreamableHttp({"url": f"{url}/mcp", "auth": auth}, name="shop")
        assert await run(server) == "3"
        await server.aclose()


@pytest.mark.parametrize("status", [401, 403, 404, 500])
async def test_a_status_is_named(status: int) -> None:
    async with listening(Shop(lambda request: Response("<html>", status))) as url:
        server = MCPServerStreamableHttp({"url": f"{url}/mcp"}, name="shop")
        with pytest.raises(MCPStatusError, match=f"HTTP {status}") as caught:
            await server.connect()
        assert (caught.value.status, caught.value.server) == (status, "shop")
        await server.aclose()


async def test_a_redirect_elsewhere_is_not_followed() -> None:
    elsewhere = Shop()
    async with listening(elsewhere) as other:

        def gate(request: AppRequest) -> Response:
            return Response(status_code=307, headers={"location": f"{other}/mcp"})

        async with listening(Shop(gate)) as url:
            params: Any = {"url": f"{url}/mcp", "headers": {"authorization": "Bearer canary"}}
            server = MCPServerStreamableHttp(params, name="shop")
            with pytest.raises(MCPError, match="redirect") as caught:
                await server.connect()
            await server.aclose()
    assert not elsewhere.seen
    assert "canary" not in str(caught.value) and "canary" not in repr(server.health)


async def connected(server: MCPServerStreamableHttp, user: str) -> str:
    await server.connect(context=RunContextWrapper(user))
    return "3"


@pytest.mark.parametrize("use", [run, connected])
async def test_users_that_come_while_others_are_being_connected(use: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that is in use makes no room for another, also while it is being opened; idle ones do."""
    monkeypatch.setattr("agentsdk.mcp.streamable_http.MAX_LINKS", 2)
    shop, users, all_there = Shop(), [str(number) for number in range(5)], asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            seen.add(dict(scope["headers"])[b"authorization"])
            if len(seen) == len(users):
                all_there.set()
            await all_there.wait()
        await shop(scope, receive, send)

    seen: set[bytes] = set()
    async with listening(slow) as url:
        server = MCPServerStreamableHttp({"url": f"{url}/mcp", "headers": bearer}, name="shop")
        assert await asyncio.gather(*[use(server, user) for user in users]) == ["3"] * 5
        assert await run(server, "one more") == "3"
        while len(held := [task for task in asyncio.all_tasks() if task.get_name() == "MCP server shop"]) > 2:
            await asyncio.wait(held, return_when=asyncio.FIRST_COMPLETED)
        await server.aclose()


class DeafToCancels(HttpFront):
    """Where it is told that a call is cancelled it ends the connection, or says nothing. It answers calls when it may."""

    def __init__(self, journal: Path, how: str) -> None:
        super().__init__(HANDSHAKE, str(journal))
        self.how = how
        self.calls, self.cancels = asyncio.Semaphore(0), asyncio.Event()
        self.may_answer = asyncio.Event()

    async def post(self, request: Request, out: asyncio.StreamWriter) -> None:
        if request.method == "notifications/cancelled":
            self.cancels.set()
            if self.how == "cut":
                self.cut(out)
            await self.closing.wait()
        if request.method == "tools/call":
            self.calls.release()
            await self.may_answer.wait()
        await super().post(request, out)


@pytest.mark.parametrize("how", ["cut", "silent"])
async def test_a_notification_that_is_not_taken_costs_no_other_call(how: str, tmp_path: Path) -> None:
    front = DeafToCancels(tmp_path / "journal", how)
    async with MCPServerStreamableHttp({"url": await front.start()}, name="shop", trusted=True) as server:

        async def pinged() -> Any:
            agent = Agent[Any, str](name="A", model=ScriptedModel([call("ping"), "done"]), toolsets=[server])
            result = await Runner.run(agent, "go")
            return next(item.output for item in result.new_items if item.type == "tool_call_output_item")

        cancelled, other = asyncio.create_task(pinged()), asyncio.create_task(pinged())
        await front.calls.acquire()
        await front.calls.acquire()
        cancelled.cancel()
        await asyncio.wait([cancelled])
        await front.cancels.wait()
        front.may_answer.set()
        assert await other == "pong"
        third = asyncio.create_task(pinged())
        if how == "silent":
            await pass_time(6)
        async with asyncio.timeout(60):
            assert await third == "pong"
        assert server.health.connections == 1
    await front.stop()


class Lingering(HttpFront):
    """Is slow to say good bye to the first that leaves."""

    def __init__(self, journal: Path) -> None:
        super().__init__(HANDSHAKE, str(journal))
        self.leaving, self.may_leave, self.has_left = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def delete(self, request: Request, out: asyncio.StreamWriter) -> None:
        if self.leaving.is_set():
            await super().delete(request, out)
            self.has_left.set()
        else:
            self.leaving.set()
            await self.may_leave.wait()
            await super().delete(request, out)


async def test_a_closed_server_has_closed_the_connections_that_made_room_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentsdk.mcp.streamable_http.MAX_LINKS", 1)
    front = Lingering(tmp_path / "journal")
    server = MCPServerStreamableHttp({"url": await front.start(), "headers": bearer}, name="shop")
    await connected(server, "ada")
    await connected(server, "bob")  # hers makes room
    await front.leaving.wait()
    closing = asyncio.create_task(server.aclose())
    await front.has_left.wait()
    for _ in range(200):
        await asyncio.sleep(0)
    front.may_leave.set()
    await closing
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "MCP server shop"]
    await front.stop()


async def test_as_many_calls_side_by_side_as_there_are() -> None:
    """The last of 120 calls is needed for the first to come back."""
    official, all_there, waiting = MCPServer("meeting"), asyncio.Event(), Counter[str]()

    @official.tool()
    async def meet() -> str:
        """Meet the others."""
        waiting["calls"] += 1
        if waiting["calls"] == 120:
            all_there.set()
        await all_there.wait()
        return "met"

    async with listening(official.streamable_http_app()) as url:
        params: Any = {"url": f"{url}/mcp", "timeout": 60.0}
        server = MCPServerStreamableHttp(params, name="meeting", client_session_timeout_seconds=120)

        async def met() -> Any:
            agent = Agent[None, str](name="A", model=ScriptedModel([call("meet"), "done"]), toolsets=[server])
            result = await Runner.run(agent, "go")
            return next(item.output for item in result.new_items if item.type == "tool_call_output_item")

        assert await asyncio.gather(*[met() for _ in range(120)]) == ["met"] * 120
        await server.aclose()


async def test_a_server_that_is_gone_is_down() -> None:
    async with listening(Shop()) as url:
        server = MCPServerStreamableHttp({"url": f"{url}/mcp"}, name="shop", trusted=True)
        assert await run(server) == "3"
    model = ScriptedModel([call("add", a=1, b=2), "done"])
    await Runner.run(Agent[None, str](name="A", model=model, toolsets=[server]), "go")
    assert server.health.state == "down"
    assert "MCP server 'shop' is not available now: it cannot be reached" in model.requests[-1].instructions
    await server.aclose()
