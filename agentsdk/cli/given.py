"""What commands share: a store by its URL, an object of a module, the run config; and how they end."""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agentsdk.types.errors import RunNotFoundError, UserError

if TYPE_CHECKING:
    from agentsdk.define.run_config import RunConfig
    from agentsdk.ports.run_store import RunStore
    from agentsdk.types.summary import RunSummary

_STOPPING = (signal.SIGTERM, signal.SIGINT)
STORES = "sqlite:runs.db, file:runs, postgresql://user@host/name or redis://host"


def open_store(url: str) -> RunStore:
    """The run store at `url`; a path without a scheme is that of a SQLite file. Raises `UserError` for what names none."""
    from agentsdk.stores import FileRunStore, PostgresRunStore, RedisRunStore, SQLiteRunStore

    scheme, colon, rest = url.partition(":")
    if not colon:
        return SQLiteRunStore(url)
    if scheme in ("sqlite", "file") and rest:
        path = rest.removeprefix("//") if rest.startswith("///") else rest  # sqlite:///a/b is the absolute path
        return SQLiteRunStore(path) if scheme == "sqlite" else FileRunStore(path)
    if scheme in ("postgresql", "postgres"):
        return PostgresRunStore(url)
    if scheme in ("redis", "rediss", "unix"):
        return RedisRunStore(url)
    raise UserError(f"--store has the scheme {urlsplit(url).scheme or scheme!r}, expected one like {STORES}")


def open_existing(url: str) -> RunStore:
    """The same, of a store that is there: no new file is made. Raises `UserError` where there is none."""
    scheme, colon, rest = url.partition(":")
    path = url if not colon else rest.removeprefix("//") if rest.startswith("///") else rest
    if (not colon or scheme in ("sqlite", "file")) and not Path(path).exists():
        raise UserError(f"there is no store at {path!r}, expected one that has runs; give another by --store or AGENTSDK_STORE")
    return open_store(url)


async def found(store: RunStore, run_id: str) -> RunSummary:
    """The run called so. Raises `RunNotFoundError`, which names those that are called almost so."""
    from agentsdk.types.summary import RunQuery

    summary = await store.summary(run_id)
    if summary is not None:
        return summary
    known = [run.run_id for run in await store.list(RunQuery(limit=1_000))]
    close = get_close_matches(run_id, known, 3) or [one for one in known if run_id and run_id in one][:3]
    near = f"; is it {' or '.join(map(repr, close))}?" if close else "; agentsdk runs lists them"
    raise RunNotFoundError(f"the store has no run {run_id!r}, expected the id of one{near}")


def load_object(name: str) -> object:
    """The object that `module:attribute` names, the module found as `python -m` finds it. Raises `UserError`."""
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise UserError(f"{name!r} names no object, expected module:attribute, such as app.agents:clerk")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: object = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise _broken(module, error) from error
        remedy = f"write {module.removesuffix('.py')}:..." if module.endswith(".py") else "go to its folder"
        raise UserError(
            f"there is no module {module!r}, expected one that can be imported from {os.getcwd()!r}; {remedy}"
        ) from None
    except Exception as error:
        raise _broken(module, error) from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            objects = [
                name for name, value in getattr(found, "__dict__", {}).items() if not isinstance(value, type | ModuleType)
            ]
            close = get_close_matches(part, objects, 1)
            remedy = f"is {close[0]!r} meant?" if close else "define it there"
            raise UserError(f"{module!r} has no {attribute!r}, expected an object of this name; {remedy}")
        found = getattr(found, part)
    return found


def _broken(module: str, error: Exception) -> UserError:
    return UserError(
        f"module {module!r} cannot be imported ({type(error).__name__}: {error}), expected one that can; "
        f"python -c 'import {module}' says where it fails"
    )


def load_config(name: str | None, lease: float | None) -> RunConfig:
    """The `RunConfig` called so, or a new one, with that lease in seconds. Raises `UserError` where it is none."""
    from agentsdk.define.run_config import RunConfig

    config = load_object(name) if name else RunConfig()
    if not isinstance(config, RunConfig):
        raise UserError(f"--config {name!r} is a {type(config).__name__!r}, expected a RunConfig; make it one")
    return config if lease is None else replace(config, lease=lease)


async def until_signalled(work: asyncio.Future[None], stop: Callable[[], object]) -> None:
    """Wait for `work`, which `stop` ends at the first SIGTERM or SIGINT; the next one cancels it."""
    stopped = False

    def signalled() -> None:
        nonlocal stopped
        if stopped:
            work.cancel()
        else:
            stop()
        stopped = True

    with _signals(signalled):
        try:
            await work
        except asyncio.CancelledError:
            if not stopped:
                raise


@contextmanager
def _signals(signalled: Callable[[], None]) -> Generator[None]:
    """Call `signalled` in the running event loop at each SIGTERM and SIGINT."""
    loop, before = asyncio.get_running_loop(), {one: signal.getsignal(one) for one in _STOPPING}

    def told(signum: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(signalled)

    for one in _STOPPING:
        try:
            loop.add_signal_handler(one, signalled)
        except NotImplementedError:  # Windows
            signal.signal(one, told)
    try:
        yield
    finally:
        for one in _STOPPING:
            try:
                loop.remove_signal_handler(one)
            except NotImplementedError:
                signal.signal(one, before[one])
