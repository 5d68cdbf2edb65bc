"""A batch from frames to settled sources: rejects, bugs, outages, other processes (spec/device-messages C5, A3-A6)."""

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert
from tests.support import stores
from tests.support.ingest_rig import (
    NOW,
    OTHER_VEHICLE,
    SENSOR,
    TOPIC,
    VEHICLE,
    FakeSource,
    Rig,
    frame,
    item,
    microtrip,
    seed_rows,
    trip_message,
)

from tripline.domain.ids import SensorId
from tripline.ports.outages import Outage
from tripline.services.device_frames import Frame
from tripline.services.ingest.batch import Batch
from tripline.services.ingest.pipeline import ALONE_FROM, LONG_BYTES, TOLD_AT_ONCE, acknowledge
from tripline.store import tables
from tripline.store.database.sqlite import SqliteStore
from tripline.wire.device import publish as device_publish
from tripline.wire.device import reasons as device_reasons
from tripline.wire.readings import Rejected

LOG = ("source", "sensor_id", "topic", "reason", "body")


@pytest.mark.parametrize(
    "body", [b'{"ty":2}', b'{"ty":2,"pld":"x"}', b'{"ty":55,"pld":{}}', b"not json"], ids=["bare", "text", "55", "text"]
)
def test_c5_unusable_message_is_logged_with_its_reason_and_acknowledged(rig, body):
    source = rig.send(body, microtrip(NOW))

    reason = device_publish.read(TOPIC, body, received_ms=NOW, sensor_type="GPS", max_items=1000)[0]
    assert isinstance(reason, Rejected)
    assert rig.rows(tables.rejected_message, *LOG) == [("device", SENSOR, TOPIC, reason.reason, body)]
    assert source.settlements == [[1, 2]]
    assert len(rig.rows(tables.microtrip)) == 1


@pytest.mark.parametrize(("size", "mark"), [(4_095, ""), (4_096, ""), (4_097, " [the first 4096 of 4097 bytes]")])
def test_c5_long_unusable_body_is_kept_in_part(rig, size, mark):
    rig.send(b"x" * size)

    sentence = device_reasons.REASONS["not_json"]
    assert rig.rows(tables.rejected_message, "detail", "body") == [(sentence + mark, b"x" * min(size, 4_096))]


def test_c5_foreign_topic_is_logged_and_acknowledged(rig):
    topic = "some/" + "long/" * 80 + "topic"
    source = rig.send(b"anything", topic=topic)

    assert rig.rows(tables.rejected_message, "topic", "body") == [(topic[:255], b"anything")]
    assert source.settlements == [[1]]


def test_a3_empty_array_is_acknowledged_and_leaves_nothing(rig):
    source = rig.send({"ty": 2, "ts": NOW, "pld": []})

    assert source.settlements == [[1]]
    assert rig.rows(tables.trip) == rig.rows(tables.rejected_message) == []


def test_a4_element_that_is_no_object_is_logged_and_the_others_are_used(rig):
    rig.send({"ty": 2, "ts": NOW, "pld": [item(NOW), 7, item(NOW + 1000)]})

    assert len(rig.rows(tables.microtrip)) == 1
    assert len(rig.rows(tables.rejected_message)) == 1


def test_a6_array_of_trip_payloads_is_one_trip_each(rig):
    payloads = [trip_message(NOW, NOW + end, tid=end)["pld"] for end in (1, 2, 3)]
    rig.send({"ty": 1, "ts": NOW + 9, "pld": payloads}, at=NOW + 9)

    assert rig.rows(tables.trip, "tid", "end_ms") == [(1, NOW + 1), (2, NOW + 2), (3, NOW + 3)]


@pytest.mark.parametrize("count", [1, 3])
def test_sources_are_settled_once_a_batch_in_the_order_offered(rig, count):
    sources = [FakeSource(), FakeSource()]
    rig.take_in([frame(sources[at % 2], microtrip(NOW + at), NOW, token=at + 10) for at in range(count * 2)])

    assert [source.settlements for source in sources] == [
        [[at + 10 for at in range(0, count * 2, 2)]],
        [[at + 10 for at in range(1, count * 2, 2)]],
    ]


def test_refused_publish_is_logged_with_its_size_and_settled_in_order(rig):
    source = FakeSource()
    refused = Rejected(reason="too_large", detail="300000 bytes", body=b"head")
    rig.take_in(
        [
            frame(source, microtrip(NOW), NOW, token=1),
            Frame(source, TOPIC, b"head", NOW, 2, refused),
            frame(source, microtrip(NOW + 1), NOW, token=3),
        ]
    )

    assert source.settlements == [[1, 2, 3]]
    assert rig.rows(tables.rejected_message, "reason", "detail", "body") == [("too_large", "300000 bytes", b"head")]


def test_message_of_a_removed_sensor_is_logged(rig):
    gone = SensorId("00000000-0000-11ef-8000-0000000000ff")
    source = rig.send(microtrip(NOW), sensor=gone)

    assert rig.rows(tables.rejected_message, "sensor_id", "reason") == [(gone, "unknown_sensor")]
    assert source.settlements == [[1]]


@pytest.mark.parametrize("count", [1, 3, 8])
@pytest.mark.parametrize("position", ["first", "last"])
def test_bug_in_one_message_sets_that_one_aside_and_keeps_the_others(rig, monkeypatch, count, position):
    read = device_publish.read

    def broken(topic: str, body: bytes, **more: Any) -> Any:
        if b"poison" in body:
            raise RuntimeError("a bug")
        return read(topic, body, **more)

    monkeypatch.setattr(device_publish, "read", broken)
    good = [microtrip(NOW + at) for at in range(count)]
    poison = {"ty": 2, "pld": {"poison": 1}}
    source = rig.send(*([poison, *good] if position == "first" else [*good, poison]))

    assert rig.rows(tables.microtrip, "ts") == [NOW + at for at in range(count)]
    assert rig.rows(tables.rejected_message, "reason", "body") == [("internal", json.dumps(poison).encode())]
    assert [token for tokens in source.settlements for token in tokens] == list(range(1, count + 2))
    assert len(rig.rows(tables.trip)) == 1


def test_outage_settles_nothing_and_keeps_nothing(rig):
    rig.send(microtrip(NOW))
    rig.store.away = True
    with pytest.raises(Outage):
        rig.send(microtrip(NOW + 1), microtrip(NOW + 2, tid=42))
    rig.store.away = False

    assert len(rig.rows(tables.microtrip)) == 1

    rig.send(microtrip(NOW + 1), microtrip(NOW + 2, tid=42))

    assert rig.rows(tables.microtrip, "ts") == [NOW, NOW + 1, NOW + 2]
    assert rig.rows(tables.trip, "tid", "state") == [(41, "LAPSED"), (42, "OPEN")]


def test_what_another_process_changed_is_seen_by_the_next_batch(rig):
    rig.send(microtrip(NOW))
    rig.database.rows("UPDATE sensor SET vehicle_id = ? WHERE id = ?", OTHER_VEHICLE, SENSOR)

    source = rig.send(microtrip(NOW + 1000))

    assert rig.rows(tables.trip, "vehicle_id", "state") == [(VEHICLE, "LAPSED"), (OTHER_VEHICLE, "OPEN")]
    assert source.settlements == [[1]]


def test_row_numbers_taken_by_another_process_are_skipped(rig):
    rig.send(microtrip(NOW))
    no = rig.rows(tables.microtrip, "no")[0]
    taken = {"trip_no": no, "id": "x", "ty": 2, "payload": b"{}", "samples": b""}
    rows = [{"no": no + step, **taken} for step in range(1, 20)]
    rig.run(rig.store.write(lambda tx: tx.run(insert(tables.microtrip), rows)))

    source = rig.send(microtrip(NOW + 1), microtrip(NOW + 2))

    assert rig.rows(tables.microtrip, "ts")[-2:] == [NOW + 1, NOW + 2]
    assert source.settlements == [[1, 2]]
    assert rig.rows(tables.rejected_message) == []


def test_messages_are_kept_when_the_clock_was_set_back_over_a_restart(rig):
    rig.send(*(microtrip(NOW + at) for at in range(5)))
    rig.restart(clock_set_back=True)

    rig.send(microtrip(NOW + 9))

    assert len(rig.rows(tables.microtrip)) == 6
    assert rig.rows(tables.rejected_message) == []


def test_a_source_that_fails_does_not_stop_the_others(rig):
    class Broken(FakeSource):
        def settled(self, tokens: list[int]) -> None:
            raise RuntimeError("a bug")

    good = FakeSource()
    rig.take_in([frame(Broken(), microtrip(NOW), NOW), frame(good, microtrip(NOW + 1), NOW)])

    assert good.settlements == [[1]]


def test_d17_qos_0_frames_are_stored_and_settle_nothing(rig):
    source = FakeSource()
    rig.take_in([frame(source, microtrip(NOW), NOW, token=0)])

    assert source.settlements == []
    assert len(rig.rows(tables.microtrip)) == 1


@dataclass
class File:
    """A database of our own, whichever one the run is about."""

    path: Path

    def open(self, **_: Any) -> SqliteStore:
        return SqliteStore(self.path)


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Rig]:
    with Rig(File(stores.fresh_file(tmp_path))) as made:  # type: ignore[arg-type]  # what a rig asks of it
        made.run(made.store.write(seed_rows))
        yield made


def test_batch_is_stored_though_another_process_commits_all_the_time(embedded):
    rig = embedded
    check = rig.pipeline._check
    commits: list[bool] = []

    async def interrupted(*args: Any) -> Any:
        with contextlib.closing(sqlite3.connect(rig.database.path, timeout=0, isolation_level=None)) as other:
            try:
                other.execute("UPDATE vehicle SET mileage = mileage + 1")
            except sqlite3.OperationalError:
                commits.append(False)
            else:
                commits.append(True)
        return await check(*args)

    rig.pipeline._check = interrupted  # type: ignore[method-assign]
    source = rig.send(microtrip(NOW))

    assert source.settlements == [[1]]
    assert len(rig.rows(tables.microtrip)) == 1
    assert commits == [True] * ALONE_FROM + [False]
    rig.pipeline._check = check  # type: ignore[method-assign]
    rig.send(microtrip(NOW + 1_000))
    assert len(rig.rows(tables.microtrip)) == 2


@pytest.mark.parametrize(("size", "count", "lots"), [(LONG_BYTES, 8, 8), (LONG_BYTES // 2, 8, 4), (200, 100, 1)])
def test_loop_serves_others_between_two_lots_of_bodies(rig, size, count, lots):
    """A batch may hold 384 KiB of bodies that cost ten milliseconds for each 32 KiB."""
    source = FakeSource()
    frames = [frame(source, b"[" * size, NOW, token) for token in range(1, count + 1)]
    between: list[int] = []

    async def scenario() -> None:
        loop, pipeline = asyncio.get_running_loop(), rig.pipeline
        decode = pipeline._decode

        def noted(lot: Sequence[Frame], batch: Batch) -> None:
            loop.call_soon(lambda: between.append(len(batch.refusals)))
            decode(lot, batch)

        pipeline._decode = noted  # type: ignore[method-assign]
        await pipeline.take_in(frames, now_ms=NOW)

    rig.run(scenario())

    assert between == [count // lots * lot for lot in range(1, lots + 1)]
    assert len(rig.rows(tables.rejected_message)) == count


@dataclass(eq=False)
class Source:
    """A device's connection, as far as it is told what is durable."""

    told: list[int] = field(default_factory=list)
    sensor_id: str = ""

    def settled(self, tokens: list[int]) -> None:
        self.told += tokens


async def test_a_long_batch_is_acknowledged_to_some_at_a_turn():
    sources = [Source() for _ in range(2 * TOLD_AT_ONCE + 1)]
    frames = [Frame(source, "topic", b"", 0, number) for source in sources for number in (1, 2)]

    acknowledging = asyncio.ensure_future(acknowledge(frames))  # type: ignore[arg-type]
    seen = []
    while not acknowledging.done():
        await asyncio.sleep(0)
        seen.append(sum(bool(source.told) for source in sources))

    assert [source.told for source in sources] == [[1, 2]] * len(sources)
    assert seen[:3] == [TOLD_AT_ONCE, 2 * TOLD_AT_ONCE, 2 * TOLD_AT_ONCE + 1]
