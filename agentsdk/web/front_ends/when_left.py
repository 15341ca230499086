"""`WhenLeft`: what becomes of a run whose client leaves in the middle of an answer."""

from __future__ import annotations

from typing import Literal

WhenLeft = Literal["go_on", "cancel"]
