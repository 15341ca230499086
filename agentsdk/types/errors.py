"""Every error the SDK raises, split by who is to blame.

```
AgentsException                            .state: where the run stood; resuming it loses nothing
├── UserError                              the caller: a declaration, an argument, a callable given to us
│   ├── ContextWindowError                 what the model must be sent does not fit into its context window
│   ├── PlanError                          a plan cannot be carried out; .problems
│   ├── HookError                          a hook raised
│   └── CallbackError                      another callable given to us raised (instructions, a rule, a filter, an output check)
├── ModelError                             the model or its provider; .usage and .attempts are what it cost
│   ├── ModelBehaviorError                 a reply that cannot be used
│   │   ├── IncompleteResponseError        cut before it was proven whole; .partial is what came
│   │   ├── EmptyResponseError             neither text, call nor refusal, after the retries
│   │   ├── MalformedResponseError         not the protocol: HTML, bad JSON, bad UTF-8, no choices
│   │   ├── UnsupportedCallError           a call of a provider's own tool that nobody can answer: .kind
│   │   ├── InvalidArgumentsError          a call's arguments do not fit its tool (raised inside the call; the model is told)
│   │   ├── InvalidOutputError             the final output does not fit, or is not accepted, after the feedback turns: .output
│   │   ├── ModelRefusalError              the model refused; .refusal is its text
│   │   └── ContentFilterError             the provider's filter stopped the reply
│   └── ProviderError                      an answer with an error status, or none: .status .code .request_id .retryable
│       ├── ModelConnectionError           no connection, or a reset
│       ├── ModelTimeoutError              a pool, connect, read, idle or total deadline passed
│       ├── BadRequestError                400, 413, 422: the request as it stands will never be taken
│       │   └── ContextTooLongError        it is longer than the model's context window
│       ├── AuthenticationError            401, 403; a cloud gave no token, or the clock is off
│       ├── NotFoundError                  404; a region without the model
│       ├── RateLimitError                 429; .retry_after in seconds, if the provider said
│       └── ProviderUnavailableError       408, 409, 5xx
├── ToolError                              a tool, where its error cannot go to the model
│   ├── ToolTimeoutError                   its timeout passed (raised inside the call; the model is told)
│   ├── TransientToolError                 raised by a body for what may pass: the call is tried again; .retry_after
│   ├── ToolCircuitOpenError               its last calls failed, so this one was not made (the model is told)
│   ├── FetchError                         a page may not or cannot be had (the model is told)
│   ├── PatchError                         a patch that cannot be read, or does not fit: no file was changed
│   ├── ComputerError                      a screen or a browser cannot do what was asked for, or crashed (the model is told)
│   ├── ToolsetError                       a toolset raised, did not answer in time, or offered what is no tool
│   └── MCPError                           an MCP server, or the way to it: .server (the model is told, where it is a call's)
│       ├── MCPConnectionError             it did not start, could not be reached, or the connection ended
│       ├── MCPTimeoutError                it was silent for too long
│       ├── MCPStatusError                 it answered with an HTTP error, or a redirect that is not followed: .status
│       ├── MCPProtocolError               what it sent is not the protocol, or not what its tool declares
│       └── MCPCallError                   it refused a request, or says that a call failed: .code
├── LimitExceededError                     a limit of the run: .kind .used .limit
│   ├── MaxTurnsExceeded
│   ├── RequestLimitExceededError
│   ├── TokenLimitExceededError            input, output or both
│   ├── CostLimitExceededError
│   ├── DeadlineExceededError              wall clock, or working time
│   ├── ToolCallLimitExceededError         in all, or of one tool
│   ├── ConsecutiveErrorsExceededError     turns running in which every call failed
│   ├── RepeatedCallsError                 the same calls with the same results, round after round
│   └── NoProgressError                    turns running that brought nothing new
├── RunCancelledError                      somebody cancelled the run: .by .reason
├── GuardrailError                         a guardrail
│   ├── GuardrailFailedError               it raised: fails closed
│   ├── InputGuardrailTripwireTriggered    .guardrail_result is its verdict
│   ├── OutputGuardrailTripwireTriggered
│   ├── ToolInputGuardrailTripwireTriggered
│   └── ToolOutputGuardrailTripwireTriggered
├── StateError                             a saved state
│   ├── StateCorruptError                  not a state, or one whose parts contradict each other
│   ├── StateVersionError                  written by a newer version
│   ├── StateTamperedError                 its seal, or its encryption in a store, does not fit
│   └── StateMismatchError                 of another agent, of one that changed, or without what guarded the run
│       └── WorkflowChangedError           the program does not call what is recorded; .step
├── WorkflowError                          a workflow came to an end that is none
│   ├── StepFailedError                    a step failed for good; .step, .error_type, .detail
│   └── WorkflowFailedError                no program went on after that; .step, .undone, .not_undone
├── SandboxError                           a sandbox; a command that fails in one raises nothing
│   ├── SandboxUnavailableError            none can be had here: what to install
│   └── SandboxFileError                   a file of its workspace; .path
└── StoreError                             what keeps sessions and runs
    ├── RunConflictError                   the run is elsewhere: held by another process, or further on
    ├── RunNotFoundError
    ├── StoreBusyError                     a lock did not come free in time; nothing was done
    ├── StoreUnavailableError              no connection, or it broke; what was asked for may have been done
    ├── SessionError
    │   └── SessionBusyError               a lock did not come free in time; nothing was done
    └── MemoryFileError                    what is remembered in a file cannot be read or written
        ├── MemoryBusyError                it was changed meanwhile, or a lock did not come free; nothing was written
        └── MemoryRefusedError             what a model made of it would lose too much, or is too large; nothing was written
```
A message names the object, says what was expected, then the remedy. It carries no argument values, results or keys.

Longer than most modules, so that the whole tree is drawn, and read, on one page.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal, Protocol

from agentsdk.types.usage import SpentAttempt, Usage

LimitKind = Literal[
    "turns",
    "requests",
    "input_tokens",
    "output_tokens",
    "tokens",
    "cost",
    "deadline",
    "active_time",
    "tool_calls",
    "calls_per_tool",
    "consecutive_errors",
    "repeated_rounds",
    "no_progress",
]
"""What can be limited: the fields of `RunLimits` of the same names."""

Number = int | float | Decimal


class ResumableState(Protocol):
    """What `.state` of an error is: pass it to `Runner.run` to go on."""

    @property
    def usage(self) -> Usage:
        """What the run has spent."""
        ...

    @property
    def cost(self) -> Decimal | None:
        """What that came to in US dollars; None where it is not known."""
        ...

    def to_string(self) -> str:
        """The state as JSON text."""
        ...

    def replace_input(self, new_input: str) -> None:
        """Begin again with another input: what a run stopped by an input guardrail needs."""
        ...


class VerdictOutput(Protocol):
    """What a guardrail said, as far as all kinds of guardrails say it."""

    @property
    def output_info(self) -> Any:
        """The detail it gave."""
        ...


class Verdict(Protocol):
    """A guardrail's verdict: `GuardrailResult`, as far as an error knows it."""

    @property
    def guardrail(self) -> str:
        """The guardrail's name."""
        ...

    @property
    def output(self) -> VerdictOutput:
        """What it said."""
        ...


class AgentsException(Exception):  # noqa: N818 - the field's name for the root
    """Root of every error of the SDK. `state` is where the run stood; None for what was raised before there was a run."""

    # Every error of a run carries a state, so that `Runner.run(agent, error.state)` type-checks; Any stands for the None of
    # those that were raised before there was a run.
    state: ResumableState | Any = None


class UserError(AgentsException):
    """The caller's declaration or argument is wrong."""


class ContextWindowError(UserError):
    """What the model must be sent does not fit into its context window; the message shows the arithmetic."""


class PlanError(UserError):
    """A plan cannot be read, or cannot be carried out. `problems` are all that is wrong with it, one a text."""

    def __init__(self, message: str, *, problems: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


class HookError(UserError):
    """A hook raised; the cause is chained."""


class CallbackError(UserError):
    """A callable given by the caller raised; the cause is chained."""


class ModelError(AgentsException):
    """The model or its provider is to blame.

    `attempts` say what each request cost that came to nothing, as far as the provider told: those that were tried again or
    passed to another model, and last the one that gave this error.
    """

    attempts: tuple[SpentAttempt, ...] = ()

    @property
    def usage(self) -> Usage | None:
        """What `attempts` cost together; None where nothing is known to be spent. A model of your own may set it."""
        return sum((attempt.usage for attempt in self.attempts), Usage()) if self.attempts else None

    @usage.setter
    def usage(self, usage: Usage | None) -> None:
        self.attempts = () if usage is None else (SpentAttempt(usage),)


class ModelBehaviorError(ModelError):
    """The model's reply cannot be used."""


class IncompleteResponseError(ModelBehaviorError):
    """The reply ended before it was proven whole. `partial` is the text that came."""

    def __init__(self, message: str, *, partial: str = "") -> None:
        super().__init__(message)
        self.partial = partial


class EmptyResponseError(ModelBehaviorError):
    """The reply holds neither text, call nor refusal."""


class MalformedResponseError(ModelBehaviorError):
    """The reply is not in the provider's protocol."""


class UnsupportedCallError(ModelBehaviorError):
    """The reply holds a call of one of the provider's own tools that the client would have to answer. `kind` is its type."""

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


class InvalidArgumentsError(ModelBehaviorError):
    """A call's arguments do not fit its tool. `reason` says to the model what to change."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class InvalidOutputError(ModelBehaviorError):
    """The final output does not fit the agent's `output_type`, or an output validator does not accept it.

    `output` is the model's text."""

    def __init__(self, message: str, *, output: str = "") -> None:
        super().__init__(message)
        self.output = output


class ModelRefusalError(ModelBehaviorError):
    """The model refused. `refusal` is its text."""

    def __init__(self, message: str, *, refusal: str = "") -> None:
        super().__init__(message)
        self.refusal = refusal


class ContentFilterError(ModelBehaviorError):
    """The provider's content filter stopped the reply."""


class ProviderError(ModelError):
    """The provider answered with an error, or not at all.

    `status` is the HTTP status (None without an answer), `code` the provider's own, `retryable` whether the same request may
    succeed later, `retry_after` the seconds the provider asked for.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str = "",
        request_id: str = "",
        retryable: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.request_id = request_id
        self.retryable = retryable
        self.retry_after = retry_after


class ModelConnectionError(ProviderError):
    """No connection, or it broke."""


class ModelTimeoutError(ProviderError):
    """A deadline of `ModelTimeouts` passed: for a free connection, to connect, of silence, idle, or in total."""


class BadRequestError(ProviderError):
    """The provider will never take this request as it stands."""


class ContextTooLongError(BadRequestError):
    """The request is longer than the model's context window, as the provider counts."""


class AuthenticationError(ProviderError):
    """The key is missing, wrong or not allowed to do this."""


class NotFoundError(ProviderError):
    """The model or the address does not exist."""


class RateLimitError(ProviderError):
    """Too many requests."""


class ProviderUnavailableError(ProviderError):
    """The provider cannot answer now."""


class ToolError(AgentsException):
    """A tool failed where its error cannot go to the model."""


class ToolTimeoutError(ToolError):
    """A tool's timeout passed."""


class TransientToolError(ToolError):
    """For a tool's body to raise: what went wrong may pass. `retry_after`: seconds that should go by before the next try."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ToolCircuitOpenError(ToolError):
    """A tool's last calls all failed with errors that may pass, so this one was not made."""


class FetchError(ToolError):
    """A page may not be had, or is none; asking again changes nothing."""


class PatchError(ToolError):
    """A patch cannot be read, or does not fit the files it is for; none of them was changed."""


class ComputerError(ToolError):
    """A computer's screen, or the browser that is shown there, cannot do what was asked for, does not answer, or has ended."""


class ToolsetError(ToolError):
    """A toolset raised, did not answer in time, or offered what is no tool. Resuming asks it again."""


class MCPError(ToolError):
    """An MCP server failed, or the way to it. `server` is its name."""

    def __init__(self, message: str, *, server: str = "") -> None:
        super().__init__(message)
        self.server = server


class MCPConnectionError(MCPError):
    """An MCP server did not start or cannot be reached, or the connection to it ended. `sent`: it may have got the request."""

    def __init__(self, message: str, *, server: str = "", sent: bool = False) -> None:
        super().__init__(message, server=server)
        self.sent = sent


class MCPTimeoutError(MCPError):
    """An MCP server was silent for too long."""


class MCPStatusError(MCPError):
    """An MCP server answered with an HTTP error, or a redirect that is not followed. `status` is the HTTP status."""

    def __init__(self, message: str, *, server: str = "", status: int) -> None:
        super().__init__(message, server=server)
        self.status = status


class MCPProtocolError(MCPError):
    """What an MCP server sent is not the protocol, or not what its tool declares."""


class MCPCallError(MCPError):
    """An MCP server refused a request, or says that a call failed. `code` is that of JSON-RPC, None where it gave none."""

    def __init__(self, message: str, *, server: str = "", code: int | None = None) -> None:
        super().__init__(message, server=server)
        self.code = code


class LimitExceededError(AgentsException):
    """A limit of the run was reached; `.state` resumes with a higher one.

    `kind` is the field of `RunLimits`, `used` what the run had used of it, `limit` what it may use (US dollars, seconds, or a
    count).
    """

    def __init__(self, message: str, *, kind: LimitKind, used: Number, limit: Number) -> None:
        super().__init__(message)
        self.kind: LimitKind = kind
        self.used = used
        self.limit = limit


class MaxTurnsExceeded(LimitExceededError):  # noqa: N818 - openai-agents' name
    """The run took `limits.turns` turns without a final output."""


class RequestLimitExceededError(LimitExceededError):
    """The next request to a model would be one more than `limits.requests`."""


class TokenLimitExceededError(LimitExceededError):
    """The next request does not fit what is left of `limits.input_tokens`, `output_tokens` or `tokens`."""


class CostLimitExceededError(LimitExceededError):
    """The next request may cost more than is left of `limits.cost`."""


class DeadlineExceededError(LimitExceededError):
    """The run took as long as `limits.deadline` or `limits.active_time` allows."""


class ToolCallLimitExceededError(LimitExceededError):
    """The turn's calls are more than is left of `limits.tool_calls`, or of a tool's `limits.calls_per_tool`; none was run."""


class ConsecutiveErrorsExceededError(LimitExceededError):
    """In `limits.consecutive_errors` turns running every call failed."""


class RepeatedCallsError(LimitExceededError):
    """The run made the same calls with the same results for `limits.repeated_rounds` rounds running."""


class NoProgressError(LimitExceededError):
    """`limits.no_progress` turns running brought nothing new."""


class RunCancelledError(AgentsException):
    """Somebody cancelled the run, with `Runner.cancel`: `by` says who, `reason` why."""

    def __init__(self, message: str, *, by: str, reason: str = "") -> None:
        super().__init__(message)
        self.by = by
        self.reason = reason


class GuardrailError(AgentsException):
    """A guardrail stopped the run."""


class GuardrailFailedError(GuardrailError):
    """A guardrail raised, so it counts as tripped; the cause is chained."""


class _TripwireError(GuardrailError):
    def __init__(self, message: str, guardrail_result: Verdict) -> None:
        super().__init__(message)
        self.guardrail_result = guardrail_result


class InputGuardrailTripwireTriggered(_TripwireError):  # noqa: N818 - the field's name
    """An input guardrail tripped."""


class OutputGuardrailTripwireTriggered(_TripwireError):  # noqa: N818 - the field's name
    """An output guardrail tripped."""


class ToolInputGuardrailTripwireTriggered(_TripwireError):  # noqa: N818 - the field's name
    """A tool's input guardrail stopped the run."""


class ToolOutputGuardrailTripwireTriggered(_TripwireError):  # noqa: N818 - the field's name
    """A tool's output guardrail stopped the run."""


class StateError(AgentsException):
    """A saved state cannot be used."""


class StateCorruptError(StateError):
    """Not a run state, or one whose parts contradict each other."""


class StateVersionError(StateError):
    """The state was written by a newer version."""


class StateTamperedError(StateError):
    """The state's seal does not fit its content, or an encrypted record of a store is not what was written there."""


class StateMismatchError(StateError):
    """The state is of another agent, of one that has changed, or goes on without a guard that the run was begun under."""


class WorkflowChangedError(StateMismatchError):
    """The program of a workflow does not call the steps that are recorded. `step` is the key of the first that differs, `""`
    where the run was begun under a version of the workflow that is not known."""

    def __init__(self, message: str, *, step: str) -> None:
        super().__init__(message)
        self.step = step


class WorkflowError(AgentsException):
    """A workflow came to an end that is none."""


class StepFailedError(WorkflowError):
    """A step of a workflow failed for good, which is recorded.

    `step` is its key, `error_type` the class of what its body raised last, `detail` what that said, shortened.
    """

    def __init__(self, message: str, *, step: str, error_type: str, detail: str = "") -> None:
        super().__init__(message)
        self.step = step
        self.error_type = error_type
        self.detail = detail


class WorkflowFailedError(WorkflowError):
    """A step failed for good, and the program did not go on after that.

    `step` is its key. Of the steps that can be undone, `undone` are those that were, in that order, and `not_undone` those
    whose undoing failed.
    """

    def __init__(self, message: str, *, step: str, undone: tuple[str, ...] = (), not_undone: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.step = step
        self.undone = undone
        self.not_undone = not_undone


class SandboxError(AgentsException):
    """A sandbox failed. A command that runs in it and fails raises nothing: its exit code says so."""


class SandboxUnavailableError(SandboxError):
    """The sandbox cannot isolate on this system; the message says what to install. Nothing was run."""


class SandboxFileError(SandboxError):
    """A path leads out of the workspace, or what is there is not what was asked for. `path` is the path as given."""

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(message)
        self.path = path


class StoreError(AgentsException):
    """What keeps sessions and runs failed."""


class RunConflictError(StoreError):
    """The stored run is not where the caller takes it to be: another process holds it, or has gone on with it."""


class RunNotFoundError(StoreError):
    """The store has no such run."""


class StoreBusyError(StoreError):
    """What keeps the runs stayed locked for too long; nothing was done."""


class StoreUnavailableError(StoreError):
    """What keeps the runs cannot be reached; what was asked for last may have been done."""


class SessionError(StoreError):
    """A session could not be read or written."""


class SessionBusyError(SessionError):
    """What keeps the session stayed locked for too long; nothing was done."""


class MemoryFileError(StoreError):
    """The file of a memory, or what is kept beside it, could not be read or written; what was there is as it was."""


class MemoryBusyError(MemoryFileError):
    """A memory was changed by others meanwhile, or stayed locked for too long; nothing was written."""


class MemoryRefusedError(MemoryFileError):
    """What a model made of a memory would lose too much of it, or is too large; nothing was written."""
