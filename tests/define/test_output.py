"""Typed final outputs: what the model is told, and what is taken back."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, RootModel, TypeAdapter
from typing_extensions import TypedDict

from agentsdk.define.output import AgentOutputSchema, InvalidOutput
from agentsdk.types.errors import UserError


class City(BaseModel):
    name: str
    people: int
    founded: date | None = None


@dataclass
class Point:
    x: float
    kind: Literal["a", "b"] = "a"


class Size(TypedDict):
    width: int


class Node(BaseModel):
    value: int
    children: list[Node] = []


class Numbers(RootModel[list[int]]):
    pass


TYPES: list[Any] = [
    City,
    Point,
    Size,
    Node,
    list[int],
    int | str,
    bool,
    float,
    Union[City, None],  # noqa: UP007 - the old spelling too
    Literal["x"],
    Numbers,
    list[City | Point],
]


def schema_of(output_type: Any, **options: Any) -> dict[str, Any]:
    spec = AgentOutputSchema(output_type, **options).spec
    assert spec is not None
    return spec.schema


@pytest.mark.parametrize("output_type", TYPES, ids=str)
def test_the_schema_is_always_a_closed_object(output_type: Any) -> None:
    schema = schema_of(output_type)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert schema["required"] == list(schema["properties"])


def test_objects_stand_as_they_are_and_other_values_are_wrapped() -> None:
    assert list(schema_of(City)["properties"]) == ["name", "people", "founded"]
    assert schema_of(list[int])["properties"] == {"response": {"type": "array", "items": {"type": "integer"}}}
    assert AgentOutputSchema(City).validate('{"name":"Rome","people":3}') == City(name="Rome", people=3)
    assert AgentOutputSchema(Point).validate('{"x":1,"kind":"b"}') == Point(1.0, "b")
    assert AgentOutputSchema(Size).validate('{"width":1}') == {"width": 1}
    assert AgentOutputSchema(list[int]).validate('{"response":[1,2]}') == [1, 2]
    assert AgentOutputSchema(bool).validate('{"response":true}') is True
    optional: AgentOutputSchema[Any] = AgentOutputSchema(City | None)  # type: ignore[arg-type]
    assert optional.validate('{"response":null}') is None


def test_recursive_types() -> None:
    schema = schema_of(Node)
    assert schema["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    got = AgentOutputSchema(Node).validate('{"value":1,"children":[{"value":2,"children":[]}]}')
    assert got == Node(value=1, children=[Node(value=2)])


def test_json_types_must_match() -> None:
    city = AgentOutputSchema(City)
    assert city.validate('{"name":"Rome","people":3,"founded":"0753-04-21"}').founded == date(753, 4, 21)
    for people in ('"3"', "3.5", "true", "null"):
        with pytest.raises(InvalidOutput, match="- people: "):
            city.validate(f'{{"name":"Rome","people":{people}}}')


def test_the_message_is_for_the_model_and_shows_no_value() -> None:
    with pytest.raises(ValueError) as caught:
        AgentOutputSchema(City).validate('{"name":5,"people":"sk-secret"}')
    assert str(caught.value) == (
        "the JSON does not fit its schema:\n- name: Input should be a valid string\n- people: Input should be a valid integer"
    )
    with pytest.raises(InvalidOutput, match=r"- response\[1\]: "):
        AgentOutputSchema(list[int]).validate('{"response":[1,"x"]}')


@pytest.mark.parametrize(
    "text", ["", "sk-secret", 'Here: {"name":"Rome","people":3}', '{"name":"Rome","people":3} Done.', '{"name":']
)
def test_what_is_not_json_alone_is_refused(text: str) -> None:
    with pytest.raises(InvalidOutput) as caught:
        AgentOutputSchema(City).validate(text)
    assert str(caught.value).startswith("the output is not valid JSON; answer with the JSON object alone")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("fence", ["```json\n%s\n```", "```\n%s\n```", "\n ```JSON \r\n%s\r\n``` \n", " %s\n"])
def test_a_fence_around_the_whole_text_is_taken_off(fence: str) -> None:
    assert AgentOutputSchema(City).validate(fence % '{"name":"``` x","people":3}').people == 3


@pytest.mark.parametrize("text", ["Sure:\n```json\n%s\n```", "```json\n%s\n```\nDone", "```json\n%s", "```python\n%s\n```"])
def test_any_other_fence_is_refused(text: str) -> None:
    with pytest.raises(InvalidOutput):
        AgentOutputSchema(City).validate(text % '{"name":"Rome","people":3}')


def test_text_is_taken_as_it_stands() -> None:
    for given_type in (str, None):
        plain: AgentOutputSchema[Any] = AgentOutputSchema(given_type)  # type: ignore[arg-type]
        assert plain.is_plain_text
        assert plain.spec is None
        assert plain.validate(" ```json\n5\n``` ") == " ```json\n5\n``` "
    assert AgentOutputSchema(str).validate_json('"a"') == "a"
    with pytest.raises(InvalidOutput):
        AgentOutputSchema(str).validate_json("5")


def test_a_value_given_as_json_needs_no_wrapper() -> None:
    assert AgentOutputSchema(list[int]).validate_json("[1,2]") == [1, 2]
    assert AgentOutputSchema(City).validate_json('{"name":"Rome","people":3}').people == 3
    with pytest.raises(InvalidOutput):
        AgentOutputSchema(list[int]).validate_json('{"response":[1,2]}')


@given(st.lists(st.integers()))
def test_what_is_dumped_is_read_again(numbers: list[int]) -> None:
    adapter = TypeAdapter(list[int])
    assert AgentOutputSchema(list[int]).validate(f'{{"response":{adapter.dump_json(numbers).decode()}}}') == numbers


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    for output_type in (City, list[int]):
        with pytest.raises(InvalidOutput):
            AgentOutputSchema(output_type).validate(text)


def test_a_schema_that_is_not_strict() -> None:
    free: Any = dict[str, int]
    with pytest.raises(
        UserError, match=r"output_type 'dict_str_int' has no strict JSON schema: the value is an object with free keys"
    ):
        AgentOutputSchema(free)
    loose: AgentOutputSchema[Any] = AgentOutputSchema(free, strict_json_schema=False)
    assert loose.spec is not None
    assert loose.spec.strict is False
    assert loose.validate('{"a":1}') == {"a": 1}
    with pytest.raises(InvalidOutput, match="- a: "):
        loose.validate('{"a":"1"}')
    assert schema_of(Point, strict_json_schema=False)["required"] == ["x"]


def test_a_type_without_a_schema_is_refused() -> None:
    class Opaque: ...

    with pytest.raises(UserError, match=r"output_type 'Opaque' has no JSON schema: .*; expected a pydantic model"):
        AgentOutputSchema(Opaque)


def test_schemas_are_kept_by_type() -> None:
    assert AgentOutputSchema(City).spec is AgentOutputSchema(City).spec
    assert AgentOutputSchema(list[int]).spec is AgentOutputSchema(list[int]).spec
    assert AgentOutputSchema(City).spec is not AgentOutputSchema(City, strict_json_schema=False).spec
    unhashable: Any = Annotated[int, Field(ge=0), ["x"]]
    assert AgentOutputSchema(unhashable).validate('{"response":1}') == 1


def test_names_are_what_providers_take() -> None:
    names = [AgentOutputSchema(output_type).name for output_type in TYPES]
    assert names[0] == "City"
    assert names[4:6] == ["list_int", "int_str"]
    for name in names:
        assert 0 < len(name) <= 64
        assert name.replace("_", "").replace("-", "").isalnum()
    assert repr(AgentOutputSchema(City)) == "AgentOutputSchema(City)"


def test_plain_text_imports_no_pydantic() -> None:
    code = (
        "import sys\nfrom agentsdk.define.output import AgentOutputSchema\n"
        "AgentOutputSchema(str)\nassert 'pydantic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


values = st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=3)


@given(st.dictionaries(st.text(max_size=5), values, max_size=4))
def test_every_beginning_of_an_answer_can_be_read_and_the_whole_reads_whole(value: dict[str, Any]) -> None:
    schema = AgentOutputSchema(dict[str, Any], strict_json_schema=False)
    text = json.dumps(value)
    for end in range(len(text)):
        read = schema.partial(text[:end])
        assert read is None or (isinstance(read, dict) and set(read) <= set(value))
    assert schema.partial(text) == value
    assert schema.partial("```json\n" + text) == value


def test_what_is_no_json_shows_nothing() -> None:
    schema = AgentOutputSchema(list[int])
    assert [schema.partial(text) for text in ("", "Well, ", "[1]", '{"response": [1')] == [None, None, None, [1]]
    assert AgentOutputSchema(str).partial("") is None
