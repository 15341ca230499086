"""`Step`: an async function whose result is recorded where a workflow calls it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from agentsdk.define.parameters import local_names
from agentsdk.ports.clock import sleep
from agentsdk.types.declared import CALLABLE, FLAG, Fields, a, a_name, either, number, one_of, optional, whole
from agentsdk.types.errors import StepFailedError, UserError
from agentsdk.types.events import CallsInDoubt, ToolAttemptFailed, ToolFinished, milliseconds
from agentsdk.types.settings import ToolRetrySettings, backoff
from agentsdk.types.spec import Effect
from agentsdk.workflow.call import Call, Program
from agentsdk.workflow.codec import Signature
from agentsdk.workflow.rule import Judgement, judged
from agentsdk.workflow.scope import PLACE, Body, current_scope

P = ParamSpec("P")
R = TypeVar("R")

DEFAULT_RETRY = 3
"""How often a step that may run again is tried again, where it says nothing."""

DEFAULT_TIMEOUT = 300.0
"""Seconds that one attempt has, where the step says nothing."""

_FIELDS = Fields(
    "step",
    effect=one_of("'none', 'idempotent' or 'once'", ("none", "idempotent", "once")),
    retry=optional(
        either(
            whole("", 0),
            a(ToolRetrySettings, ""),
            what="how often it is tried again, a whole number, or ToolRetrySettings(max_retries=3); 0 for never",
        )
    ),
    timeout=optional(number("seconds above 0, or None for none", above=0)),
    name=optional(a_name("a name for the step")),
    untrusted=FLAG,
    check=optional(CALLABLE),
)


class Step(Generic[P, R]):
    """What `@step` makes of an async function. In a workflow a call of it is recorded; elsewhere it is that of the function."""

    def __init__(
        self,
        function: Callable[P, Coroutine[Any, Any, R]],
        *,
        effect: Effect = "once",
        retry: int | ToolRetrySettings | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
        name: str | None = None,
        untrusted: bool = False,
        check: Callable[..., Judgement] | None = None,
        scope: dict[str, object] | None = None,
    ) -> None:
        _FIELDS.check_given("step", effect=effect, retry=retry, timeout=timeout, name=name, untrusted=untrusted, check=check)
        self.name = name_of(function, "step") if name is None else name
        if effect == "once" and retry not in (None, 0):
            raise UserError(
                f"step {self.name!r} has a retry and the effect 'once', expected one that may run again; give it "
                "effect='idempotent' and pass on flow.idempotency_key(), or leave retry out"
            )
        self.function = function
        self.effect: Effect = effect
        if retry is None and effect != "once":
            retry = DEFAULT_RETRY
        self.retry = ToolRetrySettings(max_retries=retry) if isinstance(retry, int) else retry
        self.timeout = timeout
        self.untrusted = untrusted
        self.check = cast("Callable[P, Judgement] | None", check)
        self.undo_step: Step[[R], Any] | None = None
        self._scope: dict[str, object] = {} if scope is None else scope
        self._signature: Signature | None = None
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __repr__(self) -> str:
        return f"Step(name={self.name!r})"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[None, None, R]:
        """In a workflow, its recorded result; raises `StepFailedError`. Elsewhere what the function does."""
        scope = current_scope()
        if scope is None:
            return self.function(*args, **kwargs)
        return scope.program.perform(StepCall(scope.key(self.name), cast("Step[..., Any]", self), args, kwargs))

    def undo(self, function: Callable[[R], Coroutine[Any, Any, Any]]) -> Step[[R], Any]:
        """Have `function` undo the step where its workflow fails later: `@pay.undo`. It is given the step's result.

        It may run more than once, with the same `flow.idempotency_key()`: it is tried again as the step is, 3 times where that
        says nothing, and has its timeout.
        """
        scope = local_names(function, 2)
        name = f"undo {self.name}"
        self.undo_step = Step(function, effect="idempotent", retry=self.retry, timeout=self.timeout, name=name, scope=scope)
        return self.undo_step

    @property
    def signature(self) -> Signature:
        """Its parameters and its result. Raises `UserError` for a wrong declaration."""
        if self._signature is None:
            self._signature = Signature(self.function, f"step {self.name!r}", self._scope)
        return self._signature


class StepCall(Call):
    """A call of a step."""

    __slots__ = ("args", "kwargs", "step")

    def __init__(self, key: str, step: Step[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        arguments = step.signature.write(args, kwargs)
        super().__init__(key, step.name, arguments, effect=step.effect, undo=step.undo_step)
        self.step = step
        self.args = args
        self.kwargs = kwargs

    async def refusal(self, program: Program) -> ToolFinished | None:
        """What `check` raised of its arguments."""
        check, deps = self.step.check, program.run.deps
        if check is None:
            return None
        started_at = deps.now()
        try:
            await self._run(program, partial(judged, check))
        except UserError:
            raise
        except Exception as error:
            return self.failed(error, started_at, deps.stamp())
        return None

    async def come_to_result(self, program: Program) -> ToolFinished | None:
        """The body's result, at this attempt or at one after it; None where it is in doubt."""
        run, step = program.run, self.step
        turn = run.state.turn
        attempts = turn.attempts.get(self.key, ()) if turn is not None and turn.attempts else ()
        if attempts:
            await _wait(program, attempts[-1].next_at)
        failures = len(attempts)
        while True:
            if run.root.recorder is not None:
                await run.root.recorder.hold()
            started_at = run.deps.now()
            try:
                value = await self._run(program, step.function)
            except TimeoutError as error:
                if step.effect == "once":  # its effect may have happened
                    await program.record(CallsInDoubt((self.key,)))
                    return None
                failed: Exception = error
            except Exception as error:
                failed = error
            else:
                text, at = step.signature.result.write(value), run.deps.stamp()
                return ToolFinished(self.key, text, took_ms=milliseconds(started_at, at), at=at, untrusted=step.untrusted)
            at = run.deps.now()
            if step.retry is None or failures >= step.retry.max_retries or isinstance(failed, StepFailedError):
                return self.failed(failed, started_at, run.deps.stamp())
            next_at = at + backoff(step.retry, failures, random.random())
            await program.record(ToolAttemptFailed(self.key, type(failed).__name__, started_at, at, next_at))
            failures += 1
            await _wait(program, next_at)

    def read(self, result: ToolFinished) -> object:
        """Its value."""
        text = result.output
        assert isinstance(text, str)
        try:
            return self.step.signature.result.read(text)
        except ValueError:
            if result.started_at or not self.step.signature.result.is_text:
                raise
            return text  # the words of a person, who said what a step in doubt has returned

    async def _run(self, program: Program, function: Callable[..., Coroutine[Any, Any, Any]]) -> Any:
        """Run the body, or what judges its arguments: what that calls is no step of the workflow."""
        timeout = self.step.timeout
        token = PLACE.set(Body(program.run, self.key))
        try:
            if timeout is None:
                return await function(*self.args, **self.kwargs)
            with program.timeouts.of(self.key, timeout):
                return await function(*self.args, **self.kwargs)
        finally:
            PLACE.reset(token)


async def _wait(program: Program, at: float) -> None:
    """Wait until `at`, a Unix timestamp."""
    deps = program.run.deps
    seconds = at - deps.now()
    if seconds > 0:
        await (asyncio.sleep(seconds) if deps.config.clock is None else sleep(deps.config.clock, seconds))


class _StepDecorator:
    """`@step(...)`."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options

    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]]) -> Step[P, R]:
        return Step(function, scope=local_names(function, 2), **self._options)


@overload
def step(function: Callable[P, Coroutine[Any, Any, R]], /) -> Step[P, R]: ...
@overload
def step(
    *,
    effect: Effect = "once",
    retry: int | ToolRetrySettings | None = None,
    timeout: float | None = DEFAULT_TIMEOUT,
    name: str | None = None,
    untrusted: bool = False,
    check: Callable[..., Judgement] | None = None,
) -> _StepDecorator: ...
def step(
    function: Callable[P, Coroutine[Any, Any, R]] | None = None,
    /,
    *,
    effect: Effect = "once",
    retry: int | ToolRetrySettings | None = None,
    timeout: float | None = DEFAULT_TIMEOUT,
    name: str | None = None,
    untrusted: bool = False,
    check: Callable[..., Judgement] | None = None,
) -> Step[P, R] | _StepDecorator:
    """Make an async function a step: `@step`, or `@step(effect="none", retry=3)`.

    `effect` says what running it again would do, as for tools. One that may run twice is tried again `retry` times where it
    raises (None: 3 times), or as the settings say; `timeout`, in seconds, is for one attempt, None for as long as it takes. A
    `once` step that was cut, by its timeout too, is in doubt: the workflow waits until a person says what became of it. What an
    `untrusted` one returns strangers may have written: it taints the run. `name`: by default the function's.

    `check`, sync or async, is a rule: called with the step's arguments before it begins, it raises where they are not to be.
    The step has then failed for good, without its body.

    Arguments and result are recorded as JSON by their annotations. Raises `UserError` for what cannot be a step.
    """
    options = {"effect": effect, "retry": retry, "timeout": timeout, "name": name, "untrusted": untrusted, "check": check}
    if function is None:
        return _StepDecorator(options)
    return Step(function, scope=local_names(function, 2))


def name_of(function: object, kind: str) -> str:
    """The name of an async function. Raises `UserError` for what is none."""
    import inspect

    if not inspect.iscoroutinefunction(function):
        raise UserError(
            f"{kind} was given a {type(function).__name__!r} that is no async function, expected one; write `async def`, and "
            "await asyncio.to_thread(...) in it for what blocks"
        )
    return str(function.__name__)
