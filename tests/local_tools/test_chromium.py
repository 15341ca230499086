"""`ChromiumBrowser`, a real Chromium on a real server: what it does, what it reaches, and how it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import struct
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import psutil
import pytest

from agentsdk.errors import ComputerError, SandboxUnavailableError, UserError
from agentsdk.local_tools.chromium import ChromiumBrowser
from agentsdk.tools import Browser
from tests.local_tools.chromium import browser, chromium, needs_chromium, processes, renderers
from tests.local_tools.web_server import WebServer, page, web_server

pytestmark = [pytest.mark.anyio, needs_chromium]

# What happens to the page stands in its address.
TELLS = "<script>const tell = what => { location.hash += what + ';' }</script><body style='margin: 0; height: 5000px'>"


@asynccontextmanager
async def open_page(html: str, **options: Any) -> AsyncIterator[tuple[ChromiumBrowser, WebServer]]:
    """A browser at a page of a site."""
    async with web_server() as web:
        web.pages["/"] = page(TELLS + html)
        async with browser(start_url=f"{web.url}/", **options) as made:
            yield made, web
        assert processes() == []


async def until(made: ChromiumBrowser, condition: Callable[[], bool]) -> None:
    """Look at the screen until it holds."""
    async with asyncio.timeout(60):
        while not condition():
            await made.screenshot()


async def told(made: ChromiumBrowser) -> list[str]:
    await made.screenshot()
    return unquote(made.url.partition("#")[2]).split(";")[:-1]


def dimensions(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">2I", data[16:24])
    return width, height


async def test_pointer_and_keyboard_reach_the_page() -> None:
    html = """
        <input id=i style="position: fixed; left: 0; top: 0; width: 200px; height: 40px">
        <div id=d style="position: fixed; left: 0; top: 100px; width: 200px; height: 200px; background: tan"></div>
        <script>
            i.onkeydown = e => { if (e.key.length > 1) tell((e.ctrlKey ? 'ctrl ' : '') + e.key) }
            i.onchange = () => tell(i.value)
            d.onclick = e => tell(`click ${e.clientX} ${e.clientY} ${e.shiftKey}`)
            d.ondblclick = () => tell('double')
            d.oncontextmenu = e => { e.preventDefault(); tell('menu') }
            d.onauxclick = e => e.button == 1 && tell('middle')
            d.onmousedown = () => tell('down')
            d.onmouseup = e => tell('up ' + e.clientX)
            onscroll = () => tell('scrolled ' + scrollY)
        </script>"""
    async with open_page(html) as (made, _):
        assert isinstance(made, Browser) and made.size == (1280, 800)
        await made.click(100, 20)
        await made.type("grüezi\n")
        assert await told(made) == ["Enter", "grüezi"]
        await made.navigate(made.url.partition("#")[0])
        await made.key_down("Shift")
        await made.click(10, 110)
        await made.key_up("Shift")
        assert await told(made) == ["down", "up 10", "click 10 110 true"]
        await made.navigate(made.url.partition("#")[0])
        await made.click(10, 110, "right")
        await made.click(10, 110, "wheel")
        assert {"menu", "middle"} <= set(await told(made))
        await made.navigate(made.url.partition("#")[0])
        await made.click(10, 110, count=2)
        await made.move(20, 120)
        await made.mouse_down()
        await made.move(150, 150)
        await made.mouse_up()
        done = await told(made)
        assert "double" in done and done[-2:] == ["up 150", "click 150 150 false"]
        await made.navigate(made.url.partition("#")[0])
        await made.scroll(500, 500, 0, 300)
        await until(made, lambda: made.url.endswith("scrolled%20300;"))


async def test_history_and_links() -> None:
    async with open_page("<a href=/two style='font-size: 60px'>two</a>") as (made, web):
        web.pages["/two"] = page("two")
        home = (await told(made), made.url)[1]
        await made.click(30, 30)
        assert await told(made) == [] and made.url == f"{web.url}/two"
        await made.go_back()
        assert await told(made) == [] and made.url == home
        await made.go_forward()
        await made.go_forward()
        assert await told(made) == [] and made.url == f"{web.url}/two"
        await made.click(1, 1, "back")
        assert await told(made) == [] and made.url == home
        assert made.take_notes() == []
        with pytest.raises(ComputerError, match="the browser could not do that"):
            await made.key_down("Hyper")


async def test_screenshots_have_the_size_asked_for_and_large_ones_are_jpeg() -> None:
    async with open_page("<p>hello</p>", size=(640, 480)) as (made, web):
        plain = await made.screenshot()
        assert dimensions(plain) == (640, 480) and plain[:4] == b"\x89PNG"
        assert dimensions(await made.screenshot(size=(320, 240))) == (320, 240)
        assert dimensions(await made.screenshot((0, 0, 100, 50), (600, 300))) == (600, 300)
        web.pages["/noise"] = page(NOISE)
        await made.navigate(f"{web.url}/noise")
        assert (await made.screenshot())[:3] == b"\xff\xd8\xff"


NOISE = """<body style="margin: 0"><canvas id=c width=640 height=480></canvas><script>
    const image = c.getContext('2d').createImageData(640, 480)
    for (let i = 0; i < image.data.length; i++) image.data[i] = i % 4 == 3 ? 255 : Math.random() * 256
    c.getContext('2d').putImageData(image, 0, 0)</script>"""


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("file:///etc/passwd", "the URL's scheme is 'file'"),
        ("chrome://version", "the URL's scheme is 'chrome'"),
        ("data:text/html,hello", "the URL's scheme is 'data'"),
        ("javascript:alert(1)", "the URL's scheme is 'javascript'"),
        ("view-source:http://127.0.0.1/", "the URL's scheme is 'view-source'"),
        ("about:blank", "the URL's scheme is 'about'"),
        ("example.com", "expected https or http"),
        ("http://user:word@127.0.0.1/", "a user name or a password"),
        ("http://169.254.169.254/latest/meta-data/", "not public"),
        ("http://[::ffff:169.254.169.254]/", "not public"),
        ("http://10.0.0.1/", "not public"),
        ("http://127.0.0.2/", "not public"),
        ("http://blocked.example/", "not allowed here"),
    ],
)
async def test_an_address_that_may_not_be_opened_is_refused_before_a_browser_starts(url: str, said: str) -> None:
    async with browser(blocked_hosts=["blocked.example"]) as made:
        with pytest.raises(ComputerError, match=said):
            await made.navigate(url)
        assert processes() == []


async def test_nothing_that_a_page_does_reaches_what_is_not_allowed() -> None:
    """Redirects, frames, images, scripts, sockets, forms, pings, workers: every connection is one of the proxy."""
    async with web_server("127.0.0.2") as inner, web_server() as web:
        port = inner.url.rpartition(":")[2]
        elsewhere = f"127.0.0.2:{port}"
        web.pages["/moved"] = page("", status="302 Found", location=f"{inner.url}/redirected")
        web.pages["/worker.js"] = page(f"fetch('{inner.url}/worker')", "text/javascript")
        web.pages["/"] = page(f"""
            <link rel=dns-prefetch href="//metadata.example"><link rel=preconnect href="{inner.url}">
            <link rel=stylesheet href="{inner.url}/style"><img src="{inner.url}/image"><img src=/moved>
            <iframe src="{inner.url}/frame"></iframe><iframe src="http://169.254.169.254/latest"></iframe>
            <iframe name=post></iframe><form action="{inner.url}/form" method=post target=post id=form></form>
            <script>
                const socket = new WebSocket('ws://{elsewhere}/socket')
                const ended = new Promise(done => {{ socket.onclose = done }})
                navigator.sendBeacon('{inner.url}/beacon', 'x')
                new Worker('/worker.js')
                form.submit()
                Promise.allSettled([ended, fetch('{inner.url}/fetch'), fetch('http://[::1]/')])
                    .then(() => {{ location.hash = 'done' }})
            </script>""")
        async with browser(start_url=f"{web.url}/") as made:
            await until(made, lambda: made.url.endswith("#done"))
            notes = made.take_notes()
        assert inner.asked == []
        refused = {note.split("'")[1] for note in notes if "refused" in note}
        assert {"127.0.0.2", "169.254.169.254", "::1"} == refused, notes


async def test_a_page_that_goes_where_it_may_not_shows_nothing_of_it() -> None:
    async with open_page("home") as (made, web):
        for number, address in enumerate(["file:///etc/passwd", "chrome://version", "http://169.254.169.254/latest"]):
            web.pages[f"/{number}"] = page(f"<script>onclick = () => {{ location.href = '{address}' }}</script>")
            await made.navigate(f"{web.url}/{number}")
            await made.click(30, 30)
            await made.screenshot()
            assert made.url.startswith((web.url, "chrome-error://", "http://169.254.169.254"))
        assert made.take_notes() == ["A connection to '169.254.169.254' was refused: it is not allowed."]


async def test_only_allowed_hosts_are_reached() -> None:
    async with web_server() as web:
        web.pages["/"] = page("<img src='http://other.example/a.png'>")
        async with browser(allowed_hosts=["127.0.0.1"], start_url=f"{web.url}/") as made:
            await made.screenshot()
            assert made.take_notes() == ["A connection to 'other.example' was refused: it is not allowed."]
            with pytest.raises(ComputerError, match="not allowed here"):
                await made.navigate("https://other.example/")


async def test_a_server_that_does_not_answer_is_no_fault_of_the_browser() -> None:
    async def silent(writer: asyncio.StreamWriter) -> None:
        await web.closing.wait()

    async with open_page("home", seconds=2) as (made, web):
        web.pages["/silent"] = silent
        await made.screenshot()
        before = processes()
        with pytest.raises(ComputerError, match="did not come in time"):
            await made.navigate(f"{web.url}/silent")
        assert processes() and before[0].is_running()
        with pytest.raises(ComputerError, match=r"could not be opened \(ERR_"):
            await made.navigate("http://127.0.0.1:1/")


async def test_dialogs_are_closed_and_told() -> None:
    html = """<script>tell(confirm('Pay?') + ' ' + prompt('Your word?') + ' ' + alert('Now!'))
        onbeforeunload = e => { e.preventDefault() }</script>"""
    async with open_page(html) as (made, web):
        assert await told(made) == ["false null undefined"]
        assert made.take_notes() == [
            "A dialog (confirm) was closed, not accepted. It said: 'Pay?'",
            "A dialog (prompt) was closed, not accepted. It said: 'Your word?'",
            "A dialog (alert) was closed, not accepted. It said: 'Now!'",
        ]
        await made.click(300, 300)
        web.pages["/two"] = page("two")
        await made.navigate(f"{web.url}/two")
        assert made.url == f"{web.url}/two", "what asks before it is left is left"


async def test_downloads_are_refused_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    html = """<a href=/file style='font-size: 60px'>file</a>
        <a href='data:text/plain,hello' download=data.txt style='font-size: 60px'>data</a>"""
    async with open_page(html) as (made, web):
        web.pages["/file"] = page("secret", "application/octet-stream", content_disposition="attachment; filename=prices.csv")
        await made.click(30, 30)
        await made.screenshot()
        await made.click(170, 30)
        notes: list[str] = []
        await until(made, lambda: len(notes.extend(made.take_notes()) or notes) >= 2)
        assert notes == ["A download was refused: 'prices.csv'.", "A download was refused: 'data.txt'."]
        with pytest.raises(ComputerError, match=r"ERR_ABORTED|is starting"):
            await made.navigate(f"{web.url}/file")
    assert list(tmp_path.iterdir()) == [], "nothing of it is left"


async def test_a_second_window_is_shown_until_it_is_closed() -> None:
    html = "<a href=/two target=_blank style='font-size: 60px'>two</a>"
    async with open_page(html) as (made, web):
        web.pages["/two"] = page("<script>onkeydown = () => window.close()</script>two")
        home = (await made.screenshot(), made.url)[1]
        for leaving in ("back", "close"):
            await made.click(30, 30)
            await until(made, lambda: made.url == f"{web.url}/two")
            assert "A page opened a window" in made.take_notes()[0]
            if leaving == "back":
                await made.go_back()
            else:
                await made.key_down("a")
            await until(made, lambda: made.url == home)


async def test_windows_without_end_are_closed() -> None:
    html = "<script>onclick = () => { for (let i = 0; i < 30; i++) open('/two?' + i) }</script>"
    async with open_page(html) as (made, web):
        for number in range(30):
            web.pages[f"/two?{number}"] = page("two")
        await made.screenshot()
        await made.click(30, 30)
        notes: list[str] = []
        await until(made, lambda: len(notes.extend(made.take_notes()) or notes) >= 2)
        assert notes[1] == "A window was closed as soon as it was opened: there are 8 already."
        assert len(renderers()) <= 12


async def test_a_browser_that_crashes_is_told_and_the_next_action_starts_another() -> None:
    async def crash(writer: asyncio.StreamWriter) -> None:
        for process in processes():
            process.kill()
        await web.closing.wait()

    async with open_page("hello") as (made, web):
        hello, web.pages["/"] = web.pages["/"], crash
        with pytest.raises(ComputerError, match="the browser has crashed; the next action starts another one"):
            await made.screenshot()
        web.pages["/"] = hello
        for which in (processes, renderers):
            assert (await made.screenshot())[:4] == b"\x89PNG" and made.url == f"{web.url}/"
            first, killed = processes(), which()
            for process in killed:
                process.kill()
            assert psutil.wait_procs(killed, timeout=30)[1] == []
            with pytest.raises(ComputerError, match="the browser has crashed; the next action starts another one"):
                while True:
                    await made.screenshot()
            await made.key_up("Shift")
            await made.mouse_up()
            assert made.url == "about:blank" and processes() == [], "what was held is held no more"
            assert (await made.screenshot())[:4] == b"\x89PNG" and made.url == f"{web.url}/"
            assert not {process.pid for process in first} & {process.pid for process in processes()}


async def test_a_browser_that_does_not_answer_is_ended_and_the_next_action_starts_another() -> None:
    async with open_page("<script>onclick = () => { for (;;); }</script>", seconds=3) as (made, web):
        for what in ("script", "stopped"):
            assert (await made.screenshot())[:4] == b"\x89PNG" and made.url == f"{web.url}/"
            first = processes()
            if what == "stopped":
                for process in first:
                    process.send_signal(signal.SIGSTOP)
            with pytest.raises(ComputerError, match="did not answer within 3 seconds, so the browser was ended"):
                await made.click(30, 30)
                while True:
                    await made.screenshot()
            assert psutil.wait_procs(first, timeout=30)[1] == []
        assert (await made.screenshot())[:4] == b"\x89PNG" and made.url == f"{web.url}/"


async def test_a_browser_that_is_not_used_is_not_started_and_a_closed_one_refuses() -> None:
    made = browser()
    assert processes() == [] and made.url == "about:blank"
    await made.aclose()
    await made.aclose()
    with pytest.raises(UserError, match="is closed, expected an open one"):
        await made.screenshot()


async def test_a_cancelled_start_leaves_nothing() -> None:
    async with browser() as made:
        action = asyncio.create_task(made.screenshot())
        async with asyncio.timeout(60):
            while not processes():  # noqa: ASYNC110 - nobody tells when it begins
                await asyncio.sleep(0.01)
        action.cancel()
        with pytest.raises(asyncio.CancelledError):
            await action
        assert processes() == []
        assert (await made.screenshot())[:4] == b"\x89PNG"


async def test_it_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    program = """
import asyncio
from tests.local_tools.chromium import browser
async def main():
    made = browser()
    await made.screenshot()
    print("started", flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program), stdout=asyncio.subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert parent.stdout is not None and await parent.stdout.readline() == b"started\n"
    left = psutil.Process(parent.pid).children(recursive=True)
    assert [each for each in left if each.name().startswith(("chrom", "headless"))]
    parent.kill()
    await parent.wait()
    assert psutil.wait_procs(left, timeout=30)[1] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="Chromium isolates its pages unless it is run by root")
async def test_without_its_sandbox_it_starts_only_where_that_is_said() -> None:
    async with browser(unsafe=False) as made:
        with pytest.raises(SandboxUnavailableError, match=r"run as another user, or pass ChromiumBrowser\(unsafe=True\)"):
            await made.screenshot()
        assert processes() == []


async def test_the_program_is_named_or_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="there is no program '/nowhere/chromium'"):
        ChromiumBrowser(executable="/nowhere/chromium")
    program = chromium()
    monkeypatch.setenv("AGENTSDK_CHROMIUM", "/elsewhere/chromium")
    with pytest.raises(UserError, match="there is no program '/elsewhere/chromium'"):
        ChromiumBrowser()
    monkeypatch.setenv("AGENTSDK_CHROMIUM", program)
    monkeypatch.setenv("SOME_API_KEY", "a-secret")
    async with ChromiumBrowser(unsafe=True) as made:
        await made.screenshot()
        assert all("SOME_API_KEY" not in process.environ() for process in processes())
    monkeypatch.setenv("AGENTSDK_CHROMIUM", sys.executable)
    async with ChromiumBrowser(unsafe=True) as made:
        with pytest.raises(ComputerError, match="Chromium did not start"):
            await made.screenshot()
