"""A tracer never affects a run: whatever it and its spans raise or return, the run ends as without it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from agentsdk import Agent, RunConfig, Runner, function_tool, trace
from agentsdk.testing import ScriptedModel, call
from agentsdk.tracing import guarded

pytestmark = pytest.mark.anyio


@function_tool
def add(a: int) -> str:
    """Add."""
    return str(a)


def made() -> Agent[Any, Any]:
    return Agent("A", model=ScriptedModel([call("add", a=1), "2"]), tools=[add])


def tracing(**methods: Callable[..., Any]) -> Any:
    """A tracer of a class of its own, which does all as it should but for `methods`, of it, of its spans or of their blocks."""

    class Block:
        def __enter__(self) -> None:
            log.append("in")

        def __exit__(self, *failure: object) -> None:
            log.append("out")

    class Span:
        def set(self, attributes: object) -> None:
            log.append("set")

        def end(self, error: BaseException | None = None) -> None:
            log.append("end")

        def activate(self) -> Any:
            return Block()

    class Tracer:
        def __init__(self) -> None:
            self.log = log

        def start(self, kind: str, name: str, parent: Any = None, attributes: Any = None) -> Any:
            assert parent is None or type(parent) is Span, "a span is given the tracer's own"
            log.append("start")
            return Span()

        async def settle(self) -> None:
            log.append("settle")

    log: list[str] = []
    for name, method in methods.items():
        kind: type = next(kind for kind in (Block, Span, Tracer) if hasattr(kind, name))
        setattr(kind, name, staticmethod(method))
    return Tracer()


class Unprintable(Exception):
    def __str__(self) -> str:
        raise KeyError("text")


def raises(error: BaseException) -> Callable[..., Any]:
    def method(*args: object, **kwargs: object) -> Any:
        raise error

    return method


METHODS = ("start", "set", "end", "activate", "__enter__", "__exit__", "settle")
WRONGS: dict[str, Callable[..., Any]] = {
    "raises": raises(ValueError("no")),
    "raises what has no text": raises(Unprintable()),
    "gives None": lambda *args: None,
    "gives True": lambda *args: True,
    "gives a class": lambda *args: int,
    "gives an object": lambda *args: object(),
}


@pytest.mark.parametrize("wrong", WRONGS)
@pytest.mark.parametrize("method", METHODS)
async def test_whatever_a_tracer_does_the_run_is_as_without_it(method: str, wrong: str) -> None:
    tracer = tracing(**{method: WRONGS[wrong]})
    async with trace("w", tracer=tracer):
        result = await Runner.run(made(), "go", run_config=RunConfig(tracer=tracer))
    assert result.final_output == "2"
    assert result.to_input_list()[2]["output"] == "1"


@pytest.mark.parametrize("method", METHODS)
async def test_an_error_of_the_run_passes_whatever_the_tracer_does(method: str) -> None:
    """A block that gives True would swallow it."""
    for wrong in WRONGS.values():
        tracer = tracing(**{method: wrong})
        with pytest.raises(KeyError, match="mine"):
            async with trace("w", tracer=tracer):
                raise KeyError("mine")


async def test_the_first_trouble_of_a_class_is_logged_and_no_more(caplog: pytest.LogCaptureFixture) -> None:
    tracer = tracing(set=raises(ValueError("no")))
    with caplog.at_level(logging.WARNING, "agentsdk.tracing"):
        for _ in range(2):
            await Runner.run(made(), "go", run_config=RunConfig(tracer=tracer))
    (record,) = caplog.records
    assert "Tracer: set raised ValueError. Runs are not affected" in record.getMessage()
    assert record.exc_info is not None and isinstance(record.exc_info[1], ValueError)


async def test_a_span_that_could_not_begin_hangs_its_children_under_the_nearest_that_could() -> None:
    parents: list[tuple[str, Any]] = []
    plain = tracing()

    def start(kind: str, name: str, parent: Any = None, attributes: Any = None) -> Any:
        parents.append((kind, parent))
        if kind == "agent":
            raise ValueError("no")
        span = plain.start(kind, name)
        span.kind = kind
        return span

    await Runner.run(made(), "go", run_config=RunConfig(tracer=tracing(start=start)))
    turns = [parent.kind for kind, parent in parents if kind == "turn"]
    assert turns == ["run", "run"]


async def test_a_tracer_that_never_settles_keeps_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded, "SETTLE_SECONDS", 0.0)
    tracer = tracing(settle=lambda: asyncio.Event().wait())
    result = await Runner.run(made(), "go", run_config=RunConfig(tracer=tracer))
    assert result.final_output == "2"


async def test_a_tracer_that_does_right_sees_every_span_begin_and_end() -> None:
    tracer = tracing()
    await Runner.run(made(), "go", run_config=RunConfig(tracer=tracer))
    assert tracer.log.count("start") == tracer.log.count("end") == 7
    assert tracer.log.count("in") == tracer.log.count("out") == 1
    assert tracer.log[-1] == "settle"
