"""SDKs as contestants of the rows of misbehaving MCP servers, each in an environment of its own."""
