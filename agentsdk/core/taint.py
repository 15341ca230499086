"""Taint: whether a model has been shown what strangers wrote, and where that came from.

A page, a mail or the answer of somebody's server may hold instructions. A model that has read them may follow them, whatever
its prompt says: from then on nobody knows whose wish a call is. A run is tainted from the moment on at which its model is
shown an untrusted item: the result of a tool that is declared so, or of a hosted tool that reads the web or asks an MCP
server (notes to a text tell of that too), or a message that is marked so. The calls of one reply are all asked for before
any of their results is shown.

Nothing takes the taint away: not compaction, a handoff or a filter, as what the model wrote since may repeat what it read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, structs

from agentsdk.types.events import ToolFinished
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message, OutputText, ProviderItem


class Taint(Struct, frozen=True, gc=False):
    """What a run was tainted by first: the result of a `tool`, and the id of its call; both are `""` for a message.

    The id is `""` as well for a hosted tool whose provider tells of its use by notes to a text only.
    """

    tool: str = ""
    call_id: str = ""

    @property
    def reason(self) -> str:
        """Why calls wait since, in words for who decides on them."""
        if not self.tool:
            return "a message that the model has read is untrusted"
        call = f" (call {self.call_id!r})" if self.call_id else ""
        return f"the result of {self.tool!r}{call}, which the model has read, is untrusted"


def taint_of_items(items: Iterable[Item]) -> Taint | None:
    """What taints a run whose model reads these items, or gave them: what a hosted tool found it read before it wrote the rest.

    The first untrusted one. O(items).
    """
    called: dict[str, str] = {}
    for item in items:
        if type(item) is Message:
            if item.untrusted:
                return Taint()
            if type(item.content) is not str and (taint := _taint_of_notes(item)) is not None:
                return taint
        elif type(item) is FunctionCall:
            called[item.call_id] = item.name
        elif type(item) is FunctionCallOutput:
            if item.untrusted:
                return Taint(called.get(item.call_id, "a tool"), item.call_id)
        elif type(item) is ProviderItem and (taint := _taint_of_hosted(item)) is not None:
            return taint
    return None


def taint_of_results(output: Iterable[Item], results: Mapping[str, ToolFinished]) -> Taint | None:
    """What taints a run whose model is shown the results of its reply's calls: the first of them in the reply's order."""
    for result in results.values():  # of most runs none: the calls need not be looked at
        if result.untrusted:
            break
    else:
        return None
    for item in output:
        if type(item) is FunctionCall:
            given = results.get(item.call_id)
            if given is not None and given.untrusted and not given.is_withheld:
                return Taint(item.name, item.call_id)
    return None


def as_untrusted(items: Iterable[Item]) -> tuple[Item, ...]:
    """Items that one wrote who has read what strangers wrote: what of them can be marked is. O(items)."""
    marked = (Message, FunctionCallOutput)
    return tuple([structs.replace(item, untrusted=True) if isinstance(item, marked) else item for item in items])


_HOSTED = ("web_search", "web_fetch", "mcp")


def _taint_of_hosted(item: ProviderItem) -> Taint | None:
    """A use of a hosted tool that reads what strangers wrote. That an MCP server was asked for its tools is no use of them."""
    from agentsdk.types.hosted_results import HostedToolUse  # few runs have hosted tools

    use = HostedToolUse.of(item)
    return Taint(use.tool, use.call_id) if use.tool in _HOSTED and not use.tools else None


def _taint_of_notes(message: Message) -> Taint | None:
    """A use of such a tool that its provider tells of by a note to the text only, as Google does and chat completions do."""
    if not any(type(part) is OutputText and part.annotations for part in message.content):
        return None
    from agentsdk.types.hosted_results import hosted_tools_of

    return next((Taint(tool) for tool in hosted_tools_of(message) if tool in _HOSTED), None)
