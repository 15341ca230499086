"""Looks over the site, `python scripts/check_site.py site`: no link is dead, and no page asks another host for anything."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script", "img", "iframe", "source", "video", "audio", "embed", "object", "input"}
"""Elements whose address a browser asks for by itself, as those of `<link>`."""
_CSS_URL = re.compile(r"""(?:url\(\s*|@import\s+)["']?((?:https?:)?//[^"')\s]+)""")


class Page(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors, self.links, self.loads = {"", "top"}, list[str](), list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        target = values.get("href") or values.get("src") or values.get("data") or ""
        is_loaded = tag in LOADED or (tag == "link" and values.get("rel") != "canonical")
        if target and is_loaded:
            self.loads.append(target)
        if target and tag != "base":
            self.links.append(target)


def problems(site: Path) -> Iterator[str]:
    """What is wrong with the site."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site)
        yield from (f"{name} asks another host: {target}" for target in page.loads if re.match(r"(https?:)?//", target))
        if name.name != "404.html":  # served for any address, its links begin at the root
            yield from (f"{name} has a dead link: {target}" for target in page.links if _is_dead(path, target, pages))
    for path in sorted(site.rglob("*.css")):
        for target in _CSS_URL.findall(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site)} asks another host: {target}"


def _is_dead(source: Path, target: str, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return False
    path = (source.parent / unquote(parts.path)).resolve() if parts.path else source
    path = path / "index.html" if path.is_dir() else path
    return not path.exists() or (path in pages and unquote(parts.fragment) not in pages[path].anchors)


def main() -> int:
    """1 where something is wrong, which is printed."""
    site = Path(sys.argv[1]).resolve()
    found = list(problems(site))
    print(*found, f"{len(list(site.rglob('*.html')))} pages, {len(found)} problems", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
