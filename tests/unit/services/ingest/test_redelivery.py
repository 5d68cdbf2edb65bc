"""A second delivery changes nothing (spec/device-messages 4.5 O3), and what is no redelivery is kept."""

from typing import Any

import pytest
from tests.support.ingest_rig import MINUTE, NOW, SENSOR, UNMAPPED, Rig, aggregate, item, microtrip, trip_message

from tripline.store import tables
from tripline.store.ingest.tracks import MOST_LATELY

NEAR = ["same batch", "next batch", "restarted"]


def deliver_twice(rig: Rig, message: Any, how: str, *, later: int = 0) -> None:
    if how == "same batch":
        rig.send(message, message)
        return
    rig.send(message)
    if how == "restarted":
        rig.restart()
    rig.send(message, at=rig.now_ms + later)


@pytest.mark.parametrize("how", NEAR)
@pytest.mark.parametrize(
    "message",
    [
        microtrip(NOW),
        aggregate([NOW, NOW + 1000]),
        {"ty": 2, "pld": item(NOW - 1)},
        {"ty": 2, "ts": 9_999_999_999_999, "pld": {"tid": 1, "lat": 35.0, "lon": 129.0}},
        {"ty": 2, "ts": NOW, "pld": [item(NOW), item(NOW, tid=42)]},
    ],
    ids=["plain", "aggregate", "own time only", "constant header time", "two trips"],
)
def test_o3_equal_microtrip_is_stored_once(rig, message, how):
    rig.send(message)
    once = rig.rows(tables.microtrip), rig.rows(tables.trip)
    rig.restart()

    deliver_twice(rig, message, how)

    assert (rig.rows(tables.microtrip), rig.rows(tables.trip)) == once


@pytest.mark.parametrize("how", NEAR)
def test_o3_microtrip_without_any_time_is_always_new(rig, how):
    deliver_twice(rig, {"ty": 2, "pld": {"tid": 1, "lat": 35.0, "lon": 129.0}}, how)

    assert len(rig.rows(tables.microtrip)) == 2


@pytest.mark.parametrize("change", [{"ts": NOW - 1}, {"pld": item(NOW, sp=39)}], ids=["header time", "payload"])
def test_o3_microtrip_that_differs_is_kept(rig, change):
    rig.send(microtrip(NOW), microtrip(NOW) | change)

    assert len(rig.rows(tables.microtrip)) == 2


@pytest.mark.parametrize("how", ["same batch", "next batch", "behind newer ones"])
def test_o3_second_microtrip_of_a_header_time_makes_the_sensor_one_that_is_looked_up_twice(rig, how):
    both = [microtrip(NOW), microtrip(NOW, sp=1)]
    if how == "same batch":
        rig.send(*both)
    else:
        rig.send(both[0], *([microtrip(NOW + 9000)] if how == "behind newer ones" else []), at=NOW + 9000)
        before = rig.rows(tables.sensor, "has_hashes")
        rig.send(both[1], at=NOW + 9000)
        assert before == [None, None]
    rig.restart()
    stored = len(rig.rows(tables.microtrip))
    rig.send(*both, at=NOW + 10_000)

    assert rig.rows(tables.sensor, "has_hashes") == [True, None]
    assert len(rig.rows(tables.microtrip)) == stored


def test_o3_equal_microtrip_of_another_sensor_is_kept(rig):
    rig.send(microtrip(NOW))
    rig.send(microtrip(NOW), sensor=UNMAPPED)

    assert len(rig.rows(tables.microtrip)) == 2


@pytest.mark.parametrize("knows", [True, False], ids=["running", "restarted"])
@pytest.mark.parametrize("later", [11 * MINUTE, 400 * 24 * 60 * MINUTE])
def test_o3_equal_microtrip_counts_as_redelivery_for_ever(rig, later, knows):
    rig.send(microtrip(NOW), microtrip(NOW + 1000), at=NOW + 1000)
    if not knows:
        rig.restart()

    rig.send(microtrip(NOW), microtrip(NOW, sp=1), at=NOW + later)

    assert len(rig.rows(tables.microtrip)) == 3


@pytest.mark.parametrize(
    ("later", "count"), [(10 * MINUTE - 1, 1), (10 * MINUTE, 1), (10 * MINUTE + 1, 2)], ids=["below", "at", "above"]
)
def test_o3_microtrip_whose_only_time_is_false_counts_as_redelivery_for_ten_minutes(rig, later, count):
    false = {"ty": 2, "ts": 9_999_999_999_999, "pld": {"tid": 41, "lat": 35.1, "lon": 129.1}}
    rig.send(false)

    rig.send(false, at=NOW + later)

    assert len(rig.rows(tables.microtrip)) == count


def test_o3_redelivered_microtrip_opens_no_trip_after_its_trip_message(rig):
    rig.send(microtrip(NOW), trip_message(NOW, NOW + 500), microtrip(NOW))

    assert rig.rows(tables.trip, "state") == ["COMPLETE"]
    assert len(rig.rows(tables.microtrip)) == 1


def test_o3_older_backlog_is_kept_once_each(rig):
    rig.send(microtrip(NOW + 9000), at=NOW + 9000)
    backlog = [microtrip(NOW + second * 1000) for second in range(9)]

    rig.send(*backlog, *backlog)
    rig.send(*backlog)

    assert sorted(rig.rows(tables.microtrip, "ts")) == [NOW + second * 1000 for second in range(10)]


def one_time(count: int) -> list[Any]:
    """Microtrips that differ and have one header time, older than the newest."""
    return [{"ty": 2, "ts": NOW, "pld": item(NOW, sp=number)} for number in range(count)]


@pytest.mark.parametrize("later", ["same batch", "one by one", "restarted"])
@pytest.mark.parametrize("first", ["one by one", "same batch"])
def test_o3_late_microtrips_of_one_header_time_are_stored_once_each(rig, first, later):
    rig.send(microtrip(NOW + 9000), at=NOW + 9000)
    sent = one_time(4)
    for bodies in [sent] if first == "same batch" else [[body] for body in sent]:
        rig.send(*bodies)
    if later == "restarted":
        rig.restart()

    for bodies in [[body] for body in reversed(sent)] if later == "one by one" else [[*reversed(sent), *sent]]:
        rig.send(*bodies)

    assert sorted(rig.rows(tables.microtrip, "ts")) == [NOW] * 4 + [NOW + 9000]
    assert len(set(rig.rows(tables.delivery, "instant", "mark"))) == 5


def test_o3_microtrips_of_one_header_time_that_sample_times_tell_to_be_new_are_stored_once_each(rig):
    sent = {at: {"ty": 2, "ts": NOW, "pld": item(at)} for at in (NOW, NOW + 7 * MINUTE, NOW + 8 * MINUTE)}
    for at, body in sent.items():
        rig.send(body, at=at + 500)

    rig.send(*sent.values(), at=NOW + 9 * MINUTE)

    assert len(rig.rows(tables.microtrip)) == len(sent)


def test_o3_second_microtrip_of_a_header_time_is_found_however_late(rig):
    rig.send(microtrip(NOW + 9000), at=NOW + 9000)
    first, second = one_time(2)
    rig.send(first, at=NOW + 9000)
    rig.send(second, at=NOW + 9 * MINUTE)

    rig.send(second, at=NOW + 15 * MINUTE)
    rig.restart()
    rig.send(second, first, at=NOW + 600 * MINUTE)

    assert rig.rows(tables.microtrip, "ts") == [NOW + 9000, NOW, NOW]


def test_o2_microtrips_are_stored_in_the_order_sent(rig):
    rig.send(microtrip(NOW + 3000), microtrip(NOW + 1000), microtrip(NOW + 2000), at=NOW + 3000)

    assert rig.rows(tables.microtrip, "ts") == [NOW + 3000, NOW + 1000, NOW + 2000]


def test_o1_items_of_an_aggregate_keep_their_order(rig):
    message = aggregate([NOW + 2000, NOW])
    rig.send(message)

    assert [row.count(b"clt") for row in rig.rows(tables.microtrip, "payload")] == [2]
    payload = rig.rows(tables.microtrip, "payload")[0]
    assert payload.index(str(NOW + 2000).encode()) < payload.index(str(NOW).encode())


@pytest.mark.parametrize("how", NEAR)
def test_equal_event_is_stored_once(rig, how):
    deliver_twice(rig, {"ty": 104, "ts": NOW, "pld": {"wbv": 11.8}}, how)

    assert len(rig.rows(tables.device_event)) == 1


def test_equal_event_counts_as_redelivery_for_ever(rig):
    deliver_twice(rig, {"ty": 104, "ts": NOW, "pld": {"wbv": 11.8}}, "next batch", later=600 * MINUTE)

    assert len(rig.rows(tables.device_event)) == 1


def test_event_without_any_time_is_always_new(rig):
    deliver_twice(rig, {"ty": 104, "pld": {"wbv": 11.8}}, "next batch")

    assert len(rig.rows(tables.device_event)) == 2


def test_every_redelivered_message_is_acknowledged(rig):
    source = rig.send(microtrip(NOW), microtrip(NOW), microtrip(NOW))

    assert source.settlements == [[1, 2, 3]]


def test_o3_after_a_restart_every_message_is_looked_up_of_a_sensor_that_sent_more_than_is_read_again(rig):
    """The largest header time is not among the rows that are read."""
    first = microtrip(NOW + 9_000_000)
    many = [microtrip(NOW + number) for number in range(MOST_LATELY)]
    rig.send(first, *many, at=NOW + 9_000_000)
    rig.restart()

    rig.send(first, many[0], microtrip(NOW + 8_000_000), microtrip(NOW + 9_000_001))

    assert len(rig.rows(tables.microtrip)) == 1 + MOST_LATELY + 2


def test_o3_backlog_in_order_of_a_sensor_that_was_silent_needs_no_look_up(rig):
    rig.send(microtrip(NOW), at=NOW)
    rig.restart()

    rig.send(microtrip(NOW), *(microtrip(NOW + 10 * MINUTE + ms) for ms in range(3)), at=NOW + 600 * MINUTE)
    track = rig.pipeline.tracks.get(SENSOR)

    assert track is not None and track.newest_ts == NOW + 10 * MINUTE + 2
    assert len(rig.rows(tables.microtrip)) == 4


def test_o3_a_sensor_without_trips_has_no_largest_header_time(rig):
    rig.send({"ty": 104, "ts": NOW, "pld": {"wbv": 11.8}}, at=NOW + 600 * MINUTE)
    track = rig.pipeline.tracks.get(SENSOR)

    assert track is not None and track.newest_ts == -1
