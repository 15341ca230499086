"""Where cases come from: files, and stored runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar, cast, overload

from msgspec import structs
from pydantic import TypeAdapter, ValidationError

from agentsdk.core.given_json import json_text
from agentsdk.core.problems import list_problems
from agentsdk.define.agent import Agent
from agentsdk.define.given_yaml import read_yaml
from agentsdk.define.problems import problems_of
from agentsdk.define.run_config import RunConfig
from agentsdk.engine.stored import store_of
from agentsdk.evals.case import RUN_IDS, Case, as_text
from agentsdk.ports.run_store import RunStore
from agentsdk.runner import Runner
from agentsdk.types.declared import Fields, a, shown
from agentsdk.types.errors import UserError
from agentsdk.types.generics import TOutput
from agentsdk.types.items import InputItem, Item, Message
from agentsdk.types.summary import RunQuery
from agentsdk.types.text import escaped, shortened, storable_text

C = TypeVar("C", bound=Case[Any, Any])

_MAX_NAME = 40
"""How much of an input is in the name of its case."""


@overload
def read_cases(path: str | os.PathLike[str]) -> list[Case[str, str]]: ...
@overload
def read_cases(path: str | os.PathLike[str], kind: type[C]) -> list[C]: ...
def read_cases(path: str | os.PathLike[str], kind: Any = Case[str, str]) -> list[Any]:
    """The cases of a file: a list of objects with the fields of `Case`, as JSON (`.json`), a line each (`.jsonl`), or YAML
    (`.yaml`, `.yml`; needs `pip install agentsdk[yaml]`). `kind` says their types: `Case[str, Order]`, say.

    Raises `UserError` with all that is wrong with it.
    """
    if not isinstance(path, str | os.PathLike) or storable_text(os.fspath(path)) != os.fspath(path):
        raise UserError(f"read_cases was given {shown(path)}, expected the path of a file; write 'cases.json', say")
    file = Path(path)
    what = f"the cases of {file.name!r}"
    try:
        many: Any = list.__class_getitem__(kind)
        reader = TypeAdapter[list[Any]](many)
    except Exception as error:
        raise UserError(
            f"{what} are of a type that pydantic cannot describe ({type(error).__name__}), expected Case[...] of JSON-like "
            "types, dataclasses or models; pass Case[str, str], say"
        ) from error
    try:
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".jsonl":
            text = f"[{','.join([line for line in text.splitlines() if line.strip()])}]"
        elif file.suffix in (".yaml", ".yml"):
            text = json_text(what, read_yaml(text, what))
        return reader.validate_json(text)
    except ValidationError as error:
        raise UserError(f"{what} cannot be read:\n{list_problems(problems_of(error))}\nexpected a list of cases") from None
    except (ValueError, OSError) as error:
        raise UserError(f"{what} cannot be read: {error}, expected a file with a list of cases") from None


async def recorded_cases(
    agent: Agent[Any, TOutput], query: RunQuery | None = None, *, run_config: RunConfig
) -> list[Case[str | Sequence[InputItem], TOutput]]:
    """A case of each finished run of `run_config.store` that `agent` began and `query` asks for: its input, and what it came to
    as what is expected. The latest first, `query.limit` at most; runs of evals are left out.

    It is named by the input and the run's id, and has the run's metadata. Raises like `Runner.load` for a run that cannot be
    read, be it damaged or of a newer version: leave it out by the query.
    """
    query = RunQuery() if query is None else query
    _FIELDS.check_given("recorded_cases", agent=agent, query=query)
    store_of(run_config)
    store, page = cast(RunStore, run_config.store), structs.replace(query, status="finished")
    cases: list[Case[str | Sequence[InputItem], TOutput]] = []
    while found := await store.list(page):
        for run in found:
            if run.first_agent != agent.name or run.run_id.startswith(RUN_IDS):
                continue
            result = await Runner.drive(agent, run.run_id, run_config=run_config)
            given = _given(result.input)
            name = f"{shortened(escaped(as_text(given)), _MAX_NAME)} ({run.run_id})"
            cases.append(Case(given, result.final_output, name=name, metadata=run.metadata, run_id=run.run_id))
            if len(cases) == query.limit:
                return cases
        page = structs.replace(page, after=found[-1])
    return cases


def _given(items: Sequence[Item]) -> str | Sequence[InputItem]:
    """The input of a run as whoever began it gave it: a text, or items."""
    first = items[0] if len(items) == 1 else None
    is_text = isinstance(first, Message) and first.role == "user" and isinstance(first.content, str)
    return cast(str, cast(Message, first).content) if is_text else items


_FIELDS = Fields("recorded_cases", agent=a(Agent, "an Agent, the one that made the runs"), query=a(RunQuery, "a RunQuery"))
