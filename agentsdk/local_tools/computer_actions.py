"""What a model asks a computer for, read and checked: `Action`s in pixels of the real screen, with keys by one set of names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Literal, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agentsdk.models.loose import as_object
from agentsdk.ports.computer import Button, Region
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import InvalidArgumentsError

MAX_ACTIONS = 100
"""Actions of one call at most."""

MAX_WAIT = 60.0
"""Seconds that one action waits, or holds keys, at most."""

ActionType = Literal[
    "screenshot",
    "click",
    "double_click",
    "triple_click",
    "move",
    "drag",
    "scroll",
    "type",
    "keypress",
    "hold_key",
    "wait",
    "zoom",
    "cursor_position",
    "mouse_down",
    "mouse_up",
]
BrowserActionType = Literal["navigate", "go_back", "go_forward", "open_browser"]

LOOKING = frozenset(("screenshot", "zoom", "cursor_position", "wait"))
"""Actions that change nothing."""


class Point(Struct, frozen=True):
    """A place of the screen."""

    x: float
    y: float


class Action(Struct, frozen=True):
    """One action; which fields count is its type's affair. `x` and `y` are None for where the pointer is."""

    type: ActionType | BrowserActionType
    x: float | None = None
    y: float | None = None
    button: Button | Literal["middle"] | None = None
    keys: tuple[str, ...] = ()
    text: str = ""
    path: tuple[Point, ...] = ()
    scroll_x: float = 0
    scroll_y: float = 0
    duration: float | None = None
    region: tuple[float, ...] = ()
    url: str = ""

    @property
    def point(self) -> tuple[int, int] | None:
        """Where it is, once it was read."""
        return None if self.x is None or self.y is None else (int(self.x), int(self.y))

    @property
    def area(self) -> Region | None:
        """What is looked at closely, once it was read."""
        if not self.region:
            return None
        left, top, right, bottom = map(int, self.region)
        return left, top, right, bottom

    @property
    def pressed(self) -> Button:
        """The button."""
        return "wheel" if self.button == "middle" else self.button or "left"


class Screen(Struct, frozen=True):
    """The screen as it is, and as the model is shown it: width and height in pixels."""

    size: tuple[int, int]
    shown: tuple[int, int]

    def read(self, given: Sequence[object]) -> list[Action]:
        """The actions, every one checked before the first is done. Raises `InvalidArgumentsError`."""
        if not 1 <= len(given) <= MAX_ACTIONS:
            raise InvalidArgumentsError(f"there are {len(given)} actions, expected 1 to {MAX_ACTIONS}")
        return [self._read(_without_nulls(action)) for action in given]

    def on_shown(self, point: tuple[int, int]) -> tuple[int, int]:
        """A point of the screen as the model sees it."""
        return point[0] * self.shown[0] // self.size[0], point[1] * self.shown[1] // self.size[1]

    def _read(self, given: object) -> Action:
        try:
            action = msgspec.convert(given, Action)
        except msgspec.ValidationError as error:
            raise InvalidArgumentsError(f"an action is not as expected: {error}") from None
        read = replace(action, keys=key_names(action.keys), duration=_seconds(action.duration))
        if action.x is not None or action.y is not None:
            at = self._real(action.x, action.y)
            read = replace(read, x=at.x, y=at.y)
        if action.type in ("drag", "move", "zoom", "keypress", "hold_key"):
            read = self._complete(read)
        across, down = self.size[0] / self.shown[0], self.size[1] / self.shown[1]
        return replace(read, scroll_x=action.scroll_x * across, scroll_y=action.scroll_y * down)

    def _complete(self, action: Action) -> Action:
        """What has a meaning only together with a path, a region, a point or keys."""
        if action.type == "drag" and len(action.path) < 2:
            raise InvalidArgumentsError("a drag has a path of fewer than two points, expected where it begins and ends")
        if action.type == "move" and action.x is None:
            raise InvalidArgumentsError("a move has no x and y, expected where to")
        if action.type in ("keypress", "hold_key") and not action.keys:
            raise InvalidArgumentsError("there are no keys to press, expected one at least")
        if action.type == "zoom":
            return replace(action, region=self._real_region(action.region))
        return replace(action, path=tuple(self._real(point.x, point.y) for point in action.path))

    def _real(self, x: float | None, y: float | None) -> Point:
        width, height = self.shown
        if x is None or y is None or not (0 <= x <= width and 0 <= y <= height):
            raise InvalidArgumentsError(f"a point is not on the screen, expected x and y up to {width} and {height}")
        right, bottom = self.size
        return Point(min(int(x * right / width), right - 1), min(int(y * bottom / height), bottom - 1))

    def _real_region(self, region: Sequence[float]) -> tuple[float, ...]:
        (width, height), (right, bottom) = self.shown, self.size
        if len(region) != 4 or not (0 <= region[0] < region[2] <= width and 0 <= region[1] < region[3] <= height):
            raise InvalidArgumentsError("the region is not one of the screen, expected [left, top, right, bottom]")
        first = self._real(region[0], region[1])
        return first.x, first.y, ceil(region[2] * right / width), ceil(region[3] * bottom / height)


def key_names(keys: Sequence[str]) -> tuple[str, ...]:
    """The keys as `KeyboardEvent.key` has them: `ctrl` is `Control`. Raises `InvalidArgumentsError` for an unknown one."""
    names = tuple(_key_name(key) for key in keys)
    if not {"Control", "Alt", "Meta"}.intersection(names):
        return names
    return tuple(name.lower() if len(name) == 1 else name for name in names)  # Ctrl and A is no Ctrl, Shift and A


def _key_name(key: str) -> str:
    if len(key) == 1:
        return key
    name = _KEYS.get(key.lower().replace("_", "").removeprefix("kp"))
    if name is None:
        raise InvalidArgumentsError("there is no key of that name, expected 'Enter', 'ArrowLeft', 'Control', 'a' or the like")
    return name


_ALIASES: Mapping[str, str] = {
    "Enter": "return",
    "Escape": "esc",
    "Delete": "del",
    " ": "space spacebar",
    "+": "plus",
    "-": "minus",
    "PageUp": "prior pgup",
    "PageDown": "next pgdn",
    "ArrowUp": "up",
    "ArrowDown": "down",
    "ArrowLeft": "left",
    "ArrowRight": "right",
    "ContextMenu": "menu",
    "Control": "ctrl controll controlr ctrll ctrlr",
    "Alt": "option altl altr",
    "Shift": "shiftl shiftr",
    "Meta": "cmd command super superl superr win windows metal metar",
    **dict.fromkeys(("Tab", "Backspace", "Insert", "Home", "End", "CapsLock"), ""),
    **{f"F{number}": "" for number in range(1, 25)},
}
_KEYS = {word: name for name, others in _ALIASES.items() for word in (name.lower(), *others.split())}


def _seconds(duration: float | None) -> float | None:
    if duration is not None and not 0 <= duration <= MAX_WAIT:
        raise InvalidArgumentsError(f"a duration is not from 0 to {MAX_WAIT:g} seconds, expected that")
    return duration


def _without_nulls(action: object) -> JsonObject:
    return {name: value for name, value in as_object(action).items() if value is not None}


_NUMBER: JsonObject = {"type": ["number", "null"]}
_KEY_LIST = {"type": "array", "items": {"type": "string"}}


def actions_schema(size: tuple[int, int], *, browser: bool) -> JsonObject:
    """The JSON schema of the arguments, as a model reads it that has no computer tool of its provider's."""
    types = [*get_args(ActionType), *(get_args(BrowserActionType) if browser else ())]
    point = {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}, "required": ["x", "y"]}
    fields: JsonObject = {
        "type": {"type": "string", "enum": types},
        "x": {**_NUMBER, "description": f"Pixels from the left, up to {size[0]}. Without x and y: where the pointer is."},
        "y": {**_NUMBER, "description": f"Pixels from the top, up to {size[1]}."},
        "button": {"type": ["string", "null"], "description": "click: left (by default), right, wheel, back or forward."},
        "keys": {**_KEY_LIST, "description": "keypress, hold_key: pressed together. click, drag, scroll: held meanwhile."},
        "text": {"type": "string", "description": "type: what to write."},
        "path": {"type": "array", "items": point, "description": "drag: from the first point by way of the others."},
        "scroll_x": {"type": "number", "description": "scroll: pixels to the right."},
        "scroll_y": {"type": "number", "description": "scroll: pixels down."},
        "duration": {**_NUMBER, "description": "wait, hold_key: seconds."},
        "region": {"type": "array", "items": {"type": "number"}, "description": "zoom: left, top, right, bottom."},
    }
    if browser:
        fields["url"] = {"type": "string", "description": "navigate: the address."}
    action = {"type": "object", "properties": fields, "required": ["type"]}
    return {
        "type": "object",
        "properties": {"actions": {"type": "array", "items": action, "description": "What to do, in this order."}},
        "required": ["actions"],
    }
