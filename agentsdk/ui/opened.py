"""One event as it is opened: in full, with what a model's reply was an answer to, and the state after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentsdk.define.agent import Agent
from agentsdk.define.tool import FunctionTool
from agentsdk.types.base import JsonObject
from agentsdk.types.events import ModelReplied
from agentsdk.ui.history import History
from agentsdk.ui.shown import MAX_TEXT_CHARS, Shower, changes, plain
from agentsdk.web.problems import ProblemError


def opened_event(
    history: History, agents: Mapping[str, Agent[Any, Any]], revision: int, most: int | None = MAX_TEXT_CHARS
) -> JsonObject:
    """The event of that revision, each text up to so many characters, and of a reply the request.

    Raises `ProblemError` where there is no such event.
    """
    if not 1 <= revision <= len(history.events):
        raise ProblemError(404, f"there is no event {revision}, expected one from 1 to {len(history.events)}; see the rows")
    shower = Shower(most)
    event = history.events[revision - 1]
    body: JsonObject = {"row": history.rows[revision - 1], "event": shower.event(event), "request": None}
    if isinstance(event, ModelReplied):
        body["request"] = _asked(history, agents, revision, event, shower)
    return {**body, "cut": shower.is_cut}


def opened_state(history: History, revision: int) -> JsonObject:
    """The state at a revision, and what its event changed. Raises what `History.state` does."""
    shower = Shower()
    after = shower.state(history.state(revision))
    before = shower.state(history.state(revision - 1)) if revision > 0 else {}
    return {"revision": revision, "state": after, "changed": changes(before, after)}


def _asked(
    history: History, agents: Mapping[str, Agent[Any, Any]], revision: int, event: ModelReplied, shower: Shower
) -> JsonObject:
    """What a reply was an answer to: the items from the record, and what the agent declares where it is known."""
    state = history.state(revision - 1)
    arrived = state.turn.arrived if state.turn is not None else ()
    asked: JsonObject = {
        "model": event.asked or event.response.model,
        "items": shower.items([*state.view, *arrived]),
        "tokens": event.counted,
        "disabled": list(event.disabled),
        "toolsets": {
            toolset: shower.value(offered) for (agent, toolset), offered in state.offered.items() if agent == state.agent
        },
    }
    agent = agents.get(state.agent)
    if agent is not None:
        asked["instructions"] = agent.instructions if isinstance(agent.instructions, str) else "made for each turn"
        asked["settings"] = shower.value(plain(agent.model_settings))
        asked["tools"] = [
            {"name": tool.name, "description": tool.description, "parameters": tool.params_json_schema}
            for tool in agent.tools
            if isinstance(tool, FunctionTool)
        ]
    return asked
