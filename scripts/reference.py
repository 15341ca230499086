"""Write the page of names: `python scripts/reference.py > docs/reference.md`. It is what the docstrings say."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import itertools
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import get_origin

import agentsdk

DOCS = Path(__file__).parents[1] / "docs"

HEAD = """# Reference

Every public name, by module, with its parameters and the first words of its docstring. A name links to the page that has most
to say of it. `agentsdk` has what a first program and a production service need; a submodule has every name of its noun. A name
that the root lacks says in its `ImportError` where it is. This page is printed from the code by `scripts/reference.py`.

```python
import agentsdk

print(len(agentsdk.__all__), "names in the root")
print(*agentsdk.SUBMODULES)
```

```output
{names} names in the root
{submodules}
```
"""

HOMES = {
    "Agent": "agents.md",
    "Runner": "running.md",
    "function_tool": "tools.md",
    "workflow": "workflows.md",
    "context_window": "context.md",
    "runs": "results.md",
}
"""The pages of names and of modules whose own name does not say it."""

GENERAL = re.compile(
    "index|reference|examples|glossary|architecture|decisions|install|quickstart|tutorial|choosing|comparison|performance|"
    "how_it_works|stability|troubleshooting|openai_agents|migrate_.*"
)
"""Pages that go over everything, so they are about no name."""


def page() -> str:
    """The page."""
    modules = [importlib.import_module(f"agentsdk.{name}") for name in agentsdk.SUBMODULES]
    lines = [HEAD.format(names=len(agentsdk.__all__), submodules=" ".join(agentsdk.SUBMODULES))]
    lines += ["## agentsdk", "", "These, and the names below that are marked with a star:", "", *_table(agentsdk, only_root())]
    for module in modules:
        lines += ["", f"## {module.__name__}", "", inspect.getdoc(module) or "", "", *_table(module, module.__all__)]
    return "\n".join(lines) + "\n"


def only_root() -> list[str]:
    """The names that no submodule has."""
    modules = [importlib.import_module(f"agentsdk.{name}") for name in agentsdk.SUBMODULES]
    return sorted(set(agentsdk.__all__).difference(*(module.__all__ for module in modules)))


def _table(module: ModuleType, names: Iterable[str]) -> Iterator[str]:
    yield "| Name | What it is |"
    yield "|---|---|"
    for name in names:
        star = " *" if module is not agentsdk and name in agentsdk.__all__ else ""
        page = topic(module, name)
        shown = f"[`{name}`]({page})" if page else f"`{name}`"
        yield f"| {shown}{star} | {_about(module, name)}{_parameters(getattr(module, name))} |"


def _about(module: ModuleType, name: str) -> str:
    return " ".join(said(module, name).partition("\n\n")[0].split()).replace("|", "\\|")


def said(module: ModuleType, name: str) -> str:
    """The docstring of a name."""
    value = getattr(module, name)
    is_its_own = inspect.isclass(value) or inspect.isroutine(value)
    text = inspect.getdoc(value) if is_its_own else _said_at(_home(module, name), name)
    assert text, f"{module.__name__}.{name} has no docstring"
    return text


def _parameters(value: object) -> str:
    """What a function or a constructor takes, optional parameters with `=`; nothing for what is not called by programs."""
    if (
        not callable(value)
        or get_origin(value) is not None
        or (isinstance(value, type) and issubclass(value, BaseException))
        or getattr(value, "_is_protocol", False)
    ):
        return ""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return ""
    shown, last = list[str](), inspect.Parameter.POSITIONAL_OR_KEYWORD
    for each in parameters:
        if each.name.startswith("_"):
            continue
        if each.kind is each.KEYWORD_ONLY and last not in (each.KEYWORD_ONLY, each.VAR_POSITIONAL):
            shown.append("*")
        stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        shown.append(f"{stars}{each.name}" + ("" if each.default is each.empty else "="))
        last = each.kind
    return f"<br>`({', '.join(shown)})`" if shown else ""


def topic(module: ModuleType, name: str) -> str:
    """The page that has most to say of a name; nothing where none names it."""
    noun = module.__name__.rpartition(".")[2]
    home = HOMES.get(name) or HOMES.get(noun, f"{noun}.md")
    said = {page: counts[name] * (10 if page == home else 1) for page, counts in _topics().items() if counts[name]}
    if name in HOMES or said:
        return home if name in HOMES else max(said, key=lambda page: said[page])
    return "glossary.md" if name in _words((DOCS / "glossary.md").read_text(encoding="utf-8")) else ""


@functools.cache
def _topics() -> dict[str, Counter[str]]:
    """How often each page has each word in its code: in text twenty times that of blocks, in headings more."""
    pages = [page for page in sorted(DOCS.glob("*.md")) if not GENERAL.fullmatch(page.stem)]
    return {page.name: _words(page.read_text(encoding="utf-8")) for page in pages}


def _words(text: str) -> Counter[str]:
    blocks = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
    prose = blocks.sub("", text)
    said = " ".join(re.findall(r"`[^`]+`", prose)) * 20
    headings = " ".join(re.findall(r"^#.*$", prose, re.MULTILINE)) * 400
    return Counter(re.findall(r"\w+", " ".join([said, headings, *blocks.findall(text)])))


def assigned(module: ModuleType, name: str) -> str:
    """The statement that gives an alias its value; nothing for what is no alias."""
    return next((ast.unparse(node) for node in _home(module, name) if name_of(node) == name), "")


def _home(module: ModuleType, name: str) -> list[ast.stmt]:
    """The module that `module` has a name from."""
    imports = [node for node in ast.walk(tree(module)) if isinstance(node, ast.ImportFrom)]
    home = next(node.module for node in imports if name in {alias.name for alias in node.names})
    return tree(importlib.import_module(home or "")).body


def _said_at(body: list[ast.stmt], name: str) -> str:
    """The docstring of an alias, or of a function that was made a tool."""
    for node, after in itertools.pairwise([*body, ast.Pass()]):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return ast.get_docstring(node) or ""
        if name_of(node) == name and isinstance(after, ast.Expr):
            return inspect.cleandoc(ast.literal_eval(after.value))
    return ""


def name_of(node: ast.stmt) -> str:
    """The name that an assignment gives a value."""
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0])
    return ast.unparse(node.target) if isinstance(node, ast.AnnAssign) else ""


@functools.cache
def tree(module: ModuleType) -> ast.Module:
    """The code of a module."""
    return ast.parse(inspect.getsource(module))


if __name__ == "__main__":
    sys.stdout.write(page())
