"""Decoding a provider's JSON into plain types. Whatever is wrong with it is a typed error that never repeats the data.

msgspec reads a reply in one pass, and refuses a lone surrogate (half of a character that JSON writes as two escapes). Some
servers send them, so what msgspec refuses is read once more by the standard library, which takes them.
"""

from __future__ import annotations

import json
from typing import TypeVar

import msgspec
from msgspec import Raw

from agentsdk.types.errors import MalformedResponseError
from agentsdk.types.text import clean_value

T = TypeVar("T")


def decode_json(decoder: msgspec.json.Decoder[T], data: str | bytes | Raw, expected: str, *, halves: bool = False) -> T:
    """What `decoder` reads in `data`. Lone surrogates are replaced; `halves` keeps them, for text whose other half may follow.

    Raises `MalformedResponseError`: the reply is not JSON, or not what was `expected`.
    """
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise MalformedResponseError(f"the reply is not {expected}: {error}") from None
    except UnicodeDecodeError as error:
        raise MalformedResponseError(f"the reply is not UTF-8: {error.reason} at byte {error.start}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        reason = str(error)
    try:
        loaded: object = json.loads(bytes(data) if isinstance(data, Raw) else data)
        if halves:
            return msgspec.convert(loaded, decoder.type)
        return decoder.decode(msgspec.json.encode(clean_value(loaded)))
    except msgspec.ValidationError as error:
        raise MalformedResponseError(f"the reply is not {expected}: {error}") from None
    except (ValueError, RecursionError):
        raise MalformedResponseError(f"the reply is not JSON: {reason}") from None
