"""Results over the cap: what stays of them, and what is kept of the rest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentsdk.core.overflow import MARKER_CHARS, cap_output, cut_text, output_text, whole_output
from agentsdk.types.items import InputImage, InputText, OutputText


def test_a_short_result_is_not_cut() -> None:
    text = "x" * 100
    assert cap_output(text, 100) == (text, None)
    parts = (InputText(text), InputImage(image_url="data:" + "x" * 1000))
    assert cap_output(parts, 100) == (parts, None)


def test_a_long_result_keeps_head_and_tail_and_names_the_rest() -> None:
    text = "".join(map(str, range(10_000)))
    cut, overflow = cap_output(text, 400)
    assert overflow is not None
    assert isinstance(cut, str)
    assert overflow.text == text
    assert overflow.limit == 400
    head, marker, tail = cut.split("\n")
    assert (head, tail) == (text[:300], text[-100:])
    missing = f"characters 300 to {len(text) - 100} of {len(text)} are left out"
    assert marker == f"[... {missing}: read_result(result_id={overflow.id!r}, offset=300) ...]"
    assert cap_output(text, 400) == (cut, overflow)
    assert cap_output(text + "x", 400)[1] != overflow


@given(st.text(min_size=1), st.integers(0, 50))
def test_the_cut_text_holds_what_the_limit_allows(text: str, limit: int) -> None:
    cut, overflow = cap_output(text, limit)
    if len(text) <= limit:
        assert (cut, overflow) == (text, None)
    else:
        assert overflow is not None
        assert isinstance(cut, str)
        assert cut.startswith(text[: limit * 3 // 4])
        assert cut.endswith(text[len(text) - (limit - limit * 3 // 4) :])
        assert len(cut) <= limit + MARKER_CHARS


def test_the_text_of_parts_is_cut_together_and_the_rest_stays() -> None:
    image = InputImage(file_id="f")
    cut, overflow = cap_output((InputText("a" * 60), image, OutputText("b" * 60)), 100)
    assert overflow is not None
    assert overflow.text == "a" * 60 + "b" * 60
    assert isinstance(cut, tuple)
    assert isinstance(cut[0], InputText)
    assert cut[0].text.startswith("a" * 60)
    assert cut[0].text.endswith("b" * 25)
    assert cut[1:] == (image,)


def test_twenty_megabytes_are_cut() -> None:
    cut, overflow = cap_output("x" * 20_000_000)
    assert overflow is not None
    assert len(cut) <= 100_000 + MARKER_CHARS
    assert len(overflow.text) == 20_000_000


def test_the_whole_of_a_cut_result_is_put_in_place_again() -> None:
    image = InputImage("data:image/png;base64,aGk=")
    for output in ("abc" * 100, (InputText("abc" * 50), image, OutputText("def" * 50))):
        cut, overflow = cap_output(output, 20)
        assert overflow is not None
        whole = whole_output(cut, overflow.text)
        assert output_text(whole) == output_text(output)
        assert isinstance(output, str) or image in whole


def test_a_result_as_text_leaves_out_what_is_not_text() -> None:
    assert output_text("plain") == "plain"
    assert output_text((InputText("one "), InputImage("data:,"), OutputText("two"))) == "one two"


def test_where_the_whole_is_not_kept_the_marker_does_not_say_how_to_read_on() -> None:
    cut, overflow = cap_output("x" * 1_000, 20)
    assert overflow is not None
    assert cut == cut_text(overflow)
    assert cut_text(overflow, is_kept=False) == "x" * 15 + "\n[... characters 15 to 995 of 1000 are left out ...]\n" + "x" * 5
