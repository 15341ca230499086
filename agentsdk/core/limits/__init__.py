"""Limits of a run: what it may spend, what it has spent, and whether it is stuck."""
