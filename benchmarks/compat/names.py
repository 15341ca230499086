"""The public names of openai-agents: what becomes of each, and whether the list of them, and parameters, are those there."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

from agentsdk.compat import openai_agents
from agentsdk.compat.openai_agents._names import NAMES
from agentsdk.compat.openai_agents._table import PACKAGES, counted, entries, is_apart


def check_names(root: Path, show: bool) -> None:
    """Print how many names are of which kind, where the list of them is not that of the source, and which parameters lack."""
    source = root / "src" / "agents"
    theirs = names_in(source)
    for module in sorted({**theirs, **NAMES}):
        differing = set(theirs.get(module, ())) ^ set(NAMES.get(module, ()))
        if differing:
            print(f"  the list of names differs in {module or 'the root'}: {sorted(differing)}")
    table = [entry for _, _, entry in entries() if entry is not None]
    if show:
        for entry in table:
            print(f"  {entry}")
    print(
        f"names of the root and the packages that programs import from: {counted([e for e in table if e.module in PACKAGES])}"
    )
    print(f"names, down to helpers: {counted([entry for entry in table if not is_apart(entry.module)])}")
    print(f"names, with sandboxes and speech: {counted(table)}")
    wrong = list(wrong_parameters(source))
    for line in wrong:
        print(f"  {line}")
    print(f"signatures: {len(wrong)} names of the root lack a parameter")


def names_in(source: Path) -> dict[str, list[str]]:
    """The public names of each module: those it lists, else what it defines. Of what is absent as a whole, what is listed."""
    found: dict[str, list[str]] = {}
    for path in sorted(source.rglob("*.py")):
        parts = list(path.relative_to(source).with_suffix("").parts)
        is_package = parts[-1] == "__init__"
        parts = parts[:-1] if is_package else parts
        if any(part.startswith("_") or part in ("run_internal", "util") for part in parts):
            continue
        listed, defined = _public(ast.parse(path.read_text(encoding="utf-8")))
        if {"sandbox", "voice", "realtime", "experimental"} & set(parts) and not (is_package and listed):
            continue
        names = [name for name in listed or defined if not name.startswith("_")]
        if names:
            found[".".join(parts)] = names
    return found


def _public(tree: ast.Module) -> tuple[list[str], list[str]]:
    """The names of `__all__`, and those that a module defines."""
    listed: list[str] = []
    defined: list[str] = []
    for node in tree.body:
        targets: list[ast.expr] = []
        value: ast.expr | None = None
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            defined.append(node.name)
        elif isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign):
            targets, value = [node.target], node.value
        for target in targets:
            name = getattr(target, "id", "")
            if name == "__all__":
                listed = [one.value for one in getattr(value, "elts", []) if isinstance(one, ast.Constant)]
            elif name:
                defined.append(name)
    return listed, defined


def wrong_parameters(source: Path) -> Iterator[str]:
    """The functions and classes of the root that lack a parameter which those of openai-agents have."""
    for path in sorted(source.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            name = getattr(node, "name", "")
            if name not in openai_agents.__all__ or {"sandbox", "voice", "realtime", "experimental"} & set(path.parts):
                continue
            try:
                ours = inspect.signature(getattr(openai_agents, name)).parameters
            except (TypeError, ValueError):
                continue
            missing = [one for one in _parameters(node) if one not in ours and not one.startswith("_")]
            if missing and not any(one.kind is one.VAR_KEYWORD for one in ours.values()):
                yield f"{name} has no parameter {', '.join(missing)}"


def _parameters(node: ast.stmt) -> list[str]:
    """The parameters of a function, of a class's `__init__`, or the fields of a dataclass; none for other classes."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        arguments = node.args
        return [one.arg for one in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs] if one.arg != "self"]
    if not isinstance(node, ast.ClassDef):
        return []
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and one.name == "__init__":
            return _parameters(one)
    if not any("dataclass" in ast.unparse(one) for one in node.decorator_list):
        return []
    fields = [one for one in node.body if isinstance(one, ast.AnnAssign) and "ClassVar" not in ast.unparse(one.annotation)]
    given = [one.target for one in fields if one.value is None or "init=False" not in ast.unparse(one.value)]
    return [one.id for one in given if isinstance(one, ast.Name)]
