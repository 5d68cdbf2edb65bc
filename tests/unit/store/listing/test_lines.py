"""The list of lines: those of the company's devices inside the scope, in each order, filtered, by pages both ways."""

from functools import partial

import pytest
from msgspec.structs import asdict
from sqlalchemy import insert, select
from tests.support import fleet_rows, listing, reaching, rows

from tripline.domain.access import Action
from tripline.domain.lines import NwStatus
from tripline.store import scopes
from tripline.store.listing import lines
from tripline.store.listing.lines import Filters
from tripline.store.listing.pages import PageRequest, Place
from tripline.store.tables import carrier_line, sensor, vehicle_user

pytestmark = pytest.mark.deep

LOOKERS = [each for each in listing.LOOKERS if listing.scope(each, Action.SENSOR_READ) is not None]
NUMBERED = {"0101234A": "01012340046", "01077": None, "3569": "+82101234", "+8210": "01012349999"}
"""Serial number -> telephone number of further lines of company p; devices without a line have serial numbers alike."""
FILTERS = [
    {},
    {"search": "sn-"},
    {"search": "SN-b02"},
    {"search": "010"},
    {"search": "010-1234-0"},
    {"search": "0101234004"},
    {"search": "01077"},
    {"search": "3569"},
    {"search": "+82 10"},
    {"search": "999"},
    {"state": NwStatus.NORMAL},
    {"state": NwStatus.USE_SUSPENDED},
    {"state": NwStatus.DORMANT},
    {"state": NwStatus.USE_SUSPENDED, "search": "010"},
    {"state": NwStatus.ENDED, "search": "sn-a"},
]


@pytest.fixture(scope="module")
def tx():
    with rows.memory(keys_checked=False) as transaction:
        listing.fill(transaction)
        numbered(transaction)
        reaching.recount(transaction)
        yield transaction


def numbered(tx):
    """Devices on vehicles that a director manages, whose serial numbers are numbers; and that director's right on
    another company's vehicle, whose device has a line."""
    for at, (serial_no, mdn) in enumerate(NUMBERED.items()):
        for key, serial in ((f"x{at}", serial_no), (f"y{at}", f"{serial_no}0")):
            device = fleet_rows.sensor(
                key, "p", created_ms=1_001, service_type="ace", vehicle_id="v9", serial_no=serial
            )
            tx.run(insert(sensor), device)
        tx.run(insert(carrier_line), {**listing._line(at), "sensor_id": f"x{at}", "mdn": mdn})
    right = {"id": "right", "created_ms": 1, "vehicle_id": "v10", "company_id": "q", "user_id": "director-p"}
    tx.run(insert(vehicle_user), {**right, "user_role": "DELEGATED_DIRECTOR"})


def wanted(tx, scope, filters):
    """The lines that are to be listed, by a sentence of Python."""
    joined = select(sensor, carrier_line.c.mdn, carrier_line.c.nw_status).join(carrier_line)
    inside = tx.all(joined.where(scopes.sensors(scope.reaches)), scopes.values(scope))
    text = (filters.search or "").lower()
    return [
        row
        for row in inside
        if row.company_id == scope.company_id
        and filters.state in (None, row.nw_status)
        and (row.serial_no.lower().startswith(text) or (row.mdn or "").startswith(text.translate({32: "", 45: ""})))
    ]


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("filtered", FILTERS, ids=str)
def test_lines_are_those_of_the_company_that_pass_in_each_order(tx, filtered):
    filters = Filters(**filtered)
    for scope in (listing.scope(looker, Action.SENSOR_READ) for looker in LOOKERS):
        expected = wanted(tx, scope, filters)

        listing.assert_in_each_order(
            partial(lines.LIST.page, tx, scope, filters),
            expected,
            {"serial": "serial_no", "created": "created_ms"},
            limits=(2, 7),
        )
        assert lines.LIST.count(tx, scope, filters) == len(expected)


def test_everybody_sees_some_lines_and_nobody_those_of_another_company(tx):
    seen = {
        looker: {row.id for row in wanted(tx, listing.scope(looker, Action.SENSOR_READ), Filters())}
        for looker in LOOKERS
    }
    partner, director = seen.pop("partner"), seen.pop("director")

    assert director < partner
    assert "s10" not in director
    assert "s45" in director
    assert all(seen.values())
    assert not partner.intersection(*seen.values())


def test_each_filter_lets_somebodys_lines_pass_but_those_for_nothing(tx):
    passed = [
        any(wanted(tx, listing.scope(looker, Action.SENSOR_READ), Filters(**filtered)) for looker in LOOKERS)
        for filtered in FILTERS
    ]

    assert [filtered for filtered, some in zip(FILTERS, passed, strict=True) if not some] == [
        {"search": "999"},
        {"state": NwStatus.DORMANT},
    ]


def test_line_is_shown_with_its_device(tx):
    scope, filters = listing.scope("partner", Action.SENSOR_READ), Filters(search="0101234-0025")
    (found,) = lines.LIST.page(tx, scope, filters, PageRequest(limit=9, by="serial")).rows

    assert asdict(found) == {
        "id": "s25",
        "created_ms": 996,
        "serial_no": f"SN-{listing.NUMBERS[25]}",
        "vehicle_id": "v25",
        "vehicle_no": listing.NUMBERS[25],
        "mdn": "01012340025",
        "nw_status": NwStatus.ENDED,
        "subscription": None,
        "imsi": "450080025",
        "iccid": "89820025",
        "updated_ms": 1,
    }


@pytest.mark.parametrize(
    ("looker", "filtered", "statements"),
    [
        ("partner", {}, 1),
        ("partner", {"search": "010"}, 3),
        ("partner", {"state": NwStatus.ENDED}, 2),
        ("partner", {"search": "010", "state": NwStatus.ENDED}, 4),
        ("director", {}, 1),
        ("director", {"search": "010"}, 3),
    ],
)
def test_list_takes_a_fixed_number_of_statements(tx, looker, filtered, statements):
    scope = listing.scope(looker, Action.SENSOR_READ)
    asked = []
    for limit in (1, 30):
        with rows.statements(tx) as seen:
            lines.LIST.page(tx, scope, Filters(**filtered), PageRequest(limit=limit, by="serial"))
        asked.append(len(seen))

    assert asked == [statements, statements]


def plans(tx, looker, filters, turn):
    """How SQLite finds the rows of each statement of a page and of its count."""
    scope = listing.scope(looker, Action.SENSOR_READ)
    with rows.statements(tx) as seen:
        lines.LIST.page(tx, scope, filters, turn)
        lines.LIST.count(tx, scope, filters)
    return [[step for *_, step in rows.plan(tx, statement)] for statement in seen]


@pytest.mark.sqlite("how SQLite finds rows")
@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("filtered", FILTERS, ids=str)
def test_no_list_of_lines_looks_at_a_whole_table(tx, filtered):
    asked = [
        PageRequest(limit=3, by=by, place=place) for by in ("serial", "created") for place in (None, Place("1", "x"))
    ]
    found = [plans(tx, looker, Filters(**filtered), turn) for looker in ("partner", "director") for turn in asked]

    steps = {step for plan in found for statement in plan for step in statement}
    assert {step for step in steps if step.startswith("SCAN")} <= listing.SCANNED


@pytest.mark.sqlite("how SQLite finds rows")
@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("place", [None, Place("1", "x")], ids=["first page", "a later one"])
@pytest.mark.parametrize(("by", "index"), [("serial", "ix_reach_name"), ("created", "ix_reach_created")])
def test_page_of_a_companys_lines_is_read_along_an_index(tx, by, index, place, back):
    (page, count) = plans(tx, "partner", Filters(), PageRequest(limit=3, by=by, place=place, back=back))

    assert [step for step in page if f"SEARCH listed USING COVERING INDEX {index} (principal=?" in step]
    assert [step for step in count if "SEARCH listed USING COVERING INDEX ix_reach_" in step]
    assert not [step for step in page if "TEMP B-TREE" in step]


@pytest.mark.sqlite("how SQLite finds rows")
@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("many", ["sorting"], indirect=True)
@pytest.mark.parametrize("filtered", [{}, {"search": "010"}], ids=str)
def test_lines_in_a_state_that_few_have_are_found_by_it(tx, filtered):
    found = plans(tx, "partner", Filters(state=NwStatus.USE_SUSPENDED, **filtered), PageRequest(limit=3, by="serial"))

    index = "SEARCH carrier_line USING COVERING INDEX ix_carrier_line_state (nw_status=?)"
    lists = [plan for plan in found if "SCAN few" in plan]
    assert [index in plan for plan in lists] == [True] * (2 if filtered else 1)
    assert not [step for plan in lists for step in plan if "ix_reach" in step]


@pytest.mark.sqlite("how SQLite finds rows")
def test_devices_of_a_director_are_found_by_the_directors_reach(tx):
    (page, _) = plans(tx, "director", Filters(), PageRequest(limit=3, by="serial"))

    assert "SEARCH listed USING COVERING INDEX ix_reach_name (principal=? AND kind=?)" in page
