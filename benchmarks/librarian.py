"""A model for `benchmarks.research` that follows rules in place of thinking: it splits a question, looks up the words of each
part, and quotes the sentences that have most of them. So the three ways run anywhere, and spend what they would.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from agentsdk import FunctionCall, FunctionCallOutput, Message, ModelRequest, ModelResponse, Usage
from agentsdk.models.token_estimate import estimate_tokens
from agentsdk.testing import ScriptedModel, call

_WORD = re.compile(r"[a-z]{3,}")
_IDLE = frozenset(
    _WORD.findall(
        "and are does did for has have her his how long many much now one the was what when where which who whom why with"
    )
)
_PASSAGE = re.compile(r"\[([\w.]+)\] ([^\n\[]*)")
_FEWEST = 2
"""So many words of a question, or all of it, must be in a sentence that answers it."""


def librarian() -> ScriptedModel:
    """The model. It replies without end."""
    return ScriptedModel([_reply] * 10_000, name="librarian")


def _reply(request: ModelRequest) -> ModelResponse:
    texts = [_text(item) for item in request.all_items]
    question = texts[0].partition("\n\n")[0]
    output = request.output
    said: Message | FunctionCall
    if output is not None and output.name == "plan":
        said = Message("assistant", json.dumps({"steps": _plan(question, "researcher" in texts[0])}))
    elif request.tools and (next_call := _next_call(question, request.all_items, texts)) is not None:
        said = next_call
    else:
        found, missing = _found(question, "\n".join(texts))
        said = Message("assistant", _cited(found, missing) if output is not None else _listed(found, missing))
    written = said.text if isinstance(said, Message) else said.arguments
    usage = Usage(1, estimate_tokens("\n".join([request.instructions, *texts])), estimate_tokens(written))
    return ModelResponse((said,), usage, "stop" if isinstance(said, Message) else "tool_calls")


def _text(item: object) -> str:
    if isinstance(item, Message):
        return item.text
    if isinstance(item, FunctionCallOutput):
        return str(item.output)
    return item.arguments if isinstance(item, FunctionCall) else ""


def _parts(question: str) -> list[str]:
    return question.rstrip("?").split(", and ")


def _plan(question: str, has_researcher: bool) -> list[dict[str, object]]:
    steps: list[dict[str, object]] = []
    for number, part in enumerate(_parts(question), 1):
        words = {"name": "words", "source": None, "value": part}
        do, task, inputs = ("researcher", f"{part}?", []) if has_researcher else ("look_up", "", [words])
        steps.append({"id": f"s{number}", "do": do, "task": task, "inputs": inputs, "after": [], "when": []})
    return steps


def _next_call(question: str, items: Sequence[object], texts: list[str]) -> FunctionCall | None:
    """A search for each part, and after each the source that it found first."""
    calls = [item for item in items if isinstance(item, FunctionCall)]
    parts = _parts(question)
    if len(calls) == 2 * len(parts):
        return None
    if len(calls) % 2 == 0:
        part = parts[len(calls) // 2]
        return _numbered(call("search", words=part), len(calls))
    source = re.search(r"\[([\w.]+)\]", texts[-1])
    return _numbered(call("read", source=source[1] if source else "none"), len(calls))


def _numbered(given: FunctionCall, number: int) -> FunctionCall:
    return FunctionCall(f"call_{number}", given.name, given.arguments)


def _found(question: str, text: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Source and sentence for each part of the question, and the parts that no sentence answers."""
    sentences = [
        (source, sentence) for source, passage in _PASSAGE.findall(text) for sentence in re.split(r"(?<=[.]) ", passage.strip())
    ]
    found: list[tuple[str, str]] = []
    missing: list[str] = []
    for part in _parts(question):
        wanted = _stems([part])
        best = max(sentences, key=lambda one: len(wanted & _stems([one[0], one[1]])), default=("", ""))
        if len(wanted & _stems(best)) >= min(_FEWEST, len(wanted)):
            found.append(best)
        else:
            missing.append(part)
    return found, missing


def _stems(texts: Iterable[str]) -> set[str]:
    return {word[:5] for text in texts for word in _WORD.findall(text.lower()) if word not in _IDLE}


def _cited(found: list[tuple[str, str]], missing: list[str]) -> str:
    citations = [{"source": source, "quote": sentence} for source, sentence in found]
    answer = " ".join([sentence for _, sentence in found]) or "I do not know."
    return json.dumps({"answer": answer, "citations": citations, "not_found": "; ".join(missing)})


def _listed(found: list[tuple[str, str]], missing: list[str]) -> str:
    return "\n".join([*[f"[{source}] {sentence}" for source, sentence in found], *[f"Not found: {part}" for part in missing]])
