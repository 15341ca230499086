"""The run context that tools, hooks and guardrails receive: the user's own context object, and the usage so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, Protocol

from agentsdk.core.overflow import MAX_RESULT_CHARS
from agentsdk.types.declared import CALLABLE, Fields, a, any_text, optional
from agentsdk.types.errors import UserError
from agentsdk.types.generics import TContext
from agentsdk.types.items import InputItem, Item, items_from_input
from agentsdk.types.settings import ModelSettings
from agentsdk.types.tape import Tape
from agentsdk.types.text import clean_text, storable_text
from agentsdk.types.usage import Usage

if TYPE_CHECKING:
    from agentsdk.define.answer_needed import GivenAnswer
    from agentsdk.ports.model import ModelRequest
    from agentsdk.ports.tracer import ProgressSpan
    from agentsdk.types.response import ModelResponse

MAX_CHECKPOINT = 1_000_000
"""The most characters that a call may save of how far it has come."""

_NO_USAGE = Usage()


class RunContextWrapper(Generic[TContext]):
    """The run as tools, hooks, guardrails and dynamic instructions see it.

    `context` is the object given to `Runner.run(context=...)`: never sent to a model, and saved only by a `context_codec`.
    `usage` is what the run has spent up to now.
    """

    __slots__ = ("context", "usage")

    def __init__(self, context: TContext, usage: Usage = _NO_USAGE) -> None:
        self.context = context
        self.usage = usage

    def __repr__(self) -> str:
        return f"{type(self).__name__}(usage={self.usage!r})"


class TurnContext(RunContextWrapper[TContext]):
    """The run as one of its turns sees it, before its model is asked.

    `turn` counts the turns of the run from 1, `items` is the history that the model is sent. `run_id` is the outermost run's,
    `path` the calls that lead to a nested one, outermost first.
    """

    __slots__ = ("items", "path", "run_id", "turn")

    def __init__(
        self,
        context: TContext,
        usage: Usage = _NO_USAGE,
        *,
        turn: int = 1,
        items: Sequence[Item] = (),
        run_id: str = "",
        path: tuple[str, ...] = (),
    ) -> None:
        super().__init__(context, usage)
        self.turn = turn
        self.items = items
        self.run_id = run_id
        self.path = path


class CallingRun(Protocol):
    """The run that a call is of, as far as the call may ask it."""

    @property
    def root_id(self) -> str:
        """The id of the outermost run."""
        ...

    @property
    def path(self) -> tuple[str, ...]:
        """The calls that lead to the run, outermost first."""
        ...

    def call_key(self, call_id: str) -> str:
        """The idempotency key of one of its calls."""
        ...

    def emit(self, data: object, tool_name: str, call_id: str, is_over: Callable[[], bool]) -> None:
        """Show progress of one of its calls, which `is_over` knows the end of, to whoever reads the stream."""
        ...

    def checkpoint(self, call_id: str) -> str:
        """What one of its calls has saved last; `""` where it has saved nothing."""
        ...

    async def save_checkpoint(self, call_id: str, data: str) -> None:
        """Record how far one of its calls has come, so that whoever goes on with the run knows."""
        ...

    async def ask_model(
        self, call_id: str, request: ModelRequest, checkpoint: Callable[[ModelResponse], str] | None
    ) -> ModelResponse:
        """The reply of its turn's model to what one of its calls asks; its cost is recorded, together with a checkpoint."""
        ...

    def thread_patience(self) -> float | None:
        """Seconds for which the thread of a sync tool is waited for in a cancelled run; None where it is not cancelled."""
        ...

    @property
    def max_result_chars(self) -> int:
        """The most characters of a result that is not truncated."""
        ...

    async def full_result(self, result_id: str) -> str | None:
        """The full text of a result, by the id that its marker names; None for an unknown id."""
        ...


class ToolContext(RunContextWrapper[TContext]):
    """The run as one tool call sees it.

    `tool_call_id` is unique among the calls of its run: `run_id`, or the nested one that the calls `path` lead to.
    `tool_arguments` is the model's JSON text, unchanged. `agent_name` is the agent that asked for the call. `attempt` is how
    many times the body has begun for this call, this one included: above 1, what it does may be done already. `answer` is what
    came to the question that the body has asked.
    """

    __slots__ = (
        "_checkpoint",
        "_is_over",
        "_key",
        "_run",
        "_span",
        "agent_name",
        "answer",
        "attempt",
        "tool_arguments",
        "tool_call_id",
        "tool_name",
    )

    def __init__(
        self,
        context: TContext,
        usage: Usage = _NO_USAGE,
        tool_name: str = "",
        tool_call_id: str = "",
        tool_arguments: str = "",
        idempotency_key: str = "",
        agent_name: str = "",
        run: CallingRun | None = None,
    ) -> None:
        self.context = context
        self.usage = usage
        self.tool_name = tool_name
        self.tool_call_id = tool_call_id
        self.tool_arguments = tool_arguments
        self.agent_name = agent_name
        self.attempt = 1
        self.answer: GivenAnswer | None = None
        self._key = idempotency_key
        self._run = run
        self._is_over = False
        self._span: ProgressSpan | None = None
        self._checkpoint = ""

    @property
    def run_id(self) -> str:
        """The id of the run, the outermost one where it is nested."""
        return "" if self._run is None else self._run.root_id

    @property
    def path(self) -> tuple[str, ...]:
        """The calls that lead to the nested run that this call is of, outermost first; none in the outermost run."""
        return () if self._run is None else self._run.path

    @property
    def idempotency_key(self) -> str:
        """The same whenever this call is run again after a crash, and no other call's: pass it on to what must happen once.

        40 hex digits; the ids in it cannot be read from it.
        """
        return self._key if self._key or self._run is None else self._run.call_key(self.tool_call_id)

    @property
    def max_result_chars(self) -> int:
        """A longer result is truncated before the model sees it."""
        return MAX_RESULT_CHARS if self._run is None else self._run.max_result_chars

    async def full_result(self, result_id: str) -> str | None:
        """The full text of a result of this run that was truncated, by the id its marker names; None for an unknown id."""
        return None if self._run is None else await self._run.full_result(result_id)

    @property
    def checkpoint(self) -> str:
        """What this call has saved last, in this process or another; `""` where it has saved nothing."""
        return self._checkpoint if self._run is None else self._run.checkpoint(self.tool_call_id)

    async def save_checkpoint(self, data: str) -> None:
        """Record how far the call has come: `checkpoint` has it when the call runs again, after a crash or a failed attempt.

        It is durable when this returns, whatever `RunConfig(durability=...)` says of a run that has a store. At most
        `MAX_CHECKPOINT` characters, and no secrets: it is kept with the run. No model sees it. Raises `UserError` for anything
        but such a text and once the call is over, `StoreError` as any record does.
        """
        data = self._storable(data)
        if self._is_over:
            raise UserError(f"tool {self.tool_name!r} saved a checkpoint, expected that of a call that is not over")
        if self._run is None:
            self._checkpoint = data
        else:
            await self._run.save_checkpoint(self.tool_call_id, data)

    def _storable(self, given: object) -> str:
        """A checkpoint as it is kept. Raises `UserError` for what is none."""
        if not isinstance(given, str) or len(given) > MAX_CHECKPOINT:
            what = f"{len(given)} characters" if isinstance(given, str) else f"a {type(given).__name__}"
            raise UserError(
                f"tool {self.tool_name!r} saved a checkpoint of {what}, expected a text of {MAX_CHECKPOINT} at most; "
                "save what is needed to go on"
            )
        return storable_text(given)

    async def ask_model(
        self,
        input: str | Sequence[InputItem],
        *,
        instructions: str = "",
        settings: ModelSettings | None = None,
        checkpoint: Callable[[ModelResponse], str] | None = None,
    ) -> ModelResponse:
        """Ask the model of the run's turn something for this call alone: its reply.

        The model is shown the `input`, a text or items, and the `instructions`; of the run nothing, and no tools. It is no
        turn, and no reader of the stream sees it. What it costs is the run's: counted, and reserved in its limits before.
        `settings` say how it is asked (None: as the model is by itself). `checkpoint` says what to save of how far the call has
        come, recorded together with the cost: a call that runs again and finds its reply there need not pay for it twice.

        Raises `UserError` outside a run, once the call is over and for an input that is none, `ToolError` where the limits of
        the run do not allow the request, `ModelError`.
        """
        from agentsdk.ports.model import ModelRequest

        _ASKED.check_given(instructions=instructions, settings=settings, checkpoint=checkpoint)
        if self._run is None or self._is_over:
            raise UserError(f"tool {self.tool_name!r} asked the model, expected to be in a call of a run that is not over")
        given = ModelSettings() if settings is None else settings
        request = ModelRequest(Tape(items_from_input(input)), clean_text(instructions), settings=given)

        def saved(reply: ModelResponse) -> str:
            return "" if checkpoint is None else self._storable(checkpoint(reply))

        return await self._run.ask_model(self.tool_call_id, request, None if checkpoint is None else saved)

    def emit(self, data: object) -> None:
        """Send progress to whoever reads the run's stream: a `ToolProgressStreamEvent` with `data`, as it is.

        From any thread, in order, without waiting. It is not recorded but in the span of the call, and no model sees it. Where
        nobody reads, and once the call is over, it does nothing.
        """
        if self._span is not None and not self._is_over:
            self._span.progress(data)
        if self._run is not None:
            self._run.emit(data, self.tool_name, self.tool_call_id, lambda: self._is_over)

    def show_progress_in(self, span: ProgressSpan) -> None:
        """Have the span record what the call sends. The engine calls this."""
        self._span = span

    def close(self) -> None:
        """The call is over: whatever still runs of it emits nothing more. The engine calls this."""
        self._is_over = True

    def thread_patience(self, otherwise: float) -> Callable[[], float] | None:
        """Gives the seconds for which the thread of this call is still waited for once it is cancelled: what is left of a
        cancelled run's grace, or `otherwise` where only the call is. None outside a run, where nobody records its result."""
        run = self._run
        if run is None:
            return None

        def patience() -> float:
            left = run.thread_patience()
            return otherwise if left is None else left

        return patience

    def __repr__(self) -> str:
        return f"ToolContext(tool_name={self.tool_name!r}, tool_call_id={self.tool_call_id!r}, agent_name={self.agent_name!r})"


_ASKED = Fields(
    "ToolContext.ask_model",
    instructions=any_text("a text"),
    settings=optional(a(ModelSettings, "ModelSettings; pass ModelSettings(max_tokens=500), say")),
    checkpoint=optional(CALLABLE),
)
