"""The way of a microtrip: no function on it takes or gives a tuple of several things, which would have no names."""

import ast
from collections.abc import Iterator

from tests.support import reference

PACKAGE = reference.ROOT / "src" / "tripline"
WAY = (
    *("mqtt", "gateway/connection.py", "ports", "wire/frames.py", "wire/readings.py", "wire/bus", "wire/device"),
    *("services/batch_tries.py", "services/bus", "services/ingest", "services/live", "services/scores"),
    *("store/bus", "store/ingest", "store/scores", "store/trips", "store/positions.py"),
    *("domain/deliveries.py", "domain/positions.py", "domain/samples.py", "domain/stored_trips.py", "domain/trips.py"),
    *("scoring", "roads/anchors.py", "roads/candidates.py", "roads/changes.py", "roads/crossings.py"),
    *("roads/limited.py", "roads/located.py", "roads/matcher.py", "roads/ways.py", "adapters/kafka/holdings.py"),
    *("adapters/maps/roads_osm.py", "api/explanations.py", "api/scores.py", "api/trips.py", "http/reads.py"),
)
"""From a device's frame, or a customer's message, to readings, rows, scores and answers."""
KEPT = {
    "domain/positions.py: _order": "a sort key",
    "mqtt/events.py: Frame": "a hundred thousand of them a second",
    "mqtt/filters.py: fault": "of a SUBSCRIBE",
    "mqtt/outbound.py: publish": "of a call",
    "scoring/rules.py: ByCategory": "one number a column",
    "services/scores/disputes.py: work": "of a dispute",
    "services/scores/duplicates.py: _rank": "a sort key",
    "services/scores/results.py: _says": "is compared as a whole",
    "store/scores/disputes.py: inside": "of a dispute",
    "store/scores/reads.py: scored_trips": "tens of thousands of them",
    "store/scores/rescorings.py: inside": "of a rescoring",
}
"""Where a tuple stays, and why; those of other ways are beside this one in a file."""


def is_anonymous(annotation: ast.expr | None) -> bool:
    """Whether it says a tuple of so many things, which may differ."""
    return annotation is not None and any(
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == "tuple"
        and not (isinstance(node.slice, ast.Tuple) and ast.unparse(node.slice.elts[-1]) == "...")
        for node in ast.walk(annotation)
    )


def anonymous(source: str) -> Iterator[str]:
    """Functions that take or give such a tuple, and other names for one."""
    tree = reference.parsed(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = node.args
            taken = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            if any(map(is_anonymous, [node.returns, *(each.annotation for each in taken)])):
                yield node.name
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Subscript):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            if isinstance(target, ast.Name) and is_anonymous(node.value):
                yield target.id


def test_no_function_on_the_way_of_a_microtrip_hands_on_a_value_without_a_name():
    files = [
        path
        for name in WAY
        for path in sorted([PACKAGE / name] if name.endswith(".py") else (PACKAGE / name).rglob("*.py"))
    ]

    found = {
        f"{path.relative_to(PACKAGE).as_posix()}: {name}" for path in files for name in anonymous(path.read_text())
    }

    assert found == KEPT.keys()


def test_tuple_of_several_things_is_found_wherever_it_stands():
    source = """
Pair = tuple[int, str]
Many = tuple[int, ...]

def takes(pairs: list[tuple[int, str]]) -> None: ...

def gives(many: tuple[int, ...]) -> tuple[int, str] | None: ...

async def neither(many: tuple[int, ...]) -> Pair: ...
"""

    assert sorted(anonymous(source)) == ["Pair", "gives", "takes"]
