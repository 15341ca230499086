"""Has `agents` mean `agentsdk.compat.openai_agents` in a process whose PYTHONPATH leads here: the changed import line."""

import importlib
import importlib.abc
import importlib.machinery
import sys
from types import ModuleType

_OURS = "agentsdk.compat.openai_agents"


class _Alias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name != "agents" and not name.startswith("agents."):
            return None
        try:
            module = importlib.import_module(_OURS + name.removeprefix("agents"))
        except ModuleNotFoundError as error:
            if type(error) is not ModuleNotFoundError:
                raise  # it says why there is none
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=hasattr(module, "__path__"))

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return importlib.import_module(_OURS + spec.name.removeprefix("agents"))

    def exec_module(self, module: ModuleType) -> None:
        pass


sys.meta_path.insert(0, _Alias())
