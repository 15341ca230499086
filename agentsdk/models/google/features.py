"""What this adapter for `generateContent` can do."""

from __future__ import annotations

from agentsdk.models.features import Features

FEATURES = Features(
    streaming=True,
    tools=True,
    tool_choice=True,
    parallel_tool_calls=False,
    hosted_tools="`extra_body`",
    native_output="beside tools from Gemini 3 on",
    images=("data", "address", "id"),
    audio=("data",),
    video=("data", "address", "id"),
    files=("data", "address", "id"),
    result_media="after the results",
    reasoning_replay=True,
    reasoning_effort=True,
    thinking="efforts, budgets, summaries",
    prompt_caching="the server's own",
    token_counting=True,
    hosted_prompts=False,
    conversations=False,
    temperature=True,
    top_p=True,
    top_k=True,
    max_tokens=True,
    stop=True,
    seed=True,
    frequency_penalty=True,
    presence_penalty=True,
    logit_bias=False,
    logprobs=True,
    top_logprobs=True,
    verbosity=False,
    service_tier=True,
    store=False,
    prompt_cache_key=False,
    prompt_cache_retention=False,
    truncation=False,
    metadata=False,
)
