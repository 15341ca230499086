"""`ModelSettings.thinking` in each provider's form.

A provider, or a model known by its name, that has no form for what was asked is a `UserError` that names one which has. What
else a model may refuse (an effort it does not know) only its provider can say.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from agentsdk.types.base import JsonObject
from agentsdk.types.errors import UserError
from agentsdk.types.settings import ModelSettings, Thinking

GEMINI_BUDGETS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24576, "xhigh": 24576, "max": 24576}
"""The tokens that stand for an effort where a Gemini takes only a budget: those of Google's own compatible endpoint."""

CLAUDE_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 16384, "max": 16384}
"""The same for a Claude. Those models give at most 32,000 tokens, thinking included."""

LEAST_CLAUDE_BUDGET = 1024
"""Anthropic takes no smaller one."""

_THINKING = Thinking()
_NO_BUDGET = "an effort; give 'medium', say (Google's models take a budget, as do Anthropic's up to Claude 4.6)"
_OFF = "a model that can do without, such as {!r}; use one, or thinking='minimal'"
_OPENAI_WITHOUT = ("gpt-3", "gpt-4", "chatgpt-", "gpt-5-chat")
_OPENAI_ALWAYS = re.compile(r"o\d|gpt-5(?!\.|-chat)")
_CLAUDE = re.compile(r"\bclaude-")
# Claude 4.5 and before; the names of Claude 4 go on with a date.
_CLAUDE_WITH_BUDGET_ONLY = re.compile(r"\bclaude-([123]|instant|[a-z]+-[123]\b|[a-z]+-4(?!-[6-9](?!\d)|-\d\d(?!\d)))")
_CLAUDE_WITH_BUDGET_TOO = re.compile(r"\bclaude-[a-z]+-4-6(?!\d)")
_GEMINI_BEFORE_3 = re.compile(r"(models/)?gemini-[12]\b")
_GEMINI_ALWAYS = re.compile(r"(models/)?gemini-(2\.5-pro|[3-9])")


def given_thinking(settings: ModelSettings) -> Thinking | Literal[False] | None:
    """What the settings say of thinking: None where they say nothing, False for none."""
    given = settings.thinking
    if given is True:
        return _THINKING
    return Thinking(effort=given) if isinstance(given, str) else given


def openai_thinks(model: str) -> bool:
    """Whether OpenAI's model of this name thinks."""
    return not model.startswith(_OPENAI_WITHOUT)


def openai_effort(thinking: Thinking | Literal[False], model: str, *, at_home: bool) -> str | None:
    """The word for an OpenAI model's effort; None where there is nothing to say. `at_home`: it is at OpenAI itself."""
    if at_home and not openai_thinks(model):
        if not thinking:
            return None
        raise _refused(model, thinking, "a model that thinks, such as 'gpt-5' or 'o3'; use one, or leave it out")
    if not thinking:
        if at_home and _OPENAI_ALWAYS.match(model):
            raise _refused(model, thinking, _OFF.format("gpt-5.1"))
        return "none"
    if thinking.budget is not None:
        raise _refused(model, thinking, _NO_BUDGET)
    return thinking.effort or "medium"


class ClaudeThinking(NamedTuple):
    """What Anthropic is sent: `thinking`, the effort, and the cap on output tokens, which holds thinking too."""

    thinking: JsonObject
    effort: str | None
    max_tokens: int


def claude_thinking(thinking: Thinking | Literal[False], model: str, given_cap: int | None, default_cap: int) -> ClaudeThinking:
    """Thinking as an Anthropic model of this name takes it.

    A budget comes on top of the default cap, and is lowered to stay below a cap that was given. Where that leaves less than the
    least budget, the model does not think.
    """
    cap = default_cap if given_cap is None else given_cap
    if not thinking:
        return ClaudeThinking({"type": "disabled"}, None, cap)
    told: JsonObject = {}
    if thinking.summary is not None:
        told["display"] = "summarized" if thinking.summary else "omitted"
    budget = thinking.budget
    if budget is None and _CLAUDE.search(model) and not _CLAUDE_WITH_BUDGET_ONLY.search(model):
        effort = "low" if thinking.effort == "minimal" else thinking.effort
        return ClaudeThinking({"type": "adaptive", **told}, effort, cap)
    if budget is None:
        budget = CLAUDE_BUDGETS[thinking.effort or "medium"]
    elif _CLAUDE.search(model) and not (_CLAUDE_WITH_BUDGET_ONLY.search(model) or _CLAUDE_WITH_BUDGET_TOO.search(model)):
        raise _refused(model, thinking, _NO_BUDGET)
    budget = max(budget, LEAST_CLAUDE_BUDGET)
    if given_cap is None:
        cap += budget
    elif (budget := min(budget, given_cap - 1)) < LEAST_CLAUDE_BUDGET:
        return ClaudeThinking({"type": "disabled"}, None, cap)
    return ClaudeThinking({"type": "enabled", "budget_tokens": budget, **told}, None, cap)


def gemini_before_3(model: str) -> bool:
    """Whether it is a model that takes its thinking as a budget."""
    return bool(_GEMINI_BEFORE_3.match(model))


def gemini_thinking(thinking: Thinking | Literal[False], model: str) -> JsonObject:
    """Thinking as a Google model of this name takes it."""
    if not thinking:
        if _GEMINI_ALWAYS.match(model):
            raise _refused(model, thinking, _OFF.format("gemini-2.5-flash"))
        return {"thinkingBudget": 0}
    told: JsonObject = {} if thinking.summary is None else {"includeThoughts": bool(thinking.summary)}
    if thinking.budget is not None:
        return {"thinkingBudget": thinking.budget, **told}
    if gemini_before_3(model):
        return {"thinkingBudget": -1 if thinking.effort is None else GEMINI_BUDGETS[thinking.effort], **told}
    if thinking.effort is not None:
        told["thinkingLevel"] = "xhigh" if thinking.effort == "max" else thinking.effort
    return told


def _refused(model: str, thinking: Thinking | Literal[False], expected: str) -> UserError:
    given = thinking or False
    return UserError(f"ModelSettings(thinking={given!r}) is not available with model {model!r}, expected {expected}")
