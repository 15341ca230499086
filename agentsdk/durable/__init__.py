"""Runs behind a durable engine: `agentsdk.durable.temporal` and `agentsdk.durable.dbos`.

The engine's workflow does one thing: it drives the run until it rests, again and again. What happens in between is recorded in
the run's store, so nothing of a run's loop is replayed by the engine, and nothing of it has to be deterministic.
"""
