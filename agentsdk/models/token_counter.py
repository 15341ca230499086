"""Token counting: exact for texts where the model's encoding is known and at hand, an estimate, marked as one, where not.

What a request wraps around its texts is no model's published format. The overheads here are what OpenAI's chat models bill;
`Calibration` learns the difference of any other from the provider's usage.
"""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from math import ceil

from agentsdk.models.declarations import output_schema_text, tools_text
from agentsdk.models.encodings import can_load, encoding_of, known_encoding, loaded, no_rank_file
from agentsdk.models.image_size import image_size
from agentsdk.models.prefix import to_json
from agentsdk.models.token_estimate import estimate_tokens
from agentsdk.ports.token_counter import TokenCounter
from agentsdk.types.declared import Fields, any_text
from agentsdk.types.errors import UserError
from agentsdk.types.items import (
    FunctionCall,
    FunctionCallOutput,
    InputAudio,
    InputFile,
    InputImage,
    InputVideo,
    Item,
    Message,
    Part,
    ProviderItem,
    Reasoning,
    Refusal,
)
from agentsdk.types.spec import HandoffSpec, OutputSpec, ToolSpec

Count = Callable[[str], int]
"""Counts the tokens of a text. Called on any thread."""

INLINE_CHARACTERS = 8_000
"""More text than this is counted on a thread: at worst a character takes 2 µs, and the event loop goes on."""

PIECE_CHARACTERS = 16_000
"""Longer texts are encoded in pieces, as tiktoken dies of a million spaces at once. Divided between words, the count stays
exact; text that has no such place for this long may come out a token or two higher per piece."""

# Tokens that OpenAI's chat models bill beside the texts: for the reply's beginning; a message and its role; a call; its result;
# and all tools together. Concurrent calls take about 5 more each.
_REPLY = 3
_MESSAGE = 4
_CALL = 9
_RESULT = 8
_TOOLS = 2

# Encrypted reasoning is billed as what is inside: of its characters, so many are packing, and the others so many a token.
_PACKING = 824
_ENCRYPTED_CHARACTERS = 7

# OpenAI's rule for images: one of low detail costs 85; any other 85 and 170 for each tile of 512 x 512, once it is made to fit
# into 2048 x 2048 and its shorter side into 768.
_IMAGE = 85
_TILE = 170
_UNKNOWN_SIZE = (1024, 1024)
_HEADER_CHARACTERS = 100_000

# Audio is billed at 10 tokens a second: this many bytes a token at 24 kHz and 16 bits, and at 128 kbit/s.
_PLAIN_AUDIO_BYTES = 4_800
_COMPRESSED_AUDIO_BYTES = 1_600

# Google bills about 290 tokens for a second of video with its sound: so many bytes a token at 1 Mbit/s. The rest is a minute.
_VIDEO_BYTES = 430
_UNKNOWN_VIDEO = 17_400

# A PDF costs its text and a picture of each page, and which it holds cannot be seen from outside: a guess.
_FILE_BYTES = 30
_UNKNOWN_FILE = 2_000

_REMEMBERED = 64

_Parts = tuple[int, list[str]]
"""The parts of a token count: tokens that are known without counting, and the texts to count."""


class _ItemCounter(ABC):
    """What all counters share: the tokens of items and declarations besides their texts, and where the counting is done."""

    is_exact: bool

    def __init__(self) -> None:
        self._known: dict[object, tuple[object, int]] = {}

    @abstractmethod
    async def _counting(self) -> Count:
        """What counts a text."""

    async def count(self, items: Sequence[Item]) -> list[int]:
        """The tokens of each item, with what surrounds it in a request."""
        return await self._count_parts([_parts_of(item) for item in items])

    async def count_fixed(self, instructions: str, tools: tuple[ToolSpec | HandoffSpec, ...], output: OutputSpec | None) -> int:
        """The tokens that every request carries beside its items. `tools` and `output` are remembered by their identity."""
        total = _REPLY
        if instructions:
            total += await self._remembered(instructions, None, lambda: (_MESSAGE, [instructions]))
        if tools:
            total += await self._remembered(id(tools), tools, lambda: (_TOOLS, [tools_text(tools)]))
        if output is not None:
            total += await self._remembered(id(output), output, lambda: (0, [output_schema_text(output)]))
        return total

    async def _remembered(self, key: object, owner: object, parts: Callable[[], _Parts]) -> int:
        """The tokens of `parts`, counted once. `owner` is kept, so that `key` may be its id."""
        known = self._known.get(key)
        if known is None:
            [tokens] = await self._count_parts([parts()])
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[key] = (owner, tokens)
        return known[1]

    async def _count_parts(self, parts: Sequence[_Parts]) -> list[int]:
        count = await self._counting()
        if sum(len(text) for _, texts in parts for text in texts) <= INLINE_CHARACTERS:
            return [tokens + sum(map(count, texts)) for tokens, texts in parts]
        cancelled = False

        def long_text(text: str) -> int:
            return sum(count(piece) for piece in _pieces(text) if not cancelled)

        try:
            return await asyncio.to_thread(lambda: [tokens + sum(map(long_text, texts)) for tokens, texts in parts])
        except asyncio.CancelledError:
            cancelled = True
            raise


_FIELDS = Fields("TiktokenCounter", download_from=any_text("a URL; pass ENCODINGS_URL, say"))


class TiktokenCounter(_ItemCounter):
    """Counts with one of OpenAI's encodings, `"o200k_base"` or `"cl100k_base"`, loaded when first needed.

    `download_from` (e.g. `ENCODINGS_URL`) lets the rank file be fetched where it is not on this machine. Raises `UserError` for
    an unknown encoding, and, also when counting, where its rank file cannot be had.
    """

    is_exact = True

    def __init__(self, encoding: str = "o200k_base", *, download_from: str = "") -> None:
        super().__init__()
        _FIELDS.check_given(download_from=download_from)
        self._encoding = known_encoding(encoding)
        self._download_from = download_from
        self._count: Count | None = None
        if not can_load(self._encoding, download_from):
            raise no_rank_file(self._encoding)

    def __repr__(self) -> str:
        return f"TiktokenCounter({self._encoding.name!r})"

    async def _counting(self) -> Count:
        if self._count is None:
            try:
                encoding = await asyncio.wrap_future(loaded(self._encoding, self._download_from))
            except UserError as error:  # the others who wait for it have the same object, which a run would mark as its own
                raise UserError(str(error)) from error
            encode = encoding.encode_ordinary  # text that looks like a special token is text
            self._count = lambda text: len(encode(text))
        return self._count


class EstimatingCounter(_ItemCounter):
    """Counts by kinds of characters: within about 20 % of OpenAI's encodings for prose and code. Needs and loads nothing."""

    is_exact = False

    def __repr__(self) -> str:
        return "EstimatingCounter()"

    async def _counting(self) -> Count:
        return estimate_tokens


def token_counter_for(model_name: str, *, download_from: str = "") -> TokenCounter:
    """The counter for a model: exact for OpenAI's where the rank file can be had, an `EstimatingCounter` for all others.

    `download_from` as for `TiktokenCounter`.
    """
    name = encoding_of(model_name)
    if name is None or not can_load(known_encoding(name), download_from):
        return EstimatingCounter()
    return TiktokenCounter(name, download_from=download_from)


def _parts_of(item: Item) -> _Parts:
    match item:
        case Message():
            return _content(_MESSAGE, item.content)
        case FunctionCall():
            return _CALL, [item.name, item.arguments]
        case FunctionCallOutput():
            return _content(_RESULT, item.output)
        case Reasoning():
            if item.encrypted:
                return _MESSAGE + max(0, len(item.encrypted) - _PACKING) // _ENCRYPTED_CHARACTERS, []
            return _MESSAGE, [item.text or "\n\n".join(item.summary)]
        case ProviderItem():
            return _MESSAGE, [to_json(item.data).decode()]


def _content(tokens: int, content: str | tuple[Part, ...]) -> _Parts:
    if isinstance(content, str):
        return tokens, [content]
    texts: list[str] = []
    for part in content:
        match part:
            case InputImage():
                tokens += _image(part)
            case InputAudio():
                plain = part.format.startswith(("wav", "pcm"))
                tokens += ceil(_bytes_in(part.data) / (_PLAIN_AUDIO_BYTES if plain else _COMPRESSED_AUDIO_BYTES))
            case InputVideo():
                is_here = part.video_url.startswith("data:")
                tokens += _bytes_in(part.video_url) // _VIDEO_BYTES if is_here else _UNKNOWN_VIDEO
            case InputFile():
                more, own = _file(part)
                tokens += more
                texts += own
            case Refusal():
                texts.append(part.refusal)
            case _:
                texts.append(part.text)
    return tokens, texts


def _image(image: InputImage) -> int:
    if image.detail == "low":
        return _IMAGE
    size = image_size(_decoded(image.image_url, _HEADER_CHARACTERS)) if image.image_url.startswith("data:") else None
    width, height = size or _UNKNOWN_SIZE
    shrink = min(1.0, 2048 / max(width, height))
    shrink *= min(1.0, 768 / (min(width, height) * shrink))
    return _IMAGE + _TILE * ceil(width * shrink / 512) * ceil(height * shrink / 512)


def _file(file: InputFile) -> _Parts:
    if not file.file_data:
        return _UNKNOWN_FILE, [file.filename]
    if file.file_data.startswith("data:text/"):
        return 0, [file.filename, _decoded(file.file_data).decode(errors="replace")]
    return _bytes_in(file.file_data) // _FILE_BYTES, [file.filename]


def _bytes_in(data: str) -> int:
    """The bytes that base64 text, or a `data:` URL of it, stands for."""
    return (len(data) - data.find(",", 0, 200) - 1) * 3 // 4 - data.count("=", -2)


def _decoded(url: str, characters: int = -1) -> bytes:
    """The bytes of a `data:` URL, or of the first characters of its base64; none if it is not base64."""
    start = url.find(",") + 1
    data = url[start:] if characters < 0 else url[start : start + characters]
    try:
        return b64decode(data[: len(data) // 4 * 4])
    except ValueError:
        return b""


_BETWEEN_WORDS = re.compile(r"[A-Za-z](?= [A-Za-z])|\n(?=[A-Za-z])")
"""Where no token reaches across, and neither side's tokens depend on the other's text, in all known encodings."""


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > PIECE_CHARACTERS:
        end = start + PIECE_CHARACTERS
        between = _BETWEEN_WORDS.search(text, end - PIECE_CHARACTERS // 2, end)
        end = between.end() if between else end
        yield text[start:end]
        start = end
    yield text[start:]
