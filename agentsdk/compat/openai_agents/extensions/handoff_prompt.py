"""What agents that hand over may be told of it."""

RECOMMENDED_PROMPT_PREFIX = (
    "# System context\n"
    "You work together with other agents. Where another agent suits the request better, give it the conversation by calling "
    "the function named after it, `transfer_to_<agent_name>`. The user does not see these transfers: never mention them.\n"
)


def prompt_with_handoff_instructions(prompt: str) -> str:
    """A prompt behind that text."""
    return f"{RECOMMENDED_PROMPT_PREFIX}\n\n{prompt}"
