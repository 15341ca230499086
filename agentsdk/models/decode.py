"""Decoding a provider's JSON into plain types. Whatever is wrong with it is a typed error that never repeats the data.

msgspec reads a reply in one pass, and refuses a lone surrogate (half of a character that JSON writes as two escapes). Some
servers send them, so what msgspec refuses is read once more by the standard library, which takes them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeVar

import msgspec
from msgspec import Raw

from agentsdk.types.errors import MalformedResponseError
from agentsdk.types.text import clean_value

T = TypeVar("T")
Data = str | bytes | Raw


def decoder_of(kind: type[T], expected: str, *, halves: bool = False) -> Callable[[Data], T]:
    """What reads JSON as a `kind`. Lone surrogates are replaced; `halves` keeps them, for text whose other half may follow.

    It raises `MalformedResponseError` for what is not JSON, or not what was `expected`.
    """
    decode = msgspec.json.Decoder(kind).decode

    def read(data: Data) -> T:
        try:
            return decode(data)
        except msgspec.ValidationError as error:
            raise unexpected(error) from None
        except UnicodeDecodeError as error:
            raise MalformedResponseError(f"the reply is not UTF-8: {error.reason} at byte {error.start}") from None
        except (msgspec.DecodeError, RecursionError) as error:
            reason = str(error)
        try:
            return read_again(data)
        except msgspec.ValidationError as error:
            raise unexpected(error) from None
        except (ValueError, RecursionError):
            raise MalformedResponseError(f"the reply is not JSON: {reason}") from None

    def read_again(data: Data) -> T:
        loaded: object = json.loads(bytes(data) if isinstance(data, Raw) else data)
        return msgspec.convert(loaded, kind) if halves else decode(msgspec.json.encode(clean_value(loaded)))

    def unexpected(error: msgspec.ValidationError) -> MalformedResponseError:
        return MalformedResponseError(f"the reply is not {expected}: {error}")

    return read
