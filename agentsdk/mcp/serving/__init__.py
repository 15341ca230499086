"""Agents and tools as an MCP server: each call of a client is a run.

`serve.py` has the entry points, `server.py` the protocol's handlers, `offer.py` what is offered, `calls.py` the runs behind the
calls, `asking.py` what a client's person is asked, `answers.py` what a run comes to on the wire.
"""
