"""`QueueStatus`: how long the queue of due runs is, for who decides how many workers there should be."""

from __future__ import annotations

from msgspec import Struct


class QueueStatus(Struct, frozen=True, kw_only=True):
    """The runs that wait for a worker. `due`: how many; `oldest_seconds`: for how long the one that is due longest has been.

    `in_work` counts the runs that workers hold.
    """

    due: int
    oldest_seconds: float
    in_work: int
