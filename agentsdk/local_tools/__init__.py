"""Tools with a body of ours: what a model is given that runs in your process, or in a sandbox."""
