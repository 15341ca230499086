"""`web_search`: the tool with which a model searches the web, or texts of your own."""

from __future__ import annotations

from typing import Any, Unpack

from agentsdk.define.function_tool import function_tool
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_options import ToolOptions
from agentsdk.ports.web_search import SEARCH_ENGINE, SearchEngine, SearchResult
from agentsdk.types.declared import Fields, whole
from agentsdk.types.text import clean_text, shortened

_FIELDS = Fields(
    "web_search",
    engine=SEARCH_ENGINE,
    results=whole("a whole number above 0: how many results the model is given", 1),
)
_TITLE, _TEXT, _URL = 200, 1_000, 2_000


def web_search(engine: SearchEngine, *, results: int = 5, **options: Unpack[ToolOptions[Any]]) -> FunctionTool[Any]:
    """A tool that searches with `engine` and gives title, URL and an excerpt of the first `results`.

    What it finds is a stranger's word: its results are untrusted, and mark the run. The other options are those of every tool.
    Raises `UserError` for a wrong one.
    """
    _FIELDS.check_given(engine=engine, results=results)

    async def web_search(query: str) -> str:
        """Search the web. Gives titles, addresses and excerpts of pages.

        Args:
            query: What to search for, in a few words.
        """
        found = await engine.search(clean_text(query), results)
        entries = [_entry(number, result) for number, result in enumerate(found[:results], 1)]
        return "\n".join(entries) or "Nothing was found."

    given: ToolOptions[Any] = {"effect": "none", "untrusted": True, "timeout": 30.0, **options}
    return function_tool(web_search, **given)


def _entry(number: int, result: SearchResult) -> str:
    lines = [f"{number}. {_line(result.title, _TITLE) or '(no title)'}", _line(result.url, _URL), _line(result.text, _TEXT)]
    return "\n   ".join(filter(None, lines))


def _line(text: str, most: int) -> str:
    return shortened(" ".join(clean_text(text).split()), most)
