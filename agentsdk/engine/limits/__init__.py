"""Limits at work: reservations before each spend, deadlines, and what is done at a limit."""
