"""Shells: the tool, what an executor is given and what it gives back, and the environments of the provider."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NotRequired, cast

from typing_extensions import TypedDict

from agentsdk.compat.openai_agents._tools.function import MaybeAwaitable, ToolCaller
from agentsdk.compat.openai_agents.exceptions import UserError
from agentsdk.compat.openai_agents.run_context import RunContextWrapper

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.items import ToolApprovalItem


class ShellOnApprovalFunctionResult(TypedDict):
    """What was decided on a shell call."""

    approve: bool
    reason: NotRequired[str]


ShellApprovalFunction = Callable[[RunContextWrapper[Any], "ShellActionRequest", str], MaybeAwaitable[bool]]


ShellOnApprovalFunction = Callable[[RunContextWrapper[Any], "ToolApprovalItem"], MaybeAwaitable[ShellOnApprovalFunctionResult]]


@dataclass
class LocalShellCommandRequest:
    """A call of the older shell tool."""

    ctx_wrapper: RunContextWrapper[Any]
    data: Any


LocalShellExecutor = Callable[[LocalShellCommandRequest], MaybeAwaitable[str]]


@dataclass
class LocalShellTool:
    """The older shell tool: `executor` runs a command and gives what it printed."""

    executor: LocalShellExecutor

    @property
    def name(self) -> str:
        """Its name."""
        return "local_shell"


class ShellToolLocalSkill(TypedDict):
    """A skill in a local folder."""

    description: str
    name: str
    path: str


class ShellToolSkillReference(TypedDict):
    """A skill that the provider keeps."""

    type: Literal["skill_reference"]
    skill_id: str
    version: NotRequired[str]


class ShellToolInlineSkillSource(TypedDict):
    """The bytes of a skill."""

    data: str
    media_type: Literal["application/zip"]
    type: Literal["base64"]


class ShellToolInlineSkill(TypedDict):
    """A skill that is sent along."""

    description: str
    name: str
    source: ShellToolInlineSkillSource
    type: Literal["inline"]


ShellToolContainerSkill = ShellToolSkillReference | ShellToolInlineSkill


class ShellToolContainerNetworkPolicyDomainSecret(TypedDict):
    """A secret that the container has for one domain."""

    domain: str
    name: str
    value: str


class ShellToolContainerNetworkPolicyAllowlist(TypedDict):
    """The domains that the container may reach."""

    allowed_domains: list[str]
    type: Literal["allowlist"]
    domain_secrets: NotRequired[list[ShellToolContainerNetworkPolicyDomainSecret]]


class ShellToolContainerNetworkPolicyDisabled(TypedDict):
    """The container reaches nothing."""

    type: Literal["disabled"]


ShellToolContainerNetworkPolicy = ShellToolContainerNetworkPolicyAllowlist | ShellToolContainerNetworkPolicyDisabled


class ShellToolLocalEnvironment(TypedDict):
    """The commands run here."""

    type: Literal["local"]
    skills: NotRequired[list[ShellToolLocalSkill]]


class ShellToolContainerAutoEnvironment(TypedDict):
    """The commands run in a container that the provider makes."""

    type: Literal["container_auto"]
    file_ids: NotRequired[list[str]]
    memory_limit: NotRequired[Literal["1g", "4g", "16g", "64g"] | None]
    network_policy: NotRequired[ShellToolContainerNetworkPolicy]
    skills: NotRequired[list[ShellToolContainerSkill]]


class ShellToolContainerReferenceEnvironment(TypedDict):
    """The commands run in a container that there is."""

    type: Literal["container_reference"]
    container_id: str


ShellToolHostedEnvironment = ShellToolContainerAutoEnvironment | ShellToolContainerReferenceEnvironment


ShellToolEnvironment = ShellToolLocalEnvironment | ShellToolHostedEnvironment


@dataclass
class ShellCallOutcome:
    """How a command ended."""

    type: Literal["exit", "timeout"]
    exit_code: int | None = None


def _exited() -> ShellCallOutcome:
    return ShellCallOutcome("exit")


@dataclass
class ShellCommandOutput:
    """What a command printed."""

    stdout: str = ""
    stderr: str = ""
    outcome: ShellCallOutcome = field(default_factory=_exited)
    command: str | None = None
    provider_data: dict[str, Any] | None = None

    @property
    def exit_code(self) -> int | None:
        """Its exit code; None where it was stopped."""
        return self.outcome.exit_code

    @property
    def status(self) -> Literal["completed", "timeout"]:
        """Whether it ended by itself."""
        return "timeout" if self.outcome.type == "timeout" else "completed"


@dataclass
class ShellResult:
    """What a shell call came to."""

    output: list[ShellCommandOutput]
    max_output_length: int | None = None
    provider_data: dict[str, Any] | None = None


@dataclass
class ShellActionRequest:
    """The commands of a call."""

    commands: list[str]
    timeout_ms: int | None = None
    max_output_length: int | None = None


@dataclass
class ShellCallData:
    """A shell call."""

    call_id: str
    action: ShellActionRequest
    status: Literal["in_progress", "completed"] | None = None
    raw: Any | None = None


@dataclass
class ShellCommandRequest:
    """What an executor is given."""

    ctx_wrapper: RunContextWrapper[Any]
    data: ShellCallData


ShellExecutor = Callable[[ShellCommandRequest], MaybeAwaitable["str | ShellResult"]]


@dataclass
class ShellTool:
    """Runs the model's commands: with `executor` here, else in the provider's `environment`."""

    executor: ShellExecutor | None = None
    name: str = "shell"
    needs_approval: bool | ShellApprovalFunction = False
    on_approval: ShellOnApprovalFunction | None = None
    environment: ShellToolEnvironment | None = None
    allowed_callers: list[ToolCaller] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        environment: dict[str, Any] = dict(self.environment or {"type": "local"})
        self.environment = cast("ShellToolEnvironment", environment)
        is_local = environment.get("type") == "local"
        if is_local and self.executor is None:
            raise UserError("ShellTool has a local environment and no executor, expected one that runs the commands")
        if not is_local and self.executor is not None:
            raise UserError("ShellTool has an executor and a hosted environment, expected one of them; leave the executor out")
        if not is_local and (self.needs_approval is not False or self.on_approval is not None):
            raise UserError("ShellTool has an approval rule and a hosted environment, where the provider runs the commands")

    @property
    def type(self) -> str:
        """Its type."""
        return "shell"
