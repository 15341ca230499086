"""Secrets are masked in what the page shows, in a text that comes in pieces too."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.ui.masks import MASK, MaskedPieces, masked

SECRETS = [
    "sk-proj-abcdefghijklmnop1234",
    "ghp_abcdefghijklmnop1234",
    "xoxb-1234567890-abcdef",
    "AKIAABCDEFGHIJKLMNOP",
    "AIzaSyA-1234567890_abcdefgh",
    "Bearer abc.def-ghi~jkl+mno/pqr",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_key_is_masked_and_what_stands_around_it_is_not(secret: str) -> None:
    shown = masked(f"use {secret} here")
    assert secret.split()[-1] not in shown and MASK in shown and shown.startswith("use ") and shown.endswith(" here")


@given(st.sampled_from(SECRETS), st.lists(st.integers(0, 60), max_size=20), st.text("skABg -h_", max_size=10))
def test_in_pieces_a_text_is_masked_as_it_is_whole(secret: str, cuts: list[int], around: str) -> None:
    text = f"{around} {secret} {around}, done."
    places = sorted({0, *[cut for cut in cuts if cut < len(text)], len(text)})
    pieces = MaskedPieces()
    assert "".join(pieces.feed(text[start:end]) for start, end in zip(places, places[1:], strict=False)) == masked(text)


def test_a_text_without_keys_is_held_back_by_a_word_at_most() -> None:
    pieces = MaskedPieces()
    assert [pieces.feed(piece) for piece in ("Hel", "lo s", "un, ", "sk", "y")] == ["Hel", "lo ", "sun, ", "", "sky"]
