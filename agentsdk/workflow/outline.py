"""A workflow's program as a diagram, from its source: nothing of it is run. One module, as it is one walk over the syntax.

Each call of a step, an agent, a person or a time is a node; conditions, loops, tasks and what may fail are drawn as far as such
calls are in them. Async functions of the same module are followed. What only a run can say stands there as what it is called.
"""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import FunctionType
from typing import Any, TypeGuard, cast

from agentsdk.define.agent import Agent
from agentsdk.define.tool import FunctionTool
from agentsdk.workflow.diagram import Diagram
from agentsdk.workflow.flow import Flow
from agentsdk.workflow.names import Names, inside, names_of, said, words
from agentsdk.workflow.scope import Place
from agentsdk.workflow.sketch import End, Ends, FullError, Sketch, merged
from agentsdk.workflow.step import DEFAULT_RETRY, DEFAULT_TIMEOUT, Step

_BESIDE = "side by side"
_RECORDED = ("now", "random", "new_id", "idempotency_key")
"""What `flow` makes at once: it is recorded, and not drawn."""


@dataclass(frozen=True)
class Outline:
    """The diagram of a program, and what each of its nodes is called by in the record of a run.

    Nodes in `perhaps` may run never, or more than once; at those in `finals` the program ends.
    """

    diagram: Diagram
    places: dict[str, Place]
    perhaps: frozenset[str]
    finals: frozenset[str]


def outline(name: str, function: Callable[..., object]) -> Outline | None:
    """The outline of a workflow's function. None where there is no source."""
    names = names_of(function) if isinstance(function, FunctionType) else None
    if names is None:
        return None
    sketch = Sketch()
    with suppress(FullError):
        ends = _Reader(sketch, names).body(sketch.add(None, "start", name))
        if ends is not None:
            sketch.add(ends, "end", "end")
    return Outline(sketch.diagram(name), sketch.places, frozenset(sketch.perhaps), frozenset(sketch.finals))


class _Reader:
    """Reads one function, statement by statement. `callers`: the functions that have led there."""

    def __init__(self, sketch: Sketch, names: Names, callers: tuple[object, ...] = ()) -> None:
        self._sketch = sketch
        self._names = names
        self._callers = (*callers, names.place)
        self._is_inner = bool(callers)
        self._leaves = False

    def body(self, ends: Ends) -> Ends:
        """All of it; where the flow comes to."""
        ends = self._block(self._names.node.body, ends)
        return () if ends is None and self._leaves else ends

    # Statements.

    def _block(self, statements: Sequence[ast.stmt], ends: Ends) -> Ends:
        for statement in statements:
            if ends is None:
                break
            ends = self._statement(statement, ends)
        return ends

    def _statement(self, node: ast.stmt, ends: Ends) -> Ends:
        match node:
            case ast.AsyncFunctionDef():
                self._names.inner(node)
                return ends
            case ast.FunctionDef() | ast.ClassDef():
                return ends
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                return self._leave(node, ends)
            case ast.If():
                return self._if(node, ends)
            case ast.For() | ast.AsyncFor():
                return self._for(node, ends)
            case ast.While():
                return self._while(node, ends)
            case ast.Try() | ast.TryStar():
                return self._try(node, ends)
            case ast.With() | ast.AsyncWith():
                return self._with(node, ends)
            case ast.Match():
                return self._match(node, ends)
            case _:
                return self._parts(node, ends)

    def _leave(self, node: ast.Return | ast.Raise | ast.Break | ast.Continue, ends: Ends) -> Ends:
        """What the flow does not go on after."""
        if isinstance(node, ast.Break | ast.Continue):
            self._sketch.add(ends, "end", "leave the loop" if isinstance(node, ast.Break) else "next round")
            return None
        value = node.value if isinstance(node, ast.Return) else node.exc
        word = "return" if isinstance(node, ast.Return) else "raise"
        if value is not None:
            ends = self._expression(value, ends)
        if self._is_inner and word == "return":
            if node is self._names.node.body[-1]:
                return ends
            self._leaves = True
        is_plain = value is None or self._matters([value])  # what is called has just been drawn
        (end,) = self._sketch.add(ends, "end", word if value is None or is_plain else f"{word} {words(value)}")
        if word == "return" and not self._is_inner:
            self._sketch.finals.add(end.id)
        return None

    def _if(self, node: ast.If, ends: Ends) -> Ends:
        if not self._matters(node.body) and not self._matters(node.orelse):
            return self._expression(node.test, ends)
        yes, no = self._condition(node.test, ends)
        with self._sketch.maybe():
            return merged([self._block(node.body, yes), self._block(node.orelse, no)])

    def _for(self, node: ast.For | ast.AsyncFor, ends: Ends) -> Ends:
        ends = self._expression(node.iter, ends)
        group = self._sketch.enter(f"for {words(node.target)} in {words(node.iter)}", repeats=True)
        with self._sketch.maybe():
            self._block(node.body, ())
        return self._block(node.orelse, self._close(group, ends))

    def _while(self, node: ast.While, ends: Ends) -> Ends:
        is_endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        group = self._sketch.enter("again and again" if is_endless else f"while {words(node.test)}", repeats=True)
        with self._sketch.maybe():
            self._block(node.body, self._expression(node.test, ()))
        leaves = not is_endless or any(isinstance(each, ast.Break) for each in inside(node.body))
        return self._block(node.orelse, self._close(group, ends, leaves=leaves))

    def _try(self, node: ast.Try | ast.TryStar, ends: Ends) -> Ends:
        group = self._sketch.enter("try")
        goes_on = self._block(node.body, ()) is not None
        tried = self._sketch.leave(group, ends)
        if tried is None:
            branches = [self._block(node.orelse, ends)]
        else:
            branches = [self._block(node.orelse, tried) if goes_on else None]
            for handler in node.handlers:
                what = "fails" if handler.type is None else words(handler.type)
                with self._sketch.maybe():
                    branches.append(self._block(handler.body, (End(tried[0].id, what, "failure"),)))
        return self._block(node.finalbody, merged(branches))

    def _with(self, node: ast.With | ast.AsyncWith, ends: Ends) -> Ends:
        managers = [item.context_expr for item in node.items]
        for manager in managers:
            ends = self._expression(manager, ends)
        made = [self._names.find(manager.func) for manager in managers if isinstance(manager, ast.Call)]
        if asyncio.TaskGroup not in made:
            return self._block(node.body, ends)
        group = self._sketch.enter(_BESIDE)
        goes_on = self._block(node.body, ()) is not None
        return self._close(group, ends, leaves=goes_on)

    def _match(self, node: ast.Match, ends: Ends) -> Ends:
        ends = self._expression(node.subject, ends)
        if not any(self._matters(case.body) for case in node.cases):
            return ends
        (decision,) = self._sketch.add(ends, "decision", f"which {words(node.subject)}?")
        branches: list[Ends] = []
        for case in node.cases:
            what = words(case.pattern) + (f" if {words(case.guard)}" if case.guard else "")
            with self._sketch.maybe():
                branches.append(self._block(case.body, (End(decision.id, "otherwise" if what == "_" else what),)))
        last = node.cases[-1]
        if last.guard is not None or not isinstance(last.pattern, ast.MatchAs) or last.pattern.pattern is not None:
            branches.append((End(decision.id, "otherwise"),))
        return merged(branches)

    # Expressions.

    def _condition(self, node: ast.expr, ends: Ends) -> tuple[Ends, Ends]:
        """Where the flow comes to where a condition holds, and where it does not."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yes, no = self._condition(node.operand, ends)
            return no, yes
        if isinstance(node, ast.BoolOp) and self._matters([node]):
            is_and = isinstance(node.op, ast.And)
            decided: list[Ends] = []
            for operand in node.values:
                with self._sketch.maybe():
                    yes, no = self._condition(operand, ends)
                ends = yes if is_and else no
                decided.append(no if is_and else yes)
            return (ends, merged(decided)) if is_and else (merged(decided), ends)
        before = len(self._sketch.nodes)
        ends = self._expression(node, ends)
        is_answer = isinstance(node, ast.Await) and len(self._sketch.nodes) > before and ends is not None and len(ends) == 1
        if not is_answer or ends is None:
            ends = self._sketch.add(ends, "decision", words(node))
        return (End(ends[0].id, "yes"),), (End(ends[0].id, "no"),)

    def _expression(self, node: ast.expr, ends: Ends) -> Ends:
        """What is called in an expression, in the order of its source."""
        match node:
            case ast.Await():
                return self._awaited(node.value, ends)
            case ast.Call():
                return self._call(node, ends, is_awaited=False)
            case ast.IfExp() if self._matters([node.body, node.orelse]):
                yes, no = self._condition(node.test, ends)
                with self._sketch.maybe():
                    return merged([self._expression(node.body, yes), self._expression(node.orelse, no)])
            case ast.BoolOp() if self._matters(node.values):
                return merged(self._condition(node, ends))
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(node, ends, "")
            case ast.Lambda():
                return ends
            case _:
                return self._parts(node, ends)

    def _parts(self, node: ast.AST, ends: Ends) -> Ends:
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                ends = self._expression(part, ends)
            elif isinstance(part, ast.keyword):
                ends = self._expression(part.value, ends)
        return ends

    def _awaited(self, node: ast.expr, ends: Ends) -> Ends:
        return self._call(node, ends, is_awaited=True) if isinstance(node, ast.Call) else self._expression(node, ends)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, ends: Ends, how: str) -> Ends:
        first, *_ = node.generators
        ends = self._expression(first.iter, ends)
        group = self._sketch.enter(f"for {words(first.target)} in {words(first.iter)}{how}", repeats=True)
        inner: Ends = ()
        for generator in node.generators:
            for condition in generator.ifs:
                inner = self._expression(condition, inner)
        with self._sketch.maybe():
            for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
                inner = self._task(part, inner) if how else self._expression(part, inner)
        return self._close(group, ends)

    # Calls.

    def _call(self, node: ast.Call, ends: Ends, *, is_awaited: bool) -> Ends:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        found = self._names.find(node.func)
        if called in ("create_task", "ensure_future"):
            for task in node.args[:1]:
                self._task(task, ends)  # the flow goes on beside it
            return ends
        if found is asyncio.gather:
            return self._gather(node, ends)
        if isinstance(node.func, ast.Attribute) and isinstance(self._names.find(node.func.value), Flow):
            return self._flow(called, node, ends)
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            ends = self._awaited(argument, ends) if _of_asyncio(found) else self._expression(argument, ends)
        if isinstance(node.func, ast.IfExp):
            yes, no = self._condition(node.func.test, ends)
            with self._sketch.maybe():
                return merged([self._invoke(node.func.body, yes), self._invoke(node.func.orelse, no)])
        if not is_awaited and not self._is_drawn(found):
            return ends
        if is_awaited:
            return ends if _of_asyncio(found) else self._invoke(node.func, ends)
        self._invoke(node.func, ends)
        return ends

    def _is_drawn(self, found: object) -> bool:
        return isinstance(found, Step | Agent) or self._names.function_of(found) is not None

    def _invoke(self, function: ast.expr, ends: Ends) -> Ends:
        """A call of a function, its arguments left out."""
        found = self._names.find(function)
        if isinstance(found, Step):
            return self._step(cast("Step[..., Any]", found), ends)
        if _is_agent(found):
            return self._agent(found, "", ends)
        if isinstance(function, ast.Lambda):
            return self._awaited(function.body, ends)
        inner = self._names.function_of(found)
        if inner is not None:
            return self._follow(inner, ends)
        where = f"in {found.__module__}: not followed" if isinstance(found, FunctionType) else "which, is known at run time"
        return self._sketch.add(ends, "unknown", f"{words(function)}(...)", where)

    def _step(self, step: Step[..., Any], ends: Ends) -> Ends:
        notes: list[str] = []
        retries = 0 if step.retry is None else step.retry.max_retries
        if step.effect != "once" and retries != DEFAULT_RETRY:
            notes.append(f"up to {retries + 1} attempts" if retries else "one attempt")
        if step.timeout is not None and step.timeout != DEFAULT_TIMEOUT:
            notes.append(f"at most {step.timeout:g} s")
        added = self._sketch.add(ends, "step", step.name, ", ".join(notes), name=step.name)
        if step.undo_step is not None:
            self._sketch.undo(added[0], step.undo_step.function.__name__, step.undo_step.name)
        return added

    def _agent(self, agent: Agent[Any, Any] | None, otherwise: str, ends: Ends) -> Ends:
        if agent is None:
            return self._sketch.add(ends, "agent", otherwise)
        return self._sketch.add(ends, "agent" if agent.driver is None else "workflow", agent.name, name=agent.name)

    def _follow(self, names: Names, ends: Ends) -> Ends:
        """A function of the same module, in a group of its own."""
        if names.place in self._callers:
            return self._sketch.add(ends, "unknown", f"{names.node.name}(...)", "calls itself")
        group = self._sketch.enter(f"{names.node.name}(...)")
        flow = _Reader(self._sketch, names, self._callers).body(())
        return self._close(group, ends, leaves=flow is not None)

    def _close(self, group: str, ends: Ends, *, leaves: bool = True) -> Ends:
        """Draw around a group again; the flow goes on after it where it `leaves` that."""
        joined = self._sketch.leave(group, ends)
        return ends if joined is None else joined if leaves else None

    def _task(self, node: ast.expr, ends: Ends) -> Ends:
        """What is run as a task of its own."""
        is_function = isinstance(node, ast.Call) and self._names.function_of(self._names.find(node.func)) is not None
        with self._sketch.within(*(("task",) if is_function else ())):
            return self._awaited(node, ends)

    def _gather(self, node: ast.Call, ends: Ends) -> Ends:
        tasks = [each.value if isinstance(each, ast.Starred) else each for each in node.args]
        if len(tasks) == 1 and isinstance(tasks[0], ast.ListComp | ast.GeneratorExp):
            return self._comprehension(tasks[0], ends, f", {_BESIDE}")
        group = self._sketch.enter(_BESIDE)
        for task in tasks:
            if isinstance(task, ast.ListComp | ast.GeneratorExp):
                self._comprehension(task, (), f", {_BESIDE}")
            else:
                self._task(task, ())
        return self._close(group, ends)

    def _flow(self, called: str, node: ast.Call, ends: Ends) -> Ends:
        """A call of `flow`."""
        given = _given(node)
        if called == "each":
            return self._each(given, ends)
        for argument in given.values():
            ends = self._expression(argument, ends)
        if called in _RECORDED:
            return ends
        first = next(iter(given.values()), ast.Constant("?"))
        found = self._names.find(first)
        if _is_agent(found):
            return self._agent(found, "", ends)
        text, timeout = said(first), [f"at most {words(given['timeout'])} s"] if "timeout" in given else []
        match called:
            case "agent":
                return self._agent(None, text, ends)
            case "ask":
                return self._sketch.add(ends, "person", text, *timeout, name="ask")
            case "wait_for":
                return self._sketch.add(ends, "wait", f"signal {text}", *timeout, name=text)
            case "sleep" | "until":
                return self._sketch.add(ends, "wait", f"sleep {text} s" if called == "sleep" else f"until {text}", name=called)
            case "tool":
                name = found.name if isinstance(found, FunctionTool) else text
                return self._sketch.add(ends, "step", name, "a tool", name=name)
            case _:
                return self._sketch.add(ends, "step", f"flow.{called}", text)

    def _each(self, given: dict[str | int, ast.expr], ends: Ends) -> Ends:
        function, items = given.get(0, given.get("function")), given.get(1, given.get("items"))
        if function is None or items is None:
            return ends
        ends = self._expression(items, ends)
        limit = words(given["limit"]) if "limit" in given else "16"
        group = self._sketch.enter(f"for each of {words(items)}, {limit} at once", repeats=True)
        with self._sketch.within("each"):
            self._invoke(function, ())
        return self._close(group, ends)

    def _matters(self, nodes: Sequence[ast.AST]) -> bool:
        """Whether anything of some source is drawn."""
        for node in inside(nodes):
            if isinstance(node, ast.Await | ast.Return | ast.Raise | ast.Break | ast.Continue):
                return True
            if isinstance(node, ast.Call):
                attribute = node.func.attr if isinstance(node.func, ast.Attribute) else ""
                if attribute == "create_task" or self._is_drawn(self._names.find(node.func)):
                    return True
        return False


def _given(node: ast.Call) -> dict[str | int, ast.expr]:
    """The arguments of a call by place and by name."""
    given: dict[str | int, ast.expr] = dict(enumerate(node.args))
    return given | {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}


def _is_agent(found: object) -> TypeGuard[Agent[Any, Any]]:
    return isinstance(found, Agent)


def _of_asyncio(found: object) -> bool:
    return str(getattr(found, "__module__", "")).partition(".")[0] == "asyncio"
