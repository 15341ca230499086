"""Steps that wait for what comes from outside: a person's answer, a signal, a time. They run nothing."""

from __future__ import annotations

import logging

import msgspec

from agentsdk.core.state import Outside
from agentsdk.engine.decisions import misfit_of_schema
from agentsdk.engine.run import Run
from agentsdk.types.events import AnswerAwaited, AnswerRefused, ToolFinished, milliseconds
from agentsdk.workflow.call import Call, Program, failure
from agentsdk.workflow.codec import Codec

logger = logging.getLogger("agentsdk")

TIMED_OUT = "TimeoutError"


class AnswerCall(Call):
    """A call that waits for an answer of `codec`'s type: at most `seconds`, or until the Unix timestamp `until`.

    `default`, JSON text, is the answer then, or the step fails where that is `""`. Signals of the name `signal` answer it.
    """

    __slots__ = ("choices", "codec", "default", "question", "seconds", "signal", "until")

    def __init__(
        self,
        key: str,
        name: str,
        arguments: str,
        codec: Codec,
        *,
        question: str = "",
        choices: tuple[str, ...] = (),
        seconds: float | None = None,
        until: float | None = None,
        default: str = "",
        signal: str = "",
    ) -> None:
        super().__init__(key, name, arguments)
        self.codec = codec
        self.question = question
        self.choices = choices
        self.seconds = seconds
        self.until = until
        self.default = default
        self.signal = signal

    async def come_to_result(self, program: Program) -> ToolFinished | None:
        """The answer, once it has come and fits; the default one from the deadline on."""
        run, key = program.run, self.key
        awaited = _outside(run).awaited.get(key)
        if awaited is None:
            now = run.deps.now()
            deadline = self.until if self.seconds is None else now + self.seconds
            schema = msgspec.json.encode(self.codec.schema).decode()
            awaited = AnswerAwaited(key, now, deadline, self.default, schema, self.question, self.choices, signal=self.signal)
            await program.record(awaited)
        now = run.deps.now()
        while (given := _outside(run).answers.get(key)) is not None:
            why = misfit_of_schema(awaited.schema, given.answer) or self._misfit(given.answer)
            if not why:
                return ToolFinished(key, given.answer, took_ms=milliseconds(awaited.at, now), at=now)
            await program.record(AnswerRefused(key, why))
            logger.warning("an answer to step %r of run %r did nothing: %s", key, run.root_id, why)
        if awaited.deadline is None:
            return None
        if now < awaited.deadline:
            program.wake_at(key, awaited.deadline)
            return None
        if self.default:
            return ToolFinished(key, self.default, took_ms=milliseconds(awaited.at, now), at=now)
        return failure(key, TIMED_OUT, "nobody has answered in time", awaited.at, now)

    def read(self, result: ToolFinished) -> object:
        """The answer."""
        assert isinstance(result.output, str)
        return self.codec.read(result.output)

    def _misfit(self, answer: str) -> str:
        try:
            self.codec.read(answer)
        except ValueError:
            return "the answer does not fit its type"
        return ""


def _outside(run: Run) -> Outside:
    turn = run.state.turn
    assert turn is not None, "a step that has begun is of an open turn"
    return turn.outside


class ValueCall(Call):
    """A call whose value is made at once: the time, a number at random, an id."""

    __slots__ = ("codec", "value")

    def __init__(self, key: str, name: str, codec: Codec, value: object) -> None:
        super().__init__(key, name, "{}")
        self.codec = codec
        self.value = value

    async def come_to_result(self, program: Program) -> ToolFinished | None:
        """The value that was made."""
        return ToolFinished(self.key, self.codec.write(self.value), took_ms=0, at=program.run.deps.stamp())

    def read(self, result: ToolFinished) -> object:
        """The value."""
        assert isinstance(result.output, str)
        return self.codec.read(result.output)
