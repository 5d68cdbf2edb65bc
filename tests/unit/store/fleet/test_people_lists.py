"""Lists of people and companies: one query for a page however many rows it has, read in index order."""

import pytest
from sqlalchemy import insert
from tests.support import rows
from tests.support.listing import SCANNED

from tripline.domain.access import Authority, Reach, Scope
from tripline.domain.ids import CompanyId, UserId
from tripline.store.erasure import remains
from tripline.store.fleet import companies, people
from tripline.store.lists import Window
from tripline.store.tables import account, company, gps_event, trip

OPERATOR = CompanyId("company 0")
SCOPE = Scope("test", frozenset({Reach.OWN_COMPANY, Reach.PARTNERS}), UserId("user 0"), OPERATOR)


def fill(tx, size):
    """An operator with all the drivers and the other companies as its partners."""
    common = {"created_ms": 1, "service_type": "ace", "master_id": OPERATOR}
    tx.run(
        insert(company),
        [
            {**common, "id": f"company {n}", "name": f"{n}", "master": n == 0, "token_prefix": f"{n:05d}"}
            for n in range(size)
        ],
    )
    common = {"created_ms": 1, "company_id": OPERATOR, "authority": "DRIVER", "password_hash": "", "enabled": True}
    tx.run(
        insert(account),
        [
            {**common, "id": f"user {n}", "name": f"{n}", "email": f"{n}", "login": f"{n}", "password_updated_ms": 1}
            for n in range(size)
        ],
    )


READS = {
    "companies": lambda tx, window: companies.listed(tx, SCOPE, "ace", window),
    "drivers": lambda tx, window: people.of_company(tx, SCOPE, OPERATOR, Authority.DRIVER, window),
}


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("name", READS)
def test_list_takes_one_query_for_1_and_3_rows(name, size):
    with rows.memory() as tx:
        fill(tx, size)

        with rows.statements(tx) as seen:
            found = READS[name](tx, Window(limit=10))

        assert (len(found), len(seen)) == (size, 1)


@pytest.mark.sqlite("how SQLite finds rows")
@pytest.mark.parametrize("continued", [False, True])
@pytest.mark.parametrize("name", READS)
def test_page_is_read_in_index_order_without_sorting(name, continued):
    with rows.memory() as tx:
        fill(tx, 3)
        offset = {"text_offset": "1", "id_offset": "x"} if continued else {}
        with rows.statements(tx) as seen:
            READS[name](tx, Window(limit=2, **offset))

        plans = [row[3] for row in rows.plan(tx, seen[0]) if row[3] not in SCANNED]

        assert not [step for step in plans if "TEMP B-TREE" in step or step.startswith("SCAN")], plans


def test_driver_is_taken_out_of_the_rows_a_bounded_number_at_a_time():
    with rows.memory() as tx:
        common = {"created_ms": 1, "user_id": "gone", "vehicle_id": "v", "device_type": "GPS"}
        state = {"company_id": "c", "service_type": "ace", "parking": False, "state": "COMPLETE"}
        tx.run(insert(trip), [{**common, **state, "no": n, "id": f"trip {n}"} for n in range(5)])
        event = {"trip_no": 1, "trip_id": "t", "event_ms": 1, "event_type": 5, "speed_mh": 1.0, "lat": 1.0, "lon": 1.0}
        tx.run(insert(gps_event), [{**common, **event, "info": "", "no": n, "id": f"event {n}"} for n in range(3)])
        tx.run(insert(gps_event), {**common, **event, "info": "", "no": 9, "id": "event 9", "user_id": "stays"})

        touched = [remains.erase_some_of_person(tx, UserId("gone"), limit=2) for _ in range(6)]

        left = [row.user_id for row in tx.all(gps_event.select().order_by(gps_event.c.no))]
        assert touched == [2, 2, 1, 2, 1, 0]
        assert left == [None, None, None, "stays"]
