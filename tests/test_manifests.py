"""The files of `examples/deploy`: each is what its schema asks for, and what the containers run is run here."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.resources
import json
import os
import re
import shlex
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import kubernetes_validate
import pydantic
import pytest
import yaml

from tests import postgres_server

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "examples" / "deploy"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
KUBERNETES = "1.33"


def documents(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def container(name: str) -> dict[str, Any]:
    """The container of a Deployment."""
    (found,) = [one for one in documents(DEPLOY / "kubernetes" / f"{name}.yaml") if one["kind"] == "Deployment"]
    return found["spec"]["template"]["spec"]["containers"][0]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_a_manifest_is_what_kubernetes_asks_for(path: Path) -> None:
    for document in documents(path):
        if document["apiVersion"].startswith("keda.sh/"):
            assert known_to_keda(document) == document
            assert document["spec"]["scaleTargetRef"]["name"] == "desk-worker"
        else:
            kubernetes_validate.validate(document, KUBERNETES, strict=True)


def known_to_keda(document: dict[str, Any]) -> dict[str, Any]:
    """What KEDA's schema has a place for. Raises `ValidationError` for what it lacks or what is of another type."""
    from cloudcoil.models.keda.v1alpha1 import ScaledObject  # the resource of KEDA as it publishes it, as pydantic's models

    return ScaledObject.model_validate(document).model_dump(mode="json", by_alias=True, exclude_none=True)


def test_a_wrong_manifest_is_found() -> None:
    (document,) = [one for one in documents(DEPLOY / "kubernetes" / "worker.yaml") if one["kind"] == "Deployment"]
    document["spec"]["template"]["spec"]["terminationGracePeriod"] = 40
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(document, KUBERNETES, strict=True)
    (scaled,) = documents(DEPLOY / "kubernetes" / "keda.yaml")
    scaled["spec"]["replicas"] = 2
    assert known_to_keda(scaled) != scaled
    del scaled["spec"]["triggers"]
    with pytest.raises(pydantic.ValidationError):
        known_to_keda(scaled)


def test_the_compose_file_is_what_its_specification_asks_for() -> None:
    schemas = importlib.resources.files("check_jsonschema") / "builtin_schemas" / "vendor"
    schema = json.loads((schemas / "compose-spec.json").read_text(encoding="utf-8"))
    jsonschema.validate(COMPOSE, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**COMPOSE, "services": {"worker": {"commands": []}}}, schema)


def test_no_secret_is_in_a_file_and_all_refer_to_one() -> None:
    for path in MANIFESTS:
        for document in documents(path):
            assert document["kind"] != "Secret"
    secrets = {
        one["name"]: one["valueFrom"]["secretKeyRef"]["key"] for name in ("web", "worker") for one in container(name)["env"]
    }
    assert secrets == {name: name for name in ("STORE_URL", "WEB_TOKEN", "OPENAI_API_KEY")}


def test_kubernetes_and_compose_run_the_same_commands() -> None:
    for name in ("web", "worker"):
        composed = ["$(STORE_URL)" if arg.startswith("postgresql:") else arg for arg in COMPOSE["services"][name]["command"]]
        assert container(name)["args"] == composed


def test_what_the_image_copies_is_there() -> None:
    lines = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").splitlines()
    copied = [source for line in lines if line.startswith("COPY") for source in shlex.split(line)[1:-1]]
    assert copied and all((ROOT / source).exists() for source in copied)
    assert 'ENTRYPOINT ["python", "-m"]' in lines


@contextlib.asynccontextmanager
async def started(name: str, store: str, changes: Sequence[tuple[str, str]]) -> AsyncIterator[tuple[Process, str]]:
    """The container's command as a process, with some of its arguments changed, and the first address that it prints."""
    args = list(container(name)["args"])
    for before, after in changes:
        args[args.index(before)] = after
    given = {"STORE_URL": store, "WEB_TOKEN": "token", "OPENAI_API_KEY": "key"}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", *(re.sub(r"\$\((\w+)\)", lambda found: given[found[1]], arg) for arg in args)),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
        cwd=DEPLOY,
        env={**os.environ, "PYTHONPATH": str(ROOT), **given},
    )
    try:
        assert process.stdout is not None
        printed = ""
        async with asyncio.timeout(120):
            while (found := re.search(r"http://[\d.]+:\d+", printed)) is None:
                line = await process.stdout.readline()
                assert line, f"it ended: {printed}"
                printed += line.decode()
        yield process, found[0]
        process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(process.communicate(), 120)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.mark.skipif(not postgres_server.installed(), reason="needs PostgreSQL's programs")
async def test_the_containers_commands_work_together() -> None:
    with postgres_server.running() as server:
        async with (
            httpx.AsyncClient(timeout=60) as client,
            started("web", server.url, [("0.0.0.0", "127.0.0.1"), ("8000", "0")]) as (_, web),
        ):
            assert (await client.get(f"{web}{container('web')['readinessProbe']['httpGet']['path']}")).status_code == 200
            answer = await client.post(
                f"{web}/runs", json={"input": "Where is order 7?"}, headers={"authorization": "Bearer token"}
            )
            assert answer.status_code == 201
            async with started("worker", server.url, [("0.0.0.0:8080", "127.0.0.1:0"), ("32", "1")]) as (process, probe):
                for path in ("livenessProbe", "readinessProbe"):
                    asked = container("worker")[path]["httpGet"]["path"]
                    assert (await client.get(f"{probe}{asked}")).status_code == 200
                assert "oldest_seconds" in (await client.get(f"{probe}/queue")).json()
            assert process.returncode == 0
