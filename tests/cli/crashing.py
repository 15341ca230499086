"""A module that cannot be imported."""

raise ZeroDivisionError("no luck")
