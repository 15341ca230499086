"""What this adapter for the Responses API can do."""

from __future__ import annotations

from agentsdk.models.features import Features

FEATURES = Features(
    streaming=True,
    tools=True,
    tool_choice=True,
    parallel_tool_calls=True,
    hosted_tools="`extra_body`",
    native_output=True,
    images=("data", "address", "id"),
    audio=(),
    video=(),
    files=("data", "address", "id"),
    result_media=True,
    reasoning_replay=True,
    reasoning_effort=True,
    thinking="efforts, summaries",
    prompt_caching="the server's own",
    token_counting=True,
    hosted_prompts=True,
    conversations=True,
    temperature=True,
    top_p=True,
    top_k=False,
    max_tokens=True,
    stop=False,
    seed=False,
    frequency_penalty=False,
    presence_penalty=False,
    logit_bias=False,
    logprobs=True,
    top_logprobs=True,
    verbosity=True,
    service_tier=True,
    store=True,
    prompt_cache_key=True,
    prompt_cache_retention="`in_memory`, `24h`",
    truncation=True,
    metadata=True,
)
