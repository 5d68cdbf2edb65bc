"""`docs/limits.md`: numbers are those of the program, settings exist."""

import re

from tests.support import loops, reference

from tripline.adapters.http.bounds import MIB, Bounds
from tripline.config import files as config_files

PAGE = (reference.ROOT / "docs" / "limits.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| Limit ")
]


def test_every_row_names_what_is_bounded_and_how():
    assert len(ROWS) > 15
    assert [row for row in ROWS if len(row) != 5 or not row[0] or not (row[1] or row[2]) or not row[3]] == []


@loops.every(ROWS)
def test_settings_exist(row):
    for setting in re.findall(r"`([a-z]+\.[a-z_]+)`", row[4]):
        section, _, name = setting.partition(".")
        content = config_files.default_file().partition(f"[{section}]\n")[2].partition("\n[")[0]
        assert re.search(rf"^#? ?{name} = ", content, re.MULTILINE), setting


@loops.every(
    [
        ("Open connections of a listener", f"{Bounds().connections:,}"),
        (
            "More of them, of peers on this machine, such as health checks; none with `behind_proxy`",
            f"{Bounds().local}",
        ),
        ("Open connections of an address", f"{Bounds().address_connections:,}"),
        ("Request line and headers", f"{Bounds().head_bytes:,} bytes"),
        ("Headers of a request", f"{Bounds().headers}"),
        ("Requests sent ahead of an answer", f"{Bounds().ahead}"),
        ("Bodies of an address until they are answered", f"{Bounds().address_bodies // MIB} MiB"),
        ("Bodies of all", f"{Bounds().bodies // MIB} MiB"),
        ("Long answers (over 64 KiB) of an address that are not read", f"{Bounds().address_answers // MIB} MiB"),
        ("Long answers of all", f"{Bounds().answers // MIB} MiB"),
    ]
)
def test_numbers_are_those_of_the_program(what, most):
    assert [row[1] for row in ROWS if row[0] == what] == [most]
