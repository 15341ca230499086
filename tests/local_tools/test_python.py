"""`PythonTool`: real programs in a real workspace, what they print, and the files that they show."""

from __future__ import annotations

import base64
import shutil
import struct
import sys
import tempfile
import venv
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agentsdk import Agent, Runner, UserError
from agentsdk.items import FunctionCallOutput
from agentsdk.models import AnthropicModel, GoogleModel, OpenAIChatCompletionsModel, OpenAIResponsesModel
from agentsdk.sandboxes import LocalSandbox, Sandbox
from agentsdk.testing import (
    FakeAnthropicServer,
    FakeGoogleServer,
    FakeOpenAIServer,
    FakeResponsesServer,
    ScriptedModel,
    call,
)
from agentsdk.tools import PythonTool
from tests.sandboxes.sandboxes import SANDBOXES, missing

pytestmark = pytest.mark.anyio


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PNG = b"\x89PNG\r\n\x1a\n" + b"".join(
    [
        chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)),
        chunk(b"IDAT", zlib.compress(b"\0\0")),
        chunk(b"IEND", b""),
    ]
)


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with LocalSandbox(unsafe=True) as made:
        await made.files.write("sales.csv", b"tea,3\ncake,4\n")
        yield made


async def results(sandbox: Sandbox, *programs: str, **options: Any) -> list[Any]:
    """What the model is sent of each program."""
    model = ScriptedModel([*(call("run_python", code=code) for code in programs), "Done."])
    tool = PythonTool(sandbox, **{"python": sys.executable, **options})
    await Runner.run(Agent[Any, str](name="Analyst", model=model, tools=[tool]), "Go.")
    return [item.output for item in model.requests[-1].items if isinstance(item, FunctionCallOutput)]


def saves(name: str, data: bytes) -> str:
    return f"open('output/{name}', 'wb').write({data!r})\n"


async def test_a_program_reads_the_workspace_and_prints(sandbox: Sandbox) -> None:
    program = "import sys\nprint(sum(int(line.split(',')[1]) for line in open('sales.csv')))\nprint('hm', file=sys.stderr)"
    assert await results(sandbox, program, "pass") == ["7\n[stderr]\nhm", "[nothing was printed]"]


async def test_a_program_that_fails_is_told_where_and_how(sandbox: Sandbox) -> None:
    failed, ended = await results(sandbox, "print(1)\nprint(1 / 0)", "raise SystemExit(3)")
    (killed,) = await results(sandbox, "while True: pass", max_seconds=0.5)
    assert failed.startswith("1\n[stderr]\n") and "line 2" in failed and "ZeroDivisionError" in failed
    assert failed.endswith("[exit code 1]") and ended == "[exit code 3]"
    assert killed == "[it took too long, and was ended]"


async def test_what_a_program_writes_to_the_output_folder_is_shown(sandbox: Sandbox) -> None:
    program = "print('drawn')\n" + saves("plot.png", PNG) + saves("table.csv", b"a,b\n") + saves("it.json", b"{}")
    program += saves("paper", b"%PDF-1.7 x") + saves("model.bin", b"\xff\xfe") + "open('aside.txt', 'w').write('x')\n"
    (output,) = await results(sandbox, program)
    text, data, paper, plot, table = output
    assert text.text.split("\n") == [
        "drawn",
        "[wrote output/it.json, 2 bytes]",
        "[wrote output/model.bin, 2 bytes; not shown]",
        "[wrote output/paper, 10 bytes]",
        f"[wrote output/plot.png, {len(PNG)} bytes]",
        "[wrote output/table.csv, 4 bytes]",
    ]
    assert plot.image_url == "data:image/png;base64," + base64.b64encode(PNG).decode()
    assert (table.filename, table.file_data) == ("table.csv", "data:text/csv;base64," + base64.b64encode(b"a,b\n").decode())
    assert (paper.filename, paper.file_data[:20]) == ("paper", "data:application/pdf")
    assert (data.filename, data.file_data[:15]) == ("it.json", "data:text/plain")


async def test_only_what_is_new_or_changed_is_shown(sandbox: Sandbox) -> None:
    first, second, third = await results(
        sandbox, saves("a.txt", b"a"), "print('nothing new')", saves("a.txt", b"bb") + saves("b.txt", b"b"), max_files=1
    )
    assert [part.type for part in first] == ["input_text", "input_file"]
    assert second == "nothing new"
    assert third[0].text == "[wrote output/a.txt, 2 bytes]\n[wrote output/b.txt, 1 bytes; not shown]"
    assert [part.filename for part in third[1:]] == ["a.txt"]


async def test_what_is_too_large_or_leads_out_is_not_shown(sandbox: Sandbox) -> None:
    program = saves("large.txt", b"x" * 101) + "import os\nos.symlink('/etc/passwd', 'output/leak')\nos.mkdir('output/sub')\n"
    (output,) = await results(sandbox, program, max_file_bytes=100)
    assert output == "[wrote output/large.txt, 101 bytes; not shown]"
    moved = "import os\nos.rename('output', 'old')\nos.symlink('/etc', 'output')"
    assert await results(sandbox, moved) == ["[nothing was printed]"]


@pytest.mark.parametrize(
    ("server", "model"),
    [
        (FakeResponsesServer, OpenAIResponsesModel),
        (FakeAnthropicServer, AnthropicModel),
        (FakeGoogleServer, GoogleModel),
        (FakeOpenAIServer, OpenAIChatCompletionsModel),
    ],
)
async def test_every_provider_takes_what_is_shown(sandbox: Sandbox, server: Any, model: Any) -> None:
    program = saves("plot.png", PNG) + saves("table.csv", b"a,b\n") + saves("paper.pdf", b"%PDF-1.7 x")
    async with server([call("run_python", code=program), "Done."]) as fake:
        agent = Agent[Any, str](
            name="Analyst",
            model=model("m", base_url=fake.base_url, api_key="k"),
            tools=[PythonTool(sandbox, python=sys.executable)],
        )
        assert (await Runner.run(agent, "Go.")).final_output == "Done."
        assert base64.b64encode(PNG).decode() in str(fake.requests[-1].json)


@pytest.mark.parametrize("name", SANDBOXES)
async def test_a_prepared_environment_can_be_used_and_not_changed(name: str, tmp_path: Path) -> None:
    if reason := missing(name):
        pytest.skip(reason)
    home = Path(tempfile.mkdtemp(prefix="agentsdk-environment-"))
    try:
        home.chmod(0o755)
        venv.create(home, symlinks=True)
        (site,) = home.glob("lib/python*/site-packages")
        (site / "prepared.py").write_text("word = 'prepared'\n")
        program = (
            f"import prepared\nprint(prepared.word)\ntry: open({str(site / 'more.py')!r}, 'w')\nexcept OSError: print('kept')"
        )
        async with SANDBOXES[name](readable=[home]) as sandbox:
            (output,) = await results(sandbox, program, python=str(home / "bin" / "python"))
        if "exit code 12" in output:  # its base is not below /usr, and not for everybody
            pytest.skip(f"the Python that runs this cannot be reached in {name}: {output}")
        assert output == "prepared\nkept"
    finally:
        shutil.rmtree(home)


async def test_what_it_declares(sandbox: Sandbox) -> None:
    tool = PythonTool(sandbox, needs_approval=True)
    assert (tool.name, tool.kind, tool.effect, tool.needs_approval) == ("run_python", "function", "once", True)


@pytest.mark.parametrize(
    "wrong", [{"sandbox": 3}, {"python": ""}, {"max_seconds": 0}, {"max_files": -1}, {"max_file_bytes": 0}], ids=str
)
async def test_a_wrong_option_is_refused(sandbox: Sandbox, wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=next(iter(wrong))):
        PythonTool(**{"sandbox": sandbox, **wrong})
