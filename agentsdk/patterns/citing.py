"""`cited_from`: an answer counts once each of its quotes is found in the source that it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentsdk.define.output_validator import ModelRetry, OutputValidator, ValidatorContext
from agentsdk.types.declared import Fields, any_text, mapping_of, whole
from agentsdk.types.text import escaped, shortened

_SHOWN = 80


@dataclass(frozen=True)
class Citation:
    """Words of a source, by its name, as they stand there."""

    source: str
    quote: str


@dataclass(frozen=True)
class CitedAnswer:
    """An answer with what it rests on. `not_found`: what was asked and no source says; `""` where they say all of it."""

    answer: str
    citations: list[Citation]
    not_found: str


def cited_from(texts: Mapping[str, str], *, min_words: int = 3) -> OutputValidator[Any, CitedAnswer]:
    """An output validator that sends an answer back which `citation_problems` are found in, and says which.

    Raises `UserError` for what are no texts.
    """
    _FIELDS.check_given("cited_from", texts=texts, min_words=min_words)

    def check(context: ValidatorContext[Any], output: CitedAnswer) -> None:
        problems = citation_problems(output, texts, min_words=min_words)
        if problems:
            raise ModelRetry("\n".join(problems))

    return OutputValidator(check, "citations")


def citation_problems(answer: CitedAnswer, texts: Mapping[str, str], *, min_words: int = 3) -> list[str]:
    """What is wrong with the citations, a line each: a source that is none of `texts`, a quote that is not in its source word
    for word, or shorter than `min_words`; or none at all, where it is not said that nothing was found.

    White space, and quotation marks around a quote, make no difference.
    """
    problems: list[str] = []
    for citation in answer.citations:
        shown = escaped(shortened(citation.quote, _SHOWN))
        quote = _plain(citation.quote).strip("\"'“”„«» ")
        if citation.source not in texts:
            problems.append(f"There is no source {escaped(shortened(citation.source, _SHOWN))!r}: name one that you have read.")
        elif len(quote.split()) < min_words:
            problems.append(f"The quote {shown!r} is too short: quote {min_words} words at least.")
        elif quote not in _plain(texts[citation.source]):
            problems.append(f"{citation.source!r} does not say {shown!r}: quote it word for word.")
    if not answer.citations and not answer.not_found:
        problems.append("Nothing is cited: quote what the answer rests on, or say in not_found what you could not find.")
    return problems


def _plain(text: str) -> str:
    return " ".join(text.split())


_FIELDS = Fields(
    "cited_from",
    texts=mapping_of(any_text("a text"), "a dict of names and texts; write {'faq': '...'}"),
    min_words=whole("a whole number, 1 or more; 3 suits most", 1),
)
