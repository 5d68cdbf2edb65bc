"""Decision records have one form, and a replaced one says by which record (docs/decisions/README.md)."""

import re
from pathlib import Path

from tests.support import loops, reference

FOLDER = reference.ROOT / "docs" / "decisions"
RECORDS = {path.name[:3]: path for path in sorted(FOLDER.glob("[0-9]*.md"))}
PARTS = ["Choice.", "Reason.", "Measured.", "Costs.", "Not chosen.", "Check."]
NEEDED = {"Choice.", "Reason.", "Check."}
STATUS = re.compile(r"(Replaces|Replaced by|Adds to) (\d{3})((?:,? (?:but )?for [^.]+)?)\.")


def paragraphs(path: Path) -> list[str]:
    """The record's paragraphs behind its title."""
    return path.read_text("utf-8").strip().split("\n\n")[1:]


def status(path: Path) -> list[tuple[str, str, str]]:
    """How the record stands to others: in which way, to which one, for what."""
    first = " ".join(paragraphs(path)[0].split())
    if first.startswith("**"):
        return []
    assert STATUS.sub("", first).strip() == "", first
    return STATUS.findall(first)


@loops.every(RECORDS.values())
def test_record_has_its_parts_in_order(path: Path) -> None:
    found = [lead[1] for text in paragraphs(path) if (lead := re.match(r"\*\*(.+?)\*\*", text))]

    assert [part for part in found if part not in PARTS] == []
    assert found == sorted(set(found), key=PARTS.index)
    assert set(found) >= NEEDED


@loops.every(RECORDS.values())
def test_replaced_record_and_its_successor_name_each_other(path: Path) -> None:
    back = {"Replaces": "Replaced by", "Replaced by": "Replaces"}
    for way, other, what in status(path):
        assert other in RECORDS
        if way in back:
            assert (back[way], path.name[:3], what) in status(RECORDS[other])
