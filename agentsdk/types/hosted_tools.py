"""Tools that providers run themselves: one declaration for all providers that have one of the kind.

Which providers those are, and which settings each of them takes, is in each adapter's `features.py`. What one has not is a
`UserError` before any request. Texts and lists are checked where they are given; what they name is the provider's to know.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from agentsdk.types.base import JsonObject
from agentsdk.types.declared import (
    FLAG,
    RULE,
    Expected,
    Fields,
    a,
    a_name,
    any_text,
    either,
    json_object,
    mapping_of,
    number,
    one_of,
    optional,
    secret,
    sequence_of,
    whole,
)
from agentsdk.types.errors import UserError
from agentsdk.types.hosted_tool import HostedTool
from agentsdk.types.permission import PERMISSIONS, Permission

Approval = Literal["always", "never"]
ApprovalRule = Callable[[Any, dict[str, Any], str], bool | Awaitable[bool]]
"""Called with the context, the parsed arguments and the id of the request: whether a person must approve it."""


def _texts(what: str) -> Expected:
    return sequence_of(a_name("a text that is not empty"), f"a list or tuple of {what}")


def _frozen(tool: HostedTool, *names: str) -> None:
    """Keep lists as tuples, which nobody changes."""
    for name in names:
        object.__setattr__(tool, name, tuple(getattr(tool, name)))


_DOMAINS = _texts("domains; write ['example.com']")
_COUNT = optional(whole("a whole number above 0", 1))
_SIZES = ("low", "medium", "high")


@dataclass(frozen=True, slots=True)
class UserLocation:
    """Roughly where the user is, for results that depend on it. `country` has two letters, `timezone` is an IANA name."""

    city: str = ""
    region: str = ""
    country: str = ""
    timezone: str = ""

    def __post_init__(self) -> None:
        _LOCATION.check(self)


_TEXT = any_text("a str")
_LOCATION = Fields(UserLocation, city=_TEXT, region=_TEXT, country=_TEXT, timezone=_TEXT)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSearchTool(HostedTool):
    """Searches the web. Results come from `allowed_domains` alone, or from all but `blocked_domains`.

    `max_uses` is how often in a reply. `search_context_size` is how much of what it finds the model reads.
    """

    allowed_domains: Sequence[str] = ()
    blocked_domains: Sequence[str] = ()
    user_location: UserLocation | None = None
    max_uses: int | None = None
    search_context_size: Literal["low", "medium", "high"] | None = None

    def __post_init__(self) -> None:
        _WEB_SEARCH.check(self)
        _frozen(self, "allowed_domains", "blocked_domains")
        _check_domains(self, self.allowed_domains, self.blocked_domains)


_WEB_SEARCH = Fields(
    WebSearchTool,
    allowed_domains=_DOMAINS,
    blocked_domains=_DOMAINS,
    user_location=optional(a(UserLocation, "a UserLocation; pass UserLocation(country='FR')")),
    max_uses=_COUNT,
    search_context_size=optional(one_of(f"one of {_SIZES}", _SIZES)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebFetchTool(HostedTool):
    """Reads pages and PDFs whose address the conversation has named.

    `max_uses` is how often in a reply, `max_content_tokens` how much of one page the model reads. With `citations` the answer
    says which passages it rests on.
    """

    allowed_domains: Sequence[str] = ()
    blocked_domains: Sequence[str] = ()
    max_uses: int | None = None
    max_content_tokens: int | None = None
    citations: bool = False

    def __post_init__(self) -> None:
        _WEB_FETCH.check(self)
        _frozen(self, "allowed_domains", "blocked_domains")
        _check_domains(self, self.allowed_domains, self.blocked_domains)


_WEB_FETCH = Fields(
    WebFetchTool,
    allowed_domains=_DOMAINS,
    blocked_domains=_DOMAINS,
    max_uses=_COUNT,
    max_content_tokens=_COUNT,
    citations=FLAG,
)


def _check_domains(tool: HostedTool, allowed: Sequence[str], blocked: Sequence[str]) -> None:
    if allowed and blocked:
        raise UserError(f"{type(tool).__name__} has allowed_domains and blocked_domains, expected one of them; leave one out")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSearchTool(HostedTool):
    """Searches files that the provider keeps: at OpenAI in vector stores, at Google in file search stores.

    `filters` is the provider's own condition on the files' attributes: a JSON object at OpenAI, a text at Google.
    `score_threshold` (from 0 to 1) leaves out what fits less. With `include_search_results` the reply holds the passages found.
    """

    vector_store_ids: Sequence[str]
    max_num_results: int | None = None
    filters: JsonObject | str | None = None
    score_threshold: float | None = None
    include_search_results: bool = False

    def __post_init__(self) -> None:
        _FILE_SEARCH.check(self)
        _frozen(self, "vector_store_ids")
        if not self.vector_store_ids:
            raise UserError("FileSearchTool has no vector_store_ids, expected at least one; name the stores to search")


_FILE_SEARCH = Fields(
    FileSearchTool,
    vector_store_ids=_texts("ids of stores; write ['vs_...']"),
    max_num_results=_COUNT,
    filters=optional(either(json_object(""), a_name(""), what="a dict that is a JSON object, or a text")),
    score_threshold=optional(number("a number from 0 to 1", least=0, most=1)),
    include_search_results=FLAG,
)
_MEMORY = ("1g", "4g", "16g", "64g")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeInterpreterTool(HostedTool):
    """Runs code that the model writes, in a container of the provider's.

    `container` is the id of one that there is; else the provider makes one, with the files `file_ids` in it and so much memory.
    """

    container: str = ""
    file_ids: Sequence[str] = ()
    memory_limit: Literal["1g", "4g", "16g", "64g"] | None = None

    def __post_init__(self) -> None:
        _CODE_INTERPRETER.check(self)
        _frozen(self, "file_ids")
        if self.container and (self.file_ids or self.memory_limit):
            raise UserError(
                "CodeInterpreterTool has a container and file_ids or memory_limit, which are for a new one, expected either; "
                "leave the container out, or these"
            )


_CODE_INTERPRETER = Fields(
    CodeInterpreterTool,
    container=_TEXT,
    file_ids=_texts("ids of files; write ['file_...']"),
    memory_limit=optional(one_of(f"one of {_MEMORY}", _MEMORY)),
)
_QUALITIES = ("low", "medium", "high", "xhigh", "max", "auto")
_FORMATS = ("png", "webp", "jpeg", "gif", "svg")
_BACKGROUNDS = ("transparent", "opaque", "auto")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageGenerationTool(HostedTool):
    """Makes images. `size` is like `"1024x1024"`, `output_compression` from 0 to 100, `model` that which draws.

    With `partial_images` a streamed reply shows up to three stages on the way.
    """

    size: str = ""
    quality: Literal["low", "medium", "high", "xhigh", "max", "auto"] | None = None
    background: Literal["transparent", "opaque", "auto"] | None = None
    output_format: Literal["png", "webp", "jpeg", "gif", "svg"] | None = None
    output_compression: int | None = None
    partial_images: int | None = None
    input_fidelity: Literal["low", "high"] | None = None
    moderation: Literal["low", "auto"] | None = None
    model: str = ""

    def __post_init__(self) -> None:
        _IMAGE_GENERATION.check(self)


_IMAGE_GENERATION = Fields(
    ImageGenerationTool,
    size=_TEXT,
    quality=optional(one_of(f"one of {_QUALITIES}", _QUALITIES)),
    background=optional(one_of(f"one of {_BACKGROUNDS}", _BACKGROUNDS)),
    output_format=optional(one_of(f"one of {_FORMATS}", _FORMATS)),
    output_compression=optional(whole("a whole number from 0 to 100", 0)),
    partial_images=optional(whole("a whole number from 0 to 3", 0)),
    input_fidelity=optional(one_of("'low' or 'high'", ("low", "high"))),
    moderation=optional(one_of("'low' or 'auto'", ("low", "auto"))),
    model=_TEXT,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedMCPTool(HostedTool):
    """The tools of a remote MCP server, called by the provider and not by this process.

    The server is at `server_url`, or is one of the provider's own, `connector_id`. `authorization` (a bearer token) and
    `headers` go to it; neither is shown, nor kept with a run. `allowed_tools` (None: all) are those that the model is told of.

    With `require_approval="always"` the provider asks before each call, but for those of `approved_tools`; each request is a
    call of kind `"mcp_approval"` that waits for a person as far as `needs_approval` says. With `"never"` it asks for none.

    `permission` is what a run must be granted to use the server.
    """

    server_label: str
    server_url: str = ""
    connector_id: str = ""
    authorization: str = field(default="", repr=False)
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    server_description: str = ""
    allowed_tools: Sequence[str] | None = None
    require_approval: Approval = "always"
    approved_tools: Sequence[str] = ()
    needs_approval: bool | ApprovalRule = True
    permission: Permission = "write"

    def __post_init__(self) -> None:
        _MCP.check(self)
        _frozen(self, "approved_tools", *(["allowed_tools"] if self.allowed_tools is not None else []))
        if bool(self.server_url) == bool(self.connector_id):
            raise UserError(
                f"HostedMCPTool(server_label={self.server_label!r}) has {'a' if self.server_url else 'no'} server_url and "
                f"{'a' if self.connector_id else 'no'} connector_id, expected one of them; give the server's address"
            )
        if self.require_approval == "never" and (self.approved_tools or self.needs_approval is not True):
            raise UserError(
                f"HostedMCPTool(server_label={self.server_label!r}) has require_approval='never' beside approved_tools or "
                "needs_approval, which say what is asked for, expected one of them; leave out the others"
            )

    @property
    def name(self) -> str:
        return f"mcp:{self.server_label}"

    @property
    def level(self) -> Permission:
        return self.permission


_NAMES = _texts("names of the server's tools; write ['search']")
_MCP = Fields(
    HostedMCPTool,
    server_label=a_name("a text that is not empty; it names the server in calls and approvals"),
    server_url=_TEXT,
    connector_id=_TEXT,
    authorization=secret(_TEXT),
    headers=optional(secret(mapping_of(any_text("a str"), "a dict of header names and values, both texts"))),
    server_description=_TEXT,
    allowed_tools=optional(_NAMES),
    require_approval=one_of(f"one of {get_args(Approval)}", get_args(Approval)),
    approved_tools=_NAMES,
    needs_approval=RULE,
    permission=one_of(f"one of {PERMISSIONS}", PERMISSIONS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSearchTool(HostedTool):
    """Lets the model search the agent's tools in place of being told of all of them, which saves tokens where there are many.

    Those that are `pinned` it is told of all the same. Handoffs always are.
    """

    pinned: Sequence[str] = ()

    def __post_init__(self) -> None:
        _TOOL_SEARCH.check(self)
        _frozen(self, "pinned")


_TOOL_SEARCH = Fields(ToolSearchTool, pinned=_texts("names of tools; write ['read_file']"))

HOSTED_TOOLS: tuple[type[HostedTool], ...] = (
    WebSearchTool,
    WebFetchTool,
    FileSearchTool,
    CodeInterpreterTool,
    ImageGenerationTool,
    HostedMCPTool,
    ToolSearchTool,
)
"""All of them, in the order that pages name them in."""
