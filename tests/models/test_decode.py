"""A provider's JSON: what msgspec reads, what only the standard library reads, and what is neither."""

from __future__ import annotations

import pytest
from msgspec import Raw, Struct

from agentsdk.models.decode import decoder_of
from agentsdk.types.errors import MalformedResponseError


class Wire(Struct):
    text: str = ""
    number: int = 0


read = decoder_of(Wire, "a wire")
read_halves = decoder_of(Wire, "a wire", halves=True)
HALF = '{"text": "a\\ud83d", "number": 1}'


@pytest.mark.parametrize("data", ['{"text": "a"}', b'{"text": "a"}', Raw(b'{"text": "a"}')])
def test_json_of_the_expected_shape(data: str | bytes | Raw) -> None:
    assert read(data) == Wire("a")


@pytest.mark.parametrize("data", [HALF, HALF.encode(), Raw(HALF.encode())])
def test_a_lone_surrogate_is_replaced_or_kept(data: str | bytes | Raw) -> None:
    assert read(data) == Wire("a\ufffd", 1)
    assert read_halves(data) == Wire("a\ud83d", 1)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('{"text": 5}', r"the reply is not a wire: Expected `str`, got `int` - at `\$.text`"),
        ('{"text": "\\ud83d", "number": "secret"}', r"the reply is not a wire: Expected `int`, got `str` - at `\$.number`"),
        ('{"text": "secret', "the reply is not JSON: Input data was truncated"),
        (b'{"text": "secret\xff"}', "the reply is not (JSON|UTF-8)"),
        ('{"other": ' + "[" * 100_000, "the reply is not JSON"),
    ],
)
@pytest.mark.parametrize("halves", [False, True])
def test_anything_else_is_an_error_without_the_data(data: str | bytes, message: str, halves: bool) -> None:
    with pytest.raises(MalformedResponseError, match=message) as caught:
        (read_halves if halves else read)(data)
    assert "secret" not in str(caught.value)
