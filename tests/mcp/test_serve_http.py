"""An MCP server over streamable HTTP: a real socket, the official client, and what no client sends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import mcp_types as wire
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette
from starlette.authentication import AuthCredentials, AuthenticationBackend, SimpleUser
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection
from starlette.routing import Mount, Route

from agentsdk import SQLiteRunStore, ToolContext, UserError, function_tool
from agentsdk.mcp import MCPRequest, asgi_app
from agentsdk.toolsets import ToolRegistry, Toolset, ToolsetContext
from tests.asgi_server import listening
from tests.mcp.served import Crowd, Work, add, clerk, refund, tools
from tests.mcp.test_serve import Person, accept, both, text

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")]


@asynccontextmanager
async def connected(address: str, era: str, token: str = "", **client: Any) -> AsyncGenerator[Client, None]:
    import httpx2

    headers = {"authorization": token} if token else {}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport: Any = streamable_http_client(f"{address}/mcp", http_client=http)
        async with Client(transport, mode=era, cache=None, **client) as one:
            yield one


class Tokens(AuthenticationBackend):
    """The token is the user's name."""

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, SimpleUser] | None:
        name = conn.headers.get("authorization")
        return None if name is None else (AuthCredentials(), SimpleUser(name))


def in_application(app: Any) -> Starlette:
    """Mounted in an application of one's own, whose lifespan knows nothing of it."""
    return Starlette(routes=[Route("/mcp", app)], middleware=[Middleware(AuthenticationMiddleware, backend=Tokens())])


@both
async def test_tools_and_approvals_over_a_socket(era: str) -> None:
    person = Person(accept(approve=True))
    app = asgi_app([*tools, clerk])
    async with listening(app) as address, connected(address, era, elicitation_callback=person) as client:
        assert client.protocol_version == {"legacy": "2025-11-25", "auto": "2026-07-28"}[era]
        assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}
        assert text(await client.call_tool("refund", {"order": 1})) == "order 1 is paid back"


@both
async def test_the_context_is_that_of_who_asks_and_runs_are_each_users_own(era: str, tmp_path: Path) -> None:
    seen: list[MCPRequest] = []

    async def context_of(request: MCPRequest) -> str:
        seen.append(request)
        return f"user {request.principal}"

    @function_tool
    def whoami(context: ToolContext[str]) -> str:
        """Who asks."""
        return context.context

    store = SQLiteRunStore(tmp_path / "runs.db")
    app = asgi_app([whoami], store=store, context=context_of)
    async with listening(in_application(app)) as address:
        async with connected(address, era, "ada") as client:
            assert text(await client.call_tool("whoami", {"run_id": "one"})) == "user ada"
        async with connected(address, era, "bob") as client:
            assert (await client.call_tool("get_run", {"run_id": "one"})).is_error
            assert text(await client.call_tool("whoami", {"run_id": "one"})) == "user bob"
        await app.aclose()
    await store.aclose()
    called = next(request for request in seen if request.tool == "whoami")
    assert isinstance(called.user, SimpleUser) and called.headers["authorization"] == "ada"
    assert called.client.startswith("mcp ")


async def test_a_context_callable_that_raises_is_a_typed_error_without_its_words() -> None:
    def context_of(request: MCPRequest) -> None:
        raise RuntimeError("password 1234")

    async with (
        listening(asgi_app(ToolRegistry[Any]([add]), context=context_of)) as address,
        connected(address, "legacy") as client,
    ):
        result = await client.call_tool("add", {"a": 1, "b": 2})
        assert result.is_error and text(result).startswith("CallbackError: the context callable") and "1234" not in text(result)
        with pytest.raises(MCPError, match="the context callable of the MCP server raised RuntimeError"):
            await client.list_tools()


async def test_clients_of_the_handshake_era_are_told_when_a_registry_changes() -> None:
    told = asyncio.Queue[Any]()

    async def on_message(message: Any) -> None:
        if isinstance(message, wire.ToolListChangedNotification):
            told.put_nowait(message)

    registry = ToolRegistry[Any]([add])
    async with listening(asgi_app(registry)) as address, connected(address, "legacy", message_handler=on_message) as client:
        assert client.server_capabilities.tools is not None and client.server_capabilities.tools.list_changed
        assert [tool.name for tool in (await client.list_tools()).tools] == ["add"]
        while told.empty():  # the stream for notifications opens a moment after the handshake
            registry.register(refund)
            registry.unregister("refund")
            await asyncio.sleep(0.01)
        registry.register(refund)
        assert [tool.name for tool in (await client.list_tools()).tools] == ["add", "refund"]


async def test_clients_of_today_are_told_when_a_registry_changes() -> None:
    registry = ToolRegistry[Any]([add], instructions="Numbers only.")
    async with listening(asgi_app(registry)) as address, connected(address, "auto") as client:
        assert client.instructions == "Numbers only."
        async with client.listen(tools_list_changed=True) as changes:
            await asyncio.to_thread(registry.register, refund)
            async for _ in changes:
                break
        assert [tool.name for tool in (await client.list_tools()).tools] == ["add", "refund"]
        assert (await client.call_tool("add", {"a": 1, "b": 1})).structured_content == {"result": 2}


@both
async def test_a_toolset_that_fails_is_a_typed_error_and_the_server_goes_on(era: str) -> None:
    class Failing(Toolset[Any]):
        name = "failing"
        failure: BaseException | None = ValueError("secret")
        given: Any = (add,)

        async def get_tools(self, context: ToolsetContext[Any]) -> Any:
            if self.failure is not None:
                raise self.failure
            return self.given

    failing = Failing()
    async with listening(asgi_app(failing)) as address, connected(address, era) as client:
        with pytest.raises(MCPError, match="toolset 'failing' raised ValueError; see the chained exception"):
            await client.list_tools()
        result = await client.call_tool("add", {"a": 1, "b": 1})
        assert result.is_error and text(result).startswith("ToolsetError: ") and "secret" not in text(result)
        failing.failure, failing.given = None, (add, add)
        with pytest.raises(MCPError, match="offers two tools named 'add'"):
            await client.list_tools()
        failing.given = (add,)
        assert (await client.call_tool("add", {"a": 1, "b": 1})).structured_content == {"result": 2}


@both
async def test_a_hundred_calls_at_once_are_all_answered_few_at_a_time(era: str) -> None:
    crowd = Crowd()
    async with (
        listening(asgi_app([crowd.tool()], max_calls=8, max_waiting_calls=992)) as address,
        connected(address, era) as client,
    ):
        results = await asyncio.gather(*[client.call_tool("work", {"number": number}) for number in range(100)])
    assert [result.structured_content for result in results] == [{"result": number} for number in range(100)]
    assert crowd.most <= 8


@both
async def test_more_calls_than_may_wait_are_refused_and_the_others_are_answered(era: str) -> None:
    work = Work()
    async with (
        listening(asgi_app([work.tool()], max_calls=1, max_waiting_calls=1)) as address,
        connected(address, era) as client,
    ):
        first = asyncio.create_task(client.call_tool("work", {}))
        await work.began.wait()
        second, third = (asyncio.create_task(client.call_tool("work", {})) for _ in range(2))
        done, _ = await asyncio.wait((second, third), return_when=asyncio.FIRST_COMPLETED)
        (refused,) = done
        assert refused.result().is_error and "the server has 2 calls at work, expected fewer" in text(refused.result())
        work.may_end.set()
        assert {text(await each) for each in (first, second, third) if each is not refused} == {"done"}


async def test_a_client_of_today_that_goes_away_cancels_its_call() -> None:
    work = Work()
    async with listening(asgi_app([work.tool()])) as address:
        async with connected(address, "auto") as client:
            calling = asyncio.create_task(client.call_tool("work", {}))
            await work.began.wait()
            calling.cancel()
            await asyncio.wait((calling,))
        await work.ended.wait()


async def test_a_run_goes_on_without_its_client_where_the_server_says_so(tmp_path: Path) -> None:
    work = Work()
    store = SQLiteRunStore(tmp_path / "runs.db")
    async with listening(asgi_app([work.tool()], store=store, goes_on_without_client=True)) as address:
        async with connected(address, "auto") as client:
            calling = asyncio.create_task(client.call_tool("work", {"run_id": "one"}))
            await work.began.wait()
            calling.cancel()
            await asyncio.wait((calling,))
        async with connected(address, "auto") as client:
            stands = await client.call_tool("get_run", {"run_id": "one"})
            assert stands.structured_content is not None and stands.structured_content["status"] == "running"
            work.may_end.set()
            assert text(await client.call_tool("work", {"run_id": "one"})) == "done"
    await store.aclose()


async def test_a_handshake_client_that_is_cut_off_finds_its_result_under_the_run_id(tmp_path: Path) -> None:
    work = Work()
    store = SQLiteRunStore(tmp_path / "runs.db")
    async with listening(asgi_app([work.tool()], store=store)) as address:
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
        opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        headers = {"accept": "application/json, text/event-stream"}
        async with httpx.AsyncClient(headers=headers, timeout=60) as http:
            opened = await http.post(f"{address}/mcp", json={**body, "params": opening})
            headers["mcp-session-id"] = opened.headers["mcp-session-id"]
            await http.post(f"{address}/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers)
            called = {"name": "work", "arguments": {"run_id": "one"}}
            request = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": called}
            async with http.stream("POST", f"{address}/mcp", json=request, headers=headers):
                await work.began.wait()  # and the connection breaks: no cancellation in this era
        work.may_end.set()
        async with connected(address, "legacy") as client:
            assert text(await client.call_tool("work", {"run_id": "one"})) == "done"
    await store.aclose()


ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


async def test_what_no_client_sends_is_refused_and_the_server_goes_on() -> None:
    headers = {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "add",
    }
    good = {"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": ENVELOPE}

    def request(params: Any) -> bytes:
        return json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).encode()

    async with listening(asgi_app([add], max_argument_bytes=100)) as address, httpx.AsyncClient(timeout=60) as http:

        async def post(body: bytes, **more: str) -> httpx.Response:
            return await http.post(f"{address}/mcp", content=body, headers={**headers, **more})

        broken = await post(b'{"jsonrpc": "2.0", "id": 1, ')
        assert broken.status_code == 400 and broken.json()["error"]["code"] == -32700
        assert (await post(b"[]")).status_code == 400
        assert (await post(b"x" * 5_000_000)).status_code == 413
        assert (await post(request({**good, "arguments": [1]}))).json()["error"]["code"] == -32602
        long = (await post(request({**good, "arguments": {"a": 1, "b": 2, "c": "x" * 200}}))).json()["result"]
        assert long["isError"] and long["content"][0]["text"].startswith("ArgumentsTooLong: ")
        deep = (await post(request({**good, "arguments": {"a": 1, "b": {"c": [[[1]]]}}}))).json()["result"]
        assert deep["isError"] and "b: expected an integer" in deep["content"][0]["text"]
        half = await post(request({**good, "arguments": {"a": "half", "b": 2}}).replace(b"half", b"\\ud800"))
        assert half.json()["result"]["content"][0]["text"].startswith("InvalidArgumentsError: they hold what JSON cannot carry")
        twice = await asyncio.gather(post(request(good)), post(request(good)))
        assert [one.json()["result"]["structuredContent"] for one in twice] == [{"result": 3}] * 2


async def test_other_hosts_and_origins_are_refused_where_the_hosts_are_named() -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": ENVELOPE}}
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/list",
    }
    async with listening(asgi_app([add], allowed_hosts=["127.0.0.1:*"])) as address, httpx.AsyncClient() as http:
        for more, status in (({}, 200), ({"host": "evil.example"}, 421), ({"origin": "http://evil.example"}, 403)):
            response = await http.post(f"{address}/mcp", json=body, headers={**headers, **more})
            assert response.status_code == status, response.text


async def test_mounted_under_a_path_it_begins_with_the_first_request() -> None:
    app = asgi_app([add])
    async with listening(Starlette(routes=[Mount("/mcp", app)])) as address:
        async with connected(f"{address}/mcp/deep", "auto") as client:
            assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}
        await app.aclose()


@pytest.mark.parametrize(
    ("thing", "options", "says"),
    [
        ("clerk", {}, "a 'str' is to be served, expected an Agent"),
        ([], {}, "an empty list is to be served"),
        ([add, 1], {}, "a 'int' is to be served"),
        ([add, add], {}, "two of what is to be served are named 'add'"),
        ([add, clerk.clone(name="add")], {}, "two of what is to be served are named 'add'"),
        ([add], {"store": 1}, "serve(store=1), expected a RunStore"),
        ([add], {"max_calls": 0}, "serve(max_calls=0), expected at least 1"),
        ([add], {"context": 1}, "serve(context=1), expected a callable"),
        ([add], {"ask_timeout": 0}, "serve(ask_timeout=0), expected finite seconds"),
        ([add], {"goes_on_without_client": True}, "was given no store, expected one"),
        ([add], {"name": ""}, "serve(name=''), expected the server's name"),
    ],
)
def test_a_wrong_argument_is_named(thing: Any, options: Any, says: str) -> None:
    with pytest.raises(UserError) as raised:
        asgi_app(thing, **options)
    assert says in str(raised.value)


def test_an_unknown_option_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="colour"):
        asgi_app([add], colour="red")  # type: ignore[call-arg]
