"""Names of a server's tools as providers take them."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from agentsdk.mcp.names import tool_names

PREFIXES = st.sampled_from(["", "x_", "a" * 40])


@given(st.lists(st.text(min_size=1, max_size=100), max_size=20), PREFIXES)
def test_each_tool_has_a_name_of_its_own_that_providers_take(names: list[str], prefix: str) -> None:
    mapped = tool_names(names, prefix)
    assert list(mapped.values()) == list(dict.fromkeys(names)), "each tool once, in the server's order"
    assert all(re.fullmatch("[A-Za-z0-9_-]{1,64}", name) for name in mapped)


@given(
    st.lists(st.text(min_size=1, max_size=70), min_size=1, max_size=10), st.lists(st.text(min_size=1, max_size=70), max_size=10)
)
def test_a_tool_keeps_its_name_whatever_the_server_lists_later(first: list[str], more: list[str]) -> None:
    before = tool_names(first)
    after = tool_names([*more, *first], known=before)
    assert before.items() <= after.items()


def test_a_name_that_fits_stays_and_a_clash_is_made_distinct() -> None:
    assert tool_names(["read_file", "files/read.text"]) == {"read_file": "read_file", "files_read_text": "files/read.text"}
    first, second = tool_names(["a.b", "a_b"])
    assert second == "a_b" and re.fullmatch("a_b_[0-9a-f]{8}", first), "the tool that is called so keeps the name"
