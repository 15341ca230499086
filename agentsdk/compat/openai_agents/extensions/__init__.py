"""Filters, prompts, sessions and models beyond the root."""
