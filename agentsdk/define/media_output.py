"""`MediaOutput`: a final output that is an image, a sound or a file of the model's, or else of another type.

What is recorded of it says where in the reply it is, so that a log holds its bytes once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from agentsdk.define.output import AgentOutputSchema, InvalidOutput, media_kinds, union_members, union_name
from agentsdk.types.generics import TOutput
from agentsdk.types.hosted_results import HostedToolUse
from agentsdk.types.items import Message, ProviderItem
from agentsdk.types.media import OutputMedia, media_from_json, media_of
from agentsdk.types.response import OutputItem

_PLACE = "$media"


class MediaOutput(AgentOutputSchema[TOutput]):
    """The last image, sound or file of these `kinds` in the model's last reply; where that has none, `rest` reads its text.

    `rest` is None where nothing but media will do.
    """

    __slots__ = ("kinds", "rest")

    def __init__(self, output_type: Any) -> None:
        self.kinds: tuple[type[OutputMedia], ...] = media_kinds(output_type)
        others: list[type[Any]] = [kind for kind in union_members(output_type) if kind not in self.kinds]
        self.rest: AgentOutputSchema[Any] | None = AgentOutputSchema[Any](others) if others else None
        self.output_type = output_type
        self.strict_json_schema = True
        self.mode = "native"
        self.name = union_name(output_type)
        self.spec = None if self.rest is None else self.rest.spec
        self._described = None

    def __repr__(self) -> str:
        return f"MediaOutput({self.name})"

    @property
    def is_plain_text(self) -> bool:
        return False

    @property
    def is_media(self) -> bool:
        return True

    def partial(self, text: str) -> object:
        return None if self.rest is None else self.rest.partial(text)

    def take(self, reply: Sequence[OutputItem], text: str) -> tuple[str, TOutput]:
        """The output in a reply whose answer is `text`, and as JSON where it is, `""` where it is in the text.

        Raises `InvalidOutput`.
        """
        for at in range(len(reply) - 1, -1, -1):
            parts = _parts(reply[at])
            for position in range(len(parts) - 1, -1, -1):
                media = self._media(parts[position])
                if media is not None:
                    return msgspec.json.encode({_PLACE: [at, position]}).decode(), media
        return "", self.validate(text)

    def recall(self, text: str, reply: Sequence[OutputItem]) -> TOutput:
        """The output that `take` found in that reply, or that a validator gave, from its JSON. Raises `InvalidOutput`."""
        value = msgspec.json.decode(text)
        place = cast("dict[str, object]", value).get(_PLACE) if isinstance(value, dict) else None
        if not isinstance(place, list):
            return self.validate_json(text)
        try:
            at, position = cast("list[int]", place)
            media = self._media(_parts(reply[at])[position])
        except (TypeError, ValueError, IndexError):
            media = None
        if media is None:
            raise InvalidOutput("the reply does not hold the media that it is said to")
        return media

    def validate(self, text: str) -> TOutput:
        """The text as the rest of the type. Raises `InvalidOutput`."""
        if self.rest is None:
            raise InvalidOutput(f"it holds no {' and no '.join([kind.noun for kind in self.kinds])}")
        return cast(TOutput, self.rest.validate(text))

    def validate_json(self, text: str) -> TOutput:
        """A value given as JSON text: media as they write themselves, or the rest of the type. Raises `InvalidOutput`."""
        value = msgspec.json.decode(text)
        try:
            media = media_from_json(cast("dict[str, object]", value)) if isinstance(value, dict) else None
        except ValueError as error:
            raise InvalidOutput(str(error)) from None
        if media is not None and isinstance(media, self.kinds):
            return cast(TOutput, media)
        if self.rest is None:
            raise InvalidOutput(f"it is no {' and no '.join([kind.noun for kind in self.kinds])}")
        return cast(TOutput, self.rest.validate_json(text))

    def _media(self, part: object) -> TOutput | None:
        try:
            media = media_of(part)
        except ValueError as error:
            raise InvalidOutput(str(error)) from None
        return cast(TOutput, media) if isinstance(media, self.kinds) else None


def _parts(item: OutputItem) -> Sequence[object]:
    if isinstance(item, Message):
        return () if isinstance(item.content, str) else item.content
    return HostedToolUse.of(item).images if isinstance(item, ProviderItem) else ()
