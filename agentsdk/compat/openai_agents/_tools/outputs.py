"""What tools may return besides text: images and files."""

from __future__ import annotations

from typing import Literal, NotRequired

from pydantic import BaseModel, TypeAdapter, model_validator
from typing_extensions import TypedDict


class ToolOutputText(BaseModel):
    """Text that a tool returns."""

    type: Literal["text"] = "text"
    text: str


class ToolOutputTextDict(TypedDict, total=False):
    """The same as a dict."""

    type: Literal["text"]
    text: str


class ToolOutputImage(BaseModel):
    """An image that a tool returns: by an address, a `data:` URL or the provider's id."""

    type: Literal["image"] = "image"
    image_url: str | None = None
    file_id: str | None = None
    detail: Literal["low", "high", "auto"] | None = None

    @model_validator(mode="after")
    def check_at_least_one_required_field(self) -> ToolOutputImage:
        """Raises `ValueError` for an image that is nowhere."""
        if self.image_url is None and self.file_id is None:
            raise ValueError("ToolOutputImage has neither, expected image_url or file_id")
        return self


class ToolOutputImageDict(TypedDict, total=False):
    """The same as a dict."""

    type: Literal["image"]
    image_url: NotRequired[str]
    file_id: NotRequired[str]
    detail: NotRequired[Literal["low", "high", "auto"]]


class ToolOutputFileContent(BaseModel):
    """A file that a tool returns: its base64 data, an address or the provider's id."""

    type: Literal["file"] = "file"
    file_data: str | None = None
    file_url: str | None = None
    file_id: str | None = None
    filename: str | None = None

    @model_validator(mode="after")
    def check_at_least_one_required_field(self) -> ToolOutputFileContent:
        """Raises `ValueError` for a file that is nowhere."""
        if self.file_data is None and self.file_url is None and self.file_id is None:
            raise ValueError("ToolOutputFileContent has none of them, expected file_data, file_url or file_id")
        return self


class ToolOutputFileContentDict(TypedDict, total=False):
    """The same as a dict."""

    type: Literal["file"]
    file_data: NotRequired[str]
    file_url: NotRequired[str]
    file_id: NotRequired[str]
    filename: NotRequired[str]


ValidToolOutputPydanticModels = ToolOutputText | ToolOutputImage | ToolOutputFileContent


ValidToolOutputPydanticModelsTypeAdapter: TypeAdapter[ValidToolOutputPydanticModels] = TypeAdapter(
    ValidToolOutputPydanticModels
)
