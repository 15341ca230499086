"""Our agents with the loop inside of the engine's workflow: each model call and each tool call a step of it.

What `agentsdk.durable` does not do; measured beside what it does.
"""
