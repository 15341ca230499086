"""What a code base uses of openai-agents, and what becomes of it: `python -m agentsdk.compat.openai_agents.doctor PATH`.

`agentsdk doctor --from-openai-agents PATH` does the same.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from agentsdk.compat.openai_agents._names import NAMES
from agentsdk.compat.openai_agents._table import Entry, entry_of

_OURS = "agentsdk.compat.openai_agents"
REFUSED = {"MCPServerSse": "the protocol has given up that transport; use MCPServerStreamableHttp"}
"""Names whose import works and whose use raises an error that says why."""


@dataclass(frozen=True, slots=True)
class Used:
    """A name that a file imports from `agents`, and what becomes of it. `reason` says why it is not here, `""` where it is.

    `how`: what stands behind a name that is here and mapped.
    """

    path: Path
    line: int
    name: str
    reason: str = ""
    how: str = ""


def examine(place: Path) -> Iterator[Used]:
    """The names that the Python files under `place`, or that one file, import from `agents`, in order."""
    for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError) as error:
            yield Used(path, getattr(error, "lineno", None) or 1, "", f"the file cannot be read: {error}")
            continue
        for node in _running(tree):
            for module, name in _imported(node):
                if module.split(".")[0] == "agents":
                    yield _used(path, getattr(node, "lineno", 1), module, name)


def why_not(program: Path, root: Path) -> list[str]:
    """Why a program does not run with its import line changed; nothing where it does, as far as its imports tell.

    What it imports of the code base under `root` is looked at too, and whether the other packages are installed.
    """
    reasons: dict[str, None] = {}
    waiting, seen = [program], {program}
    while waiting:
        path = waiting.pop()
        for used in examine(path):
            if used.reason:
                reasons[f"{used.name}: {used.reason}"] = None
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in _running(tree):
            for module, name in _imported(node, path, root):
                near = [found for full in (module, f"{module}.{name}") if (found := _file(root, path, full)) is not None]
                waiting += [found for found in near if found not in seen]
                seen.update(near)
                first = module.split(".")[0]
                if not near and first not in ("agents", "") and not _is_local(root, first) and find_spec(first) is None:
                    reasons[f"the package {first!r} is not installed"] = None
    return list(reasons)


def _running(tree: ast.Module) -> Iterator[ast.AST]:
    """What runs: not what only a type checker reads, nor what a program tries and does without."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop(0)
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting[:0] = node.orelse
        elif isinstance(node, ast.Try) and any(_does_without(one) for one in node.handlers):
            waiting[:0] = [*node.orelse, *node.finalbody]
        else:
            waiting[:0] = ast.iter_child_nodes(node)


def _does_without(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches a failed import and goes on: one that ends the program does not."""
    caught = "" if handler.type is None else ast.unparse(handler.type)
    ends = any(isinstance(one, ast.Raise) or "exit(" in ast.unparse(one) for one in handler.body)
    return ("ImportError" in caught or "NotFound" in caught) and not ends


def _imported(node: ast.AST, path: Path | None = None, root: Path | None = None) -> Iterator[tuple[str, str]]:
    """The modules and names that an import names, relative ones by their place under `root`."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, "") for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        module = node.module or ""
        if node.level:
            if path is None or root is None:
                return
            parent = path.parents[node.level - 1]
            module = ".".join([*parent.relative_to(root).parts, *filter(None, [module])])
        yield from ((module, alias.name) for alias in node.names)


def _file(root: Path, path: Path, module: str) -> Path | None:
    """The file of a module of the code base itself."""
    for base in (root, path.parent):
        place = base.joinpath(*module.split("."))
        for found in (place.with_suffix(".py"), place / "__init__.py"):
            if found.is_file():
                return found
    return None


def _is_local(root: Path, name: str) -> bool:
    return (root / name).is_dir()


def _used(path: Path, line: int, module: str, name: str) -> Used:
    full = f"{module}.{name}" if name else module
    inner = module.removeprefix("agents").strip(".")
    if name in ("", "*"):
        return Used(path, line, full, _missing_module(inner))
    entry = entry_of(inner, name)
    if entry is None and f"{inner}.{name}".strip(".") in NAMES:
        return Used(path, line, full, _missing_module(f"{inner}.{name}".strip(".")))
    if entry is None:
        what = f"no attribute {name!r}" if inner in NAMES else f"no module {module!r}"
        return Used(path, line, full, f"{what} in openai-agents 0.24: the program is for another version")
    if entry.name in REFUSED:
        return Used(path, line, full, f"its use raises an error: {REFUSED[entry.name]}")
    return Used(path, line, full, _reason(entry), entry.how if entry.kind == "mapped" else "")


def _reason(entry: Entry) -> str:
    return f"{entry.how}; use {entry.instead}" if entry.kind == "absent" else ""


def _missing_module(inner: str) -> str:
    """Why a module is not here, `""` where it is."""
    try:
        if find_spec(f"{_OURS}.{inner}".rstrip(".")) is not None:
            return ""
    except ImportError as error:
        return str(error)
    return f"no module 'agents.{inner}' in openai-agents 0.24: the program is for another version"


def report(place: Path) -> int:
    """Print what is not here, what is mapped, and how much is here; 1 where something is not."""
    used = list(examine(place))
    missing = [one for one in used if one.reason]
    for one in missing:
        print(f"{one.path}:{one.line}: {one.name}: {one.reason}")
    for name, how in sorted({(one.name, one.how) for one in used if one.how}):
        print(f"mapped: {name}: {how}")
    print(f"{len(used) - len(missing)} of {len(used)} imported names are here: change 'agents' to {_OURS!r} in their imports")
    return 1 if missing else 0


def main() -> int:
    """Examine the path on the command line."""
    if len(sys.argv) != 2 or not Path(sys.argv[1]).exists():
        print(f"usage: python -m {_OURS}.doctor PATH", file=sys.stderr)
        return 2
    return report(Path(sys.argv[1]))


if __name__ == "__main__":
    sys.exit(main())
