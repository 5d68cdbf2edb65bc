"""A run of the tests on PostgreSQL: which tests it is made of, its server, and databases for each test.

`pytest --store=postgresql` runs whatever touches a store or starts a server. Left out is what has nothing to do with
stores, what is about SQLite (`@pytest.mark.sqlite("why")`) or says no more a second time (`@pytest.mark.once("why")`),
and what brings PostgreSQL along by itself, which belongs to every run.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import databases, imports, postgres, required, stores

APART = ("support.postgres", "support.databases")
"""A test file that names one of these is about PostgreSQL whatever the run is about."""
NO_STORE = "touch no store"
IN_EVERY_RUN = "bring PostgreSQL along"
_LEFT_OUT = pytest.StashKey[Counter[str]]()
_SERVER = pytest.StashKey[postgres.Cluster]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run say which store it is about."""
    chosen = os.environ.get(stores.VARIABLE, "sqlite")
    parser.addoption("--store", choices=("sqlite", "postgresql"), default=chosen, help="what tests keep their rows in")


def pytest_configure(config: pytest.Config) -> None:
    """Start the server of the run, in the process that the others are started by."""
    config.addinivalue_line("markers", "sqlite(why): is about SQLite itself; not run on PostgreSQL")
    config.addinivalue_line("markers", "once(why): says nothing more on another store; run on SQLite alone")
    config.stash[_LEFT_OUT] = Counter()
    os.environ[stores.VARIABLE] = config.getoption("--store")
    if not stores.on_postgresql() or hasattr(config, "workerinput") or config.option.collectonly:
        return
    if postgres.programs() is None:
        raise pytest.exit.Exception(f"{postgres.MISSING}: no test ran on it", returncode=required.on_build_machine())
    server = config.stash[_SERVER] = databases.started()
    os.environ[databases.PORT] = str(server.port)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End what was started."""
    databases.close()
    if _SERVER in config.stash:
        config.stash[_SERVER].remove()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what a run on PostgreSQL is not about."""
    if not stores.on_postgresql():
        return
    reasons = {item: _why_not(item) for item in items}
    config.stash[_LEFT_OUT].update(reason for reason in reasons.values() if reason)
    config.hook.pytest_deselected(items=[item for item, reason in reasons.items() if reason])
    items[:] = [item for item in items if not reasons[item]]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the first process what was left out."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = dict(session.config.stash[_LEFT_OUT])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Every process leaves the same out."""
    left_out = getattr(node, "workeroutput", {}).get("left_out", {})
    node.config.stash[_LEFT_OUT] |= Counter(left_out)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """One line says what did not run on PostgreSQL."""
    left_out = config.stash[_LEFT_OUT]
    if left_out:
        parts = ", ".join(f"{count} {reason}" for reason, count in left_out.most_common())
        terminalreporter.write_line(f"not run on PostgreSQL: {parts}")


@pytest.fixture(autouse=True)
def _databases_of_a_test() -> Iterator[None]:
    """What a test took is there for others after it."""
    yield from _given_back()


@pytest.fixture(scope="module", autouse=True)
def _databases_of_a_file() -> Iterator[None]:
    """What a file's tests shared is there for others after it."""
    yield from _given_back()


def _given_back() -> Iterator[None]:
    before = databases.taken()
    yield
    databases.give_back([name for name in databases.taken() if name not in before])


def _why_not(item: pytest.Item) -> str | None:
    """Why a test is not of a run on PostgreSQL."""
    file = Path(item.path)
    if any(module in imports.direct(file) for module in APART):
        return IN_EVERY_RUN
    if not imports.reaches(file, "support.stores"):
        return NO_STORE
    for name in ("sqlite", "once"):
        if (mark := item.get_closest_marker(name)) is not None:
            why: str = mark.args[0]
            return f"({name}: {why})"
    return None
