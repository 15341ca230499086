"""The port to an MCP server: a connection that is open, and what it answers. `agentsdk.mcp.client` is the adapter.

What a server says comes as plain values. A `Listing` leaves out the entries that are not the protocol and says so: one bad
definition does not cost the others.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from agentsdk.types.base import JsonObject

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
"""How severe what a server logs must be at the least, from the most harmless on."""


STDERR_LINES = 20
"""How many of the last lines that a server writes to stderr are of interest."""


@dataclass(frozen=True, slots=True)
class MCPToolDefinition:
    """A tool as its server declares it. The hints are what the server says of it; None where it says nothing."""

    name: str
    description: str
    input_schema: JsonObject
    output_schema: JsonObject | None = None
    title: str = ""
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools of a server; `problems` says what of its answer was left out, and why.

    `seconds` is for how long it may be taken to be as it is: None until the server says that it has changed.
    """

    tools: tuple[MCPToolDefinition, ...]
    problems: tuple[str, ...] = ()
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class MCPToolResult:
    """What a call gave: content blocks as the protocol has them, structured content where there is some."""

    content: tuple[JsonObject, ...]
    structured: object = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class MCPResource:
    """Something that a server has to read, by its `uri`. Of a template that is a pattern (RFC 6570) with names to fill in."""

    uri: str
    name: str = ""
    description: str = ""
    mime_type: str = ""
    is_template: bool = False


@dataclass(frozen=True, slots=True)
class MCPPrompt:
    """A prompt that a server has: `arguments` are its names and whether each is required."""

    name: str
    description: str = ""
    arguments: Mapping[str, bool] = field(default_factory=dict[str, bool])


@dataclass(frozen=True, slots=True)
class MCPElicitation:
    """A server's question to a person: `schema` is that of the form it wants filled in; or an address to be visited, `url`."""

    server: str
    message: str
    schema: JsonObject | None = None
    url: str = ""


@dataclass(frozen=True, slots=True)
class MCPSamplingRequest:
    """What a server asks the model of its client: `messages` are roles and content blocks as the protocol has them."""

    messages: tuple[tuple[str, tuple[JsonObject, ...]], ...]
    max_tokens: int
    system_prompt: str = ""
    temperature: float | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MCPSample:
    """What the model has answered to that. `is_cut`: its text stopped at its length."""

    text: str
    model: str
    is_cut: bool = False


class SamplingRefusedError(Exception):
    """The model is not asked, or gave no answer: in words for the server."""


@dataclass(frozen=True, slots=True)
class MCPInputRequired:
    """A call that cannot be finished before the server knows more. It is made again with that, and with the server's `state`.

    `samplings` are for the model. `wants_roots` are the keys under which it wants the roots, `unknown` those of what nobody
    here answers.
    """

    state: str | None
    elicitations: Mapping[str, MCPElicitation]
    wants_roots: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    samplings: Mapping[str, MCPSamplingRequest] = field(default_factory=dict[str, MCPSamplingRequest])


@dataclass(frozen=True, slots=True)
class MCPInput:
    """What a call is made again with: the server's `state`, and by its keys each answer, and whether that is of a form.

    An `MCPSample` among the answers is the model's.
    """

    state: str | None
    answers: Mapping[str, tuple[object, bool]]


ROOTS = object()
"""Stands, among answers, for the roots of the settings."""

Elicit = Callable[[MCPElicitation], Awaitable[object]]
"""Called with a question: the content of the form, True for an address that was visited, None to decline."""


Sample = Callable[[MCPSamplingRequest], Awaitable[MCPSample]]
"""Asks the model of the run that a call is of. Raises `SamplingRefusedError`."""


@dataclass(frozen=True, slots=True)
class MCPSettings:
    """What a connection is opened with: the seconds it has to be there, and what the server may ask for or tell.

    `samples`: whether it is told that it may ask for the model.
    """

    connect_seconds: float
    elicit_seconds: float
    log_level: LogLevel | None = None
    elicit: Elicit | None = None
    roots: tuple[str, ...] | None = None
    samples: bool = False


@dataclass(frozen=True, slots=True)
class MCPServerInfo:
    """What a server says of itself when it is connected: its name and version, the protocol's version, what it can do.

    `has_session`: the server knows this connection, as it did before the protocol became stateless.
    """

    name: str = ""
    version: str = ""
    protocol_version: str = ""
    instructions: str = ""
    has_session: bool = False
    capabilities: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class MCPEvents:
    """What a connection tells while it is open: `warn` of what the server sent that was left out, `ended` when it has ended,
    `changed` when its tools have, `log` what it logs and how severe that is (as in `logging`), `stderr` of the lines that a
    stdio server has written there, as they come: of many at once only the last `STDERR_LINES`."""

    warn: Callable[[str], None]
    ended: Callable[[], None]
    changed: Callable[[], None]
    log: Callable[[int, str], None]
    stderr: Callable[[Sequence[str]], None]


OnProgress = Callable[[float, float | None, str | None], None]
"""Called with what is done, what there is to do in all where the server says it, and its message."""


class MCPConnection(Protocol):
    """A server that answers. Its methods may be called from any task of its event loop; they raise `MCPError`.

    One that is cancelled has told the server so. `seconds` is how long the server may be silent, None
    for as long as it likes: a sign of progress counts.
    """

    @property
    def info(self) -> MCPServerInfo:
        """What the server says of itself."""
        ...

    @property
    def is_open(self) -> bool:
        """Whether the connection has not ended."""
        ...

    @property
    def is_doubtful(self) -> bool:
        """Whether the server was last silent, out of reach or answered with an HTTP error: it may not know this connection any
        more."""
        ...

    async def answers(self, seconds: float) -> bool:
        """Whether the server answers a request that does nothing, or is heard of in any other way meanwhile."""
        ...

    async def list_tools(self, seconds: float | None) -> Listing:
        """All pages of the server's tools."""
        ...

    async def list_resources(self, seconds: float | None) -> tuple[MCPResource, ...]:
        """The server's resources, then its templates of resources."""
        ...

    async def read_resource(self, uri: str, seconds: float | None) -> tuple[JsonObject, ...]:
        """The contents of a resource, as the protocol has them."""
        ...

    async def list_prompts(self, seconds: float | None) -> tuple[MCPPrompt, ...]:
        """The server's prompts."""
        ...

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str], seconds: float | None
    ) -> tuple[tuple[str, JsonObject], ...]:
        """The messages of a prompt: the role and the content block of each."""
        ...

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, object],
        seconds: float | None,
        on_progress: OnProgress | None = None,
        given: MCPInput | None = None,
        sample: Sample | None = None,
    ) -> MCPToolResult | MCPInputRequired:
        """Call a tool by the server's own name for it, with what was `given` where it has asked for something.

        `sample` answers a server of the handshake era that asks for the model meanwhile. Such calls follow each other: what the
        server asks does not say for which of them.
        """
        ...


Connect = Callable[[MCPEvents], AbstractAsyncContextManager[MCPConnection]]
"""Opens a connection, in the task that also closes it."""
