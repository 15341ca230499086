"""`DockerSandbox`: on a real daemon where there is one; everywhere, how it calls `docker`, and what it makes of the answer."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentsdk.ports.sandbox import MIB
from agentsdk.sandboxes import DockerSandbox, SandboxLimits
from agentsdk.testing.sandbox_conformance import check_sandbox
from agentsdk.testing.sandbox_conformance.check import left_running
from agentsdk.types.errors import SandboxError, SandboxUnavailableError, UserError
from tests.sandboxes.sandboxes import DOCKER_IMAGE, missing

pytestmark = pytest.mark.anyio


async def test_it_keeps_every_rule_on_a_real_daemon() -> None:
    if reason := missing("docker"):
        pytest.skip(reason)
    await check_sandbox(lambda: DockerSandbox(image=DOCKER_IMAGE))


class FakeDocker:
    """The program `docker` of `fake_docker.py`, first on the path."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def calls(self, name: str) -> list[list[str]]:
        lines = (self.home / "calls").read_text().splitlines()
        return [call for line in lines if (call := json.loads(line))[0] == name]

    def refuse(self, error: str) -> None:
        (self.home / "refuses").write_text(error)


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    home, folder = tmp_path / "home", tmp_path / "bin"
    home.mkdir()
    folder.mkdir()
    program = folder / "docker"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {Path(__file__).with_name("fake_docker.py")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_DOCKER", str(home))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return FakeDocker(home)


class Shown(DockerSandbox):
    """One that nothing has to be proven of: the fake isolates nothing."""

    async def prove(self) -> None:
        pass


async def test_a_command_is_a_container_with_walls_and_limits(docker: FakeDocker, tmp_path: Path) -> None:
    workspace, data = tmp_path / 'a "b", c', tmp_path / "data"
    workspace.mkdir()
    data.mkdir()
    limits = SandboxLimits(memory=64 * MIB, processes=9, file_size=MIB)
    async with Shown(workspace, image="python:3.12-slim", readable=[data], limits=limits) as sandbox:
        await sandbox.files.write("inner/file", b"")
        done = await sandbox.run(["cat", "-"], stdin="given", cwd="inner")
        assert (done.exit_code, done.stdout, done.stderr) == (0, "given", "")
    ((_, name, id_file, *options),) = docker.calls("run")
    place = options.index("python:3.12-slim")
    variables = Path(id_file.partition("=")[2]).parent / "variables"
    assert name.startswith("--name=agentsdk-") and id_file.startswith("--cidfile=")
    quoted = str(workspace).replace('"', '""')
    assert set(options[:place]) == {
        *("--rm", "--interactive", "--init", "--pull=never", "--network=none", "--read-only", "--cap-drop=ALL"),
        *("--security-opt=no-new-privileges", "--ipc=private", "--hostname=sandbox", "--log-driver=none"),
        *("--label=agentsdk.sandbox", f"--user={os.geteuid()}:{os.getegid()}", f"--workdir={workspace}/inner"),
        *(f"--memory={64 * MIB}b", f"--memory-swap={64 * MIB}b", f"--shm-size={64 * MIB}b", "--pids-limit=10"),
        *(f"--tmpfs=/tmp:exec,mode=1777,size={64 * MIB}", f"--ulimit=fsize={MIB}", "--ulimit=core=0", "--ulimit=nofile=4096"),
        f'--mount=type=bind,"src={quoted}","dst={quoted}"',
        f'--mount=type=bind,"src={data}","dst={data}",readonly',
        f'--mount=type=bind,"src={variables}","dst=/run/agentsdk-variables",readonly',
    }
    assert options[place + 1 :] == ["sh", "-c", '. /run/agentsdk-variables; exec "$@"', "sh", "cat", "-"]
    assert not variables.parent.exists()


async def test_variables_are_in_no_list_of_processes_and_are_not_dockers(docker: FakeDocker) -> None:
    given = {"NAME": "it's a\nvalue", "EMPTY": "", "DOCKER_HOST": "tcp://elsewhere"}
    async with Shown(image="any") as sandbox:
        done = await sandbox.run(["env", "-0"], env=given)
        seen = dict(entry.partition("=")[::2] for entry in done.stdout.rstrip("\0").split("\0"))
        assert {name: seen[name] for name in given} == given and seen["HOME"] == sandbox.workdir
        assert "FAKE_DOCKER" not in seen
        with pytest.raises(UserError, match="env has a variable 'a-b', expected letters, digits"):
            await sandbox.run(["true"], env={"a-b": ""})
    assert "value" not in str(docker.calls("run")) and "elsewhere" not in str(docker.calls("run"))


async def test_exit_codes_are_the_commands(docker: FakeDocker) -> None:
    async with Shown(image="any") as sandbox:
        for script, code in (("exit 3", 3), ("exit 125", 125), ("kill -9 $$", 137)):
            assert (await sandbox.run(["sh", "-c", script])).exit_code == code
        assert (await sandbox.run(["no-such-program"])).exit_code == 127
        assert docker.calls("rm") == []


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - what another process does
            await asyncio.sleep(0.01)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
async def test_a_container_is_removed_where_its_command_is_ended(docker: FakeDocker) -> None:
    """It goes on where `docker run` is killed."""
    nonce = f"nonce-{os.urandom(8).hex()}"
    async with Shown(image="any") as sandbox:
        running = asyncio.create_task(sandbox.run(["sh", "-c", "touch ready; sleep 600", nonce]))
        await until(Path(sandbox.workdir, "ready").exists)
        running.cancel()
        await asyncio.wait((running,))
        assert left_running(nonce) == []
    ((_, name, *_),) = docker.calls("run")
    assert docker.calls("rm") == [["rm", "--force", "--volumes", name.partition("=")[2]]]


async def test_a_container_that_is_on_its_way_is_waited_for(docker: FakeDocker) -> None:
    async with Shown(image="any") as sandbox:
        running = asyncio.create_task(sandbox.run(["sh", "-c", "touch ready; sleep 600"]))
        await until(Path(sandbox.workdir, "ready").exists)
        (docker.home / "busy").write_text("Error response from daemon: removal of container agentsdk is already in progress")
        running.cancel()
        await asyncio.wait((running,))
    assert len(docker.calls("rm")) == 2


async def test_a_shell_lives_in_one_container(docker: FakeDocker) -> None:
    async with Shown(image="any") as sandbox:
        shell = sandbox.shell()
        await shell.run("mkdir inner; cd inner; X=1")
        assert (await shell.run("pwd; echo $X")).stdout == f"{sandbox.workdir}/inner\n1\n"
        await shell.aclose()
        assert len(docker.calls("run")) == len(docker.calls("rm")) == 1


async def test_what_docker_says_is_told(docker: FakeDocker, monkeypatch: pytest.MonkeyPatch) -> None:
    docker.refuse("docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock.")
    async with DockerSandbox(image="python:3.12-slim") as sandbox:
        with pytest.raises(SandboxUnavailableError) as refused:
            await sandbox.run(["true"])
    for words in ("Cannot connect to the Docker daemon", "start its daemon", "docker pull python:3.12-slim"):
        assert words in str(refused.value)
    monkeypatch.setenv("PATH", "/nowhere")
    async with DockerSandbox(image="any") as sandbox:
        with pytest.raises(SandboxUnavailableError, match="there is no docker on the path"):
            await sandbox.run(["true"])


async def test_a_daemon_that_isolates_nothing_is_found_out(docker: FakeDocker) -> None:
    async with DockerSandbox(image="any") as sandbox:
        with pytest.raises(SandboxUnavailableError, match="a file outside could be read"):
            await sandbox.run(["true"])


async def test_a_container_that_cannot_be_removed_is_told(docker: FakeDocker) -> None:
    async with Shown(image="any") as sandbox:
        (docker.home / "busy").write_text("Error response from daemon: device or resource busy")
        with pytest.raises(
            SandboxError, match=r"the container 'agentsdk-\w+' could not be removed \(.*resource busy\); docker rm"
        ):
            await sandbox.run(["sleep", "600"], timeout=1)
    for container in docker.home.glob("agentsdk-*"):
        os.kill(int(container.read_text()), signal.SIGKILL)


async def test_variables_are_readable_for_the_commands_user_only(docker: FakeDocker, tmp_path: Path) -> None:
    async with Shown(image="any") as sandbox:
        running = asyncio.create_task(sandbox.run(["sh", "-c", "touch ready; sleep 600"], env={"KEY": "k"}))
        await until(Path(sandbox.workdir, "ready").exists)
        (variables,) = tmp_path.glob("agentsdk-docker-*/variables")
        assert stat.S_IMODE(variables.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(variables.stat().st_mode) == 0o644
        running.cancel()
        await asyncio.wait((running,))
        assert list(tmp_path.glob("agentsdk-docker-*")) == []


@pytest.mark.parametrize("image", ["--privileged", "", "a b", "-v/:/host", 3])
def test_what_is_no_image_is_refused(image: Any) -> None:
    with pytest.raises(UserError, match="expected the name of an image"):
        DockerSandbox(image=image)
