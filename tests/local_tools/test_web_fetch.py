"""`web_fetch` on a real server: what it gives of a page, and where it does not go."""

from __future__ import annotations

import asyncio
import gzip
import os
import socket
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from agentsdk import Agent, Runner, UserError
from agentsdk.define.context import ToolContext
from agentsdk.errors import FetchError, TransientToolError
from agentsdk.items import FunctionCallOutput
from agentsdk.local_tools import readable
from agentsdk.testing import ScriptedModel, call, no_real_requests
from agentsdk.testing.sandbox_conformance.check import left_running
from agentsdk.tools import FunctionTool, web_fetch
from tests.local_tools.web_server import page, web_server

pytestmark = pytest.mark.anyio
LOOPBACK = ["127.0.0.1/32"]
NO_CHARSETS = ("klingon", "punycode", "idna", "undefined", "unicode_escape", "raw-unicode-escape", "rot13", "hex")
ARTICLE = """<html><head><title>On  chairs</title><style>p {}</style></head><body><nav><a href="/home">Home</a></nav>
<main><h1>Chairs</h1><p>A chair has <a href="/legs">four legs</a>, more or less, and a person who sits.</p>
<script>alert("no")</script></main></body></html>"""


async def fetch(tool: FunctionTool[Any], url: str, **arguments: Any) -> str:
    result = await tool.invoke(ToolContext[Any](None), {"url": url, "start": 0, **arguments})
    assert isinstance(result, str)
    return result


async def test_a_model_reads_a_page() -> None:
    async with web_server() as web:
        web.pages["/chairs"] = page(ARTICLE)
        model = ScriptedModel([call("web_fetch", url=f"{web.url}/chairs", start=0), "Four."])
        agent = Agent[Any, str](name="Reader", model=model, tools=[web_fetch(allowed_networks=LOOPBACK)])
        await Runner.run(agent, "How many legs has a chair?")
    (output,) = [item for item in model.requests[1].items if isinstance(item, FunctionCallOutput)]
    text = str(output.output)
    assert text.startswith(f"URL: {web.url}/chairs\nTitle: On chairs\n\n") and "four legs (/legs)" in text
    assert "alert" not in text and "Home" not in text
    assert "cookie" not in web.asked[0].lower() and "authorization" not in web.asked[0].lower()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"])
async def test_nothing_is_sent_to_an_address_that_is_not_public(host: str) -> None:
    async with web_server() as web:
        port = web.url.rpartition(":")[2]
        with pytest.raises((FetchError, TransientToolError)):
            await fetch(web_fetch(), f"http://{host}:{port}/secret")
        assert web.asked == []


async def test_every_redirect_is_checked() -> None:
    async with web_server() as web, web_server("127.0.0.2") as inner:
        web.pages["/a"] = page("", status="302 Found", location="/b")
        web.pages["/b"] = page("fine", "text/plain")
        web.pages["/out"] = page("", status="302 Found", location=f"{inner.url}/secret")
        web.pages["/file"] = page("", status="301 Moved", location="file:///etc/passwd")
        web.pages["/loop"] = page("", status="307 Temporary Redirect", location="/loop")
        tool = web_fetch(allowed_networks=LOOPBACK)
        assert await fetch(tool, f"{web.url}/a") == f"URL: {web.url}/b\n\nfine"
        with pytest.raises(FetchError, match=r"'127\.0\.0\.2' is at an address that is not public"):
            await fetch(tool, f"{web.url}/out")
        with pytest.raises(FetchError, match="scheme is 'file'"):
            await fetch(tool, f"{web.url}/file")
        with pytest.raises(FetchError, match="redirected 6 times"):
            await fetch(tool, f"{web.url}/loop")
        assert inner.asked == []


async def test_the_connection_goes_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[str] = []
    real = asyncio.get_running_loop().getaddrinfo

    async def getaddrinfo(host: str, *arguments: Any, **options: Any) -> Any:
        looked_up.append(host)
        return await real("127.0.0.1" if len(looked_up) == 1 else "127.0.0.2", *arguments, **options)

    async with web_server() as web, web_server("127.0.0.2") as inner:
        web.pages["/"] = page("safe", "text/plain")
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
        url = web.url.replace("127.0.0.1", "rebound.example")
        assert (await fetch(web_fetch(allowed_networks=LOOPBACK), f"{url}/")).endswith("safe")
        assert looked_up[0] == "rebound.example" and "host: rebound.example:" in web.asked[0].lower()
        assert inner.asked == []


async def test_a_name_is_looked_up_as_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules that Python's own lookup follows for other letters than ASCII's make another name of it."""
    looked_up: list[str] = []
    real = asyncio.get_running_loop().getaddrinfo

    async def getaddrinfo(host: str, *arguments: Any, **options: Any) -> Any:
        looked_up.append(host)
        return await real("127.0.0.1", *arguments, **options)

    async with web_server() as web:
        web.pages["/"] = page("ours", "text/plain")
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
        url = web.url.replace("127.0.0.1", "stra\u00dfe.example")
        assert (await fetch(web_fetch(allowed_networks=LOOPBACK), f"{url}/")).endswith("ours")
        assert looked_up[0] == "xn--strae-oqa.example" and "host: xn--strae-oqa.example:" in web.asked[0].lower()


@pytest.mark.parametrize(
    "listed", ["stra\u00dfe.example", "xn--strae-oqa.example", ".xn--strae-oqa.example", "XN--STRAE-OQA.example."]
)
@pytest.mark.parametrize("named", ["stra\u00dfe.example", "xn--strae-oqa.example", "XN--strae-oqa.EXAMPLE."])
async def test_a_listed_name_is_known_in_each_of_its_forms(listed: str, named: str) -> None:
    with pytest.raises(FetchError, match="are not allowed here"):
        await fetch(web_fetch(blocked_hosts=[listed]), f"http://{named}/")


def test_what_is_no_name_of_a_host_is_refused() -> None:
    with pytest.raises(UserError, match="the list of hosts has"):
        web_fetch(blocked_hosts=["\u2603\ufe0f \u00fc"])


async def test_no_real_requests_holds_for_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    with no_real_requests(), pytest.raises(UserError, match="no_real_requests"):
        await fetch(web_fetch(), "http://pages.example/")


async def test_a_name_with_a_private_address_beside_a_public_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async def getaddrinfo(host: str, port: int, **options: Any) -> Any:
        return [(2, 1, 6, "", (address, port)) for address in ("93.184.215.14", "10.0.0.1")]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    with pytest.raises(FetchError, match="not public"):
        await fetch(web_fetch(), "http://mixed.example/")


async def test_hosts_are_allowed_and_blocked_by_name() -> None:
    async with web_server() as web:
        web.pages["/"] = page("hello", "text/plain")
        with pytest.raises(FetchError, match=r"pages of '127\.0\.0\.1' are not allowed here"):
            await fetch(web_fetch(allowed_networks=LOOPBACK, blocked_hosts=["127.0.0.1"]), f"{web.url}/")
        with pytest.raises(FetchError, match="not allowed"):
            await fetch(web_fetch(allowed_networks=LOOPBACK, allowed_hosts=["docs.example", ".example.org"]), f"{web.url}/")
        assert (await fetch(web_fetch(allowed_networks=LOOPBACK, allowed_hosts=[".0.0.1"]), f"{web.url}/")).endswith("hello")
        assert len(web.asked) == 1


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("file:///etc/passwd", "scheme is 'file'"),
        ("/etc/passwd", "scheme is ''"),
        ("http://", "and a host"),
        ("https://user:secret@example.com/", "user name or a password"),
        ("http://[::1", "no URL"),
        ("https://" + "a" * 70_000, "no URL"),
    ],
)
async def test_what_is_no_web_address_is_refused(url: str, said: str) -> None:
    with pytest.raises(FetchError, match=said) as refused:
        await fetch(web_fetch(), url)
    assert "secret" not in str(refused.value)


async def test_a_long_page_is_read_piece_by_piece() -> None:
    async with web_server() as web:
        web.pages["/"] = page("x" * 500 + "y" * 500, "text/plain")
        tool = web_fetch(allowed_networks=LOOPBACK, max_chars=600)
        first = await fetch(tool, f"{web.url}/")
        assert "Characters 0 to 600 of 1000; read on with start=600" in first and first.endswith("y" * 100)
        rest = await fetch(tool, f"{web.url}/", start=600)
        assert "Characters 600 to 1000 of 1000\n" in rest and rest.endswith("\n\n" + "y" * 400)
        with pytest.raises(FetchError, match="the page has 1000 characters, expected a smaller start than 1000"):
            await fetch(tool, f"{web.url}/", start=1000)


async def test_no_more_is_read_than_asked_for() -> None:
    sent = 0

    async def endless(writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")
        while True:
            writer.write(b"z" * 65_536)
            await writer.drain()
            sent += 65_536

    async with web_server() as web:
        web.pages["/"] = endless
        text = await fetch(web_fetch(allowed_networks=LOOPBACK, max_bytes=100_000), f"{web.url}/")
        assert "longer than what is read" in text and "of 100000;" in text
        web.pages["/bomb"] = page(gzip.compress(b"0" * 200_000_000, 1), "text/plain", content_encoding="gzip")
        bomb = await fetch(web_fetch(allowed_networks=LOOPBACK, max_bytes=100_000), f"{web.url}/bomb")
        assert "of 100000;" in bomb
    assert sent < 50_000_000


async def test_a_zipped_page_is_inflated_and_a_broken_one_refused() -> None:
    async with web_server() as web:
        tool = web_fetch(allowed_networks=LOOPBACK)
        web.pages["/good"] = page(gzip.compress("gr\u00fc\u00df".encode()), "text/plain", content_encoding="gzip")
        assert (await fetch(tool, f"{web.url}/good")).endswith("gr\u00fc\u00df")
        web.pages["/bad"] = page(b"\x1f\x8b\x08not gzip", "text/plain", content_encoding="gzip")
        with pytest.raises(FetchError, match="broken"):
            await fetch(tool, f"{web.url}/bad")
        whole = gzip.compress(b"all of it" * 1000)
        web.pages["/cut"] = page(whole[: len(whole) // 2], "text/plain", content_encoding="gzip")
        with pytest.raises(TransientToolError, match="ends too early"):
            await fetch(tool, f"{web.url}/cut")
        web.pages["/none"] = page(b"", "text/plain", content_encoding="gzip")
        assert (await fetch(tool, f"{web.url}/none")).endswith("(no text)")
        web.pages["/br"] = page(b"??", "text/plain", content_encoding="br")
        with pytest.raises(FetchError, match="encoding that was not asked for"):
            await fetch(tool, f"{web.url}/br")


async def test_a_zipped_page_that_inflates_to_little_is_not_read_without_end() -> None:
    zipped = zlib.compressobj(wbits=31)
    begin, empty_block = zipped.compress(b"begin ") + zipped.flush(zlib.Z_SYNC_FLUSH), b"\0\0\0\xff\xff"
    async with web_server() as web:
        body = begin + 100_000 * empty_block + zipped.compress(b"end") + zipped.flush()
        web.pages["/"] = page(body, "text/plain", content_encoding="gzip")
        text = await fetch(web_fetch(allowed_networks=LOOPBACK, max_bytes=50_000), f"{web.url}/")
    assert "longer than what is read" in text and text.endswith("begin")


@pytest.mark.parametrize(
    ("kind", "body", "shown"),
    [
        ("application/json", b'{"a": 1}', '{"a": 1}'),
        ("application/ld+json", b"{}", "{}"),
        ("text/plain; charset=latin-1", b"caf\xe9", "caf\u00e9"),
        *((f"text/plain; charset={name}", b"caf\xc3\xa9 \\x41", "caf\u00e9 \\x41") for name in NO_CHARSETS),
        ("text/plain; charset*=utf-8''a%00b", b"caf\xc3\xa9", "caf\u00e9"),
        ("text/html; charset*=utf-8''a%00b", b"<meta charset=utf-8><p>caf\xc3\xa9 au lait", "caf\u00e9 au lait"),
        ("text/html; charset=iso-8859-1", b"<p>caf\xe9 au lait", "caf\u00e9 au lait"),
        ("text/html", b"", "(no text)"),
        ("text/plain", b"bad \xff byte", "bad \ufffd byte"),
    ],
)
async def test_text_comes_in_its_own_encoding(kind: str, body: bytes, shown: str) -> None:
    async with web_server() as web:
        web.pages["/"] = page(body, kind)
        assert (await fetch(web_fetch(allowed_networks=LOOPBACK), f"{web.url}/")).partition("\n\n")[2] == shown


async def test_what_is_no_text_is_refused() -> None:
    async with web_server() as web:
        web.pages["/"] = page(b"\x89PNG", "image/png")
        with pytest.raises(FetchError, match="the page is 'image/png', expected text or HTML"):
            await fetch(web_fetch(allowed_networks=LOOPBACK), f"{web.url}/")
        with pytest.raises(FetchError, match="status 404"):
            await fetch(web_fetch(allowed_networks=LOOPBACK), f"{web.url}/nowhere")


async def test_what_may_pass_is_a_transient_error() -> None:
    async def cut(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 100\r\n\r\nhalf")

    async with web_server() as web:
        web.pages["/busy"] = page("", status="503 Service Unavailable")
        web.pages["/silent"], web.pages["/cut"] = lambda _: web.closing.wait(), cut
        tool = web_fetch(allowed_networks=LOOPBACK, seconds=0.3)
        for path, said in [("/busy", "status 503"), ("/silent", "within 0.3 seconds"), ("/cut", "RemoteProtocolError")]:
            with pytest.raises(TransientToolError, match=said):
                await fetch(tool, web.url + path)
        gone = web.url
    with pytest.raises(TransientToolError, match="ConnectError"):
        await fetch(tool, gone)


async def test_a_name_that_nobody_knows_may_be_known_later(monkeypatch: pytest.MonkeyPatch) -> None:
    async def getaddrinfo(host: str, port: int, **options: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    with pytest.raises(TransientToolError, match=r"the host 'nowhere\.example' was not found"):
        await fetch(web_fetch(), "http://nowhere.example/")


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "017700000001", "127.1"])
async def test_an_address_in_another_notation_is_what_it_stands_for(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def getaddrinfo(host: str, port: int, **options: Any) -> Any:
        return [(2, 1, 6, "", ("127.0.0.1", port))]  # as the C library reads all four

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    with pytest.raises(FetchError, match="not public"):
        await fetch(web_fetch(), f"http://{host}/")


async def test_a_page_that_no_parser_gets_through_is_given_up() -> None:
    with pytest.raises(FetchError, match=r"could not be read within 0\.3 seconds"):
        await readable.readable_text(b"<div>" * 300_000, seconds=0.3)


def reading() -> list[int]:
    """The processes that this one has started to read a page, and that have got all of it."""

    def is_ours(pid: int) -> bool:
        try:
            parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
            return int(parent) == os.getpid() and int(Path(f"/proc/{pid}/io").read_text().split()[1]) > len(NESTED)
        except OSError:  # another test's, which has ended
            return False

    return [pid for pid in left_running("bytes_to_str") if is_ours(pid)]


NESTED = b" " * 10_000_000 + b"<div>" * 300_000


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
async def test_reading_is_cancelled_with_the_call() -> None:
    running = asyncio.create_task(readable.readable_text(NESTED))
    async with asyncio.timeout(60):
        while not reading():  # noqa: ASYNC110 - nobody else tells how far the process is
            await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert reading() == []


async def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readable, "_PROGRAM", "import sys; sys.exit(3)")
    with pytest.raises(UserError, match=r"pip install 'agentsdk\[html\]'"):
        await readable.readable_text(b"<p>hello")
    monkeypatch.setattr(readable, "_PROGRAM", "import sys; sys.exit(1)")
    with pytest.raises(FetchError, match="could not be read"):
        await readable.readable_text(b"<p>hello")
