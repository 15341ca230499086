"""Output buffering: a stream waits until output guardrails have passed what it would show: `RunConfig(buffer_output=True)`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import TracebackType

from agentsdk.define.stream_events import RawResponsesStreamEvent, RunItemStreamEvent, StreamEvent, ToolProgressStreamEvent
from agentsdk.engine.channel import NestedChannel
from agentsdk.engine.job import Job
from agentsdk.engine.open_turn import open_turn
from agentsdk.engine.run import Run, StreamChannel

_SAYS = ("message_output_created", "reasoning_item_created", "tool_output")


def output_buffer(run: Run) -> AbstractContextManager[None]:
    """A block for each turn, whose stream events are held back until it ends, or `release_output` says that nothing is left to
    judge. Where the turn raises, whatever the model or a tool said stays back for good.
    """
    channel = run.channel
    if channel is None or not run.deps.config.buffer_output:
        return _NO_BUFFER
    return _OutputBuffer(run, channel)


_NO_BUFFER: AbstractContextManager[None] = nullcontext()


class _OutputBuffer(AbstractContextManager[None]):
    def __init__(self, run: Run, channel: StreamChannel) -> None:
        self._run = run
        self._channel = channel
        self._holds = False
        self._sent_back = 0

    def __enter__(self) -> None:
        self._sent_back = self._run.state.invalid_outputs
        self._holds = judges_output(self._run)
        if self._holds:
            self._channel.hold()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if self._holds and error is None:
            is_sent_back = self._run.state.invalid_outputs > self._sent_back
            self._channel.release(_is_harmless) if is_sent_back else self._channel.release()
        elif self._holds:
            self._channel.release(_is_harmless)


@contextmanager
def answer_buffer(run: Run, job: Job) -> Generator[None]:
    """A block for the call of an agent whose answer guardrails of the tool judge: what its run shows is held back until they
    have let it pass. Where they do not, and where the block raises, whatever was said there stays back for good.
    """
    outer = run.channel
    if outer is None or not run.deps.config.buffer_output:
        yield
        return
    job.channel = channel = NestedChannel(outer)
    channel.hold()
    try:
        yield
    except BaseException:
        channel.release(_is_harmless)
        raise
    call_id = job.call.call_id
    stopped = any(verdict.call_id == call_id and verdict.behavior != "allow" for verdict in open_turn(run).verdicts)
    channel.release(_is_harmless) if stopped else channel.release()


def release_output(run: Run) -> None:
    """Nothing that is held back can be an output that a guardrail would stop."""
    if run.channel is not None:
        run.channel.release()


def judges_output(run: Run) -> bool:
    """Whether output validators or guardrails would judge a final output here."""
    of_run = run.parent is None and run.deps.config.output_guardrails
    return bool(run.agent.output_guardrails or run.is_validated or of_run)


def _is_harmless(event: StreamEvent) -> bool:
    if isinstance(event, RawResponsesStreamEvent | ToolProgressStreamEvent):
        return False
    return not (isinstance(event, RunItemStreamEvent) and event.name in _SAYS)
