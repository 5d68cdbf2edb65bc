"""Data folders that cannot be used: every command says why in one true sentence, and what to do."""

import contextlib
import io
import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.support import faults_disk, map_files, servers

from tripline import cli
from tripline.adapters import data_folder
from tripline.store import migrate
from tripline.store.database import sqlite_files

pytestmark = pytest.mark.sqlite("data folders with a database file")
COMMANDS = {
    "migrate": ["migrate"],
    "push list": ["push", "list"],
    "doctor": ["doctor"],
}
OF_ANOTHER = (
    f"The database {{}} was made by another version of Tripline (schema 0038, not {migrate.newest()}):"
    " use that version, or start with a new data folder."
)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("sound") / data_folder.DATABASE
    migrate.upgrade(path)
    return path.read_bytes()


def said(command: str, data: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that a command complains with; the doctor's is its only finding that is wrong."""
    code = cli.run([*COMMANDS[command], "--data", str(data)])
    printed = capsys.readouterr()
    lines = printed.err.splitlines() or [line for line in printed.out.splitlines() if line.startswith("WRONG")]
    assert (code, len(lines)) == (1, 1), printed
    return lines[0]


def installed(folder: Path, content: bytes | None) -> Path:
    data = folder / "data"
    (data / "tls").mkdir(parents=True)
    (data / "tls" / "ca.key").touch()
    if content is not None:
        (data / data_folder.DATABASE).write_bytes(content)
    return data


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("content", [None, b""], ids=["missing", "empty"])
def test_installation_that_lost_its_database_does_not_begin_anew(tmp_path, capsys, command, content):
    data = installed(tmp_path, content)

    line = said(command, data, capsys)

    database = data / data_folder.DATABASE
    assert line == (
        f"tripline: The data folder {data} is of an installation, but its database {database} is missing or empty;"
        " put it back from a copy, or begin with an empty one: `tripline migrate --new`."
    )
    assert not database.exists() or database.read_bytes() == b""


def test_file_without_tables_beside_certificates_is_a_lost_database(tmp_path, capsys):
    data = installed(tmp_path, None)
    with closing(sqlite_files.sqlite3.connect(data / data_folder.DATABASE)) as connection:
        connection.execute("PRAGMA user_version = 1")

    assert "is missing or empty" in said("migrate", data, capsys)


ADMIN = ["--email", "kim@root.example", "--password-stdin"]
OPENING = COMMANDS | {
    "migrate --new": ["migrate", "--new"],
    "admin create": ["admin", "create", *ADMIN],
    "admin grant": ["admin", "grant", *ADMIN],
    "admin list": ["admin", "list"],
    "import": ["import", "vehicles", "fleet.csv", "--email", "kim@ops.example"],
    "push resend": ["push", "resend"],
    "device check": ["device", "check", "--token", "unknownunknown", "--for", "1"],
    "rescore": ["rescore", "--all"],
    "policy list": ["policy", "list"],
    "ingest": ["ingest", "messages.jsonl"],
}
"""Every kind of command that opens a store."""


def of_another_version(folder: Path, content: bytes) -> Path:
    data = installed(folder, content)
    with closing(sqlite_files.sqlite3.connect(data / data_folder.DATABASE)) as connection, connection:
        connection.execute(f"UPDATE {migrate.VERSION_TABLE} SET version_num = '0038'")
    return data


@pytest.mark.parametrize("command", OPENING)
def test_database_of_another_version_is_refused_and_stays_as_it_is(tmp_path, capsys, monkeypatch, sound, command):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO("a long pass phrase\n"))
    Path("fleet.csv").write_text("vehicleNo,mileage\n12A3456,1\n")
    Path("messages.jsonl").write_text('{"topic": "x", "value": {}}\n')
    data = of_another_version(tmp_path, sound)
    database = data / data_folder.DATABASE
    content, names = database.read_bytes(), {path.name for path in data.rglob("*")}

    code = cli.run([*OPENING[command], "--data", str(data)])

    printed = capsys.readouterr()
    if command == "doctor":
        (line,) = [line for line in printed.out.splitlines() if line.startswith("WRONG")]
        assert line == (
            f"WRONG schema: made by another version of Tripline (schema 0038, not {migrate.newest()});"
            " use that version, or start with a new data folder or database"
        )
    else:
        assert printed == ("", f"tripline: {OF_ANOTHER.format(database)}\n")
    assert code == 1
    assert database.read_bytes() == content
    assert {path.name for path in data.rglob("*")} == names


def test_server_on_a_database_of_another_version_does_not_start(tmp_path, sound):
    data = of_another_version(tmp_path, sound)
    database = data / data_folder.DATABASE
    content, names = database.read_bytes(), {path.name for path in data.rglob("*")}

    assert served(data) == f"tripline: {OF_ANOTHER.format(database)}"
    assert database.read_bytes() == content
    assert {path.name for path in data.rglob("*")} == names | {data_folder.LOCK}


@pytest.mark.parametrize("side", ["--from", "--to"])
def test_database_of_another_version_is_neither_copied_nor_filled(tmp_path, capsys, sound, side):
    data, other = of_another_version(tmp_path / "one", sound), installed(tmp_path / "other", sound)
    database = data / data_folder.DATABASE
    content = database.read_bytes()

    code = cli.run(["store", "copy", side, str(data), "--to" if side == "--from" else "--from", str(other)])

    assert (code, capsys.readouterr()) == (1, ("", f"tripline: {OF_ANOTHER.format(database)}\n"))
    assert database.read_bytes() == content
    assert (other / data_folder.DATABASE).read_bytes() == sound


def test_database_is_begun_anew_when_that_is_asked_for(tmp_path, capsys):
    data = installed(tmp_path, None)

    code = cli.run(["migrate", "--new", "--data", str(data)])

    assert (code, capsys.readouterr().out) == (0, f"schema {migrate.newest()}\n")
    assert cli.run(["push", "list", "--data", str(data)]) == 0


def test_migrate_new_keeps_what_is_there(tmp_path, capsys, sound):
    data = installed(tmp_path, sound)

    assert cli.run(["migrate", "--new", "--data", str(data)]) == 0
    assert (data / data_folder.DATABASE).read_bytes() == sound


def test_start_that_failed_at_a_port_can_be_repeated(tmp_path):
    data = tmp_path / "data"
    failed = servers.run("serve", "--data", str(data), "--host=192.0.2.1")
    with servers.serving(data) as server:
        assert server.stop() == 0

    assert failed.returncode == 1


def _mess(content: bytes) -> bytes:
    mixed = bytearray(content)
    chance = random.Random(3)
    for _ in range(30):
        at = chance.randrange(100, len(mixed) - 5_000)
        mixed[at : at + 3_000] = chance.randbytes(3_000)
    return bytes(mixed)


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "random bytes": lambda content: random.Random(1).randbytes(20_000),
    "wrong magic": lambda content: b"X" * 16 + content[16:],
    "head of zeros": lambda content: bytes(100) + content[100:],
    "1 byte": lambda content: content[:1],
    "99 bytes": lambda content: content[:99],
    "head alone": lambda content: content[:100],
    "first page alone": lambda content: content[:4_096],
    "half": lambda content: content[: len(content) // 2],
    "last page missing": lambda content: content[:-4_096],
    "last byte missing": lambda content: content[:-1],
    "random places": _mess,
}


def served(data: Path) -> str:
    """The last line of a server that does not start."""
    listeners = ("--api-port=0", "--analytics-port=0", "--device-port=0")
    ended = servers.run("serve", "--data", str(data), *listeners, variables={"TRIPLINE_LOG_LEVEL": "error"})
    assert (ended.returncode, ended.stdout, "Traceback" in ended.stderr) == (1, "", False)
    return ended.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("content", "text"),
    [(None, "is missing or empty; "), ("wrong magic", "is damaged: "), ("half", "is damaged: ")],
    ids=["missing", "wrong magic", "half"],
)
def test_server_on_such_a_folder_does_not_start_and_says_why(tmp_path, sound, content, text):
    data = installed(tmp_path, None if content is None else DAMAGES[content](sound))

    line = served(data)

    assert line.startswith("tripline: The ")
    assert f"database {data / data_folder.DATABASE} {text}" in line


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("damaged", DAMAGES)
def test_heavily_damaged_database_is_named_with_a_remedy(tmp_path, capsys, sound, damaged, command):
    content = DAMAGES[damaged](sound)
    data = installed(tmp_path, content)
    database = data / data_folder.DATABASE

    line = said(command, data, capsys)

    if command == "doctor":
        assert line.startswith(f"WRONG database: {database} is damaged: ")
        assert "then restore a backup" in line
    else:
        assert line.startswith(f"tripline: The database {database} is damaged: ")
        assert line.endswith(". Restore it from a backup.")
    assert database.read_bytes() == content


def test_copy_of_a_damaged_store_is_refused_with_its_name(tmp_path, capsys, sound):
    data = installed(tmp_path, DAMAGES["wrong magic"](sound))

    code = cli.run(["store", "copy", "--from", str(data), "--to", str(tmp_path / "other")])

    (line,) = capsys.readouterr().err.splitlines()
    assert code == 1
    assert line.startswith(f"tripline: The database {data / data_folder.DATABASE} is damaged: ")


def test_read_only_file_system_is_named_by_every_command(capsys, monkeypatch, sound):
    faults_disk.need("a file system that is mounted read-only")
    monkeypatch.setenv("TRIPLINE_STORE_RESERVE_MIB", "0")
    with faults_disk.disk(mib=16) as disk:
        data = installed(disk.folder, sound)
        disk.read_only()
        lines = {command: said(command, data, capsys) for command in COMMANDS} | {"serve": served(data)}
        code = cli.run(["store", "copy", "--from", str(data), "--to", "postgresql://127.0.0.1:1/x"])
        lines["store copy"] = capsys.readouterr().err.strip()

    text = f"tripline: The data folder {data} is on a read-only file system; mount it for writing."
    database = f"WRONG database: {data / data_folder.DATABASE} is on a read-only file system; remount it as writable,"
    assert code == 1
    assert lines == dict.fromkeys([*COMMANDS, "serve", "store copy"], text) | {"doctor": f"{database} then check again"}


@pytest.fixture
def small() -> Iterator[faults_disk.Disk]:
    faults_disk.need("a small disk")
    with faults_disk.disk(mib=8) as disk:
        yield disk


@pytest.mark.parametrize("command", COMMANDS)
def test_full_disk_is_not_called_damage(small, capsys, sound, command):
    data = installed(small.folder, sound)
    small.fill()
    with contextlib.suppress(OSError), (small.folder / "rest").open("wb", buffering=0) as rest:
        while True:
            rest.write(bytes(512))

    code = cli.run([*COMMANDS[command], "--data", str(data)])
    printed = capsys.readouterr()
    text = printed.out + printed.err

    assert code == 1
    assert "damaged" not in text
    assert "its disk is full" in text or "disk: 0.0 GiB free; free space" in text


@pytest.mark.parametrize(
    "command", [["map", "import", "FILE"], ["map", "remove", "street"]], ids=["map import", "map remove"]
)
def test_maps_on_a_disk_that_takes_no_writes_are_refused_in_one_line(small, tmp_path, capsys, sound, command):
    data = installed(small.folder, sound)
    file = map_files.street(tmp_path / "street.osm.pbf")
    assert cli.run(["map", "import", str(file), "--data", str(data)]) == 0
    capsys.readouterr()
    small.read_only()

    code = cli.run([*(str(file) if word == "FILE" else word for word in command), "--data", str(data)])

    assert (code, capsys.readouterr()) == (1, ("", "tripline: The maps cannot be written: Read-only file system.\n"))
    assert cli.run(["map", "list", "--data", str(data)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 maps"
