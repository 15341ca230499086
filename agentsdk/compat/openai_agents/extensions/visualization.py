"""Drawings of agents, in Graphviz's language."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from agentsdk.compat.openai_agents.agent import Agent
from agentsdk.compat.openai_agents.handoffs import Handoff


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _target(given: Any) -> tuple[str, Agent[Any] | None]:
    if isinstance(given, Handoff):
        return given.agent_name, given.agent  # pyright: ignore
    return given.name, given


def get_main_graph(agent: Agent[Any]) -> str:
    """The whole drawing."""
    head = 'digraph G {\n    graph [splines=true];\n    node [fontname="Arial"];\n    edge [penwidth=1.5];\n'
    return "".join([head, get_all_nodes(agent), get_all_edges(agent), "}"])


def get_all_nodes(agent: Agent[Any], parent: Agent[Any] | None = None, visited: set[str] | None = None) -> str:
    """The nodes: agents, tools and MCP servers."""
    seen = set[str]() if visited is None else visited
    if agent.name in seen:
        return ""
    seen.add(agent.name)
    parts: list[str] = []
    if parent is None:
        ends = "shape=ellipse, style=filled, fillcolor=lightblue, width=0.5, height=0.3"
        parts += [f'"__start__" [label="__start__", {ends}];', f'"__end__" [label="__end__", {ends}];']
        parts.append(f"{_quoted(agent.name)} [label={_quoted(agent.name)}, {_BOX}];")
    for tool in agent.tools:
        shape = "shape=ellipse, style=filled, fillcolor=lightgreen, width=0.5, height=0.3"
        parts.append(f"{_quoted(tool.name)} [label={_quoted(tool.name)}, {shape}];")
    for server in agent.mcp_servers:
        shape = "shape=box, style=filled, fillcolor=lightgrey, width=1, height=0.5"
        parts.append(f"{_quoted(server.name)} [label={_quoted(server.name)}, {shape}];")
    for given in agent.handoffs:
        name, target = _target(given)
        if name not in seen:
            parts.append(f'{_quoted(name)} [label={_quoted(name)}, shape=box, style="filled,rounded", {_COLORS}];')
        if target is not None:
            parts.append(get_all_nodes(target, agent, seen))
    return "".join(parts)


_COLORS = "fillcolor=lightyellow, width=1.5, height=0.8"
_BOX = f"shape=box, style=filled, {_COLORS}"


def get_all_edges(agent: Agent[Any], parent: Agent[Any] | None = None, visited: set[str] | None = None) -> str:
    """The edges: who hands over to whom, and calls what."""
    seen = set[str]() if visited is None else visited
    if agent.name in seen:
        return ""
    seen.add(agent.name)
    name = _quoted(agent.name)
    parts: list[str] = [f'"__start__" -> {name};'] if parent is None else []
    for one in (*agent.tools, *agent.mcp_servers):
        other = _quoted(one.name)
        parts.append(f"{name} -> {other} [style=dotted, penwidth=1.5];{other} -> {name} [style=dotted, penwidth=1.5];")
    for given in agent.handoffs:
        reached, target = _target(given)
        parts.append(f"{name} -> {_quoted(reached)};")
        if target is not None:
            parts.append(get_all_edges(target, agent, seen))
    if not agent.handoffs:
        parts.append(f'{name} -> "__end__";')
    return "".join(parts)


def draw_graph(agent: Agent[Any], filename: str | None = None) -> Any:
    """The drawing, by the package `graphviz`: its `Source`. Also as the file `filename`.png where that is given."""
    source = import_module("graphviz").Source(get_main_graph(agent))
    if filename:
        source.render(filename, format="png", cleanup=True)
    return source
