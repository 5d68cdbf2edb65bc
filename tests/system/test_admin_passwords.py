"""Passwords that `tripline admin` takes, beside a running server."""

import subprocess

import httpx
import pytest
from tests.support import servers


def _grant(data, password: bytes | None, email: str = "kim@x.example") -> subprocess.CompletedProcess[str]:
    """Run the command with these bytes on its standard input; None: with that closed."""
    arguments = ("admin", "grant", "--data", str(data), "--email", email, "--password-stdin")
    if password is not None:
        return servers.run(*arguments, stdin=password)
    command = ["sh", "-c", 'exec "$@" <&-', "sh", *servers.command(*arguments)]
    return subprocess.run(command, env=servers.environment(data=data), capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    "password",
    [None, b"", b"\n", b"   \n", b"\xff\xfe\n", b"a\0b\n", b"x" * 256 + b"\n"],
    ids=["closed", "empty", "line end", "blanks", "no UTF-8", "NUL", "256 characters"],
)
def test_unusable_password_is_refused_in_one_line(tmp_path, password):
    done = _grant(tmp_path / "data", password)

    assert done.returncode in (1, 2)
    assert done.stdout == ""
    assert (done.stderr.count("\n"), done.stderr[:10]) == (1, "tripline: ")


def test_account_made_beside_a_running_server_logs_in_at_both_listeners(tmp_path):
    with servers.serving(tmp_path / "data") as server:
        made = _grant(server.data, "열쇠 pass\r\nsecond line\n".encode())
        again = _grant(server.data, b"other\n", email="KIM@x.example")
        credentials = {"username": "Kim@X.example", "password": "열쇠 pass"}
        listeners = [
            httpx.post(f"{listener}/api/auth/login", json=credentials) for listener in (server.api, server.analytics)
        ]

    assert (made.returncode, again.returncode) == (0, 1)
    assert (
        again.stderr
        == "tripline: Parameter 'email': an account with the e-mail address KIM@x.example already exists.\n"
    )
    assert [answer.json().keys() for answer in listeners] == [{"token", "refreshToken"}] * 2
