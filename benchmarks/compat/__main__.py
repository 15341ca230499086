"""`make compat`: fetches openai-agents' source distribution, and says how much of it runs here with its import line changed.

    python -m benchmarks.compat [examples] [docs] [names] [tests] [cost] [--sdist DIR] [--show]

Nothing of it is kept. Examples run in processes of their own against a server that makes up its replies.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.compat.mcp_server import mcp_services
from benchmarks.compat.pages import doc_blocks
from benchmarks.compat.public_tests import run_tests
from benchmarks.compat.sdist import fetched
from benchmarks.compat.server import serve
from benchmarks.envs import ensure

ALIAS = Path(__file__).parent / "alias"
SECONDS = 40
# What needs a service, a device or a package that no test can have; the rest must run.
OTHER_FOLDERS = ("sandbox", "voice", "realtime", "live", "hosted_mcp", "mcp", "decisions", "reasoning_content")
OTHER_EXAMPLES = (
    "redis_session|dapr_session|mongodb|sqlalchemy|advanced_sqlite|codex|container_shell|any_llm|hosted_multi|computer_use|gpt_oss"
    "|openai_session|compaction_session|image_generator|file_search|run_examples|local_shell_skill|programmatic|tool_search"
    "|litellm|auto_mode|web_search_utils|human_in_the_loop_server|app.py|server.py"
)


Programs = dict[str, tuple[list[str], Path]]
"""Commands with the folders that they are run in, by a name."""


def environment(address: str, root: Path) -> dict[str, str]:
    """What a program of theirs runs in."""
    own = Path(__file__).parents[2]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ALIAS), str(own), str(root)]),
        "OPENAI_API_KEY": "sk-test",
        "OPENAI_BASE_URL": address,
        "EXAMPLES_INTERACTIVE_MODE": "auto",
        "EXAMPLE_BASE_URL": address,
        "EXAMPLE_API_KEY": "sk-test",
        "EXAMPLE_MODEL_NAME": "gpt-4.1",
        "NO_PROXY": "127.0.0.1",
        "MCP_SERVER_TOKEN": "token",
        "SESSION_ENCRYPTION_KEY": "a key of a documentation block",
        "PYTHONUNBUFFERED": "1",
    }


def run_program(command: list[str], folder: Path, env: dict[str, str]) -> str:
    """Why a program of theirs failed, `""` where it ran to its end."""
    try:
        done = subprocess.run(
            command, cwd=folder, env=env, input="hello\nno\nexit\nquit\n", capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return "did not end"
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.strip().splitlines() if line.strip()] or ["?"]
    return lines[-1][:160]


def examples(root: Path) -> Iterator[Path]:
    """The example programs that need no service of their vendor's."""
    for path in sorted((root / "examples").rglob("*.py")):
        folder = path.relative_to(root / "examples").parts[0]
        if folder in OTHER_FOLDERS or re.search(OTHER_EXAMPLES, path.name):
            continue
        if "__main__" in path.read_text(encoding="utf-8"):
            yield path


def report(title: str, outcomes: dict[str, str], show: bool) -> None:
    """Print how many ran, and why the others did not."""
    fragments = [name for name, why in outcomes.items() if why.startswith("NameError") or "ellipsis" in why]
    failed = {name: why for name, why in outcomes.items() if why and name not in fragments}
    whole = len(outcomes) - len(fragments)
    print(f"{title}: {whole - len(failed)} of {whole}" + (f", and {len(fragments)} fragments" if fragments else ""))
    if show:
        for name, why in failed.items():
            print(f"  {name}: {why}")
    else:
        for why, number in Counter(failed.values()).most_common(8):
            print(f"  {number} {why}")


def in_parallel(programs: Programs, env: dict[str, str]) -> dict[str, str]:
    """Run programs, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        waiting = {name: pool.submit(run_program, command, folder, env) for name, (command, folder) in programs.items()}
        return {name: one.result() for name, one in waiting.items()}


def undecided(programs: Programs, outcomes: dict[str, str], env: dict[str, str]) -> dict[str, str]:
    """Of the programs that failed those that fail with openai-agents itself too, and why: they need an address that nobody
    serves here, or insist on what a real model says, so they say nothing of the package. `programs` is what is run for it."""
    python = str(ensure("openai-agents-original").python)
    path = [one for one in env["PYTHONPATH"].split(os.pathsep) if one != str(ALIAS)]
    original = {**env, "PYTHONPATH": os.pathsep.join(path), "OPENAI_AGENTS_DISABLE_TRACING": "1"}
    failed = {name: programs[name] for name, why in outcomes.items() if why}
    again = in_parallel({name: ([python, *command[1:]], folder) for name, (command, folder) in failed.items()}, original)
    return {name: why for name, why in again.items() if why}


def report_decided(title: str, programs: Programs, outcomes: dict[str, str], env: dict[str, str], show: bool) -> dict[str, str]:
    """Print those of the outcomes that say something of the package, and give them."""
    neither = undecided(programs, outcomes, env)
    decided = {name: why for name, why in outcomes.items() if name not in neither}
    report(title, decided, show)
    print(f"  {len(neither)} more cannot run here: with openai-agents itself they fail too")
    if show:
        for name in sorted(neither):
            print(f"    {name}: {neither[name]}")
    return decided


def compare_doctor(root: Path, outcomes: dict[str, str], env: dict[str, str]) -> None:
    """Print where the doctor is wrong: what it says of each example, by its imports, beside what came of it.

    Besides those that ran, each that it says cannot run is run: it must fail as it says.
    """
    from agentsdk.compat.openai_agents.doctor import why_not

    every = [path for path in sorted((root / "examples").rglob("*.py")) if "__main__" in path.read_text(encoding="utf-8")]
    said = {str(path.relative_to(root)): why_not(path, root) for path in every}
    more = {name: module_command(root, root / name) for name, why in said.items() if why and name not in outcomes}
    outcomes = {**outcomes, **in_parallel(more, env)}
    differing = {name for name, outcome in outcomes.items() if bool(said[name]) != bool(outcome)}
    for name in sorted(differing):
        runs = "cannot run: " + said[name][0] if said[name] else "runs"
        print(f"  doctor: {name} {runs}; but: {outcomes[name] or 'it ran'}")
    right, rest = len(outcomes) - len(differing), len(said) - len(outcomes)
    print(f"doctor: right about {right} of {len(outcomes)} examples; {rest} more need a service to be run")


def module_command(root: Path, path: Path) -> tuple[list[str], Path]:
    """What runs an example, and where."""
    return [sys.executable, "-m", ".".join(path.relative_to(root).with_suffix("").parts)], root


def main() -> None:
    """Run what is asked for, or all but the tests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["examples", "docs", "names", "cost"])
    parser.add_argument("--sdist", type=Path, help="the unpacked source distribution, if there is one")
    parser.add_argument("--show", action="store_true", help="each that failed, and why")
    given = parser.parse_args()
    if "cost" in given.what:
        from benchmarks.compat.cost import measure_cost

        measure_cost()
    if given.what == ["cost"]:
        return
    root: Path = given.sdist or fetched()
    server, address = serve()
    env = environment(address, root)
    if "examples" in given.what:
        found = {str(path.relative_to(root)): module_command(root, path) for path in examples(root)}
        outcomes = in_parallel(found, env)
        decided = report_decided("examples", found, outcomes, env, given.show)
        compare_doctor(root, decided, env)
    if "docs" in given.what:
        run_docs(root, env, given.show)
    if "names" in given.what:
        from benchmarks.compat.names import check_names

        check_names(root, given.show)
    if "tests" in given.what:
        run_tests(root, env, show=given.show)
    server.shutdown()


def run_docs(root: Path, env: dict[str, str], show: bool) -> None:
    """Run the blocks of the documentation, with the MCP server that they speak of, and print what came of them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        programs, again = blocks(root, folder / "here"), blocks(root, folder / "original")
        with mcp_services(ensure("openai-agents-tests").python, folder, env) as served:
            outcomes = in_parallel(programs, served)
            report_decided("documentation blocks", again, outcomes, served, show)


def blocks(root: Path, folder: Path) -> Programs:
    """What runs each block that counts, behind the code that it leans on, in a folder of its own."""
    command = [str(ensure("openai-agents-tests").python), "-m", "benchmarks.compat.blocks"]
    programs: Programs = {}
    for number, block in enumerate(one for one in doc_blocks(root) if one.counts):
        own = folder / str(number)
        own.mkdir(parents=True)
        files = [own / f"block_{at}.py" for at in range(len(block.before) + 1)]
        for file, code in zip(files, (*block.before, block.code), strict=True):
            file.write_text(code, encoding="utf-8")
        programs[block.place] = ([*command, *map(str, files)], own)
    return programs


if __name__ == "__main__":
    main()
