"""A version to come, which has one step of the schema more than this one: a column, a copied table, new indexes."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import servers
from tripline.store import migrate

SCHEMA = f"{int(migrate.newest()) + 1:04}"
HALFWAY = "MADE_UP_STEP_HALFWAY"
"""Environment variable of a process of this version: the file that its step makes when it has changed something; then
it waits for ever."""
_OWN = migrate.FOLDER
_STEP = f'''
"""A made-up step."""

import os
import signal
from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "{SCHEMA}"
down_revision = "{migrate.newest()}"
serves = "{migrate.newest()}"

AHEAD = (
    ("ix_trip_made_up", "trip", ("company_id", "start_ms"), "not_scored IS NULL"),
    ("ix_gps_event_made_up", "gps_event", ("vehicle_id", "event_type"), None),
)


def upgrade() -> None:
    op.add_column("sensor", sa.Column("made_up", sa.Integer(), server_default="7", nullable=False))
    if "{HALFWAY}" in os.environ:
        Path(os.environ["{HALFWAY}"]).touch()
        signal.pause()
    with op.batch_alter_table("trip") as batch:
        batch.alter_column("device_type", existing_type=sa.String(32), type_=sa.String(64), existing_nullable=False)
    for name, table, columns, condition in AHEAD:
        where = None if condition is None else sa.text(condition)
        op.create_index(name, table, list(columns), if_not_exists=True, sqlite_where=where, postgresql_where=where)
'''
_PROGRAM = (
    "import pathlib, sys; from tripline import cli; from tripline.store import migrate;"
    " migrate.FOLDER = pathlib.Path(sys.argv[1]); sys.exit(cli.run(sys.argv[2:]))"
)


def folder(beside: Path) -> Path:
    """The steps of the version to come."""
    steps = beside / "migrations"
    shutil.copytree(_OWN, steps, dirs_exist_ok=True)
    (steps / "versions" / f"m{SCHEMA}_made_up.py").write_text(_STEP)
    return steps


@contextlib.contextmanager
def installed(beside: Path) -> Iterator[None]:
    """Inside, this process is of the version to come."""
    with pytest.MonkeyPatch.context() as here:
        here.setattr(migrate, "FOLDER", folder(beside))
        migrate.steps.cache_clear()
        yield
    migrate.steps.cache_clear()


def started(beside: Path, data: Path, *arguments: str, halfway: Path | None = None) -> subprocess.Popen[str]:
    """A command of the version to come, as a process on this data folder or on the database that the test has in its
    place. The caller waits for its end."""
    stop = {} if halfway is None else {HALFWAY: str(halfway)}
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(folder(beside)), *arguments, "--data", str(data)],
        env=servers.environment(stop, data=data) | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
