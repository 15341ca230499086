"""Models of other vendors."""
