from __future__ import annotations

from agentsdk.models.errors import error_from_object, error_from_response
from agentsdk.types.errors import NotFoundError, ProviderUnavailableError, RateLimitError


def test_a_message_says_who_what_and_the_remedy() -> None:
    error = error_from_response("model 'm'", 404, {}, b'{"error": {"message": "no such model", "code": "model_not_found"}}')
    assert type(error) is NotFoundError
    assert str(error) == (
        "model 'm' answered with an error (status 404, model_not_found): no such model; check the model's name and base_url"
    )


def test_long_messages_are_cut_and_secrets_blotted_out() -> None:
    error = error_from_response(
        "m", 500, {"x-request-id": "r" * 999}, b'{"error": "key sk-1 ' + b"x" * 9999 + b'"}', secret="sk-1"
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
