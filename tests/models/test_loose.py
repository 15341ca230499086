from __future__ import annotations

import pytest

from agentsdk.models.loose import MAX_DEPTH, as_list, as_object, as_text, is_object, storable
from agentsdk.types.errors import MalformedResponseError


def test_what_fits_is_the_same_and_what_does_not_is_empty() -> None:
    assert (as_object({"a": 1}), as_list([1]), as_text("a")) == ({"a": 1}, [1], "a")
    for other in (None, 1, True):
        assert (as_object(other), as_list(other), as_text(other)) == ({}, [], "")


def test_what_is_one_whole_object() -> None:
    assert all(map(is_object, ("{}", '{"a": [1, {"b": null}]}', ' {"é": 1} ')))
    assert not any(map(is_object, ("", "[]", "null", '{"a":', "{} {}", "not json", '"{}"', "\ud83d")))


def test_what_is_kept_is_clean_and_not_too_deep() -> None:
    deep: object = {"a\ud83d": "b\ud83d"}
    for _ in range(MAX_DEPTH - 1):
        deep = [deep]
    assert "ud83d" not in str(storable(deep))
    with pytest.raises(MalformedResponseError, match="deeper than 100"):
        storable([deep])
    assert (storable(1), storable("a"), storable([])) == (1, "a", [])
