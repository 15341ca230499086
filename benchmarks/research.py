"""Three ways to research: questions to ten short texts, what they cost, and how many answers are right and rightly cited.

    python -m benchmarks.research           # a model that follows rules: runs anywhere, and tells of the ways, not of models
    python -m benchmarks.research --live    # the default model: see docs/agents.md; --live 2: the first two questions only

ReAct: one agent searches and reads until it answers. Plan: a planner says what to look up, all of that is looked up at once
without a model, and a writer answers. Hybrid: the steps of the plan are ReAct agents. Each question has a budget.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import agentsdk
from agentsdk import Agent, ModelPrice, ModelSettings, RunConfig, RunLimits, Runner, function_tool, shared_limits
from agentsdk.errors import AgentsException
from agentsdk.models import Model
from agentsdk.patterns import CitedAnswer, citation_problems, cited_from, plan_then_execute
from agentsdk.tools import TextSearch
from agentsdk.workflow import step
from benchmarks.librarian import librarian

FOLDER = Path(__file__).parent / "corpus"
CORPUS = {path.name: " ".join(path.read_text(encoding="utf-8").split()) for path in sorted(FOLDER.glob("*.txt"))}
ENGINE = TextSearch(CORPUS)
PRICES = {"librarian": ModelPrice(input="2.50", output="10.00")}
LIMITS = RunLimits(turns=30, tokens=40_000)


@dataclass(frozen=True)
class Question:
    """What is asked, what a right answer has in it, and whether something is asked that no text says."""

    text: str
    answer: tuple[str, ...]
    is_missing_some: bool = False


QUESTIONS = (
    Question("When was the harbour wall finished, and how many metres long is the harbour wall?", ("1652", "410")),
    Question("Who drew the plans of the new bridge, and when was the new bridge opened?", ("Marrow", "1787")),
    Question("On which day is the market of Tarn held, and what do traders pay for a stall?", ("Tuesday", "nine")),
    Question("Who founded the school, and how many pupils has the school today?", ("Pell", "340")),
    Question("How many minutes does the ferry to Skell take, and what does a ticket of the ferry cost?", ("fifty",), True),
    Question("When was the lighthouse first lit, and who keeps the lamp of the lighthouse?", ("1836", "computer")),
    Question("When did the railway reach Tarn, and which line was closed?", ("1871", "Harrow")),
    Question("Who is the mayor?", (), True),
)


@function_tool(effect="none")
async def search(words: str) -> str:
    """Search the library: the names of texts that have these words, and a passage of each."""
    return await found(words)


@function_tool(effect="none")
def read(source: str) -> str:
    """Read a text of the library, by its name."""
    return f"[{source}] {CORPUS[source]}" if source in CORPUS else f"There is no text {source!r}."


@step(effect="none")
async def look_up(words: str) -> str:
    """Look words up in the library: names of texts that have them, and a passage of each."""
    return await found(words)


async def found(words: str) -> str:
    """The best three texts for these words."""
    return "\n".join([f"[{one.title}] {one.text}" for one in await ENGINE.search(words, 3)]) or "Nothing was found."


@dataclass
class Score:
    """What a way came to."""

    right: int = 0
    cited: int = 0
    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    errors: list[str] = field(default_factory=list[str])


Way = Callable[[str, RunConfig], Awaitable[CitedAnswer]]


def ways(model: Model | None) -> dict[str, Way]:
    """The three."""
    settings = ModelSettings(temperature=0, max_tokens=400)

    def researcher(name: str) -> Agent[None, str]:
        return Agent(
            name=name,
            instructions="Search, read, and say what the texts say, each thing as `[name of the text] its words`.",
            tools=[search, read],
            model=model,
            model_settings=settings,
        )

    writer = Agent[None, CitedAnswer](
        name="Writer",
        instructions="Answer from the texts only. Quote them word for word. Say in not_found what they do not say.",
        model=model,
        model_settings=settings,
        output_type=CitedAnswer,
        output_validators=[cited_from(CORPUS)],
    )
    planner = Agent[None, str](name="Planner", instructions="Plan what to find out.", model=model, model_settings=settings)
    react = writer.clone(name="ReAct", tools=[search, read])
    planned = plan_then_execute([look_up], planner, writer)
    hybrid = plan_then_execute({"researcher": researcher("Researcher")}, planner, writer, name="Hybrid")

    async def run_react(question: str, config: RunConfig) -> CitedAnswer:
        return (await Runner.run(react, question, run_config=config)).final_output

    async def run_planned(question: str, config: RunConfig) -> CitedAnswer:
        return (await planned.run(question, run_config=config)).final_output.answer

    async def run_hybrid(question: str, config: RunConfig) -> CitedAnswer:
        return (await hybrid.run(question, run_config=config)).final_output.answer

    return {"ReAct": run_react, "plan-then-execute": run_planned, "hybrid": run_hybrid}


async def score(way: Way, has_price: bool, most: int = len(QUESTIONS)) -> Score:
    """Ask `most` of the questions, one after the other."""
    total = Score()
    config = RunConfig(limits=LIMITS, prices=PRICES, max_output_retries=2)
    for question in QUESTIONS[:most]:
        with shared_limits(cost="1.00") if has_price else shared_limits() as budget:
            try:
                answer = await way(question.text, config)
            except AgentsException as error:
                total.errors.append(type(error).__name__)
            else:
                is_right = all(re.search(part, answer.answer, re.IGNORECASE) for part in question.answer)
                total.right += is_right and bool(answer.not_found) == question.is_missing_some
                total.cited += not citation_problems(answer, CORPUS)
        spent = budget.spent
        total.turns += spent.turns
        total.input_tokens += spent.input_tokens
        total.output_tokens += spent.output_tokens
        total.cost += float(spent.cost)
    return total


async def main(live: bool, most: int) -> None:
    print(f"{most} questions, {len(CORPUS)} texts")
    print(f"{'way':<18} {'right':>5} {'cited':>5} {'turns':>6} {'tokens in':>9} {'out':>6} {'dollars':>8}")
    for name, way in ways(None if live else librarian()).items():
        total = await score(way, has_price=not live, most=most)
        cost = f"{total.cost:.4f}" if not live else "-"
        counts = f"{total.right:>5} {total.cited:>5} {total.turns:>6} {total.input_tokens:>9} {total.output_tokens:>6}"
        print(f"{name:<18} {counts} {cost:>8}{'  ' if total.errors else ''}{' '.join(total.errors)}")
    await agentsdk.aclose()


if __name__ == "__main__":
    numbers = [int(given) for given in sys.argv[1:] if given.isdigit()]
    asyncio.run(main("--live" in sys.argv, min([*numbers, len(QUESTIONS)])))
