"""Models: the interface, and those of OpenAI's two APIs."""
