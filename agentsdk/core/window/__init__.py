"""The context window: what of a long history a request carries."""
