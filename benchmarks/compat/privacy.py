"""The part of a test module of openai-agents that takes only its public names.

A name is public where an `__all__` of the package has it, or the documentation or an example mentions it, and neither it nor a
module on the way to it begins with `_` or is of `run_internal`.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

LEFT_OUT = "sandbox|realtime|voice|codex"
"""Parts of `agents` that are another service's, or no run of turns."""

_PATH = re.compile(rf"^agents(\.\w+)*\.(_\w*|run_internal|{LEFT_OUT})(\.\w+)*$")
_REACHES_IN = ("getattr", "setattr", "delattr", "hasattr", "object")
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def public_part(root: Path, path: Path, seen: dict[Path, set[str]] | None = None) -> tuple[str, int]:
    """The module without what takes a private name, itself or by a helper or fixture; and how many tests that leaves."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    private = _private_names(root, path, tree, {} if seen is None else seen)
    kept: list[ast.stmt] = []
    tests = 0
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            node.names = [alias for alias in node.names if (alias.asname or alias.name).partition(".")[0] not in private]
            if not node.names:
                continue
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test") and node.name not in private:
            tests += _without_private_methods(node, private, _own(tree))
        elif private & _bound(node) or (not _bound(node) and _is_private(node, private, _own(tree))):
            continue
        elif isinstance(node, Definition) and node.name.startswith("test_"):
            tests += 1
        kept.append(node)
    tree.body = kept
    return ast.unparse(tree), tests


def _without_private_methods(node: ast.ClassDef, private: set[str], own: set[str]) -> int:
    """Take the methods of a class of tests away that take a private name: how many tests are left."""
    methods = [one for one in node.body if isinstance(one, Definition)]
    taken = {one.name for one in methods if _is_private(one, private, own)}
    grown = True
    while grown:
        more = {one.name for one in methods if one.name not in taken and taken & _attributes(one)}
        grown, taken = bool(more), taken | more
    node.body = [one for one in node.body if not (isinstance(one, Definition) and one.name in taken)] or [ast.Pass()]
    return sum(isinstance(one, Definition) and one.name.startswith("test_") for one in node.body)


def _private_names(root: Path, path: Path, tree: ast.Module, seen: dict[Path, set[str]]) -> set[str]:
    """The names of a module that are private, or are made of private ones."""
    if path in seen:
        return seen[path]
    private = seen[path] = set[str]()
    own = _own(tree)
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            private |= _imported(root, path, node, seen)
    grown = True
    while grown:
        grown = False
        for node in tree.body:
            names = _bound(node)
            is_tests = isinstance(node, ast.ClassDef) and node.name.startswith("Test")
            inspected = ast.Module([*node.decorator_list], []) if is_tests and isinstance(node, ast.ClassDef) else node
            if names and not names <= private and _is_private(inspected, private, own):
                private |= names
                grown = True
    return private


def _imported(root: Path, path: Path, node: ast.Import | ast.ImportFrom, seen: dict[Path, set[str]]) -> set[str]:
    """The private names that an import binds."""
    found: set[str] = set()
    helper: set[str] = set()
    if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("tests")):
        base = path.parents[node.level - 1] if node.level else root
        file = (base / (node.module or "").replace(".", "/")).with_suffix(".py")
        if file.is_file() and file.name != "conftest.py":
            helper = _private_names(root, file, ast.parse(file.read_text(encoding="utf-8")), seen)
    for alias in node.names:
        full = alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}"
        is_told = isinstance(node, ast.Import) or _is_told(root, full)
        if _PATH.match(full) or not is_told or alias.name in helper:
            found.add((alias.asname or alias.name).partition(".")[0])
    return found


@functools.cache
def _told(root: Path) -> frozenset[str]:
    """Every word of the documentation, the examples and the lists of public names."""
    words: set[str] = set()
    pages = [*root.glob("README.md"), *(root / "docs").rglob("*.md"), *(root / "examples").rglob("*.py")]
    for path in [*pages, *(root / "src" / "agents").rglob("__init__.py")]:
        if not {"ja", "ko", "zh", "ref"} & set(path.relative_to(root).parts):
            words |= set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    return frozenset(words)


def _is_told(root: Path, full: str) -> bool:
    """Whether a name of `agents` is a public one, or a module."""
    if not full.startswith("agents."):
        return True
    place = root / "src" / full.replace(".", "/")
    return full.rpartition(".")[2] in _told(root) or place.is_dir() or place.with_suffix(".py").is_file()


def _bound(node: ast.stmt) -> set[str]:
    """The names that a statement of a module binds."""
    if isinstance(node, Definition):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return set()
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def _own(tree: ast.Module) -> set[str]:
    """The private names of the module's own classes and functions, which are no one else's."""
    stored = {one.attr for one in ast.walk(tree) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)}
    defined = {one.name for one in ast.walk(tree) if isinstance(one, Definition)}
    return defined | {name for name in stored if name.startswith("_")}


def _is_private(node: ast.AST, private: set[str], own: set[str]) -> bool:
    """Whether it takes a private name."""
    return any(_takes_private(one, private, own) for one in ast.walk(node))


def _takes_private(node: ast.AST, private: set[str], own: set[str]) -> bool:
    match node:
        case ast.Name(id=name) | ast.arg(arg=name):
            return name in private
        case ast.Attribute(attr=name, value=ast.Name(id="self" | "cls")):
            return False
        case ast.Attribute(attr=name):
            return _is_underscored(name) and name not in own
        case ast.Constant(value=str() as text):
            return _PATH.match(text) is not None
        case ast.Import(names=names):
            return any(_PATH.match(alias.name) for alias in names)
        case ast.ImportFrom(module=module, names=names):
            return any(_PATH.match(f"{module}.{alias.name}") for alias in names)
        case ast.Call():
            return any(_is_underscored(name) and name not in own for name in _reached(node))
    return False


def _is_underscored(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _reached(call: ast.Call) -> Iterator[str]:
    """The attributes that a call names by strings."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in _REACHES_IN:
        yield from (one.value for one in call.args[1:2] if isinstance(one, ast.Constant) and isinstance(one.value, str))


def _attributes(node: ast.AST) -> set[str]:
    return {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
