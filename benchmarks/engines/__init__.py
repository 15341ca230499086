"""Durable engines: the same programs on Temporal and on DBOS, whose workers are killed, and what an engine costs.

`plans.py` says what a run does and `sweep.py` kills the processes that do it. Each contestant is a module with two roles, a
worker and the person who begins runs and decides: `on_temporal.py` and `on_dbos.py` are ours, `peers` those of others.
`compare.py` puts the loop into the engine's workflow, and beside it the journal way; `overhead.py` measures both engines beside
`Worker`.
"""
