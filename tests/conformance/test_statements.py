"""The table of statements is whole: no row is open, the tests it names are there, the code cites only what it has."""

import ast
import re
from pathlib import Path

from tests.conformance.statements import FILES, STATEMENTS

ROOT = Path(__file__).parents[2]
CITATION = re.compile(r"MQTT-[0-9.-]+-[0-9]+")
COUNTS = {
    "1.5.3": 3, "2.2.2": 2, "2.3.1": 7, "3.1.0": 2, "3.1.2": 24, "3.1.3": 11, "3.1.4": 5, "3.2.0": 1, "3.2.2": 6,
    "3.3.1": 12, "3.3.2": 3, "3.3.4": 1, "3.3.5": 2, "3.6.1": 1, "3.8.1": 1, "3.8.3": 4, "3.8.4": 6, "3.9.3": 2,
    "3.10.1": 1, "3.10.3": 2, "3.10.4": 6, "3.12.4": 1, "3.14.1": 1, "3.14.4": 3, "4.1.0": 2, "4.2.0": 1, "4.3.1": 1,
    "4.3.2": 2, "4.3.3": 2, "4.4.0": 1, "4.5.0": 2, "4.6.0": 6, "4.7.1": 3, "4.7.2": 1, "4.7.3": 4, "4.8.0": 2,
    "6.0.0": 4, "7.0.0": 2, "7.1.1": 1, "7.1.2": 1,
}  # fmt: skip
"""Section of the standard -> how many statements it numbers."""


def functions_of(name: str) -> set[str]:
    body = ast.parse((ROOT / name).read_text("utf-8")).body
    return {node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_table_has_every_statement_of_the_standard():
    # The standard writes one of its numbers with a hyphen.
    numbers = {f"MQTT-{section}-{n}" for section, count in COUNTS.items() for n in range(1, count + 1)}

    assert set(STATEMENTS) == numbers - {"MQTT-3.8.3-4"} | {"MQTT-3-8.3-4"}


def test_no_row_is_open():
    assert [number for number, row in STATEMENTS.items() if bool(row.tests) is bool(row.why)] == []


def test_every_named_test_is_there():
    named = {tuple(test.split(":")) for row in STATEMENTS.values() for test in row.tests.split()}
    there = {file: functions_of(path) for file, path in FILES.items()}

    assert sorted((file, test) for file, test in named if test not in there[file]) == []


def test_code_cites_statements_that_the_table_has():
    cited = {
        number
        for part in ("mqtt", "gateway")
        for path in (ROOT / "src" / "tripline" / part).glob("*.py")
        for number in CITATION.findall(path.read_text("utf-8"))
    }

    assert sorted(cited - set(STATEMENTS)) == []
