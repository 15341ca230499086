"""`agentsdk doctor --from-openai-agents PATH`: what becomes of the names that a code base imports from openai-agents."""

from __future__ import annotations

from pathlib import Path

from agentsdk.cli.codes import FAILED, OK
from agentsdk.cli.shown import print_json
from agentsdk.types.errors import UserError


def examine_code(place: str, json: bool) -> int:
    """Print what is not here, what is mapped, and how much is here; 1 where something is not."""
    from agentsdk.compat.openai_agents.doctor import examine, report

    path = Path(place)
    if not path.exists():
        raise UserError(f"there is no file or folder {place!r}, expected one with Python files")
    if not json:
        return FAILED if report(path) else OK
    used = list(examine(path))
    names = [
        {"path": str(one.path), "line": one.line, "name": one.name, "here": not one.reason, "says": one.reason or one.how}
        for one in used
    ]
    print_json({"names": names})
    return FAILED if any(one.reason for one in used) else OK
