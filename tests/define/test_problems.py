"""What is wrong with a value, told to the model."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from agentsdk.define.problems import problems_of


class Line(BaseModel):
    count: int


class Order(BaseModel):
    lines: list[Line]


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Owner(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]


def test_pydantic_problems_have_a_path_and_no_value() -> None:
    with pytest.raises(ValidationError) as caught:
        Order.model_validate_json('{"lines":[{"count":1},{"count":"sk-secret"}]}')
    assert problems_of(caught.value) == [
        "lines[1].count: Input should be a valid integer, unable to parse string as an integer"
    ]
    with pytest.raises(ValidationError) as caught:
        Order.model_validate_json("[]")
    assert problems_of(caught.value)[0].startswith("the whole: ")


def test_a_wrong_tag_is_not_shown() -> None:
    with pytest.raises(ValidationError) as caught:
        Owner.model_validate_json('{"pet":{"kind":"sk-secret"}}')
    assert problems_of(caught.value) == ["pet: Input should have one of the tags 'cat', 'dog' as its 'kind'"]
