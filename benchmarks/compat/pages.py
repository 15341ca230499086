"""The Python blocks of openai-agents' documentation, each with the code that has to run before it.

A block counts that imports of the package. The names that it uses and does not define it has of the nearest blocks before it on
its page that define them, and these of theirs. What no block of a page defines, or none that can run here, its reader has:
`GIVEN` makes that first, the same for openai-agents and for agentsdk. A block with `...` in place of a value stays a fragment.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OTHER_PAGES = "sandbox|voice|realtime|release|litellm|any_llm"
OTHER_BLOCKS = "sandbox|realtime|voice|redis|dapr|mongo"
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

_AGENT = "from agents import Agent\n{name} = Agent(name='Assistant', instructions='Be brief.')\n"
_WAITING = """
from agents import Agent, Runner, function_tool

@function_tool(needs_approval=True)
def publish(text: str) -> str:
    return text

_waiting = await Runner.run(Agent(name='Publisher', tools=[publish]), 'Publish it.')
state, interruption = _waiting.to_state(), _waiting.interruptions[0]
"""
_SERVER = """
from agents.mcp import MCPServerStreamableHttp
server = MCPServerStreamableHttp(name='Given', params={'url': 'http://localhost:8000/mcp'})
await server.connect()
"""
GIVEN = {
    "agent": _AGENT.format(name="agent"),
    "billing_agent": _AGENT.format(name="billing_agent"),
    "server": _SERVER,
    "state": _WAITING,
    "interruption": _WAITING,
    "underlying_session": "from agents import SQLiteSession\nunderlying_session = SQLiteSession('user-123')\n",
    "celery_app": "from types import SimpleNamespace\ncelery_app = SimpleNamespace(task=lambda function: function)\n",
}
"""By the names that pages leave to their readers: code that makes them."""


@dataclass(frozen=True)
class Block:
    """A block of a page."""

    place: str
    code: str
    counts: bool
    before: tuple[str, ...]
    """The code that is run first, for the names that this one leans on."""


def doc_blocks(root: Path) -> Iterator[Block]:
    """The blocks of the documentation, in the order of its pages."""
    pages = [path for path in sorted((root / "docs").rglob("*.md")) if not {"ja", "ko", "zh"} & set(path.parts)]
    for page in [root / "README.md", *pages]:
        name = str(page.relative_to(root))
        if re.search(OTHER_PAGES, name):
            continue
        earlier: list[str] = []
        found = re.finditer(r"^( *)```python[^\n]*\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.M | re.S)
        for number, match in enumerate(found):
            indent = len(match[1])
            code = "\n".join(line[indent:] for line in match[2].splitlines())
            counts = "agents" in code and "import" in code and re.search(OTHER_BLOCKS, code) is None
            yield Block(f"{name}#{number}", code, counts, tuple(_before(code, earlier)) if counts else ())
            earlier.append(code)


def _before(code: str, earlier: list[str]) -> list[str]:
    """What has to run before a block, first things first."""
    chosen: set[int] = set()
    given: list[str] = []
    lacking = [(name, len(earlier)) for name in _lacks(code)]
    while lacking:
        name, end = lacking.pop()
        if name in GIVEN and GIVEN[name] not in given:
            given.append(GIVEN[name])
        at = next((at for at in reversed(range(end)) if name in _gives(earlier[at])), None)
        if at is not None and at not in chosen:
            chosen.add(at)
            lacking += [(one, at) for one in _lacks(earlier[at])]
    return [*given, *(earlier[at] for at in sorted(chosen))]


def _lacks(code: str) -> set[str]:
    """The names that a block uses and does not define."""
    nodes = list(_nodes(code, inner=True))
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    return used - {name for node in nodes for name in _defined(node)} - set(dir(builtins))


def _gives(code: str) -> set[str]:
    """The names that a block leaves to those after it."""
    return {name for node in _nodes(code, inner=False) for name in _defined(node)}


def _nodes(code: str, *, inner: bool) -> Iterator[ast.AST]:
    """The nodes of a block, with or without those in functions and classes; none of a block that is no Python."""
    with contextlib.suppress(SyntaxError):
        waiting: list[ast.AST] = [ast.parse(code)]
        while waiting:
            node = waiting.pop()
            yield node
            if inner or not isinstance(node, _SCOPES):
                waiting += ast.iter_child_nodes(node)


def _defined(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name):
        return [node.id] if isinstance(node.ctx, ast.Store) else []
    if isinstance(node, ast.alias):
        return [(node.asname or node.name).partition(".")[0]]
    if isinstance(node, ast.arg):
        return [node.arg]
    return [node.name] if isinstance(node, (*_SCOPES, ast.ExceptHandler)) and node.name else []
