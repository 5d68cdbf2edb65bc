"""Trips open, grow, end and come back (spec/device-messages 4.2 T3-T5, 4.4 I1-I6; spec/gaps H8, H9, H16)."""

from typing import Any

import pytest
from tests.support.ingest_rig import (
    COMPANY,
    DRIVER,
    MINUTE,
    NOW,
    OTHER_VEHICLE,
    SENSOR,
    UNMAPPED,
    VEHICLE,
    Rig,
    aggregate,
    item,
    microtrip,
    trip_message,
)

from tripline.domain import ids
from tripline.services.ingest import tracks
from tripline.store import tables

LATER_THERE = pytest.mark.sqlite("on PostgreSQL another process waits 15 s for the one that knew")


@pytest.fixture(params=["running", pytest.param("restarted", marks=LATER_THERE)])
def pause(rig, request):
    """What happens between two messages: nothing, or the process is killed and starts again."""
    return rig.restart if request.param == "restarted" else lambda: None


def states(rig: Rig) -> list[tuple[Any, ...]]:
    """Number, state, start and end (minutes after the start of the test) of every trip."""
    return [
        (tid, state, (start - NOW) / MINUTE, None if end is None else (end - NOW) / MINUTE)
        for tid, state, start, end in rig.rows(tables.trip, "tid", "state", "start_ms", "end_ms")
    ]


def samples_by_trip(rig: Rig) -> list[int]:
    """How many microtrips each trip has, in the order of the trips."""
    of = rig.rows(tables.microtrip, "trip_no")
    return [of.count(no) for no in rig.rows(tables.trip, "no")]


def sweep(rig: Rig, at: int) -> None:
    rig.now_ms = at
    silent = rig.run(rig.pipeline.tracks.silent(now_ms=at))
    rig.take_in([], silent=silent)


def latest(rig: Rig) -> tuple[Any, ...]:
    """Latest trip of vehicle and driver as position among the trips; kind of vehicle and sensor."""
    trips = [*rig.rows(tables.trip, "id"), None]
    vehicle = rig.rows(tables.vehicle, "latest_trip_id", "last_trip_msg_type")[0]
    driver = rig.rows(tables.account, "latest_trip_id")[0]
    sensor = rig.rows(tables.sensor, "last_trip_msg_type")[0]
    return trips.index(vehicle[0]), trips.index(driver), vehicle[1], sensor


def test_first_microtrip_opens_a_trip_with_everything_known_of_its_sensor(rig):
    rig.send(microtrip(NOW), at=NOW + 500)

    no = rig.rows(tables.trip, "no")[0]
    assert rig.rows(tables.trip) == [
        (
            *(no, rig.ids.text(no), ids.ms_of_no(no), COMPANY, SENSOR, VEHICLE, DRIVER, "harbour", "GPS", 41, False),
            *("OPEN", NOW, None, None, NOW, None, None, None, None, None, None, "device", *[None] * 4),
        )
    ]
    assert ids.ms_of_no(no) == NOW + 500
    assert latest(rig) == (0, 0, "MICROTRIP", "MICROTRIP")
    assert rig.rows(tables.scoring_job) == []


def test_i1_microtrips_within_thirty_minutes_of_the_last_sample_share_a_trip(rig):
    rig.send(microtrip(NOW))
    rig.send(microtrip(NOW + 30 * MINUTE), at=NOW + 30 * MINUTE)

    assert states(rig) == [(41, "OPEN", 0, None)]
    assert samples_by_trip(rig) == [2]


def test_i1_microtrip_more_than_thirty_minutes_later_opens_a_new_trip(rig):
    rig.send(microtrip(NOW))
    rig.send(microtrip(NOW + 30 * MINUTE + 1), at=NOW + 30 * MINUTE + 1)

    assert [row[:2] for row in states(rig)] == [(41, "LAPSED"), (41, "OPEN")]
    assert states(rig)[0][3] == 0
    assert samples_by_trip(rig) == [1, 1]


def test_i1_gap_is_judged_on_sample_times_not_on_receipt(rig):
    rig.send(microtrip(NOW))
    rig.send(microtrip(NOW + 1000), at=NOW + 40 * MINUTE)

    assert samples_by_trip(rig) == [2]


def test_i1_another_number_opens_a_new_trip_and_the_old_one_is_due_for_scoring(rig):
    rig.send(microtrip(NOW), microtrip(NOW + 1000, tid=42), at=NOW + 2000)

    assert [row[:2] for row in states(rig)] == [(41, "LAPSED"), (42, "OPEN")]
    assert rig.rows(tables.scoring_job, "trip_no", "due_ms") == [(rig.rows(tables.trip, "no")[0], NOW + 2000)]
    assert latest(rig) == (1, 1, "MICROTRIP", "MICROTRIP")


def test_i1_missing_number_is_a_number_of_its_own(rig):
    rig.send(microtrip(NOW), microtrip(NOW + 1000, tid=None), microtrip(NOW + 2000), microtrip(NOW + 3000, tid=None))

    assert [row[:2] for row in states(rig)] == [(41, "LAPSED"), (None, "OPEN")]
    assert samples_by_trip(rig) == [2, 2]


def test_i1_late_sample_joins_a_trip_that_ended_long_ago_and_has_it_scored_after_the_grace(rig, pause):
    rig.send(microtrip(NOW), microtrip(NOW + 5000), trip_message(NOW, NOW + 5000), at=NOW + 6000)
    rig.send(microtrip(NOW + 600 * MINUTE, tid=42), at=NOW + 600 * MINUTE)
    rig.run(rig.store.write(lambda tx: tx.run(tables.scoring_job.delete())))
    pause()

    rig.send(microtrip(NOW + 2000), at=NOW + 601 * MINUTE)

    assert [row[:2] for row in states(rig)] == [(41, "COMPLETE"), (42, "OPEN")]
    assert samples_by_trip(rig) == [3, 1]
    first = rig.rows(tables.trip, "no")[0]
    assert rig.rows(tables.scoring_job, "trip_no", "due_ms") == [(first, NOW + 601 * MINUTE)]
    assert latest(rig) == (1, 1, "MICROTRIP", "MICROTRIP")


def test_i1_backlog_between_live_samples_makes_two_trips(rig, pause):
    old = NOW - 1200 * MINUTE
    for second in range(6):
        rig.send(microtrip(NOW + second * 1000, tid=2), at=NOW + second * 1000)
        pause()
        rig.send(microtrip(old + second * 1000, tid=1))
    rig.send(trip_message(old, old + 5000, tid=1), trip_message(NOW, NOW + 5000, tid=2))

    assert [row[:2] for row in states(rig)] == [(2, "COMPLETE"), (1, "COMPLETE")]
    assert samples_by_trip(rig) == [6, 6]
    assert rig.rows(tables.trip, "start_ms", "end_ms") == [(NOW, NOW + 5000), (old, old + 5000)]
    assert latest(rig)[:2] == (0, 0)


@pytest.mark.parametrize("tid", [7, None])
def test_i1_gap_separates_drives_of_equal_or_missing_numbers_in_any_order(rig, tid):
    old = NOW - 1200 * MINUTE
    rig.send(microtrip(NOW, tid=tid), microtrip(old, tid=tid), microtrip(NOW + 1000, tid=tid))
    rig.send(microtrip(old + 1000, tid=tid))

    assert [row[:2] for row in states(rig)] == [(tid, "OPEN"), (tid, "LAPSED")]
    assert samples_by_trip(rig) == [2, 2]


def test_i1_trip_that_comes_newest_first_is_one(rig):
    sent = [microtrip(NOW + second * 1000) for second in range(5)]
    rig.send(trip_message(NOW, NOW + 4000), *reversed(sent), at=NOW + 5000)

    assert states(rig) == [(41, "COMPLETE", 0, 4000 / MINUTE)]
    assert samples_by_trip(rig) == [5]


def test_i1_ended_trip_grows_and_stays_ended(rig, pause):
    rig.send(microtrip(NOW))
    sweep(rig, NOW + 31 * MINUTE)
    pause()

    rig.send(microtrip(NOW + 20 * MINUTE), microtrip(NOW - 20 * MINUTE), at=NOW + 32 * MINUTE)

    assert states(rig) == [(41, "LAPSED", -20, 20)]
    assert samples_by_trip(rig) == [3]


def test_i1_sample_between_two_trips_joins_the_one_with_the_smaller_row_number(rig, pause):
    rig.send(microtrip(NOW), microtrip(NOW + 50 * MINUTE), at=NOW + 50 * MINUTE)
    pause()

    rig.send(microtrip(NOW + 25 * MINUTE), microtrip(NOW + 51 * MINUTE), at=NOW + 51 * MINUTE)

    assert states(rig) == [(41, "LAPSED", 0, 25), (41, "OPEN", 50, None)]
    assert samples_by_trip(rig) == [2, 2]


def test_i1_last_sample_of_an_open_trip_is_exact_after_many_late_ones(rig, pause):
    rig.send(microtrip(NOW + 20 * MINUTE), at=NOW + 20 * MINUTE)
    rig.send(*(microtrip(NOW + second * 1000) for second in range(30)))
    pause()

    rig.send(microtrip(NOW + 50 * MINUTE), at=NOW + 50 * MINUTE)

    assert samples_by_trip(rig) == [32]


def test_i2_message_of_a_broken_drive_gives_its_start_to_the_first_piece(rig, pause):
    rig.send(microtrip(NOW), microtrip(NOW + MINUTE), microtrip(NOW + 60 * MINUTE), at=NOW + 60 * MINUTE)
    pause()

    rig.send(trip_message(NOW - 1 * MINUTE, NOW + 62 * MINUTE, dis=9_000), at=NOW + 62 * MINUTE)

    assert states(rig) == [(41, "LAPSED", -1, 1), (41, "COMPLETE", 60, 62)]
    assert rig.rows(tables.trip, "distance_m") == [None, 9_000]


@pytest.mark.parametrize("tid", [41, None])
def test_i2_message_before_its_samples_makes_the_trip_that_they_join(rig, pause, tid):
    rig.send(trip_message(None, None, ts=NOW + 9000, tid=tid) if tid else trip_message(NOW, NOW + 9000, tid=None))
    pause()

    rig.send(microtrip(NOW + 8000), microtrip(NOW), at=NOW + 10_000)

    expected_end = 8000 if tid else 9000
    assert states(rig) == [(41, "COMPLETE", 0, expected_end / MINUTE)]
    assert samples_by_trip(rig) == [2]


def test_i1_h8_silence_of_thirty_minutes_by_receipt_ends_a_trip(rig, pause):
    rig.send(microtrip(NOW), microtrip(NOW + 5000), at=NOW + 6000)
    pause()

    sweep(rig, NOW + 6000 + 30 * MINUTE)
    assert [row[1] for row in states(rig)] == ["OPEN"]

    sweep(rig, NOW + 6000 + 30 * MINUTE + 1)
    assert states(rig) == [(41, "LAPSED", 0, 5000 / MINUTE)]
    assert rig.rows(tables.scoring_job, "trip_no") == rig.rows(tables.trip, "no")
    assert rig.rows(tables.trip, "closed_ms") == [NOW + 6000 + 30 * MINUTE + 1]


def test_h8_trip_that_ends_without_a_message_leaves_the_last_kind_of_message_as_it_was(rig):
    rig.send(microtrip(NOW))

    sweep(rig, NOW + 31 * MINUTE)

    assert [row[1] for row in states(rig)] == ["LAPSED"]
    assert latest(rig) == (0, 0, "MICROTRIP", "MICROTRIP")


def test_i1_a_microtrip_in_time_keeps_the_trip_from_lapsing(rig):
    rig.send(microtrip(NOW))
    rig.send(microtrip(NOW + 29 * MINUTE), at=NOW + 29 * MINUTE)

    sweep(rig, NOW + 31 * MINUTE)

    assert [row[1] for row in states(rig)] == ["OPEN"]


def test_i1_last_sample_time_is_exact_after_a_restart(rig, pause):
    rig.send(aggregate([NOW, NOW + 20 * MINUTE]), at=NOW + 20 * MINUTE)
    rig.send(microtrip(NOW + 1000), at=NOW + 20 * MINUTE)
    pause()

    rig.send(microtrip(NOW + 50 * MINUTE), at=NOW + 50 * MINUTE)

    assert samples_by_trip(rig) == [3]


@pytest.mark.parametrize("tid", [41, "41", None])
def test_i2_i5_trip_message_with_equal_text_or_missing_number_completes_the_open_trip(rig, tid):
    rig.send(microtrip(NOW))
    rig.send(trip_message(NOW - 1000, NOW + 3000, tid=tid, dis=5120), at=NOW + 4000)

    row = rig.rows(tables.trip, "state", "start_ms", "end_ms", "closed_ms", "message_ty", "distance_m", "not_scored")
    assert row == [("COMPLETE", NOW - 1000, NOW + 3000, NOW + 4000, 1, 5120.0, None)]
    assert rig.rows(tables.scoring_job, "trip_no") == rig.rows(tables.trip, "no")
    assert latest(rig) == (0, 0, "TRIP", "TRIP")
    assert rig.signals.told == [("scoring.due", "")]


def test_i2_late_message_completes_the_trip_whatever_came_behind_it(rig, pause):
    rig.send(microtrip(NOW), microtrip(NOW + 1000, tid=42))
    pause()
    rig.run(rig.store.write(lambda tx: tx.run(tables.scoring_job.delete())))

    rig.send(trip_message(NOW, NOW + 500), at=NOW + 600 * MINUTE)

    assert [row[:2] for row in states(rig)] == [(41, "COMPLETE"), (42, "OPEN")]
    assert rig.rows(tables.scoring_job, "trip_no") == rig.rows(tables.trip, "no")[:1]
    assert latest(rig) == (1, 1, "TRIP", "TRIP")


@pytest.mark.parametrize(("gap", "expected"), [(30 * MINUTE, ["COMPLETE"]), (30 * MINUTE + 1, ["OPEN", "COMPLETE"])])
def test_i2_message_completes_the_last_trip_that_ended_within_the_gap_before_it(rig, gap, expected):
    rig.send(microtrip(NOW))

    rig.send(trip_message(NOW + gap, NOW + gap + 500), at=NOW + gap + 500)

    assert rig.rows(tables.trip, "state") == expected


def test_i2_message_after_lapse_by_silence_completes_that_trip(rig):
    rig.send(microtrip(NOW))
    sweep(rig, NOW + 31 * MINUTE)

    rig.send(trip_message(NOW, NOW + 2000), at=NOW + 32 * MINUTE)

    assert states(rig) == [(41, "COMPLETE", 0, 2000 / MINUTE)]


def test_i2_late_message_does_not_complete_a_trip_with_another_number(rig):
    rig.send(microtrip(NOW), microtrip(NOW + 1000, tid=42), trip_message(NOW, NOW + 500, tid=43))

    assert [row[:2] for row in states(rig)] == [(41, "LAPSED"), (42, "OPEN"), (43, "COMPLETE")]


def test_i2_message_alone_makes_a_trip(rig):
    rig.send(trip_message(NOW, NOW + 3 * MINUTE), at=NOW + 4 * MINUTE)

    assert states(rig) == [(41, "COMPLETE", 0, 3)]
    assert rig.rows(tables.scoring_job, "trip_no") == rig.rows(tables.trip, "no")
    assert latest(rig) == (0, 0, "TRIP", "TRIP")


@pytest.mark.parametrize("later_ms", [1000, 24 * 60 * MINUTE])
def test_i3_equal_trip_message_changes_nothing_however_late(rig, pause, later_ms):
    rig.send(microtrip(NOW), trip_message(NOW, NOW + 500))
    rig.run(rig.store.write(lambda tx: tx.run(tables.scoring_job.delete())))
    before = rig.rows(tables.trip)
    pause()

    source = rig.send(trip_message(NOW, NOW + 500, hsts=90), at=NOW + later_ms)

    assert rig.rows(tables.trip) == before
    assert rig.rows(tables.scoring_job) == []
    assert source.settlements == [[1]]


def test_i3_equal_trip_messages_in_one_batch_are_one(rig):
    rig.send(trip_message(NOW, NOW + 500), trip_message(NOW, NOW + 500), trip_message(NOW, NOW + 501))

    assert rig.rows(tables.trip, "end_ms") == [NOW + 500, NOW + 501]


@pytest.mark.parametrize(("later", "count"), [(10 * MINUTE, 1), (10 * MINUTE + 1, 2)])
def test_i3_message_without_times_is_a_redelivery_for_ten_minutes(rig, later, count):
    message = {"ty": 5, "pld": {"tid": 3, "lat": 35.1, "lon": 129.1}}
    rig.send(message)
    rig.send(message, at=NOW + later)

    assert len(rig.rows(tables.trip)) == count


def test_i4_microtrip_a_minute_behind_the_stated_end_opens_a_new_trip_with_the_same_number(rig, pause):
    rig.send(microtrip(NOW), trip_message(NOW, NOW + 500))
    pause()

    rig.send(microtrip(NOW + 500 + MINUTE), microtrip(NOW + 501 + MINUTE), microtrip(NOW + 200))

    assert states(rig) == [(41, "COMPLETE", 0, 500 / MINUTE), (41, "OPEN", 501 / MINUTE + 1, None)]
    assert samples_by_trip(rig) == [3, 1]
    assert latest(rig) == (1, 1, "MICROTRIP", "MICROTRIP")


def test_i6_black_box_trip_ends_when_parking_begins(rig):
    def sample(at: int, mode: int) -> dict[str, Any]:
        return {"ty": 8, "ts": at, "pld": {"tid": 7, "lat": 37.5, "lon": 126.9, "try": mode, "sp": 1}}

    rig.send(sample(NOW, 1), sample(NOW + 1000, 2), sample(NOW + 2000, 2), sample(NOW + 3000, 1))
    sweep(rig, NOW + 31 * MINUTE)

    assert rig.rows(tables.trip, "parking", "state", "not_scored") == [
        (False, "LAPSED", None),
        (True, "LAPSED", "parking"),
        (False, "LAPSED", None),
    ]
    assert samples_by_trip(rig) == [1, 2, 1]
    assert len(rig.rows(tables.scoring_job)) == 2


def test_i6_parking_behind_the_message_of_a_drive_without_samples_yet_is_no_part_of_it(rig, pause):
    def sample(at: int, mode: int) -> dict[str, Any]:
        return {"ty": 8, "ts": at, "pld": {"lat": 37.5, "lon": 126.9, "try": mode, "sp": 1, "clt": at}}

    rig.send({"ty": 7, "ts": NOW, "pld": {"stt": NOW - 10_000, "edt": NOW}})
    for part in (sample(NOW + 30_000, 2), sample(NOW - 5_000, 1), sample(NOW - 12_000, 1)):
        pause()
        rig.send(part)

    assert rig.rows(tables.trip, "parking", "state") == [(False, "COMPLETE"), (True, "OPEN")]
    assert samples_by_trip(rig) == [2, 1]


def test_i2_i6_message_of_a_drive_that_comes_while_parked_completes_the_drive(rig, pause):
    for step, mode in enumerate((1, 2)):
        at = NOW + step * 1000
        rig.send({"ty": 8, "ts": at, "pld": {"tid": 7, "lat": 37.5, "lon": 126.9, "try": mode, "sp": 1}})
    pause()

    rig.send({"ty": 7, "ts": NOW + 2000, "pld": {"tid": 7, "dis": 5_000}})
    rig.send({"ty": 7, "ts": NOW + 3000, "pld": {"tid": 7, "try": 2}})

    assert rig.rows(tables.trip, "parking", "state", "distance_m", "not_scored") == [
        (False, "COMPLETE", 5_000, None),
        (True, "COMPLETE", None, "parking"),
    ]
    assert rig.rows(tables.scoring_job, "trip_no") == rig.rows(tables.trip, "no")[:1]


def test_i2_i6_message_without_a_trip_of_its_kind_completes_the_open_one(rig):
    rig.send({"ty": 8, "ts": NOW, "pld": {"tid": 7, "try": 2}}, {"ty": 7, "ts": NOW, "pld": {"tid": 7}})

    assert rig.rows(tables.trip, "parking", "state") == [(True, "COMPLETE")]


def test_t3_sample_without_own_time_takes_the_header_then_the_receipt(rig):
    bare = {"tid": 41, "lat": 35.1, "lon": 129.1}
    rig.send({"ty": 2, "ts": NOW + 700, "pld": bare}, at=NOW + 1000)
    rig.send({"ty": 2, "pld": {**bare, "tid": 42}}, at=NOW + 2000)

    assert rig.rows(tables.trip, "start_ms") == [NOW + 700, NOW + 2000]


def test_t5_trip_message_without_times_takes_first_and_last_sample(rig):
    rig.send(aggregate([NOW + 1000, NOW + 9000]), microtrip(NOW + 500), at=NOW + 9000)
    assert rig.rows(tables.trip, "start_ms") == [NOW + 500]

    rig.send(trip_message(None, None, ts=NOW + 20_000), at=NOW + 20_000)

    assert rig.rows(tables.trip, "start_ms", "end_ms") == [(NOW + 500, NOW + 9000)]


def test_t5_end_of_a_message_with_clt_alone_is_that(rig):
    rig.send(microtrip(NOW), {"ty": 1, "pld": {"tid": 41, "clt": NOW + 700}}, at=NOW + 900)

    assert rig.rows(tables.trip, "start_ms", "end_ms") == [(NOW, NOW + 700)]


def test_t5_message_alone_without_times_takes_the_header_then_the_receipt(rig):
    rig.send(trip_message(None, None, ts=NOW - 100, tid=1), trip_message(None, None, tid=2), at=NOW + 50)

    times = rig.rows(tables.trip, "start_ms", "end_ms")
    assert times == [(NOW - 100, NOW - 100), (NOW + 50, NOW + 50)]


def test_a5_items_with_different_numbers_go_to_their_trips(rig):
    rig.send({"ty": 2, "ts": NOW + 3, "pld": [item(NOW), item(NOW + 1), item(NOW + 2, tid=42), item(NOW + 3, tid=41)]})

    assert [row[:2] for row in states(rig)] == [(41, "LAPSED"), (42, "OPEN")]
    assert samples_by_trip(rig) == [2, 1]


def test_a7_one_publish_makes_one_microtrip_with_the_payload_as_sent(rig):
    payload = b'[{"tid":41,"lat":35.1, "lon":129.1,"clt":1735689600000} , {"tid":41,"x":1e0}]'
    rig.send(b'{"ty":2,"ts":1735689600000,"pld":' + payload + b"}")

    assert rig.rows(tables.microtrip, "ts", "ty", "payload") == [(NOW, 2, payload)]


def test_h9_driver_is_the_vehicles_when_the_trip_opens(rig):
    rig.send(microtrip(NOW))
    rig.change(tables.vehicle, VEHICLE, current_driver_id=None)
    rig.take_in([], again={SENSOR})
    rig.send(microtrip(NOW + 1000), microtrip(NOW + 2000, tid=42))

    assert rig.rows(tables.trip, "user_id") == [DRIVER, None]


def test_h16_unmapped_sensors_trip_is_stored_and_not_scored(rig):
    rig.send(microtrip(NOW), trip_message(NOW, NOW + 500, dis=5000), sensor=UNMAPPED)

    assert rig.rows(tables.trip, "vehicle_id", "user_id", "state", "not_scored") == [
        (None, None, "COMPLETE", "unmapped")
    ]
    assert rig.rows(tables.scoring_job) == []
    assert rig.rows(tables.vehicle, "last_trip_msg_type") == [None, None]
    assert rig.rows(tables.sensor, "last_trip_msg_type") == [None, "TRIP"]
    assert rig.signals.told == []


def test_other_device_types_are_not_scored(rig):
    rig.send({"ty": 6, "ts": NOW, "pld": item(NOW)}, {"ty": 5, "ts": NOW, "pld": {"tid": 41}})

    assert rig.rows(tables.trip, "device_type", "state", "not_scored") == [("ADAS", "COMPLETE", "device_type")]
    assert rig.rows(tables.scoring_job) == []


def test_one_message_with_two_drives_of_one_number_makes_two_trips(rig):
    rig.send(aggregate([NOW, NOW + 2000, NOW + 40 * MINUTE, NOW + 41 * MINUTE]), at=NOW + 41 * MINUTE)

    assert rig.rows(tables.trip, "start_ms", "end_ms") == [(NOW, NOW + 2000), (NOW + 40 * MINUTE, None)]
    assert samples_by_trip(rig) == [1, 1]


@pytest.mark.parametrize("is_one", [True, False])
@pytest.mark.parametrize("minutes", [(0, 1, 32, 33), (32, 33, 0, 1), (0, 1, 30, 31)])
def test_i1_a5_clock_step_makes_the_same_trips_within_a_message_as_between_two(rig, minutes, is_one):
    times = [NOW + minute * MINUTE for minute in minutes]
    sent = [times] if is_one else [times[:2], times[2:]]
    rig.send(*(aggregate(each) for each in sent), at=NOW + 40 * MINUTE)

    expected: dict[int, list[tuple[Any, ...]]] = {
        0: [(41, "LAPSED", 0, 1), (41, "OPEN", 32, None)],
        32: [(41, "OPEN", 32, None), (41, "LAPSED", 0, 1)],
    }
    assert states(rig) == ([(41, "OPEN", 0, None)] if 30 in minutes else expected[minutes[0]])


def test_remounted_sensors_trip_ends_with_its_old_vehicle(rig):
    rig.send(microtrip(NOW))
    rig.change(tables.sensor, SENSOR, vehicle_id=OTHER_VEHICLE)
    rig.take_in([], again={SENSOR})

    assert rig.rows(tables.trip, "vehicle_id", "state") == [(VEHICLE, "LAPSED")]

    rig.send(microtrip(NOW + 1000))

    assert rig.rows(tables.trip, "vehicle_id", "state") == [(VEHICLE, "LAPSED"), (OTHER_VEHICLE, "OPEN")]
    assert len(rig.rows(tables.scoring_job)) == 1


def test_microtrip_after_a_late_trip_message_says_microtrip_again(rig):
    rig.send(microtrip(NOW), microtrip(NOW + 1000, tid=42), trip_message(NOW, NOW + 500))
    assert latest(rig) == (1, 1, "TRIP", "TRIP")

    rig.send(microtrip(NOW + 2000, tid=42))

    assert latest(rig) == (1, 1, "MICROTRIP", "MICROTRIP")
    assert len(rig.rows(tables.trip)) == 2


def test_a_number_with_every_message_does_not_fill_the_memory(rig):
    rig.send(*(microtrip(NOW + second * 1000, tid=second) for second in range(100)), at=NOW + 100_000)
    for number in range(100, 200):
        rig.send(trip_message(NOW, NOW + 1, tid=number))
    track = rig.pipeline.tracks.get(SENSOR)

    assert track is not None
    assert len([trip for trip in track.trips if not trip.is_settled]) == tracks.UNSETTLED_KEPT
    assert len(track.trips) == tracks.TRIPS_KEPT + 1, "those that have ended, and the open one"


def test_trip_that_memory_dropped_is_read_again_for_its_late_sample(rig):
    rig.send(microtrip(NOW), at=NOW)
    for number in range(70):
        at = NOW + (number + 1) * 5 * MINUTE
        rig.send(microtrip(at, tid=100 + number), trip_message(at, at, tid=100 + number), at=at)
    track = rig.pipeline.tracks.get(SENSOR)
    assert track is not None
    assert 41 not in [trip.tid for trip in track.trips]

    rig.send(microtrip(NOW + 1000))

    assert samples_by_trip(rig)[0] == 2


def test_corrected_driver_stays_when_late_samples_and_events_come(rig):
    rig.send(microtrip(NOW), trip_message(NOW, NOW + 5000))
    trip_id = rig.rows(tables.trip, "id")[0]
    rig.change(tables.trip, trip_id, user_id=None, corrected_ms=1, recorded_user_id=DRIVER)

    rig.send(microtrip(NOW + 2000), {"ty": 104, "ts": NOW + 3000, "pld": {"tid": 41, "wbv": 11.8}})

    assert rig.rows(tables.trip, "user_id", "corrected_ms", "recorded_user_id") == [(None, 1, DRIVER)]
    assert rig.rows(tables.device_event, "trip_id", "user_id") == [(trip_id, None)]


def test_late_samples_are_not_pushed_as_the_trip_again(rig):
    rig.want([1, 2])
    rig.send(microtrip(NOW), trip_message(NOW, NOW + 5000))
    rig.send(microtrip(NOW + 2000), trip_message(NOW, NOW + 5000))

    assert [body["msgTy"] for body in rig.pushed()] == [2, 1, 2]


@pytest.mark.parametrize("apart", [True, False])
def test_latest_trip_is_the_one_that_began_last_in_whatever_order_they_come(rig, apart):
    drives = [microtrip(NOW + 50 * MINUTE, tid=2), microtrip(NOW, tid=1), microtrip(NOW + 90 * MINUTE, tid=3)]
    alone = trip_message(NOW - 90 * MINUTE, NOW - 80 * MINUTE, tid=0)
    for batch in [[body] for body in (*drives, alone)] if apart else [[*drives, alone]]:
        rig.send(*batch, at=NOW + 90 * MINUTE)

    assert rig.rows(tables.trip, "tid") == [2, 1, 3, 0]
    assert latest(rig)[:2] == (2, 2)
