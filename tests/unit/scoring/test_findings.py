"""Repairs of a trip's data: each one is documented."""

import re

from tests.support import reference

from tripline.scoring.findings import REPAIRS


def test_every_repair_is_documented_once_and_no_other():
    page = (reference.ROOT / "docs" / "scoring.md").read_text("utf-8")
    table = page.split("| Repair | Counted |")[1].split("\n\n")[0]

    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(REPAIRS)
