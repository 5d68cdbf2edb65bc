"""Entries of deliveries: found by key and compared for real."""

from pathlib import Path

import pytest
from tests.support.ingest_rig import MINUTE, NOW, SENSOR, UNMAPPED, Rig, microtrip

from tripline.domain import deliveries as marks
from tripline.domain.access import Scope
from tripline.store import tables
from tripline.store.ingest import deliveries
from tripline.store.ingest.deliveries import Sent, StoredEntries

SCOPE = Scope.everything("test")


@pytest.fixture
def rig(tmp_path: Path):
    with Rig.fresh(tmp_path) as made:
        yield made


def test_message_with_the_entry_of_another_is_no_redelivery(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever two messages have in common by chance."""
    monkeypatch.setattr(marks, "key_of", lambda _: 7)
    monkeypatch.setattr(marks, "mark_of", lambda *_: 7)
    sent = [microtrip(NOW), microtrip(NOW, sp=1), {"ty": 104, "ts": NOW, "pld": {"wbv": 1}}]
    rig.send(*sent, {"ty": 113, "ts": NOW, "pld": {"wbv": 1}})

    rig.send(microtrip(NOW), sensor=UNMAPPED)
    rig.send(microtrip(NOW), microtrip(NOW, sp=2), {"ty": 104, "ts": NOW, "pld": {"wbv": 2}})

    assert len(rig.rows(tables.microtrip)) == 4
    assert len(rig.rows(tables.device_event)) == 3


def test_any_number_of_keys_is_looked_up_at_once(rig: Rig) -> None:
    times = [NOW + number for number in range(1, 700)]
    rig.send(*(microtrip(at) for at in times[::2]), at=NOW + MINUTE)
    key = marks.key_of(SENSOR)
    payloads = dict(rig.rows(tables.microtrip, "ts", "payload"))
    sent = [Sent(at, SENSOR, at, mark, None, at, payloads.get(at, b"{}"), at) for at in times for mark in (-at, key)]

    found = StoredEntries(set(), set())

    async def look() -> None:
        search = await deliveries.search(rig.store, SCOPE, sent, since_ms=NOW, now_ms=NOW, found=found)
        assert search is not None
        await rig.store.read(search)

    rig.run(look())

    assert found == (payloads.keys(), set())
