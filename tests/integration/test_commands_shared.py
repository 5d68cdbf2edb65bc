"""Commands on a shared store: all work there without a folder, and where it cannot be used each says so in one line."""

import io
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import databases, postgres, stores
from tests.support.databases import Database

from tripline import cli
from tripline.store import migrate

PASSWORD = "a long pass phrase"
RIGHT, WRONG = "the-right-one", "the-wrong-one"
NOW_MS = databases.NOW_MS
ADMIN = ["admin", "create", "--email", "kim@root.example", "--password-stdin"]
COMMANDS = {
    "migrate": ["migrate"],
    "import": ["import", "vehicles", "fleet.csv", "--email", "kim@ops.example"],
    "push list": ["push", "list"],
    "push resend": ["push", "resend"],
    "admin create": ADMIN,
    "admin grant": ["admin", "grant", *ADMIN[2:]],
    "admin carrier": ["admin", "carrier", *ADMIN[2:]],
    "device check": ["device", "check", "--token", "unknownunknown", "--for", "1"],
}
"""All that work in one store and end, but `doctor`, whose answer is what is wrong."""


@pytest.fixture
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder but for a file to import, what commands read, and no setting but theirs."""
    (tmp_path / "fleet.csv").write_text("vehicleNo,mileage\n12A3456,1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n"))
    monkeypatch.delenv(stores.VARIABLE, raising=False)


pytestmark = pytest.mark.usefixtures("_here")


def ran(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, output and errors; no password is in either, and no traceback."""
    capsys.readouterr()
    code = cli.run(arguments)
    printed = capsys.readouterr()
    said = printed.out + printed.err
    assert [word for word in (RIGHT, WRONG, PASSWORD, "Traceback") if word in said] == []
    return code, printed.out, printed.err


@pytest.fixture(scope="module")
def shared() -> Iterator[Database]:
    with databases.fresh("commands") as database:
        yield database


@pytest.mark.parametrize("named_by", ["variable", "flag"])
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["admin", "create", "--email", "{by}@root.example", "--password-stdin"], 0, "platform administrator"),
        (["admin", "grant", "--email", "{by}@ops.example", "--password-stdin"], 0, "service account"),
        (["admin", "carrier", "--email", "{by}@net.example", "--password-stdin"], 0, "carrier account"),
        (["migrate"], 0, "schema "),
        (["doctor"], 0, "ok    database: PostgreSQL "),
        (["push", "list"], 0, "0 messages shown"),
        (["push", "resend"], 0, "0 messages wait"),
        (["import", "vehicles", "fleet.csv", "--email", "nobody@ops.example"], 1, "nobody@ops.example"),
        (["device", "check", "--token", "unknownunknown", "--for", "1"], 1, "tripline: "),
    ],
)
def test_command_works_in_the_shared_store_and_needs_no_folder(
    capsys, monkeypatch, tmp_path, shared, named_by, arguments, code, said
):
    if named_by == "variable":
        monkeypatch.setenv("TRIPLINE_STORE_URL", shared.url)
    place = ["--store", shared.url] if named_by == "flag" else []

    done = ran(capsys, *(argument.format(by=named_by) for argument in arguments), *place)

    assert done[0] == code, done
    assert said in done[1] + done[2]
    assert [path.name for path in tmp_path.iterdir()] == ["fleet.csv"]


@pytest.fixture(scope="module")
def guarded() -> Iterator[postgres.Cluster]:
    """A server that asks for a password, with a database of another version, and one without a schema."""
    postgres.need("commands on a server that asks for a password")
    with postgres.cluster(password=RIGHT) as server:
        migrate.upgrade_shared(server.create("another"), now_ms=NOW_MS)
        server.run("UPDATE schema_version SET version_num = '0038'", database="another")
        server.run("COMMENT ON TABLE schema_version IS '0038'", database="another")
        server.create("nothing")
        yield server


NOT_USED = "The database cannot be used: "
TROUBLE = {
    "wrong password": NOT_USED + f'…password authentication failed for user "{postgres.OWNER}"',
    "no such database": NOT_USED + '…database "not_there" does not exist.',
    "nobody listens": NOT_USED + "…Connection refused.",
    "no such host": NOT_USED + "failed to resolve host…",
    "slash in the password": "The store address has a port that is no number; write / of a password as %2F.",
    "at in the password": "The store address has more than one @; write that of a password as %40.",
    "percent in the password": "The store address cannot be read; its form is postgresql://",
    "another version": (
        f"The database was made by another version of Tripline (schema 0038, not {migrate.newest()}):"
        " use that version, or start with a new database."
    ),
    "no schema": "The database has no schema yet; run `tripline migrate` with the same store address first.",
}


def address(guarded: postgres.Cluster, trouble: str) -> str:
    nowhere = f"postgresql://kim:{RIGHT}@127.0.0.1:1/x"
    return {
        "wrong password": guarded.url("nothing").replace(RIGHT, WRONG),
        "no such database": guarded.url("not_there"),
        "nobody listens": nowhere,
        "no such host": nowhere.replace("127.0.0.1", "nowhere.invalid"),
        "slash in the password": nowhere.replace(f"{RIGHT}@", f"{RIGHT}/{WRONG}@"),
        "at in the password": nowhere.replace(f"{RIGHT}@", f"{RIGHT}@{WRONG}@"),
        "percent in the password": nowhere.replace(f"{RIGHT}@", f"{RIGHT}%{WRONG}@"),
        "another version": guarded.url("another"),
        "no schema": guarded.url("nothing"),
    }[trouble]


def is_said(expected: str, text: str) -> bool:
    """Whether the text starts with the first part and has the others."""
    first, *others = expected.split("…")
    return text.startswith(first) and all(each in text for each in others)


@pytest.mark.parametrize(
    ("command", "trouble"),
    [each for each in itertools.product(COMMANDS, TROUBLE) if each != ("migrate", "no schema")],
)
def test_command_without_its_store_says_why_in_one_line(capsys, guarded, command, trouble):
    code, out, err = ran(capsys, *COMMANDS[command], "--store", address(guarded, trouble))

    assert (code, out, err.count("\n")) == (cli.FAILED, "", 1)
    assert is_said(TROUBLE[trouble], err.removeprefix("tripline: ")), err
    if trouble == "another version":
        assert guarded.run("SELECT version_num FROM schema_version", database="another") == [("0038",)]
        assert guarded.run("SELECT count(*) FROM account", database="another") == [(0,)]


@pytest.mark.parametrize("trouble", TROUBLE)
def test_doctor_without_the_store_says_what_is_wrong_and_nothing_that_it_cannot_know(capsys, guarded, trouble):
    code, out, err = ran(capsys, "doctor", "--store", address(guarded, trouble))

    schema = {
        "another version": f"made by another version of Tripline (schema 0038, not {migrate.newest()});"
        " use that version, or start with a new data folder or database",
        "no schema": f"version none, not {migrate.newest()}; run `tripline migrate`",
    }.get(trouble)
    wrong = f"schema: {schema}" if schema else "database: "
    first, *others = out.splitlines()
    assert (code, err) == (cli.FAILED, "")
    assert first.startswith(f"WRONG {wrong}")
    assert schema or is_said(TROUBLE[trouble], first.removeprefix("WRONG database: "))
    assert others == ["ok    certificate: none yet; the first start makes one"]


@pytest.mark.parametrize("trouble", TROUBLE)
@pytest.mark.parametrize("side", ["source", "target"])
def test_copy_without_one_of_its_stores_says_which_and_why(capsys, tmp_path, guarded, shared, side, trouble):
    there = address(guarded, trouble)
    places = (there, str(tmp_path / "new")) if side == "source" else (shared.url, there)

    code, _, err = ran(capsys, "store", "copy", "--from", places[0], "--to", places[1])

    assert (code, err.count("\n")) == (cli.FAILED, 1)
    assert is_said(TROUBLE[trouble], err.removeprefix(f"tripline: The {side}: ")), err


@pytest.mark.parametrize("side", ["--from", "--to"])
def test_copy_takes_no_address_of_something_else_for_a_folder(capsys, tmp_path, side):
    other = {"--from": "--to", "--to": "--from"}[side]

    done = ran(capsys, "store", "copy", side, f"mysql://kim:{RIGHT}@127.0.0.1/x", other, str(tmp_path / "data"))

    assert done == (cli.WRONG_USE, "", "tripline: a store is a data folder, or postgresql://user@host/database.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["fleet.csv"]
