"""What the site has besides `docs/*.md`: the navigation, which is that of docs/index.md, a page for each file outside docs
that a page links to, and one for each public module.

mkdocs loads this as a hook (`make docs`). So the pages stay plain Markdown, with links that work on a code host too."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import reference_pages
from markdown_links import links, relinked, slug

import agentsdk

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
LANGUAGES = {".py": "py", ".yaml": "yaml", ".js": "js", ".html": "html", ".css": "css", ".md": "md", ".toml": "toml"}
LISTS = {
    f"{name}.md"
    for name in ("index", "reference", "changelog", "examples", "glossary", "decisions", "providers", "contributing")
}
"""Pages that name everything: a search finds the page of a thing before them."""
_ROW = re.compile(r"^\| \[(?P<title>[^]]+)\]\((?P<target>[^)#]+)\) \|", re.MULTILINE)
_OUTPUT = re.compile(r"^```output$", re.MULTILINE)


def on_config(config: MkDocsConfig) -> None:
    """The navigation, and anchors as a code host makes them."""
    config.nav = navigation((ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    config.mdx_configs.setdefault("toc", {})["slugify"] = lambda text, _: slug(text)


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pages of what lies outside docs, and of the public modules."""
    from mkdocs.structure.files import File

    for path in outside():
        files.append(File.generated(config, site_uri(path), content=page_of(path)))
    for uri, text in reference_pages.pages().items():
        files.append(File.generated(config, uri, content=text))


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Links to the pages of the site, and what a block of code prints under a title."""
    uri = page.file.src_uri
    if uri in LISTS:
        page.meta.setdefault("search", {"boost": 0.2})
    source = next((path for path in outside() if site_uri(path) == uri), f"docs/{uri}")
    shown = relinked(markdown, lambda target: _on_site(source, target))
    if uri == "reference.md":
        shown = reference_pages.linked(shown)
    return _OUTPUT.sub('```text title="Output"', shown)


def navigation(index: str) -> list[dict[str, Any]]:
    """The groups of the index, by its headings; all examples, and all modules, are behind the pages of theirs."""
    groups = list[dict[str, Any]]()
    for part in re.split(r"^## ", index, flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        first, *subgroups = re.split(r"^### ", body, flags=re.MULTILINE)
        pages = list[Any]([] if groups else ["index.md"]) + list(_rows(first))
        pages += [{name: list(_rows(rows))} for name, _, rows in (group.partition("\n") for group in subgroups)]
        groups.append({title.strip(): [*pages, *_MORE.get(title.strip(), list)()]})
    return groups


def outside() -> list[str]:
    """The files and folders outside docs that have a page: the examples, and whatever is linked to from a page."""
    found, pages = set(_texts("examples")), sorted((ROOT / "docs").glob("*.md"))
    while pages:
        page = pages.pop()
        for link in links(page.read_text(encoding="utf-8")):
            path = _resolved(page.relative_to(ROOT).as_posix(), link.target)
            if path and not path.startswith("docs/") and path not in found and (ROOT / path).exists():
                found.add(path)
                pages += [ROOT / path] if _is_prose(path) else []
    return sorted(found)


def site_uri(path: str) -> str:
    """The page of a path of the project."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return path.lower() if _is_prose(path) else f"{path}/index.md" if (ROOT / path).is_dir() else f"{path}.md"


def page_of(path: str) -> str:
    """The text of a page for a file or a folder outside docs."""
    if (ROOT / path).is_dir():
        files = "\n".join(f"- [{name}]({posixpath.relpath(name, path)})" for name in _texts(path))
        return f"# {path}\n\n{files}\n"
    text = (ROOT / path).read_text(encoding="utf-8")
    if _is_prose(path):
        return text
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall(r"^ *(`{3,})", text, re.MULTILINE))])
    language = LANGUAGES.get(Path(path).suffix, "text")
    head = f"---\nhide: [toc]\nsearch: {{boost: 0.2}}\n---\n\n# {Path(path).name}"
    return f'{head}\n\n{fence}{language} title="{path}"\n{text.rstrip()}\n{fence}\n'


def _on_site(source: str, target: str) -> str:
    path = _resolved(source, target)
    if not path or not (ROOT / path).exists():
        return target
    anchor = target.partition("#")[2]
    uri = posixpath.relpath(site_uri(path), posixpath.dirname(site_uri(source)) or ".")
    return f"{uri}#{anchor}" if anchor else uri


def _resolved(source: str, target: str) -> str:
    """The path of the project that a link of `source` goes to; nothing for a link within the page or out of the project."""
    path = target.partition("#")[0]
    if not path or re.match(r"[a-z]+:", path):
        return ""
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), path))


def _rows(text: str) -> Iterator[dict[str, str]]:
    for row in _ROW.finditer(text):
        yield {row["title"]: site_uri(_resolved("docs/index.md", row["target"]))}


def _examples() -> Iterable[dict[str, Any]]:
    folders = dict[str, list[str]]()
    for path in _texts("examples"):
        folders.setdefault(path.split("/")[1] if path.count("/") > 1 else "", []).append(path)
    yield from (site_uri(path) for path in folders.pop(""))  # pyright: ignore[reportReturnType]
    yield from ({folder: [site_uri(path) for path in paths]} for folder, paths in folders.items())


def _modules() -> Iterable[dict[str, Any]]:
    names = ["agentsdk", *(f"agentsdk.{name}" for name in agentsdk.SUBMODULES)]
    yield {"Modules": [{name: reference_pages.uri(name)} for name in names]}


_MORE: dict[str, Callable[[], Iterable[Any]]] = {"Examples": _examples, "Reference": _modules}
"""What stands in a group of the navigation after the pages that the index names."""


def _is_prose(path: str) -> bool:
    return path.endswith(".md") and "/" not in path


def _texts(folder: str) -> list[str]:
    """The files of a folder that can be shown."""
    paths = sorted(path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return [path.relative_to(ROOT).as_posix() for path in paths if path.suffix in LANGUAGES or path.name == "Dockerfile"]
