"""`SkillsToolset`: what the model is told and can read, what is refused with file and line, and that nothing else is read."""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk import Agent, RunConfig, Runner, RunState, UserError, function_tool
from agentsdk.models.token_counter import EstimatingCounter
from agentsdk.stores import MemoryRunStore
from agentsdk.testing import ScriptedModel, call
from agentsdk.toolsets import Skill, SkillsToolset, ToolsetContext
from agentsdk.toolsets import skill_files as skill_files_module
from agentsdk.toolsets import skills as skills_module
from tests.shown import show

pytestmark = pytest.mark.anyio

EXAMPLES = Path(__file__).parents[2] / "examples" / "skills"
DOCS = Path(__file__).parents[2] / "docs"
SECRET = "the secret of another folder"


def write_skill(folder: Path, name: str, instructions: str = "Do it.", *, front_matter: str | None = None) -> Path:
    """A skill's folder."""
    skill = folder / name
    skill.mkdir(parents=True, exist_ok=True)
    said = f"name: {name}\ndescription: About {name}." if front_matter is None else front_matter
    (skill / "SKILL.md").write_text(f"---\n{said}\n---\n\n{instructions}\n", encoding="utf-8")
    return skill


def outputs(result: Any) -> list[str]:
    return [str(item.output) for item in result.new_items if item.type == "tool_call_output_item"]


async def replies(toolset: SkillsToolset[Any], *calls: Any) -> list[str]:
    """What the model is told by calls that it makes one after the other."""
    agent = Agent[Any, str](name="A", model=ScriptedModel([*calls, "done"]), toolsets=[toolset])
    return outputs(await Runner.run(agent, "go"))


async def read(toolset: SkillsToolset[Any], path: str, skill: str = "one") -> str:
    [told] = await replies(toolset, call("read_skill_file", skill=skill, path=path))
    return told


async def test_the_model_is_told_names_and_reads_the_rest_when_it_needs_it() -> None:
    said = [
        call("load_skill", name="release-notes"),
        call("read_skill_file", skill="release-notes", path="./references/style.md"),
        "done",
    ]
    model = ScriptedModel(said)
    agent = Agent[None, str](name="A", instructions="Be brief.", model=model, toolsets=[SkillsToolset(EXAMPLES)])
    result = await Runner.run(agent, "What is new?")
    told = model.requests[0].instructions
    assert told.startswith("Be brief.\n\nSkills are instructions for particular tasks.")
    assert "\n- release-notes: Write release notes from a list of changes or commits. Use it when the user asks for" in told
    assert [line.partition(":")[0] for line in told.splitlines()[-3:]] == [
        "- csv-report",
        "- meeting-minutes",
        "- release-notes",
    ]
    assert "Sort the changes" not in told
    assert [tool.name for tool in model.requests[0].tools] == ["load_skill", "read_skill_file"]
    assert all(tool.effect == "none" for tool in SkillsToolset[Any](EXAMPLES)._tools)
    loaded, style = outputs(result)
    assert loaded.startswith("# Skill release-notes\n\n# Release notes\n\n1. Sort the changes")
    assert "license" not in loaded
    assert "nothing runs them here.\n- references/style.md (" in loaded
    assert style == (EXAMPLES / "release-notes" / "references" / "style.md").read_text(encoding="utf-8")


def test_a_skill_says_what_its_file_says() -> None:
    report, _, notes = SkillsToolset[Any](EXAMPLES).skills
    assert isinstance(report, Skill)
    assert (report.compatibility, report.allowed_tools, report.license) == ("The script needs Python 3.11", ("Read",), "MIT")
    assert (notes.metadata, notes.folder) == ({"version": "1.0"}, str(EXAMPLES / "release-notes"))
    assert notes.instructions.startswith("# Release notes")


@pytest.mark.parametrize(
    ("given", "listed"),
    [("Bash(git add:*) Read, Write", ("Bash(git add:*)", "Read", "Write")), ("[Read, 'Write']", ("Read", "Write")), ("", ())],
)
def test_allowed_tools_are_a_text_or_a_list(tmp_path: Path, given: str, listed: tuple[str, ...]) -> None:
    write_skill(tmp_path, "one", front_matter=f"name: one\ndescription: d\nallowed-tools: {given}\nmetadata:")
    [skill] = SkillsToolset[Any](tmp_path).skills
    assert (skill.allowed_tools, skill.metadata) == (listed, {})


async def test_what_is_added_changed_and_removed_enters_at_the_next_turn(tmp_path: Path) -> None:
    write_skill(tmp_path, "one")

    @function_tool
    def change(step: int) -> str:
        if step == 1:
            write_skill(tmp_path, "two", front_matter="name: two\ndescription: |\n  A second\n  one.")
        elif step == 2:
            write_skill(tmp_path, "one", front_matter="name: one\ndescription: Other words.")
        else:
            for name in ("one", "two"):
                (tmp_path / name / "SKILL.md").unlink()
        return "changed"

    model = ScriptedModel([call("change", step=1), call("change", step=2), call("change", step=3), "done"])
    await Runner.run(Agent[None, str](name="A", model=model, tools=[change], toolsets=[SkillsToolset(tmp_path)]), "go")
    told = [request.instructions.splitlines()[2:] for request in model.requests]
    assert told == [
        ["- one: About one."],
        ["- one: About one.", "- two: A second one."],
        ["- one: Other words.", "- two: A second one."],
        [],
    ]
    assert [tool.name for tool in model.requests[-1].tools] == ["change"]


async def test_what_breaks_later_is_left_out_and_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folders = tmp_path / "a", tmp_path / "b"
    write_skill(folders[0], "one")
    write_skill(folders[1], "two")
    toolset = SkillsToolset[Any](*folders)
    write_skill(folders[0], "two", front_matter="name: two\ndescription: 'the first one'")
    write_skill(folders[0], "three", front_matter="name: [")
    (folders[0] / "one" / "SKILL.md").write_text("no front matter")
    with caplog.at_level(logging.WARNING, "agentsdk"):
        told = await replies(toolset, call("load_skill", name="one"), call("load_skill", name="two"))
    assert told[0] == "Error: there is no skill 'one', expected one of: two"
    assert [skill.description for skill in toolset.skills] == ["the first one"]
    said = "toolset 'skills' leaves out a skill: "
    assert [record.getMessage().replace(str(tmp_path), "").removeprefix(said) for record in caplog.records] == [
        "/a/one/SKILL.md:1: no front matter, expected '---' as the first line, with name and description below it",
        "/a/three/SKILL.md:2: a list that goes on below, expected ']' on the line, or a line '- ...' for each",
        "/b/two/SKILL.md: a second skill 'two', expected a name of its own; the first is in /a",
    ]


async def test_a_folder_that_vanishes_has_no_skills(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "skills"
    write_skill(folder, "one")
    toolset = SkillsToolset[Any](folder)
    folder.rename(tmp_path / "elsewhere")
    assert await toolset.get_tools(a_context()) == ()
    assert await toolset.get_instructions(a_context()) == ""
    assert f"{folder}: there is none, expected a folder of skills" in caplog.text
    (tmp_path / "elsewhere").rename(folder)
    assert len(await toolset.get_tools(a_context())) == 2


def a_context() -> ToolsetContext[Any]:
    agent = Agent[Any, str](name="A")
    return ToolsetContext(None, None, agent)  # type: ignore[arg-type]


async def test_folders_are_read_on_a_thread_and_a_file_only_when_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        write_skill(tmp_path, name)
    toolset = SkillsToolset[Any](tmp_path)
    seen: list[tuple[str, bool]] = []
    inner = skills_module.skill_or_problem

    def noted(folder: str, name: str, max_bytes: int) -> Any:
        seen.append((name, threading.current_thread() is threading.main_thread()))
        return inner(folder, name, max_bytes)

    monkeypatch.setattr(skills_module, "skill_or_problem", noted)
    tools = await toolset.get_tools(a_context())
    assert seen == []
    write_skill(tmp_path, "two", "Do it in another way.")
    assert await toolset.get_tools(a_context()) is tools
    assert seen == [("two", False)]


LONG = "x" * 1025
GOOD = "---\nname: one\ndescription: d\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# Title\n", ":1: no front matter, expected '---' as the first line, with name and description below it"),
        ("", ":1: no front matter"),
        ("---\nname: one\n", ":1: front matter that does not end, expected a second line '---'"),
        ("---\ndescription: d\n---\n", ":1: no name, expected 1 to 64"),
        ("---\nname: one\n---\n", ":1: no description, expected 1 to 1024"),
        ("---\nname: one\ndescription:\n---\n", ":3: description of 0 characters, expected 1 to 1024"),
        (f"---\n\nname: one\ndescription: {LONG}\n---\n", ":4: description of 1,025 characters, expected 1 to 1024"),
        (f"---\nname: {'o' * 65}\ndescription: d\n---\n", ":2: name of 65 characters, expected 1 to 64"),
        ("---\nname: two\ndescription: d\n---\n", ":2: name 'two', expected that of its folder, 'one'"),
        (
            "---\nname: One\ndescription: d\n---\n",
            ":2: name 'One', expected lower case letters, digits and single hyphens",
        ),
        ("---\nname: one-\ndescription: d\n---\n", ":2: name 'one-', expected lower case"),
        ("---\nname: one--two\ndescription: d\n---\n", ":2: name 'one--two', expected lower case"),
        ("---\nname:\n  - one\ndescription: d\n---\n", ":2: name is a list, expected a text"),
        ("---\nname: one\ndescription:\n  a: b\n---\n", ":3: description is a mapping, expected a text"),
        (
            GOOD + "compatibility:\n---\n",
            ":4: compatibility of 0 characters, expected 1 to 500",
        ),
        (
            GOOD + "metadata: 1.0\n---\n",
            ":4: metadata is no mapping, expected lines 'key: value'",
        ),
        (
            GOOD + "metadata:\n  a:\n    b: c\n---\n",
            ":6: a list or keys below 'a', expected a text",
        ),
        (
            "---\nname: one\ndescription: Use it when: x\n---\n",
            ":3: 'Use it when: x' has a colon in it, expected it",
        ),
        ("---\nname: one\nname: one\ndescription: d\n---\n", ":3: a second 'name', expected each key once"),
        ("---\nname: one\n\tdescription: d\n---\n", ":3: the character '\\t', expected spaces"),
        (b"---\nname: one\ndescription: caf\xe9\n---\n", ":3: bytes that are not UTF-8, expected a text in UTF-8"),
        (
            GOOD + "---\n" + "y" * 200_000,
            ": 200,033 bytes, expected at most 100,000; move parts",
        ),
    ],
)
def test_an_invalid_skill_is_refused_with_file_and_line(tmp_path: Path, text: str | bytes, problem: str) -> None:
    file = write_skill(tmp_path, "one") / "SKILL.md"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UserError) as refused:
        SkillsToolset[Any](tmp_path)
    assert str(refused.value).startswith(str(tmp_path / "one") + "/SKILL.md" + problem)


def test_what_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"SkillsToolset\(\) has no folder, expected one or more"):
        SkillsToolset[Any]()
    with pytest.raises(UserError, match="missing: there is none, expected a folder of skills"):
        SkillsToolset[Any](tmp_path / "missing")
    first, second = tmp_path / "a", tmp_path / "b"
    skill = write_skill(first, "one")
    with pytest.raises(UserError, match=r"one is a skill, expected a folder of skills; pass '.*/a'"):
        SkillsToolset[Any](skill)
    write_skill(second, "one")
    write_skill(second, "two", front_matter="name: three\ndescription: d")
    with pytest.raises(UserError) as refused:
        SkillsToolset[Any](first, second)
    assert [line.partition("SKILL.md")[2] for line in str(refused.value).splitlines()] == [
        f": a second skill 'one', expected a name of its own; the first is in {first}",
        ":2: name 'three', expected that of its folder, 'two'",
    ]
    monkeypatch.setattr(skills_module, "can_open_below", lambda: False)
    with pytest.raises(UserError, match="cannot keep to its folders on this platform"):
        SkillsToolset[Any](first)


@pytest.mark.parametrize("what", ["folder", "file", "outside"])
def test_a_skill_behind_a_link_is_refused(tmp_path: Path, what: str) -> None:
    elsewhere = write_skill(tmp_path / "elsewhere", "one")
    folder = tmp_path / "skills"
    if what == "file":
        (folder / "one").mkdir(parents=True)
        (folder / "one" / "SKILL.md").symlink_to(elsewhere / "SKILL.md")
    elif what == "folder":
        folder.mkdir()
        (folder / "one").symlink_to(elsewhere)
    else:  # the folder that was named may be a link: a release that is switched to
        folder.symlink_to(tmp_path / "elsewhere")
        assert [skill.name for skill in SkillsToolset[Any](folder).skills] == ["one"]
        return
    with pytest.raises(UserError, match=r"one/SKILL\.md: .*expected a file; it is opened without following links"):
        SkillsToolset[Any](folder)


async def test_a_skill_that_is_moved_behind_a_link_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    skill = write_skill(tmp_path / "skills", "one")
    toolset = SkillsToolset[Any](tmp_path / "skills")
    skill.rename(tmp_path / "moved")
    skill.symlink_to(tmp_path / "moved")  # its SKILL.md is the same file as before
    assert await toolset.get_tools(a_context()) == ()
    assert "expected a file; it is opened without following links" in caplog.text


async def test_a_skill_within_a_skill_is_none(tmp_path: Path) -> None:
    write_skill(write_skill(tmp_path, "one"), "inner")
    toolset = SkillsToolset[Any](tmp_path)
    [told] = await replies(toolset, call("load_skill", name="one/inner"))
    assert told == "Error: there is no skill 'one/inner', expected one of: one"


def test_a_byte_order_mark_is_no_character_of_the_file(tmp_path: Path) -> None:
    file = write_skill(tmp_path, "one") / "SKILL.md"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert [skill.name for skill in SkillsToolset[Any](tmp_path).skills] == ["one"]


def test_hidden_folders_and_folders_without_skills_are_not_looked_at(tmp_path: Path) -> None:
    write_skill(tmp_path, ".git", "no skill")
    (tmp_path / "shared").mkdir()
    (tmp_path / "README.md").write_text("About these skills.")
    assert SkillsToolset[Any](tmp_path).skills == ()


@pytest.fixture
def guarded(tmp_path: Path) -> SkillsToolset[Any]:
    """A skill with every way out that a folder can have, to files that hold `SECRET`."""
    skill = write_skill(tmp_path / "skills", "one")
    write_skill(tmp_path / "skills", "two", SECRET)
    outside = tmp_path / "outside"
    outside.mkdir()
    for secret in (tmp_path / "secret.txt", outside / "secret.txt", skill / ".hidden", tmp_path / "skills" / "secret.txt"):
        secret.write_text(SECRET)
    (skill / "sub").mkdir()
    (skill / "sub" / "a.txt").write_text("inside")
    (skill / "sub" / "up").symlink_to("../..")
    (skill / "link.txt").symlink_to(tmp_path / "secret.txt")
    (skill / "near.txt").symlink_to("../two/SKILL.md")
    (skill / "links").symlink_to(outside)
    (skill / "up").symlink_to("..")
    return SkillsToolset[Any](tmp_path / "skills")


NAMES = [
    "..",
    ".",
    "",
    "sub",
    "up",
    "links",
    "a.txt",
    "link.txt",
    "near.txt",
    "secret.txt",
    ".hidden",
    "one",
    "two",
    "SKILL.md",
]
PATHS = st.one_of(
    st.lists(st.sampled_from([*NAMES, "%2e%2e", "..\\", "~", "outside", "proc", "self"]), max_size=8).map("/".join),
    st.text(max_size=20),
).flatmap(lambda path: st.sampled_from([path, f"/{path}", f"{path}\0", f"../{path}"]))


@given(path=PATHS, skill=st.sampled_from(["one", "two", "..", ".", "one/..", "up", "", "one/sub"]))
def test_nothing_outside_the_folder_is_ever_read(guarded: SkillsToolset[Any], path: str, skill: str) -> None:
    try:
        told = guarded._read_file(skill, path)
    except Exception as error:
        assert type(error).__name__ == "ToolError" and SECRET not in str(error)
    else:
        assert told == "inside" or "SKILL.md" in path
        assert SECRET not in told or skill == "two"


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("../two/SKILL.md", "Error: '../two/SKILL.md' of skill 'one' leads out of the folder, expected the path of one of"),
        ("sub/../a.txt", "Error: 'sub/../a.txt' of skill 'one' leads out of the folder"),
        ("/etc/passwd", "Error: '/etc/passwd' of skill 'one' is not a relative path"),
        (".hidden", "Error: '.hidden' of skill 'one' is hidden"),
        ("link.txt", "Error: 'link.txt' of skill 'one' cannot be read: a symbolic link, which is not followed; load the skill"),
        ("links/secret.txt", "Error: 'links/secret.txt' of skill 'one' cannot be read: "),
        ("sub", "Error: 'sub' of skill 'one' is not a file"),
        ("no.txt", "Error: 'no.txt' of skill 'one' cannot be read: there is none; load the skill to see its files"),
        ("./", "Error: './' of skill 'one' names no file"),
    ],
)
async def test_the_model_is_told_why_a_file_is_not_read(guarded: SkillsToolset[Any], path: str, told: str) -> None:
    assert (await read(guarded, path)).startswith(told)


@pytest.mark.parametrize("swapped", ["sub", "sub/a.txt", "."])
def test_what_is_swapped_for_a_link_meanwhile_leads_nowhere(
    guarded: SkillsToolset[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swapped: str
) -> None:
    """The last moment there is: after everything was checked, before the name is opened."""
    skill, opened = tmp_path / "skills" / "one", os.open
    (tmp_path / "outside" / "sub").mkdir()
    for secret in (tmp_path / "outside" / "a.txt", tmp_path / "outside" / "sub" / "a.txt"):
        secret.write_text(SECRET)
    assert guarded._read_file("one", "sub/a.txt") == "inside"
    name = "one" if swapped == "." else Path(swapped).name
    seen: list[str] = []

    def swapping(path: str, flags: int, *args: Any, **options: Any) -> int:
        if path == name and (swapped != "." or "a.txt" in asked):
            seen.append(path)
            if not (skill / swapped).is_symlink():
                (skill / swapped).rename(tmp_path / "moved")
                (skill / swapped).symlink_to(tmp_path / "outside" / ("a.txt" if name == "a.txt" else ""))
        return opened(path, flags, *args, **options)

    asked = ["a.txt"]
    monkeypatch.setattr(skill_files_module.os, "open", swapping)
    with pytest.raises(Exception, match=r"cannot be read|there is no skill") as refused:
        guarded._read_file("one", "sub/a.txt")
    assert seen and SECRET not in str(refused.value)


async def test_files_that_are_not_text_or_too_long_are_told_as_that(tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "one")
    (skill / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (skill / "latin.txt").write_bytes(b"caf\xe9")
    (skill / "long.txt").write_text("é" * 60, encoding="utf-8")
    (skill / "empty.txt").touch()
    os.mkfifo(skill / "pipe")
    toolset = SkillsToolset[Any](tmp_path, max_bytes=61)
    assert await read(toolset, "logo.png") == "[logo.png is a binary file of 10 bytes, which cannot be shown as text.]"
    assert await read(toolset, "latin.txt") == "[latin.txt is a binary file of 4 bytes, which cannot be shown as text.]"
    cut = "é" * 30 + "\n\n[These are the first 61 of 120 bytes. The rest is not shown.]"
    assert await read(toolset, "long.txt") == cut
    assert await read(toolset, "empty.txt") == ""
    assert (await read(toolset, "pipe")).startswith("Error: 'pipe' of skill 'one' is not a file")


async def test_loading_lists_what_can_be_read(tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "one", front_matter="name: one\ndescription: d\ncompatibility: Needs git")
    for path in ("z.txt", "b/c.txt", "b/.hidden", ".git/config", "b/two\nlines", "a/1/2/3/4/5/6/7/8/deep.txt"):
        (skill / path).parent.mkdir(parents=True, exist_ok=True)
        (skill / path).write_text("x")
    (skill / "link").symlink_to("z.txt")
    (skill / "links").symlink_to("b")
    toolset = SkillsToolset[Any](tmp_path)
    [told] = await replies(toolset, call("load_skill", name="one"))
    assert told.splitlines()[:3] == ["# Skill one", "", "Compatibility: Needs git"]
    assert told.splitlines()[-3:] == [
        "Files of skill one, to be read by their path. Scripts can be read too; nothing runs them here.",
        "- z.txt (1 bytes)",
        "- b/c.txt (1 bytes)",
    ]
    for number in range(150):
        (skill / "b" / f"{number:03}").touch()
    [told] = await replies(toolset, call("load_skill", name="one"))
    assert told.count("\n- ") == 100 and told.endswith("\n- and others")


async def test_unknown_skills_are_answered_with_the_names_there_are(tmp_path: Path) -> None:
    for number in range(60):
        write_skill(tmp_path, f"s{number:02}")
    [told] = await replies(SkillsToolset(tmp_path), call("load_skill", name="../s01"))
    assert told.startswith("Error: there is no skill '../s01', expected one of: s00, s01, ") and told.endswith("s49, ...")


async def test_the_usual_combinators(tmp_path: Path) -> None:
    write_skill(tmp_path / "a", "one")
    write_skill(tmp_path / "b", "two")
    mine = SkillsToolset[None](tmp_path / "a").filtered(lambda context, tool: tool.name == "load_skill")
    theirs = SkillsToolset[None](tmp_path / "b", name="theirs").prefixed("their_")
    model = ScriptedModel([call("their_load_skill", name="two"), "done"])
    result = await Runner.run(Agent[None, str](name="A", model=model, toolsets=[mine, theirs]), "go")
    assert [tool.name for tool in model.requests[0].tools] == ["load_skill", "their_load_skill", "their_read_skill_file"]
    assert outputs(result) == ["# Skill two\n\nDo it."]


async def test_a_run_that_waits_goes_on_in_another_process_and_is_replayed_without_the_folder(tmp_path: Path) -> None:
    folder, store = tmp_path / "skills", MemoryRunStore()
    write_skill(folder, "one", "Say please.")
    config = RunConfig(store=store, run_id="r")

    def agent(*says: Any) -> Agent[None, str]:
        return Agent(name="A", model=ScriptedModel(says), toolsets=[SkillsToolset[None](folder).with_approval()])

    saved = (await Runner.run(agent(call("load_skill", name="one")), "go", run_config=config)).to_state().to_string()
    (tmp_path / "moved").mkdir()
    folder.rename(tmp_path / "moved" / "skills")
    folder.symlink_to(tmp_path / "moved" / "skills")  # where that process finds it
    again = agent("done")
    state = await RunState.from_string(again, saved)
    state.approve(state.interruptions[0])
    result = await Runner.run(again, state, run_config=RunConfig(store=store))
    assert outputs(result)[-1] == "# Skill one\n\nSay please."
    folder.unlink()
    replayed = await Runner.replay(again, "r", run_config=RunConfig(store=store))
    assert replayed.divergence is None


async def test_ten_skills_are_loaded_by_name(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """What they cost in each request, beside the same instructions all told at once. Real texts: pages of these docs."""
    pages = ["agents", "approvals", "context", "durability", "guardrails", "handoffs", "limits", "sessions", "testing", "tools"]
    texts = {page: (DOCS / f"{page}.md").read_text(encoding="utf-8") for page in pages}
    for page, text in texts.items():
        write_skill(
            tmp_path, page, text, front_matter=f"name: {page}\ndescription: How {page} work. Use it for questions on {page}."
        )
    model = ScriptedModel([*[call("load_skill", name=page) for page in pages], "done"])
    toolset = SkillsToolset[None](tmp_path)
    result = await Runner.run(Agent[None, str](name="A", model=model, toolsets=[toolset]), "go", max_turns=20)
    assert outputs(result) == [f"# Skill {page}\n\n{text.strip()}" for page, text in texts.items()]
    counter = EstimatingCounter()
    first = model.requests[0]
    told = await counter.count_fixed(first.instructions, first.tools, None)
    whole = await counter.count_fixed("\n\n".join(texts.values()), (), None)
    assert told * 20 < whole
    show(request.config, [f"ten skills: {told:,} tokens in each request, {whole:,} with all their instructions (estimated)"])
