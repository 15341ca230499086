"""`python -m benchmarks.memory`: what a memory holds after 50 conversations that tell 200 facts, 40 against earlier ones.

Counted are the facts of which the file holds the newer value alone, those of which it holds an older one, and those it does not
hold; the tokens of the file at its largest; and its dreams. The keeper is scripted to do as it is told, which says whether all
around it does: that nothing is lost, shown twice or too large. Once there is room for everything, and once for a third of it.
With `--local` a real model keeps the memory, the smallest there is, which says how far that gets; `--model NAME` takes another.
The exit code is 1 where the scripted keeper does not hold what it should.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass

from agentsdk.define.agent import Agent
from agentsdk.define.run_config import RunConfig
from agentsdk.models.token_counter import EstimatingCounter
from agentsdk.patterns.memory import Memory
from agentsdk.ports.model import Model, ModelRequest
from agentsdk.runner import Runner
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.errors import AgentsException
from agentsdk.types.items import FunctionCallOutput, Message
from benchmarks.report import rows_table

CONVERSATIONS, FACTS, CONTRADICTIONS = 50, 200, 40
DAY = 86_400.0
MAX_TOKENS, FEW_TOKENS = 4_000, 1_000
DROPPED = 12
"""Lines that the scripted keeper drops at once."""
COUNTER = EstimatingCounter()

_KINDS = ["tea", "train", "hotel", "song", "bread", "chair", "road", "lamp", "shirt", "cheese", "river", "film", "plant", "pen"]
_KINDS += ["soup", "game"]
_PLACES = ["Bonn", "Oslo", "Rome", "Lima", "Kyiv", "Cork", "Graz", "Nara", "Bern", "Riga"]
_VALUES = ["amber", "birch", "cedar", "delta", "ember", "frost", "grove", "heath", "ivory", "jade", "kelp", "lotus"]
_FACT = re.compile(r"My favorite (\w+ in \w+) is (\w+)\.")


@dataclass(frozen=True)
class Fact:
    """What a user says: of a topic there is one value, the one that was said last."""

    topic: str
    value: str

    def __str__(self) -> str:
        return f"My favorite {self.topic} is {self.value}."


def facts(number: int = FACTS, contradictions: int = CONTRADICTIONS) -> list[Fact]:
    """Facts in the order in which they are told; each of the last ones contradicts one that was told before."""
    chance = random.Random(15)
    topics = [f"{kind} in {place}" for kind in _KINDS for place in _PLACES]
    told = [Fact(topic, chance.choice(_VALUES)) for topic in chance.sample(topics, number - contradictions)]
    for fact in chance.sample(told[: number - 2 * contradictions], contradictions):
        newer = Fact(fact.topic, chance.choice([value for value in _VALUES if value != fact.value]))
        told.insert(chance.randrange(told.index(fact) + 10, len(told) + 1), newer)
    return told


class Clock:
    """A clock that goes on by a day with each conversation."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def time(self) -> float:
        """Seconds since the Unix epoch."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Let them pass."""
        self.now += seconds


def scripted_keeper() -> ScriptedModel:
    """A keeper that changes the line of a fact that is known, adds one of each other, and drops the oldest where it must."""

    def reply(request: ModelRequest) -> object:
        first, last = request.items[0], request.items[-1]
        assert isinstance(first, Message)
        if isinstance(last, FunctionCallOutput):
            lines = sorted(line for line in str(last.output).splitlines() if line.startswith("- "))
            return [call("edit_memory", old_text=f"{line}\n", new_text="") for line in lines[:DROPPED]] or "Noted."
        if last is not first and isinstance(last, Message) and "tokens, expected" in last.text:
            return call("read_memory")
        return _edits(first.text) if last is first else "Noted."

    return ScriptedModel([reply] * 10 * CONVERSATIONS, name="scripted")


def _edits(asked: str) -> object:
    file, _, said = asked.partition("# New conversations")
    lines = {line.split(": ", 1)[-1].partition(" is ")[0]: line for line in file.splitlines() if line.startswith("- ")}
    edits: dict[str, tuple[str, str]] = {}
    day = ""
    for line in said.splitlines():
        day = line.removeprefix("## Conversation of ") if line.startswith("## ") else day
        for topic, value in _FACT.findall(line):
            name = f"Favorite {topic}"
            edits[name] = (lines.get(name, ""), f"- {day}: {name} is {value}.")
    return [call("edit_memory", old_text=old, new_text=new) for old, new in edits.values()] or "Nothing new."


@dataclass(frozen=True)
class Outcome:
    """What a memory has come to."""

    newer: int
    older: int
    missing: int
    largest: int
    dreams: int
    failed: int
    requests: int
    shown: int
    seconds: float


async def kept(model: Model | str, told: Sequence[Fact], conversations: int, max_tokens: int = MAX_TOKENS) -> Outcome:
    """Have a model keep a memory of so many conversations, in which the facts are told."""
    clock, largest, dreams, failed, requests, shown = Clock(), 0, 0, 0, 0, 0
    each = len(told) // conversations
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        config = RunConfig(token_counter=COUNTER, clock=clock)
        memory = Memory(folder, model=model, max_tokens=max_tokens, after_seconds=None, run_config=config)
        for number in range(conversations):
            says = " ".join(map(str, told[number * each : (number + 1) * each]))
            run = await Runner.run(Agent[None, str](name="Friend", model=ScriptedModel(["Good to know."])), says)
            is_last = number == conversations - 1
            try:
                change = await memory.remember(run, dream=True if is_last else None)
            except AgentsException as error:
                failed += 1
                print(f"{getattr(model, 'name', model)}: {type(error).__name__}", file=sys.stderr)
                change = None
            dreams += change is not None
            if memory.path.exists():
                [tokens] = await COUNTER.count([Message("user", memory.path.read_text())])
                largest = max(largest, tokens)
            clock.now += DAY
        text = memory.path.read_text() if memory.path.exists() else ""
        await memory.aclose()
    if isinstance(model, ScriptedModel):
        requests = len(model.requests)
        firsts = [request.items[0] for request in model.requests]
        shown = sum(len(_FACT.findall(item.text)) for item in firsts if isinstance(item, Message))
    newer, older, missing = scored(text, told)
    return Outcome(newer, older, missing, largest, dreams, failed, requests, shown, time.perf_counter() - begun)


def scored(text: str, told: Sequence[Fact]) -> tuple[int, int, int]:
    """Of how many topics the text holds the newer value and no other, an older one, or nothing."""
    values: dict[str, list[str]] = {}
    for fact in told:
        values.setdefault(fact.topic, []).append(fact.value)
    newer = older = 0
    for topic, said in values.items():
        lines = [line for line in text.splitlines() if topic in line]
        holds = {value for value in said if any(re.search(rf"\b{value}\b", line) for line in lines)}
        newer += holds == {said[-1]}
        older += bool(holds - {said[-1]})
    return newer, older, len(values) - newer - older


def row(name: str, conversations: int, told: Sequence[Fact], one: Outcome) -> list[str]:
    """A line of the table."""
    counted = (conversations, len(told), one.newer, one.older, one.missing, one.largest, one.dreams, one.failed)
    return [name, *map(str, counted), f"{one.seconds:.1f}"]


async def main() -> int:
    """Print the table; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--local", action="store_true", help="also with the local model, some minutes")
    parser.add_argument("--model", help="also with the model of this name")
    parser.add_argument("--conversations", type=int, default=CONVERSATIONS, help="of how many the real model keeps a memory")
    given = parser.parse_args()
    told = facts()
    whole = await kept(scripted_keeper(), told, CONVERSATIONS)
    third = await kept(scripted_keeper(), told, CONVERSATIONS, FEW_TOKENS)
    rows = [row("scripted", CONVERSATIONS, told, whole), row("scripted, little room", CONVERSATIONS, told, third)]
    few = told[: given.conversations * len(told) // CONVERSATIONS]
    if given.local:
        from agentsdk.models import LocalModel

        async with LocalModel("smollm2", max_tokens=200) as local:
            rows.append(row("SmolLM2-135M", given.conversations, few, await kept(local, few, given.conversations)))
    if given.model:
        rows.append(row(given.model, given.conversations, few, await kept(given.model, few, given.conversations)))
    head = ["keeper", "conversations", "facts", "newer", "older", "missing", "largest, tokens", "dreams", "failed", "seconds"]
    print(rows_table([tuple(head), *map(tuple, rows)]))
    is_whole = (whole.newer, whole.older, whole.failed) == (FACTS - CONTRADICTIONS, 0, 0) and whole.largest <= MAX_TOKENS
    is_third = (third.older, third.failed) == (0, 0) and third.newer > 0 and third.largest <= FEW_TOKENS
    return 0 if is_whole and is_third else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
