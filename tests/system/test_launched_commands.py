"""The command `tripline` of scripts that tests run: its process is forked, and is like any other to who started it."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.support import launcher, servers

pytestmark = [pytest.mark.deep, pytest.mark.once("is about processes")]
PATIENCE_S = 30


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "bin").mkdir()
    forking = launcher.program(tmp_path / "bin")
    given = servers.environment(forking)
    return {**given, "PATH": f"{tmp_path / 'bin'}:{Path(servers.command()[0]).parent}:{given['PATH']}"}


def serving(environment: dict[str, str], data: Path) -> tuple["subprocess.Popen[str]", int]:
    """A server that is ready, and the process that it is."""
    ports = ["--api-port=0", "--analytics-port=0", "--device-port=0"]
    command = ["tripline", "serve", "--data", str(data), *ports]
    before = _forked()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("ready ")
    (forked,) = _forked() - before
    return process, forked


def _forked() -> set[int]:
    pid = launcher.pid()
    return {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


def test_command_reads_prints_and_ends_as_its_process_does(environment, tmp_path):
    create = "tripline admin create --email a@x.example --password-stdin --data data"

    done = subprocess.run(
        ["sh", "-c", f"tripline migrate --data data >told && {create} && exec tripline nonsense"],
        input="pass phrase",
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )

    assert (done.returncode, "nonsense" in done.stderr) == (2, True), done.stdout + done.stderr
    assert "a@x.example" in done.stdout
    assert (tmp_path / "told").read_text()
    assert (tmp_path / "data" / "tripline.db").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)])
def test_signal_reaches_the_process(environment, tmp_path, number, code):
    process, forked = serving(environment, tmp_path / "data")

    with process:
        process.send_signal(number)
        ended = process.wait(PATIENCE_S)
    until = time.monotonic() + PATIENCE_S
    while _is_there(forked) and time.monotonic() < until:
        time.sleep(0.02)

    assert ended == code
    assert not _is_there(forked)


def _is_there(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False
