"""The house rules that can be run: layers, docstrings, and what the repository must not say."""

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.support import loops, reference, required

WORK = "wor" + "k"
FORBIDDEN = {
    "a machine's path": re.compile(rf"/{WORK}/(?<![\w.]/{WORK}/)|/home/\w+|/root/|/tmp/w/"),
    # Each text is searched for the first letter, three times as fast as for a boundary in front of it.
    "an issue's number": re.compile(r"[Ii](?<!\w[Ii])(?i:ssue) #?\d"),
    "a package registry": re.compile(
        r"pypi\.org|pythonhosted\.org|registry\.npmjs|repo1?\.maven|proxy\.golang|crates\.io|--index-url|--registry"
    ),
}


@cache
def tracked() -> list[Path]:
    """Every text file of the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=reference.ROOT, capture_output=True, text=True, check=False
    ).stdout
    required.need(bool(listed), "what the repository must not say, for want of a git work tree")
    return [reference.ROOT / name for name in listed.split("\0") if name and (reference.ROOT / name).is_file()]


@cache
def texts() -> list[tuple[str, str]]:
    found = []
    for path in tracked():
        try:
            found.append((str(path.relative_to(reference.ROOT)), path.read_text("utf-8")))
        except UnicodeDecodeError:
            continue
    return found


def modules() -> list[tuple[str, str]]:
    root = reference.source_root()
    return [(str(path), (root / path).read_text("utf-8")) for path in reference.modules()]


def test_layers_import_downwards_only():
    linter = Path(sys.executable).with_name("lint-imports")

    ended = subprocess.run([linter, "--no-cache"], cwd=reference.ROOT, capture_output=True, text=True)

    assert ended.returncode == 0, ended.stdout


def test_modules_that_load_later_exist():
    """Type checkers see another import, so nothing else notices a name that moved."""
    named = {name for _, text in modules() for name in re.findall(r'\bLater\("([\w.]+)"', text)}

    assert len(named) > 50
    assert [name for name in sorted(named) if importlib.util.find_spec(name) is None] == []


def test_modules_open_with_a_docstring():
    assert [name for name, text in modules() if not reference.docstring(text)] == []


def test_public_names_have_docstrings():
    missing = []
    for name, text in modules():
        for node in reference.parsed(text).body:
            public = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            if public and not node.name.startswith("_") and not ast.get_docstring(node):
                missing.append(f"{name}: {node.name}")

    assert missing == []


def test_no_module_is_called_utils():
    assert [name for name, _ in modules() if re.search(r"(utils?|helpers?|common|misc)\.py$", name)] == []


@loops.every(FORBIDDEN)
def test_repository_speaks_of_the_project_alone(what):
    this = str(Path(__file__).relative_to(reference.ROOT))
    found = [
        f"{name}: {match.group()}"
        for name, text in texts()
        if name != this and (match := FORBIDDEN[what].search(text)) is not None
    ]

    assert found == []


def test_no_module_holds_unfinished_business():
    marks = re.compile(r"\b(TODO|FIXME|XXX|NotImplemented\b)")

    assert [name for name, text in modules() if marks.search(text)] == []


def test_nothing_is_left_out_of_the_tests_but_by_what_a_build_machine_refuses():
    """Whatever may be missing goes through `tests/support/required.py`, which fails where `CI=true`."""
    leave_out = re.compile(
        r"pytest\.(mark\.)?(skip|skipif|xfail|importorskip)\b(?!\.Exception)|unittest\.(skip|expectedFailure)"
    )
    tests = reference.ROOT / "tests"

    found = {str(path.relative_to(tests)) for path in tests.rglob("*.py") if leave_out.search(path.read_text("utf-8"))}

    assert found == {"support/required.py"}


def test_constraints_pin_every_line_without_an_address():
    lines = (reference.ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]

    assert [line for line in pins if not re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.+!-]+", line)] == []


def requirements() -> dict[str, Requirement]:
    """What the package and its development need, by name."""
    project = tomllib.loads((reference.ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    return {canonicalize_name(each.name): each for each in map(Requirement, lines)}


def test_constraints_satisfy_every_bound():
    lines = (reference.ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    pinned = {canonicalize_name(name): version for name, version in pins.items()}

    assert {name: each for name, each in requirements().items() if not each.specifier.contains(pinned[name])} == {}


@loops.every(
    [
        *(("cryptography", "49.0.0"), ("h11", "0.14.0"), ("jinja2", "3.1.5"), ("joserfc", "1.6.7")),
        *(("joserfc", "1.7.1"), ("litestar", "2.19.0"), ("multipart", "1.3.0")),
    ]
)
def test_bound_excludes_the_last_version_with_a_known_advisory_and_names_it(name: str, last: str) -> None:
    text = (reference.ROOT / "pyproject.toml").read_text("utf-8")

    assert not requirements()[name].specifier.contains(last)
    assert re.search(rf'^    "{name}>=[\d.]+",  # CVE-', text, re.MULTILINE)


def test_every_decision_is_listed_with_its_title():
    folder = reference.ROOT / "docs" / "decisions"
    listed = re.findall(r"^- \[(\d{3})\]\((.+)\): (.+)$", (folder / "README.md").read_text("utf-8"), re.MULTILINE)
    titles = {path.name: path.read_text("utf-8").splitlines()[0] for path in sorted(folder.glob("[0-9]*.md"))}

    assert [(name, f"# {number}. {title}") for number, name, title in listed] == list(titles.items())


@loops.every(sorted(path.stem for path in (reference.ROOT / "bench").glob("[a-z]*.py")))
def test_benchmark_can_be_imported(name: str) -> None:
    importlib.import_module(f"bench.{name}")
