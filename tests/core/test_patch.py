"""Diffs in the V4A format: what they change, where, and what is refused."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentsdk.core import patch as patch_module
from agentsdk.core.patch import FileChange, created_text, parse_patch, patched_text
from agentsdk.errors import PatchError

SHOP = """\
class Shop:
    def total(self):
        return 0

    def name(self):
        return ""


class Till:
    def total(self):
        return 0
"""


def diff(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def test_old_lines_give_way_to_new_ones_where_the_context_stands() -> None:
    assert patched_text("a\nb\nc\n", diff(" a", "-b", "+B", "+b2", " c")) == "a\nB\nb2\nc\n"


def test_a_line_that_is_written_without_its_space_is_an_empty_one() -> None:
    assert patched_text("a\n\nb\n", diff(" a", "", "-b", "+B")) == "a\n\nB\n"


def test_several_chunks_are_applied_in_the_order_of_the_file() -> None:
    assert patched_text("a\nb\na\nb\n", diff("@@", "-a", "+1", "@@", "-a", "+2")) == "1\nb\n2\nb\n"


def test_anchors_say_which_of_several_places_is_meant() -> None:
    change = diff("@@ class Till:", "@@     def total(self):", "-        return 0", "+        return 1")
    assert patched_text(SHOP, change) == SHOP[:-2] + "1\n"


def test_an_anchor_that_is_repeated_is_the_same_place() -> None:
    text = "def f():\n    a\n    b\ndef f():\n    a\n    b\n"
    change = diff("@@ def f():", "-    a", "+    A", "@@ def f():", "-    b", "+    B")
    assert patched_text(text, change) == "def f():\n    A\n    B\ndef f():\n    a\n    b\n"


def test_an_anchor_that_only_stands_before_is_passed_already() -> None:
    assert patched_text("f\na\nb\n", diff("-a", "+A", "@@ f", "-b", "+B")) == "f\nA\nB\n"


def test_added_lines_alone_follow_their_anchor_or_the_end_of_the_file() -> None:
    assert patched_text("a\nb\n", diff("@@ a", "+x")) == "a\nx\nb\n"
    assert patched_text("a\nb\n", diff("+x", "*** End of File")) == "a\nb\nx\n"
    assert patched_text("a\nb", diff("+x", "*** End of File")) == "a\nb\nx"
    assert patched_text("a\nb\n", diff("+x")) == "x\na\nb\n"


def test_the_end_of_the_file_is_looked_at_first_where_the_diff_names_it() -> None:
    text = "b\nc\nb\nc\n"
    assert patched_text(text, diff(" b", "-c", "+C", "*** End of File")) == "b\nc\nb\nC\n"
    assert patched_text(text, diff(" b", "-c", "+C")) == "b\nC\nb\nc\n"
    assert patched_text("b\nc\nd\n", diff(" b", "-c", "+C", "*** End of File")) == "b\nC\nd\n"


def test_after_the_end_of_the_file_another_chunk_begins() -> None:
    with pytest.raises(PatchError, match=r"chunk 2 \(line 4 of the diff\)"):
        patched_text("a\nb\n", diff("-b", "+B", "*** End of File", "-a", "+A"))


@pytest.mark.parametrize("text", ["    a  \nb\n", "a  \nb\n", "\ta\nb\n"])
def test_white_space_that_was_miscopied_does_not_matter_and_the_file_keeps_its_own(text: str) -> None:
    assert patched_text(text, diff(" a", "-b", "+B")) == text.replace("b", "B")


def test_a_line_as_it_is_goes_before_one_that_differs_in_white_space() -> None:
    assert patched_text("  a\nx\na\nx\n", diff(" a", "-x", "+y")) == "  a\nx\na\ny\n"


def test_lines_keep_their_endings_and_new_ones_get_that_of_the_line_before() -> None:
    assert patched_text("a\r\nb\r\n", diff(" a", "-b", "+B", "+c")) == "a\r\nB\r\nc\r\n"
    assert patched_text("a\r\nb", diff(" b", "+c")) == "a\r\nb\r\nc"
    assert patched_text("a\nb\r\nc\n", diff(" b", "+x", " c")) == "a\nb\r\nx\r\nc\n"
    assert patched_text("a\r\nb\r\n", " a\r\n-b\r\n+B\r\n") == "a\r\nB\r\n"


def test_every_line_can_go() -> None:
    assert patched_text("a\nb", diff("-a", "-b")) == ""


def test_a_diff_without_chunks_changes_nothing() -> None:
    assert patched_text("a\n", "") == "a\n"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (diff("nonsense"), "line 1 of the diff begins with neither"),
        (diff(" a", "*** Begin Patch"), "line 2 of the diff begins with neither"),
        (diff("-z"), r"chunk 1 \(line 1 of the diff\) stands nowhere in the file after line 0: it has not its first old line"),
        (diff(" a", " b", "-z"), "of its 3 old lines it has the first 2 in a row"),
        (diff("@@", "-b", "@@", "-a"), r"chunk 2 \(line 3 of the diff\) stands nowhere in the file after line 2"),
        (diff("@@ zzz", "+x"), "has the anchor 'zzz', which is no line of the file"),
        (diff("@@ zzz", "-x", "+y"), "has the anchor 'zzz', which is no line of the file"),
    ],
)
def test_what_stands_nowhere_or_in_two_places_is_refused(change: str, said: str) -> None:
    with pytest.raises(PatchError, match=said):
        patched_text("a\nb\nx\nx\n", change)


def test_a_wrong_anchor_does_not_matter_where_the_lines_stand_once() -> None:
    assert patched_text("a\nb\n", diff("@@ -1,2 +1,2 @@", " a", "-b", "+B")) == "a\nB\n"


def test_a_new_file_is_made_of_added_lines() -> None:
    assert created_text(diff("+a", "+", "+b")) == "a\n\nb"
    assert created_text("") == ""
    with pytest.raises(PatchError, match="line 2 of the diff does not begin with '\\+'"):
        created_text(diff("+a", "b"))


def test_the_text_form_names_the_files() -> None:
    text = diff(
        "*** Begin Patch",
        "*** Add File: new.txt",
        "+hello",
        "*** Update File: a.txt",
        "*** Move to: b/a.txt",
        "@@",
        "-x",
        "+y",
        "*** Update File: same.txt",
        "*** Delete File: old.txt",
        "*** End Patch",
    )
    assert parse_patch(text) == [
        FileChange("create_file", "new.txt", "+hello"),
        FileChange("update_file", "a.txt", "@@\n-x\n+y", "b/a.txt"),
        FileChange("update_file", "same.txt"),
        FileChange("delete_file", "old.txt"),
    ]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "is no patch"),
        (["*** Begin Patch"], "is no patch"),
        (["*** Begin Patch", "*** End Patch"], "changes no file"),
        (["*** Begin Patch", "+x", "*** End Patch"], "line 2 of the patch belongs to no file"),
        (
            ["*** Begin Patch", "*** Delete File: a", "+x", "*** End Patch"],
            "line 3 of the patch follows the name of a file to delete",
        ),
    ],
)
def test_what_is_no_patch_is_refused(lines: list[str], said: str) -> None:
    with pytest.raises(PatchError, match=said):
        parse_patch("\n".join(lines))


LINES = st.lists(st.sampled_from(["a", "b", "  a", "b ", "", "+", "@@ a", "*** End of File"]), max_size=12)


def difference(old: list[str], new: list[str]) -> str:
    """A diff with every line of the file, so that there is one place for it."""
    lines: list[str] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            lines += [f" {line}" for line in old[i1:i2]]
        else:
            lines += [f"-{line}" for line in old[i1:i2]] + [f"+{line}" for line in new[j1:j2]]
    return "\n".join([*lines, ""])


@given(LINES, LINES, st.sampled_from(["\n", "\r\n"]))
@example([], [], "\n")
def test_the_difference_of_two_texts_makes_one_of_the_other(old: list[str], new: list[str], ending: str) -> None:
    text = ending.join([*old, ""])
    assert patched_text(text, difference([*old, ""], [*new, ""])) == (ending if old else "\n").join([*new, ""])


@given(st.text(alphabet="ab +-@*\n\r", max_size=60), st.text(alphabet="ab +-@*\n\r", max_size=60))
def test_any_text_and_any_diff_end_in_a_text_or_in_one_error(text: str, change: str) -> None:
    for work in (lambda: patched_text(text, change), lambda: created_text(change), lambda: parse_patch(change)):
        try:
            work()
        except PatchError as error:
            assert "expected" in str(error) or "stands nowhere" in str(error)


def test_a_large_file_and_a_hostile_diff_take_linear_work() -> None:
    text = "a\n" * 200_000
    with pytest.raises(PatchError, match="stands nowhere"):
        patched_text(text, " a\n" * 5_000 + "-b\n")


class Read(str):
    """A text that counts how many of its characters a search goes over."""

    went_over = 0
    __slots__ = ()

    def find(self, *given: object) -> int:
        wanted, start = cast("tuple[str, int]", given)
        found = super().find(wanted, start)
        Read.went_over += (len(self) if found < 0 else found) - start
        return found


@pytest.mark.parametrize("miscopied", ["", "  "], ids=["exact", "other white space"])
@pytest.mark.parametrize("anchored", [True, False], ids=["anchors", "no anchors"])
def test_a_diff_of_many_chunks_goes_over_the_file_once(anchored: bool, miscopied: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not over all of it for each chunk: for an anchor that may have been passed, or lines that are not there as they are."""
    begin = patch_module._Searched.__init__

    def searched(self: patch_module._Searched, lines: list[str]) -> None:
        begin(self, lines)
        self._text = Read(self._text)

    monkeypatch.setattr(patch_module._Searched, "__init__", searched)
    functions, text, change = range(300), "", ""
    for number in functions:
        text += f"def f{number}():\n    x = {number}\n    return x\n\n"
        anchor = f"@@ def f{number}():{miscopied}\n" if anchored else "@@\n"
        change += f"{anchor}-    x = {number}{miscopied}\n+    x = -{number}\n     return x{miscopied}\n"
    monkeypatch.setattr(Read, "went_over", 0)
    assert patched_text(text, change) == "".join(f"def f{n}():\n    x = -{n}\n    return x\n\n" for n in functions)
    assert Read.went_over < 4 * len(text)
