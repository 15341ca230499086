"""Why a test of openai-agents does not pass here: its error and module sorted into a few kinds."""

from __future__ import annotations

import re

REAL = "another behaviour"
"""What none of the patterns knows: a difference that a program may see."""

_PRIVATE = (
    r"(has no attribute|cannot import name|unexpected keyword argument) '_|No module named 'agents\S*\._|run_internal"
    r"|chatcmpl_|openai_client_utils|agent_tool_state"
)
_STATES = r"schema ?version|no run state of this package|^'(generated_items|current_\w+|pending_session_write|model_responses)'"
_ABSENT = r"is not in 'agentsdk|has no attribute|cannot import name|No module named|unexpected keyword argument"
_BY_TEXT: tuple[tuple[str, str], ...] = (
    (_PRIVATE, "a private name"),
    (r"voice|realtime|sandbox", "voice, realtime, sandboxes"),
    (_STATES, "the format of states"),
    (r"finds no step left in its script", "the model is asked more often"),
    (_ABSENT, "a name or argument that is not there"),
    (r"^DID NOT RAISE", "an error that is not raised"),
)
_BY_MODULE: tuple[tuple[str, str], ...] = (
    (r"run_state|state_compat", "the format of states"),
    (r"trac|span", "names and fields of spans"),
    (r"redaction|logging|logger", "what is logged"),
)


def cause_of(module: str, kind: str, text: str) -> str:
    """The kind of cause of a test that did not pass."""
    if "Timeout" in kind or (kind == "Failed" and "Timeout" in text):
        return "does not end"
    for patterns, given in ((_BY_TEXT, text), (_BY_MODULE, module)):
        for pattern, cause in patterns:
            if re.search(pattern, given, re.IGNORECASE):
                return cause
    return REAL
