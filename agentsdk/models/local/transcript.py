"""Transcript: the history as the plain messages that every chat template takes.

Templates of small models know neither tools nor results (llama.cpp drops them silently), so tools are described in
the system message, calls are the text the model itself wrote, and results come back as user text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from agentsdk.models.local.constrained import CALL_BEGIN, CALL_END, call_text
from agentsdk.models.plain_tools import function_description
from agentsdk.types.items import FunctionCall, FunctionCallOutput, InputText, Item, Message, OutputText, Part, Role
from agentsdk.types.spec import HandoffSpec, OutputSpec, ToolSpec

RESULT_BEGIN = "<tool_response>\n"
RESULT_END = "\n</tool_response>"
RESULT_MARKS = (RESULT_END, RESULT_END.strip(), RESULT_BEGIN.strip())


def system_text(instructions: str, tools: Sequence[ToolSpec | HandoffSpec], output: OutputSpec | None) -> str:
    """The instructions, then what the model must know of its tools and its output. `""` when there is nothing to say."""
    parts = [instructions] if instructions else []
    if tools:
        lines = [f"- {tool.name}: {function_description(tool)} Arguments: {json.dumps(tool.parameters)}" for tool in tools]
        parts.append("You have these tools:\n" + "\n".join(lines))
        parts.append(
            f'To use a tool, reply only with {CALL_BEGIN}{{"name": ..., "arguments": {{...}}{CALL_END}. '
            "When a <tool_response> has come, answer from it."
        )
    if output is not None:
        parts.append("Answer with JSON of this schema: " + json.dumps(output.schema))
    return "\n\n".join(parts)


def answered_tools(items: Sequence[Item]) -> set[str]:
    """The names of the tools that have given a result, be it an error, since the last user message."""
    results: set[str] = set()
    names: set[str] = set()
    for item in reversed(items):
        if isinstance(item, FunctionCallOutput):
            results.add(item.call_id)
        elif isinstance(item, FunctionCall) and item.call_id in results:
            names.add(item.name)
        elif isinstance(item, Message) and item.role == "user":
            break
    return names


def plain_messages(items: Iterable[Item]) -> list[Item]:
    """`items` as messages only; neighbors of one role become one, which many templates demand. Reasoning is left out."""
    messages: list[Item] = []
    previous: Message | None = None
    for message in _messages(items):
        content = message.content
        if previous is not None and previous.role == message.role:
            if isinstance(content, str) and isinstance(previous.content, str):
                message = Message(message.role, f"{previous.content}\n\n{content}")
            else:
                message = Message(message.role, _parts(previous.content) + _parts(content))
            messages.pop()
        messages.append(message)
        previous = message
    return messages


def _messages(items: Iterable[Item]) -> Iterator[Message]:
    for item in items:
        match item:
            case Message():
                role: Role = "system" if item.role == "developer" else item.role
                yield Message(role, _flat(item.content))
            case FunctionCall():
                yield Message("assistant", call_text(item.name, item.arguments))
            case FunctionCallOutput():
                if isinstance(output := _flat(item.output), str):
                    yield Message("user", f"{RESULT_BEGIN}{output}{RESULT_END}")
                else:
                    begin, end = InputText(RESULT_BEGIN), InputText(RESULT_END)
                    yield Message("user", (begin, *output, end))
            case _:
                pass


def _flat(content: str | tuple[Part, ...]) -> str | tuple[Part, ...]:
    if isinstance(content, str):
        return content
    if all(isinstance(part, InputText | OutputText) for part in content):
        return "".join(part.text for part in content if isinstance(part, InputText | OutputText))
    return content


def _parts(content: str | tuple[Part, ...]) -> tuple[Part, ...]:
    return (InputText(content),) if isinstance(content, str) else content
