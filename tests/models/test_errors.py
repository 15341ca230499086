from __future__ import annotations

import json

import pytest

from agentsdk.models.errors import error_from_object, error_from_response
from agentsdk.types.errors import (
    BadRequestError,
    ContextTooLongError,
    NotFoundError,
    ProviderUnavailableError,
    RateLimitError,
)


def test_a_message_says_who_what_and_the_remedy() -> None:
    error = error_from_response("model 'm'", 404, {}, b'{"error": {"message": "no such model", "code": "model_not_found"}}')
    assert type(error) is NotFoundError
    assert str(error) == (
        "model 'm' answered with an error (status 404, model_not_found): no such model; check the model's name and base_url"
    )


def test_long_messages_are_truncated_and_secrets_redacted() -> None:
    error = error_from_response(
        "m", 500, {"x-request-id": "r" * 999}, b'{"error": "key sk-1 ' + b"x" * 9999 + b'"}', secrets=["sk-1"]
    )
    assert "sk-1" not in str(error)
    assert len(str(error)) < 700
    assert len(error.request_id) == 200


def test_retry_after_is_attached() -> None:
    error = error_from_response("m", 429, {}, b"", retry_after=3.5)
    assert isinstance(error, RateLimitError)
    assert (error.retry_after, error.retryable) == (3.5, True)


def test_objects_of_any_kind() -> None:
    for data in (None, 5, [], {}, {"code": None, "message": None}, {"code": {"x": 1}}):
        error = error_from_object("m", data)
        assert type(error) is ProviderUnavailableError
        assert str(error) == "m answered with an error"


TOO_LONG: dict[str, dict[str, object]] = {
    "openai": {"message": "Your input exceeds the context window of this model.", "code": "context_length_exceeded"},
    "compatible": {"message": "This model's maximum context length is 8192 tokens. However, you requested 9000", "code": 400},
    "anthropic": {"type": "invalid_request_error", "message": "prompt is too long: 213462 tokens > 200000 maximum"},
    "anthropic, with the answer": {"message": "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"},
    "google": {
        "code": 400,
        "status": "INVALID_ARGUMENT",
        "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    },
    "llama.cpp": {
        "code": 400,
        "type": "exceed_context_size_error",
        "message": "the request exceeds the available context size, try increasing it",
    },
    "bedrock": {"message": "Input is too long for requested model."},
}


@pytest.mark.parametrize("told", TOO_LONG.values(), ids=TOO_LONG)
def test_a_request_longer_than_the_window_has_a_type_of_its_own(told: dict[str, object]) -> None:
    error = error_from_response("m", 400, {}, json.dumps({"error": told}).encode())
    assert type(error) is ContextTooLongError
    assert (error.status, error.retryable) == (400, False)
    assert str(error).endswith("; give the run a RunConfig(window=ContextWindow(size=...)), or send less")


@pytest.mark.parametrize(
    "body",
    [
        b'{"error": {"message": "max_tokens is too large", "code": "invalid_value"}}',
        b'{"error": {"message": "the tool description is too long"}}',
        b"",
    ],
)
def test_other_bad_requests_have_not(body: bytes) -> None:
    assert type(error_from_response("m", 400, {}, body)) is BadRequestError


def test_a_window_that_is_outgrown_inside_a_stream() -> None:
    error = error_from_object("m", {"code": "context_length_exceeded", "message": "Your input exceeds the context window."})
    assert type(error) is ContextTooLongError


@pytest.mark.parametrize("place", range(0, 520, 7))
def test_no_part_of_a_secret_is_left_wherever_the_cut_falls(place: int) -> None:
    key = "sk-canary-0123456789abcdef"
    said = json.dumps({"error": {"message": "." * place + key, "code": "." * min(place, 90) + key}}).encode()
    error = error_from_response("m", 401, {"x-request-id": "." * min(place, 190) + key}, said, secrets=[key])
    shown = f"{error}{error.code}{error.request_id}"
    assert not any(key[:length] in shown for length in range(4, len(key) + 1))


CONTROLS = "\n\r\t\x00\x07\x1b[2J\x1b]0;x\x07\x7f\x85\u200b\u2028\u2029\u202e\u2066\ufeff\U000e0041"


@pytest.mark.parametrize("control", CONTROLS)
def test_what_a_server_says_stands_on_one_line(control: str) -> None:
    said = json.dumps({"error": {"message": f"no{control}INFO", "code": f"x{control}y"}}).encode()
    for error in (
        error_from_response("m", 400, {"x-request-id": f"r{control}s"}, said),
        error_from_object("m", said),
        error_from_object("m", f"no{control}INFO"),
    ):
        for text in (str(error), error.code, error.request_id):
            assert text.isprintable()
        assert "INFO" in str(error)


def test_what_can_be_printed_stays_as_it_is() -> None:
    error = error_from_object("m", {"message": "Grüße, 世界 🎉 \\n", "code": "ok"})
    assert "Grüße, 世界 🎉 \\n" in str(error)
