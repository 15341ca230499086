"""Capabilities of adapters: each declares them in a `features.py` of its own, and `scripts/provider_table.py` prints the table.

It is about the adapter's code. Whether a model behind it understands images, say, depends on the provider.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Support = bool | str
"""Whether it is there; text: it is, in this way."""

Way = Literal["data", "address", "id"]
"""How media go along: encoded in the request, as an address that the provider opens, or by the provider's own file id."""


class Features(Struct, frozen=True, kw_only=True):
    """What an adapter can do. The fields named like those of `ModelSettings` are about these: without support, `UserError`.

    `native_output`: the provider enforces an output type's schema; `json_mode`: that the output is JSON. `hosted_tools`: those
    that it has, by class, each with the settings that it takes; `extra_tools`: how its other own tools are given beside the
    agent's. `result_media`: images and files in tool results. `token_counting`: the provider counts a request's tokens
    beforehand. `hosted_prompts` and `conversations` are those that the provider keeps.
    """

    streaming: Support
    tools: Support
    tool_choice: Support
    parallel_tool_calls: Support
    hosted_tools: dict[str, tuple[str, ...]]
    extra_tools: Support
    native_output: Support
    json_mode: Support
    images: tuple[Way, ...]
    audio: tuple[Way, ...]
    video: tuple[Way, ...]
    files: tuple[Way, ...]
    result_media: Support
    reasoning_replay: Support
    reasoning_effort: Support
    thinking: Support
    prompt_caching: Support
    token_counting: Support
    hosted_prompts: Support
    conversations: Support
    temperature: Support
    top_p: Support
    top_k: Support
    max_tokens: Support
    stop: Support
    seed: Support
    frequency_penalty: Support
    presence_penalty: Support
    logit_bias: Support
    logprobs: Support
    top_logprobs: Support
    verbosity: Support
    service_tier: Support
    store: Support
    prompt_cache_key: Support
    prompt_cache_retention: Support
    truncation: Support
    metadata: Support
