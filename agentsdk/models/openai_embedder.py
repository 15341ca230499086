"""`OpenAIEmbedder`: the adapter for OpenAI's embeddings, and for every server that speaks as OpenAI's does."""

from __future__ import annotations

import base64
import binascii
import sys
from array import array
from collections.abc import Sequence
from math import isfinite
from typing import Unpack

import msgspec
from msgspec import Struct

from agentsdk.models.endpoint import HttpEndpoint
from agentsdk.models.options import HttpModelOptions
from agentsdk.models.prefix import to_json
from agentsdk.ports.embedder import TextKind
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import Fields, any_text, optional, whole
from agentsdk.types.errors import MalformedResponseError
from agentsdk.types.text import clean_text


class _Embedding(Struct):
    embedding: list[float] | str
    index: int | None = None


class _Reply(Struct):
    data: list[_Embedding]


_DECODER = msgspec.json.Decoder(_Reply)
_FIELDS = Fields(
    "OpenAIEmbedder",
    dimensions=optional(whole("a whole number above 0: the length of a vector", 1)),
    batch=whole("a whole number above 0: how many texts one request carries", 1),
    query_prefix=any_text("a text; it is put before what is looked for"),
    document_prefix=any_text("a text; it is put before what may be found"),
)


class OpenAIEmbedder(HttpEndpoint):
    """Embeddings from `POST {base_url}/embeddings`, at OpenAI or any compatible server.

    `dimensions` asks for shorter vectors, where the model has them. One request carries `batch` texts at most. `query_prefix`
    and `document_prefix` are put before texts: some models are trained to tell the two apart by them (`"query: "` and
    `"passage: "`, say).

    `options` are those of every adapter: see `HttpModelOptions`. `base_url` and `api_key` default to OPENAI_BASE_URL and
    OPENAI_API_KEY.

    Raises `UserError` for a `base_url`, key or header that cannot be used.
    """

    _default_base_url = "https://api.openai.com/v1"
    _base_url_variable = "OPENAI_BASE_URL"
    _key_variables = ("OPENAI_API_KEY",)

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        *,
        dimensions: int | None = None,
        batch: int = 256,
        query_prefix: str = "",
        document_prefix: str = "",
        **options: Unpack[HttpModelOptions],
    ) -> None:
        _FIELDS.check_given(dimensions=dimensions, batch=batch, query_prefix=query_prefix, document_prefix=document_prefix)
        super().__init__(model, **options)
        self._dimensions = dimensions
        self._batch = batch
        self._prefixes = {"query": query_prefix, "document": document_prefix}

    async def embed(self, texts: Sequence[str], kind: TextKind = "document") -> list[Sequence[float]]:
        """A vector for each text, in their order.

        Raises `UserError` for a missing key, `ModelError`s for all else: `MalformedResponseError` where the server does not
        give one vector of numbers for each text, all of one length.
        """
        prefix = self._prefixes[kind]
        given = [clean_text(prefix + text) for text in texts]
        vectors: list[Sequence[float]] = []
        for begin in range(0, len(given), self._batch):
            vectors += await self._embedded(given[begin : begin + self._batch])
        if len(set(map(len, vectors))) > 1:
            raise MalformedResponseError(f"{self._who} gave vectors of different lengths, expected one length for all")
        return vectors

    async def _embedded(self, texts: list[str]) -> list[Sequence[float]]:
        body: JsonObject = {"model": self.name, "input": texts, "encoding_format": "float"}
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        answer = await self._post(f"{self.base_url}/embeddings", self._headers_with(), to_json(body), self._retry)
        try:
            entries = _DECODER.decode(answer).data
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise MalformedResponseError(f"{self._who} answered without embeddings; check base_url and the model") from None
        if all(entry.index is not None for entry in entries):
            entries.sort(key=lambda entry: entry.index or 0)
        vectors = [_vector(entry.embedding) for entry in entries]
        if len(vectors) != len(texts) or not all(map(_is_sound, vectors)):
            raise MalformedResponseError(
                f"{self._who} answered {len(texts)} texts with {len(vectors)} vectors, expected one of finite numbers for each"
            )
        return vectors


def _vector(given: list[float] | str) -> Sequence[float]:
    """A vector as it came: numbers, or base64 of 32-bit floats, which some servers send whatever they are asked for."""
    if not isinstance(given, str):
        return given
    vector = array("f")
    try:
        vector.frombytes(base64.b64decode(given, validate=True))
    except (binascii.Error, ValueError):
        return ()
    if sys.byteorder == "big":
        vector.byteswap()
    return vector


def _is_sound(vector: Sequence[float]) -> bool:
    return len(vector) > 0 and all(map(isfinite, vector))
