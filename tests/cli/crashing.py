"""A module that cannot be imported."""

raise ZeroDivisionError("no luck \x1b[31m")
