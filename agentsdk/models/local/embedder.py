"""`LocalEmbedder`: embeddings of a model on this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal, get_args

from agentsdk.models.local.served import LocallyServed
from agentsdk.models.local.server import Address, Progress, ServerOptions, shared_server
from agentsdk.models.local.weights import KNOWN, find_weights, require_engine
from agentsdk.models.openai_embedder import OpenAIEmbedder
from agentsdk.ports.embedder import TextKind
from agentsdk.types.declared import SYNC, Fields, a, a_name, any_text, either, number, one_of, optional, whole

Pooling = Literal["mean", "cls", "last"]
"""How the vectors of a text's tokens become the one of the text."""


class LocalEmbedder(LocallyServed):
    """The embeddings of a GGUF model, served by llama.cpp in a child process: no key, no network.

    `weights` is the path of a `.gguf` file of an embedding model, or `"smollm2"`, a chat model, whose vectors tell texts apart
    poorly: it is there to try things out. `context` is what one text may hold, in tokens; `parallel` how many are embedded at a
    time; `threads` do it. `pooling` is the model's own unless given. `query_prefix` and `document_prefix` are put before texts,
    for models that are trained so. `start_timeout` is in seconds. `on_progress` is told what loading does, in lines of text and
    from a worker thread. The first request starts the server, which is not the one of `LocalModel`.

    Raises `UserError` when the weights or the package `xllamacpp` are missing, or a value is wrong.
    """

    def __init__(
        self,
        weights: str | os.PathLike[str] = "smollm2",
        *,
        context: int = 2048,
        parallel: int = 1,
        threads: int = 1,
        pooling: Pooling | None = None,
        query_prefix: str = "",
        document_prefix: str = "",
        start_timeout: float = 120.0,
        on_progress: Progress | None = None,
    ) -> None:
        _FIELDS.check_given(
            weights=weights,
            context=context,
            parallel=parallel,
            threads=threads,
            pooling=pooling,
            query_prefix=query_prefix,
            document_prefix=document_prefix,
            start_timeout=start_timeout,
            on_progress=on_progress,
        )
        path = find_weights(weights)
        require_engine()
        self.name = weights if isinstance(weights, str) and weights in KNOWN else path.stem
        chosen = pooling or ("mean" if self.name in KNOWN else "model")
        options = ServerOptions(str(path), context, parallel, threads, chosen)
        super().__init__(shared_server(options), start_timeout, on_progress)
        self._query_prefix, self._document_prefix = query_prefix, document_prefix
        self._client: tuple[Address, OpenAIEmbedder] | None = None

    async def embed(self, texts: Sequence[str], kind: TextKind = "document") -> list[Sequence[float]]:
        """A vector for each text, in their order.

        Raises `UserError` when llama.cpp cannot load the weights, `ContextTooLongError` for a text that does not fit into the
        context, and whatever else a server of embeddings can cause.
        """
        address = await self._address()
        if self._client is None or self._client[0] != address:
            client = OpenAIEmbedder(
                self.name,
                base_url=f"{address.base_url}/v1",
                api_key=address.key,
                batch=16,
                query_prefix=self._query_prefix,
                document_prefix=self._document_prefix,
                # llama.cpp sometimes drops a connection it has just offered to keep.
                headers={"Connection": "close"},
            )
            self._client = (address, client)
        return await self._client[1].embed(texts, kind)


_POSITIVE = whole("a whole number above 0", 1)
_PREFIX = any_text("a text; it is put before each")
_FIELDS = Fields(
    "LocalEmbedder",
    weights=either(a_name(""), a(os.PathLike, ""), what="the path of a .gguf file or 'smollm2'"),
    context=_POSITIVE,
    parallel=_POSITIVE,
    threads=_POSITIVE,
    pooling=optional(one_of(f"one of {get_args(Pooling)}", get_args(Pooling))),
    query_prefix=_PREFIX,
    document_prefix=_PREFIX,
    start_timeout=number("finite seconds above 0", above=0),
    on_progress=optional(SYNC),
)
