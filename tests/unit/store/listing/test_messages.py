"""The list of messages: those that wait, were given up, or were delivered unconfirmed, by pages both ways."""

from functools import partial

import pytest
from sqlalchemy import insert
from tests.support import fleet_rows, listing, outbox, rows
from tests.support.outbox import Waiting

from tripline.domain.ids import CompanyId, RowNo, SensorId
from tripline.domain.pushes import Channel, Name, State
from tripline.store.listing import messages
from tripline.store.listing.messages import Filters
from tripline.store.listing.pages import PageRequest, Place
from tripline.store.push import queue as push_queue
from tripline.store.push.queue import Result
from tripline.store.tables import company, sensor

pytestmark = pytest.mark.deep

SENSOR, OTHER = SensorId("c4d91e60-c801-11ef-9d5c-6b1f6f2a4c11"), SensorId("c4d91e60-c801-11ef-9d5c-6b1f6f2a4c12")
A, B = CompanyId("a"), CompanyId("b")
NOTIFY, RPC = Channel.NOTIFY, Channel.RPC_NOTIFY


@pytest.fixture
def tx():
    """Messages 1 to 12 of company A on both channels by turns, some given up or unconfirmed; 13 is B's. Every third is
    of another sensor and kind."""
    with rows.memory(keys_checked=False) as tx:
        channels = {no: RPC if no % 2 else NOTIFY for no in range(1, 13)}
        serials = {SENSOR: "SN-a000", OTHER: "sn-b007"}
        tx.run(
            insert(sensor),
            [fleet_rows.sensor(each, "p", service_type="ace", serial_no=no) for each, no in serials.items()],
        )
        common = {"created_ms": 1, "service_type": "ace", "master": False, "master_id": "ace"}
        tx.run(insert(company), [{**common, "id": each, "name": each, "token_prefix": each} for each in (A, B)])
        mine = [
            Waiting(
                RowNo(no), f"id {no:02d}", A, OTHER if no % 3 == 0 else SENSOR, 101 if no % 3 == 0 else 2, b"{}", 7, on
            )
            for no, on in channels.items()
        ]
        outbox.add(tx, [*mine, Waiting(RowNo(13), "id 13", B, SENSOR, 2, b"{}", 7)])
        push_queue.settle(
            tx,
            delivered=[],
            postponed=[Result(RowNo(1), 3, 99, "HTTP status 500.")],
            parked=[Result(RowNo(no), 5, 50, "HTTP status 404.") for no in (5, 6, 7, 8)],
            unconfirmed=[Result(RowNo(no), 2, 60, "x") for no in (9, 10)],
        )
        yield tx


def wanted(**filtered):
    """The numbers of messages that are to be listed, by a sentence of Python."""
    states = {**dict.fromkeys((5, 6, 7, 8), State.PARKED), **dict.fromkeys((9, 10), State.UNCONFIRMED)}
    return [
        no
        for no in range(1, 13)
        if states.get(no, State.WAITING) is filtered["state"]
        and filtered.get("channel") in (None, RPC if no % 2 else NOTIFY)
        and filtered.get("name") in (None, Name.EVENT if no % 3 == 0 else Name.MICROTRIP)
        and filtered.get("search") in (None, "sn-", "SN-B" if no % 3 == 0 else "sn-a")
    ]


FILTERS = [
    {},
    {"channel": RPC},
    {"channel": NOTIFY, "name": Name.MICROTRIP},
    {"name": Name.EVENT},
    {"name": Name.DISPUTE, "search": "sn-"},
    {"search": "sn-"},
    {"search": "sn-a"},
    {"search": "SN-B", "channel": NOTIFY},
    {"search": "zz"},
]


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("filtered", FILTERS, ids=str)
def test_messages_are_those_that_pass_by_the_time_they_were_put_in_line(tx, many, state, filtered):
    filters = Filters(company_id=A, state=state, **filtered)
    expected = [] if {Name.DISPUTE, "zz"} & set(filtered.values()) else wanted(state=state, **filtered)
    pages = partial(messages.LIST.page, tx, None, filters)

    for descending in (False, True):
        ids = [f"id {no:02d}" for no in expected][:: -1 if descending else 1]
        assert listing.walked(pages, "made", descending=descending, limit=2) == ids
    assert messages.LIST.count(tx, None, filters) == len(expected)


def test_each_state_has_messages_of_both_sensors_and_both_channels():
    for state in State:
        assert len({no % 2 for no in wanted(state=state)}) == len({no % 3 == 0 for no in wanted(state=state)}) == 2


def test_another_companys_messages_are_not_listed(tx):
    of_both = {
        state: [messages.LIST.count(tx, None, Filters(company_id=of, state=state)) for of in (A, B)] for state in State
    }

    assert of_both == {State.WAITING: [6, 1], State.PARKED: [4, 0], State.UNCONFIRMED: [2, 0]}


@pytest.mark.parametrize(("most", "expected"), [(9, [6, 4, 2]), (4, [4, 4, 2]), (1, [1, 1, 1])])
def test_messages_of_each_state_are_counted_up_to_a_bound(tx, most, expected):
    counted = messages.counts(tx, A, most=most)

    assert [counted[state] for state in (State.WAITING, State.PARKED, State.UNCONFIRMED)] == expected


@pytest.mark.sqlite("how SQLite finds rows")
def test_messages_of_each_state_are_counted_along_its_index(tx):
    with rows.statements(tx) as run:
        messages.counts(tx, A, most=2)

    steps = {step for statement in run for *_, step in rows.plan(tx, statement)}
    assert {step.split("ix_push_outbox_")[1].split()[0] for step in steps if "push_outbox" in step} == set(State)
    assert [step for step in steps if "TEMP B-TREE" in step] == []


def test_message_tells_what_came_of_it(tx):
    first, given_up = (
        messages.LIST.page(
            tx, None, Filters(company_id=A, state=state), PageRequest(limit=1, by="made", descending=descending)
        ).rows[0]
        for state, descending in ((State.WAITING, False), (State.PARKED, True))
    )

    assert (first.no, first.channel, first.attempts, first.due_ms, first.parked_ms) == (1, RPC, 3, 99, None)
    assert (first.last_error, first.serial_no, first.sensor_id) == ("HTTP status 500.", "SN-a000", SENSOR)
    assert (given_up.no, given_up.channel, given_up.attempts, given_up.parked_ms) == (8, NOTIFY, 5, 50)


@pytest.mark.sqlite("how SQLite finds rows")
@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("filtered", [each for each in FILTERS if each.get("search") != "zz"], ids=str)
@pytest.mark.parametrize("place", [None, Place(5, "x")], ids=["first page", "a later one"])
def test_page_is_read_along_an_index(tx, state, filtered, place):
    filters = Filters(company_id=A, state=state, **filtered)
    with rows.statements(tx) as run:
        messages.LIST.page(tx, None, filters, PageRequest(limit=5, by="made", place=place))
        messages.LIST.count(tx, None, filters)

    steps = {step for statement in run for *_, step in rows.plan(tx, statement)}
    # Messages to two addresses are read one after the other: as many of each as a page shows.
    both = state is not State.PARKED and "channel" not in filtered
    assert len([each for each in run if "FROM push_outbox" in each]) == (4 if both else 2)
    assert [step for step in steps if f"ix_push_outbox_{state} (company_id=?" in step]
    by_serial = "USING INDEX uq_sensor_serial_key (service_type=? AND serial_key>? AND serial_key<?)"
    assert bool([step for step in steps if by_serial in step]) is ("search" in filtered)
    assert [step for step in steps if step.startswith("SCAN push_outbox")] == []
    assert {step for step in steps if "TEMP B-TREE" in step} <= {"USE TEMP B-TREE FOR RIGHT PART OF ORDER BY"}


def test_search_that_finds_no_sensor_reads_no_message(tx):
    filters = Filters(company_id=A, state=State.PARKED, search="zz")
    with rows.statements(tx) as run:
        page = messages.LIST.page(tx, None, filters, PageRequest(limit=5, by="made"))
        counted = messages.LIST.count(tx, None, filters)

    assert (page.rows, counted) == ([], 0)
    assert run
    assert [each for each in run if "push_outbox" in each] == []
