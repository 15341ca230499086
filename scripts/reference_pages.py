"""A page of the site for each public module: every name with its whole signature, docstring, fields and methods.

`docs/reference.md` has the first words of each; these pages are made when the site is built (`site_pages.py`)."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import itertools
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import reference

import agentsdk

WIDTH = 88
_ROW = re.compile(r"^\| \[`(?P<name>\w+)`\]\((?P<topic>\w+\.md)\)", re.MULTILINE)
_MODULE = re.compile(r"^## (?P<module>agentsdk(\.\w+)*)$", re.MULTILINE)
_TAG = re.compile(r"<(?=[A-Za-z/])")


def pages() -> dict[str, str]:
    """The text of each page by its uri."""
    modules = [agentsdk, *(importlib.import_module(f"agentsdk.{name}") for name in agentsdk.SUBMODULES)]
    return {uri(module.__name__): module_page(module) for module in modules}


def uri(module: str) -> str:
    """The page of a module."""
    return f"reference/{module.removeprefix('agentsdk.').replace('.', '_')}.md"


def linked(text: str) -> str:
    """The page `docs/reference.md`, whose names lead to these pages."""
    head, *parts = re.split(r"^(?=## agentsdk)", text, flags=re.MULTILINE)
    head = head.replace("A name links to the page that has most\nto say of it.", "A name links to all of it, with types.")
    return head + "".join(_linked_part(part) for part in parts)


def module_page(module: ModuleType) -> str:
    """The page of one module."""
    names = reference.only_root() if module is agentsdk else list(module.__all__)
    head = f"---\nsearch: {{boost: 0.1}}\n---\n\n# {module.__name__}\n\n{_prose(inspect.getdoc(module) or '')}\n"
    return head + "".join(f"\n{_entry(module, name)}" for name in names)


def _linked_part(part: str) -> str:
    found = _MODULE.match(part)
    assert found is not None
    page = uri(found["module"])
    return _ROW.sub(lambda row: f"| [`{row['name']}`]({page}#{row['name'].lower()})", part)


def _entry(module: ModuleType, name: str) -> str:
    value = getattr(module, name)
    topic = reference.topic(module, name)
    source = "agentsdk" if name in agentsdk.__all__ else module.__name__
    is_class = inspect.isclass(value)
    where = [
        f"`from {source} import {name}`",
        f"[{_title(topic)}](../{topic})" if topic else "",
        _bases(value) if is_class else "",
    ]
    parts = [f"## {name}", _code(_shown(module, name, value)), " · ".join(part for part in where if part)]
    parts += [_prose(reference.said(module, name)), *(_members(value) if is_class else ())]
    return "\n\n".join(part for part in parts if part) + "\n"


def _title(page: str) -> str:
    return (reference.DOCS / page).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def _shown(module: ModuleType, name: str, value: Any) -> str:
    """How a name is written: a function or a class with its parameters, another by what it stands for."""
    if inspect.isclass(value):
        takes = _takes(value)
        return f"class {name}" if takes is None else _call(f"class {name}", takes)
    if inspect.isroutine(value):
        return _call(f"{_def(value)} {name}", _signature(value))
    return reference.assigned(module, name) or f"{name}: {type(value).__name__}"


def _def(function: Any) -> str:
    return "async def" if inspect.iscoroutinefunction(function) else "def"


def _signature(function: Any) -> inspect.Signature:
    """With what it returns, which a signature that shows options by name leaves out."""
    signature = inspect.signature(function)
    return signature.replace(return_annotation=function.__annotations__.get("return", signature.return_annotation))


def _bases(value: type) -> str:
    """The public classes that a class is one of."""
    names = [base.__name__ for base in value.__bases__ if not base.__name__.startswith("_")]
    shown = [f"`{name}`" for name in names if name not in ("object", "Generic", "Protocol", "Struct", "dict", "ABC")]
    return f"{'Base' if len(shown) == 1 else 'Bases'}: {', '.join(shown)}" if shown else ""


def _takes(value: type) -> inspect.Signature | None:
    """What a constructor takes; None for what programs do not make."""
    if getattr(value, "_is_protocol", False) or "__total__" in vars(value):
        return None
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    hints = dict[str, Any]()
    for base in reversed(value.__mro__):
        hints |= inspect.get_annotations(base)
    known = [
        each if each.annotation is not each.empty else each.replace(annotation=hints.get(each.name, each.empty))
        for each in signature.parameters.values()
        if not each.name.startswith("_")
    ]
    return signature.replace(parameters=known, return_annotation=signature.empty) if known else None


def _call(start: str, signature: inspect.Signature, *, without_self: bool = False) -> str:
    """A signature in lines of a page's width."""
    parameters = [each for each in signature.parameters.values() if not (without_self and each.name in ("self", "cls"))]
    shown, last = list[str](), inspect.Parameter.POSITIONAL_OR_KEYWORD
    for each in parameters:
        if each.name.startswith("_"):
            continue
        if last is each.POSITIONAL_ONLY and each.kind is not each.POSITIONAL_ONLY:
            shown.append("/")
        if each.kind is each.KEYWORD_ONLY and last not in (each.KEYWORD_ONLY, each.VAR_POSITIONAL):
            shown.append("*")
        shown.append(_parameter(each))
        last = each.kind
    end = "" if signature.return_annotation is signature.empty else f" -> {_annotation(signature.return_annotation)}"
    line = f"{start}({', '.join(shown)}){end}"
    if len(line) <= WIDTH:
        return line
    return f"{start}(\n{''.join(f'    {each},' + chr(10) for each in shown)}){end}"


def _parameter(each: inspect.Parameter) -> str:
    stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
    shown = f"{stars}{each.name}"
    if each.annotation is not each.empty:
        shown += f": {_annotation(each.annotation)}"
    if each.default is each.empty:
        return shown
    return f"{shown}{' = ' if ':' in shown else '='}{_default(each.default)}"


def _default(value: Any) -> str:
    text = f'"{value}"' if isinstance(value, str) and '"' not in value else repr(value)
    return "..." if text.startswith("<") or len(text) > WIDTH // 2 else text


def _annotation(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:agentsdk|collections|typing)(?:\.\w+)*\.(?=[A-Z])", "", text)


def _members(value: type) -> Iterator[str]:
    """Fields and properties, then methods; those of a public base are on its own entry."""
    members = [
        (name, member)
        for owner in _owners(value)
        for name, member in vars(owner).items()
        if not name.startswith("_") and not _is_overridden(value, owner, name)
    ]
    fields = [field for owner in _owners(value) for field in _fields(owner)]
    fields += [_property(name, member) for name, member in members if isinstance(member, property | functools.cached_property)]
    yield "\n".join(f"- `{name}`{f': `{hint}`' if hint else ''}{f'. {words}' if words else ''}" for name, hint, words in fields)
    for name, member in members:
        function = getattr(member, "__func__", member)
        if inspect.isfunction(function):
            decorator = f"@{type(member).__name__}\n" if isinstance(member, staticmethod | classmethod) else ""
            shown = _call(f"{_def(function)} {name}", _signature(function), without_self=not isinstance(member, staticmethod))
            yield f"#### `{name}`"
            yield _code(decorator + shown)
            yield _prose(inspect.getdoc(function) or "")


def _property(name: str, member: Any) -> tuple[str, str, str]:
    function = member.fget if isinstance(member, property) else member.func
    words = " ".join((inspect.getdoc(function) or "").split())
    return name, _annotation(inspect.signature(function).return_annotation), _prose(words)


def _owners(value: type) -> Iterator[type]:
    for base in value.__mro__:
        if base is value or (base.__module__.startswith("agentsdk") and base.__name__.startswith("_")):
            yield base


def _is_overridden(value: type, owner: type, name: str) -> bool:
    return next(base for base in value.__mro__ if name in vars(base)) is not owner


def _fields(owner: type) -> list[tuple[str, str, str]]:
    """The fields of a class body: all of a record that has no constructor to show, else those that a docstring follows."""
    classes = {node.name: node for node in reference.tree(sys.modules[owner.__module__]).body if isinstance(node, ast.ClassDef)}
    if owner.__name__ not in classes:
        return []
    body = classes[owner.__name__].body
    is_shown = _takes(owner) is None and not issubclass(owner, BaseException)
    found = list[tuple[str, str, str]]()
    for node, after in itertools.pairwise([*body, ast.Pass()]):
        name = reference.name_of(node)
        if not name.isidentifier() or name.startswith("_"):
            continue
        words = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
        if words or is_shown:
            hint = ast.unparse(node.annotation) if isinstance(node, ast.AnnAssign) else ""
            found.append((name, hint, _prose(" ".join(str(words).split()))))
    return found


def _code(text: str) -> str:
    return f"```python\n{text}\n```"


def _prose(text: str) -> str:
    """A docstring as Markdown: what looks like a tag is text."""
    return "".join(part if part.startswith("`") else _TAG.sub("&lt;", part) for part in re.split(r"(`[^`]*`)", text))


if __name__ == "__main__":
    sys.stdout.write(pages()[uri(sys.argv[1])])
