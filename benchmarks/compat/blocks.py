"""Run blocks of a page of documentation, as a notebook does: each statement for itself, those that await too.

    python -m benchmarks.compat.blocks FILE ...

The last one counts: those before it, of the same page, are run for the names that it may lean on, whatever becomes of them.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import sys
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any


def run_block(place: str, names: dict[str, Any], loop: asyncio.AbstractEventLoop) -> None:
    """Run the statements of a block, with the names of those before it."""
    tree = ast.parse(Path(place).read_text(encoding="utf-8"))
    for statement in tree.body:
        code: CodeType = compile(ast.Module([statement], []), place, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        result: Any = eval(code, names)
        if code.co_flags & inspect.CO_COROUTINE:
            loop.run_until_complete(result)


def main() -> None:
    """Run the files that are named."""
    *before, last = sys.argv[1:]
    module = ModuleType("__main__")
    module.__dict__["__file__"] = last
    sys.modules["__main__"] = module  # where types that blocks define are looked up by name
    loop = asyncio.new_event_loop()
    for place in before:
        with contextlib.suppress(BaseException), contextlib.redirect_stdout(io.StringIO()):
            run_block(place, module.__dict__, loop)
    run_block(last, module.__dict__, loop)


if __name__ == "__main__":
    main()
