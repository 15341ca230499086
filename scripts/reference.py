"""Write the page of names: `python scripts/reference.py > docs/reference.md`. It is what the docstrings say."""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import sys
from collections.abc import Iterable, Iterator
from types import ModuleType

import agentsdk

HEAD = """# Reference

Every public name, by module, with the first words of its docstring. `agentsdk` has what a first program and a production
service need; a submodule has every name of its noun. A name that the root lacks says in its `ImportError` where it is. This
page is printed from the code by `scripts/reference.py`.

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


def page() -> str:
    """The page."""
    modules = [importlib.import_module(f"agentsdk.{name}") for name in agentsdk.SUBMODULES]
    only_root = sorted(set(agentsdk.__all__).difference(*(module.__all__ for module in modules)))
    lines = [HEAD.format(names=len(agentsdk.__all__), submodules=" ".join(agentsdk.SUBMODULES))]
    lines += ["## agentsdk", "", "These, and the names below that are marked with a star:", "", *_table(agentsdk, only_root)]
    for module in modules:
        lines += ["", f"## {module.__name__}", "", inspect.getdoc(module) or "", "", *_table(module, module.__all__)]
    return "\n".join(lines) + "\n"


def _table(module: ModuleType, names: Iterable[str]) -> Iterator[str]:
    yield "| Name | What it is |"
    yield "|---|---|"
    for name in names:
        star = " *" if module is not agentsdk and name in agentsdk.__all__ else ""
        yield f"| `{name}`{star} | {_about(module, name)} |"


def _about(module: ModuleType, name: str) -> str:
    value = getattr(module, name)
    text = inspect.getdoc(value) if inspect.isclass(value) or inspect.isroutine(value) else _said_at(module, name)
    assert text, f"{module.__name__}.{name} has no docstring"
    return " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|")


def _said_at(module: ModuleType, name: str) -> str:
    """The docstring of an alias, or of a function that was made a tool, in the module that `module` has it from."""
    imports = [node for node in ast.walk(_tree(module)) if isinstance(node, ast.ImportFrom)]
    home = next(node.module for node in imports if name in {alias.name for alias in node.names})
    body = _tree(importlib.import_module(home or "")).body
    for node, after in itertools.pairwise([*body, ast.Pass()]):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return ast.get_docstring(node) or ""
        if _name_of(node) == name and isinstance(after, ast.Expr):
            return inspect.cleandoc(ast.literal_eval(after.value))
    return ""


def _name_of(node: ast.stmt) -> str:
    """The name that an assignment gives a value."""
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0])
    return ast.unparse(node.target) if isinstance(node, ast.AnnAssign) else ""


def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


if __name__ == "__main__":
    sys.stdout.write(page())
