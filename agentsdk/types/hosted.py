"""What a provider keeps and a request only names: a prompt, and a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import Struct

from agentsdk.types.declared import Expected, Fields, a, a_name, any_text, either, mapping_of, optional
from agentsdk.types.items import InputFile, InputImage, InputText

PromptVariable = str | InputText | InputImage | InputFile


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt that OpenAI keeps, by its `id`: in its latest `version` unless one is named, `variables` in its placeholders.

    Raises `UserError` for a wrong field.
    """

    id: str
    version: str | None = None
    variables: Mapping[str, PromptVariable] | None = None

    def __post_init__(self) -> None:
        _PROMPT.check(self)


_VARIABLE = either(any_text(""), a((InputText, InputImage, InputFile), ""), what="")
_PROMPT = Fields(
    "Prompt",
    id=a_name("the id of a prompt; write 'pmpt_...'"),
    version=optional(a_name("a text such as '2'")),
    variables=optional(
        mapping_of(_VARIABLE, "a dict of texts, InputText, InputImage or InputFile by name; write {'city': 'Rome'}")
    ),
)
PROMPT: Expected = a(Prompt, "a Prompt; pass Prompt('pmpt_...')")


class ServerConversation(Struct, frozen=True):
    """The provider's own record of a conversation, which a request goes on from: of an id, or as it was after a reply of its.

    It holds the first `held` of the request's items, which are not sent.
    """

    conversation_id: str = ""
    previous_response_id: str = ""
    held: int = 0
