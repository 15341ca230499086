"""Actions on a screen, from each provider's words for them into those of `CallKind`: OpenAI's, and a few more.

```
click, double_click, triple_click   {"button"?, "x"?, "y"?, "keys"?}: without x and y where the pointer is; keys are held
move, drag, scroll                  {"x", "y"}, {"path": [{"x", "y"}, ...]}, {"x"?, "y"?, "scroll_x", "scroll_y"} in pixels
mouse_down, mouse_up                {"button"}
keypress, hold_key, type            {"keys"}, {"keys", "duration" in seconds}, {"text"}
wait, screenshot, cursor_position   {"duration"? in seconds}, nothing, nothing
zoom                                {"region": [x0, y0, x1, y1]}
open_browser, navigate, go_back, go_forward, search      {"url"} where there is one
```
"""

from __future__ import annotations

from agentsdk.models.loose import as_count, as_list, as_object, as_text
from agentsdk.types.base import JsonObject

_PIXELS_A_NOTCH = 100  # of a wheel
_BUTTONS = {"left_click": "left", "right_click": "right", "middle_click": "wheel"}
_DIRECTIONS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


def anthropic_actions(name: str, given: JsonObject) -> list[JsonObject]:
    """The actions of a member of Anthropic's computer toolset."""
    at, held = _point(given.get("coordinate")), _held(given.get("text"))
    match name:
        case "left_click" | "right_click" | "middle_click":
            return [{"type": "click", "button": _BUTTONS[name], **at, **held}]
        case "double_click" | "triple_click":
            return [{"type": name, **at, **held}]
        case "mouse_move":
            return [{"type": "move", **at}]
        case "left_mouse_down" | "left_mouse_up":
            return [{"type": name.removeprefix("left_"), "button": "left"}]
        case "left_click_drag":
            return [{"type": "drag", "path": [_point(given.get("start_coordinate")), at], **held}]
        case "key":
            return [{"type": "keypress", **held}] * max(1, _whole(given.get("repeat"), 1))
        case "hold_key":
            return [{"type": "hold_key", **held, "duration": given.get("duration")}]
        case "type":
            return [{"type": "type", "text": as_text(given.get("text"))}]
        case "scroll":
            far = _whole(given.get("scroll_amount"), 0) * _PIXELS_A_NOTCH
            return [{"type": "scroll", **at, **_scrolled(given.get("scroll_direction"), far, far), **held}]
        case "wait":
            return [{"type": "wait", "duration": given.get("duration")}]
        case "zoom":
            return [{"type": "zoom", "region": as_list(given.get("region"))}]
        case _:  # screenshot, cursor_position
            return [{"type": name}]


GOOGLE_FUNCTIONS = frozenset(
    {"open_web_browser", "click_at", "hover_at", "type_text_at", "scroll_document", "scroll_at", "wait", "wait_5_seconds"}
    | {"go_back", "go_forward", "search", "navigate", "key_combination", "drag_and_drop"}
)
"""The functions of Google's computer tool."""


def google_actions(name: str, given: JsonObject, width: int, height: int) -> list[JsonObject]:
    """The actions of one of Google's functions, whose coordinates are thousandths of a screen of this size."""
    at = _scaled(given.get("x"), given.get("y"), width, height)
    match name:
        case "click_at":
            return [{"type": "click", "button": "left", **at}]
        case "hover_at":
            return [{"type": "move", **at}]
        case "type_text_at":
            typed: list[JsonObject] = [{"type": "click", "button": "left", **at}]
            if given.get("clear_before_typing") is not False:
                typed += [_pressed("ctrl", "a"), _pressed("Backspace")]
            typed.append({"type": "type", "text": as_text(given.get("text"))})
            return [*typed, _pressed("Enter")] if given.get("press_enter") is not False else typed
        case "scroll_document":
            return [{"type": "scroll", **_scrolled(given.get("direction"), width * 4 // 5, height * 4 // 5)}]
        case "scroll_at":
            far = _whole(given.get("magnitude"), 800)
            return [{"type": "scroll", **at, **_scrolled(given.get("direction"), far * width // 1000, far * height // 1000)}]
        case "wait" | "wait_5_seconds":
            return [{"type": "wait", "duration": given.get("seconds") or 5}]
        case "navigate":
            return [{"type": "navigate", "url": as_text(given.get("url"))}]
        case "key_combination":
            return [{"type": "keypress", **_held(given.get("keys"))}]
        case "drag_and_drop":
            to = _scaled(given.get("destination_x"), given.get("destination_y"), width, height)
            return [{"type": "drag", "path": [at, to]}]
        case "open_web_browser":
            return [{"type": "open_browser"}]
        case _:  # go_back, go_forward, search
            return [{"type": name}]


def openai_action(action: JsonObject) -> JsonObject:
    """An action that another provider's model asked for, as OpenAI's API takes it: a look at the screen for one it has not."""
    kind, keys = as_text(action.get("type")), [as_text(key) for key in as_list(action.get("keys"))]
    at, path = _pixel(action), [_pixel(as_object(point)) for point in as_list(action.get("path"))]
    held: JsonObject = {"keys": keys} if keys else {}
    match kind:
        case "click" if at:
            return {"type": kind, "button": as_text(action.get("button")) or "left", **at, **held}
        case "double_click" | "triple_click" if at:
            return {"type": "double_click", **at, "keys": keys or None}
        case "move" if at:
            return {"type": kind, **at}
        case "scroll" if at:
            far = {name: _signed(action.get(name)) for name in ("scroll_x", "scroll_y")}
            return {"type": kind, **at, **far, **held}
        case "drag" if path and all(path):
            return {"type": kind, "path": path, **held}
        case "keypress" | "hold_key" if keys:
            return {"type": "keypress", "keys": keys}
        case "type":
            return {"type": kind, "text": as_text(action.get("text"))}
        case "wait":
            return {"type": kind}
        case _:
            return {"type": "screenshot"}


def _pixel(given: JsonObject) -> JsonObject:
    x, y = as_count(given.get("x")), as_count(given.get("y"))
    return {} if x is None or y is None else {"x": x, "y": y}


def _point(value: object) -> JsonObject:
    pair = as_list(value)
    return {"x": pair[0], "y": pair[1]} if len(pair) == 2 else {}


def _held(value: object) -> JsonObject:
    """The keys of a combination like `ctrl+shift+a`."""
    text = as_text(value)
    return {"keys": [key for key in text.split("+") if key] or ["+"]} if text else {}


def _pressed(*keys: str) -> JsonObject:
    return {"type": "keypress", "keys": list(keys)}


def _whole(value: object, default: int) -> int:
    return int(value) if isinstance(value, int | float) and 0 <= value <= 100_000 else default


def _signed(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0


def _scaled(x: object, y: object, width: int, height: int) -> JsonObject:
    if x is None and y is None:
        return {}
    return {"x": _whole(x, 0) * width // 1000, "y": _whole(y, 0) * height // 1000}


def _scrolled(direction: object, x: int, y: int) -> JsonObject:
    right, down = _DIRECTIONS.get(as_text(direction), (0, 0))
    return {"scroll_x": right * x, "scroll_y": down * y}


def own_call(arguments: JsonObject) -> tuple[str, JsonObject]:
    """The provider's own name and arguments of a computer call, as `arguments` keep them; `""` where it had none."""
    call = as_object(arguments.get(OWN_CALL))
    return as_text(call.get("name")), as_object(call.get("arguments"))


OWN_CALL = "call"
"""Where a computer call keeps the provider's own form of it, in which it goes back."""
