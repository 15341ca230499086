"""The port to a computer that a model works with: a screen, a pointer and a keyboard; and to one that shows web pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

from agentsdk.types.declared import having

Button = Literal["left", "right", "wheel", "back", "forward"]
"""A button of a mouse; `wheel` is the middle one."""

Region = tuple[int, int, int, int]
"""A part of the screen: left, top, right and bottom in pixels, the last two not part of it."""


class Computer(Protocol):
    """A screen, a pointer and a keyboard. Subclass it or just have its methods; each returns once it is done.

    Points are pixels of the screen from its top left corner, always on it. Keys are called as the web's `KeyboardEvent.key` has
    them (`Enter`, `ArrowLeft`, `Control`, `a`); `ComputerTool` brings a model's own words for keys and buttons into these. A
    method raises `ComputerError` for what cannot be done: the model is told.
    """

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the screen in pixels. They never change."""
        ...

    async def screenshot(self, region: Region | None = None, size: tuple[int, int] | None = None) -> bytes:
        """What is shown, as a PNG or JPEG: of `region` (None: of all), as large as `size` in pixels (None: as it is)."""
        ...

    async def move(self, x: int, y: int) -> None:
        """Move the pointer."""
        ...

    async def click(self, x: int, y: int, button: Button = "left", count: int = 1) -> None:
        """Click there; `count` is 2 for a double click, 3 for a triple one."""
        ...

    async def mouse_down(self, button: Button = "left") -> None:
        """Press a button where the pointer is, and hold it."""
        ...

    async def mouse_up(self, button: Button = "left") -> None:
        """Let a button go."""
        ...

    async def scroll(self, x: int, y: int, scroll_x: int, scroll_y: int) -> None:
        """Turn the wheel there: by so many pixels to the right and down, to the left and up where they are negative."""
        ...

    async def type(self, text: str) -> None:
        """Write a text where the cursor is. A line break is the Enter key."""
        ...

    async def key_down(self, key: str) -> None:
        """Press a key, and hold it."""
        ...

    async def key_up(self, key: str) -> None:
        """Let a key go."""
        ...


@runtime_checkable
class Browser(Computer, Protocol):
    """A computer whose screen is a web page."""

    @property
    def url(self) -> str:
        """The address of the page that is shown; `about:blank` before any."""
        ...

    def take_notes(self) -> Sequence[str]:
        """What happened since this was last asked, and is not on the screen: a dialog was closed, a download refused."""
        ...

    async def navigate(self, url: str) -> None:
        """Open an address. Raises `ComputerError` for one that may not be opened."""
        ...

    async def go_back(self) -> None:
        """To the page before, if there is one."""
        ...

    async def go_forward(self) -> None:
        """To the page after, if there is one."""
        ...


COMPUTER = having(
    ("screenshot", "move", "click", "mouse_down", "mouse_up", "scroll", "type", "key_down", "key_up"),
    "a Computer; pass a ChromiumBrowser",
)
"""What a tool that is given a computer must be given."""
