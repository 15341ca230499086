"""Scorers that most evals need: of the output, of the calls, of time and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import partial
from typing import Any, Literal, cast

import msgspec
from pydantic import TypeAdapter, ValidationError

from agentsdk.core.given_json import plain_json
from agentsdk.core.json_schema import problems_with
from agentsdk.core.problems import list_problems
from agentsdk.define.problems import problems_of
from agentsdk.evals.case import CaseRun, as_text
from agentsdk.evals.score import Score, Scorer
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import CALLABLE, FLAG, SECONDS, Fields, a_name, any_text, one_of, optional, sequence_of
from agentsdk.types.errors import UserError
from agentsdk.types.text import shortened

Order = Literal["exact", "in_order", "any_order"]
"""How calls are compared: all of them, in this order; these in this order, others between them; these, in any order."""

_MAX_SHOWN = 60


def equals(form: Callable[[Any], object] | None = None) -> Scorer[Any, Any]:
    """Whether the output is the expected one. `form` is applied to both before: `str.casefold`, say.

    A case that expects nothing is an error of the scorer.
    """
    _FIELDS.check_given("equals", form=form)

    def equals(run: CaseRun[Any, Any]) -> Score:
        expected, output = _expected(run), run.output
        is_equal = expected == output if form is None else form(expected) == form(output)
        return _verdict(is_equal, f"expected {_shown(expected)}, got {_shown(output)}")

    return equals


def contains(text: str | None = None, *, ignore_case: bool = False) -> Scorer[Any, Any]:
    """Whether the output, as text, has `text` in it, or else what the case expects."""
    _FIELDS.check_given("contains", text=text, ignore_case=ignore_case)

    def contains(run: CaseRun[Any, Any]) -> Score:
        wanted, output = as_text(_expected(run)) if text is None else text, as_text(run.output)
        found = wanted.casefold() in output.casefold() if ignore_case else wanted in output
        return _verdict(found, f"{_shown(wanted)} is not in {_shown(output)}")

    return contains


def matches_schema(schema: Any) -> Scorer[Any, Any]:
    """Whether the output is of a type, or fits a JSON schema (a dict). A text is read as JSON.

    Raises `UserError` for a type that pydantic cannot describe.
    """
    if isinstance(schema, dict):
        problems: Callable[[object], list[str]] = partial(problems_with, cast(JsonObject, schema))
    else:
        problems = _problems_of_type(schema)

    def matches_schema(run: CaseRun[Any, Any]) -> Score:
        try:
            output = run.output
            value = msgspec.json.decode(output) if isinstance(output, str) else plain_json("the output", output)
        except msgspec.DecodeError as error:
            return _verdict(False, f"the output is no JSON: {error}")
        found = problems(value)
        return _verdict(not found, list_problems(found))

    return matches_schema


def calls_tools(*names: str, order: Order = "in_order") -> Scorer[Any, Any]:
    """Whether the model has called these tools, its trajectory: `"in_order"`, with others between them, `"any_order"`, or
    `"exact"`, and no others. No names and `"exact"`: no tool at all."""
    _FIELDS.check_given("calls_tools", names=names, order=order)

    def calls_tools(run: CaseRun[Any, Any]) -> Score:
        called = [call.name for call in run.calls]
        if order == "exact":
            fits = called == list(names)
        elif order == "any_order":
            fits = all(called.count(name) >= names.count(name) for name in names)
        else:
            fits = _is_within(names, called)
        return _verdict(fits, f"called {', '.join(called) or 'nothing'}, expected {', '.join(names) or 'nothing'}")

    return calls_tools


def max_duration(seconds: float) -> Scorer[Any, Any]:
    """Whether the run was in work for `seconds` at most. The score is how many they were."""
    _FIELDS.check_given("max_duration", seconds=seconds)

    def max_duration(run: CaseRun[Any, Any]) -> Score:
        return Score(run.duration, run.duration <= seconds, f"took {run.duration:.2f} s, expected {seconds} s at most")

    return max_duration


def max_cost(dollars: Decimal | int | str) -> Scorer[Any, Any]:
    """Whether the run cost so many US dollars at most. The score is how many they were. Of a run whose price is not known it is
    an error. Raises `UserError` for what is no amount."""
    try:
        allowed = Decimal(dollars) if isinstance(dollars, Decimal | int | str) and not isinstance(dollars, bool) else None
    except ArithmeticError:
        allowed = None
    if allowed is None or not (allowed.is_finite() and allowed >= 0):
        raise UserError("max_cost was given no amount, expected US dollars, 0 or more; write '0.05', say")

    def max_cost(run: CaseRun[Any, Any]) -> Score:
        if run.cost is None:
            raise UserError(
                "the cost of the run is not known, expected prices; give RunConfig(prices=...), or install the extra"
            )
        return Score(float(run.cost), run.cost <= allowed, f"cost ${run.cost}, expected ${allowed} at most")

    return max_cost


def _expected(run: CaseRun[Any, Any]) -> Any:
    if run.case.expected is None:
        raise UserError(f"case {run.case.name!r} expects nothing, expected an output to compare with; give it expected=...")
    return run.case.expected


def _verdict(passed: bool, reason: str) -> Score:
    return Score(float(passed), bool(passed), "" if passed else reason)


def _shown(value: object) -> str:
    return repr(shortened(as_text(value), _MAX_SHOWN))


def _is_within(names: Iterable[str], called: Iterable[str]) -> bool:
    """Whether the names are among those called, in their order."""
    rest = iter(called)
    return all(name in rest for name in names)


def _problems_of_type(kind: Any) -> Callable[[object], list[str]]:
    try:
        adapter = TypeAdapter[Any](kind)
    except Exception as error:
        raise UserError(
            f"matches_schema was given a type that pydantic cannot describe ({type(error).__name__}), expected a type or a "
            "JSON schema; pass a dataclass or a pydantic model"
        ) from error

    def problems(value: object) -> list[str]:
        try:
            adapter.validate_json(msgspec.json.encode(value))
        except ValidationError as error:
            return problems_of(error)
        return []

    return problems


_FIELDS = Fields(
    "scorer",
    form=optional(CALLABLE),
    text=optional(any_text("a str; give the text to look for")),
    ignore_case=FLAG,
    names=sequence_of(a_name("a tool's name"), "names of tools"),
    order=one_of("'exact', 'in_order' or 'any_order'", ("exact", "in_order", "any_order")),
    seconds=SECONDS,
)
