"""The two suites: quick tests (`-m "not deep"`, `make test`) and those marked `deep` (`-m deep`, `make test-deep`).

A test is quick unless its file (`pytestmark`), its class, its case or the test itself is marked. pytest splits the
suites; this plugin only spares each the import of files of the other, which it recognises by their text. A file whose
text and marks disagree is an error of collection, so that no test falls between the suites.

The processes of a whole run import the files in different orders: to compile them takes longer than the rest of a
collection, and each loads what another has compiled.
"""

import contextlib
import importlib
import re
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

DEEP, QUICK = "deep", "not deep"
_WHOLE = re.compile(r"^pytestmark = (?:\[[^\]]*)?pytest\.mark\.deep\b", re.MULTILINE)
_SOME = "mark.deep"


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Import the files of the run, each process of several from another one on. Collection finds what fails."""
    config = session.config
    process: dict[str, Any] | None = getattr(config, "workerinput", None)
    if process is None or config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    suite = config.option.markexpr
    files = sorted(path for folder in config.args for path in (config.rootpath / folder).rglob("test_*.py"))
    files = [path for path in files if suite not in (DEEP, QUICK) or suite in _suites(path)]
    first = len(files) * int(process["workerid"].removeprefix("gw")) // process["workercount"]
    for path in (*files[first:], *files[:first]):
        with contextlib.suppress(Exception):
            importlib.import_module(".".join(path.relative_to(config.rootpath).with_suffix("").parts))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Leave out the files of the other suite, also those that another plugin adds."""
    found = yield
    suite = parent.config.option.markexpr
    kept = [file for file in found if suite not in (DEEP, QUICK) or _runs(file, suite)]
    if found and not kept and parent.session.isinitpath(file_path):
        tests = "all tests are" if suite == QUICK else "no test is"
        raise parent.CollectError(f"{file_path}: {tests} marked `deep`: run the file without -m")
    return kept


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Refuse tests whose mark and file disagree: neither suite would run them."""
    report = yield
    file = collector.getparent(pytest.Module)
    if file is not None:
        items = [item for item in report.result if isinstance(item, pytest.Item)]
        lost = [item.nodeid for item in items if not _runs(file, DEEP if item.get_closest_marker(DEEP) else QUICK)]
        if lost:
            report.outcome, report.result = "failed", []
            report.longrepr = f"in neither suite: {', '.join(lost)}: write `pytest.mark.deep` in the file of the test"
    return report


def _runs(file: pytest.Collector, suite: str) -> bool:
    """True if the suite has tests in this file."""
    if file.get_closest_marker(DEEP) is not None:
        return suite == DEEP
    return suite in _suites(file.path)


@cache
def _suites(path: Path) -> frozenset[str]:
    """The suites of a file's tests, by its text."""
    text = path.read_text("utf-8")
    if _WHOLE.search(text):
        return frozenset({DEEP})
    return frozenset({DEEP, QUICK} if _SOME in text else {QUICK})
