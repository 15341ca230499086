"""`ComputerTool` on a computer that writes down what it is told: actions, coordinates, keys, safety checks, calls in doubt."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

import pytest

from agentsdk import Agent, RunConfig, Runner, RunResult, RunState, ToolApprovalItem, ToolCallOutputItem
from agentsdk.core.state import fold
from agentsdk.errors import ComputerError, UserError
from agentsdk.items import FunctionCall, FunctionCallOutput, InputImage, InputText
from agentsdk.limits import RunLimits
from agentsdk.ports.computer import Browser, Button, Region
from agentsdk.testing import ScriptedModel
from agentsdk.tools import ComputerTool
from agentsdk.types.events import ToolsIntended

pytestmark = pytest.mark.anyio
BUDGET = RunConfig(limits=RunLimits(consecutive_errors=100))


def png(width: int, height: int) -> bytes:
    """A black picture."""
    chunks = [
        (b"IHDR", struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(bytes(height * (width + 1)))),
    ]
    body = [struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks]
    return b"\x89PNG\r\n\x1a\n" + b"".join(body)


class Desk:
    """A computer; `done` is what it was told."""

    def __init__(self, size: Any = (1000, 500)) -> None:
        self.size = size
        self.done: list[tuple[Any, ...]] = []
        self.picture: bytes | None = None
        self.broken = ""

    async def screenshot(self, region: Region | None = None, size: tuple[int, int] | None = None) -> bytes:
        self.done.append(("screenshot", region, size))
        return self.picture or png(*(size or self.size))

    def _do(self, *what: Any) -> None:
        self.done.append(what)
        if what[0] == self.broken:
            raise ComputerError("it is broken, expected a computer that is not")

    async def move(self, x: int, y: int) -> None:
        self._do("move", x, y)

    async def click(self, x: int, y: int, button: Button = "left", count: int = 1) -> None:
        self._do("click", x, y, button, count)

    async def mouse_down(self, button: Button = "left") -> None:
        self._do("mouse_down", button)

    async def mouse_up(self, button: Button = "left") -> None:
        self._do("mouse_up", button)

    async def scroll(self, x: int, y: int, scroll_x: int, scroll_y: int) -> None:
        self._do("scroll", x, y, scroll_x, scroll_y)

    async def type(self, text: str) -> None:
        self._do("type", text)

    async def key_down(self, key: str) -> None:
        self._do("key_down", key)

    async def key_up(self, key: str) -> None:
        self._do("key_up", key)


class Window(Desk):
    """A browser; it has `notes`."""

    def __init__(self) -> None:
        super().__init__()
        self.url = "about:blank"
        self.notes: list[str] = []

    def take_notes(self) -> list[str]:
        notes, self.notes = self.notes, []
        return notes

    async def navigate(self, url: str) -> None:
        self._do("navigate", url)
        self.url = url

    async def go_back(self) -> None:
        self._do("go_back")

    async def go_forward(self) -> None:
        self._do("go_forward")


LOOK = ("screenshot", None, None)


def asked(*actions: dict[str, Any], kind: Any = "computer", **more: Any) -> FunctionCall:
    return FunctionCall("", "computer", json.dumps({"actions": actions, **more}), kind=kind)


async def outcome(desk: Desk, *calls: FunctionCall, **options: Any) -> list[Any]:
    """The outputs of the calls; or what the run waits for."""
    tool = ComputerTool(desk, **{"allowed_after_untrusted": True, **options})
    agent = Agent(name="Clerk", model=ScriptedModel([*calls, "Done."]), tools=[tool])
    result = await Runner.run(agent, "Look.", run_config=BUDGET)
    return [item.output for item in outputs(result)] or list(result.interruptions)


def outputs(result: RunResult[Any]) -> list[FunctionCallOutput]:
    return [item.raw_item for item in result.new_items if isinstance(item, ToolCallOutputItem)]


def text_of(output: Any) -> str:
    return output if isinstance(output, str) else "".join(part.text for part in output if isinstance(part, InputText))


def size_of(output: Any) -> tuple[int, int]:
    (url,) = [part.image_url for part in output if isinstance(part, InputImage)]
    assert url.startswith("data:image/png;base64,")
    width, height = struct.unpack(">2I", base64.b64decode(url.partition(",")[2])[16:24])
    return width, height


@pytest.mark.parametrize(
    ("action", "done"),
    [
        ({"type": "screenshot"}, []),
        ({"type": "cursor_position"}, []),
        ({"type": "wait", "duration": 0}, []),
        ({"type": "click", "x": 1, "y": 2}, [("click", 1, 2, "left", 1)]),
        ({"type": "click", "x": 1.9, "y": 2, "button": "middle"}, [("click", 1, 2, "wheel", 1)]),
        ({"type": "click", "button": None, "x": None, "y": None}, [("click", 0, 0, "left", 1)]),
        ({"type": "click", "x": 1000, "y": 500}, [("click", 999, 499, "left", 1)]),
        ({"type": "double_click", "x": 1, "y": 2}, [("click", 1, 2, "left", 2)]),
        ({"type": "triple_click", "x": 1, "y": 2}, [("click", 1, 2, "left", 3)]),
        ({"type": "move", "x": 1, "y": 2}, [("move", 1, 2)]),
        ({"type": "scroll", "x": 1, "y": 2, "scroll_x": 0, "scroll_y": -300}, [("scroll", 1, 2, 0, -300)]),
        ({"type": "type", "text": "grüezi\n"}, [("type", "grüezi\n")]),
        ({"type": "mouse_down", "button": "left"}, [("mouse_down", "left")]),
        ({"type": "mouse_up"}, [("mouse_up", "left")]),
        ({"type": "keypress", "keys": ["Return"]}, [("key_down", "Enter"), ("key_up", "Enter")]),
        ({"type": "hold_key", "keys": ["space"], "duration": 0}, [("key_down", " "), ("key_up", " ")]),
        (
            {"type": "keypress", "keys": ["CTRL", "SHIFT", "A"]},
            [
                *[("key_down", key) for key in ("Control", "Shift", "a")],
                *[("key_up", key) for key in ("a", "Shift", "Control")],
            ],
        ),
        (
            {"type": "keypress", "keys": ["Shift_L", "A"]},
            [("key_down", "Shift"), ("key_down", "A"), ("key_up", "A"), ("key_up", "Shift")],
        ),
        (
            {"type": "click", "x": 1, "y": 2, "keys": ["cmd"]},
            [("key_down", "Meta"), ("click", 1, 2, "left", 1), ("key_up", "Meta")],
        ),
        (
            {"type": "drag", "path": [{"x": 1, "y": 2}, {"x": 3, "y": 4}, {"x": 5, "y": 6}]},
            [("move", 1, 2), ("mouse_down", "left"), ("move", 3, 4), ("move", 5, 6), ("mouse_up", "left")],
        ),
    ],
)
@pytest.mark.parametrize("kind", ["computer", "function"])
async def test_each_action_is_done_and_ends_with_a_screenshot(action: dict[str, Any], done: list[Any], kind: str) -> None:
    desk = Desk()
    (output,) = await outcome(desk, asked(action, kind=kind))
    assert desk.done == [*done, LOOK] and size_of(output) == (1000, 500)


async def test_without_a_point_an_action_is_where_the_pointer_is() -> None:
    desk = Desk()
    path = [{"x": 10, "y": 10}, {"x": 20, "y": 30}]
    first = [{"type": "drag", "path": path}, {"type": "click"}, {"type": "move", "x": 7, "y": 8}, {"type": "cursor_position"}]
    _, output = await outcome(desk, asked(*first), asked({"type": "scroll", "scroll_y": 5}, {"type": "cursor_position"}))
    assert ("click", 20, 30, "left", 1) in desk.done and desk.done[-2] == ("scroll", 7, 8, 0, 5)
    assert json.loads(text_of(output)) == {"output": "The pointer is at x=7, y=8."}


async def test_a_large_screen_is_shown_smaller_and_points_are_scaled_back() -> None:
    desk = Desk((3000, 1500))
    tool = ComputerTool(desk, max_side=1000)
    settings = tool.kind_settings or {}
    assert (settings["display_width"], settings["display_height"]) == (1000, 500)
    actions = [
        {"type": "click", "x": 500, "y": 250},
        {"type": "scroll", "x": 1, "y": 1, "scroll_x": 0, "scroll_y": 10},
        {"type": "drag", "path": [{"x": 0, "y": 0}, {"x": 1000, "y": 500}]},
        {"type": "cursor_position"},
    ]
    (output,) = await outcome(desk, asked(*actions), max_side=1000)
    assert desk.done[0] == ("click", 1500, 750, "left", 1) and desk.done[1] == ("scroll", 3, 3, 0, 30)
    assert desk.done[-3:] == [("move", 2999, 1499), ("mouse_up", "left"), ("screenshot", None, (1000, 500))]
    assert size_of(output) == (1000, 500) and "x=999, y=499" in text_of(output)


async def test_zoom_shows_a_region_as_large_as_the_screen_is_shown() -> None:
    desk = Desk((2000, 1000))
    (output,) = await outcome(desk, asked({"type": "zoom", "region": [0, 0, 100, 100]}), max_side=1000)
    assert desk.done == [("screenshot", (0, 0, 200, 200), (500, 500))] and size_of(output) == (500, 500)


@pytest.mark.parametrize(
    ("actions", "said"),
    [
        ([], "0 actions, expected 1 to 100"),
        ([{"type": "screenshot"}] * 101, "101 actions"),
        ([{"type": "fly"}], "type"),
        ([{"x": 1}], "type"),
        (["screenshot"], "object"),
        ([{"type": "click", "x": 1001, "y": 2}], "expected x and y up to 1000 and 500"),
        ([{"type": "click", "x": -1, "y": 2}], "not on the screen"),
        ([{"type": "click", "x": 1}], "not on the screen"),
        ([{"type": "click", "x": 1, "y": 1, "button": "teeth"}], "not as expected"),
        ([{"type": "move"}], "a move has no x and y"),
        ([{"type": "drag", "path": [{"x": 1, "y": 2}]}], "fewer than two points"),
        ([{"type": "keypress", "keys": []}], "no keys"),
        ([{"type": "keypress", "keys": ["Hyper"]}], "no key of that name"),
        ([{"type": "wait", "duration": 61}], "from 0 to 60 seconds"),
        ([{"type": "zoom", "region": [5, 5, 1, 1]}], "region"),
        ([{"type": "zoom", "region": [5, 5]}], "region"),
        ([{"type": "navigate", "url": "https://example.com"}], "actions[0].type: expected one of"),
        ([{"type": "click", "x": 1, "y": 1}, {"type": "click", "x": 1, "y": 9999}], "not on the screen"),
    ],
)
async def test_of_a_call_with_a_wrong_action_nothing_is_done(actions: list[Any], said: str) -> None:
    desk = Desk()
    (output,) = await outcome(desk, asked(*actions))
    assert "The call was not run" in output and said in output and desk.done == []


async def test_an_action_that_fails_is_told_with_its_place() -> None:
    desk = Desk()
    desk.broken = "type"
    actions = [{"type": "click", "x": 1, "y": 1}, {"type": "type", "text": "a"}, {"type": "click", "x": 2, "y": 2}]
    (output,) = await outcome(desk, asked(*actions))
    assert "Error: action 2 of 3 failed, those after it were not done: it is broken" in output
    (output,) = await outcome(desk, asked(actions[1]))
    assert "Error: it is broken" in output


async def test_keys_and_buttons_are_let_go_when_an_action_fails() -> None:
    desk = Desk()
    desk.broken = "click"
    await outcome(desk, asked({"type": "click", "x": 1, "y": 1, "keys": ["ctrl", "shift"]}))
    assert desk.done[-2:] == [("key_up", "Shift"), ("key_up", "Control")]


async def test_a_screenshot_that_no_provider_takes_is_refused() -> None:
    desk = Desk()
    desk.picture = bytes(4_000_000)
    (output,) = await outcome(desk, asked({"type": "screenshot"}))
    assert "4000000 bytes, expected at most 3500000" in output
    desk.picture = b"\xff\xd8\xff jpeg"
    (output,) = await outcome(desk, asked({"type": "screenshot"}))
    assert output[0].image_url.startswith("data:image/jpeg;base64,")


async def test_a_browser_goes_to_addresses_and_says_what_is_not_to_be_seen() -> None:
    window = Window()
    assert isinstance(window, Browser) and not isinstance(Desk(), Browser)
    window.notes = ["A dialog was closed.", "A download was refused."]
    actions = [
        {"type": "open_browser"},
        {"type": "navigate", "url": "https://example.com/"},
        {"type": "go_back"},
        {"type": "go_forward"},
    ]
    first, second = await outcome(window, asked(*actions), asked({"type": "screenshot"}))
    assert window.done[:-1] == [("navigate", "https://example.com/"), ("go_back",), ("go_forward",), LOOK]
    told = {"url": "https://example.com/", "output": "A dialog was closed.\nA download was refused."}
    assert json.loads(text_of(first)) == told
    assert json.loads(text_of(second)) == {"url": "https://example.com/"}


CHECK = {"id": "check_1", "code": "malicious_instructions", "message": "The page tells you to pay."}


@pytest.mark.parametrize("rule", [False, lambda context, arguments, call_id: False])
async def test_a_safety_check_waits_for_a_person_who_acknowledges_it(rule: Any) -> None:
    desk = Desk()
    call = asked({"type": "click", "x": 1, "y": 2}, pending_safety_checks=[CHECK])
    tool = ComputerTool(desk, needs_approval=rule)
    agent = Agent(name="Clerk", model=ScriptedModel([call, "Done."]), tools=[tool])
    state = (await Runner.run(agent, "Click.")).to_state()
    (item,) = state.interruptions
    assert isinstance(item, ToolApprovalItem) and json.loads(item.arguments or "")["pending_safety_checks"] == [CHECK]
    assert desk.done == []
    state.approve(item)
    result = await Runner.run(agent, state)
    (output,) = outputs(result)
    assert json.loads(text_of(output.output)) == {"acknowledged_safety_checks": [CHECK]}
    assert desk.done == [("click", 1, 2, "left", 1), LOOK]


async def test_a_safety_check_that_is_rejected_does_nothing() -> None:
    desk = Desk()
    call = asked({"type": "click", "x": 1, "y": 2}, pending_safety_checks=[CHECK])
    agent = Agent(name="Clerk", model=ScriptedModel([call, "Done."]), tools=[ComputerTool(desk)])
    state = (await Runner.run(agent, "Click.")).to_state()
    state.reject(state.interruptions[0], reason="it is a trap")
    result = await Runner.run(agent, state)
    (output,) = outputs(result)
    assert output.is_error and "it is a trap" in output.output and desk.done == []


async def test_a_rule_of_ones_own_is_asked_beside_the_safety_checks() -> None:
    async def clicks(context: Any, arguments: dict[str, Any], call_id: str) -> bool:
        return any(action["type"] == "click" for action in arguments["actions"])

    async def waits(action: str, rule: Any) -> bool:
        (got,) = await outcome(Desk(), asked({"type": action}), needs_approval=rule)
        return isinstance(got, ToolApprovalItem)

    assert await waits("click", clicks) and not await waits("screenshot", clicks) and await waits("screenshot", True)


async def test_what_was_seen_is_untrusted_so_the_next_action_waits() -> None:
    desk = Desk()
    agent = Agent(
        name="Clerk",
        model=ScriptedModel([asked({"type": "screenshot"}), asked({"type": "click"}), "Done."]),
        tools=[ComputerTool(desk)],
    )
    state = (await Runner.run(agent, "Click.")).to_state()
    assert state.taint is not None and state.taint.tool == "computer" and desk.done == [LOOK]
    (item,) = state.interruptions
    assert isinstance(item, ToolApprovalItem) and "untrusted" in item.reason


@pytest.mark.parametrize(("action", "waits"), [({"type": "screenshot"}, False), ({"type": "click"}, True)])
async def test_a_cut_call_that_only_looked_is_made_again_and_another_is_in_doubt(action: dict[str, Any], waits: bool) -> None:
    desk = Desk()
    agent = Agent(name="Clerk", model=ScriptedModel([asked(action), "Done."]), tools=[ComputerTool(desk)])
    whole = (await Runner.run(agent, "Look.")).to_state()
    desk.done.clear()
    agent = Agent(name="Clerk", model=ScriptedModel(["Done."]), tools=[ComputerTool(desk)])
    log = list(whole.value.log)
    begun = next(at for at, event in enumerate(log, 1) if isinstance(event, ToolsIntended))
    result = await Runner.run(agent, RunState(fold(log[:begun])))
    assert bool(result.interruptions) is waits and desk.done == ([] if waits else [LOOK])


@pytest.mark.parametrize("size", [None, (0, 10), (10,), (1.5, 2), "ab"])
def test_a_computer_says_how_large_its_screen_is(size: Any) -> None:
    with pytest.raises(UserError, match=r"ComputerTool has a computer of size .*, expected width and height"):
        ComputerTool(Desk(size))
