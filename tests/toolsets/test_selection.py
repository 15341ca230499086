"""`SelectedToolset` in runs: what it offers, what stays, and that a resumed run offers the same and asks nobody again."""

from __future__ import annotations

import asyncio
import logging
import signal
import sqlite3
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agentsdk import Agent, Inbox, Message, ModelRequest, RunConfig, Runner, SQLiteRunStore, UserError
from agentsdk.errors import ToolsetError
from agentsdk.events import ToolsetChanged
from agentsdk.items import FunctionCall
from agentsdk.models import TextKind
from agentsdk.stores import MemoryRunStore
from agentsdk.testing import ScriptedModel, call
from agentsdk.toolsets import CombinedToolset, SelectedToolset, Toolset, ToolsetContext
from agentsdk.toolsets import embedding as embedding_module
from agentsdk.toolsets import lexical as lexical_module
from agentsdk.types.items import FunctionCallOutput, Item
from agentsdk.types.spec import ToolSpec
from agentsdk.types.usage import Usage
from tests.models.wire import FakeClock
from tests.toolsets.killed_selection import REPLIES
from tests.toolsets.killed_selection import agent_of as agent_of_killed
from tests.toolsets.many import BrokenEmbedder, WordEmbedder, echo, registry, tools

pytestmark = pytest.mark.anyio


def names(request: ModelRequest) -> list[str]:
    return [tool.name for tool in request.tools]


def agent_of(toolset: Toolset[Any], replies: Sequence[Any], **fields: Any) -> tuple[Agent[Any, str], ScriptedModel]:
    model = ScriptedModel(replies)
    return Agent[Any, str](name="A", model=model, toolsets=[toolset], **fields), model


def notes(result: Any) -> list[str]:
    return [event.note for event in result.to_state().value.log if isinstance(event, ToolsetChanged)]


async def test_of_few_tools_all_are_offered() -> None:
    agent, model = agent_of(SelectedToolset(registry(20)), ["done"])
    await Runner.run(agent, "book a hotel")
    assert names(model.requests[0]) == [tool.name for tool in tools(20)]


async def test_of_more_those_are_offered_that_rank_best() -> None:
    agent, model = agent_of(SelectedToolset(registry(49), top=3, pinned=["find_mail"]), ["done"])
    result = await Runner.run(agent, "Please cancel my flight, I stay at home")
    offered = names(model.requests[0])
    assert offered[:2] == ["find_mail", "cancel_flight"]
    assert len(offered) == 4
    assert notes(result)[0].startswith("3 of 49 tools by words, for request ")


async def test_where_there_are_many_the_model_searches_and_is_offered_what_it_finds() -> None:
    replies = [call("search_tools", query="listen to a song, share it"), call("share_song", x=1), "done"]
    agent, model = agent_of(SelectedToolset(registry(), top=2), replies)
    result = await Runner.run(agent, "cancel the flight")
    first, second, third = map(names, model.requests)
    assert first[:2] == ["search_tools", "cancel_flight"] and len(first) == 3
    assert second == third == [*first, *[name for name in second if name not in first]]
    assert "share_song" in second
    found, ran = [item.output for item in result.new_items if item.type == "tool_call_output_item"]
    assert str(found).splitlines()[0] == "share_song: Share a song."
    assert ran == "share_song 1"


async def test_only_a_search_is_offered_at_first_where_nothing_is_ranked() -> None:
    replies = [call("search_tools", query="cancel a hotel"), call("search_tools", query="zzz"), "done"]
    agent, model = agent_of(SelectedToolset(registry(21), top=0, search_above=0), replies)
    result = await Runner.run(agent, "cancel the hotel")
    assert names(model.requests[0]) == ["search_tools"]
    assert len(names(model.requests[1])) == len(names(model.requests[2])) == 1 + 3  # those of the verb
    outputs = [str(item.output) for item in result.new_items if item.type == "tool_call_output_item"]
    assert outputs[1] == "No tool fits. Try other words, or go on without."


async def test_a_tool_that_was_called_unseen_is_refused_and_offered_from_the_next_turn_on() -> None:
    agent, model = agent_of(SelectedToolset(registry(), top=1), [call("rate_song", x=1), call("rate_song", x=2), "done"])
    result = await Runner.run(agent, "find an invoice")
    assert ["rate_song" in names(request) for request in model.requests] == [False, True, True]
    outputs = [str(item.output) for item in result.new_items if item.type == "tool_call_output_item"]
    assert outputs[0].startswith("Error: there is no tool named 'rate_song'")
    assert outputs[1] == "rate_song 2"


async def test_what_was_shown_stays_while_the_user_goes_on_and_the_list_only_grows() -> None:
    inbox = Inbox()
    more = iter(["now book a hotel", "yes", "and share the song"])

    def say(request: ModelRequest) -> str:
        if (text := next(more, None)) is not None:
            inbox.put(text)
        return "Shall I print the ticket?"

    agent, model = agent_of(SelectedToolset(registry(), top=2), [say] * 4)
    await Runner.run(agent, "find a recipe", run_config=RunConfig(inbox=inbox))
    lists = list(map(names, model.requests))
    assert all(after[: len(before)] == before for before, after in zip(lists, lists[1:], strict=False))
    assert "find_recipe" in lists[0] and "book_hotel" in lists[1] and "share_song" in lists[3]
    assert "print_ticket" in lists[2]  # "yes" is taken with what it answers


async def test_tools_of_earlier_calls_in_a_conversation_are_there_in_the_next_run() -> None:
    agent, model = agent_of(SelectedToolset(registry(), top=2), [call("find_weather", x=1), "Sunny.", "Rain."])
    first = await Runner.run(agent, "find the weather in Rome")
    await Runner.run(agent, [*first.to_input_list(), Message("user", "And in Oslo, in the next seven days or so, for a trip?")])
    assert names(model.requests[2]) == ["search_tools", "find_weather"]


async def test_a_query_of_ones_own() -> None:
    async def tenant_first(context: ToolsetContext[str]) -> str:
        return context.context

    agent, model = agent_of(SelectedToolset(registry(49), top=1, query=tenant_first), ["done"])
    await Runner.run(agent, "find an invoice", context="rate a song")
    assert names(model.requests[0]) == ["rate_song"] or "rate" in names(model.requests[0])[0]
    agent, _ = agent_of(SelectedToolset(registry(), query=lambda context: None), ["done"])  # type: ignore[arg-type, return-value]
    with pytest.raises(UserError, match="the query of SelectedToolset 'many' returned 'NoneType', expected a str"):
        await Runner.run(agent, "go")


async def test_an_embedder_ranks_by_meaning_and_embeds_each_text_once() -> None:
    embedder, tool_registry = WordEmbedder(), registry()
    toolset = SelectedToolset(tool_registry, top=2, by=embedder)
    agent, model = agent_of(toolset, ["done", "done"])
    result = await Runner.run(agent, "cancel the flight")
    assert names(model.requests[0])[:2] == ["search_tools", "cancel_flight"]
    assert notes(result)[0].startswith("2 of 70 tools by embedder 'words', for request ")
    assert len(embedder.documents) == 70
    tool_registry.register(echo("undo", "Cancel a flight."))
    await Runner.run(agent, "cancel the flight")
    assert embedder.documents[70:] == ["undo: Cancel a flight."]
    assert embedder.queries == ["cancel the flight", "cancel the flight"]


async def test_a_search_by_an_embedder() -> None:
    toolset = SelectedToolset(registry(), top=2, by=WordEmbedder())
    agent, _ = agent_of(toolset, [call("search_tools", query="rate the song"), "done"])
    result = await Runner.run(agent, "cancel the flight")
    [found] = [str(item.output) for item in result.new_items if item.type == "tool_call_output_item"]
    assert found.splitlines()[0] == "rate_song: Rate a song."


@pytest.mark.parametrize(
    ("does", "why"),
    [
        (ValueError("secret"), "raised ValueError"),
        (TimeoutError(), "did not answer within 0.01 seconds"),
        (asyncio.CancelledError(), "raised CancelledError"),
        ("hang", "did not answer within 0.01 seconds"),
        ([], "did not give a vector of numbers for each text"),
        (None, "did not give a vector of numbers for each text"),
        ([["a"]] * 70, "did not give a vector of numbers for each text"),
        ([[0.0]] * 70, "did not give a vector of numbers for each text"),
        ([[float("nan")]] * 70, "did not give a vector of numbers for each text"),
        ([[10.0**300, 10.0**300]] * 70, "did not give a vector of numbers for each text"),
    ],
)
async def test_an_embedder_that_fails_is_made_up_for_by_words_and_that_is_said(
    does: Any, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = BrokenEmbedder(does)
    toolset = SelectedToolset(registry(), top=1, by=embedder, embedder_timeout=0.01)
    agent, model = agent_of(toolset, ["done", "done"])
    with caplog.at_level(logging.WARNING, logger="agentsdk"):
        result = await Runner.run(agent, "cancel the flight")
    assert names(model.requests[0]) == ["search_tools", "cancel_flight"]
    assert f"embedder 'broken' of toolset 'many' {why}; its tools are chosen by their words" in caplog.text
    assert notes(result)[0].startswith(f"1 of 70 tools by words, as embedder 'broken' {why}, for request ")
    assert "secret" not in caplog.text + str(result.to_state().to_json())
    await Runner.run(agent, "book the hotel")
    assert names(model.requests[1]) == ["search_tools", "book_hotel"]
    assert embedder.asked == 1  # it rests


async def test_an_embedder_that_has_failed_is_asked_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([100.0, 100.0, 129.0, 130.0, 130.0])
    monkeypatch.setattr(embedding_module, "monotonic", lambda: next(times))
    embedder = BrokenEmbedder(ValueError())
    agent, _ = agent_of(SelectedToolset(registry(), by=embedder), ["done"] * 3)
    for _ in range(3):
        await Runner.run(agent, "book the hotel")
    assert embedder.asked == 2


async def test_a_cancelled_run_does_not_wait_for_its_embedder() -> None:
    agent, _ = agent_of(SelectedToolset(registry(), by=BrokenEmbedder("hang")), ["done"])
    run = asyncio.create_task(Runner.run(agent, "go"))
    for _ in range(20):
        await asyncio.sleep(0)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run


async def test_runs_side_by_side_embed_each_text_once() -> None:
    embedder = WordEmbedder()
    toolset = SelectedToolset(registry(), by=embedder)
    agent, _ = agent_of(toolset, ["done"] * 5)
    await asyncio.gather(*[Runner.run(agent, f"book hotel {number}") for number in range(5)])
    assert len(embedder.documents) == 70
    assert len(embedder.queries) == 5


def replies() -> list[Any]:
    return [call("search_tools", query="share a song"), call("share_song", x=1), call("cancel_flight", x=2), "done"]


async def test_a_replay_asks_no_embedder() -> None:
    embedder = WordEmbedder()
    agent, model = agent_of(SelectedToolset(registry(), top=2, by=embedder), replies())
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    await Runner.run(agent, "cancel the flight", run_config=config)
    asked = (len(embedder.documents), len(embedder.queries))
    replayed = await Runner.replay(agent, "r", run_config=config)
    assert (replayed.divergence, replayed.turns) == (None, 4)
    assert (len(embedder.documents), len(embedder.queries)) == asked
    assert len(model.requests) == 4


@pytest.mark.parametrize("stops_before", [2, 3, 4])
async def test_a_run_that_goes_on_elsewhere_offers_the_same_and_asks_no_embedder(stops_before: int) -> None:
    agent, model = agent_of(SelectedToolset(registry(), top=2, by=WordEmbedder()), replies())
    await Runner.run(agent, "cancel the flight")
    expected = list(map(names, model.requests))

    class Crash(Exception):
        pass

    store = MemoryRunStore()
    agent, first = agent_of(SelectedToolset(registry(), top=2, by=WordEmbedder()), [*replies()[: stops_before - 1], Crash()])
    with pytest.raises(Exception):  # noqa: B017 - whatever it is wrapped in
        await Runner.run(agent, "cancel the flight", run_config=RunConfig(store=store, run_id="r"))
    unasked = BrokenEmbedder(AssertionError())
    agent, second = agent_of(SelectedToolset(registry(), top=2, by=unasked), replies()[stops_before - 1 :])
    await Runner.resume(agent, "r", run_config=RunConfig(store=store))
    assert [names(request) for request in [*first.requests[:-1], *second.requests]] == expected
    assert unasked.asked == 0


async def test_a_run_whose_process_was_killed_offers_the_same_elsewhere_and_asks_no_embedder(tmp_path: Path) -> None:
    async def check(ends: int) -> list[str]:
        runs = tmp_path / f"{ends}.db"
        command = [sys.executable, "-m", "tests.toolsets.killed_selection", str(runs), str(ends)]
        status = await (await asyncio.create_subprocess_exec(*command)).wait()
        offered = runs.with_suffix(".txt")
        if ends <= len(REPLIES):
            assert status == -signal.SIGKILL
            unasked = BrokenEmbedder(AssertionError())
            store = SQLiteRunStore(runs)
            clock = FakeClock(time.time() + RunConfig().lease)
            config = RunConfig(store=store, run_id="r", clock=clock)
            result = await Runner.resume(agent_of_killed(unasked, offered, 0, ends), "r", run_config=config)
            assert (result.final_output, unasked.asked) == ("done", 0)
            await store.aclose()
        return offered.read_text().splitlines()

    uncut, *resumed = await asyncio.gather(*[check(ends) for ends in (9, 2, 3, 4)])
    assert len(uncut) == len(REPLIES)
    assert resumed == [uncut] * 3


async def test_the_bound_holds_and_keeps_what_is_used() -> None:
    searches = [call("search_tools", query=f"{noun} things") for noun in ("weather", "invoice", "hotel", "mail", "song")]
    agent, model = agent_of(SelectedToolset(registry(), top=7, most=20, pinned=["rate_stock"]), [*searches, "done"])
    await Runner.run(agent, "cancel the flight")
    lists = list(map(names, model.requests))
    assert max(map(len, lists)) <= 20
    assert all({"search_tools", "rate_stock"} <= set(one) for one in lists)
    assert {f"{verb}_song" for verb in ("find", "book", "cancel")} <= set(lists[-1])


async def test_many_searches_in_one_turn_keep_the_bound_and_the_same_turn_offers_the_same() -> None:
    toolset = SelectedToolset(registry(), top=2, most=12)
    calls = [call("search_tools", query="x") for _ in range(4)]
    results = [FunctionCallOutput(f"c{at}", "\n".join(f"{name}: x" for name in ALL[at * 8 : at * 8 + 8])) for at in range(4)]
    items = [Message("user", "cancel the flight"), *[replace(one, call_id=f"c{at}") for at, one in enumerate(calls)], *results]

    async def offered(before: Sequence[str], note: str) -> tuple[list[str], str]:
        specs = {name: spec(name) for name in before}
        context = ToolsetContext[None](None, Usage(), Agent("A"), items=items, offered=specs, note=note)
        return [tool.name for tool in await toolset.get_tools(context)], context.note

    first, note = await offered(["search_tools"], "")
    assert first == ["search_tools", *ALL[:11]]
    assert await offered(first, note) == (first, note)


async def test_what_was_called_lately_stays_where_tools_must_go() -> None:
    searches = [call("search_tools", query=f"{noun} things") for noun in ("weather", "invoice", "hotel", "mail")]
    replies = [searches[0], call("rate_weather"), *searches[1:], "done"]
    agent, model = agent_of(SelectedToolset(registry(), top=7, most=20), replies)
    await Runner.run(agent, "cancel the flight")
    assert "rate_weather" in names(model.requests[-1])
    assert "book_weather" not in names(model.requests[-1])


async def test_without_a_search_there_are_as_many_as_asked_for_even_if_fewer_fit() -> None:
    agent, model = agent_of(SelectedToolset(registry(30), top=5), ["done"])
    await Runner.run(agent, "zzz")
    assert names(model.requests[0]) == ALL[:5]


async def test_an_embedder_whose_vectors_change_their_length_is_asked_for_all_anew() -> None:
    class Longer(WordEmbedder):
        async def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Sequence[Sequence[float]]:
            return [[*vector, 1.0] if kind == "query" else vector for vector in await super().embed(texts, kind)]

    agent, _ = agent_of(SelectedToolset(registry(), by=Longer()), ["done"])
    result = await Runner.run(agent, "cancel the flight")
    assert "embedder 'words' gave vectors of different lengths" in notes(result)[0]


async def test_a_changed_registry_is_ranked_anew() -> None:
    many = registry()
    many.register(echo("learn", "Learn."))

    def learnt(request: ModelRequest) -> FunctionCall:
        many.register(echo("undo_flight", "Cancel the flight at once."))
        return call("cancel_flight", x=1)

    agent, model = agent_of(SelectedToolset(many, top=2), [learnt, call("undo_flight", x=2), "done"])
    await Runner.run(agent, "cancel the flight")
    before, after, last = map(names, model.requests)
    assert (after, last) == ([*before, "undo_flight"], after)


async def test_equal_tools_made_anew_each_turn_keep_their_index(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fresh(Toolset[Any]):
        async def get_tools(self, context: ToolsetContext[Any]) -> Sequence[Any]:
            return tools(30)

    made: list[int] = []
    index = lexical_module.LexicalIndex
    monkeypatch.setattr("agentsdk.toolsets.selection.LexicalIndex", lambda: (made.append(1), index())[1])
    agent, model = agent_of(SelectedToolset(Fresh(), top=2), [call("find_mail", x=1), call("find_mail", x=2), "done"])
    result = await Runner.run(agent, "find the mail")
    assert (len(made), len(notes(result))) == (1, 1)
    assert len({tuple(names(request)) for request in model.requests}) == 1


async def test_a_selection_beside_other_toolsets() -> None:
    both = CombinedToolset(SelectedToolset(registry(), top=1), registry(3).prefixed("x_"))
    agent, model = agent_of(both, [call("find_song"), "done"])
    await Runner.run(agent, "cancel the flight")
    ours = ["search_tools", "cancel_flight"]
    assert names(model.requests[0]) == [*ours, "x_find_weather", "x_book_weather", "x_cancel_weather"]
    assert set(names(model.requests[1])) == {*names(model.requests[0]), "find_song"}


async def test_what_the_inner_toolset_does_wrong_is_told_as_ever(caplog: pytest.LogCaptureFixture) -> None:
    class Gives(Toolset[Any]):
        name = "gives"

        def __init__(self, given: Any) -> None:
            self._given = given

        async def get_tools(self, context: ToolsetContext[Any]) -> Any:
            return self._given

    for tools_given, kind, says in [
        (None, ToolsetError, "gave a 'NoneType', expected a list of tools"),
        ([*tools(30), len], ToolsetError, "offers a 'builtin_function_or_method', expected tools"),
        ([*tools(30), tools(1)[0]], UserError, "two tools named 'find_weather'"),
        ([*tools(30), echo("search_tools")], UserError, "has a tool 'search_tools' itself, expected another name"),
    ]:
        agent, _ = agent_of(SelectedToolset(Gives(tools_given)), ["done"])
        with pytest.raises(kind, match=says):
            await Runner.run(agent, "go")
    agent, _ = agent_of(SelectedToolset(registry(), pinned=["find_wether"]), ["done", "done"])
    for _ in range(2):
        await Runner.run(agent, "go")
    assert caplog.text.count("toolset 'many' has no tool 'find_wether', which is pinned") == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"toolset": 3}, "toolset=3"),
        ({"top": -1}, "top=-1"),
        ({"by": "semantic"}, r"by='semantic'\), expected 'lexical', 'provider' or an Embedder"),
        ({"by": WordEmbedder}, "expected 'lexical', 'provider' or an Embedder"),
        ({"pinned": "help"}, "pinned='help'"),
        ({"pinned": [""]}, r"pinned\[0\]=''"),
        ({"query": "go"}, "query='go'"),
        ({"all_up_to": None}, "all_up_to=None"),
        ({"search_above": -1}, "search_above=-1"),
        ({"most": 0}, "most=0"),
        ({"search_name": "search tools"}, "search_name='search tools'"),
        ({"embedder_timeout": 0}, "embedder_timeout=0"),
        ({"most": 9, "pinned": ["a"]}, r"most=9\) is less than its top \(8\), its 1 pinned tools"),
        ({"top": 0, "search_above": None}, "would never offer more than what is pinned"),
    ],
)
def test_wrong_values_are_told_where_they_are_given(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says):
        SelectedToolset(**{"toolset": registry(), **options})


def test_a_python_that_cannot_search_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    class Without:
        def execute(self, statement: str) -> None:
            raise sqlite3.OperationalError("no such module: fts5")

        def close(self) -> None:
            pass

    lexical_module.require_fts5.cache_clear()
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **options: Without())
    with pytest.raises(UserError, match=r"OperationalError: no such module: fts5\), expected the module sqlite3 with FTS5"):
        SelectedToolset(registry())


def spec(name: str) -> ToolSpec:
    return ToolSpec(name, "", {})


ALL = [tool.name for tool in tools()]
conversations = st.lists(
    st.one_of(
        st.builds(Message, st.sampled_from(["user", "assistant"]), st.text("abc weather song", max_size=60)),
        st.builds(FunctionCall, st.sampled_from(["c1", "c2"]), st.sampled_from([*ALL, "search_tools", "other"]), st.just("{}")),
        st.builds(
            FunctionCallOutput,
            st.sampled_from(["c1", "c2"]),
            st.lists(st.sampled_from([*ALL, "other", ""]), max_size=30).map(": x\n".join),
        ),
    ),
    max_size=8,
)


@given(
    items=conversations,
    offered=st.lists(st.sampled_from([*ALL, "search_tools", "foreign"]), unique=True, max_size=60),
    top=st.integers(0, 9),
    most=st.integers(12, 40),
    pinned=st.lists(st.sampled_from(ALL), unique=True, max_size=2),
)
async def test_laws_of_a_selection(items: list[Item], offered: list[str], top: int, most: int, pinned: list[str]) -> None:
    toolset = SelectedToolset(SHARED, top=top, most=most, pinned=pinned)

    def context(note: str, offered: Sequence[str]) -> ToolsetContext[None]:
        specs = {name: spec(name) for name in offered}
        return ToolsetContext(None, Usage(), Agent(name="A"), items=items, offered=specs, note=note)

    asked = context("", offered)
    first = [tool.name for tool in await toolset.get_tools(asked)]
    assert len(first) == len(set(first)) <= most
    assert {*pinned, "search_tools"} <= set(first) <= {*ALL, "search_tools"}
    kept = [name for name in offered if name in first]
    assert first[: len(kept)] == kept, "what was shown keeps its place before what is new"
    if len(first) < most * 3 // 4:
        assert set(offered) - {"foreign"} <= set(first), "nothing goes before the bound is reached"
    elsewhere = SelectedToolset(SHARED, top=top, most=most, pinned=pinned)
    assert [tool.name for tool in await elsewhere.get_tools(context("", offered))] == first, "no process has a say in it"
    again = context(asked.note, first)
    assert [tool.name for tool in await toolset.get_tools(again)] == first, "the same turn, asked again, offers the same"
    assert again.note == asked.note


SHARED = registry()
