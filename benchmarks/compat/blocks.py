"""Run blocks of a page of documentation, as a notebook does: each statement for itself, those that await too.

    python -m benchmarks.compat.blocks FILE ...

The last one counts: those before it are run for the names that it leans on, each statement for itself, whatever becomes of it.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any


def statements(place: str) -> Iterator[CodeType]:
    """The statements of a block."""
    for statement in ast.parse(Path(place).read_text(encoding="utf-8")).body:
        yield compile(ast.Module([statement], []), place, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def run(code: CodeType, names: dict[str, Any], loop: asyncio.AbstractEventLoop) -> None:
    """Run a statement, with the names of those before it."""
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
    for code in (code for place in before for code in statements(place)):
        with contextlib.suppress(BaseException), contextlib.redirect_stdout(io.StringIO()):
            run(code, module.__dict__, loop)
    for code in statements(last):
        run(code, module.__dict__, loop)


if __name__ == "__main__":
    main()
