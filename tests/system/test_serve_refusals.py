"""Refused starts of `tripline serve`: one clear line, exit 1 (2 for wrong settings), no traceback."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support import required, servers


def complaint(ended: subprocess.CompletedProcess[str]) -> str:
    """The only line on stderr, behind what the log says of the process and its machine."""
    *before, line = ended.stderr.splitlines()
    ordinary = ("tls.own_certificate", "node.entered", "serve.few_files")
    assert [each for each in before if not any(event in each for event in ordinary)] == []
    return line


def refused(data: Path, *flags: str) -> tuple[int, str]:
    ports = [
        f"--{listener}-port=0"
        for listener in ("api", "analytics", "device")
        if not any(flag.startswith(f"--{listener}-port=") for flag in flags)
    ]
    ended = servers.run("serve", "--data", str(data), *ports, *flags)
    assert ended.stdout == ""
    return ended.returncode, complaint(ended)


@pytest.mark.parametrize(
    "listener",
    ["api", *(pytest.param(each, marks=pytest.mark.deep) for each in ("analytics", "device", "device-plain"))],
)
def test_serve_with_a_port_in_use_names_the_port(tmp_path, listener):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, line = refused(tmp_path / "data", f"--{listener}-port={port}")

    assert code == 1
    assert line.startswith(f"tripline: Port {port} on 127.0.0.1 is in use; the ")


def test_serve_with_a_file_for_a_data_folder_refuses(tmp_path):
    (tmp_path / "data").write_text("")

    assert refused(tmp_path / "data") == (1, f"tripline: The data folder {tmp_path}/data is a file.")


def test_serve_with_an_unwritable_data_folder_refuses(tmp_path):
    (tmp_path / "data").mkdir(mode=0o500)
    # Root may write anywhere, unless it gives that up.
    bound = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    required.need(bound[0] if bound else True, "refusing a data folder that only root may write to")

    ended = subprocess.run(
        [*bound, *servers.command("serve", "--data", str(tmp_path / "data"), "--api-port=0")],
        env=servers.environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr == f"tripline: The data folder {tmp_path}/data cannot be written to: Permission denied.\n"


def test_serve_with_a_data_folder_that_takes_no_files_refuses():
    # Not even root makes files in /proc.
    code, line = refused(Path("/proc/self"))

    assert code == 1
    assert line.startswith("tripline: The data folder /proc/self cannot be written to: ")


@pytest.mark.sqlite("files of SQLite")
def test_serve_with_a_damaged_database_refuses(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "tripline.db").write_bytes(b"no database at all" * 500)

    assert refused(tmp_path / "data") == (
        1,
        f"tripline: The database {tmp_path}/data/tripline.db is damaged: file is not a database. "
        "Restore it from a backup.",
    )


def test_serve_on_the_data_of_a_running_server_refuses_and_starts_there_after_a_kill(tmp_path):
    with servers.serving(tmp_path / "data") as server:
        assert refused(tmp_path / "data") == (
            1,
            f"tripline: The data folder {tmp_path}/data is in use by another server (process {server.process.pid}).",
        )
        server.kill()

    with servers.serving(tmp_path / "data") as server:
        assert server.stop() == 0


def test_serve_with_a_bad_certificate_refuses(tmp_path):
    (tmp_path / "cert.pem").write_text("no certificate")
    (tmp_path / "key.pem").write_text("no key")
    ended = servers.run(
        "serve",
        "--data",
        str(tmp_path / "data"),
        "--api-port=0",
        "--analytics-port=0",
        "--device-port=0",
        variables={"TRIPLINE_TLS_CERT": f"{tmp_path}/cert.pem", "TRIPLINE_TLS_KEY": f"{tmp_path}/key.pem"},
    )

    assert ended.returncode == 1
    assert complaint(ended).startswith(f"tripline: The certificate {tmp_path}/cert.pem cannot be used with its key: ")


def test_serve_with_plain_http_for_everyone_refuses(tmp_path):
    ended = servers.run_here("serve", "--data", str(tmp_path / "data"), "--host=0.0.0.0", "--http")

    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
    assert "--behind-proxy" in ended.stderr


def test_serve_with_an_unknown_key_in_its_file_refuses(tmp_path):
    (tmp_path / "tripline.toml").write_text("api_prot = 0\n")

    ended = servers.run_here("serve", "--data", str(tmp_path / "data"), "--config=tripline.toml", cwd=tmp_path)

    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr == "tripline: tripline.toml: unknown setting `api_prot`; the nearest known is api_port.\n"


def test_serve_with_a_host_of_another_machine_refuses(tmp_path):
    code, line = refused(tmp_path / "data", "--host=192.0.2.1")

    assert (code, line.startswith("tripline: The device listener cannot open on 192.0.2.1:0: ")) == (1, True)


def test_command_whose_reader_went_away_ends_without_traceback():
    process = subprocess.Popen(
        [sys.executable, "-m", "tripline", "config"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=servers.environment(),
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    errors = process.stderr.read()
    process.stderr.close()
    process.wait(20)

    assert "Traceback" not in errors
