"""How much of openai-agents runs on `agentsdk.compat.openai_agents`: its own examples, documentation, tests and names."""
