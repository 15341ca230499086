"""The adapter to the official `mcp` package: its session and types, over a stdio transport of ours. Imported on first use."""
