"""Commands: help, exit codes, and the one line that says what was wrong."""

import subprocess
import sys

import pytest

from tripline import cli
from tripline.config import files as config_files


def commands() -> list[tuple[str, ...]]:
    """Every command as the words one types."""
    found: list[tuple[str, ...]] = []
    waiting = [((), cli.commands)]
    while waiting:
        words, app = waiting.pop()
        found.append(words)
        names = [name for name in app if not name.startswith("-")]
        waiting += [((*words, name), app[name]) for name in names]
    return sorted(found)


def ran(capsys, *arguments: str) -> tuple[int, str, str]:
    code = cli.run(arguments)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_has_help_with_an_example(capsys, words):
    code, out, err = ran(capsys, *words, "--help")

    assert (code, err) == (cli.OK, "")
    usage, _, example = " ".join(out.split()).partition("Example: ")
    assert usage.startswith("Usage: ")
    assert f"tripline {' '.join(words)}".rstrip() in example


def test_fixed_commands_exist():
    assert {("serve",), ("admin", "create"), ("admin", "grant"), ("migrate",), ("config",), ("doctor",)} <= set(
        commands()
    )


def test_version_is_printed(capsys):
    assert ran(capsys, "--version") == (cli.OK, "0.1.0\n", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ("serv",),
        ("serve", "--nope"),
        ("serve", "--api-port", "many"),
        ("serve", "--role", "emperor"),
        ("admin", "create"),
        ("serve", "extra"),
    ],
)
def test_wrong_use_exits_2_and_prints_nothing_on_stdout(capsys, arguments):
    code, out, err = ran(capsys, *arguments)

    assert (code, out) == (cli.WRONG_USE, "")
    assert err


@pytest.mark.parametrize("role", ["api", "gateway", "worker"])
def test_role_without_a_shared_store_refuses(capsys, role):
    assert ran(capsys, "serve", "--role", role) == (
        cli.WRONG_USE,
        "",
        "tripline: A process with a part of the roles works on a shared store: set store.url (TRIPLINE_STORE_URL) to"
        " postgresql://..., or let one process do all.\n",
    )


def test_unknown_variable_exits_2_with_one_line(capsys, monkeypatch):
    monkeypatch.setenv("TRIPLINE_HOTS", "127.0.0.1")

    assert ran(capsys, "migrate") == (
        cli.WRONG_USE,
        "",
        "tripline: Unknown variable TRIPLINE_HOTS; the nearest known is TRIPLINE_HOST.\n",
    )


def test_bus_flag_that_names_no_brokers_refuses(capsys):
    code, out, err = ran(capsys, "serve", "--bus", "127.0.0.1:9092")

    assert (code, out, err.count("\n")) == (cli.WRONG_USE, "", 1)


def test_config_prints_the_default_file(capsys):
    assert ran(capsys, "config") == (cli.OK, config_files.default_file(), "")


def test_doctor_without_data_exits_1_with_one_line(capsys, tmp_path):
    assert ran(capsys, "doctor", "--data", str(tmp_path)) == (
        cli.FAILED,
        "",
        f"tripline: There is no Tripline data in {tmp_path}; `tripline serve` or `tripline migrate` makes it.\n",
    )


def test_help_of_every_command_loads_none_of_the_program():
    shown = subprocess.run([sys.executable, "-c", _HELP_OF_ALL], capture_output=True, text=True, timeout=60)

    assert (shown.returncode, shown.stderr) == (0, "")
    *pages, loaded = shown.stdout.splitlines()
    assert any(line.startswith("Usage: tripline serve") for line in pages)
    assert loaded == "loaded: []"


_HELP_OF_ALL = f"""
import sys
from tripline import cli
for words in {commands()!r}:
    assert cli.run([*words, "--help"]) == cli.OK
heavy = {{"alembic", "asyncio", "cryptography", "litestar", "numpy", "paho", "psycopg", "sqlalchemy", "structlog"}}
print("loaded:", sorted(heavy & sys.modules.keys()))
"""
