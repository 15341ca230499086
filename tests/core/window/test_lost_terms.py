"""What a summary lost is found, told in order, and put back as far as there is room."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.core.window.lost_terms import MOST, LostTerms, lost_terms, put_back
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message, Reasoning
from tests.core.histories import items
from tests.core.views import said, user


def lost(text: str, summary: str = "") -> LostTerms:
    return lost_terms([user(text)], [], summary)


@pytest.mark.parametrize(
    "text",
    [
        "https://host.example/a?b=1,2&c=3#d",
        "src/app.py",
        "/tmp",
        "~/notes",
        "notes.md",
        "a/b/c",
        "C:/x/y",
        "example.com",
        "feature/login_form",
    ],
)
def test_places(text: str) -> None:
    assert lost(f"See ({text}), now.") == LostTerms(places=(text,))


@pytest.mark.parametrize("text", ["ORD-1234", "snake_case", "camelCase", "ada@host.example", "deadbeef01", "localhost:8080"])
def test_identifiers(text: str) -> None:
    assert lost(f'See "{text}": now!') == LostTerms(identifiers=(text,))


@pytest.mark.parametrize("text", ["42", "1,234.50", "12:30", "12/05/2026", "-30%", "$5.20", "€70"])
def test_numbers(text: str) -> None:
    assert lost(f"It was {text}.") == LostTerms(numbers=(text,))


@pytest.mark.parametrize("text", ["Ada Lovelace", "Ada", "Plan 9 from Outer Space"])
def test_quoted_names(text: str) -> None:
    assert lost(f'Ask "{text}", please.') == LostTerms(names=(text,))
    assert lost(f"Ask `{text}`, please.").names == (text,)
    assert lost(f"Ask “{text}”, please.").names == (text,)


@pytest.mark.parametrize(
    "text",
    [
        "and/or",
        "e.g. this",
        "...",
        "7 of them",
        "v2",
        "///",
        "x@",
        "__",
        "Hello World",
        "'quoted'",
        '""',
        '"-"',
        "A.",
        "_x",
        "1st",
        "x" * 300 + "1",
    ],
)
def test_what_is_none_of_these(text: str) -> None:
    assert not lost(text)


def test_keys_of_json_are_no_names_and_its_values_are_read_apart() -> None:
    result = FunctionCallOutput("a", '{"first": "Ada L", "id":"ORD-7","total":12.5,"text":"one\\ntwo_three \\"Bo B\\""}')
    found = lost_terms([result], [], "")
    assert found == LostTerms(identifiers=("two_three", "ORD-7"), names=("Bo B", "Ada L"), numbers=("12.5",))
    call = FunctionCall("a", "read", '{"path":"x.py","line":10,"text":"1\\n\\"Bo B\\""}')
    assert lost_terms([call], [], "") == LostTerms(places=("x.py",), names=("Bo B",), numbers=("10",))


def test_assignments_and_lists_are_read_apart() -> None:
    assert lost("size=42,name=ab_c a.py,b.py") == LostTerms(places=("b.py", "a.py"), identifiers=("ab_c",), numbers=("42",))


def test_what_is_told_or_stays_is_not_lost() -> None:
    text = 'ORD-1234, src/app.py, "Ada Lovelace" and 42'
    assert not lost(text, "They read src/app.py (42 lines) for ord-1234; ADA LOVELACE wrote it.")
    after = [FunctionCallOutput("a", text), Reasoning("x")]
    assert not lost_terms([user(text)], after, "")
    assert lost(text, "src/app.python 421 ORD-12345") == lost(text)


def test_open_questions_are_those_that_no_one_answered() -> None:
    assert lost("I like it. Which region? And (by when?)").questions == ("And (by when?", "Which region?")
    assert not lost_terms([said("Which region?"), user("eu")], [], "")
    asked: list[Item] = [said("Which region?"), FunctionCall("a", "read", "{}"), FunctionCallOutput("a", "?"), said("")]
    assert lost_terms(asked, [], "").questions == ("Which region?",)
    assert not lost_terms(asked, [], "Open: the region, which one")
    assert lost_terms(asked, [], "Which one is open").questions == ("Which region?",)
    assert lost("See x.y/?a and what?!").questions == ()
    assert lost("?").questions == ("?",)
    assert len(lost("w" * 1_000 + "?").questions[0]) == 201


def test_the_most_mentioned_come_first_then_the_latest() -> None:
    before = [
        FunctionCallOutput("a", "id_1 id_2 id_3 id_3"),
        FunctionCallOutput("b", "id_1"),
        FunctionCallOutput("c", "id_4"),
        user("id_5"),
    ]
    assert lost_terms(before, [], "").identifiers == ("id_5", "id_1", "id_3", "id_4", "id_2")


def test_what_is_told_is_bounded() -> None:
    text = " ".join(f'id_{n} {100 + n} f{n}.py "N N{n}" Is it so{n}x?' for n in range(5 * MOST))
    found = lost(text)
    assert [len(kind) for kind in (found.questions, found.places, found.identifiers, found.names, found.numbers)] == [MOST] * 5
    assert found.numbers[0] == str(100 + 5 * MOST - 1)
    names = ", ".join(f"N N{n}" for n in range(5 * MOST - MOST, 5 * MOST))
    assert found.names[0] not in lost(text, names).names
    assert len(lost(text, names).names) == MOST


LOST = LostTerms(("Who is it?",), ("a.py", "b.py"), ("id_1",), (), ("42",))


def test_all_is_put_back_where_there_is_room() -> None:
    assert put_back("Done.", LOST, 1_000) == (
        "Done.\nOpen questions: Who is it?\nFiles and addresses: a.py | b.py\nIdentifiers: id_1\nNumbers: 42",
        LostTerms(),
    )


def test_what_has_no_room_is_told() -> None:
    line = "\nFiles and addresses: a.py"
    assert put_back("Done.", LOST, len(line)) == ("Done." + line, LostTerms(("Who is it?",), ("b.py",), ("id_1",), (), ("42",)))
    assert put_back("Done.", LOST, 0) == ("Done.", LOST)


@given(st.lists(items, max_size=8), st.lists(items, max_size=3), st.text(max_size=40), st.integers(0, 300))
def test_whatever_was_said_the_bound_holds_and_nothing_lost_is_dropped(
    before: list[Item], after: list[Item], summary: str, room: int
) -> None:
    found = lost_terms(before, after, summary)
    text, left = put_back(summary, found, room)
    assert text.startswith(summary)
    assert len(text) <= len(summary) + room
    for kind in ("questions", "places", "identifiers", "names", "numbers"):
        for term in getattr(found, kind):
            assert term in text or term in getattr(left, kind)


@pytest.mark.parametrize(
    "piece", ["?", '"', "`", "“", '"a', "a", "1", "/", ".", "a.", "=", "\\", "\\n", "_", "aB", "? ", "x?\n", ",1"]
)
def test_no_text_makes_it_slow(piece: str) -> None:
    """A walk that goes back for every character would be at this for hours."""
    text = piece * (100_000 // len(piece))
    lost_terms([Message("user", text), FunctionCallOutput("a", text)], [user(text)], text[::2])
