"""Draw the layers: `python scripts/draw_layers.py > docs/layers.svg`. They are those of `pyproject.toml` that are there."""

from __future__ import annotations

import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path

from svg import EDGE, FAINT, INK, MONO, PLAIN, PURE, SOFT, arrow, label, page, rect

ROOT = Path(__file__).parents[1]
ABOUT = {
    "errors, items, events, runs, tools, hosted_tools, handoffs, guardrails, hooks, limits, context_window, output, "
    "permissions": (
        "names only, of the parts below: what programs import",
        "",
    ),
    "__main__": ("python -m agentsdk", ""),
    "compat": ("programs written for openai-agents", ""),
    "cli": ("the command line: chats, runs and what is done with them, a worker", ""),
    "ui": ("a page to look at runs, and to act on them", ""),
    "patterns": ("ways in which", "agents work together"),
    "testing": ("scripted models, fake", "servers, checks of stores"),
    "evals": ("cases run, scored,", "and compared"),
    "web": ("runs over HTTP, for", "clients and pages"),
    "worker": ("Worker: takes the stored runs that are due, and drives them", ""),
    "mcp": ("the Model Context Protocol: servers as toolsets; agents and tools as a server", ""),
    "workflow": ("programs whose steps are", "recorded in the log of a run"),
    "durable": ("runs behind an engine:", "Temporal, DBOS"),
    "runner": ("Runner: every way to begin, go on with, fork and replay a run", ""),
    "result": ("RunResult and RunResultStreaming", ""),
    "local_tools": ("tools with a body of ours: a shell, files, patches, web pages and search", ""),
    "engine": ("the loop", "and its turns"),
    "models": ("one adapter for", "each protocol"),
    "sandboxes": ("commands in", "a workspace"),
    "sessions": ("conversations", "between runs"),
    "stores": ("where runs", "are kept"),
    "toolsets": ("tools found when", "a turn begins"),
    "tracing": ("OpenTelemetry", "spans, metrics"),
    "define": ("what a person declares: agents, tools, guardrails, handoffs, settings of a run", ""),
    "core": ("pure decisions: the state machine,", "next steps, limits, windows"),
    "ports": ("protocols: model, store,", "session, clock, tracer"),
    "databases": ("what stores and sessions", "share of a database"),
    "types": ("what is recorded, and the errors: items, events, usage", ""),
}
"""Each part, in one line or two."""

IMPURE = ("asyncio", "time", "random", "uuid", "os", "socket", "logging")
WIDTH, LEFT, RIGHT, TOP, GAP = 860, 40, 24, 58, 12
TITLE = 90
"""How many characters of a title go on a line."""


def draw() -> str:
    """The picture, as SVG."""
    names, *parts = present()
    layers = [[", ".join(names)], *parts]
    named = {part for layer in layers for part in layer}
    assert named == set(ABOUT), f"the picture has other parts than the package: {sorted(named ^ set(ABOUT))}"
    y, shapes = TOP, list[str]()
    for layer in layers:
        height = 62 if any(ABOUT[part][1] or len(part) > TITLE for part in layer) else 44
        shapes += _layer(layer, y, height)
        y += height + GAP
    return page(
        WIDTH,
        y + 26,
        "The layers of the package, each importing only from those below it",
        [
            label(LEFT, 36, "agentsdk", 13, INK, anchor="start", family=MONO),
            label(WIDTH - RIGHT, 36, f"shaded: pure, so no {', '.join(IMPURE)}", 12, FAINT, anchor="end"),
            *shapes,
            arrow(f"M20 {TOP + 4}V{y - GAP - 4}"),
            label(WIDTH / 2, y + 12, "Imports go down only, and parts of one layer do not import each other", 12, FAINT),
        ],
    )


def present() -> Iterator[list[str]]:
    """The layers of the contract, highest first, with the parts that the package has."""
    for layer in contract("layers")["layers"]:
        parts = [part.strip().strip("()") for part in layer.split("|")]
        found = [part for part in parts if (ROOT / "agentsdk" / part).is_dir() or (ROOT / "agentsdk" / f"{part}.py").exists()]
        if found:
            yield found


def contract(name: str) -> dict[str, list[str]]:
    """The import contract `name` of `pyproject.toml`."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: dict[str, list[str]] = next(c for c in settings["tool"]["importlinter"]["contracts"] if c["id"] == name)
    return found


def _layer(parts: list[str], y: int, height: int) -> Iterator[str]:
    pure = {module.removeprefix("agentsdk.") for module in contract("pure")["source_modules"]}
    assert set(IMPURE) <= set(contract("pure")["forbidden_modules"])
    width = (WIDTH - LEFT - RIGHT - GAP * (len(parts) - 1)) / len(parts)
    for number, part in enumerate(parts):
        x = LEFT + number * (width + GAP)
        first, second = ABOUT[part]
        yield rect(x, y, width, height, PURE if part in pure else PLAIN, EDGE)
        titles = textwrap.wrap(part, TITLE)
        for line, title in enumerate(titles):
            yield label(x + width / 2, y + 19 + 17 * line, title, 14, INK, weight="bold")
        yield label(x + width / 2, y + 19 + 17 * len(titles), first, 11, SOFT)
        if second:
            yield label(x + width / 2, y + 51, second, 11, SOFT)


if __name__ == "__main__":
    print(draw(), end="")
