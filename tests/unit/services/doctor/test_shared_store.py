"""The doctor's verdicts about a shared database and the processes on it."""

import pytest
from msgspec.structs import replace

from tripline.ports.outages import Fault, StoreOutage
from tripline.services import doctor
from tripline.services.doctor import Finding
from tripline.store.database.inspection import ASIDE_COUNTED, Node, Shared
from tripline.store.database.partitions import Partition
from tripline.store.database.requirements import Server

WEEK_MS = 7 * 86_400_000
SERVING = Node("one", "all", 0, 60_000)
PARTS = [Partition(table, week * WEEK_MS) for week in range(4) for table in ("microtrip", "gps_event")]
WELL = Shared(
    server=Server(150_014, "UTF8", standby=False, knows_letters=True),
    clock_ms=0,
    ahead_ms=0,
    nodes=[SERVING],
    connections=10,
    connections_allowed=100,
    checksum_failures=0,
    partitions_wanted=PARTS,
    partitions_missing=[],
    aside=0,
)


def finding(subject: str, seen: Shared) -> Finding:
    (found,) = [each for each in doctor.about_shared(seen) if each.subject == subject]
    return found


def processes(*nodes: Node) -> tuple[bool, str]:
    found = finding("processes", replace(WELL, nodes=nodes))
    return found.well, found.text


def test_shared_database_that_is_well_has_nothing_wrong():
    found = doctor.about_shared(WELL)

    assert [each.subject for each in found] == ["database", "connections", "clock", "partitions", "processes"]
    assert all(each.well for each in found)
    assert found[0].text == "PostgreSQL 15.14, UTF8"


def test_blocks_with_a_wrong_checksum_are_wrong():
    found = finding("database", replace(WELL, checksum_failures=2))

    assert not found.well
    assert found.text.startswith("PostgreSQL 15.14, UTF8; damaged: reads that met a wrong checksum: 2. ")


@pytest.mark.parametrize("fault", list(Fault))
def test_database_that_fails_the_doctor_is_wrong_with_a_remedy(fault):
    found = doctor.failed_shared(StoreOutage(fault, "The store said so"))

    assert (found.well, found.text.partition("; ")[0]) == (False, "The store said so")


@pytest.mark.parametrize(("used", "well"), [(89, True), (90, False), (91, False)])
def test_connections_are_counted_against_those_allowed(used, well):
    found = finding("connections", replace(WELL, connections=used))

    mend = "" if well else "; raise max_connections, or lower store.readers and store.writers"
    assert (found.well, found.text) == (well, f"{used} of 100 used{mend}")


@pytest.mark.parametrize(
    ("ahead_ms", "well"), [(-1_001, False), (-1_000, True), (999, True), (1_000, True), (1_001, False)]
)
def test_clock_that_is_a_second_off_is_wrong(ahead_ms, well):
    found = finding("clock", replace(WELL, ahead_ms=ahead_ms))

    way = "ahead of" if ahead_ms > 0 else "behind"
    off = f"this machine is 1.0 s {way} the database; synchronise both with NTP"
    assert (found.well, found.text) == (
        (True, f"this machine and the database differ by {abs(ahead_ms)} ms") if well else (False, off)
    )


@pytest.mark.parametrize(("week", "well"), [(0, False), (1, False), (2, True), (3, True)])
def test_partition_is_missed_when_its_week_is_near(week, well):
    missing = Partition("microtrip", week * WEEK_MS)

    found = finding("partitions", replace(WELL, partitions_missing=[missing]))

    assert (found.well, found.lines) == (well, () if well else (missing.name,))
    assert well or found.text == "1 is missing; run `tripline migrate`"


@pytest.mark.parametrize(
    ("aside", "said"),
    [(0, ""), (1, "; 1 row is"), (2, "; 2 rows are"), (ASIDE_COUNTED, f"; {ASIDE_COUNTED} or more rows are")],
)
def test_rows_in_no_weeks_partition_are_told(aside, said):
    text = finding("partitions", replace(WELL, aside=aside)).text

    rows = f"{said} outside the weekly partitions" if said else ""
    assert text == f"this week and the next have their partitions{rows}"


@pytest.mark.parametrize(
    ("roles", "idle"),
    [
        (["all"], None),
        (["api", "gateway", "worker"], None),
        (["api,gateway,worker"], None),
        (["api", "gateway"], "worker"),
        (["api", "worker"], "gateway"),
        (["gateway,worker"], "api"),
        (["worker"], "api or gateway"),
    ],
)
def test_role_that_nobody_does_is_named(roles, idle):
    found = processes(*(Node(f"n{number}", each, 0, 0) for number, each in enumerate(roles)))

    count = len(roles)
    assert found == (
        (True, f"{count} running") if idle is None else (False, f"{count} running, no process has the role {idle}")
    )


@pytest.mark.parametrize(
    ("silent_ms", "idle"),
    [(9_999, ""), (10_000, ", no process has the role worker"), (10_001, ", no process has the role worker")],
)
def test_process_that_fell_silent_does_no_role(silent_ms, idle):
    nodes = [Node("a", "api,gateway", 0, 120_000), Node("w", "worker", silent_ms, 60_000)]

    found = finding("processes", replace(WELL, nodes=nodes))

    assert found.text == f"{1 if idle else 2} running{idle}"
    assert found.lines == ("a: api,gateway, for 2 min", f"w: worker, for 1 min{', silent for 10 s' if idle else ''}")


def test_installation_that_was_stopped_is_well_and_one_that_was_killed_is_not():
    killed = replace(SERVING, silent_ms=10_000)

    assert processes() == (True, "no process is running")
    assert processes(killed) == (False, "no process is running; these did not shut down cleanly; start them again")


@pytest.mark.parametrize("silent_ms", [0, 60_000])
def test_command_at_work_is_no_process_that_serves(silent_ms):
    command = Node("import", "command", silent_ms, 1_000)

    assert processes(command) == (True, "no process is running")
    assert processes(command, SERVING) == (True, "1 running")
    assert processes(command, replace(SERVING, roles="api")) == (
        False,
        "1 running, no process has the role gateway or worker",
    )
