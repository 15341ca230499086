"""What this adapter for chat completions can do."""

from __future__ import annotations

from agentsdk.models.features import Features

FEATURES = Features(
    streaming=True,
    tools=True,
    tool_choice=True,
    parallel_tool_calls=True,
    hosted_tools=False,
    native_output=True,
    images=("data", "address"),
    audio=("data",),
    video=(),
    files=("data", "id"),
    result_media="in the message that follows",
    reasoning_replay=True,
    reasoning_effort=True,
    thinking="efforts",
    prompt_caching="the server's own",
    token_counting=False,
    hosted_prompts=False,
    conversations=False,
    temperature=True,
    top_p=True,
    top_k="not at OpenAI",
    max_tokens=True,
    stop=True,
    seed=True,
    frequency_penalty=True,
    presence_penalty=True,
    logit_bias=True,
    logprobs=True,
    top_logprobs=True,
    verbosity=True,
    service_tier=True,
    store=True,
    prompt_cache_key=True,
    prompt_cache_retention="`in_memory`, `24h`",
    truncation=False,
    metadata=True,
)
