"""Histories as long as a window is short, and a stand-in for whoever runs the steps of `fit`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hypothesis import strategies as st

from agentsdk.core.overflow import output_text
from agentsdk.core.window.fit import Fits, Impossible, Replace, SummaryRequest, WindowView, fit
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message, ProviderItem, Reasoning
from agentsdk.types.response import ModelResponse

Draw = Callable[[st.SearchStrategy[Any]], Any]


def count_tokens(items: Iterable[Item]) -> list[int]:
    """Four tokens an item, and one for every four characters of its text."""
    return [4 + len(_text(item)) // 4 for item in items]


def _text(item: Item) -> str:
    match item:
        case Message():
            return item.text
        case FunctionCall():
            return item.name + item.arguments
        case FunctionCallOutput():
            return output_text(item.output)
        case Reasoning():
            return item.text
        case ProviderItem():
            return str(item.data)


def user(text: str) -> Message:
    return Message("user", text)


def said(text: str) -> Message:
    return Message("assistant", text)


def turn(call_id: str, result: str = "ok", *, tool: str = "read", is_error: bool = False) -> list[Item]:
    """A turn: reasoning, a call, its result."""
    return [
        Reasoning("hm", id=f"r-{call_id}"),
        FunctionCall(call_id, tool, "{}"),
        FunctionCallOutput(call_id, result, is_error),
    ]


def turns(count: int, chars: int, first: int = 0) -> list[Item]:
    return [item for number in range(first, first + count) for item in turn(f"c{number}", str(number % 10) * chars)]


def view_of(items: Sequence[Item], size: int, **rest: Any) -> WindowView:
    return WindowView(items=items, counts=count_tokens(items), size=size, **rest)


def settled(view: WindowView, reply: ModelResponse | None = None) -> tuple[Fits | Impossible, list[Replace]]:
    """The last step, and every replacement made on the way to it. Each summary asked for is answered with `reply`."""
    made: list[Replace] = []
    while True:
        step = fit(view)
        if isinstance(step, SummaryRequest):
            view = step.view
            replaced = None if reply is None else step.done(reply)
            if replaced is None:
                continue
            step = replaced
        if not isinstance(step, Replace):
            return step, made
        view = step.done(count_tokens(step.new))
        if view is not step.view:
            made.append(step)


@st.composite
def conversations(draw: Draw) -> list[Item]:
    """A valid history of up to twelve exchanges; every item is an object of its own."""
    items: list[Item] = []
    sizes = st.sampled_from([0, 20, 400, 3_000])
    for number in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(["user", "system", "said", "turn", "turn", "turn", "provider"]))
        text = "x" * draw(sizes)
        if kind == "user":
            items.append(Message("user", f"{number} {text}"))
        elif kind == "system":
            items.append(Message(draw(st.sampled_from(["system", "developer"])), f"{number}"))
        elif kind == "said":
            items += [Reasoning(f"{number}"), Message("assistant", f"{number} {text}")]
        elif kind == "provider":
            items += [ProviderItem("p", {"number": number}), Message("assistant", f"{number}")]
        else:
            ids = [f"{number}-{index}" for index in range(draw(st.integers(1, 3)))]
            tool = draw(st.sampled_from(["read", "update_plan"]))
            results: list[Item] = [FunctionCallOutput(call_id, text, draw(st.booleans())) for call_id in ids]
            if draw(st.integers(0, 4)) == 0:
                results.insert(1, Message("user", f"meanwhile {number}"))
            items += [Reasoning(f"{number}"), *(FunctionCall(call_id, tool, "{}") for call_id in ids), *results]
    return items
