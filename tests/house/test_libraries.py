"""Libraries are used by their documented surface (decision 011): no private names, few classes extended."""

import ast
import sys
from functools import cache

from tests.support import reference

OWN = {*sys.stdlib_module_names, "tripline"}
EXTENDED = {
    "litestar.response.Response",
    "msgspec.Struct",
    "psycopg.types.string.StrDumperUnknown",
    "sqlalchemy.sql.functions.GenericFunction",
    "uvicorn.Server",
    "uvicorn.protocols.http.httptools_impl.HttpToolsProtocol",
}
"""Classes of libraries that ours extend."""
ERROR_CODES = "confluent_kafka.KafkaError."
"""librdkafka's own error codes have names with an underscore."""
LOOKED_AT = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.Attribute)


@cache
def modules() -> list[tuple[str, list[ast.AST]]]:
    """Every module with its imports, classes and attributes: walking through all of it takes longer than parsing it."""
    found = []
    for path in reference.modules():
        tree = reference.parsed((reference.source_root() / path).read_text("utf-8"))
        found.append((str(path), [node for node in ast.walk(tree) if isinstance(node, LOOKED_AT)]))
    return found


def imported(nodes: list[ast.AST]) -> dict[str, str]:
    """What the module's names of libraries stand for."""
    names = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {each.asname or each.name.partition(".")[0]: each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    return {name: full for name, full in names.items() if full.partition(".")[0] not in OWN}


def full_name(node: ast.expr, names: dict[str, str]) -> str:
    """The dotted name of a library's thing; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute):
            parts.insert(0, node.attr)
        node = node.value
    known = isinstance(node, ast.Name) and node.id in names
    return ".".join([names[node.id], *parts]) if known else ""


def test_only_named_classes_of_libraries_are_extended():
    found = set()
    for _, nodes in modules():
        names = imported(nodes)
        bases = [base for node in nodes if isinstance(node, ast.ClassDef) for base in node.bases]
        found |= {full_name(base, names) for base in bases} - {""}

    assert found == EXTENDED


def test_no_private_name_of_a_library_is_used_or_replaced():
    found = []
    for path, nodes in modules():
        names = imported(nodes)
        found += [f"{path}: {full}" for full in names.values() if "._" in full]
        for node in nodes:
            full = full_name(node, names) if isinstance(node, ast.Attribute) else ""
            if "._" in full and not full.startswith(ERROR_CODES):
                found.append(f"{path}: {full}")
            if full and isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.append(f"{path} sets {full}")

    assert found == []
