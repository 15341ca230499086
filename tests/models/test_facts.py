"""What a model's name tells: how it is counted, and how large its window is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agentsdk.context_window import EstimatingCounter, TiktokenCounter
from agentsdk.models import encodings, facts
from agentsdk.models.facts import context_window_of, counter_of
from tests.models.rank_files import needs_rank_files


def test_a_model_of_no_known_encoding_is_estimated() -> None:
    assert isinstance(counter_of("nobody-knows"), EstimatingCounter)


@needs_rank_files
def test_one_counter_serves_all_runs_and_its_encoding_is_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "_counters", {})
    counter = counter_of("gpt-4o")
    assert isinstance(counter, TiktokenCounter)
    assert counter_of("gpt-4o") is counter
    assert "o200k_base" in encodings._loads


def test_without_a_rank_file_an_openai_model_is_estimated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(facts, "_counters", {})
    monkeypatch.setattr(encodings, "_CARRIERS", ())
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("AGENTSDK_ENCODINGS_URL", raising=False)
    assert isinstance(counter_of("gpt-4o"), EstimatingCounter)
    assert facts._counters == {}


@pytest.mark.parametrize(
    ("name", "size"),
    [("gpt-4o", 128_000), ("openai:gpt-4o", 128_000), ("claude-sonnet-4-5", 200_000), ("nobody-knows", None)]
    + [(f"{prefix}us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000) for prefix in ("", "bedrock:")],
)
def test_the_price_lists_know_the_window(name: str, size: int | None) -> None:
    pytest.importorskip("genai_prices")
    assert context_window_of(name) == size


def test_without_the_price_lists_no_window_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", None)
    assert context_window_of("gpt-4o") is None
