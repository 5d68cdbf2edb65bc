"""The commands of `docs/operating.md` that copy, put back and recover a database, run as they stand there."""

import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.support import damage, databases, filled, reference, required, servers

from tripline.adapters import data_folder
from tripline.store import migrate
from tripline.store.database import sqlite

pytestmark = [pytest.mark.deep, pytest.mark.sqlite("copies of a database file")]
PAGE = (reference.ROOT / "docs" / "operating.md").read_text("utf-8")
COMMANDS = [line.strip() for line in re.findall(r"^ {4,}(\S.*)$", PAGE, re.MULTILINE)]
ROWS = 30
INCREMENTAL = 2
"""How SQLite calls a file that can be made smaller."""


def documented(*words: str) -> str:
    """The one command of the page with all these words."""
    (found,) = [line for line in COMMANDS if all(word in line for word in words)]
    return found


def shell(command: str, within: Path, *, errors: bool = False) -> str:
    """Run it as an operator whose files everybody may read; `errors`: it may say what it could not do."""
    done = subprocess.run(
        ["sh", "-ec", f"umask 022; {command}"], cwd=within, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0 and (errors or done.stderr == ""), done
    return done.stdout


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """An installation with rows in every table, in the folder DATA."""
    folder = tmp_path / "DATA"
    with servers.serving(folder) as server:
        assert server.stop() == 0
    connection = sqlite.open_engine(folder / data_folder.DATABASE).connect()
    driver = connection.connection.driver_connection
    filled.fill(connection, count=ROWS, now_ms=databases.NOW_MS)
    connection.close()
    assert driver is not None
    driver.close()
    yield folder


def modes(*places: Path) -> set[str]:
    """Who may do what with these files, and those within these folders."""
    files = [file for place in places for file in ([place] if place.is_file() else place.rglob("*"))]
    assert files
    return {oct(file.stat().st_mode & 0o777) for file in files if file.is_file()}


def counted(database: Path) -> list[int]:
    with closing(sqlite3.connect(database)) as connection:
        return [
            connection.execute(f"SELECT count(*) FROM {each}").fetchone()[0]
            for each in ("trip", "microtrip", "account")
        ]


def can_shrink(database: Path) -> bool:
    with closing(sqlite3.connect(database)) as connection:
        found: int = connection.execute("PRAGMA auto_vacuum").fetchone()[0]
    return found == INCREMENTAL


def test_copies_made_as_documented_are_their_owners_alone_and_are_put_back(data: Path) -> None:
    folder = data.parent
    with servers.serving(data) as server:
        shell(documented("VACUUM INTO"), folder)
        shell(documented("cp -R DATA/tls"), folder)
        server.kill()
    made = modes(folder / "copy.db"), modes(folder / "copy-tls")
    (data / data_folder.DATABASE).write_bytes(b"gone")
    shell(documented("rm -f DATA/tripline.db-wal"), folder)
    shell(documented("install -m 600 copy.db"), folder)
    put_back = modes(data / data_folder.DATABASE)
    with servers.serving(data) as server:
        assert server.stop() == 0

    assert made[0] == {"0o600"}
    assert made[1] == {"0o600"}
    assert put_back == {"0o600"}
    assert counted(data / data_folder.DATABASE) == [ROWS] * 3
    assert can_shrink(data / data_folder.DATABASE)


def test_store_copy_makes_files_that_are_their_owners_alone(data: Path) -> None:
    other = data.parent / "other"
    other.mkdir(mode=0o755)

    copied = subprocess.run(
        [
            "sh",
            "-ec",
            'umask 022; exec "$@"',
            "sh",
            *servers.command("store", "copy", "--from", str(data), "--to", str(other)),
        ],
        env=servers.environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert (copied.returncode, copied.stderr) == (0, "")
    assert modes(other) == {"0o600"}


def test_damaged_database_is_recovered_as_documented(data: Path) -> None:
    required.need("sqlite3", "recovering a damaged database")
    folder, database = data.parent, data / data_folder.DATABASE
    damage.checkpointed(database)
    damage.spoil_table(database, "gps_event")
    damaged = servers.run_here("doctor", "--data", str(data))
    shell(documented(".dump"), folder, errors=True)
    checks = shell(documented("integrity_check"), folder)
    made = modes(folder / "recovered.db")
    shell(documented("rm -f DATA/tripline.db-wal"), folder)
    shutil.move(folder / "recovered.db", folder / "copy.db")
    shell(documented("install -m 600 copy.db"), folder)
    with servers.serving(data) as server:
        assert server.stop() == 0

    assert damaged.returncode == 1
    assert checks == "ok\n"
    assert made == {"0o600"}
    assert counted(database) == [ROWS] * 3
    assert can_shrink(database)
    assert migrate.version_of(database) == migrate.newest()
