"""Docstrings in the three styles, and when the parser is not needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from agentsdk.define.docstring import DocstringStyle, parse_docstring

GOOGLE = """Look up the weather.

    Slowly.

    Args:
        city: Where, as the
            locals call it.
        *days: How long.

    Returns:
        A text.
    """
NUMPY = """Look up the weather.

    Slowly.

    Parameters
    ----------
    city : str
        Where, as the
        locals call it.
    *days : int
        How long.
    """
SPHINX = """Look up the weather.

    Slowly.

    :param city: Where, as the
        locals call it.
    :param days: How long.
    :returns: A text.
    """


@pytest.mark.parametrize("style", [None, "given"])
@pytest.mark.parametrize(("text", "its"), [(GOOGLE, "google"), (NUMPY, "numpy"), (SPHINX, "sphinx")])
def test_reads_description_and_parameters(text: str, its: DocstringStyle, style: str | None) -> None:
    description, parameters = parse_docstring(text, its if style else None)
    assert description == "Look up the weather.\n\nSlowly."
    assert {name: " ".join(told.split()) for name, told in parameters.items()} == {
        "city": "Where, as the locals call it.",
        "days": "How long.",
    }


def test_a_style_reads_only_its_own() -> None:
    assert parse_docstring(GOOGLE, "sphinx")[1] == {}


def test_no_docstring_is_no_description() -> None:
    assert parse_docstring(None) == ("", {})
    assert parse_docstring("  ") == ("", {})


def test_text_without_sections_is_taken_whole() -> None:
    assert parse_docstring("One line: with a colon.\n\n    And more,\n      indented.\n") == (
        "One line: with a colon.\n\nAnd more,\n  indented.",
        {},
    )


def test_a_malformed_docstring_is_its_own_description() -> None:
    text = "Say.\n\n:param"
    assert parse_docstring(text)[0].startswith("Say.")
    assert parse_docstring("Say.\n\n:param a b c d: what", "sphinx") == ("Say.\n\n:param a b c d: what", {})


def test_the_parser_is_imported_only_for_sections() -> None:
    code = (
        "import sys\nfrom agentsdk.define.docstring import parse_docstring\n"
        "parse_docstring('One.\\n\\nTwo.')\nassert 'docstring_parser' not in sys.modules\n"
        "parse_docstring('One.\\n\\nArgs:\\n    a: b')\nassert 'docstring_parser' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
