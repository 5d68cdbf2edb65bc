"""Tests on PostgreSQL: which ones, their server, and databases for each test.

`pytest --store=postgresql` runs whatever touches a store or starts a server. Left out is what has nothing to do with
stores, what is about SQLite (`@pytest.mark.sqlite("why")`) or says no more a second time (`@pytest.mark.once("why")`),
and what brings PostgreSQL along by itself, which belongs to every run.

`pytest --store=both` runs everything on SQLite, and of the folders `TWICE` what the other run would: each of their
files is there a second time, as `tests/unit/test_this.py[postgresql]`. The second time is marked `deep`, except in the
folders `QUICK_THE_SECOND_TIME` outside `EITHER`. Of the folders `HALF` each run of the deep suite draws every other
test, and for each test of the folder `EITHER` the store on which it runs: half of those that are quick on SQLite.

`pytest --store=none` leaves out the files of these folders that touch a store.
"""

import hashlib
import os
import random
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import databases, imports, pooled_files, postgres, required, stores, suites

SQLITE, POSTGRESQL, BOTH, NONE = "sqlite", "postgresql", "both", "none"
TWICE = ("contract", "unit", "integration")
"""Folders that a run on both stores takes twice: what is in the others starts whole servers, slowly."""
QUICK_THE_SECOND_TIME = ("contract", "unit/store")
"""Folders that are about the store itself."""
HALF = ("unit/api", "unit/http", "unit/portal", "unit/services")
"""Folders that speak no SQL: what they ask of the store has tests of its own in `unit/store`."""
EITHER = "unit/store/listing"
"""A folder of lists by every filter, order and way: very many tests, and alike."""
APART = ("support.postgres", "support.databases", "support.ingest_nodes")
"""A test file that names one of these is about PostgreSQL whatever the run is about."""
NO_STORE = "touch no store"
IN_EVERY_RUN = "bring PostgreSQL along"
NOT_DRAWN, OTHER_STORE = "not drawn", "drawn for the other store"
SEED = "TRIPLINE_TESTS_SEED"
_DRAWN_BY = "TESTED_STORE_SEED"
"""Environment variable of a run: the seed that all its processes draw by."""
_LEFT_OUT = pytest.StashKey[Counter[str]]()
_SERVER = pytest.StashKey[postgres.Cluster]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run say which store it is about."""
    chosen = os.environ.get(stores.VARIABLE, SQLITE)
    what = "what tests keep their rows in"
    parser.addoption("--store", choices=(SQLITE, POSTGRESQL, BOTH, NONE), default=chosen, help=what)


def pytest_configure(config: pytest.Config) -> None:
    """Start the server of the run, in the process that the others are started by."""
    config.addinivalue_line("markers", "sqlite(why): is about SQLite itself; not run on PostgreSQL")
    config.addinivalue_line("markers", "once(why): says nothing more on another store; run on SQLite alone")
    config.stash[_LEFT_OUT] = Counter()
    os.environ[stores.VARIABLE] = _usual(config)
    os.environ.setdefault(_DRAWN_BY, os.environ.get(SEED) or str(random.randrange(10**6)))
    if config.option.store in (SQLITE, NONE) or hasattr(config, "workerinput") or config.option.collectonly:
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


class OnPostgres(pytest.Module):
    """A file of tests that is there a second time, as a module of its own."""

    def _getobj(self) -> Any:
        name = ".".join(self.path.relative_to(imports.TESTS.parent).with_suffix("").parts)
        first = sys.modules.pop(name, None)
        os.environ[stores.VARIABLE] = POSTGRESQL
        try:
            return super()._getobj()
        finally:
            os.environ[stores.VARIABLE] = _usual(self.config)
            sys.modules.pop(name, None)
            if first is not None:
                sys.modules[name] = first


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """A run on both stores has files of tests twice that touch one, and a run on none has not got them."""
    found = yield
    store = parent.config.option.store
    inside = file_path.relative_to(imports.TESTS) if file_path.is_relative_to(imports.TESTS) else Path("elsewhere")
    if store not in (BOTH, NONE) or not file_path.match("test_*.py") or inside.parts[0] not in TWICE:
        return found
    why_not = _why_not_file(file_path)
    if store == NONE:
        return found if why_not == NO_STORE else []
    if why_not is None:
        name = f"{file_path.relative_to(parent.config.rootpath).as_posix()}[{POSTGRESQL}]"
        again = OnPostgres.from_parent(parent, path=file_path, name=name, nodeid=name)
        if inside.is_relative_to(EITHER) or not any(inside.is_relative_to(folder) for folder in QUICK_THE_SECOND_TIME):
            again.add_marker(suites.DEEP)
        found.append(again)
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let a test find its store."""
    is_second = item.getparent(OnPostgres) is not None
    os.environ[stores.VARIABLE] = POSTGRESQL if is_second else _usual(item.config)
    return (yield)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what PostgreSQL is not asked for."""
    every = config.option.store == POSTGRESQL
    reasons = {item: _why_not(item) for item in items if every or item.getparent(OnPostgres) is not None}
    if config.option.markexpr == suites.DEEP:
        reasons |= {item: why or _not_drawn(item) for item, why in reasons.items()}
        reasons |= _on_other_store(items, reasons)
    config.stash[_LEFT_OUT].update(reason for reason in reasons.values() if reason)
    config.hook.pytest_deselected(items=[item for item, reason in reasons.items() if reason])
    items[:] = [item for item in items if not reasons.get(item)]


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
        drawn = f"; {SEED}={os.environ[_DRAWN_BY]}" if left_out[NOT_DRAWN] + left_out[OTHER_STORE] else ""
        terminalreporter.write_line(f"not run on PostgreSQL: {parts}{drawn}")


@pytest.fixture(autouse=True)
def _databases_of_a_test() -> Iterator[None]:
    """What a test took is there for others after it."""
    yield from _given_back()


@pytest.fixture(scope="module", autouse=True)
def _databases_of_a_file() -> Iterator[None]:
    """What a file's tests shared is there for others after it."""
    yield from _given_back()


def _given_back() -> Iterator[None]:
    before, lent = databases.taken(), pooled_files.lent()
    yield
    databases.give_back([name for name in databases.taken() if name not in before])
    pooled_files.give_back([path for path in pooled_files.lent() if path not in lent])


def _usual(config: pytest.Config) -> str:
    """The store of tests that are there once."""
    chosen: str = config.option.store
    return SQLITE if chosen in (BOTH, NONE) else chosen


def is_drawn(inside: Path, test: str, seed: str) -> bool:
    """Whether a run of the deep suite has this test on PostgreSQL. `inside`: its file, within `tests`."""
    return _is_in_half(test, seed) or not any(inside.is_relative_to(folder) for folder in HALF)


def is_left_to(test: str, seed: str) -> str:
    """The store on which a run of the deep suite does not have this test of `EITHER`."""
    return SQLITE if _is_in_half(test, seed) else POSTGRESQL


def _is_in_half(test: str, seed: str) -> bool:
    return hashlib.sha256(f"{seed} {test}".encode()).digest()[0] % 2 == 0


def _on_other_store(items: list[pytest.Item], reasons: dict[pytest.Item, str | None]) -> dict[pytest.Item, str]:
    """Of tests that are there twice, the ones that this run does not draw. `reasons`: why others are not run."""
    pairs = {}
    for item, why in reasons.items():
        inside = item.path.relative_to(imports.TESTS).is_relative_to(EITHER)
        if why is None and inside and item.getparent(OnPostgres) and item.get_closest_marker(suites.DEEP):
            pairs[item.nodeid.replace(f"[{POSTGRESQL}]", "", 1)] = {POSTGRESQL: item}
    for item in items:
        if item.nodeid in pairs:
            pairs[item.nodeid][SQLITE] = item
    seed = os.environ[_DRAWN_BY]
    return {pair[is_left_to(name, seed)]: OTHER_STORE for name, pair in pairs.items() if len(pair) > 1}


def _not_drawn(item: pytest.Item) -> str | None:
    drawn = is_drawn(item.path.relative_to(imports.TESTS), item.nodeid, os.environ[_DRAWN_BY])
    return None if drawn else NOT_DRAWN


def _why_not(item: pytest.Item) -> str | None:
    """Why a test is not run on PostgreSQL."""
    why = _why_not_file(Path(item.path))
    for name in ("sqlite", "once"):
        if why is None and (mark := item.get_closest_marker(name)) is not None:
            why = f"({name}: {mark.args[0]})"
    return why


def _why_not_file(file: Path) -> str | None:
    if any(module in imports.direct(file) for module in APART):
        return IN_EVERY_RUN
    return None if imports.reaches(file, "support.stores") else NO_STORE
