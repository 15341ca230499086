"""The commands of the command line, over a real store, in this process."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

import pytest

from agentsdk import Agent, RunConfig, Runner, SQLiteRunStore, function_tool
from agentsdk.cli import main
from agentsdk.cli.doctor import EXTRAS
from agentsdk.testing import ScriptedModel, call
from tests.cli.app import EVIL
from tests.models.vertex.server import service_account

pytest.importorskip("typer", reason="the command line needs typer and rich: pip install 'agentsdk[cli]'")
pytest.importorskip("rich", reason="the command line needs typer and rich: pip install 'agentsdk[cli]'")

CLERK = "tests.cli.app:clerk"
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AGENTSDK_STORE", str(tmp_path / "runs.db"))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("USER", "ann")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])


class Ran:
    """What a command printed, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def ran(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str) -> Ran:
        code = main(arguments)
        captured = capsys.readouterr()
        for text in captured:
            assert "\x1b" not in text and "\u202e" not in text and "\x07" not in text, "what others wrote steers the terminal"
        return Ran(code, captured.out, captured.err)

    return run


def test_a_run_is_run_listed_shown_decided_and_gone_on_with(ran: Any) -> None:
    first = ran("run", CLERK, "please pay", "--run-id", "r-1", "--config", "tests.cli.app:quiet")
    assert first.code == 3 and 'waits: refund {"order":7}' in first.out and "turns" in first.err
    assert "r-1" in ran("runs").out and "waiting" in ran("runs", "--status", "waiting").out
    listed = ran("runs", "--json").json
    assert [run["run_id"] for run in listed["runs"]] == ["r-1"] and listed["after"] is None
    assert listed["runs"][0]["status"] == "waiting" and "owner" not in listed["runs"][0] and "rev" not in listed["runs"][0]
    shown = ran("show", "r-1")
    assert shown.code == 0 and "refund waits for approval" in shown.out and "turn 1  Clerk" in shown.out
    assert ran("show", "r-1", "--json").json["events"][0]["type"] == "RunStarted"
    assert ran("decide", "r-1", "approve", "--json").json["action"] == "approve"
    resumed = ran("resume", CLERK, "r-1")
    assert resumed.code == 0 and "Done: Order 7 is paid back." in resumed.out and "[bold]" in resumed.out
    assert "refund approved by ann" in ran("show", "r-1").out
    assert "\\u202e" in ran("show", "r-1", "--full").out


def test_one_answer_is_printed_and_json_has_all_of_it(ran: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    said = ran("run", CLERK, "hello")
    assert said.code == 0 and said.out.startswith("You said 'hello' after 1 items.") and "\\x1b[31m" in said.out
    told = ran("run", CLERK, "hello", "--json").json
    assert told["status"] == "finished" and told["output"].endswith(EVIL) and told["turns"] == 1 and told["waiting"] == []
    monkeypatch.setattr(sys, "stdin", io.StringIO("from a pipe"))
    assert "You said 'from a pipe'" in ran("run", CLERK, "-").out


def test_two_runs_are_compared_one_is_forked_and_replayed(ran: Any) -> None:
    for run_id, text in (("a", "hello"), ("b", "good bye")):
        ran("run", CLERK, text, "--run-id", run_id)
    assert ran("diff", "a", "a").code == 0
    differ = ran("diff", "a", "b")
    assert differ.code == 4 and "part in turn" in differ.out
    assert ran("diff", "a", "b", "--json").json["same"] is False
    assert ran("fork", "a", "--at", "2", "--new", "c").out == "c\n"
    assert ran("fork", "a", "--json").json["forked_from"] == "a"
    same = ran("replay", CLERK, "a")
    assert same.code == 0 and "came out as recorded" in same.out
    other = ran("replay", CLERK, "a", "--instructions", "Be brief.", "--keep", "d", "--json")
    assert other.json["asked"] == 1 and other.json["new_run_id"] == "d" and other.code in (0, 4)
    assert ran("show", "d").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["nonsense"], 2, "No such command"),
        (["run"], 2, "Missing argument"),
        (["run", CLERK, "x", "--nonsense"], 2, "No such option"),
        (["run", CLERK, " "], 2, "the input is empty"),
        (["run", "tests.cli.app:nothing", "x"], 2, "'int', expected an Agent"),
        (["run", "tests.cli.app:nobody", "x"], 2, "has no 'nobody'"),
        (["run", "tests.cli.app:clark", "x"], 2, "is 'clerk' meant?"),
        (["run", "tests.cli.app:agent", "x"], 2, "; define it there"),
        (["run", "nowhere.at.all:x", "x"], 2, "there is no module"),
        (["run", "shop.py:clerk", "x"], 2, "write shop:..."),
        (["run", "tests.cli.crashing:x", "x"], 2, "ZeroDivisionError: no luck"),
        (["run", CLERK, "x", "--config", CLERK], 2, "expected a RunConfig"),
        (["run", CLERK, "x", "--store", "mysql://x"], 2, "mysql"),
        (["run", "tests.cli.app:broken", "x"], 1, "ModelBehaviorError: the model is out of its mind"),
        (["show", "hallo"], 2, "is it 'hello'?"),
        (["show", "zzz"], 2, "agentsdk runs lists them"),
        (["decide", "hello", "perhaps"], 2, "expected one of approve"),
        (["decide", "hello", "approve"], 2, "0 calls that wait"),
        (["decide", "hello", "approve", "--arguments", "5"], 2, "expected a JSON object"),
        (["runs", "--status", "odd"], 2, "expected one of"),
        (["runs", "--meta", "odd"], 2, "NAME=VALUE"),
        (["runs", "--limit", "0"], 2, "at least 1"),
        (["resume", CLERK, "nobody"], 2, "no run 'nobody'"),
        (["diff", "hello", "nobody"], 2, "no run 'nobody'"),
        (["models", "no-such-model-at-all"], 2, "no model"),
        (["worker", CLERK, "--nonsense"], 2, ""),
    ],
)
def test_what_is_given_wrong_is_told_with_a_code_and_no_traceback(
    ran: Any, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, says: str
) -> None:
    ran("run", CLERK, "hello", "--run-id", "hello")
    try:
        done = ran(*arguments)
    except SystemExit as exit:  # of argparse
        assert exit.code == code
        return
    assert done.code == code, done.out + done.err
    assert says in done.err and "Traceback" not in done.err


def test_a_store_that_is_not_there_is_not_made_and_a_damaged_one_is_told(ran: Any, tmp_path: Path) -> None:
    missing = ran("runs", "--store", str(tmp_path / "none.db"))
    assert missing.code == 2 and "there is no store at" in missing.err and not (tmp_path / "none.db").exists()
    (tmp_path / "bad.db").write_bytes(b"this is no database" * 100)
    assert ran("runs", "--store", str(tmp_path / "bad.db")).code == 1
    ran("run", CLERK, "hello", "--run-id", "r")
    with closing(sqlite3.connect(tmp_path / "runs.db")) as database, database:
        database.execute("UPDATE agentsdk_run_events SET data = ? WHERE number = 1", (b'["nonsense"]',))
    assert ran("show", "r").code == 1
    assert ran("runs").code == 0


@pytest.mark.parametrize("command", [["resume", CLERK, "r"], ["replay", CLERK, "r"], ["show", "r"], ["decide", "r", "approve"]])
def test_no_command_on_a_run_makes_a_store(ran: Any, tmp_path: Path, command: list[str]) -> None:
    told = ran(*command, "--store", str(tmp_path / "none.db"))
    assert told.code == 2 and "there is no store at" in told.err and not (tmp_path / "none.db").exists()


def test_a_run_of_a_newer_version_is_told(ran: Any, tmp_path: Path) -> None:
    ran("run", CLERK, "hello", "--run-id", "r")
    with closing(sqlite3.connect(tmp_path / "runs.db")) as database, database:
        (first,) = database.execute("SELECT data FROM agentsdk_run_events WHERE number = 1").fetchone()
        text = first if isinstance(first, str) else first.decode()
        newer = re.sub(r"^\[\d+,", "[999,", text)  # an event begins with its version
        assert newer != text
        database.execute("UPDATE agentsdk_run_events SET data = ? WHERE number = 1", (newer.encode(),))
    told = ran("show", "r")
    assert told.code == 1 and "999" in told.err and "Traceback" not in told.err


def test_a_run_that_another_process_holds_is_shown_and_not_gone_on_with(ran: Any, tmp_path: Path) -> None:
    async def hold() -> tuple[Ran, Ran]:
        store = SQLiteRunStore(str(tmp_path / "runs.db"))
        config = RunConfig(store=store, run_id="held", tracing_disabled=True)
        began = asyncio.Event()

        @function_tool
        async def wait() -> str:
            """Wait."""
            began.set()
            await asyncio.Event().wait()
            return ""

        agent = Agent[None, str](name="Clerk", tools=[wait], model=ScriptedModel([call("wait")]))
        task = asyncio.ensure_future(Runner.run(agent, "go", run_config=config))
        await began.wait()
        shown = await asyncio.to_thread(ran, "show", "held")
        resumed = await asyncio.to_thread(ran, "resume", CLERK, "held")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await store.aclose()
        return shown, resumed

    shown, resumed = asyncio.run(hold())
    assert shown.code == 0 and "held  running" in shown.out and "wait {}" in shown.out
    assert resumed.code == 2 and "'held'" in resumed.err


def test_what_the_encoding_of_the_terminal_lacks_is_no_traceback(ran: Any, tmp_path: Path) -> None:
    ran("run", CLERK, "hello", "--run-id", "r", "--config", "tests.cli.app:quiet")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii:strict", "PYTHONPATH": str(ROOT)}
    for arguments in (["show", "r"], ["run", CLERK, "caf\u00e9 \U0001f600 \u4e2d"]):
        done = subprocess.run(
            [sys.executable, "-m", "agentsdk", *arguments], capture_output=True, cwd=ROOT, env=environment, check=False
        )
        assert done.returncode == 0 and b"Traceback" not in done.stderr and done.stdout.isascii(), done.stderr


def test_the_doctor_says_what_is_here_and_names_no_key(ran: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AGENTSDK_MODEL", "OPENAI_BASE_URL", "OPENAI_DEFAULT_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-of-somebody")
    ran("run", CLERK, "hello")
    told = ran("doctor", "--store", str(tmp_path / "runs.db"))
    assert told.code == 0 and "sk-a-key" not in told.out
    assert "ok     default model: openai:gpt-4.1 answers where no model is named" in told.out
    assert "OPENAI_API_KEY is set" in told.out and "SQLiteRunStore answers, and has runs" in told.out
    findings = ran("doctor", "--json", "--store", str(tmp_path / "none.db"))
    assert findings.code == 1
    assert {"about", "verdict", "says"} == set(findings.json["findings"][0])
    assert "sk-a-key" not in findings.out


def test_the_doctor_reads_either_key_of_google_and_says_what_else_will_do(ran: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "AZURE_OPENAI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOOGLE_API_KEY", "secret")
    told = ran("doctor").out
    assert "ok     provider google: GOOGLE_API_KEY is set" in told
    assert "AZURE_OPENAI_API_KEY is not set; tokens of Entra ID do as well" in told
    assert "AWS_BEARER_TOKEN_BEDROCK is not set; the AWS credentials of this machine do as well" in told


def test_the_doctor_looks_at_an_agent_its_tools_and_those_that_it_leads_to(ran: Any) -> None:
    told = ran("doctor", "--agent", "tests.cli.app:counting")
    lines = told.out.splitlines()
    assert told.code == 1
    assert "ok     agent Counter: tools: add, ask_clerk; handoffs: transfer_to_clerk" in lines
    assert lines.count("ok     agent Clerk: tools: refund, hang; handoffs: none") == 1
    (undescribed,) = [line for line in lines if line.startswith("-      tool ")]
    assert undescribed.startswith("-      tool add of Counter: no description: the model is told its name and arguments alone;")
    assert any(line.startswith("FAILS  model of Counter: model 'antropic:claude' begins with an unknown") for line in lines)
    assert ran("doctor", "--agent", CLERK).code == 0
    twice = ran("doctor", "--agent", "tests.cli.app:twice")
    assert twice.code == 1 and "FAILS  agent Twice: " in twice.out and "'refund'" in twice.out
    assert ran("doctor", "--agent", "tests.cli.app:nothing").code == 2


def test_the_doctor_knows_every_extra() -> None:
    declared = set(metadata("agentsdk").get_all("Provides-Extra") or ())
    assert set(EXTRAS) == declared


def test_the_doctor_asks_the_providers_whose_key_is_set(ran: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("authorization") or self.headers.get("x-api-key") or ""
            self.send_response(200 if "good" in asked else 401)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_BASE_URL"))]:
        monkeypatch.delenv(name)
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("OPENAI_API_KEY", "sk-good")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-revoked")
        monkeypatch.setenv("GROQ_API_KEY", "sk-good")
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("GROQ_BASE_URL", "http://127.0.0.1:9/v1")
        monkeypatch.setenv("OLLAMA_BASE_URL", "http://127.0.0.1:9/v1")
        told = ran("doctor", "--reach", "--json")
        server.shutdown()
    found = {one["about"]: (one["verdict"], one["says"]) for one in told.json["findings"] if one["about"].startswith("reach")}
    assert told.code == 1
    assert found["reach openai"] == ("ok", "127.0.0.1 answers and takes the key")
    assert found["reach anthropic"] == ("fails", "127.0.0.1 refuses the key (401)")
    assert found["reach groq"] == ("fails", "127.0.0.1 does not answer (ConnectError)")
    assert found["reach ollama"] == ("missing", "127.0.0.1 does not answer (ConnectError)")


@pytest.mark.parametrize("refused", [False, True])
def test_the_doctor_asks_the_clouds_that_are_meant(
    ran: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, refused: bool
) -> None:
    asked: list[tuple[str, str]] = []

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, self.headers.get("authorization", "")[:16]))
            self.send_response(403 if refused else 200)
            self.end_headers()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"access_token": "t-1", "expires_in": 3600}')

        def log_message(self, format: str, *args: object) -> None:
            pass

    for name in [
        name for name in os.environ if name.endswith(("_API_KEY", "_BASE_URL")) or name.startswith(("AWS_", "GOOGLE_"))
    ]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        for name, value in {
            "AWS_REGION": "eu-west-1",
            "AWS_ENDPOINT_URL_BEDROCK": address,
            "GOOGLE_CLOUD_PROJECT": "my-project",
            "GOOGLE_VERTEX_BASE_URL": address,
        }.items():
            monkeypatch.setenv(name, value)
        without = reaches(ran)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(service_account(tmp_path, f"{address}/token")))
        told = reaches(ran)
        server.shutdown()
    assert "aws configure" in without["bedrock"][1] and "gcloud auth application-default login" in without["vertex"][1]
    assert {verdict for verdict, _ in without.values()} == {"missing"}
    assert told["bedrock"][0] == told["vertex"][0] == ("fails" if refused else "ok")
    assert ("refuses the key (403)" if refused else "answers and takes the key") in told["vertex"][1]
    assert sorted(asked) == [
        ("/foundation-models", "AWS4-HMAC-SHA256"),
        ("/v1beta1/publishers/google/models?pageSize=1", "Bearer t-1"),
    ]


def reaches(ran: Any) -> dict[str, tuple[str, str]]:
    """What `doctor --reach` says of clouds."""
    found = ran("doctor", "--reach", "--json").json["findings"]
    named = {one["about"].removeprefix("reach "): (one["verdict"], one["says"]) for one in found if "reach " in one["about"]}
    return {name: told for name, told in named.items() if name in ("azure", "bedrock", "vertex")}


def test_the_doctor_says_what_becomes_of_a_program_of_openai_agents(ran: Any, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("from agents import Agent, OpenAIProvider\nfrom agents.voice import VoicePipeline\n")
    told = ran("doctor", "--from-openai-agents", str(tmp_path))
    assert told.code == 1 and "2 of 3 imported names are here" in told.out
    assert "shop.py:2: agents.voice.VoicePipeline: speech to text" in told.out
    assert "mapped: agents.OpenAIProvider: asked by agentsdk's adapter" in told.out
    names = ran("doctor", "--from-openai-agents", str(tmp_path), "--json").json["names"]
    assert [one["here"] for one in names] == [True, True, False]
    (tmp_path / "shop.py").write_text("from agents import Agent\n")
    assert ran("doctor", "--from-openai-agents", str(tmp_path)).code == 0
    gone = ran("doctor", "--from-openai-agents", str(tmp_path / "none"))
    assert gone.code == 2 and "there is no file or folder" in gone.err


def test_models_are_listed_with_windows_and_prices(ran: Any) -> None:
    pytest.importorskip("genai_prices")
    assert (
        "openai:NAME" in ran("models").out
        and {"provider": "local", "key": None, "is_set": True} in ran("models", "--json").json["providers"]
    )
    found = ran("models", "gpt-5-mini", "--json").json["models"]
    assert any(one["model"] == "openai:gpt-5-mini" and one["window"] > 100_000 and "$" in one["price"] for one in found)


def test_the_help_of_each_command_says_what_it_does(ran: Any) -> None:
    told = ran("--help").out
    for name in (
        "init",
        "chat",
        "run",
        "runs",
        "show",
        "decide",
        "resume",
        "replay",
        "diff",
        "fork",
        "worker",
        "ui",
        "mcp",
        "models",
        "doctor",
    ):
        assert f"\n  {name} " in told
        try:
            assert f"agentsdk {name}" in ran(name, "--help").out
        except SystemExit as exit:  # of argparse
            assert exit.code == 0


def test_it_is_narrow_or_without_colour_where_the_terminal_is(ran: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ran("run", CLERK, "please pay", "--run-id", "a-run-with-a-long-name")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    for arguments in (("runs",), ("show", "a-run-with-a-long-name")):
        told = ran(*arguments)
        assert told.code == 0 and max(map(len, told.out.splitlines())) <= 40


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path, ran: Any) -> None:
    for number in range(40):
        ran("run", CLERK, "hello", "--run-id", f"r-{number}")
    command = f"{sys.executable} -m agentsdk runs --store {tmp_path / 'runs.db'} --limit 100 | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stderr == "" and done.stdout.startswith("run")


def test_a_deployment_needs_no_extra(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "sys.modules['typer'] = sys.modules['rich'] = None\n"
        "import importlib.util as u\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name in ('typer', 'rich') else find(name, *more)\n"
        "from agentsdk.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program, *arguments], capture_output=True, text=True, cwd=ROOT, check=False
        )

    assert "pip install 'agentsdk[cli]'" in run("--help").stdout
    assert run("runs").returncode == 2
    worker = run("worker", CLERK)
    assert worker.returncode == 2 and "no --store was given" in worker.stderr
