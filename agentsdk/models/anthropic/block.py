"""A content block of a reply, put together from its deltas."""

from __future__ import annotations

from agentsdk.models.anthropic.calls import read_caller
from agentsdk.models.loose import as_list, as_object, as_text
from agentsdk.types.base import JsonObject

_OF_A_CALL = ("type", "id", "name", "input", "toolset_name")


class Block:
    """A content block that is being put together."""

    __slots__ = (
        "_growing",
        "citations",
        "fields",
        "index",
        "is_function",
        "kind",
        "number",
        "output_index",
        "pieces",
        "signatures",
        "stopped",
    )

    def __init__(self, index: int, fields: JsonObject, number: int) -> None:
        self.index = index
        self.number = number  # of calls before it
        self.kind = as_text(fields.get("type"))
        self.is_function = False  # a call whose arguments are shown as they come
        self.fields = fields
        self.output_index = 0
        self.pieces: list[str] = []
        self.signatures = [as_text(fields.get("signature"))]
        self._growing: dict[str, list[str]] = {}
        self.citations = [note for note in map(as_object, as_list(fields.get("citations"))) if note]
        self.stopped = False

    @property
    def text(self) -> str:
        """The text, thinking or JSON so far."""
        return "".join(self.pieces)

    @property
    def call_details(self) -> JsonObject:
        """What a tool_use block holds beside the call, what is empty or the default left out."""
        details = {name: value for name, value in self.fields.items() if name not in _OF_A_CALL and value is not None}
        if as_object(details.get("caller")).get("type") == "direct" or read_caller(details.get("caller")) is not None:
            del details["caller"]
        return details

    def merge(self, delta: JsonObject) -> None:
        """Add a delta of a kind that is not known: texts grow, everything else is replaced."""
        for name, value in delta.items():
            known = self.fields.get(name)
            if name == "type":
                continue
            if isinstance(known, str) and isinstance(value, str):
                self._growing.setdefault(name, [known]).append(value)
            else:
                self.fields[name] = value
                self._growing.pop(name, None)

    def finish(self) -> None:
        """Nothing more comes: complete `fields`."""
        self.fields.update({name: "".join(pieces) for name, pieces in self._growing.items()})
        self._growing.clear()
