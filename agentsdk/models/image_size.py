"""The width and height of an image, from the first bytes of its file."""

from __future__ import annotations


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, GIF, WebP or JPEG; None for anything else, or if `data` ends too early."""
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        size = _big(data, 16, 20), _big(data, 20, 24)
    elif data[:6] in (b"GIF87a", b"GIF89a"):
        size = _little(data, 6, 8), _little(data, 8, 10)
    elif data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        size = _webp(data)
    else:
        size = _jpeg(data)
    return size if all(size) else None


def _webp(data: bytes) -> tuple[int, int]:
    match data[12:16]:
        case b"VP8 ":
            return _little(data, 26, 28) & 0x3FFF, _little(data, 28, 30) & 0x3FFF
        case b"VP8L" if len(data) >= 25:
            bits = _little(data, 21, 25)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X" if len(data) >= 30:
            return _little(data, 24, 27) + 1, _little(data, 27, 30) + 1
        case _:
            return 0, 0


def _jpeg(data: bytes) -> tuple[int, int]:
    """Walks the segments, each `FF`, a kind and a length, to the frame header."""
    position = 2
    while data[:2] == b"\xff\xd8" and data[position : position + 1] == b"\xff":
        kind = data[position + 1 : position + 2]
        if not kind:
            break
        if kind == b"\xff":  # padding
            position += 1
            continue
        if 0xC0 <= kind[0] <= 0xCF and kind not in (b"\xc4", b"\xc8", b"\xcc"):
            return _big(data, position + 7, position + 9), _big(data, position + 5, position + 7)
        position += 2 + max(2, _big(data, position + 2, position + 4))
    return 0, 0


def _big(data: bytes, start: int, end: int) -> int:
    """0 where `data` ends before `end`."""
    return int.from_bytes(data[start:end], "big") if len(data) >= end else 0


def _little(data: bytes, start: int, end: int) -> int:
    return int.from_bytes(data[start:end], "little") if len(data) >= end else 0
