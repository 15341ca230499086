"""The estimate of a text's tokens, against what o200k_base makes of it."""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path

import pytest

import agentsdk.runner
from agentsdk.models.encodings import KNOWN, can_load, loaded
from agentsdk.models.token_estimate import estimate_tokens

RANDOM = random.Random(3)
WORDS = ["the", "search", "result", "status", "open", "customer", "price", "order", "shipped", "report", "file", "value"]
TEXTS = {
    "prose": Path(__file__).parents[2].joinpath("README.md").read_text(encoding="utf-8"),
    "code": Path(agentsdk.runner.__file__).read_text(encoding="utf-8"),
    "JSON": json.dumps([{"id": RANDOM.randrange(10**6), "title": " ".join(RANDOM.choices(WORDS, k=8))} for _ in range(20)]),
    "table": "\n".join("|".join(f" {word:<14}" for word in RANDOM.choices(WORDS, k=5)) for _ in range(30)),
    "log": "\n".join(f"2025-03-04 10:11:{n},{RANDOM.randrange(999):03} INFO app: GET /v1/users/{n} 200" for n in range(60)),
    "base64": base64.b64encode(RANDOM.randbytes(900)).decode(),
    "hex": RANDOM.randbytes(600).hex(),
    "German": "Forscher glauben, dass große Sprachmodelle in den nächsten zehn Jahren unverzichtbare Werkzeuge werden.",
    "Spanish": "Los investigadores creen que los grandes modelos de lenguaje serán una herramienta indispensable en diez años.",
    "Russian": "Исследователи считают, что в ближайшие десять лет большие языковые модели станут незаменимым инструментом.",
    "Hindi": "शोधकर्ताओं का मानना है कि अगले दस वर्षों में बड़े भाषा मॉडल अनिवार्य उपकरण बन जाएंगे।",
    "Chinese": "研究人员认为，未来十年内，大型语言模型将成为软件开发中不可或缺的工具。然而，这项技术也带来了新的挑战。",
    "Japanese": "研究者たちは、今後十年で大規模言語モデルがソフトウェア開発に欠かせない道具になると考えています。",
    "Korean": "연구자들은 앞으로 십 년 안에 대규모 언어 모델이 없어서는 안 될 도구가 될 것이라고 생각합니다.",
    "emoji": "Great job 🎉🎉 we shipped it 🚀😀! 👍🏽 thanks ❤️ team 😅😂🤣",
}


@pytest.mark.skipif(not can_load(KNOWN["o200k_base"]), reason="needs the rank files: pip install 'agentsdk[tokens]'")
@pytest.mark.parametrize("kind", TEXTS)
def test_near_the_exact_count(kind: str) -> None:
    exact = len(loaded(KNOWN["o200k_base"]).result().encode_ordinary(TEXTS[kind]))
    off = estimate_tokens(TEXTS[kind]) / exact - 1
    print(f"{kind}: {off:+.0%}")
    assert abs(off) <= (0.2 if kind in ("prose", "code", "JSON", "table", "log", "hex") else 0.35)


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("\ud800", 1), ("\n\n \n", 2), ("\x00", 1)])
def test_little(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize("letter", ["a", "A", " ", "\n", "^", "1", "中", "😀", "\t", "ß"])
def test_runs_are_not_free(letter: str) -> None:
    assert estimate_tokens(letter * 64_000) >= 64_000 // 64
