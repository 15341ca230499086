"""Computers that a model drives: subclass one of the two."""

from __future__ import annotations

import abc
from typing import Literal

Environment = Literal["mac", "windows", "ubuntu", "browser"]
Button = Literal["left", "right", "wheel", "back", "forward"]


class Computer(abc.ABC):
    """A screen, a mouse and a keyboard. `screenshot` gives a PNG as base64."""

    @property
    def environment(self) -> Environment | None:
        """What it is; None where that is not told."""
        return None

    @property
    def dimensions(self) -> tuple[int, int] | None:
        """Width and height in points; None where that is not told."""
        return None

    @abc.abstractmethod
    def screenshot(self) -> str: ...
    @abc.abstractmethod
    def click(self, x: int, y: int, button: Button) -> None: ...
    @abc.abstractmethod
    def double_click(self, x: int, y: int) -> None: ...
    @abc.abstractmethod
    def scroll(self, x: int, y: int, scroll_x: int, scroll_y: int) -> None: ...
    @abc.abstractmethod
    def type(self, text: str) -> None: ...
    @abc.abstractmethod
    def wait(self) -> None: ...
    @abc.abstractmethod
    def move(self, x: int, y: int) -> None: ...
    @abc.abstractmethod
    def keypress(self, keys: list[str]) -> None: ...
    @abc.abstractmethod
    def drag(self, path: list[tuple[int, int]]) -> None: ...


class AsyncComputer(abc.ABC):
    """The same with async methods."""

    @property
    def environment(self) -> Environment | None:
        """What it is; None where that is not told."""
        return None

    @property
    def dimensions(self) -> tuple[int, int] | None:
        """Width and height in points; None where that is not told."""
        return None

    @abc.abstractmethod
    async def screenshot(self) -> str: ...
    @abc.abstractmethod
    async def click(self, x: int, y: int, button: Button) -> None: ...
    @abc.abstractmethod
    async def double_click(self, x: int, y: int) -> None: ...
    @abc.abstractmethod
    async def scroll(self, x: int, y: int, scroll_x: int, scroll_y: int) -> None: ...
    @abc.abstractmethod
    async def type(self, text: str) -> None: ...
    @abc.abstractmethod
    async def wait(self) -> None: ...
    @abc.abstractmethod
    async def move(self, x: int, y: int) -> None: ...
    @abc.abstractmethod
    async def keypress(self, keys: list[str]) -> None: ...
    @abc.abstractmethod
    async def drag(self, path: list[tuple[int, int]]) -> None: ...
