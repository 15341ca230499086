"""`LexicalIndex`: which words are the same, and what a query may be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.toolsets.lexical import MOST_WORDS, LexicalIndex, ToolText

TEXTS = [
    ToolText("send_mail", "Send an e-mail to a customer.", "to subject body", ""),
    ToolText("getWeatherForecast", "Forecast the weather.", "city days", "outdoors"),
    ToolText("tianqi", "查询城市的天气预报", "城市", ""),
    ToolText("HTTPServerStatus", "Is it up?", "url", ""),
    ToolText("find_café", "Find cafés nearby.", "", ""),
]
INDEX = LexicalIndex(TEXTS)


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("sendMail", 0),
        ("Sending emails", 0),
        ("an E-MAIL please", 0),
        ("the subject", 0),
        ("forecasts", 1),
        ("outdoors", 1),
        ("明天的天气怎么样", 2),
        ("status of the server", 3),
        ("cafe", 4),
    ],
)
def test_words_are_known_in_their_forms(query: str, best: int) -> None:
    assert INDEX.search(query, 8)[0] == best


@pytest.mark.parametrize("query", ["", "   ", "can you please do it for me", "zebra", '* OR "', "NEAR(", "-", "🦓", "天"])
def test_what_has_no_word_of_any_tool_finds_nothing(query: str) -> None:
    assert INDEX.search(query, 8) == []


def test_of_a_long_query_both_ends_count() -> None:
    filler, more = [" ".join(f"{letter}{number}" for number in range(10 * MOST_WORDS)) for letter in "vw"]
    assert sorted(INDEX.search(f"mail {filler} weather", 8)) == [0, 1]
    assert INDEX.search(f"{filler} weather {more}", 8) == []


def test_tools_may_be_added_later() -> None:
    index = LexicalIndex(TEXTS[:1])
    index.add(TEXTS[1:])
    assert [index.search(query, 1) for query in ("mail", "weather", "server")] == [[0], [1], [3]]
    assert LexicalIndex().search("mail", 3) == []


@given(st.lists(st.builds(ToolText, st.text(), st.text(), st.text(), st.text()), max_size=8), st.text(), st.integers(0, 9))
def test_any_text_can_be_searched_and_searched_for(texts: list[ToolText], query: str, limit: int) -> None:
    found = LexicalIndex(texts).search(query, limit)
    assert len(found) == len(set(found)) <= limit
    assert set(found) <= set(range(len(texts)))


@given(st.lists(st.sampled_from(["mail", "letter", "weather", "server"]), min_size=1, max_size=4), st.integers(1, 5))
def test_fewer_are_the_first_of_more(words: list[str], limit: int) -> None:
    query = " ".join(words)
    assert INDEX.search(query, limit) == INDEX.search(query, 5)[:limit]
