"""An estimate of a text's tokens where its model's encoding cannot be had: how many pieces a pattern cuts it into."""

from __future__ import annotations

import re

# Encodings merge common words with the character before them, digits by threes, and runs of spaces. What is rare in their
# training, which is most that is not English, comes out in shorter pieces.
_PIECE = re.compile(
    r"""
      [^\nA-Za-z0-9\u0080-\U0010ffff]?(?:[A-Z\u00c0-\u00de]?[a-z\u00df-\u024f]{1,9}|[A-Z]{1,4})
    | [0-9]{1,3}
    | [\r\n]{1,16}
    | [ \t]{2,64}
    | [ ](?=[0-9])
    | [\x00-\x1f\x7f]
    | [ ]?[!-/:-@\[-`{-~]{1,2}
    | [ ]?[\u0370-\u0dff\u10a0-\u1fff]{1,4}
    | [\u0e00-\u0fff\u3400-\u9fff\uac00-\ud7af]{1,2}
    | [\u0080-\U0010ffff]
    """,
    re.VERBOSE,
)


def estimate_tokens(text: str) -> int:
    """About how many tokens `text` has."""
    return len(_PIECE.findall(text))
