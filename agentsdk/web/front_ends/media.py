"""Media that a user sends: parts of a message, which only the provider opens."""

from __future__ import annotations

import base64
import binascii
import re
from urllib.parse import urlsplit

from agentsdk.types.errors import UserError
from agentsdk.types.items import InputAudio, InputFile, InputImage, InputVideo, Part

_TYPE = re.compile(r"[\w.+-]{1,100}/[\w.+-]{1,100}", re.ASCII)
_AUDIO = {"mpeg": "mp3", "mp3": "mp3", "wav": "wav", "x-wav": "wav", "wave": "wav"}


def media_part(media_type: str, url: str, filename: str = "", *, kind: str = "") -> Part:
    """The part that a file is: of a `data:` URL or an address, `kind` (image, audio, video, document) in place of its type's.

    Raises `UserError` for another URL, and for a type that is none.
    """
    if not url.startswith("data:"):
        parts = urlsplit(url) if url.isprintable() else None
        if parts is None or parts.scheme not in ("http", "https") or not parts.netloc:
            raise UserError("a file of the message has another URL, expected a data: or an https: one; send that")
    elif not _is_data(url):
        raise UserError(
            "a file of the message is no base64 data: URL with a type, expected one; send 'data:image/png;base64,...'"
        )
    kind = kind or media_type.partition("/")[0]
    if kind == "image":
        return InputImage(image_url=url)
    if kind == "video":
        return InputVideo(video_url=url)
    if kind == "audio":
        return _audio(url)
    return (
        InputFile(file_data=url, filename=filename) if url.startswith("data:") else InputFile(file_url=url, filename=filename)
    )


def data_url(media_type: str, data: str) -> str:
    """Base64 `data` as a URL."""
    return f"data:{media_type};base64,{data}"


def _audio(url: str) -> InputAudio:
    head, _, data = url.partition(",")
    name = _AUDIO.get(head.removeprefix("data:audio/").partition(";")[0])
    if name is None:
        raise UserError("the audio of the message is of another type, expected WAV or MP3 as a data: URL; send one of them")
    return InputAudio(data, name)


def _is_data(url: str) -> bool:
    head, _, data = url.removeprefix("data:").partition(",")
    media_type, *options = head.split(";")
    if not (_TYPE.fullmatch(media_type) and options and options[-1] == "base64"):
        return False
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True
