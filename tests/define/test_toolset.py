"""Combinators of toolsets: their laws, and what they refuse."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk import Agent, FunctionTool, Runner, UserError, function_tool
from agentsdk.errors import ToolsetError
from agentsdk.testing import ScriptedModel, call
from agentsdk.toolsets import CombinedToolset, ToolRegistry, Toolset, ToolsetContext
from agentsdk.types.usage import Usage

pytestmark = pytest.mark.anyio

AGENT = Agent[None, str](name="A")


def tool(name: str, **options: Any) -> FunctionTool[Any]:
    return function_tool(lambda: name, name_override=name, description_override=name, **options)


def context() -> ToolsetContext[None]:
    return ToolsetContext(None, Usage(), AGENT)


def names(toolset: Toolset[Any]) -> list[str]:
    return [tool.name for tool in asyncio.run(_tools(toolset))]


async def _tools(toolset: Toolset[Any]) -> Sequence[FunctionTool[Any]]:
    return await toolset.get_tools(context())


def found(toolset: Toolset[Any], name: str) -> str | None:
    one = asyncio.run(_find(toolset, name))
    return None if one is None else one.name


async def _find(toolset: Toolset[Any], name: str) -> FunctionTool[Any] | None:
    return await toolset.find_tool(context(), name)


WORDS = st.text("abc", min_size=1, max_size=3)
registries = st.lists(WORDS, unique=True, max_size=6).map(lambda words: ToolRegistry[Any]([tool(word) for word in words]))
prefixes = st.sampled_from(["p_", "q_", "a"])


def has(letter: str) -> Callable[[object, FunctionTool[Any]], bool]:
    return lambda _, tool: letter in tool.description


@given(registries, prefixes, prefixes)
def test_prefixes_add_up(registry: ToolRegistry[Any], one: str, two: str) -> None:
    assert names(registry.prefixed(one).prefixed(two)) == names(registry.prefixed(two + one))


@given(registries, prefixes, st.sampled_from("abc"))
def test_a_filter_of_a_prefix_is_a_prefix_of_the_filter(registry: ToolRegistry[Any], prefix: str, letter: str) -> None:
    assert names(registry.prefixed(prefix).filtered(has(letter))) == names(registry.filtered(has(letter)).prefixed(prefix))


@given(registries, st.sampled_from("abc"), st.sampled_from("abc"))
def test_filters_are_free_to_change_places(registry: ToolRegistry[Any], one: str, two: str) -> None:
    assert names(registry.filtered(has(one)).filtered(has(two))) == names(registry.filtered(has(two)).filtered(has(one)))


@given(registries, registries, prefixes)
def test_a_prefix_of_combined_toolsets_is_the_combination_of_prefixed_ones(
    one: ToolRegistry[Any], two: ToolRegistry[Any], prefix: str
) -> None:
    both = CombinedToolset(one, two).prefixed(prefix)
    assert (
        names(both)
        == names(CombinedToolset(one.prefixed(prefix), two.prefixed(prefix)))
        == [
            *names(one.prefixed(prefix)),
            *names(two.prefixed(prefix)),
        ]
    )


@given(registries, st.permutations(["a", "b", "c"]))
def test_renaming_back_gives_the_names_of_before(registry: ToolRegistry[Any], others: list[str]) -> None:
    there = dict(zip("abc", [f"new_{name}" for name in others], strict=True))
    back = {new: old for old, new in there.items()}
    assert names(registry.renamed(there).renamed(back)) == names(registry)


@given(registries, prefixes, st.sampled_from("abc"))
def test_what_is_offered_is_found_and_nothing_else(registry: ToolRegistry[Any], prefix: str, letter: str) -> None:
    changed = CombinedToolset(registry.filtered(has(letter)).prefixed(prefix), ToolRegistry[Any]([tool("z")]).with_approval())
    offered = names(changed)
    every = {*offered, *names(registry), *names(registry.prefixed(prefix)), "z", "none"}
    assert {name for name in every if found(changed, name) == name} == set(offered)
    assert {found(changed, name) for name in every - set(offered)} <= {None}


def test_a_copy_is_the_same_one_each_turn() -> None:
    registry = ToolRegistry[Any]([tool("a"), tool("b")])
    prefixed = registry.prefixed("p_")
    first = list(asyncio.run(_tools(prefixed)))
    registry.register(tool("c"))
    registry.unregister("a")
    again = list(asyncio.run(_tools(prefixed)))
    assert [one.name for one in again] == ["p_b", "p_c"]
    assert again[0] is first[1]


def test_options_for_a_whole_toolset() -> None:
    def rule(*_: object) -> bool:
        return True

    registry = ToolRegistry[Any]([tool("a"), tool("b", timeout=5, effect="none", needs_approval=rule)])
    asked = {
        one.name: one for one in asyncio.run(_tools(registry.with_approval().with_defaults(timeout=9, effect="idempotent")))
    }
    assert (asked["a"].timeout, asked["a"].effect, asked["a"].needs_approval) == (9, "idempotent", True)
    assert (asked["b"].timeout, asked["b"].effect, asked["b"].needs_approval) == (5, "none", rule)


async def test_tools_prepared_for_a_turn() -> None:
    async def prepare(context: ToolsetContext[Any], tool: FunctionTool[Any]) -> FunctionTool[Any] | None:
        return None if tool.name == "b" else tool.clone(description=f"in turn {context.turn}")

    model = ScriptedModel([call("a"), "done"])
    registry = ToolRegistry[Any]([tool("a"), tool("b")]).prepared(prepare)
    await Runner.run(Agent[None, str](name="A", model=model, toolsets=[registry]), "go")
    assert [[(one.name, one.description) for one in request.tools] for request in model.requests] == [
        [("a", "in turn 1")],
        [("a", "in turn 2")],
    ]


async def test_instructions_of_combined_toolsets() -> None:
    one, two = ToolRegistry[Any](instructions="One."), ToolRegistry[Any](instructions="Two.").prefixed("p_")
    both = CombinedToolset(one, ToolRegistry[Any](), two.filtered(has("a")))
    assert both.name == "tools+tools+tools"
    assert await both.get_instructions(context()) == "One.\n\nTwo."


async def test_a_renamed_toolset_is_asked_with_its_own_names() -> None:
    seen: list[list[str]] = []

    class Looks(ToolRegistry[Any]):
        async def get_tools(self, context: ToolsetContext[Any]) -> Sequence[FunctionTool[Any]]:
            seen.append(list(context.offered))
            return self.tools

    model = ScriptedModel([call("p_a"), "done"])
    agent = Agent[None, str](name="A", model=model, toolsets=[Looks([tool("a")]).prefixed("p_")])
    await Runner.run(agent, "go")
    assert seen == [[], ["a"]]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda toolset: toolset.filtered(3), "rule=3"),
        (lambda toolset: toolset.prefixed(""), "prefix=''"),
        (lambda toolset: toolset.renamed([]), r"names=\[\]"),
        (lambda toolset: toolset.renamed({"a": "c", "b": "c"}), "a name of its own for each tool"),
        (lambda toolset: toolset.prepared(None), "change=None"),
        (lambda toolset: toolset.with_approval("yes"), "needs_approval='yes'"),
        (lambda toolset: toolset.with_defaults(colour=3), r"defaults for \['colour'\]"),
        (lambda toolset: CombinedToolset(toolset, 3), r"toolsets\[1\]=3"),
    ],
)
def test_what_a_combinator_refuses(change: Callable[[Any], object], says: str) -> None:
    with pytest.raises(UserError, match=says):
        change(ToolRegistry[Any]([tool("a"), tool("b")]))


@pytest.mark.parametrize(
    ("toolset", "error", "says"),
    [
        (ToolRegistry[Any]([tool("a")]).filtered(lambda *_: None), UserError, "returned 'NoneType', expected True or False"),  # type: ignore[arg-type, return-value]
        (ToolRegistry[Any]([tool("a")]).prepared(lambda *_: 3), UserError, "returned 'int', expected a tool or None"),  # type: ignore[arg-type, return-value]
        (ToolRegistry[Any]([tool("a")]).filtered(lambda *_: 1 / 0 > 0), ToolsetError, "raised ZeroDivisionError"),
        (ToolRegistry[Any]([tool("a")]).prefixed("p " * 40), UserError, "a tool is named"),
        (ToolRegistry[Any]([tool("a"), tool("b")]).renamed({"a": "b"}), UserError, "two tools named 'b'"),
    ],
)
async def test_what_fails_in_the_run(toolset: Toolset[Any], error: type[Exception], says: str) -> None:
    agent = Agent[None, str](name="A", model=ScriptedModel(["done"]), toolsets=[toolset])
    with pytest.raises(error, match=says):
        await Runner.run(agent, "go")
