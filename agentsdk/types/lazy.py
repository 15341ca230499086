"""Names that are imported on first use (PEP 562), so that a program pays only for those it uses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from types import FrameType, ModuleType

_NO_HOMES: Mapping[str, str] = {}


def lazy_names(
    package: str, homes: Mapping[str, str] = _NO_HOMES, submodules: Sequence[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of `package`. `homes` has the names of each module, separated by spaces.

    The submodules are attributes as well. The error for a name that only another public module has says so.
    """
    home = {name: module for module, names in homes.items() for name in names.split()}
    namespace = vars(sys.modules[package])

    def get(name: str) -> object:
        if name in home:
            value: object = getattr(import_module(home[name]), name)
            namespace[name] = value
            return value
        if name in submodules:
            return import_module(f"{package}.{name}")
        if not name.startswith("_"):
            for module in _public_modules(package.partition(".")[0]):
                if name in module.__all__:
                    there = module.__name__
                    text = f"{package}.{name} is in {there}; write: from {there} import {name}"
                    if _imports_from(sys._getframe(1)):  # pyright: ignore[reportPrivateUsage]
                        raise ImportError(text, name=package)
                    raise AttributeError(text)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted({*namespace, *home, *submodules})


def _imports_from(frame: FrameType) -> bool:
    """Whether it is at `from package import name`. Python drops the text of an `AttributeError` that is raised for that."""
    from opcode import opmap  # only here: a program without such a mistake need not pay for it

    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]


def _public_modules(root: str) -> Iterator[ModuleType]:
    """The package and its public submodules, but for those whose extra is not installed."""
    from agentsdk.types.errors import UserError  # only here: who imports the package need not pay for it

    yield sys.modules[root]
    for submodule in sys.modules[root].SUBMODULES:
        try:
            yield import_module(f"{root}.{submodule}")
        except (ImportError, UserError):
            continue
