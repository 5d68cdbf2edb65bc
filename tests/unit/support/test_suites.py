"""Each test is in one of the two suites, and a suite does not import files of the other."""

import os
import re
import subprocess
import sys

import pytest
from tests.support import reference

pytest_plugins = "pytester"

FILES = {
    "test_quick.py": "def test_quick(): pass",
    "test_deep.py": (
        "import pytest\npytestmark = [\n    pytest.mark.once('a'),\n    pytest.mark.deep,\n]\ndef test_1(): pass"
    ),
    "test_some.py": "import pytest\ndef test_1(): pass\n@pytest.mark.deep\ndef test_2(): pass",
    "test_case.py": (
        "import pytest\n@pytest.mark.parametrize('n', [1, pytest.param(2, marks=pytest.mark.deep)])\n"
        "def test_n(n): pass"
    ),
}
EVERY = {"quick::test_quick", "deep::test_1", "some::test_1", "some::test_2", "case::test_n[1]", "case::test_n[2]"}
DEEP = {"deep::test_1", "some::test_2", "case::test_n[2]"}


def collected(pytester: pytest.Pytester, *arguments: str, file: str = "") -> tuple[set[str], str]:
    """The tests of a run in this folder, or of one file there, and what it printed."""
    options = ["--collect-only", "-q", "--assert=plain", "-p", "tests.support.suites", "-p", "no:cacheprovider"]
    options += ["-c", "/dev/null", "--rootdir", str(pytester.path), "-o", "markers=deep\nonce", "--strict-markers"]
    ran = pytester.runpytest_inprocess(*options, *arguments, str(pytester.path / file))
    return set(re.findall(r"^test_(\S+?)\.py::(\S+)$", str(ran.stdout), re.MULTILINE)), f"{ran.stdout}{ran.stderr}"


def named(found: set[str]) -> set[str]:
    return {"::".join(each) for each in found}


@pytest.fixture(autouse=True)
def _files(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name, text in FILES.items():
        (pytester.path / name).write_text(text)


def test_suites_together_are_every_test_and_share_none(pytester: pytest.Pytester) -> None:
    every, _ = collected(pytester)
    quick, _ = collected(pytester, "-m", "not deep")
    deep, _ = collected(pytester, "-m", "deep")

    assert named(every) == EVERY
    assert named(deep) == DEEP
    assert named(quick) == EVERY - DEEP


def test_suite_does_not_import_files_of_the_other(pytester: pytest.Pytester) -> None:
    (pytester.path / "test_quick.py").write_text("raise AssertionError('imported')")

    deep, told = collected(pytester, "-m", "deep")

    assert named(deep) == DEEP, told


@pytest.mark.parametrize(
    ("suite", "file", "tests"), [("not deep", "test_deep.py", "all tests are"), ("deep", "test_quick.py", "no test is")]
)
def test_named_file_of_the_other_suite_is_refused_with_the_way_to_run_it(
    pytester: pytest.Pytester, suite: str, file: str, tests: str
) -> None:
    _, told = collected(pytester, "-m", suite, file=file)

    assert f"{file}: {tests} marked `deep`: run the file without -m" in told


def test_processes_of_a_run_begin_to_import_at_different_files_and_report_what_fails(pytester: pytest.Pytester) -> None:
    folder = pytester.path
    for name in FILES:
        noted = "import os\nprint(os.environ['PYTEST_XDIST_WORKER'], __name__, file=open('imported', 'a'))\n"
        (folder / name).write_text(noted + FILES[name])
    (folder / "test_wrong.py").write_text("raise ValueError('wrong')")
    plugins = ["-p", "xdist.plugin", "-n", "2", "-p", "tests.support.suites", "-p", "no:cacheprovider"]
    settings = ["-o", "testpaths=.", "-o", "pythonpath=.", "-o", "markers=deep\nonce", "--import-mode=importlib"]
    command = [sys.executable, "-m", "pytest", *plugins, "-c", "/dev/null", "--rootdir", str(folder), *settings]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(reference.ROOT)}
    for name in [name for name in alone if name.startswith(("PYTEST_XDIST", "PYTEST_ADDOPTS"))]:
        del alone[name]

    ran = subprocess.run(command, cwd=folder, env=alone, capture_output=True, text=True)

    imported = [line.split() for line in (folder / "imported").read_text().splitlines()]
    assert {of: [name for by, name in imported if by == of] for of in ("gw0", "gw1")} == {
        "gw0": ["test_case", "test_deep", "test_quick", "test_some"],
        "gw1": ["test_quick", "test_some", "test_case", "test_deep"],
    }
    assert "ValueError: wrong" in ran.stdout


@pytest.mark.parametrize("suite", ["not deep", "deep"])
def test_test_that_neither_suite_would_run_is_an_error(pytester: pytest.Pytester, suite: str) -> None:
    """The first is deep and its file does not say so; the second is in a file that says so and is not deep."""
    wrong = {
        "not deep": "import pytest\nmarks = pytest.mark\n@marks.deep\ndef test_1(): pass",
        "deep": "import pytest\npytestmark = [pytest.mark.once('not pytest.mark.deep')]\ndef test_1(): pass",
    }
    (pytester.path / "test_wrong.py").write_text(wrong[suite])

    _, told = collected(pytester, "-m", suite)

    assert "in neither suite: test_wrong.py::test_1: write `pytest.mark.deep`" in told
    assert "1 error" in told
