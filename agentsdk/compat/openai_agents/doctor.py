"""What a code base uses of openai-agents, and what becomes of it: `python -m agentsdk.compat.openai_agents.doctor path`."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_OURS = "agentsdk.compat.openai_agents"


@dataclass(frozen=True, slots=True)
class Used:
    """A name that a file imports from `agents`. `reason` says why it is not here, `""` where it is."""

    path: Path
    line: int
    name: str
    reason: str = ""


def examine(place: Path) -> Iterator[Used]:
    """The names that the Python files under `place`, or that one file, import from `agents`, in order."""
    for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError) as error:
            yield Used(path, getattr(error, "lineno", None) or 1, "", f"the file cannot be read: {error}")
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "agents":
                for alias in node.names:
                    yield Used(path, node.lineno, f"{node.module}.{alias.name}", _missing(node.module or "", alias.name))
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name.split(".")[0] == "agents":
                        yield Used(path, node.lineno, alias.name, _missing(alias.name, ""))


def _missing(module: str, name: str) -> str:
    """Why a name is not here, `""` where it is."""
    ours = _OURS + module.removeprefix("agents")
    try:
        found = importlib.import_module(ours)
    except ImportError:
        from agentsdk.compat.openai_agents._absent import absent

        first, _, rest = module.removeprefix("agents.").partition(".")
        inner = f"extensions.{rest.partition('.')[0]}" if first == "extensions" and rest else first
        return str(absent(_OURS, inner))
    if name in ("", "*"):
        return ""
    try:
        getattr(found, name)
    except (AttributeError, ImportError) as error:
        try:
            importlib.import_module(f"{ours}.{name}")
        except ImportError:
            return str(error)
    return ""


def main() -> int:
    """Print what is not here, and how much is; 1 where something is not."""
    if len(sys.argv) != 2 or not Path(sys.argv[1]).exists():
        print(f"usage: python -m {_OURS}.doctor PATH", file=sys.stderr)
        return 2
    used = list(examine(Path(sys.argv[1])))
    missing = [one for one in used if one.reason]
    for one in missing:
        print(f"{one.path}:{one.line}: {one.name}: {one.reason}")
    print(f"{len(used) - len(missing)} of {len(used)} imported names are here: change 'agents' to {_OURS!r} in their imports")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
