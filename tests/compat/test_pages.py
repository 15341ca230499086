"""Which blocks of a documentation count, and what has to run before each."""

from __future__ import annotations

from pathlib import Path

from benchmarks.compat.pages import GIVEN, Block, doc_blocks


def page(*blocks: str, indent: str = "") -> str:
    """A page with these blocks, and words between."""
    fenced = ["\n".join(["```python", *block.splitlines(), "```"]) for block in blocks]
    return "\n\nSome words.\n\n".join("\n".join(indent + line for line in one.splitlines()) for one in fenced)


def blocks(root: Path, *code: str, name: str = "page", indent: str = "") -> list[Block]:
    """The blocks of a documentation of one page, behind a README without any."""
    (root / "docs").mkdir(exist_ok=True)
    (root / "README.md").write_text("No code.", encoding="utf-8")
    path = root / "docs" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(*code, indent=indent), encoding="utf-8")
    return list(doc_blocks(root))


AGENT = "from agents import Agent\nhelper = Agent(name='A')\n"
RUN = "from agents import Runner\nresult = Runner.run_sync(helper, 'hi')\n"
OF_READER = RUN.replace("helper", "agent")


def test_a_block_counts_that_imports_of_the_package(tmp_path: Path) -> None:
    found = blocks(tmp_path, AGENT, "print('agents')\n", "import os\n", "from agents import sandbox\n")
    assert [(block.place, block.counts) for block in found] == [
        ("docs/page.md#0", True),
        ("docs/page.md#1", False),
        ("docs/page.md#2", False),
        ("docs/page.md#3", False),
    ]
    assert found[1].before == ()


def test_blocks_in_lists_lose_their_indentation(tmp_path: Path) -> None:
    (only,) = blocks(tmp_path, "from agents import Agent\nif Agent:\n    pass\n", indent="    ")
    assert only.code.splitlines() == ["from agents import Agent", "if Agent:", "    pass"] and only.counts


def test_before_a_block_run_those_that_define_what_it_lacks(tmp_path: Path) -> None:
    other = "from agents import Agent\nother = Agent(name='B')\n"
    found = blocks(tmp_path, AGENT, other, RUN)
    assert [block.before for block in found] == [(), (), (AGENT.rstrip(),)]


def test_of_two_definitions_the_nearest_before_counts(tmp_path: Path) -> None:
    later = AGENT.replace("'A'", "'B'")
    found = blocks(tmp_path, AGENT, later, RUN, AGENT.replace("'A'", "'C'"))
    assert found[2].before == (later.rstrip(),)


def test_what_those_blocks_lack_runs_before_them(tmp_path: Path) -> None:
    name, agent = "title = 'A'", "from agents import Agent\nhelper = Agent(name=title)"
    found = blocks(tmp_path, name, agent, RUN)
    assert found[2].before == (name, agent)


def test_names_of_functions_arguments_and_builtins_are_not_lacking(tmp_path: Path) -> None:
    code = (
        "from agents import Agent as Made\n"
        "def make(helper):\n"
        "    state = [one for one in helper]\n"
        "    try:\n"
        "        return len(state)\n"
        "    except ValueError as server:\n"
        "        return server\n"
        "print(make([]), Made)\n"
    )
    assert blocks(tmp_path, AGENT, code)[1].before == ()


def test_names_inside_functions_are_not_given_to_later_blocks(tmp_path: Path) -> None:
    inside = "from agents import Agent\ndef make():\n    agent = Agent(name='A')\n"
    assert blocks(tmp_path, inside, OF_READER)[1].before == (GIVEN["agent"],)


def test_what_a_page_leaves_to_its_reader_is_made_first(tmp_path: Path) -> None:
    decide = "from agents import Runner\nstate.approve(interruption)\nRunner.run_sync(agent, state)\n"
    (only,) = blocks(tmp_path, decide)
    assert sorted(only.before) == sorted({GIVEN["state"], GIVEN["agent"]}), "one code gives both the state and the call"


def test_it_is_made_also_where_a_page_has_it_as_that_block_may_not_run_here(tmp_path: Path) -> None:
    own = "from agents import Agent\nagent = Agent(name='A')"
    assert blocks(tmp_path, own, OF_READER)[1].before == (GIVEN["agent"], own)


def test_a_block_that_is_no_python_lacks_and_gives_nothing(tmp_path: Path) -> None:
    found = blocks(tmp_path, "from agents import (\nagent =", OF_READER)
    assert found[0].counts and found[0].before == ()
    assert found[1].before == (GIVEN["agent"],)


def test_pages_of_what_is_left_out_and_translations_are_not_read(tmp_path: Path) -> None:
    blocks(tmp_path, AGENT, name="voice/pipeline")
    blocks(tmp_path, AGENT, name="ja/agents")
    assert [block.place for block in blocks(tmp_path, AGENT, name="agents")] == ["docs/agents.md#0"]


def test_the_readme_is_read_first(tmp_path: Path) -> None:
    blocks(tmp_path, AGENT)
    (tmp_path / "README.md").write_text(page(AGENT), encoding="utf-8")
    assert [block.place for block in doc_blocks(tmp_path)] == ["README.md#0", "docs/page.md#0"]
