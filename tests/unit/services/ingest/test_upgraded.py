"""Messages that a program of the version before stored have no entries: a second delivery is told all the same."""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import delete
from tests.support.ingest_rig import MINUTE, NOW, SENSOR, UNMAPPED, Rig, aggregate, item, microtrip, trip_message

from tripline.store import tables

EVENT = {"ty": 104, "ts": NOW, "pld": {"wbv": 11.8}}
SENT: list[Any] = [
    microtrip(NOW),
    microtrip(NOW + 1000),
    aggregate([NOW + 2000, NOW + 3000]),
    {"ty": 2, "pld": item(NOW - 5000)},
    {"ty": 2, "ts": 9_999_999_999_999, "pld": {"tid": 41, "lat": 35.0, "lon": 129.0}},
    EVENT,
    {"ty": 104, "pld": {"tid": 41, "clt": NOW, "wbv": 11.9}},
]


def as_before(rig: Rig, *, but: Sequence[int] = ()) -> None:
    """As an upgraded database is found: no entries but of these rows."""
    older = delete(tables.delivery).where(tables.delivery.c.no.not_in(but))
    rig.run(rig.store.write(lambda tx: tx.run(older)))
    rig.restart()


def stored(rig: Rig) -> list[list[Any]]:
    return [rig.rows(table) for table in (tables.trip, tables.microtrip, tables.device_event)]


def test_what_the_version_before_stored_is_not_stored_again(rig: Rig) -> None:
    rig.send(*SENT, at=NOW + MINUTE)
    rig.send(microtrip(NOW), sensor=UNMAPPED)
    before = stored(rig)
    as_before(rig)

    rig.send(*SENT)
    rig.send(microtrip(NOW), sensor=UNMAPPED)

    assert stored(rig) == before


def test_what_it_stored_before_its_trip_message_is_not_stored_again(rig: Rig) -> None:
    sent = [microtrip(NOW), trip_message(NOW, NOW + 500), microtrip(NOW + 60_000)]
    rig.send(*sent, at=NOW + MINUTE)
    before = stored(rig)
    as_before(rig)

    rig.send(*sent)

    assert stored(rig) == before


def test_upgrade_while_both_versions_take_in_turns_stores_nothing_twice(rig: Rig) -> None:
    rig.send(*SENT[:2], at=NOW + MINUTE)
    as_before(rig)
    rig.send(SENT[2])
    newer = rig.rows(tables.delivery, "no")
    rig.send(*SENT[3:])
    before = stored(rig)
    as_before(rig, but=newer)

    rig.send(*SENT)

    assert stored(rig) == before


def test_entries_are_made_once(rig: Rig) -> None:
    rig.send(*SENT, at=NOW + MINUTE)
    as_before(rig)
    rig.send(microtrip(NOW + 9000))
    made = rig.rows(tables.delivery)
    rig.restart()

    rig.send(microtrip(NOW + 10_000))

    assert len(made) == len(SENT) + 1
    assert len(rig.rows(tables.delivery)) == len(made) + 1


@pytest.mark.parametrize("sent", SENT, ids=str)
def test_newest_message_of_any_kind_is_found_to_have_its_entry(rig: Rig, sent: Any) -> None:
    rig.send(sent, {"ty": 2, "pld": {"tid": 41, "lat": 35.0, "lon": 129.0}}, at=NOW + MINUTE)
    made = rig.rows(tables.delivery)
    rig.restart()

    rig.send({"ty": 2, "pld": {"tid": 41, "lat": 35.0, "lon": 129.0}})

    assert len(rig.rows(tables.delivery)) == len(made) + 1
    assert SENSOR in rig.pipeline.tracks._tracks
