"""Entries of deliveries: found by key, compared for real, and out of the file when they are needed no more."""

import random
from pathlib import Path

import pytest
from tests.support.ingest_rig import MINUTE, NOW, SENSOR, UNMAPPED, Rig, item, microtrip

from tripline.domain import deliveries as marks
from tripline.domain.access import Scope
from tripline.store import tables
from tripline.store.ingest import deliveries
from tripline.store.ingest.deliveries import Sent, StoredEntries

SCOPE = Scope.everything("test")
KEPT_MS = 10 * MINUTE


@pytest.fixture
def rig(tmp_path: Path):
    with Rig.fresh(tmp_path) as made:
        yield made


def count(rig: Rig) -> int:
    return len(rig.rows(tables.delivery))


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
    sent = [Sent(at, SENSOR, at, mark, None, at, payloads.get(at, b"{}")) for at in times for mark in (-at, key)]

    async def look() -> StoredEntries:
        if not rig.store.shared:
            return await rig.store.read(lambda tx: deliveries.stored(tx, SCOPE, sent, since_ms=NOW))
        noted = await deliveries.noted(rig.store, SCOPE, sent, since_ms=NOW, now_ms=NOW)
        return await rig.store.read(lambda tx: deliveries.compared(tx, SCOPE, noted, since_ms=NOW, now_ms=NOW))

    assert rig.run(look()) == (payloads.keys(), set())


@pytest.mark.sqlite("on PostgreSQL whole weeks go")
def test_entries_go_when_they_are_needed_no_more_whatever_their_instants(rig: Rig) -> None:
    chance = random.Random(1)
    headers = [chance.choice([NOW, 9_999_999_999_999, chance.randrange(2**40)]) for _ in range(200)]
    rig.send(*({"ty": 2, "ts": ts, "pld": item(NOW, sp=at)} for at, ts in enumerate(headers)), at=NOW)
    later = NOW + KEPT_MS + 1
    known = []

    for batch in range(40):
        rig.send(*(microtrip(later + batch * 1000 + number) for number in range(10)), at=later + batch * 1000)
        known.append(count(rig))

    assert known[-1] == 40 * 10
    assert max(known) <= 2 * 40 * 10


@pytest.mark.sqlite("on PostgreSQL whole weeks go")
@pytest.mark.parametrize(("later", "kept"), [(KEPT_MS - 1, True), (KEPT_MS, True), (KEPT_MS + 1, False)])
def test_entry_is_kept_for_as_long_as_it_tells_a_redelivery(rig: Rig, later: int, kept: bool) -> None:
    rig.send(microtrip(NOW), at=NOW)

    for step in range(4):
        rig.send(microtrip(NOW + later + step), at=NOW + later)

    assert (NOW in rig.rows(tables.delivery, "instant")) is kept


@pytest.mark.sqlite("on PostgreSQL whole weeks go")
def test_entries_of_a_batch_that_was_not_kept_are_not_dropped_by_it(rig: Rig) -> None:
    rig.send(microtrip(NOW), at=NOW)
    rig.store.away = True
    with pytest.raises(Exception, match="taken away"):
        rig.send(microtrip(NOW + KEPT_MS + 5), at=NOW + KEPT_MS + 5)
    rig.store.away = False

    assert count(rig) == 1
