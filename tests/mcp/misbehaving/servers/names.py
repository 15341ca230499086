"""Servers whose tools have names that no provider takes. Each call must arrive under the server's own name."""

from __future__ import annotations

from tests.mcp.misbehaving.servers.base import Result, Server, case, text, tool


class Named(Server):
    """Answers a call by the place of the called name in its list."""

    def result(self, name: str, arguments: dict) -> Result:
        return text(f"pong {[one['name'] for one in self.tools].index(name)}")


def names(label: str, *given: str) -> None:
    """A server with tools of these names; each one's description is `tool N`, N its place."""
    tools = [tool(name, f"tool {place}") for place, name in enumerate(given)]
    case(f"names/{label}")(type(label, (Named,), {"tools": tools}))


names("of_100_characters", "a" * 100)
names("two_that_differ_after_64", "a" * 90 + "b", "a" * 90 + "c")
names("dots", "db.rows.get")
names("slashes", "fs/read", "/", "../../etc/passwd")
names("spaces_and_newlines", "get the row", "get\nthe row", " ")
names("emoji", "\U0001f600", "go\U0001f680")
names("other_scripts", "\u540d\u524d", "pr\u00fcfen")
names("empty", "", "ping")
names("clash_when_mapped", "a.b", "a/b", "a_b", "a b")
names("differ_by_case", "Ping", "ping", "PING")
names("of_a_provider", "computer", "web_search", "apply_patch", "shell", "local_shell")
names("of_python", "__proto__", "None", "__class__", "self")
names("begins_with_a_digit", "1st", "-x", "_")
names("of_braces", '{"name": "x"}', "<script>", "${PATH}")
names("of_100_000_characters", "n" * 100_000)
names("lone_surrogate", "bad\ud800name")
names("nul", "a\u0000b")
