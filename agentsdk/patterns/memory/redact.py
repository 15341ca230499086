"""`without_secrets`: what looks like a key or a password is left out of a text before it is kept."""

from __future__ import annotations

import re

LEFT_OUT = "[secret left out]"

_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{0,20000}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?")
_KEY = re.compile(
    r"\b(?:sk-[\w-]{16,}|[sr]k_(?:live|test)_\w{10,}|(?:AKIA|ASIA)[0-9A-Z]{16}|gh[pousr]_\w{20,}|github_pat_\w{20,}"
    r"|glpat-[\w-]{16,}|xox[abeoprs]-[\w-]{10,}|AIza[\w-]{30,}|hf_\w{20,}|npm_\w{30,}|ya29\.[\w-]{20,}"
    r"|eyJ[\w-]{10,1000}\.eyJ[\w-]{10,4000}(?:\.[\w-]{0,1000})?)"
)
_IN_ADDRESS = re.compile(r"(?<=://)[^\s/:@]{0,100}:[^\s/@]{1,200}(?=@)")
_BEARER = re.compile(r"(?i)\b(bearer|basic)[ \t]{1,4}[\w.~+/=-]{16,}")
_NAMED = re.compile(
    r"(?i)\b((?:password|passwd|passphrase|pass ?code|pin ?code|api[ _-]?key|secret[ _-]?key|access[ _-]?token|auth[ _-]?token"
    r"|client[ _-]?secret)s?[\"']?(?:[ \t]{0,4}(?::=|=>|[:=])|[ \t]{1,4}(?:is|was))[ \t]{0,4})"
    r"(?!\[secret left out\])(?:\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'|[^\s,;]{1,500})"
)
_ASSIGNED = re.compile(
    r"(?i)\b((?:pwd|secret|token|[a-z0-9_]{1,40}_(?:key|token|secret|password))[\"']?[ \t]{0,4}[:=][ \t]{0,4})"
    r"(?!\[secret left out\])[^\s,;]{6,500}"
)


def without_secrets(text: str) -> str:
    """`text` with `LEFT_OUT` in the place of keys in the forms of well-known services, of private keys, of passwords in
    addresses, and of what is called a password, token or key. O(characters)."""
    for whole in (_PRIVATE_KEY, _KEY, _IN_ADDRESS):
        text = whole.sub(LEFT_OUT, text)
    text = _BEARER.sub(rf"\1 {LEFT_OUT}", text)
    for named in (_NAMED, _ASSIGNED):
        text = named.sub(rf"\1{LEFT_OUT}", text)
    return text
