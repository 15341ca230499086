"""Idempotency keys: what a run's calls and requests are known by, shared by no other; and what an approval is bound to.

Ids may hold any text, and a provider chooses those of its calls. So the parts of a key are length-prefixed before they are
hashed: two keys are equal only where all their parts are. Each kind of key hashes in a domain of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from agentsdk.core.arguments import approval_digest, canonical_arguments
from agentsdk.types.items import FunctionCall
from agentsdk.types.text import clean_text

SCHEME = 1
"""How the keys of a run that begins now are made. A run goes on under the scheme it began with; 0 joined its ids by `/`."""

_DIGITS = 40  # 160 bits: services take keys of as few as 45 characters
PLAIN_DIGITS = 16
"""How long the ids are that a run gets where none is given."""
_SAFE = re.compile(r"[A-Za-z0-9_.-]{1,128}")


def digest(domain: str, *parts: str) -> str:
    """40 hex digits that stand for `parts`, any texts, in this order and number."""
    import hashlib  # 2.4 ms to import, for keys that most runs are not asked for

    given = (domain, *parts)
    text = "".join([f"{len(part)}:{part}" for part in given])
    if text.isascii():
        data = text.encode()
    else:  # the lengths are those of the bytes
        encoded = [part.encode("utf-8", "surrogatepass") for part in given]
        data = b"".join([b"%d:%b" % (len(part), part) for part in encoded])
    return hashlib.sha256(data).hexdigest()[:_DIGITS]


def call_key(scheme: int, run_id: str, path: Sequence[str], call_id: str, edited: str | None = None) -> str:
    """The idempotency key of a tool call. `path` names the calls that lead to its run, outermost first.

    `edited` are the arguments that a person put in place of the model's: with others it is another call.
    """
    if edited is not None:
        return digest("edited tool call", run_id, *path, call_id, canonical_arguments(edited))
    if scheme == 0:
        return "/".join((run_id, *path, call_id))
    return digest("tool call", run_id, *path, call_id)


def approval_key(scheme: int, run_id: str, path: Sequence[str], call: FunctionCall) -> str:
    """What an approval is bound to: the run, the calls that lead to the call, itself, its tool and its canonical arguments."""
    tool = call.name
    if call.kind != "function":
        tool = msgspec.json.encode([call.kind, clean_text(call.namespace), clean_text(tool)]).decode()
    shown = approval_digest(tool, call.call_id, call.arguments)
    return shown if scheme == 0 else digest("approval", run_id, *path, shown)


def request_prefix(run_id: str, path: Sequence[str]) -> str:
    """What the ids of a run's model requests begin with: a plain run id of a length that no digest has, or a digest."""
    if not path and len(run_id) == PLAIN_DIGITS and run_id.isascii() and run_id.isalnum():
        return run_id  # hashing would be a tenth of a run's cost
    return digest("model request", run_id, *path)


def request_id(prefix: str, turn: int, attempt: int = 0, summary: int = 0) -> str:
    """The id of a model request: of a turn, of its later attempt, or of the summary asked for ahead of that.

    Only the letters and digits of a prefix come before the first `-`, so that no two requests share an id.
    """
    if not (attempt or summary):
        return f"{prefix}-{turn}"
    tail = f"-{attempt}" if attempt else ""
    return f"{prefix}-{turn}{tail}-summary-{summary}" if summary else f"{prefix}-{turn}{tail}"


def validator_run_id(turn: int, validator: str, occurrence: int, agent: str, asked: str, number: int = 0) -> str:
    """What the nested run of an agent is known by that an output validator asks in turn `turn` of its run.

    `asked` says what, and `number` how often it has asked that before.
    """
    known = digest("validator run", str(turn), validator, str(occurrence), agent, asked, str(number))
    return validator_run_prefix(validator, agent) + known[:PLAIN_DIGITS]


def validator_run_prefix(validator: str, agent: str) -> str:
    """What the ids of its runs of that agent begin with."""
    return f"{validator}:{agent}:"


def header_key(request_id: str) -> str:
    """A request's id as the value of a header: itself if it is short and plain, else a digest, which no plain id equals."""
    return request_id if _SAFE.fullmatch(request_id) else f"sha256:{digest('header', request_id)}"
