"""What this adapter for the Messages API can do."""

from __future__ import annotations

from agentsdk.models.features import Features

FEATURES = Features(
    streaming=True,
    tools=True,
    tool_choice=True,
    parallel_tool_calls=True,
    hosted_tools="`extra_body`",
    native_output="strict schemas",
    images=("data", "address", "id"),
    audio=(),
    video=(),
    files=("data", "address", "id"),
    result_media=True,
    reasoning_replay=True,
    reasoning_effort=True,
    thinking="efforts, budgets, summaries",
    prompt_caching="`cache=`",
    token_counting=True,
    hosted_prompts=False,
    conversations=False,
    temperature=True,
    top_p=True,
    top_k=True,
    max_tokens=True,
    stop=True,
    seed=False,
    frequency_penalty=False,
    presence_penalty=False,
    logit_bias=False,
    logprobs=False,
    top_logprobs=False,
    verbosity=False,
    service_tier=True,
    store=False,
    prompt_cache_key=False,
    prompt_cache_retention="`5m`, `1h`",
    truncation=False,
    metadata="`user_id`",
)
