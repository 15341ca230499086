"""What the names in a program's source stand for: the objects themselves, as far as they are known before it runs."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Iterator, Sequence
from functools import partial
from types import FunctionType, ModuleType

from agentsdk.types.text import shortened

UNKNOWN = object()
"""What a name stands for where only a run can say."""

_MOST = 60


class Names:
    """The names in the body of a function: its own, of which only inner functions are known, and those around it."""

    def __init__(self, node: ast.AsyncFunctionDef, function: FunctionType, around: Names | None = None) -> None:
        self.node = node
        self.function = function
        self._around = around
        self._own = {*_own_names(node)}
        self._inner: dict[str, ast.AsyncFunctionDef] = {}

    @property
    def place(self) -> tuple[str, int, int]:
        """Where the function stands: no other stands there."""
        code = self.function.__code__
        return code.co_filename, code.co_firstlineno, self.node.lineno

    def inner(self, node: ast.AsyncFunctionDef) -> None:
        """Take note of a function that is defined in the body."""
        self._inner[node.name] = node

    def function_of(self, found: object) -> Names | None:
        """The names in an async function of the same module that a name stands for. None for anything else."""
        if isinstance(found, Names):
            return found
        if (
            isinstance(found, FunctionType)
            and inspect.iscoroutinefunction(found)
            and found.__module__ == self.function.__module__
        ):
            return names_of(found)
        return None

    def find(self, expression: ast.expr) -> object:
        """What an expression stands for: `UNKNOWN`, an object, or the `Names` of an inner function. Runs nothing of its own."""
        if isinstance(expression, ast.Name):
            return self._named(expression.id)
        if isinstance(expression, ast.Attribute):
            owner = self.find(expression.value)
            if owner is UNKNOWN or isinstance(owner, Names):
                return UNKNOWN
            if isinstance(owner, ModuleType):
                return getattr(owner, expression.attr, UNKNOWN)
            found = inspect.getattr_static(owner, expression.attr, UNKNOWN)
            return found.__func__ if isinstance(found, staticmethod) else found
        if isinstance(expression, ast.Call) and expression.args and self.find(expression.func) is partial:
            return self.find(expression.args[0])
        return UNKNOWN

    def _named(self, name: str) -> object:
        if name in self._inner:
            return Names(self._inner[name], self.function, self)
        if name in self._own:
            return UNKNOWN
        if self._around is not None:
            return self._around._named(name)
        function = self.function
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if variable == name:
                try:
                    return cell.cell_contents
                except ValueError:  # of a variable that has no value yet
                    return UNKNOWN
        return function.__globals__.get(name, getattr(builtins, name, UNKNOWN))


def names_of(function: FunctionType) -> Names | None:
    """The names in an async function, and its source with them. None where that is not to be had."""
    try:
        module = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None
    node = module.body[0] if module.body else None
    if not isinstance(node, ast.AsyncFunctionDef) or node.name != function.__name__:
        return None  # the file has been edited since
    return Names(node, function)


def _own_names(function: ast.AsyncFunctionDef) -> Iterator[str]:
    """What the body of a function gives a value to, or might."""
    arguments = function.args
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if each is not None:
            yield each.arg
    for node in inside(function.body):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node.id
        elif isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            yield node.name or ""
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((each.asname or each.name).partition(".")[0] for each in node.names)


def inside(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All of the source within some of it, without the bodies of inner functions and classes."""
    waiting: list[ast.AST] = [*nodes]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


class _Plain(ast.NodeTransformer):
    """Source as it is read: without `await`."""

    def visit_Await(self, node: ast.Await) -> ast.expr:
        value = self.visit(node.value)
        assert isinstance(value, ast.expr)
        return value


def words(source: ast.AST) -> str:
    """A piece of source as a text that is not too long."""
    text = ast.unparse(source)
    if isinstance(source, ast.expr):
        text = ast.unparse(_Plain().visit(ast.parse(text, mode="eval")))  # of a copy
    return shortened(text, _MOST)


def said(source: ast.AST) -> str:
    """The same of what is said to somebody: of a text, what is in its quotes."""
    if isinstance(source, ast.Constant) and isinstance(source.value, str):
        return shortened(source.value, _MOST)
    return shortened(ast.unparse(source)[2:-1], _MOST) if isinstance(source, ast.JoinedStr) else words(source)
