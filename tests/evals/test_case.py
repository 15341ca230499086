"""What a case may be."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk import Message, UserError
from agentsdk.evals import Case


@pytest.mark.parametrize(
    ("case", "name"),
    [
        (Case("Rome?"), "Rome?"),
        (Case("Rome?", name="first"), "first"),
        (Case("a line\nand another " + "x" * 40), "a line\\nand another xxxxxxxxxxxxxxxxx..."),
        (Case("\x1b[31mred"), "\\x1b[31mred"),
        (Case(""), "(empty)"),
        (Case({"a": 1}), '{"a":1}'),
        (Case([Message("user", "Hi")]), '[{"type":"message","role":"user","con...'),
        (Case("x", name="a\0b\ud800"), "a\ufffdb\ufffd"),
    ],
)
def test_a_case_is_named_by_its_input(case: Case[Any, Any], name: str) -> None:
    assert case.name == name


@pytest.mark.parametrize("fields", [{"name": 3}, {"metadata": []}, {"metadata": {1: 2}}, {"run_id": None}])
def test_wrong_fields(fields: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="Case"):
        Case("x", **fields)


def test_an_input_without_a_json_form_needs_a_name() -> None:
    with pytest.raises(UserError, match="no JSON form"):
        Case(object())
    assert Case(object(), name="x").name == "x"
