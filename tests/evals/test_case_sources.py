"""Cases from files: JSON, JSON lines and YAML, typed; and files that are no cases."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentsdk import UserError
from agentsdk.evals import Case, read_cases

CASES = [Case("Rome?", "Italy", metadata={"hard": False}), Case("Oslo?", name="north")]
TEXTS = {
    "cases.json": '[{"input": "Rome?", "expected": "Italy", "metadata": {"hard": false}}, {"input": "Oslo?", "name": "north"}]',
    "cases.jsonl": '{"input": "Rome?", "expected": "Italy", "metadata": {"hard": false}}\n\n'
    '{"input": "Oslo?", "name": "north"}',
    "cases.yaml": "- input: Rome?\n  expected: Italy\n  metadata: {hard: false}\n- input: Oslo?\n  name: north\n",
    "cases.yml": "- input: Rome?\n  expected: Italy\n  metadata: {hard: false}\n- input: Oslo?\n  name: north\n",
}


@dataclass
class Order:
    number: int


@pytest.mark.parametrize("name", TEXTS)
def test_a_file_of_cases(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(TEXTS[name], encoding="utf-8")
    assert read_cases(tmp_path / name) == CASES


def test_cases_are_typed(tmp_path: Path) -> None:
    file = tmp_path / "orders.json"
    file.write_text('[{"input": [1, 2], "expected": {"number": 3}}]', encoding="utf-8")
    assert read_cases(file, Case[list[int], Order]) == [Case([1, 2], Order(3))]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("c.json", "[{", "Invalid JSON"),
        ("c.json", "{}", "the whole: Input should be a valid array"),
        ("c.json", '[{"input": 3}]', r"\[0\].input: Input should be a valid string"),
        ("c.json", '[{"expected": "x"}]', r"\[0\].input: Field required"),
        ("c.json", '[{"input": "x", "outputs": 3}]', r"\[0\].outputs: Unexpected keyword argument"),
        ("c.jsonl", '{"input": "x"}\n{"input"', "Invalid JSON"),
        ("c.yaml", "- input: [", "cannot be read as YAML"),
        ("c.yaml", "- &a {input: x}\n- *a", "has aliases"),
        ("c.json", b"\xff\xfe[", "decode"),
    ],
)
def test_what_is_no_file_of_cases(name: str, text: str | bytes, expected: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(UserError, match=expected):
        read_cases(tmp_path / name)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        read_cases(tmp_path / "none.json")


def test_types_that_cannot_be_read(tmp_path: Path) -> None:
    given: Any = Case[str, object()]  # type: ignore[misc]
    with pytest.raises(UserError, match="pydantic cannot describe"):
        read_cases(tmp_path / "c.json", given)


def test_yaml_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    (tmp_path / "c.yaml").write_text("[]", encoding="utf-8")
    with pytest.raises(UserError, match=r"pip install agentsdk\[yaml\]"):
        read_cases(tmp_path / "c.yaml")
