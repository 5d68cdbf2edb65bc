"""A command loads what it works with, and nothing else: time to start, and memory of a server."""

import json
import subprocess
import sys

import pytest
from tests.support import servers

NOT_FOR_HELP = {"alembic", "asyncio", "cryptography", "litestar", "psycopg", "sqlalchemy", "structlog"}
NOT_FOR_DOCTOR = {
    "alembic",
    "joserfc",
    "litestar",
    "mako",
    "pmtiles",
    "prometheus_client",
    "sqlalchemy.dialects.postgresql",
    "structlog",
    "tripline.adapters.mail.folder",
    "tripline.adapters.webhooks.sender",
    "tripline.services.scores",
    "uvicorn",
}
NOT_FOR_SERVE = {
    "aiomqtt",
    "aiosmtplib",
    "alembic",
    "confluent_kafka",
    "httpx",
    "mako",
    "numpy",
    "paho",
    "psycopg",
}
"""On SQLite, with no bus, no mail server, no carrier and nothing to score."""


@pytest.mark.sqlite("on PostgreSQL a server loads its driver, too")
def test_each_command_loads_only_what_it_works_with(tmp_path):
    assert servers.run("migrate", "--data", str(tmp_path / "data")).returncode == 0

    ended = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(tmp_path / "data")],
        env=servers.environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert ended.returncode == 0, ended.stderr
    loaded = {step: set(modules) for step, modules in json.loads(ended.stdout.splitlines()[-1]).items()}
    assert {each for each in loaded["help"] if each.startswith("tripline.cli.")} == {
        "tripline.cli.base",
        "tripline.cli.serve",
    }
    for step in ("help", "helps", "config"):
        assert not loaded[step] & (NOT_FOR_HELP | NOT_FOR_DOCTOR | NOT_FOR_SERVE), step
    for step in ("migrate", "push", "doctor"):
        assert not loaded[step] & (NOT_FOR_DOCTOR | NOT_FOR_SERVE), step
    assert not loaded["serve"] & NOT_FOR_SERVE
    assert {"sqlalchemy"} <= loaded["doctor"] and {"litestar", "uvicorn"} <= loaded["serve"]


@pytest.mark.once("what a process loads")
def test_log_lines_load_nothing_that_paints_tracebacks_which_others_still_find():
    ended = subprocess.run([sys.executable, "-c", _FIRST_LINE], capture_output=True, text=True, timeout=60)

    assert (ended.returncode, ended.stderr) == (0, "")


_FIRST_LINE = """
import sys
from tripline import observe

observe.logger("app").info("serve.ready")
assert "structlog" in sys.modules and "rich" not in sys.modules
import rich.console
"""
_SCRIPT = """
import io, json, os, signal, sys
from tripline import cli

data, printed, loaded = sys.argv[1], sys.stdout, {}


class Watching(io.StringIO):
    def write(self, text):
        if text.startswith("ready "):
            loaded["serve"] = sorted(sys.modules)
            os.kill(os.getpid(), signal.SIGTERM)
        return super().write(text)


sys.stdout = Watching()
assert cli.run(["serve", "--help"]) == cli.OK
loaded["help"] = sorted(sys.modules)
assert cli.run(["--help"]) == cli.OK
loaded["helps"] = sorted(sys.modules)
assert cli.run(["config"]) == cli.OK
loaded["config"] = sorted(sys.modules)
for words in (["migrate"], ["push", "list"], ["doctor"]):
    cli.run([*words, "--data", data])
    loaded[words[0]] = sorted(sys.modules)
ports = [f"--{listener}-port=0" for listener in ("api", "analytics", "device")]
assert cli.run(["serve", "--data", data, *ports]) == cli.OK
print(json.dumps(loaded), file=printed)
"""
