"""The type of answers: what a function says that it returns, as schema and as check."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from agentsdk import UserError, function_tool
from agentsdk.define.answer_type import AnswerType, WrongAnswer
from agentsdk.define.parameters import MISSING


class Weight(BaseModel):
    kg: float
    unit: Literal["kg", "t"] = "kg"


@dataclass
class Place:
    name: str


@pytest.mark.parametrize(
    ("annotation", "answer", "value"),
    [
        (str, '"a"', "a"),
        (int, "3", 3),
        (float, "3", 3.0),
        (None, "null", None),
        (bool | None, "true", True),
        (list[str], '["a"]', ["a"]),
        (Literal["yes", "no"], '"no"', "no"),
        (Weight, '{"kg":2}', Weight(kg=2)),
        (list[Weight], '[{"kg":2}]', [Weight(kg=2)]),
        (Place, '{"name":"x"}', Place("x")),
        (date, '"2026-01-02"', date(2026, 1, 2)),
        (dict[str, int], '{"a":1}', {"a": 1}),
        (Annotated[int, Field(gt=2)], "3", 3),
        (MISSING, '{"a":[1,null]}', {"a": [1, None]}),
        (Any, "1", 1),
        (object, '"x"', "x"),
    ],
    ids=str,
)
def test_an_answer_that_fits_has_its_value(annotation: Any, answer: str, value: object) -> None:
    kind = AnswerType("tool", annotation)
    assert kind.read(answer) == value
    assert (kind.schema is None) == (annotation in (MISSING, Any, object))


@pytest.mark.parametrize(
    ("annotation", "answer", "problem"),
    [
        (str, "1", "- the whole: expected a string, got an integer"),
        (int, '"secret"', "- the whole: expected an integer, got a string of 6 characters"),
        (list[int], '[1, "secret"]', r"- the whole\[1\]: expected an integer, got a string of 6 characters"),
        (Literal["yes"], '"secret"', "- the whole: expected one of 'yes', got a string"),
        (Weight, '{"kg":"2"}', "- kg: Input should be a valid number"),
        (Weight, '{"unit":"g"}', "- kg: Field required\n- unit: Input should be 'kg' or 't'"),
        (Annotated[int, Field(gt=2)], "2", "- the whole: Input should be greater than 2"),
    ],
    ids=str,
)
def test_one_that_does_not_fit_is_told_where_and_never_shown(annotation: Any, answer: str, problem: str) -> None:
    with pytest.raises(WrongAnswer, match=problem) as caught:
        AnswerType("tool", annotation).read(answer)
    assert "secret" not in str(caught.value)


def test_a_type_that_is_no_json_is_refused_before_anything_is_sent() -> None:
    class Odd:
        pass

    with pytest.raises(UserError, match=r"the result type of tool 'odd' has no JSON schema: .*Odd.*; expected JSON-like types"):
        AnswerType("odd", Odd)

    @function_tool(external=True)
    def weigh() -> Odd:
        raise AssertionError

    with pytest.raises(UserError, match="the result type of tool 'weigh' has no JSON schema"):
        _ = weigh.spec


def test_the_type_may_be_declared_further_down_and_inside_a_function() -> None:
    @function_tool(external=True)
    def weigh() -> Late:
        raise AssertionError

    class Local(BaseModel):
        n: int

    @function_tool(external=True)
    def count() -> list[Local]:
        raise AssertionError

    assert weigh.answer_type.read('{"x":1}') == Late(x=1)
    assert count.answer_type.read('[{"n":1}]') == [Local(n=1)]
    assert count.clone(name="other").answer_type is count.answer_type, "it is read once"


class Late(BaseModel):
    x: int


def test_an_annotation_that_cannot_be_resolved_is_named() -> None:
    def weigh() -> Nowhere:  # type: ignore[name-defined]  # noqa: F821
        raise AssertionError

    with pytest.raises(UserError, match="tool 'weigh' has an annotation 'Nowhere' of its result that cannot be resolved"):
        _ = function_tool(weigh, external=True).spec
    assert function_tool(weigh).spec.name == "weigh", "where nobody checks it, it needs no meaning"


def test_plain_types_need_no_pydantic() -> None:
    program = (
        "import sys\nfrom agentsdk import function_tool\n"
        "@function_tool(external=True, timeout=3, default_answer='x')\ndef ask(question: str) -> str | None:\n    return None\n"
        "assert ask.spec and ask.answer_type.schema\nassert 'pydantic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
