"""A provider's JSON: what msgspec reads, what only the standard library reads, and what is neither."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import Raw, Struct

from agentsdk.models.decode import decode_json
from agentsdk.types.errors import MalformedResponseError


class Wire(Struct):
    text: str = ""
    number: int = 0


DECODER = msgspec.json.Decoder(Wire)
HALF = '{"text": "a\\ud83d", "number": 1}'


@pytest.mark.parametrize("data", ['{"text": "a"}', b'{"text": "a"}', Raw(b'{"text": "a"}')])
def test_json_of_the_expected_shape(data: str | bytes | Raw) -> None:
    assert decode_json(DECODER, data, "a wire") == Wire("a")


@pytest.mark.parametrize("data", [HALF, HALF.encode(), Raw(HALF.encode())])
def test_a_lone_surrogate_is_replaced_or_kept(data: str | bytes | Raw) -> None:
    assert decode_json(DECODER, data, "a wire") == Wire("a\ufffd", 1)
    assert decode_json(DECODER, data, "a wire", halves=True) == Wire("a\ud83d", 1)


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
        decode_json(DECODER, data, "a wire", halves=halves)
    assert "secret" not in str(caught.value)
