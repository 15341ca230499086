"""Run events: everything that was ever observed in a run. A run *is* its list of events.

Time, ids and answers of user callables arrive inside events, so that folding a log always gives the same state. In a saved
state each event is a JSON array whose first entry is its tag.

Times are Unix timestamps in seconds. Those of replies, calls and ends are rounded up to the millisecond, which takes four
digits less and is never before the start of the run. A reply and a result say when they came, and how many milliseconds that
took.
"""

from __future__ import annotations

from math import floor
from typing import Literal

from agentsdk.types.base import Compact
from agentsdk.types.items import Item, Part
from agentsdk.types.permission import Permission
from agentsdk.types.response import ModelResponse
from agentsdk.types.spec import Effect, ToolSpec
from agentsdk.types.usage import Usage

GuardrailKind = Literal["input", "output", "tool_input", "tool_output", "added_input"]
GuardrailBehavior = Literal["allow", "reject_content", "raise_exception"]

Took = int | float | None
"""The whole milliseconds that something took, None where that is not known. Builds before wrote when it began, a float."""

_MOST_MS = 10**15

GuardrailPlace = tuple[str, int, int]
"""One of the guardrails declared together: its name, which of that name it is, from 0, and how many there are of it."""


def milliseconds(start: float, end: float) -> int | None:
    """The whole milliseconds from one time to another; None where `start` is 0, and where a clock told no times."""
    took = (end - start) * 1000
    return floor(took + 0.01) if start and -_MOST_MS < took < _MOST_MS else None


def _start(end: float, took: Took) -> float:
    """When that began which ended at `end`; 0 where that is not known."""
    if isinstance(took, int):
        return round(end - took / 1000, 3)
    return took or 0.0


class RunStarted(Compact, tag="started"):
    """The run was accepted. The first `history` items of `input` came from a session. `at`: a Unix timestamp.

    A stored run says how its agent was declared (`fingerprint`), a fork also which run it left (`forked_from`). `keys` is the
    scheme of its idempotency keys and approvals, see `core.keys`. `guards` names what guards it, see `engine.guards`.
    `metadata` is what `RunConfig.metadata` gave. Of the runs that are due, workers take those of the highest `priority` first;
    this one not before `due_at`, a Unix timestamp. `conversation_id` or `previous_response_id` is where the provider keeps what
    came before the run, and the run. `version` is that of the workflow whose run it is.
    """

    run_id: str
    agent: str
    input: tuple[Item, ...]
    history: int
    at: float
    fingerprint: str = ""
    forked_from: str = ""
    keys: int = 0
    guards: tuple[tuple[str, ...], ...] = ()
    metadata: dict[str, str] = {}  # noqa: RUF012 - a Struct gives each event one of its own
    priority: int = 0
    due_at: float = 0.0
    conversation_id: str = ""
    previous_response_id: str = ""
    version: str = ""


class RunResumed(Compact, tag="resumed"):
    """`owner` went on with the stored run, its agent declared as `fingerprint` says. Whoever had it before is behind now."""

    owner: str
    at: float
    fingerprint: str = ""


class InputReplaced(Compact, tag="input"):
    """The caller replaced the run's input; an open turn and stored input verdicts are void."""

    input: tuple[Item, ...]


class InputAdded(Compact, tag="added"):
    """Messages that arrived while the run was going on; they enter between two turns: in an open one, when it ends."""

    items: tuple[Item, ...]


class SignalsTaken(Compact, tag="signals"):
    """The signals up to number `through` of the run's mailbox are recorded: what they did is in the events beside this one.

    `refused` says of each that did nothing why: its number, and words for a person.
    """

    through: int
    refused: tuple[tuple[int, str], ...] = ()


class RunPaused(Compact, tag="paused"):
    """The run goes on no further until somebody says so. `by` says who paused it."""

    by: str = ""
    reason: str = ""
    at: float = 0.0


class RunUnpaused(Compact, tag="unpaused"):
    """A paused run may go on. `by` says who let it."""

    by: str = ""
    at: float = 0.0


class ToolsetChanged(Compact, tag="toolset"):
    """A toolset of the current agent offers something else than before, from the turn that begins.

    `added` are the tools that are new, or changed: a changed one keeps its place. `instructions` is what the model is told of
    them all. `note` is the toolset's own: by what it chose, say. Written only where something has changed.
    """

    toolset: str
    added: tuple[ToolSpec, ...] = ()
    removed: tuple[str, ...] = ()
    instructions: str = ""
    note: str = ""


class GuardrailJudged(Compact, tag="verdict"):
    """A guardrail's verdict; `added_input` is one on a message that arrived during the run.

    `info` is JSON text; `call_id` is set for guardrails of a tool. Names may repeat: it is of the guardrail numbered
    `occurrence`, from 0, among the `occurrences` of that name. With `releases` it is the last of a call's output guardrails: if
    it allows the result, the model gets it.
    """

    guardrail: str
    kind: GuardrailKind
    behavior: GuardrailBehavior
    info: str = "null"
    call_id: str = ""
    message: str = ""
    occurrence: int = 0
    occurrences: int = 1
    releases: bool = False

    @property
    def place(self) -> GuardrailPlace:
        """Which of the declared guardrails the verdict is of."""
        return self.guardrail, self.occurrence, self.occurrences


class AttemptSpent(Compact, tag="attempt"):
    """A request that did not give the turn's reply.

    `kind`: the `reply` was of no use, or is being continued, `partial` being its text so far; the request was `refused` as
    too long; it asked for a `summary` of earlier items, `partial` being that, `""` where none came; a `call` made it, for
    itself; or it failed and was `discarded`: sent again, or passed to another model, at once. `model` is the model's name,
    where it may be another than the reply's, and `asked` the one it was asked by, where that is yet another. `chosen` is the
    name that a `ModelSelector` gave for the turn, by which the rest of the turn is asked.
    """

    usage: Usage
    partial: str = ""
    kind: Literal["reply", "refused", "summary", "discarded", "call"] = "reply"
    model: str = ""
    asked: str = ""
    chosen: str = ""


class ModelReplied(Compact, tag="reply"):
    """The turn's reply, proven complete, its call ids unique in the run. `disabled` names tools that were not offered.

    `counted` are the tokens that were counted for its request; 0 where none were. `asked` is the name by which the model was
    asked, where the response names another or none. `is_last`: it was asked for because a limit was reached. `took_ms` are the
    milliseconds from the request to here, None where that is not known.

    With a `snapshot` a program gave it, not a model: the program goes on from there once its calls have their results.
    """

    response: ModelResponse
    at: float
    disabled: tuple[str, ...] = ()
    counted: int = 0
    asked: str = ""
    is_last: bool = False
    took_ms: Took = None
    snapshot: str = ""

    @property
    def asked_at(self) -> float:
        """When the request was made (a Unix timestamp), 0 where that is not known."""
        return _start(self.at, self.took_ms)


class ApprovalJudged(Compact, tag="asked"):
    """Whether one call waits for a person, where that was not plain from the tool's declaration: answered once.

    `fingerprint` is of the tool: once that has changed, the question is put again and earlier answers are void. `begun`: the
    call had begun when it was put, so it waits for an answer before it goes on. `reason` says why a person is asked, where that
    is not the tool's own rule.
    """

    call_id: str
    needed: bool
    fingerprint: str = ""
    begun: bool = False
    reason: str = ""


class ApprovalDecided(Compact, tag="decided"):
    """A person decided: `by` says who. `always` covers the agent's tool from now on. After `expires_at` (a Unix timestamp) it
    counts no more. Of a rejected call the model is told `message` alone, where there is one.

    `digest` binds that to run, path, call, tool and canonical arguments, `fingerprint` to the tool's declaration.
    `after_untrusted`: they were told that the run is tainted, so that an `always` holds for such calls too.
    """

    call_id: str
    tool: str
    digest: str
    approved: bool
    reason: str = ""
    always: bool = False
    agent: str = ""
    by: str = ""
    expires_at: float | None = None
    fingerprint: str = ""
    after_untrusted: bool = False
    message: str = ""


class ArgumentsEdited(Compact, tag="edited"):
    """A person changed the arguments of a call that has not begun: it runs with `arguments`, JSON text, not with the model's.

    `by` says who. `at` is a Unix timestamp, 0 where it is not known.
    """

    call_id: str
    arguments: str
    by: str = ""
    at: float = 0.0


class ArgumentsRefused(Compact, tag="edit_refused"):
    """The edited arguments do not fit the call's tool: it waits for another approval. `reason` says why, in words for who gave
    them."""

    call_id: str
    reason: str


class CallWaits(Compact):
    """What a call waits for: `calls` by their ids, and `tools`, all of whose calls in the reply must have their results."""

    call_id: str
    calls: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


class CallsOrdered(Compact, tag="order"):
    """The reply's calls that wait for others, as their tools are declared, each behind those that it waits for."""

    waits: tuple[CallWaits, ...]


class ToolsIntended(Compact, tag="intend"):
    """These calls are about to run: written before any of them begins, at `at` (a Unix timestamp)."""

    call_ids: tuple[str, ...]
    at: float = 0.0


class AnswerAwaited(Compact, tag="awaited"):
    """A call began to wait for its answer at `at` (a Unix timestamp): an external one, or one whose body has asked for it.

    From `deadline` on (a Unix timestamp, None for none) nobody is waited for: `default`, JSON text, is the answer then, or an
    error where that is `""`. `schema` is the JSON schema of the answer as text, `""` where any fits. `question` is what a
    person is asked, `choices` are the answers there are, none where any will do. `state` is what the body goes on with. The
    next signal of the name `signal` is an answer too, `""` where none is.
    """

    call_id: str
    at: float
    deadline: float | None = None
    default: str = ""
    schema: str = ""
    question: str = ""
    choices: tuple[str, ...] = ()
    state: str = ""
    signal: str = ""


class CallAnswered(Compact, tag="answered"):
    """An answer came to an external call: `answer` is JSON text, `by` says who gave it. It is the call's result if it fits.

    `at` is a Unix timestamp, 0 where it is not known.
    """

    call_id: str
    answer: str
    by: str = ""
    at: float = 0.0


class AnswerRefused(Compact, tag="answer_refused"):
    """The answer does not fit the call's tool: it waits for another. `reason` says why, in words for who gave it."""

    call_id: str
    reason: str


class NotGranted(Compact):
    """Why a call was refused: no grant that its run had covered the tool for `agent`.

    `permission` and `tags` are the tool's. `grants` are the names of those that there were.
    """

    tool: str
    permission: Permission
    tags: tuple[str, ...]
    agent: str
    grants: tuple[str, ...]


class ToolFinished(Compact, tag="result"):
    """A call's one result. `whole` is the id under which all of it is kept, where it was too long and is cut.

    `is_withheld`: its output guardrails have yet to let it pass; until then nobody is shown it. Its body ran, or it waited for
    its answer, for `took_ms` milliseconds up to `at` (a Unix timestamp), the last time where it was tried again; they are None
    and 0 where it did neither. `failure`: it failed with what may pass, or was refused, at `at`, because its tool's circuit
    was open. It was refused at `at` as well where it is `not_granted`. `untrusted`: it may hold what strangers wrote, and
    taints the run.
    """

    call_id: str
    output: str | tuple[Part, ...]
    is_error: bool = False
    whole: str = ""
    is_withheld: bool = False
    took_ms: Took = None
    at: float = 0.0
    failure: Literal["", "transient", "circuit"] = ""
    not_granted: NotGranted | None = None
    untrusted: bool = False

    @property
    def started_at(self) -> float:
        """When its body, or its wait, began (a Unix timestamp), the last time; 0 where it did neither."""
        return _start(self.at, self.took_ms)


class ToolAttemptFailed(Compact, tag="attempt_failed"):
    """An attempt at a call failed with what may pass: `error` is the class of what its body raised.

    It ran from `started_at` to `at`, and the next one begins at `next_at` (Unix timestamps).
    """

    call_id: str
    error: str
    started_at: float
    at: float
    next_at: float


class ToolCheckpointed(Compact, tag="tool_checkpoint"):
    """How far the body of a call has come, in its own words: it stands in place of what the call said before."""

    call_id: str
    data: str


class CallsInDoubt(Compact, tag="doubt"):
    """These calls began and their outcome is unknown; running them again could repeat an effect."""

    call_ids: tuple[str, ...]


class CallRetried(Compact, tag="retry"):
    """A call is to run from its start: a person said so of one in doubt, or its body never began after the intent."""

    call_id: str


class ToolUseJudged(Compact, tag="tool_use"):
    """A `tool_use_behavior` callable answered: whether the results are final, and then the output as JSON text."""

    is_final: bool
    output: str = "null"


class OutputJudged(Compact, tag="output"):
    """The final text was checked against the output type; `error` is `""` when it fits.

    `output` is what an output function made of it, as JSON text; `""` where there is none.
    """

    error: str
    output: str = ""


class OutputValidated(Compact, tag="validated"):
    """An output validator judged the final output; `feedback` is what the model is sent back with, `""` when it was accepted.

    `output` is what the validator made of it, as JSON text; `""` where it left it as it was. Names may repeat: see
    `GuardrailJudged`.
    """

    validator: str
    feedback: str = ""
    output: str = ""
    occurrence: int = 0
    occurrences: int = 1

    @property
    def place(self) -> GuardrailPlace:
        """Which of the declared validators the verdict is of."""
        return self.validator, self.occurrence, self.occurrences


class TurnEnded(Compact, tag="turn"):
    """The turn is closed, its items committed; `added` follows them (feedback for the model)."""

    added: tuple[Item, ...] = ()


class HandedOff(Compact, tag="handoff"):
    """The turn is closed and another agent goes on."""

    agent: str


class ViewReplaced(Compact, tag="view"):
    """What the model sees from now on; the log keeps the original.

    A compaction has a `reason`: what made the view smaller, from `before` tokens to `after`. `vanished`: names, numbers and
    questions that a summary lost. `window`: the window's size in tokens, where a refusal of `model` has shown it to be smaller
    than known.
    """

    items: tuple[Item, ...]
    reason: str = ""
    before: int = 0
    after: int = 0
    vanished: tuple[str, ...] = ()
    window: int = 0
    model: str = ""


class ViewRestored(Compact, tag="restored"):
    """A person took the last compaction back: the view is what it was before, and what has been added since."""


class LimitWarningEvent(Compact, tag="near"):
    """Most of a limit is used. `limit` is its kind, `used` and `allowed` are as text, so that money stays exact."""

    limit: str
    used: str
    allowed: str


class LimitReachedEvent(Compact, tag="limit"):
    """A limit was reached. `limit` is its kind, `used` and `allowed` are as text. With `pauses` the run waits for a person."""

    limit: str
    used: str = ""
    allowed: str = ""
    pauses: bool = False


class LimitRaised(Compact, tag="raised"):
    """A person raised a limit: `allowed`, as text, is what the run may use from now on in all; None is no limit."""

    limit: str
    allowed: str | None


class TimeSpent(Compact, tag="time"):
    """How long the run has gone on, in seconds, over all its processes.

    `working`: the part under a limit on time, without its waits for rate limits.
    """

    elapsed: float
    working: float


class RunEnded(Compact, tag="ended"):
    """The run is over; `output` is text, or JSON where `is_json`. `at_limit`: a handler gave it in place of a limit's error.

    `elapsed`: seconds for which it has gone on by then, in all its processes.
    """

    output: str
    is_json: bool = False
    at_limit: bool = False
    at: float = 0.0
    elapsed: float = 0.0


class Stopped(Compact, tag="stopped"):
    """The run was left before its end (cancelled, or an error); what was in flight is unknown.

    `error` is what the error said, shortened. `by`: who cancelled it, where somebody did; it is not to go on then.
    """

    reason: str
    error: str = ""
    by: str = ""
    at: float = 0.0


class SessionSaved(Compact, tag="saved"):
    """The session holds the first `count` items of the run's transcript, and then `provisional` items of the open turn."""

    count: int
    provisional: int = 0


class ContextSaved(Compact, tag="context"):
    """The user's context object as their `ContextCodec` wrote it."""

    data: str


class StepBegan(Compact, tag="step"):
    """The program of a workflow called a step, at `at` (a Unix timestamp): written before the step's body begins.

    `call_id` is the step's key: it says where in the program the call is. `arguments` is JSON text, `""` where it is too long
    to be kept. `digest` stands for that then, and for whatever else must be the same when the step is called again.
    """

    call_id: str
    name: str
    arguments: str
    at: float = 0.0
    effect: Effect = "once"
    digest: str = ""


class ProgramWaits(Compact, tag="waits"):
    """The program of a workflow has come to rest: it goes on once one of the `calls` that wait, so many, is settled."""

    calls: int


class SignalGiven(Compact, tag="given"):
    """A signal with data came, JSON text: the first call that waits for one of its `name`, now or later, is answered with it.

    `by` says who gave it, `at` (a Unix timestamp) when the run took it.
    """

    name: str
    data: str
    by: str = ""
    at: float = 0.0


class Nested(Compact, tag="nested"):
    """An event of the run that the call `call_id` (an agent as tool, or as a step) drives."""

    call_id: str
    event: RunEvent


RunEvent = (
    RunStarted
    | RunResumed
    | InputReplaced
    | InputAdded
    | SignalsTaken
    | RunPaused
    | RunUnpaused
    | ToolsetChanged
    | GuardrailJudged
    | AttemptSpent
    | ModelReplied
    | ApprovalJudged
    | ApprovalDecided
    | ArgumentsEdited
    | ArgumentsRefused
    | CallsOrdered
    | ToolsIntended
    | AnswerAwaited
    | CallAnswered
    | AnswerRefused
    | ToolFinished
    | ToolAttemptFailed
    | ToolCheckpointed
    | CallsInDoubt
    | CallRetried
    | ToolUseJudged
    | OutputJudged
    | OutputValidated
    | TurnEnded
    | HandedOff
    | ViewReplaced
    | ViewRestored
    | LimitWarningEvent
    | LimitReachedEvent
    | LimitRaised
    | TimeSpent
    | RunEnded
    | Stopped
    | SessionSaved
    | ContextSaved
    | StepBegan
    | ProgramWaits
    | SignalGiven
    | Nested
)
"""What a run's log holds: one thing observed, and the only thing that changes the run's state."""


def unnested(event: RunEvent) -> tuple[tuple[str, ...], RunEvent]:
    """The event itself, and the calls that lead to the run it is of, outermost first."""
    path: tuple[str, ...] = ()
    while isinstance(event, Nested):
        path, event = (*path, event.call_id), event.event
    return path, event
