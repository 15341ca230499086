"""`ComputerTool`: the tool with which a model looks at a screen and works with pointer and keyboard."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Unpack

import msgspec
from msgspec import UNSET

from agentsdk.define.context import RunContextWrapper, ToolContext
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_options import NeedsApproval, ToolOptions
from agentsdk.local_tools.computer_actions import LOOKING, Action, Screen, actions_schema
from agentsdk.ports.computer import COMPUTER, Browser, Computer, Region
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import RULE, Fields, is_whole, json_object, optional, shown, whole
from agentsdk.types.errors import ComputerError, UserError
from agentsdk.types.items import InputImage, InputText

MAX_SCREENSHOT = 3_500_000
"""Bytes of a screenshot at most: providers refuse images of more than 5 MB in base64."""

_DEFAULT_WAIT = 2.0
_NAVIGATING = ("navigate", "go_back", "go_forward", "open_web_browser")
_FIELDS = Fields(
    "ComputerTool",
    computer=COMPUTER,
    max_side=whole("pixels, 200 or more: how long a side of a screenshot may be", 200),
    needs_approval=RULE,
    kind_settings=optional(json_object("a dict that is a JSON object; it goes to the provider with the tool")),
)


class ComputerTool(FunctionTool[Any]):
    """Lets a model see the screen of `computer`, and click, type, scroll and drag there; on a `Browser` also go to addresses.

    A provider's own computer tool is used where there is one (OpenAI's `computer`, Anthropic's computer toolset, Google's
    computer use); other models call it as a function. A call's actions are all checked before the first is done. The result is
    a screenshot; one with a side of more than `max_side` pixels is scaled down, and points are scaled back. A call with safety
    checks of the provider's waits for a person, whatever `needs_approval` says: to approve it is to acknowledge them.

    What is on a screen is a stranger's word, so results are untrusted. Actions take effect once; a cut call that only looked is
    made again. `options` are those of every tool. Raises `UserError` for a wrong one.
    """

    def __init__(self, computer: Computer, *, max_side: int = 1568, **options: Unpack[ToolOptions[Any]]) -> None:
        rule, settings = options.get("needs_approval", False), options.get("kind_settings")
        _FIELDS.check_given(computer=computer, max_side=max_side, needs_approval=rule, kind_settings=settings)
        screen = _screen(computer, max_side)
        operator = _Operator(computer, screen)
        given: ToolOptions[Any] = {"effect": "once", "sequential": True, "untrusted": True, "reconcile": operator.looked_again}
        given |= options
        given |= {"kind": "computer", "kind_settings": {**_settings(operator), **(settings or {})}}
        given["needs_approval"] = _asking(rule)
        description = "Look at a screen, and work with its pointer and keyboard. Gives a screenshot."
        schema = actions_schema(screen.shown, browser=operator.browser is not None)
        made = FunctionTool[Any]("computer", description, schema, operator.call, strict_json_schema=False, **given)
        vars(self).update(vars(made))


def _screen(computer: Computer, max_side: int) -> Screen:
    size: object = computer.size
    if not (isinstance(size, tuple) and len(size) == 2 and all(is_whole(side, 1) for side in size)):
        raise UserError(
            f"ComputerTool has a computer of size {shown(size)}, expected width and height in pixels; (1280, 800), say"
        )
    width, height = computer.size
    scale = min(1.0, max_side / max(width, height))
    return Screen((width, height), (max(1, int(width * scale)), max(1, int(height * scale))))


def _settings(operator: _Operator) -> JsonObject:
    """What the providers are told of the screen."""
    (width, height), is_browser = operator.screen.shown, operator.browser is not None
    return {
        "display_width": width,
        "display_height": height,
        "environment": "ENVIRONMENT_BROWSER" if is_browser else "ENVIRONMENT_DESKTOP",
        "excluded_functions": ["search"] if is_browser else ["search", *_NAVIGATING],
    }


def _asking(rule: bool | NeedsApproval[Any]) -> NeedsApproval[Any]:
    """The rule, and that safety checks are always asked for."""

    def needs_approval(context: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool | Awaitable[bool]:
        if arguments.get("pending_safety_checks"):
            return True
        return rule if isinstance(rule, bool) else rule(context, arguments, call_id)

    return needs_approval


class _Operator:
    """Does what the model asks for, and remembers where it left the pointer."""

    def __init__(self, computer: Computer, screen: Screen) -> None:
        self.screen = screen
        self.browser = computer if isinstance(computer, Browser) else None
        self._computer = computer
        self._pointer = (0, 0)

    async def call(self, context: ToolContext[Any], text: str) -> list[InputImage | InputText]:
        """The body of the tool."""
        given = msgspec.json.decode(text)
        return await self._result(given, self.screen.read(given["actions"]))

    async def looked_again(self, context: ToolContext[Any], given: dict[str, Any]) -> object:
        """The result of a call that was cut, if it only looked."""
        actions = self.screen.read(given["actions"])
        return await self._result(given, actions) if all(action.type in LOOKING for action in actions) else UNSET

    async def _result(self, given: JsonObject, actions: Sequence[Action]) -> list[InputImage | InputText]:
        said: list[str] = []
        for position, action in enumerate(actions, 1):
            try:
                await self._do(action)
            except ComputerError as error:
                if len(actions) == 1:
                    raise
                raise ComputerError(
                    f"action {position} of {len(actions)} failed, those after it were not done: {error}"
                ) from None
            if action.type == "cursor_position":
                said.append("The pointer is at x={}, y={}.".format(*self.screen.on_shown(self._pointer)))
        image = await self._seen(actions[-1].area if actions[-1].type == "zoom" else None)
        beside: JsonObject = {}
        if self.browser is not None:
            beside["url"] = self.browser.url
            said += self.browser.take_notes()
        if said:
            beside["output"] = "\n".join(said)
        if checks := given.get("pending_safety_checks"):
            beside["acknowledged_safety_checks"] = checks
        return [image, InputText(json.dumps(beside, ensure_ascii=False))] if beside else [image]

    async def _seen(self, region: Region | None) -> InputImage:
        """The screen, or a region of it enlarged as far as the model is shown so many pixels."""
        size = self.screen.shown
        if region is not None:
            width, height = region[2] - region[0], region[3] - region[1]
            scale = min(size[0] / width, size[1] / height)
            size = max(1, int(width * scale)), max(1, int(height * scale))
        data = await self._computer.screenshot(region, None if region is None and size == self.screen.size else size)
        if len(data) > MAX_SCREENSHOT:
            raise ComputerError(
                f"the screenshot has {len(data)} bytes, expected at most {MAX_SCREENSHOT}; look at a part of it"
            )
        kind = "jpeg" if data[:3] == b"\xff\xd8\xff" else "png"
        return InputImage(f"data:image/{kind};base64,{base64.b64encode(data).decode()}")

    async def _do(self, action: Action) -> None:
        computer, held = self._computer, action.keys
        at = self._pointer if action.point is None else action.point
        match action.type:
            case "click" | "double_click" | "triple_click":
                count = {"click": 1, "double_click": 2}.get(action.type, 3)
                async with self._holding(held):
                    await computer.click(*at, action.pressed, count)
            case "move":
                await computer.move(*at)
            case "drag":
                at = await self._drag(action)
            case "scroll":
                async with self._holding(held):
                    await computer.scroll(*at, int(action.scroll_x), int(action.scroll_y))
            case "mouse_down":
                await computer.mouse_down(action.pressed)
            case "mouse_up":
                await computer.mouse_up(action.pressed)
            case "type":
                await computer.type(action.text)
            case "keypress" | "hold_key":
                async with self._holding(held):
                    if action.type == "hold_key":
                        await asyncio.sleep(1.0 if action.duration is None else action.duration)
            case "wait":
                await asyncio.sleep(_DEFAULT_WAIT if action.duration is None else action.duration)
            case "navigate" | "go_back" | "go_forward":
                await self._go(action)
            case "screenshot" | "zoom" | "cursor_position" | "open_browser":
                pass  # the call ends with a look at the screen
        self._pointer = at

    async def _go(self, action: Action) -> None:
        assert self.browser is not None  # other computers have no such action in their schema
        if action.type == "navigate":
            await self.browser.navigate(action.url)
        else:
            await (self.browser.go_back() if action.type == "go_back" else self.browser.go_forward())

    async def _drag(self, action: Action) -> tuple[int, int]:
        points = [(int(point.x), int(point.y)) for point in action.path]
        async with self._holding(action.keys):
            await self._computer.move(*points[0])
            await self._computer.mouse_down("left")
            try:
                for point in points[1:]:
                    await self._computer.move(*point)
            finally:
                await self._computer.mouse_up("left")
        return points[-1]

    @asynccontextmanager
    async def _holding(self, keys: Sequence[str]) -> AsyncGenerator[None, None]:
        held: list[str] = []
        try:
            for key in keys:
                await self._computer.key_down(key)
                held.append(key)
            yield
        finally:
            for key in reversed(held):
                await self._computer.key_up(key)
