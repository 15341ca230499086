"""What of openai-agents is not here: why, and what there is instead."""

from __future__ import annotations

from collections.abc import Callable
from importlib.abc import MetaPathFinder
from typing import Any

_OURS = __name__.rpartition(".")[0]
_SANDBOX = (
    "sandboxes and their agents belong to other services",
    "agentsdk.sandboxes, which run commands on this machine, with the main API",
)
_EXPERIMENT = ("it is an experiment of openai-agents, around a service of its own", "function tools of your own")
_LOOP = ("it is a part of openai-agents' own loop, for which agentsdk's stands", "Runner, which does it beneath")
_REQUEST = ("requests are made by agentsdk's own adapters, which have no converter to call", "the model classes themselves")
_STATE = ("states are in agentsdk's format", "RunState.to_json() and RunState.from_json()")
_LOGGING = ("it is how openai-agents writes its own log", "logging.getLogger('openai.agents')")
_REGISTRATION = ("agents are registered nowhere", "nothing: leave it out")
_TRACING = ("it is a part of openai-agents' own tracing", "trace(), the spans and a TracingProcessor")
_DAPR = ("agentsdk has no Dapr store", "RedisSession, SQLAlchemySession, SQLiteSession, or a Session of your own")

ABSENT: dict[str, tuple[str, str]] = {
    "sandbox": _SANDBOX,
    "extensions.sandbox": _SANDBOX,
    "realtime": ("speech over an open connection is not what a run of turns is", "OpenAI's realtime client"),
    "voice": ("speech to text and back is not part of a run", "OpenAI's audio client around Runner.run"),
    "extensions.experimental": _EXPERIMENT,
    "extensions.memory.dapr_session": _DAPR,
    **dict.fromkeys(
        (f"extensions.memory.{name}" for name in ("DaprSession", "DAPR_CONSISTENCY_EVENTUAL", "DAPR_CONSISTENCY_STRONG")),
        _DAPR,
    ),
    **dict.fromkeys(
        ("extensions.memory.mongodb_session", "extensions.memory.MongoDBSession"),
        ("agentsdk has no MongoDB store", "RedisSession, SQLAlchemySession, SQLiteSession, or a Session of your own"),
    ),
    "testing": (
        "the scripted sandboxes are for agents in sandboxes, which are not here",
        "ScriptedModel with a sandbox of agentsdk",
    ),
    "agent_tool_state": _STATE,
    "agent_tool_input": _LOOP,
    "items": ("it is a shape that openai-agents' own loop works with", "the item classes and ItemHelpers"),
    "logger": _LOGGING,
    "mcp.server": ("the connections to MCP servers are agentsdk's", "MCPServerStdio and MCPServerStreamableHttp"),
    "memory.openai_responses_compaction_session": ("it is a helper of the session", "OpenAIResponsesCompactionSession"),
    "memory.util": _LOOP,
    "models.chatcmpl_converter": _REQUEST,
    "models.chatcmpl_helpers": _REQUEST,
    "models.chatcmpl_stream_handler": _REQUEST,
    "models.default_models": ("it is a type of a helper", "str"),
    "models.fake_id": ("it is an id that openai-agents puts in place of a missing one", "the item's own id"),
    "models.multi_provider": ("it is a type of an argument", "the text itself"),
    "models.openai_agent_registration": _REGISTRATION,
    "models.openai_client_utils": _REQUEST,
    "models.openai_provider": _REQUEST,
    "models.openai_responses": _REQUEST,
    "models.reasoning_content_replay": _REQUEST,
    "extensions.models.any_llm_model": _REQUEST,
    "extensions.models.any_llm_provider": ("the name of the model has to be given", "LitellmProvider().get_model(name)"),
    "extensions.models.litellm_model": _REQUEST,
    "extensions.models.litellm_provider": ("the name of the model has to be given", "LitellmProvider().get_model(name)"),
    "extensions.tool_output_trimmer": _LOGGING,
    "model_settings": ("it is a type of openai's own", "the same name in the package openai"),
    "retry": ("when a request may be sent again agentsdk decides itself", "retry_policies"),
    "run_config": _SANDBOX,
    "run_state": _STATE,
    "strict_schema": ("it is a helper of ensure_strict_json_schema", "ensure_strict_json_schema"),
    "tool": _LOOP,
    "tracing.config": _TRACING,
    "tracing.context": _TRACING,
    "tracing.logger": _LOGGING,
    "tracing.model_tracing": _TRACING,
    "tracing.setup": _TRACING,
    "tracing.traces": _TRACING,
    "usage": _TRACING,
    "guardrail": ("it is a type variable", "one of your own"),
    "tool_guardrails": ("it is a type variable", "one of your own"),
}
"""By a name in `agents`, or by a module for all that is not in it: why it is absent, and what there is instead."""


class AbsentError(ModuleNotFoundError):
    """A name of openai-agents that is not here was imported.

    No `AttributeError`: Python would not let its text through at `from ... import`.
    """


def why_absent(full: str) -> tuple[str, str] | None:
    """Why a name of openai-agents is not here, and what there is instead; None where nothing is known of it."""
    while full:
        if full in ABSENT:
            return ABSENT[full]
        full = full.rpartition(".")[0]
    return None


def absent(module: str, name: str) -> ImportError | AttributeError:
    """The error for a name that is not in a module of this package: one that openai-agents has says why it is absent."""
    from agentsdk.compat.openai_agents._names import NAMES

    inner = module.removeprefix(_OURS).strip(".")
    full = f"{inner}.{name}" if inner else name
    if name in NAMES.get(inner, ()):
        known = why_absent(full)
        if known is not None:
            return AbsentError(f"{full!r} of openai-agents is not in {_OURS!r}: {known[0]}; use {known[1]}")
    return AttributeError(
        f"module {module!r} has no attribute {name!r}, expected a name of openai-agents 0.24; docs/openai_agents.md lists them"
    )


class AbsentModules(MetaPathFinder):
    """Says why a module of openai-agents is absent, once nobody else has found it."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        """Raises `AbsentError`."""
        inner = fullname.removeprefix(f"{_OURS}.")
        if inner == fullname:
            return
        from agentsdk.compat.openai_agents._names import NAMES

        if (inner in NAMES or inner in ABSENT) and (known := why_absent(inner)) is not None:
            raise AbsentError(f"{inner!r} of openai-agents is not in {_OURS!r}: {known[0]}; use {known[1]}")


def names_absent_in(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module some of whose names are absent."""

    def look_up(name: str) -> Any:
        raise absent(module, name)

    return look_up
