"""The options that every MCP server has, their types and what they must be."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, TypedDict, cast, get_args

from agentsdk.define.tool_options import NeedsApproval
from agentsdk.define.toolset import ToolRule
from agentsdk.ports.mcp import Elicit, LogLevel
from agentsdk.types.declared import (
    CALLABLE,
    FLAG,
    SECONDS,
    Expected,
    Fields,
    a,
    a_name,
    any_text,
    either,
    mapping_of,
    one_of,
    optional,
    secret,
    sequence_of,
    whole,
)
from agentsdk.types.errors import UserError

Asked = bool | Literal["always", "never"]

RequireApproval = Asked | Mapping[str, Asked] | NeedsApproval[Any]
"""Which calls a person must approve: all, none, by the server's name for the tool, or as a callable says for each call."""


class ToolFilter(TypedDict, total=False):
    """Which of a server's tools are offered, by the server's own names for them."""

    allowed_tool_names: Sequence[str]
    blocked_tool_names: Sequence[str]


class MCPServerOptions(TypedDict, total=False):
    """What every MCP server takes. `MCPServer` says what they mean."""

    name: str | None
    cache_tools_list: bool
    tool_filter: ToolFilter | ToolRule[Any] | None
    require_approval: RequireApproval | None
    client_session_timeout_seconds: float | None
    connect_timeout_seconds: float
    tool_name_prefix: str
    trusted: bool
    use_structured_content: bool
    include_instructions: bool
    max_result_chars: int | None
    log_level: LogLevel | None
    on_elicitation: Elicit | None
    elicitation_timeout_seconds: float
    roots: Sequence[str] | None
    sampling_requests: int
    sampling_max_tokens: int


SESSION_SECONDS = 60.0
CONNECT_SECONDS = 20.0
ELICIT_SECONDS = 300.0
SAMPLING_TOKENS = 1_000

DEFAULTS: dict[str, object] = {
    "name": None,
    "cache_tools_list": True,
    "tool_filter": None,
    "require_approval": None,
    "client_session_timeout_seconds": SESSION_SECONDS,
    "connect_timeout_seconds": CONNECT_SECONDS,
    "tool_name_prefix": "",
    "trusted": False,
    "use_structured_content": False,
    "include_instructions": False,
    "max_result_chars": None,
    "log_level": None,
    "on_elicitation": None,
    "elicitation_timeout_seconds": ELICIT_SECONDS,
    "roots": None,
    "sampling_requests": 0,
    "sampling_max_tokens": SAMPLING_TOKENS,
}
_ASKED = either(FLAG, one_of("", ("always", "never")), what="True, False, 'always' or 'never'")
_NAMES = sequence_of(a_name("the name of a tool"), "a list of names of tools")
_FILTER = mapping_of(
    _NAMES, "a dict; write {'allowed_tool_names': ['search']}", keys=("allowed_tool_names", "blocked_tool_names")
)

OPTIONS = Fields(
    "MCPServer",
    name=optional(a_name("a name for the server; a saved run knows its tools by it")),
    cache_tools_list=FLAG,
    tool_filter=optional(either(CALLABLE, _FILTER, what="a dict of allowed_tool_names and blocked_tool_names, or a callable")),
    require_approval=optional(
        either(
            _ASKED,
            CALLABLE,
            mapping_of(_ASKED, ""),
            what="'always', 'never', a dict of names of tools and either, or a callable",
        )
    ),
    client_session_timeout_seconds=optional(SECONDS),
    connect_timeout_seconds=SECONDS,
    tool_name_prefix=Expected(
        "a text of letters, digits, '_' and '-', 40 at the most",
        lambda value: (
            isinstance(value, str) and len(value) <= 40 and value.replace("-", "").replace("_", "a").isalnum()
            if value
            else value == ""
        ),
    ),
    trusted=FLAG,
    use_structured_content=FLAG,
    include_instructions=FLAG,
    log_level=optional(one_of("a level of the protocol; write 'info'", get_args(LogLevel))),
    on_elicitation=optional(CALLABLE),
    elicitation_timeout_seconds=SECONDS,
    roots=optional(sequence_of(a_name("the URI of a folder"), "a list of URIs; write ['file:///srv/data']")),
    max_result_chars=optional(whole("a whole number above 0, or None", least=1)),
    sampling_requests=whole("a whole number, 0 for none", least=0),
    sampling_max_tokens=whole("a whole number of tokens above 0", least=1),
)
HEADERS = mapping_of(any_text("a text"), "a dict of texts; write {'Authorization': ...}")
PARAMETERS = Fields(
    "params",
    command=a_name("the program to start; write 'npx', say"),
    args=secret(sequence_of(any_text("a text"), "a list of texts; write ['--root', '.']")),
    env=optional(secret(mapping_of(any_text("a text"), "a dict of texts; write {'TOKEN': token}"))),
    url=a_name("the address of the server; write 'https://example.com/mcp'"),
    headers=optional(secret(either(CALLABLE, HEADERS, what="a dict of texts, or a callable that gives one"))),
    timeout=SECONDS,
    cwd=optional(a((str, os.PathLike), "a path")),
)


def checked_params(kind: str, params: object, known: Collection[str], needed: str) -> dict[str, Any]:
    """The `params` of a server of that kind. Raises `UserError`."""
    if not isinstance(params, Mapping) or needed not in params:
        raise UserError(f"{kind} was given params without a {needed!r}, expected a dict; pass params={{{needed!r}: ...}}")
    given = dict(cast("Mapping[str, Any]", params))
    if unknown := sorted(map(str, given.keys() - set(known))):
        raise UserError(f"{kind} was given params {unknown}, expected some of {sorted(known)}")
    PARAMETERS.check_given(kind, **given)
    return given
