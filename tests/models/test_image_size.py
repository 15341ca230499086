"""The size of an image, from headers written by hand after each format's specification."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.models.image_size import image_size

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480)
GIF = b"GIF89a" + struct.pack("<HH", 640, 480)
APP0 = b"\xff\xe0" + struct.pack(">H", 16) + bytes(14)
TABLE = b"\xff\xc4" + struct.pack(">H", 4) + bytes(2)


def jpeg(kind: int, *before: bytes) -> bytes:
    frame = b"\xff" + bytes([kind]) + struct.pack(">HBHH", 11, 8, 480, 640)
    return b"\xff\xd8" + b"".join(before) + frame


def webp(kind: bytes, data: bytes) -> bytes:
    return b"RIFF" + bytes(4) + b"WEBP" + kind + bytes(4) + data


@pytest.mark.parametrize(
    "data",
    [
        PNG,
        GIF,
        GIF.replace(b"89", b"87"),
        jpeg(0xC0),
        jpeg(0xC2, APP0),
        jpeg(0xC1, APP0, TABLE, b"\xff\xff"),
        webp(b"VP8 ", bytes(6) + struct.pack("<HH", 640, 480 | 0x4000)),
        webp(b"VP8L", b"\x2f" + struct.pack("<I", 639 | 479 << 14 | 1 << 28)),
        webp(b"VP8X", bytes(4) + struct.pack("<I", 639)[:3] + struct.pack("<I", 479)[:3]),
    ],
)
def test_size(data: bytes) -> None:
    assert image_size(data + bytes(10)) == (640, 480)
    assert image_size(data) == (640, 480)
    for end in range(len(data)):
        assert image_size(data[:end]) is None


@pytest.mark.parametrize("data", [b"", b"BM" + bytes(60), b"\xff\xd8\xff\xd9", webp(b"ALPH", bytes(20)), PNG[:16] + bytes(8)])
def test_unknown(data: bytes) -> None:
    assert image_size(data) is None


@given(st.sampled_from([b"", PNG[:8], b"GIF89a", b"\xff\xd8\xff", webp(b"VP8 ", b""), webp(b"VP8L", b"")]), st.binary())
def test_any_bytes_do(head: bytes, data: bytes) -> None:
    size = image_size(head + data)
    assert size is None or min(size) > 0
