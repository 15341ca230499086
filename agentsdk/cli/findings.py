"""`Finding`: what one check of `agentsdk doctor` found."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Verdict = Literal["ok", "missing", "fails"]


class Finding(Struct, frozen=True):
    """What a check found. A `missing` part is one that nothing here needs; what `fails` is there and does not work."""

    about: str
    verdict: Verdict
    says: str
