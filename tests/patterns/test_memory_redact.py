"""What is left out of a memory: keys and passwords as people write them, and nothing else."""

from __future__ import annotations

import pytest

from agentsdk.patterns.memory.redact import LEFT_OUT, without_secrets

SECRETS = [
    ("my key is {}", "sk-proj-abcdefghijklmnop1234"),
    ("{}", "sk_live_abcdefghij1234"),
    ("aws {} ok", "AKIAIOSFODNN7EXAMPLE"),
    ("{}", "ghp_abcdefghijklmnopqrstuvwxyz012345"),
    ("{}", "github_pat_11ABCDEFG0abcdefghij"),
    ("{}", "glpat-abcdefghij0123456789"),
    ("{}", "xoxb-1234567890-abcdef"),
    ("{}", "AIzaSyA-abcdefghijklmnopqrstuvwxyz01234"),
    ("{}", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"),
    ("postgres://{}@db/x", "ada:pa55word"),
    ("Authorization: Bearer {}", "abcdefghijklmnopqrstuvwx"),
    ("Authorization: Basic {}", "YWRhOnBhNTV3b3JkMTIzNA=="),
    ("My password is {}, keep it.", "hunter22"),
    ("password: {}", '"correct horse battery staple"'),
    ("Passwort? no, the passphrase was {}", "'a b c'"),
    ("api_key={}", "0a1b2c3d"),
    ("API key: {}", "0a1b2c3d"),
    ("OPENAI_API_KEY={} python x.py", "0a1b2c3d4e"),
    ('{{"client_secret": {}}}', '"0a1b2c3d"'),
    ("DB_PASSWORD = {}", "hunter22"),
    ("token: {}", "0a1b2c3d4e"),
    ("the PIN code is {}", "4711"),
    ("{}", "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----"),
    ("{}", "-----BEGIN PRIVATE KEY-----\nMIIEow"),
]


@pytest.mark.parametrize(("text", "secret"), SECRETS, ids=[secret[:12] for _, secret in SECRETS])
def test_a_secret_is_left_out_and_the_rest_stays(text: str, secret: str) -> None:
    without = without_secrets(text.format(secret))
    assert without == text.format(LEFT_OUT) == without_secrets(without)


@pytest.mark.parametrize(
    "text",
    [
        "- 2027-01-15: Forgets the password of the router now and then.",
        "The secret of good tea: fresh water.",
        "The key to the shed hangs in the hall; a token of thanks for Ben.",
        "https://example.com/a:b@c?task-force=1 and ada@example.com",
        "Order number 1234567890123456, commit 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567.",
        "The task-based approach is risk-free; basic ideas.",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert without_secrets(text) == text


def test_a_long_text_takes_no_time_to_speak_of() -> None:
    for piece in ("password is ", "a_", "sk-", "eyJ", "://:", "-----BEGIN PRIVATE KEY-----", "bearer "):
        without_secrets(piece * (500_000 // len(piece)))
