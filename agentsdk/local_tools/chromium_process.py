"""`ChromiumProcess`: one running Chromium with one context of windows, from its start to its end, by playwright."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Coroutine
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

from agentsdk.local_tools.egress import Egress
from agentsdk.local_tools.host_rules import HostRules
from agentsdk.models.loose import as_list, as_object
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import AgentsException, ComputerError, SandboxUnavailableError, UserError

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, CDPSession, Dialog, Download, Frame, Page, Playwright, Request

MAX_WINDOWS = 8
"""A window that a page opens beyond these is closed at once."""

_START_SECONDS = 60.0
_END_SECONDS = 5.0
_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome", "msedge")
# Nothing goes around the proxy: no name is looked up, no packet sent, loopback and link-local addresses are no exception.
_BYPASS_NOTHING = "<-loopback>"
_FLAGS = (
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--no-pings",
)
_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "FONTCONFIG_PATH", "FONTCONFIG_FILE")


def find_chromium(given: str) -> str:
    """The program to run: what was given, what AGENTSDK_CHROMIUM names, or a Chromium, Chrome or Edge on the path; `""` for
    playwright's own. Raises `UserError` where playwright is missing, or what was named."""
    if find_spec("playwright") is None:
        raise UserError("ChromiumBrowser needs playwright, which is not installed; pip install 'agentsdk[browser]'")
    named = given or os.environ.get("AGENTSDK_CHROMIUM", "")
    if not named:
        return next((found for name in _NAMES if (found := shutil.which(name))), "")
    found = shutil.which(named)
    if found is None:
        raise UserError(f"there is no program {named!r}, expected a Chromium; install chromium, or give another executable")
    return found


class ChromiumProcess:
    """`windows` are its pages, the one that is shown at the end. `note` is called with what happens there unseen."""

    def __init__(self, rules: HostRules, size: tuple[int, int], note: Callable[[str], None]) -> None:
        self._size = size
        self._note = note
        self._egress = Egress(rules, lambda host: note(f"A connection to {host!r} was refused: it is not allowed."))
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._context: BrowserContext | None = None
        self._sessions: dict[Page, CDPSession] = {}
        self._pid = 0
        self._folder = ""
        self._tasks: set[asyncio.Task[None]] = set()
        self.windows: list[Page] = []
        self.loaded = asyncio.Event()
        """Set unless a page is on its way that will take the place of the shown one."""
        self.loaded.set()
        self.is_late = False
        """Whether the shown page was waited for long enough."""
        self._loading: Request | None = None
        self.crashed = False
        """Whether a page has crashed: nothing of it can be had any more."""

    @property
    def is_lost(self) -> bool:
        """Whether it can do nothing more."""
        return self.crashed or self._browser is None or not self._browser.is_connected()

    async def start(self, executable: str, *, unsafe: bool) -> None:
        """Start it. Raises `SandboxUnavailableError` where it cannot isolate its pages, `ComputerError` for anything else."""
        from playwright.async_api import Error, async_playwright

        port = await self._egress.start()
        self._folder = tempfile.mkdtemp(prefix="agentsdk-browser-")
        try:
            async with asyncio.timeout(_START_SECONDS):
                self._playwright = await async_playwright().start()
                self._browser = await self._playwright.chromium.launch(
                    executable_path=executable or None,
                    chromium_sandbox=not unsafe,
                    args=[*_FLAGS, *(["--no-zygote"] if unsafe else [])],
                    env={**_variables(), "HOME": self._folder, "TMPDIR": self._folder},
                    proxy={"server": f"socks5://127.0.0.1:{port}", "bypass": _BYPASS_NOTHING},
                )
                await self._open_context(self._browser)
        except Error as error:
            raise _why_not_started(error.message) from None
        except TimeoutError:
            raise ComputerError(f"Chromium did not start within {_START_SECONDS:g} seconds; try again later") from None

    async def _open_context(self, browser: Browser) -> None:
        known = await _answer(await browser.new_browser_cdp_session(), "SystemInfo.getProcessInfo")
        for process in map(as_object, as_list(known.get("processInfo"))):
            if process.get("type") == "browser" and isinstance(number := process.get("id"), int):
                self._pid = number
        width, height = self._size
        self._context = await browser.new_context(
            viewport={"width": width, "height": height}, accept_downloads=False, service_workers="block"
        )
        self._context.on("page", self._opened)
        await self.window()

    async def window(self) -> Page:
        """The window that is shown; a new one where a page has closed the last."""
        if not self.windows:
            assert self._context is not None
            await self._context.new_page()
        return self.windows[-1]

    async def ask(self, page: Page, method: str, given: JsonObject | None = None) -> JsonObject:
        """The answer to a command of Chromium's own protocol: playwright's methods wait for a page that is on its way."""
        session = self._sessions.get(page)
        if session is None:
            session = self._sessions[page] = await page.context.new_cdp_session(page)
        return await _answer(session, method, given)

    async def aclose(self) -> None:
        """End it, in all cases. A second call does nothing."""
        browser, self._browser = self._browser, None
        if browser is not None and browser.is_connected():
            with suppress(Exception):
                async with asyncio.timeout(_END_SECONDS):
                    await browser.close()
        await self._end(browser)

    async def kill(self) -> None:
        """End it without asking it: it does not answer."""
        browser, self._browser = self._browser, None
        await self._end(browser)

    async def _end(self, browser: Browser | None) -> None:
        if self._pid and browser is not None and browser.is_connected():
            with suppress(ProcessLookupError):
                os.killpg(self._pid, signal.SIGKILL)  # playwright starts it as the leader of a group
        playwright, self._playwright = self._playwright, None
        if playwright is not None:
            with suppress(Exception):
                await playwright.stop()
        await asyncio.gather(*self._tasks)
        await self._egress.aclose()
        folder, self._folder = self._folder, ""
        if folder:
            shutil.rmtree(folder, ignore_errors=True)  # the rest of downloads that were refused, say

    def _opened(self, page: Page) -> None:
        if len(self.windows) >= MAX_WINDOWS:
            self._note(f"A window was closed as soon as it was opened: there are {MAX_WINDOWS} already.")
            self._later(page.close())
            return
        if self.windows:
            self._note("A page opened a window, which is the one shown now. To go back from its first page closes it.")
        self.windows.append(page)
        page.on("close", self._closed)
        page.on("crash", self._has_crashed)
        page.on("dialog", self._asked)
        page.on("download", self._downloading)
        page.on("request", self._begun)
        page.on("requestfinished", self._over)
        page.on("requestfailed", self._over)
        page.on("framenavigated", self._navigated)

    def _closed(self, page: Page) -> None:
        self.windows.remove(page)
        self._sessions.pop(page, None)

    def _has_crashed(self, page: Page) -> None:
        self.crashed = True

    def _asked(self, dialog: Dialog) -> None:
        leaves = dialog.type == "beforeunload"
        if not leaves:
            self._note(f"A dialog ({dialog.type}) was closed, not accepted. It said: {dialog.message[:500]!r}")
        self._later(dialog.accept() if leaves else dialog.dismiss())

    def _downloading(self, download: Download) -> None:
        self._note(f"A download was refused: {download.suggested_filename[:200]!r}.")
        self._over(self._loading)

    def _begun(self, request: Request) -> None:
        with suppress(Exception):  # a request of a page that is not there yet has no frame
            if request.is_navigation_request() and request.frame == self.windows[-1].main_frame:
                self._loading = request
                self.loaded.clear()
                self.is_late = False

    def _navigated(self, frame: Frame) -> None:
        if frame.parent_frame is None:
            self._over(self._loading)

    def _over(self, request: Request | None) -> None:
        if request is self._loading:
            self._loading = None
            self.loaded.set()

    def _later(self, job: Coroutine[object, object, None]) -> None:
        async def done() -> None:
            with suppress(Exception):  # the page is gone meanwhile, and with it what was to be done
                await job

        task = asyncio.ensure_future(done())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _variables() -> dict[str, str | float | bool]:
    """What Chromium may know of this process's environment: no key is in it."""
    return {name: os.environ[name] for name in _VARIABLES if name in os.environ}


async def _answer(session: CDPSession, method: str, given: JsonObject | None = None) -> JsonObject:
    return as_object(await cast(Any, session).send(method, given))


def _why_not_started(message: str) -> AgentsException:
    lines = [line.strip() for line in message.splitlines()]
    if "sandbox" in message and any("without --no-sandbox" in line or "No usable sandbox" in line for line in lines):
        return SandboxUnavailableError(
            "Chromium cannot isolate its pages here: it runs as root, or the system forbids user namespaces, expected neither; "
            "run as another user, or pass ChromiumBrowser(unsafe=True)"
        )
    if "Executable doesn't exist" in message:
        return UserError(
            "there is no Chromium on the path, expected one; install chromium, or run 'playwright install chromium'"
        )
    return ComputerError(f"Chromium did not start: {lines[0][:300]}; see that the program runs")
