"""Noticing that a field was set: what a run makes of agents holds until then."""

from __future__ import annotations

from typing import TYPE_CHECKING


class Noticed:
    """What agents are made of. Its fields may be set at any time, and each time `last_change` gives another object."""

    if not TYPE_CHECKING:

        def __setattr__(self, name, value):
            object.__setattr__(self, name, value)
            _last[0] = object()

        def __delattr__(self, name):
            object.__delattr__(self, name)
            _last[0] = object()


_last = [object()]


def last_change() -> object:
    """Stands for the last time that a field was set of anything `Noticed` in this process."""
    return _last[0]
