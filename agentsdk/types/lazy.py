"""Names that are imported on first use (PEP 562), so that a program pays only for those it uses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def lazy_names(
    package: str, homes: Mapping[str, str], submodules: Sequence[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of `package`. `homes` has the names of each module, separated by spaces.

    The submodules are attributes as well. A name that only a submodule has is an `ImportError` that says so: Python drops the
    text of an `AttributeError` that was raised for `from package import name`.
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
            for submodule in submodules:
                if name in import_module(f"{package}.{submodule}").__all__:
                    raise ImportError(f"{package}.{name} is in {package}.{submodule}", name=package)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted({*namespace, *home, *submodules})
