"""Media as a final output: an image, a sound or a file that the model made."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import ClassVar

import msgspec

from agentsdk.types.base import JsonObject
from agentsdk.types.declared import Fields, a, a_name
from agentsdk.types.items import InputAudio, InputFile, InputImage, InputVideo, Media


@dataclass(frozen=True, repr=False)
class OutputMedia:
    """What the model made that is no text: `data`, and its `media_type`, such as `"image/png"`.

    Raises `UserError` for a field that is wrong.
    """

    data: bytes
    media_type: str

    is_output_media: ClassVar[bool] = True
    """Told by the class alone, so that who never meets one need not import it."""
    noun: ClassVar[str] = "file"

    def __post_init__(self) -> None:
        _FIELDS.check(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.data)} bytes of {self.media_type!r})"

    def as_part(self) -> Media:
        """The same as part of a message: for another run's input, or the result of a tool."""
        encoded = base64.b64encode(self.data).decode()
        kind, _, form = self.media_type.partition("/")
        url = f"data:{self.media_type};base64,{encoded}"
        if kind == "audio":
            return InputAudio(encoded, form)
        if kind == "video":
            return InputVideo(url)
        return InputImage(url) if kind == "image" else InputFile(file_data=url)

    def to_json(self) -> str:
        """The same as JSON text, which `media_from_json` reads."""
        encoded = base64.b64encode(self.data).decode()
        return msgspec.json.encode({_KEY: self.media_type, "data": encoded}).decode()


class OutputImage(OutputMedia):
    """An image that the model made, as a final output: `Agent(output_type=OutputImage)`."""

    noun = "image"


class OutputAudio(OutputMedia):
    """A sound that the model made, as a final output."""

    noun = "sound"


class OutputFile(OutputMedia):
    """A file or a video that the model made, as a final output."""


_KEY = "$media"
_FIELDS = Fields(
    "OutputMedia",
    data=a(bytes, "bytes; pass those of the file"),
    media_type=a_name("a media type; write 'image/png', say"),
)


def media_of(part: object) -> OutputMedia | None:
    """A part of a message as media; None for text, and for media that are elsewhere: behind an address or a provider's id.

    Raises `ValueError` for what cannot be read.
    """
    if isinstance(part, InputAudio):
        return _media(f"audio/{part.format}", part.data)
    url = _url_of(part)
    if not url.startswith("data:"):
        return None
    comma = url.find(",")
    if comma < 0:
        raise ValueError("what it gave as a data: URL cannot be read, expected a comma before the data")
    return _media(url[5:comma].partition(";")[0], url[comma + 1 :])  # of megabytes one copy


def media_from_json(value: JsonObject) -> OutputMedia | None:
    """Media from what `OutputMedia.to_json` wrote; None for anything else."""
    media_type, data = value.get(_KEY), value.get("data")
    return _media(media_type, data) if isinstance(media_type, str) and isinstance(data, str) else None


def _url_of(part: object) -> str:
    if isinstance(part, InputImage):
        return part.image_url
    if isinstance(part, InputVideo):
        return part.video_url
    return part.file_data if isinstance(part, InputFile) else ""


def _media(media_type: str, data: str) -> OutputMedia:
    try:
        decoded = binascii.a2b_base64(data, strict_mode=True)
    except ValueError:  # of which binascii's error is one
        raise ValueError(f"what it gave as {media_type[:50]!r} cannot be read, expected base64") from None
    if media_type.startswith("image/"):
        return OutputImage(decoded, media_type)
    return OutputAudio(decoded, media_type) if media_type.startswith("audio/") else OutputFile(decoded, media_type)
