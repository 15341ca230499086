"""Write the page of providers: `python scripts/provider_table.py > docs/providers.md`. The tables are read from the code."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence

from agentsdk.models.anthropic.features import FEATURES as ANTHROPIC
from agentsdk.models.bedrock.features import FEATURES as BEDROCK
from agentsdk.models.features import Features
from agentsdk.models.google.features import FEATURES as GOOGLE
from agentsdk.models.known import PROFILES
from agentsdk.models.openai_chat.features import FEATURES as OPENAI_CHAT
from agentsdk.models.openai_responses.features import FEATURES as OPENAI_RESPONSES
from agentsdk.types.hosted_tool import HostedTool
from agentsdk.types.hosted_tools import HOSTED_TOOLS

ADAPTERS = {
    "chat completions": OPENAI_CHAT,
    "OpenAI Responses": OPENAI_RESPONSES,
    "Anthropic": ANTHROPIC,
    "Google": GOOGLE,
    "Bedrock": BEDROCK,
}

LABELS = {
    "streaming": "streaming",
    "tools": "tools",
    "extra_tools": "other tools of the provider's own",
    "native_output": "output type enforced by the provider",
    "json_mode": "JSON mode",
    "images": "images in",
    "audio": "audio in",
    "video": "video in",
    "files": "files in",
    "result_media": "images and files in tool results",
    "reasoning_replay": "reasoning sent back",
    "prompt_caching": "prompt caching",
    "token_counting": "token counting beforehand",
    "hosted_prompts": "[prompts](models.md#hosted-prompts) that the provider keeps",
    "conversations": "[conversations](models.md#conversations-at-the-provider) that the provider keeps",
}
"""What the features are called that are not settings."""

HEAD = """# Providers

What each adapter can do; what the model behind it understands is the provider's affair. [Models](models.md) says how
each is made and what it sends. This page is printed from the code by `scripts/provider_table.py`.
"""

NOTES = """A name in code type is a field of [`ModelSettings`](model_settings.md); where it does not exist, setting it is a
`UserError` before any request (`parallel_tool_calls`: setting it to False). So is an image, a file or audio that cannot
go. Media go as *data* in the request, as an *address* that the provider opens, or by the *id* of a file it keeps.
`extra_body` and `cache=` name where a feature is switched on. An output type that the provider does not enforce is
asked for in the instructions, and checked here in any case. "The server's own" caching needs no setting: every
request begins with the bytes of the one before it.

```python
import asyncio

from agentsdk import Agent, AnthropicModel, ModelSettings, Runner, UserError

model = AnthropicModel("claude-test", api_key="sk-test")
agent = Agent(name="Guide", model=model, model_settings=ModelSettings(seed=1))
try:
    asyncio.run(Runner.run(agent, "The capital of France?"))
except UserError as error:
    print(error)
```

```output
ModelSettings(seed=...) is not available with the Anthropic Messages API; leave it out, or pass it in extra_body
```

## Hosted tools

Those that each provider [runs itself](hosted_tools.md), and the settings that it takes of each. Another tool, or another
setting, is a `UserError` before any request.
"""

CLOUDS = """## Clouds

Three clouds serve models with credentials of their own. `agentsdk doctor --reach` asks those whose variables are set.
"""

CLOUD_ROWS = [
    [
        "[Amazon Bedrock](models.md#amazon-bedrock)",
        '`"bedrock:MODEL_ID"`, by the Bedrock adapter',
        "`bedrock`",
        "those of the AWS tools (`AwsAuth`), or `AWS_BEARER_TOKEN_BEDROCK`",
        "`AWS_REGION`",
    ],
    [
        "[Azure](models.md#bearer-tokens-of-entra-id)",
        '`"azure:DEPLOYMENT"`, by chat completions',
        "`azure`",
        "those of `azure.identity` (`EntraAuth`), or `AZURE_OPENAI_API_KEY`",
        "`AZURE_OPENAI_BASE_URL`",
    ],
    [
        "[Vertex AI](models.md#vertex-ai)",
        '`"vertex:gemini-..."` by the Google adapter, `"vertex:claude-..."` by the Anthropic adapter, '
        '`"vertex:PUBLISHER/NAME"` by chat completions',
        "`vertex`",
        "the default ones of Google Cloud (`GoogleAuth`)",
        "`GOOGLE_CLOUD_PROJECT`, `GOOGLE_CLOUD_LOCATION`",
    ],
]

VERTEX = """At Vertex AI Google's column holds without `FileSearchTool` and `HostedMCPTool`, Anthropic's with `WebSearchTool`
and `ToolSearchTool` alone, and without the ids of files.
"""

SERVERS = """## Compatible servers

Each is the chat completions adapter under another address: `"groq:NAME"` is model `NAME` at Groq. What it can do beyond the
protocol is its own affair. The tests read recorded replies of DeepSeek, Groq, Hugging Face, Mistral, OpenRouter, Snowflake and
Z.ai, whole and streamed; the others are held to the protocol. Mistral is not asked for usage, which it sends unasked.
"""


def page() -> str:
    """The page."""
    features = [
        [_label(name), *(_cell(getattr(adapter, name)) for adapter in ADAPTERS.values())]
        for name in Features.__struct_fields__
        if name != "hosted_tools"
    ]
    hosted = [
        [f"`{kind.__name__}`", *(_settings(kind, adapter.hosted_tools) for adapter in ADAPTERS.values())]
        for kind in HOSTED_TOOLS
    ]
    servers = [
        [
            f'`"{name}:..."`',
            _code(profile.base_url) or "-",
            _code(profile.base_url_variable) or "-",
            f"{_code(profile.key_variable)}{', if it wants one' if profile.is_key_optional else ''}",
        ]
        for name, profile in PROFILES.items()
    ]
    return "\n".join(
        [
            HEAD,
            *_table(["", *ADAPTERS], features),
            "",
            NOTES,
            *_table(["", *ADAPTERS], hosted),
            "",
            CLOUDS,
            *_table(["Cloud", "Models, by name", "Extra", "Credentials", "Also set"], CLOUD_ROWS),
            "",
            VERTEX,
            SERVERS,
            *_table(["Name", "Address", "or the one in", "Key in"], servers),
            "",
        ]
    )


def _label(name: str) -> str:
    return LABELS.get(name) or f"`{name}`"


def _cell(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(value) or "-"
    if isinstance(value, bool):
        return "yes" if value else "-"
    return str(value)


def _settings(kind: type[HostedTool], known: Mapping[str, Sequence[str]]) -> str:
    """The settings of a hosted tool that an adapter knows."""
    taken = known.get(kind.__name__)
    if taken is None:
        return "-"
    return ", ".join(f"`{name}`" for name in taken) or "yes, without settings"


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    for row in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(row)} |" if row[0] != "---" else "|" + "---|" * len(head)


if __name__ == "__main__":
    sys.stdout.write(page())
