"""The rejected-message log: read under a scope, counted, bounded."""

from collections.abc import Iterator

import pytest
from sqlalchemy import insert
from tests.support import fleet_rows, reaching, rows

from tripline.domain import ids
from tripline.domain.access import Reach, Scope
from tripline.domain.ids import CompanyId, SensorId
from tripline.store import tables
from tripline.store.ingest import rejected
from tripline.store.ingest.rejected import Holding, Refused
from tripline.store.transactions import WriteTx

NOW = 1_735_689_600_000
EVERYTHING = Scope.everything("test")
MINE, THEIRS = SensorId("sensor-mine"), SensorId("sensor-theirs")


def owner(company: str) -> Scope:
    return Scope("test", frozenset({Reach.OWN_COMPANY}), company_id=CompanyId(company))


@pytest.fixture
def tx() -> Iterator[WriteTx]:
    """Four messages: two of one company's sensor, one of another's, one of no sensor."""
    with rows.memory(keys_checked=False) as made:
        for sensor_id, company in ((MINE, "a"), (THEIRS, "b")):
            reaching.run(made, insert(tables.sensor), fleet_rows.sensor(sensor_id, company))
        rejected.LOG.insert(
            made,
            [
                *(ids.first_no(NOW), "device", MINE, "a", "t", "not_json", "d", b"1", 10, 1, None, None),
                *(ids.first_no(NOW + 1), "device", THEIRS, "b", "t", "not_json", None, b"2", 20, 5, None, None),
                *(ids.first_no(NOW + 2), "bus", None, None, "sf-trip", "no_payload", None, b"3", 30, 1, 0, 7),
                *(ids.first_no(NOW + 3), "device", MINE, "a", "t", "unknown_type", None, b"4", 40, 1, None, None),
            ],
        )
        yield made


def bodies(found: list[Refused]) -> list[bytes]:
    return [message.body for message in found]


def test_newest_first_and_whole(tx):
    found = rejected.newest(tx, EVERYTHING, limit=10)

    assert bodies(found) == [b"4", b"3", b"2", b"1"]
    assert found[3] == Refused(NOW, "device", MINE, "t", "not_json", "d", b"1")


@pytest.mark.parametrize("limit", [1, 3])
def test_newest_stops_at_the_limit(tx, limit):
    assert bodies(rejected.newest(tx, EVERYTHING, limit=limit)) == [b"4", b"3", b"2"][:limit]


def test_scope_hides_other_companies_messages_and_those_of_no_sensor(tx):
    assert bodies(rejected.newest(tx, owner("a"), limit=10)) == [b"4", b"1"]
    assert bodies(rejected.newest(tx, owner("b"), limit=10)) == [b"2"]
    assert rejected.counts(tx, owner("b"), since_ms=0) == {"not_json": 5}


def test_counts_since_an_instant_most_frequent_first(tx):
    assert list(rejected.counts(tx, EVERYTHING, since_ms=0).items()) == [
        ("not_json", 6),
        ("no_payload", 1),
        ("unknown_type", 1),
    ]
    assert rejected.counts(tx, EVERYTHING, since_ms=NOW + 3) == {"unknown_type": 1}


@pytest.mark.parametrize(("before_ms", "left"), [(NOW, 4), (NOW + 1, 3), (NOW + 9, 0)])
def test_purge_deletes_what_came_before_the_instant(tx, before_ms, left):
    assert rejected.any_before(tx, EVERYTHING, before_ms=before_ms) is (left < 4)
    assert rejected.purge(tx, EVERYTHING, before_ms=before_ms) == 4 - left
    assert len(rejected.newest(tx, EVERYTHING, limit=10)) == left


@pytest.mark.parametrize("limit", [1, 3])
def test_purge_takes_the_oldest_up_to_its_limit(tx, limit):
    assert rejected.purge(tx, EVERYTHING, before_ms=NOW + 9, limit=limit) == limit
    assert bodies(rejected.newest(tx, EVERYTHING, limit=10)) == [b"4", b"3", b"2", b"1"][: 4 - limit]


def test_holdings_are_rows_and_bytes_of_each_company_and_of_nobody(tx):
    assert rejected.holdings(tx, EVERYTHING) == {"a": Holding(2, 50), "b": Holding(1, 20), None: Holding(1, 30)}


@pytest.mark.parametrize(
    ("whose", "rows", "size", "gone", "left"),
    [
        ("a", 1, 0, Holding(1, 10), [b"4", b"3", b"2"]),
        ("a", 0, 10, Holding(1, 10), [b"4", b"3", b"2"]),
        ("a", 0, 11, Holding(2, 50), [b"3", b"2"]),
        ("a", 9, 0, Holding(2, 50), [b"3", b"2"]),
        ("a", 0, 0, Holding(0, 0), [b"4", b"3", b"2", b"1"]),
        (None, 1, 0, Holding(1, 30), [b"4", b"2", b"1"]),
        ("c", 1, 1, Holding(0, 0), [b"4", b"3", b"2", b"1"]),
    ],
)
def test_evicted_are_the_oldest_of_one_holder_until_enough_is_gone(tx, whose, rows, size, gone, left):
    assert rejected.evict(tx, EVERYTHING, whose, rows=rows, size=size) == gone
    assert bodies(rejected.newest(tx, EVERYTHING, limit=10)) == left
