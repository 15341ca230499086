"""Records: what opens them, what does not, and the format they keep."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.databases.cipher import OVERHEAD, Cipher
from agentsdk.types.errors import StateTamperedError, UserError

OLD, NEW = bytes(range(32)), bytes(range(100, 164))
CANARY = "correct horse battery staple"
texts = st.text(max_size=20)


@given(st.binary(max_size=300), texts, texts)
def test_what_was_sealed_opens(data: bytes, owner: str, place: str) -> None:
    cipher = Cipher(NEW, "run")
    record = cipher.seal(owner, place, data)
    assert len(record) == len(data) + OVERHEAD
    assert Cipher(NEW, "run").open(owner, place, record) == data


@given(st.tuples(texts, texts, texts), st.tuples(texts, texts, texts))
def test_a_record_opens_only_where_it_was_sealed(here: tuple[str, str, str], there: tuple[str, str, str]) -> None:
    record = Cipher(OLD, here[0]).seal(here[1], here[2], b"data")
    other = Cipher(OLD, there[0])
    # A kind is one of ours and holds no space, so that kind and owner are told apart.
    if f"{here[0]} {here[1]}" == f"{there[0]} {there[1]}" and here[2] == there[2]:
        assert other.open(there[1], there[2], record) == b"data"
        return
    with pytest.raises(StateTamperedError, match="belongs elsewhere"):
        other.open(there[1], there[2], record)


def test_a_record_with_any_bit_flipped_is_refused() -> None:
    cipher = Cipher(OLD, "run")
    record = cipher.seal("r", "event 0", CANARY.encode())
    for position in range(len(record)):
        for bit in range(8):
            changed = bytearray(record)
            changed[position] ^= 1 << bit
            with pytest.raises(StateTamperedError) as refused:
                cipher.open("r", "event 0", bytes(changed))
            assert CANARY not in str(refused.value)


def test_a_record_that_is_cut_or_longer_is_refused() -> None:
    cipher = Cipher(OLD, "run")
    record = cipher.seal("r", "event 0", b"data")
    for other in [*(record[:length] for length in range(len(record))), record + b"\0", record + record]:
        with pytest.raises(StateTamperedError):
            cipher.open("r", "event 0", other)


@given(st.binary(max_size=100))
def test_what_is_no_record_is_refused(data: bytes) -> None:
    with pytest.raises(StateTamperedError):
        Cipher(OLD, "run").open("r", "event 0", data)


def test_the_same_data_gives_a_new_record_each_time() -> None:
    cipher = Cipher(OLD, "run")
    records = sorted(cipher.seal("r", "event 0", b"data") for _ in range(1_000))
    assert all(one != other for one, other in pairwise(records))
    assert len({record[9:21] for record in records}) == 1_000, "a nonce must not repeat"


def test_a_record_of_the_first_version_still_opens() -> None:
    record = bytes.fromhex("0149d2e0e5013a48e0a9370749f2ded88d201355ebd1ae1666e357e0431a628bb33e5485c9463695eb331d3e8bca0330")
    assert Cipher(OLD, "run").open("run-1 é", "event 7", record) == b'["turn",[]]'


def test_keys_are_changed_by_putting_the_new_one_first() -> None:
    old = Cipher(OLD, "run").seal("r", "event 0", b"old")
    both = Cipher([NEW, OLD], "run")
    assert both.open("r", "event 0", old) == b"old"
    new = both.seal("r", "event 0", b"new")
    assert Cipher(NEW, "run").open("r", "event 0", new) == b"new"
    for cipher, record in ((Cipher(NEW, "run"), old), (Cipher(OLD, "run"), new)):
        with pytest.raises(StateTamperedError, match="event 0 of run 'r' is encrypted with another key"):
            cipher.open("r", "event 0", record)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (b"", "key 0 has 0 bytes"),
        (OLD[1:], "key 0 has 31 bytes"),
        ([OLD, b"short"], "key 1 has 5 bytes"),
        ([], "no encryption key"),
        (CANARY, "key 0 is 'str'"),
        (bytearray(OLD), "key 0 is 'int'"),
        (None, "key 0 is 'NoneType'"),
    ],
)
def test_a_bad_key_is_refused_without_being_shown(key: bytes, message: str) -> None:
    with pytest.raises(UserError, match=message) as refused:
        Cipher(key, "run")
    assert "secrets.token_bytes(32)" in str(refused.value)
    assert CANARY not in str(refused.value)


def test_without_the_package_the_error_names_the_command() -> None:
    script = """
import sys
from agentsdk.sessions.encrypted import EncryptedSession
from agentsdk.sessions.memory import MemorySession
from agentsdk.stores.encrypted import EncryptedRunStore
from agentsdk.stores.memory import MemoryRunStore
from agentsdk.types.errors import UserError

assert not any(name.split(".")[0] == "cryptography" for name in sys.modules), "imported before it is needed"
sys.modules["cryptography"] = None
for make in (lambda: EncryptedRunStore(MemoryRunStore(), bytes(32)), lambda: EncryptedSession(MemorySession("s"), bytes(32))):
    try:
        make()
    except UserError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.count("pip install 'agentsdk[encryption]'") == 2
