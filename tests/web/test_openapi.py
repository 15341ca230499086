"""The OpenAPI description: an official validator takes it, and what is answered is what it says."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator
from starlette.applications import Starlette
from starlette.routing import Mount

from agentsdk import MemoryRunStore
from agentsdk.web import web_app
from tests.asgi_server import listening
from tests.web.served import Client, clerk, served

pytestmark = pytest.mark.anyio


def schema_of(description: dict[str, Any], method: str, path: str, status: int) -> Draft202012Validator:
    """What an answer of this status must be."""
    answers = description["paths"][path][method]["responses"]
    content = answers.get(str(status), answers["default"])["content"]
    [media] = content.values()
    return Draft202012Validator({**media["schema"], "components": description["components"]})


async def test_the_description_is_valid_and_says_where_the_service_is() -> None:
    app = web_app(MemoryRunStore(), agents=[clerk()], authenticate=None)
    async with listening(Starlette(routes=[Mount("/agents", app)])) as address, Client(address, MemoryRunStore()) as client:
        answer = await client.get("/agents/openapi.json")
        description = answer.json()
        OpenAPIV31SpecValidator(description).validate()
        assert description["servers"] == [{"url": "/agents"}]
        assert {path for path in description["paths"] if "{" not in path} == {"/runs", "/health", "/ready"}


async def test_each_answer_is_what_the_description_says() -> None:
    async with served() as client:
        description = (await client.get("/openapi.json", headers={"authorization": ""})).json()
        run_id = await client.begin()
        [waiting] = (await client.until(run_id, "waiting"))["calls"]
        asked: list[tuple[str, str, Any]] = [
            ("post", "/runs", {"agent": "Clerk", "input": "Hello."}),
            ("post", "/runs", {}),
            ("get", "/runs", None),
            ("get", "/runs/{run_id}", None),
            ("post", "/runs/{run_id}/answers", {"call_id": waiting["call_id"], "answer": 1}),
            ("post", "/runs/{run_id}/pause", {"reason": "lunch"}),
            ("post", "/runs/{run_id}/unpause", {}),
            ("post", "/runs/{run_id}/fork", {"at": 1}),
            ("post", "/runs/{run_id}/signals", {"name": "arrived", "data": [1]}),
            ("post", "/runs/{run_id}/messages", {"message": "And more."}),
            ("post", "/runs/{run_id}/decisions", {"call_id": waiting["call_id"], "action": "approve"}),
            ("post", "/runs/{run_id}/cancel", {"mode": "now"}),
            ("get", "/health", None),
            ("get", "/ready", None),
        ]
        for method, path, body in asked:
            answer = await client.request(method, path.format(run_id=run_id), json=body)
            validator = schema_of(description, method, path, answer.status_code)
            assert [error.message for error in validator.iter_errors(answer.json())] == [], path
            if body and answer.status_code < 400:
                [media] = description["paths"][path][method]["requestBody"]["content"].values()
                sent = Draft202012Validator({**media["schema"], "components": description["components"]})
                assert sent.is_valid(body), path
                assert not sent.is_valid({**body, "by": "somebody else"}), path
        described = {(method, path) for path, methods in description["paths"].items() for method in methods}
        assert described == {(method, path) for method, path, _ in asked} | {("get", "/runs/{run_id}/events")}
