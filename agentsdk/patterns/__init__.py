"""Ways in which agents work together, or on one task in several steps, each a `Workflow`; and what they remember."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.types.lazy import lazy_names

if TYPE_CHECKING:
    from agentsdk.patterns.citing import Citation, CitedAnswer, citation_problems, cited_from
    from agentsdk.patterns.debating import Debate, Statement, debate
    from agentsdk.patterns.memory import Memory, MemoryChange
    from agentsdk.patterns.planning import PlannedAnswer, PlanRound, plan_then_execute
    from agentsdk.patterns.reducing import Documents, FailedPart, Reduced, map_reduce
    from agentsdk.patterns.routing import Route, Routed, router
    from agentsdk.patterns.supervising import BackgroundTask, Order, Orders, Supervised, supervisor
    from agentsdk.patterns.todo import Todo, todo_tool, todos_of
    from agentsdk.patterns.voting import Vote, VoteCount, canonical, vote

__all__ = [
    "BackgroundTask",
    "Citation",
    "CitedAnswer",
    "Debate",
    "Documents",
    "FailedPart",
    "Memory",
    "MemoryChange",
    "Order",
    "Orders",
    "PlanRound",
    "PlannedAnswer",
    "Reduced",
    "Route",
    "Routed",
    "Statement",
    "Supervised",
    "Todo",
    "Vote",
    "VoteCount",
    "canonical",
    "citation_problems",
    "cited_from",
    "debate",
    "map_reduce",
    "plan_then_execute",
    "router",
    "supervisor",
    "todo_tool",
    "todos_of",
    "vote",
]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(
        __name__,
        {  # a module that is named as a function in it would hide that, once it is imported
            "agentsdk.patterns.citing": "Citation CitedAnswer citation_problems cited_from",
            "agentsdk.patterns.debating": "Debate Statement debate",
            "agentsdk.patterns.memory": "Memory MemoryChange",
            "agentsdk.patterns.reducing": "Documents FailedPart Reduced map_reduce",
            "agentsdk.patterns.planning": "PlanRound PlannedAnswer plan_then_execute",
            "agentsdk.patterns.routing": "Route Routed router",
            "agentsdk.patterns.supervising": "BackgroundTask Order Orders Supervised supervisor",
            "agentsdk.patterns.todo": "Todo todo_tool todos_of",
            "agentsdk.patterns.voting": "Vote VoteCount canonical vote",
        },
    )
