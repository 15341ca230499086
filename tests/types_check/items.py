"""Typed as documented: both checkers read these files, nothing runs them."""
