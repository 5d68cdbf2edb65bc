"""The table of cited statements is whole, and the tests it names are there."""

import ast
import re
from pathlib import Path

from tests.conformance.statements import STATEMENTS

ROOT = Path(__file__).parents[2]
CITATION = re.compile(r"\[(MQTT-[0-9.]+-[0-9]+)\]")


def functions_of(name: str) -> set[str]:
    return {node.name for node in ast.parse((ROOT / name).read_text("utf-8")).body if isinstance(node, ast.FunctionDef)}


def test_table_has_exactly_the_statements_that_the_code_cites():
    cited = {
        number
        for part in ("mqtt", "gateway")
        for path in (ROOT / "src" / "tripline" / part).glob("*.py")
        for number in CITATION.findall(path.read_text("utf-8"))
    }

    assert set(STATEMENTS) == cited


def test_every_named_test_is_there():
    named = {
        (file, test) for statement in STATEMENTS.values() for file, tests in statement.tests.items() for test in tests
    }
    missing = {(file, test) for file, test in named if test not in functions_of(file)}

    assert missing == set()


def test_every_statement_names_a_test():
    assert [number for number, statement in STATEMENTS.items() if not any(statement.tests.values())] == []
