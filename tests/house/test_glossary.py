"""One word a thing: the glossary's forbidden synonyms, and where a noun's files are."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support import loops, reference

GLOSSARY = reference.ROOT / "docs" / "glossary.md"
TEXTS = [
    *reference.own_modules("src"),
    *sorted((reference.ROOT / "docs").glob("*.md")),
    *sorted((reference.ROOT / "docs" / "decisions").glob("*.md")),
    reference.ROOT / "README.md",
    reference.ROOT / "ARCHITECTURE.md",
]
ALLOWED = {
    ("door", "src/tripline/wire/device/tables.py"): "a device's key: the door of a refrigerated body",
    ("door", "src/tripline/wire/device/meanings.py"): "a device's key",
    ("door", "src/tripline/simulator/payloads.py"): "a device's key",
    ("door", "docs/glossary.md"): "forbidden here",
    ("lend", "docs/glossary.md"): "forbidden here",
    ("loan", "docs/glossary.md"): "forbidden here",
    ("lent", "docs/glossary.md"): "forbidden here",
    ("borrow", "docs/glossary.md"): "forbidden here",
}
GERUNDS = {"mounting", "numbering", "scoring", "wiring"}
"""Nouns of the glossary, or of the trade."""
PREFIXES = ("push_", "device_", "rest_", "bus_", "rpc_", "asyncapi_", "openapi_")
"""Folders in disguise."""
FLOORS = ("api", "http", "store", "wire")


def forbidden() -> dict[str, str]:
    """Forbidden synonym -> the word to use."""
    rows = re.findall(r"^\| ([^|]+) \|[^|]*\|(.*)\|$", GLOSSARY.read_text("utf-8"), re.MULTILINE)
    found = {term.strip(): re.search(r"\bNot: ([a-z, ]+)\.", meaning) for term, meaning in rows}
    return {word: term for term, said in found.items() if said for word in said[1].split(", ")}


def uses(word: str, text: str) -> list[str]:
    """Where a text has the word, alone, in the plural, or in a name of several words."""
    plain = _plain(text)
    return re.findall(rf"(?<![a-z]){word}(?:s|ing|ed|er)?(?![a-z])", plain) if word in plain else []


@cache
def _plain(text: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text).lower()


def modules() -> Iterator[Path]:
    yield from (path for path in reference.modules() if "migrations" not in path.parts)


def test_glossary_forbids_words() -> None:
    assert {"door", "loan", "lend"} <= set(forbidden())


@loops.every(sorted(forbidden()))
def test_forbidden_word_is_not_used(word: str) -> None:
    found = {
        name: len(hits)
        for path in TEXTS
        if (name := str(path.relative_to(reference.ROOT))) and (word, name) not in ALLOWED
        if (hits := uses(word, path.read_text("utf-8")))
    }

    assert found == {}, f"the word is {forbidden()[word]}"


@loops.every(ALLOWED)
def test_exception_is_still_needed(word: str, name: str) -> None:
    assert uses(word, (reference.ROOT / name).read_text("utf-8")) != []


@loops.every(["the door", "HttpDoors", "door_of", "two doors", "_doors"])
def test_forbidden_word_is_found_in_prose_and_names(text: str) -> None:
    assert uses("door", text) != []


@loops.every(["outdoors", "doorway", "indoor"])
def test_other_word_is_left_alone(text: str) -> None:
    assert uses("door", text) == []


def test_partitions_are_never_called_parts() -> None:
    named = re.compile(r"adapters/kafka/|store/database/(?:migrate|partitions)|store/bus/|services/partitions")
    wrong = set()
    for path in modules():
        if named.search(path.as_posix()):
            for node in ast.walk(reference.parsed((reference.source_root() / path).read_text("utf-8"))):
                name = next((value for key in ("id", "arg", "name") if (value := getattr(node, key, None))), "")
                if re.fullmatch(r"(?:\w*_)?parts?|Parts?", str(name)):
                    wrong.add(f"{path}: {name}")

    assert wrong == set()


def test_files_have_nouns_for_names() -> None:
    assert [str(path) for path in modules() if path.stem.endswith("ing") and path.stem not in GERUNDS] == []


def test_prefixes_are_folders() -> None:
    flat = [path for path in modules() if len(path.parts) == 2 and path.parts[0] in FLOORS]

    assert [str(path) for path in flat if path.name.startswith(PREFIXES)] == []


def test_no_folder_has_a_single_file() -> None:
    inside: dict[Path, int] = {}
    for path in modules():
        entry = path.parent if path.name == "__init__.py" else path
        inside[entry.parent] = inside.get(entry.parent, 0) + 1

    assert [str(folder) for folder, count in inside.items() if count == 1] == []
