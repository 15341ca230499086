"""`ToolOutputTrimmer`: cuts long results of tools in older turns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents.run_config import CallModelData, ModelInputData


@dataclass
class ToolOutputTrimmer:
    """A `call_model_input_filter`: results of before the last `recent_turns` messages of the user that are longer than
    `max_output_chars` are cut to a preview of `preview_chars`; of `trimmable_tools` only, where given."""

    recent_turns: int = 2
    max_output_chars: int = 500
    preview_chars: int = 200
    trimmable_tools: str | Iterable[str] | None = None

    def __post_init__(self) -> None:
        for name, least in (("recent_turns", 1), ("max_output_chars", 1), ("preview_chars", 0)):
            value = getattr(self, name)
            if value < least:
                raise ValueError(f"{name} must be >= {least}, got {value}")
        tools = self.trimmable_tools
        if isinstance(tools, bytes):
            raise ValueError("trimmable_tools must be a string or iterable of strings")
        if tools is not None:
            self.trimmable_tools = frozenset({tools} if isinstance(tools, str) else tools)

    def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """What the model is sent."""
        items: list[Any] = data.model_data.input
        plain: list[dict[str, Any]] = [item if isinstance(item, dict) else {} for item in items]
        users = [at for at, item in enumerate(plain) if item.get("role") == "user"]
        if len(users) < self.recent_turns:
            return data.model_data
        boundary = users[-self.recent_turns]
        names = {item.get("call_id"): _names(item) for item in plain if item.get("name")}
        changed = [self._trimmed(item, names) if at < boundary else item for at, item in enumerate(items)]
        return ModelInputData(changed, data.model_data.instructions)

    def _trimmed(self, given: Any, names: dict[Any, tuple[str, ...]]) -> Any:
        item: Any = given
        fields = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        if fields.get("type") != "function_call_output":
            return item
        called = names.get(fields.get("call_id"), ())
        wanted = self.trimmable_tools
        if wanted is not None and not any(name in wanted for name in called):
            return item
        shown = _shown(fields.get("output"))
        if shown is None or shown[0] <= self.max_output_chars:
            return item
        size, text, dropped = shown
        name = called[0] if called else "unknown_tool"
        preview = f"[Trimmed: {name} output of {size} chars{dropped}]\n{text[: self.preview_chars]}"
        if len(text) > self.preview_chars:
            preview += "..."
        return {**fields, "output": preview} if len(preview) < size else item


def _shown(output: Any) -> tuple[int, str, str] | None:
    """How many characters a result has, its text, and what is said of its images and files, of which a part would be nothing.

    None for a list with parts of another kind.
    """
    if not isinstance(output, list):
        text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        return len(text), text, ""
    size, texts, others = 0, list[str](), Counter[str]()
    for part in cast("list[Any]", output):
        fields = cast("dict[str, Any]", part) if isinstance(part, dict) else {}
        kind = fields.get("type")
        if kind not in ("input_text", "input_image", "input_file"):
            return None
        if kind == "input_text":
            texts.append(str(fields.get("text")))
        else:
            others[kind] += 1
        size += sum(len(value) for name, value in fields.items() if name != "type" and isinstance(value, str))
    dropped = ", ".join(f"{number} {kind}" for kind, number in sorted(others.items()))
    return size, "\n".join(texts), f"; dropped {dropped}" if dropped else ""


def _names(item: dict[str, Any]) -> tuple[str, ...]:
    name, namespace = str(item["name"]), item.get("namespace")
    return (f"{namespace}.{name}", name) if namespace else (name,)


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
