"""What the filter of a handoff has made of its turn: results and sessions have that, the log of the run beneath keeps all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentsdk.compat.openai_agents.items import RunItem, ToolApprovalItem


def key_of(entry: dict[str, Any]) -> str:
    """What an entry is known by, within its turn."""
    return json.dumps(entry, sort_keys=True, default=str)


@dataclass
class Filtered:
    """The items of a turn that ended with a handoff, by their keys, and what its filter left of them, in its order.

    What a filter has made anew is a run item; the text of a state does not keep it.
    """

    turn: list[str]
    left: list[str | RunItem]

    @classmethod
    def of(cls, turn: Sequence[RunItem], left: Sequence[RunItem]) -> Filtered:
        """That of a turn's items and of what is left of them."""
        keys = [key_of(item.to_input_item()) for item in turn]
        known = set(keys)
        return cls(keys, [key if (key := key_of(item.to_input_item())) in known else item for item in left])

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Filtered:
        """What `to_json` gave."""
        return cls(list(data["turn"]), list(data["left"]))

    def to_json(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {"turn": self.turn, "left": [one for one in self.left if isinstance(one, str)]}

    def has(self, item: RunItem) -> bool:
        """Whether the filter left this item."""
        return key_of(item.to_input_item()) in self.left

    def items(self, turn: Sequence[RunItem]) -> list[RunItem]:
        """The run items of the turn as the filter left them; those of calls that waited stay."""
        waited = [item for item in turn if isinstance(item, ToolApprovalItem)]
        rest = {key_of(item.to_input_item()): item for item in turn if not isinstance(item, ToolApprovalItem)}
        made = [rest.get(one) if isinstance(one, str) else one for one in self.left]
        return [*waited, *(item for item in made if item is not None)]

    def entries(self, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Entries of a run, those of the turn as the filter left them."""
        waiting, kept = list(self.turn), list[dict[str, Any]]()
        known: dict[str, dict[str, Any]] = {}
        place: int | None = None
        for entry in entries:
            key = key_of(entry)
            if key in waiting:
                waiting.remove(key)
                known[key] = entry
                place = len(kept) if place is None else place
            else:
                kept.append(entry)
        if place is not None:
            left = [known.get(one) if isinstance(one, str) else one.to_input_item() for one in self.left]
            kept[place:place] = [entry for entry in left if entry is not None]
        return kept
