"""`ChromiumBrowser`: a real browser without a window of its own, that reaches what its rules allow."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, cast

from agentsdk.databases.finished import finished
from agentsdk.local_tools.chromium_process import ChromiumProcess, find_chromium
from agentsdk.local_tools.host_rules import HOSTS, NETWORKS, PORTS, HostRules, host_of
from agentsdk.models.loose import as_count, as_object, as_text
from agentsdk.models.shield import shielded
from agentsdk.ports.computer import Button, Region
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import FLAG, SECONDS, Expected, Fields, any_text, is_whole
from agentsdk.types.errors import ComputerError, FetchError, TransientToolError, UserError

if TYPE_CHECKING:
    from playwright.async_api import Page

MAX_NOTES = 20
"""Of what happened unseen the model is told so much at a time."""

_MAX_PNG = 500_000
_QUALITY = 80
_MAX_TYPED_KEYS = 500
_SETTLE_SECONDS = 3.0
_BUTTONS: dict[Button, Literal["left", "right", "middle"]] = {"left": "left", "right": "right", "wheel": "middle"}
# What an action has set off is begun two frames later: a navigation asked for, a change drawn.
_TWO_FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
_NET_ERROR = re.compile(r"net::(ERR_[A-Z_]+)")
_FIELDS = Fields(
    "ChromiumBrowser",
    allowed_hosts=HOSTS,
    blocked_hosts=HOSTS,
    allowed_networks=NETWORKS,
    start_url=any_text("a URL that begins with https://, or ''"),
    size=Expected("width and height in pixels, from 200 to 4000", lambda value: _is_size(value)),
    seconds=SECONDS,
    executable=any_text("the path of a Chromium, or ''"),
    unsafe=FLAG,
)


def _is_size(value: object) -> bool:
    sides = cast("tuple[object, ...]", value) if isinstance(value, tuple) else ()
    return len(sides) == 2 and all(is_whole(side, 200, 4000) for side in sides)


class ChromiumBrowser:
    """A Chromium for one run: `async with ChromiumBrowser(...) as browser:`, and `ComputerTool(browser)`.

    It is started by the first action, and ended by `aclose`. Each connection that it makes, for a page, a redirect, an image or
    a script, goes to a public address, or one of `allowed_networks`. `allowed_hosts`, where there are any, are the only ones,
    `blocked_hosts` never; `.example.com` is all below it. It begins at `start_url`, with a fresh profile, on a screen of
    `size` pixels.

    Dialogs are closed unanswered, downloads and files refused, and a second window takes the place of the first; the model is
    told. A browser that crashes, or does not answer within `seconds`, is ended: that is a `ComputerError`, and the next action
    starts another.

    `executable` is the Chromium to run; by default that of AGENTSDK_CHROMIUM, one on the path, or playwright's own. With
    `unsafe=True` its pages run without Chromium's sandbox: as root, and in some containers, it does not start otherwise. Needs
    the extra `browser`. Raises `UserError` for a wrong argument.
    """

    def __init__(
        self,
        *,
        allowed_hosts: Sequence[str] = (),
        blocked_hosts: Sequence[str] = (),
        allowed_networks: Sequence[str] = (),
        start_url: str = "",
        size: tuple[int, int] = (1280, 800),
        seconds: float = 15.0,
        executable: str = "",
        unsafe: bool = False,
    ) -> None:
        _FIELDS.check_given(
            allowed_hosts=allowed_hosts,
            blocked_hosts=blocked_hosts,
            allowed_networks=allowed_networks,
            start_url=start_url,
            size=size,
            seconds=seconds,
            executable=executable,
            unsafe=unsafe,
        )
        self._rules = HostRules(allowed_hosts=allowed_hosts, blocked_hosts=blocked_hosts, allowed_networks=allowed_networks)
        self._start_url = start_url
        self._size = size
        self._seconds = seconds
        self._executable = find_chromium(executable)
        self._unsafe = unsafe
        self._lock = asyncio.Lock()
        self._process: ChromiumProcess | None = None
        self._notes: dict[str, None] = {}
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the browser, and all it started. A second call does nothing; an action raises `UserError` then."""
        self._is_closed = True
        async with self._lock:
            process, self._process = self._process, None
            if process is not None:
                await shielded(process.aclose())

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the screen in pixels."""
        return self._size

    @property
    def url(self) -> str:
        """The address of the page that is shown."""
        windows = self._process.windows if self._process else ()
        return windows[-1].url if windows else "about:blank"

    def take_notes(self) -> Sequence[str]:
        """What happened since this was last asked, and is not on the screen."""
        notes, self._notes = list(self._notes), {}
        return notes

    async def navigate(self, url: str) -> None:
        """Open an address. Raises `ComputerError` for one that may not be, or cannot be, opened."""
        target = await self._allowed(url)
        async with self._page() as (process, page):
            await self._open(process, page, target)

    async def go_back(self) -> None:
        """To the page before; a window that a page has opened is closed on its first."""
        async with self._page() as (process, page):
            if await page.go_back(wait_until="commit", timeout=self._patience) is None and len(process.windows) > 1:
                await page.close()

    async def go_forward(self) -> None:
        """To the page after, if there is one."""
        async with self._page() as (_, page):
            await page.go_forward(wait_until="commit", timeout=self._patience)

    async def screenshot(self, region: Region | None = None, size: tuple[int, int] | None = None) -> bytes:
        """What is shown: a PNG, or a JPEG where that would be large."""
        while True:  # once more where the window closes meanwhile
            async with self._page() as (process, page):
                png = await self._captured(process, page, "png", region, size)
                return png if len(png) <= _MAX_PNG else await self._captured(process, page, "jpeg", region, size)

    async def move(self, x: int, y: int) -> None:
        """Move the pointer."""
        async with self._page() as (_, page):
            await page.mouse.move(x, y)

    async def click(self, x: int, y: int, button: Button = "left", count: int = 1) -> None:
        """Click there. The buttons `back` and `forward` go to the page before and after."""
        if button == "back":
            await self.go_back()
        elif button == "forward":
            await self.go_forward()
        else:
            async with self._page() as (_, page):
                await page.mouse.click(x, y, button=_BUTTONS[button], click_count=count)

    async def mouse_down(self, button: Button = "left") -> None:
        """Press a button where the pointer is, and hold it."""
        async with self._page() as (_, page):
            await page.mouse.down(button=_BUTTONS.get(button, "left"))

    async def mouse_up(self, button: Button = "left") -> None:
        """Let a button go. In a browser that is gone nothing is held, and none is started for it."""
        if self._is_gone:
            return
        async with self._page() as (_, page):
            await page.mouse.up(button=_BUTTONS.get(button, "left"))

    async def scroll(self, x: int, y: int, scroll_x: int, scroll_y: int) -> None:
        """Turn the wheel there."""
        async with self._page() as (_, page):
            await page.mouse.move(x, y)
            await page.mouse.wheel(scroll_x, scroll_y)

    async def type(self, text: str) -> None:
        """Write a text where the cursor is, key by key; a long one at once, as if it were pasted."""
        async with self._page() as (_, page):
            if len(text) <= _MAX_TYPED_KEYS:
                await page.keyboard.type(text)
            else:
                await page.keyboard.insert_text(text)

    async def key_down(self, key: str) -> None:
        """Press a key, and hold it."""
        async with self._page() as (_, page):
            await page.keyboard.down(key)

    async def key_up(self, key: str) -> None:
        """Let a key go, as `mouse_up` does a button."""
        if self._is_gone:
            return
        async with self._page() as (_, page):
            await page.keyboard.up(key)

    @property
    def _is_gone(self) -> bool:
        return not self._is_closed and (self._process is None or self._process.is_lost)

    @asynccontextmanager
    async def _page(self) -> AsyncGenerator[tuple[ChromiumProcess, Page], None]:
        """The page that is shown, for one action at a time, once what the last one set off is there.

        What goes wrong with it is a `ComputerError`. That the window closes is not: the action may have asked for it.
        """
        if self._is_closed:
            raise UserError("the ChromiumBrowser is closed, expected an open one; use it inside 'async with'")
        from playwright.async_api import Error

        async with self._lock:
            (process, is_new), page = await self._started(), None
            try:
                if is_new and self._start_url:
                    async with asyncio.timeout(self._seconds):
                        await self._open(process, await process.window(), await self._allowed(self._start_url))
                async with asyncio.timeout(self._seconds):
                    page = await process.window()
                    await self._settled(process, page)
                    yield process, page
            except TimeoutError:
                await self._lose(process)
                raise ComputerError(
                    f"the page did not answer within {self._seconds:g} seconds, so the browser was ended; the next action "
                    "starts another one"
                ) from None
            except Error as error:
                if process.is_lost:
                    await self._lose(process)
                    raise ComputerError("the browser has crashed; the next action starts another one") from None
                if page is not None and page.is_closed():
                    return
                raise ComputerError(f"the browser could not do that: {_first_line(error.message)}") from None

    async def _started(self) -> tuple[ChromiumProcess, bool]:
        """The browser, and whether it was started for this."""
        if self._process is not None and self._process.is_lost:
            await self._lose(self._process)
        if self._process is not None:
            return self._process, False
        process = ChromiumProcess(self._rules, self._size, self._note)
        try:
            await finished(asyncio.ensure_future(process.start(self._executable, unsafe=self._unsafe)))
        except BaseException:
            await shielded(process.aclose())
            raise
        self._process = process
        return process, True

    async def _lose(self, process: ChromiumProcess) -> None:
        self._process = None
        await shielded(process.kill())

    def _note(self, text: str) -> None:
        if len(self._notes) < MAX_NOTES:
            self._notes[text] = None

    async def _allowed(self, url: str) -> str:
        """The URL, if it may be opened. The proxy asks again; here the model is told why not."""
        try:
            target = self._rules.parsed(url)
            await self._rules.addresses(host_of(target), target.port or PORTS[target.scheme])
        except (FetchError, TransientToolError) as error:
            raise ComputerError(str(error)) from None
        return str(target)

    async def _open(self, process: ChromiumProcess, page: Page, url: str) -> None:
        from playwright.async_api import Error
        from playwright.async_api import TimeoutError as LateError

        try:
            await page.goto(url, wait_until="commit", timeout=self._patience)
        except LateError:
            await process.ask(page, "Page.stopLoading")
            raise ComputerError("the page did not come in time; try again later, or another one") from None
        except Error as error:
            code = _NET_ERROR.search(error.message)
            if code is None:
                raise
            raise ComputerError(f"the page could not be opened ({code[1]}); use another address") from None

    @property
    def _patience(self) -> float:
        """Milliseconds for a server to answer in: fewer than the browser has, which is not to blame."""
        return self._seconds * 800

    async def _settled(self, process: ChromiumProcess, page: Page) -> None:
        """Wait until what was done shows: what it has begun to load is there, or takes too long, which is waited for once."""
        from playwright.async_api import Error

        try:
            if process.loaded.is_set():  # it waits for a page on its way, for ever if that does not come
                await page.evaluate(_TWO_FRAMES)
            if process.is_late:
                return
            async with asyncio.timeout(min(_SETTLE_SECONDS, self._seconds / 4)):
                await process.loaded.wait()
                await page.wait_for_load_state("load")
        except TimeoutError:
            process.is_late = True
        except Error:  # the page has just been replaced by another
            if process.is_lost:
                raise

    async def _captured(
        self,
        process: ChromiumProcess,
        page: Page,
        kind: Literal["png", "jpeg"],
        region: Region | None,
        size: tuple[int, int] | None,
    ) -> bytes:
        left, top, right, bottom = region or (0, 0, *self._size)
        seen = as_object((await process.ask(page, "Page.getLayoutMetrics")).get("cssVisualViewport"))
        clip: JsonObject = {
            "x": (as_count(seen.get("pageX")) or 0) + left,
            "y": (as_count(seen.get("pageY")) or 0) + top,
            "width": right - left,
            "height": bottom - top,
            "scale": 1 if size is None else size[0] / (right - left),
        }
        answer = await process.ask(page, "Page.captureScreenshot", {"format": kind, "clip": clip, "quality": _QUALITY})
        return base64.b64decode(as_text(answer.get("data")))


def _first_line(message: str) -> str:
    return message.splitlines()[0][:300]
