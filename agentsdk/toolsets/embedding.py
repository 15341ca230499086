"""`EmbeddingSearch`: which texts are nearest in meaning to a query, by an `Embedder` that may fail or hang."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Sequence
from heapq import nlargest
from math import isfinite, sqrt
from operator import mul
from time import monotonic
from weakref import WeakKeyDictionary

from agentsdk.ports.embedder import Embedder, TextKind

REST = 30.0
"""Seconds for which an embedder that has failed is not asked again."""

_BATCH = 128
"""Texts per request: what came of a request is kept even if the next one fails."""

_MOST_UNUSED = 1000
"""Vectors that are kept although their texts were not searched last."""

_COMPARED_TOGETHER = 50
"""Texts that are compared before other tasks have their turn."""


class EmbeddingFailed(Exception):  # noqa: N818 - the caller goes on without
    """The embedder gave no vectors; the message says why."""


class EmbeddingSearch:
    """Texts by their meaning. Each text is embedded once."""

    def __init__(self, embedder: Embedder, timeout: float) -> None:
        self._embedder = embedder
        self._timeout = timeout
        self._vectors: dict[str, array[float]] = {}
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
        self._rests_until = float("-inf")

    async def search(self, texts: Sequence[str], query: str, limit: int) -> list[int]:
        """Where the texts that are nearest to the query stand, the nearest first. Raises `EmbeddingFailed`."""
        if monotonic() < self._rests_until:
            raise EmbeddingFailed("has failed a moment ago")
        task = asyncio.current_task()
        cancelling = task.cancelling() if task else 0
        try:
            async with asyncio.timeout(self._timeout):
                vectors = await self._embedded(texts)
                [asked] = await self._embed([query], "query")
        except asyncio.CancelledError:
            if task is None or task.cancelling() > cancelling:
                raise
            raise self._failed("raised CancelledError") from None  # though nobody cancelled it
        except TimeoutError as error:
            raise self._failed(f"did not answer within {self._timeout:g} seconds") from error
        except EmbeddingFailed as error:
            raise self._failed(str(error)) from None
        except Exception as error:
            raise self._failed(f"raised {type(error).__name__}") from error
        if any(len(vector) != len(asked) for vector in vectors):
            self._vectors.clear()  # it gives those of another model by now
            raise self._failed("gave vectors of different lengths")
        return await _nearest(vectors, asked, limit)

    async def _embedded(self, texts: Sequence[str]) -> list[array[float]]:
        async with self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):  # of several tasks one embeds them
            if len(self._vectors) > len(texts) + _MOST_UNUSED:
                self._vectors = {text: self._vectors[text] for text in texts if text in self._vectors}
            new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
            for begin in range(0, len(new), _BATCH):
                batch = new[begin : begin + _BATCH]
                self._vectors.update(zip(batch, await self._embed(batch, "document"), strict=True))
            return [self._vectors[text] for text in texts]

    async def _embed(self, texts: Sequence[str], kind: TextKind) -> list[array[float]]:
        given = await self._embedder.embed(texts, kind)
        try:
            vectors = [_unit(vector) for vector in given]
        except (TypeError, ValueError, OverflowError):
            vectors = []
        if len(vectors) != len(texts):
            raise EmbeddingFailed("did not give a vector of numbers for each text")
        return vectors

    def _failed(self, why: str) -> EmbeddingFailed:
        self._rests_until = monotonic() + REST
        return EmbeddingFailed(why)


async def _nearest(vectors: Sequence[array[float]], asked: array[float], limit: int) -> list[int]:
    scores: list[float] = []
    for vector in vectors:
        scores.append(sum(map(mul, vector, asked)))
        if len(scores) % _COMPARED_TOGETHER == 0:
            await asyncio.sleep(0)
    return nlargest(limit, range(len(scores)), key=lambda at: (scores[at], -at))


def _unit(vector: Sequence[float]) -> array[float]:
    """The vector of length 1 of the same direction. Raises `ValueError` for what is no vector."""
    length = sqrt(sum(map(mul, vector, vector)))
    if not isfinite(length) or not length:
        raise ValueError("it has no direction")
    return array("f", [number / length for number in vector])
