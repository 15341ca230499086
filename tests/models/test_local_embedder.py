"""`LocalEmbedder`: a server of its own, and vectors of the real weights."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from agentsdk.errors import ContextTooLongError, UserError
from agentsdk.models import LocalEmbedder
from agentsdk.models.local.weights import find_weights

pytestmark = pytest.mark.anyio

try:
    find_weights("smollm2")
except UserError as missing:
    pytest.skip(str(missing), allow_module_level=True)
if find_spec("xllamacpp") is None:
    pytest.skip("xllamacpp is not installed", allow_module_level=True)


async def test_texts_become_vectors_of_one_length_the_same_each_time() -> None:
    async with LocalEmbedder(context=64) as embedder:
        await embedder.start()
        one, two, again = await embedder.embed(["a cat", "send an e-mail", "a cat"])
        assert len(one) == len(two) == 576
        assert one != two
        assert one == pytest.approx(again, abs=1e-3)
        assert await embedder.embed([]) == []
        with pytest.raises(ContextTooLongError, match="too large to process"):
            await embedder.embed(["a cat " * 100])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"weights": "no-such"}, "'no-such' is not a local model"),
        ({"context": 0}, "context=0"),
        ({"pooling": "max"}, "pooling='max'"),
        ({"query_prefix": 1}, "query_prefix=1"),
        ({"start_timeout": 0}, "start_timeout=0"),
    ],
)
def test_wrong_values_are_told(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says):
        LocalEmbedder(**options)
