"""TEMPORARY"""
from __future__ import annotations
def find_tracer() -> None: return None
