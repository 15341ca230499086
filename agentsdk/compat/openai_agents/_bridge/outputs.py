"""What a tool returns, as parts of a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic import ValidationError

from agentsdk.compat.openai_agents.tool import (
    ToolOutputFileContent,
    ToolOutputImage,
    ToolOutputText,
    ValidToolOutputPydanticModelsTypeAdapter,
)
from agentsdk.types.items import InputFile, InputImage, InputText, Part


def parts_of(output: Any) -> list[dict[str, Any]] | None:
    """The parts of a result, as the Responses API takes them; None for what is no part and no list of them."""
    if type(output) is str or output is None:
        return None
    if isinstance(output, list | tuple):
        given = [_part(one) for one in cast("list[Any]", output)]
        return cast("list[dict[str, Any]]", given) if given and None not in given else None
    part = _part(output)
    return None if part is None else [part]


def _part(value: Any) -> dict[str, Any] | None:
    if isinstance(value, Mapping) and "type" in value:
        try:
            value = ValidToolOutputPydanticModelsTypeAdapter.validate_python(value)
        except ValidationError:
            return None
    if isinstance(value, ToolOutputText | ToolOutputImage | ToolOutputFileContent):
        fields = value.model_dump(exclude_none=True, exclude={"type"})
        return {"type": f"input_{value.type}", **fields}
    return None


def own_parts(parts: list[dict[str, Any]]) -> tuple[Part, ...]:
    """The same for agentsdk."""
    return tuple([own_part(part) for part in parts])


def own_part(part: Mapping[str, Any]) -> Part:
    """One part of a result or an input, of agentsdk's. Raises `ValueError` for what is none."""
    given = {name: value for name, value in part.items() if value is not None}
    match given.get("type"):
        case "input_text" | "text":
            return InputText(given["text"])
        case "input_image" | "image" | "computer_screenshot":
            return InputImage(given.get("image_url", ""), given.get("file_id", ""), given.get("detail", "auto"))
        case "input_file" | "file":
            fields = {name: given[name] for name in ("file_data", "file_url", "file_id", "filename") if name in given}
            return InputFile(**fields)
        case kind:
            raise ValueError(f"a part is of type {kind!r}")
