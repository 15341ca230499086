"""The drawing of a program before it runs has what its source says, and says what only a run can know."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from agentsdk import Agent, function_tool
from agentsdk.errors import StepFailedError, UserError
from agentsdk.workflow import Workflow, flow, step, workflow
from agentsdk.workflow.outline import outline
from agentsdk.workflow.sketch import MOST_NODES
from tests.workflow import programs
from tests.workflow.programs import PROGRAMS, Steps


@step(effect="none")
async def look(x: int) -> int:
    raise AssertionError("a drawing runs nothing")


@step(effect="idempotent", retry=1, timeout=5)
async def put(x: int) -> int:
    raise AssertionError("a drawing runs nothing")


@step
async def pay(x: int) -> int:
    raise AssertionError("a drawing runs nothing")


@pay.undo
async def take_back(x: int) -> None:
    raise AssertionError("a drawing runs nothing")


clerk = Agent[None, str](name="Clerk")


@function_tool
async def scales(x: int) -> int:
    raise AssertionError("a drawing runs nothing")


tools = SimpleNamespace(put=put, inner=SimpleNamespace(look=look))


@workflow
async def inner(x: int) -> int:
    return await pay(x)


async def both(x: int) -> int:
    return await put(await look(x))


async def early(x: int) -> int:
    if x:
        return await look(x)
    await put(x)
    return 3


async def silent(x: int) -> int:
    return x


async def again(x: int) -> int:
    return await again(await look(x))


def drawn(program: Callable[[int], Any]) -> list[str]:
    """The drawing of a program in short: each arrow by the texts of its ends, and what is in each group."""
    found = outline("program", program)
    assert found is not None
    diagram = found.diagram
    texts = {node.id: " / ".join((node.text, *node.notes)) for node in diagram.nodes}
    texts |= {group.id: f"[{group.text}]" for group in diagram.groups}
    lines: list[str] = []
    for edge in diagram.edges:
        arrow = {"flow": "->", "failure": "-fails->", "undo": "-undo->"}[edge.kind]
        label = f" ({edge.text})" if edge.text and edge.kind != "undo" else ""
        lines.append(f"{texts[edge.source]} {arrow}{label} {texts[edge.target]}")
    for group in diagram.groups:
        inside = [each for each in (*diagram.nodes, *diagram.groups) if each.group == group.id]
        lines.append(f"[{group.text}]: {', '.join(texts[each.id] for each in inside)}")
    return lines


def test_steps_agents_people_times_and_workflows() -> None:
    async def program(x: int) -> int:
        x = await tools.inner.look(await put(x)) + await flow.now()
        print(x)
        await flow.agent(clerk, "go")
        await flow.ask("Shall I?", about=await look(x), timeout=60)
        await flow.sleep(3600)
        await flow.wait_for("shipped", str, timeout=9)
        await flow.until(x + 1)
        x = await inner(x)
        await flow.tool(scales, x=x)
        return await pay(x)

    assert drawn(program) == [
        "program -> put / up to 2 attempts, at most 5 s",
        "put / up to 2 attempts, at most 5 s -> look",
        "look -> Clerk",
        "Clerk -> look",
        "look -> Shall I? / at most 60 s",
        "Shall I? / at most 60 s -> sleep 3600 s",
        "sleep 3600 s -> signal shipped / at most 9 s",
        "signal shipped / at most 9 s -> until x + 1",
        "until x + 1 -> inner",
        "inner -> scales / a tool",
        "scales / a tool -> pay",
        "pay -undo-> take_back",
        "pay -> return",
    ]


def test_a_condition_is_taken_apart_as_far_as_steps_are_in_it() -> None:
    async def program(x: int) -> int | None:
        if x > 7 and not await flow.ask(f"Is {x} well?"):
            return None
        elif await look(x) > 3 or x == 0:
            await put(x)
        if x:  # nothing to draw
            x += 1
        return x if x < 9 else await pay(x)

    assert drawn(program) == [
        "program -> x > 7",
        "x > 7 -> (yes) Is {x} well?",
        "Is {x} well? -> (no) return None",
        "x > 7 -> (no) look",
        "Is {x} well? -> (yes) look",
        "look -> look(x) > 3",
        "look(x) > 3 -> (no) x == 0",
        "look(x) > 3 -> (yes) put / up to 2 attempts, at most 5 s",
        "x == 0 -> (yes) put / up to 2 attempts, at most 5 s",
        "put / up to 2 attempts, at most 5 s -> x < 9",
        "x == 0 -> (no) x < 9",
        "x < 9 -> (no) pay",
        "pay -undo-> take_back",
        "x < 9 -> (yes) return",
        "pay -> return",
    ]


def test_loops() -> None:
    async def program(x: int) -> None:
        for number in range(x):
            if number == await look(number):
                break
            if number:
                continue
            await put(number)
        while x < await look(x):
            x += 1
        while True:
            await put(x)

    assert drawn(program) == [
        "look -> number == look(number)",
        "number == look(number) -> (yes) leave the loop",
        "number == look(number) -> (no) number",
        "number -> (yes) next round",
        "number -> (no) put / up to 2 attempts, at most 5 s",
        "program -> [for number in range(x)]",
        "[for number in range(x)] -> [while x < look(x)]",
        "[while x < look(x)] -> [again and again]",
        "[for number in range(x)]: look, number == look(number), leave the loop, number, next round, "
        "put / up to 2 attempts, at most 5 s",
        "[while x < look(x)]: look",
        "[again and again]: put / up to 2 attempts, at most 5 s",
    ]


def test_what_runs_side_by_side() -> None:
    async def program(x: int) -> None:
        await asyncio.gather(look(x), both(x), flow.each(look, [x], limit=4))
        await asyncio.gather(*[look(each) for each in range(x)])
        async with asyncio.TaskGroup() as group:
            group.create_task(look(x))
            group.create_task(both(x))
        background = asyncio.create_task(look(x))
        await asyncio.wait_for(put(x), 3)
        await background
        await flow.each(partial(silent), [x])
        await flow.each(both, items=[x])

    assert drawn(program) == [
        "look -> put / up to 2 attempts, at most 5 s",
        "program -> [side by side]",
        "[side by side] -> [for each in range(x), side by side]",
        "look -> put / up to 2 attempts, at most 5 s",
        "[for each in range(x), side by side] -> [side by side]",
        "[side by side] -> look",
        "[side by side] -> put / up to 2 attempts, at most 5 s",
        "look -> put / up to 2 attempts, at most 5 s",
        "put / up to 2 attempts, at most 5 s -> [for each of [x], 16 at once]",
        "[for each of [x], 16 at once] -> end",
        "[side by side]: look, [both(...)], [for each of [x], 4 at once]",
        "[both(...)]: look, put / up to 2 attempts, at most 5 s",
        "[for each of [x], 4 at once]: look",
        "[for each in range(x), side by side]: look",
        "[side by side]: look, [both(...)]",
        "[both(...)]: look, put / up to 2 attempts, at most 5 s",
        "[for each of [x], 16 at once]: [both(...)]",
        "[both(...)]: look, put / up to 2 attempts, at most 5 s",
    ]


def test_what_may_fail() -> None:
    async def program(x: int) -> int:
        try:
            await look(x)
        except StepFailedError as error:
            raise ValueError(x) from error
        except (TypeError, OSError):
            x = 0
        else:
            await put(x)
        finally:
            await pay(x)
        return x

    assert drawn(program) == [
        "program -> [try]",
        "[try] -> put / up to 2 attempts, at most 5 s",
        "[try] -fails-> (StepFailedError) raise ValueError(x)",
        "put / up to 2 attempts, at most 5 s -> pay",
        "[try] -fails-> ((TypeError, OSError)) pay",
        "pay -undo-> take_back",
        "pay -> return x",
        "[try]: look",
    ]


def test_cases() -> None:
    async def program(x: int) -> None:
        match await look(x):
            case 1 | 2:
                await put(x)
            case int() if x > 3:
                await pay(x)
        match x:
            case 1:
                return
            case _:
                await look(x)

    assert drawn(program) == [
        "program -> look",
        "look -> which look(x)?",
        "which look(x)? -> (1 | 2) put / up to 2 attempts, at most 5 s",
        "which look(x)? -> (int() if x > 3) pay",
        "pay -undo-> take_back",
        "put / up to 2 attempts, at most 5 s -> which x?",
        "pay -> which x?",
        "which look(x)? -> (otherwise) which x?",
        "which x? -> (1) return",
        "which x? -> (otherwise) look",
        "look -> end",
    ]


def test_functions_are_followed_and_what_is_not_known_is_said() -> None:
    async def program(x: int) -> None:
        async def local(y: int) -> int:
            return await look(y)

        chosen = look if x else put
        await local(x)
        await early(x)
        await silent(x)
        await again(x)
        await chosen(x)
        await (look if x else put)(x)
        await programs.race(Steps())(x)
        await asyncio.to_thread(print)
        await outside(x)

    assert drawn(program) == [
        "program -> [local(...)]",
        "x -> (yes) look",
        "look -> return",
        "x -> (no) put / up to 2 attempts, at most 5 s",
        "[local(...)] -> [early(...)]",
        "look -> again(...) / calls itself",
        "[early(...)] -> [again(...)]",
        "[again(...)] -> chosen(...) / which, is known at run time",
        "chosen(...) / which, is known at run time -> x",
        "x -> (yes) look",
        "x -> (no) put / up to 2 attempts, at most 5 s",
        "look -> programs.race(Steps())(...) / which, is known at run time",
        "put / up to 2 attempts, at most 5 s -> programs.race(Steps())(...) / which, is known at run time",
        "programs.race(Steps())(...) / which, is known at run time -> outside(...) / in elsewhere: not followed",
        "outside(...) / in elsewhere: not followed -> end",
        "[local(...)]: look",
        "[early(...)]: x, look, return, put / up to 2 attempts, at most 5 s",
        "[again(...)]: look, again(...) / calls itself",
    ]


async def outside(x: int) -> int:
    return x


outside.__module__ = "elsewhere"


def test_a_drawing_runs_nothing_of_the_objects_that_it_asks() -> None:
    class Trap:
        @property
        def look(self) -> Any:
            raise AssertionError("a drawing runs nothing")

        def __getattr__(self, name: str) -> Any:
            raise AssertionError("a drawing runs nothing")

    trap = Trap()

    async def program(x: int) -> None:
        await trap.look(x)
        await trap.put(x)
        await undefined(x)  # type: ignore[name-defined] # noqa: F821

    assert [line for line in drawn(program) if "run time" not in line] == []


def test_a_long_program_is_cut(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["    async with asyncio.TaskGroup():", *(["        await look(x)"] * (MOST_NODES + 9))]
    (tmp_path / "long_program.py").write_text(
        "import asyncio\nfrom tests.workflow.test_outline import look\nasync def program(x):\n" + "\n".join(lines)
    )
    monkeypatch.syspath_prepend(tmp_path)
    import long_program  # type: ignore[import-not-found]

    found = outline("long", long_program.program)
    assert found is not None and len(found.diagram.nodes) == MOST_NODES + 1
    assert found.diagram.nodes[-1].text == f"more than {MOST_NODES}: the rest is not drawn"
    assert inner.draw().startswith("flowchart TD")


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
@pytest.mark.parametrize("format", ["mermaid", "svg"])
def test_each_workflow_of_the_tests_can_be_drawn(program: programs.Program, format: Any) -> None:
    built = program.build(Steps())
    assert program.name in built.draw(format=format)


def test_without_a_source() -> None:
    made: dict[str, Any] = {}
    exec("async def program(x: int) -> int:\n    return x", made)
    with pytest.raises(UserError, match="no source to draw"):
        Workflow(made["program"]).draw()
    typed = (
        "from agentsdk.workflow import workflow\n"
        "@workflow\nasync def refund(x: int) -> int:\n    return x\n\n"
        "try:\n    print(refund.draw())\nexcept Exception as error:\n    print(type(error).__name__)\n"
    )
    done = subprocess.run([sys.executable, "-c", typed], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout in ("UserError\n", 'flowchart TD\n    n1(["refund"])\n    n2(["return x"])\n    n1 --> n2\n')
