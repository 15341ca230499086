"""What `make compat` counts as a public test of openai-agents."""

from __future__ import annotations

from pathlib import Path

from benchmarks.compat.causes import cause_of
from benchmarks.compat.privacy import public_part

_TESTS = """
from agents import Agent
from agents.run import _hidden
from agents.run_internal.steps import step
from agents.items import helper
from agents.sandbox import Box

class Own:
    def __init__(self):
        self._calls = 0

def by_helper():
    return step()

def test_public():
    assert Own()._calls == 0 and Agent

def test_private_name():
    _hidden()

def test_by_helper():
    by_helper()

def test_attribute(agent):
    agent._secret()

def test_string(monkeypatch):
    monkeypatch.setattr("agents.run._hidden", None)

def test_untold():
    helper()

class TestBoth:
    def test_kept(self):
        assert Agent

    def test_box(self):
        Box()
"""


def test_only_tests_that_take_public_names_are_left(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("from agents import Agent", encoding="utf-8")
    (tmp_path / "tests").mkdir()
    path = tmp_path / "tests" / "test_it.py"
    path.write_text(_TESTS, encoding="utf-8")
    source, tests = public_part(tmp_path, path)
    assert tests == 2
    assert "test_public" in source and "test_kept" in source
    assert not any(name in source for name in ("private_name", "by_helper", "secret", "string", "untold", "test_box", "hidden"))


def test_causes_are_told_apart() -> None:
    assert cause_of("tests/test_a.py", "AttributeError", "'X' object has no attribute '_y'") == "a private name"
    assert (
        cause_of("tests/test_a.py", "AttributeError", "'X' object has no attribute 'y'")
        == "a name or argument that is not there"
    )
    assert cause_of("tests/test_run_state.py", "AssertionError", "assert 1 == 2") == "the format of states"
    assert cause_of("tests/test_a.py", "Failed", "Timeout (>8.0s) from pytest-timeout.") == "does not end"
    assert cause_of("tests/test_a.py", "Failed", "DID NOT RAISE <class 'agents.UserError'>") == "an error that is not raised"
    assert cause_of("tests/test_a.py", "AssertionError", "assert 1 == 2") == "another behaviour"
