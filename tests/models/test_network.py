from __future__ import annotations

import pytest

from agentsdk.models.network import RequestHeaders, check_header, check_url, is_loopback
from agentsdk.types.errors import UserError


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:8/v1", True),
        ("http://127.9.9.9", True),
        ("http://localhost:1", True),
        ("http://[::1]:1", True),
        ("https://api.openai.com/v1", False),
        ("http://localhost.example.com", False),
        ("http://127.0.0.1.example.com", False),
        ("http://10.0.0.1", False),
        ("http://0.0.0.0", False),
        ("nonsense", False),
    ],
)
def test_is_loopback(url: str, here: bool) -> None:
    assert is_loopback(url) is here


def test_check_url() -> None:
    assert check_url("https://x:8/v1/") == "https://x:8/v1"


@pytest.mark.parametrize(
    "url", ["", "x", "ftp://x", "http://", "https://u:p@x", "https://x?a=b", "https://x#f", "http://[", "http://x:0"]
)
def test_addresses_that_cannot_be_used(url: str) -> None:
    with pytest.raises(UserError, match="base_url"):
        check_url(url)


def test_check_header() -> None:
    check_header("x", "plain value")
    for value in ("secret\n", " secret", "secr\u00e9t"):
        with pytest.raises(UserError, match="the x") as caught:
            check_header("the x", value)
        assert "secr" not in str(caught.value)


def test_request_headers_tell_their_names_only() -> None:
    headers = RequestHeaders({"authorization": "Bearer sk-canary-01", "accept": "application/json", "x-team": "prod"})
    assert repr(headers) == "RequestHeaders(authorization, accept, x-team)"
    assert "sk-canary" not in repr([headers]) + str(headers)
    assert headers.plain()["authorization"] == "Bearer sk-canary-01"
    assert headers.secrets() == ["Bearer sk-canary-01", "sk-canary-01"]
    assert headers.without("authorization").plain() == {"accept": "application/json", "x-team": "prod"}
