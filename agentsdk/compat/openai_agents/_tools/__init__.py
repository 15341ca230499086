"""The tools of `tool.py`, by kind."""
