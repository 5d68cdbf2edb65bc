"""The life of a trip over the bus: grace, rescoring, silence, other trips of the sensor, and who is told."""

import asyncio
import json
from typing import Any

import pytest
from tests.support import drives, stores
from tests.support.bus_messages import OTHER_TRIP, PLACEHOLDER, TRIP, event, microtrip, sample, trip
from tests.support.bus_rig import LATER, BusRig, message, reasons
from tests.support.ingest_rig import DRIVER, MINUTE, NOW, OTHER_VEHICLE, SENSOR, UNMAPPED, VEHICLE, item
from tests.support.ingest_rig import microtrip as of_device

from tripline.config import Ingest
from tripline.domain.history import Event
from tripline.domain.ids import TripId, UserId
from tripline.ports.outages import Outage
from tripline.services.bus.silence import Silence
from tripline.services.fleet import removal
from tripline.store import tables
from tripline.store.transactions import WriteTx
from tripline.store.trips import drivers

GRACE_MS = 60_000
OTHER_DRIVER = UserId("77777777-0000-11b2-8080-808080808080")


@pytest.fixture
def graced(rig: BusRig) -> BusRig:
    """The rig, with the grace of 60 s."""
    rig.batches = rig.bus_consumer(grace_s=GRACE_MS / 1000)
    return rig


def due(rig: BusRig) -> list[int]:
    return rig.rows(tables.scoring_job, "due_ms")


def drive(samples: int = 80, **data: Any) -> list[dict[str, Any]]:
    """A drive of 3.95 km that is scored, in messages of ten samples, then its trip message."""
    bodies = [json.loads(body) for body in drives.straight_trip(1, NOW, samples=samples)]
    items = [body["pld"] for body in bodies[:-1]]
    return [
        *(
            microtrip(items[at : at + 10], deviceType="GPS", microTripId=None, ts=items[at]["clt"], **data)
            for at in range(0, len(items), 10)
        ),
        trip({"tid": 1}, deviceType="GPS", startTs=items[0]["clt"], endTs=items[-1]["clt"], **data),
    ]


def _correct(tx: WriteTx, driver_id: UserId, *, now_ms: int) -> None:
    known = drivers.of_trip(tx, TripId(TRIP))
    drivers.change(tx, known, driver_id, recorded_id=known.driver_id, corrected_ms=now_ms, now_ms=now_ms)


def end_silent(rig: BusRig) -> int:
    silence = Silence(store=rig.store, settings=Ingest(), signals=rig.signals, clock=lambda: rig.now_ms)
    ended: int = rig.run(silence.end_silent())
    return ended


@pytest.mark.parametrize("first", [microtrip, trip, event])
def test_trip_is_made_by_the_first_message_that_names_it(rig, first):
    rig.deliver(first())

    assert rig.rows(tables.trip, "id", "source", "sensor_id", "vehicle_id") == [(TRIP, "bus", SENSOR, VEHICLE)]


def test_several_trips_of_a_sensor_are_open_at_a_time(rig):
    rig.deliver(microtrip(), microtrip(tripId=OTHER_TRIP))

    assert rig.rows(tables.trip, "state") == ["OPEN", "OPEN"]


def test_scoring_waits_for_the_grace(graced):
    graced.deliver(*drive())

    assert due(graced) == [LATER + GRACE_MS]
    graced.now_ms += GRACE_MS - 1
    graced.score()
    assert graced.rows(tables.driving_score) == []
    graced.now_ms += 1
    graced.score()
    assert len(graced.rows(tables.driving_score)) == 1


def test_microtrip_within_the_grace_does_not_put_scoring_off(graced):
    *samples, ended = drive()
    graced.deliver(ended)
    graced.now_ms += GRACE_MS // 2

    graced.deliver(*samples)

    assert due(graced) == [LATER + GRACE_MS]


def test_late_microtrips_cause_one_rescoring(graced):
    *samples, ended = drive()
    graced.deliver(*samples[:-2], ended)
    graced.now_ms += GRACE_MS
    graced.score()
    before = graced.rows(tables.driving_score, "distance_m")

    for late in samples[-2:]:
        graced.now_ms += 1_000
        graced.deliver(late)

    assert due(graced) == [LATER + GRACE_MS + 1_000 + GRACE_MS]
    graced.now_ms += GRACE_MS
    graced.score()
    assert due(graced) == []
    assert graced.rows(tables.driving_score, "distance_m") > before


def test_redelivered_drive_asks_for_no_score(rig):
    rig.deliver(*drive())
    rig.score()

    rig.deliver(*drive())

    assert due(rig) == []


def test_late_microtrip_of_a_job_that_is_due_makes_it_another_job(graced):
    *samples, ended = drive()
    graced.deliver(ended)
    graced.now_ms = LATER + GRACE_MS

    graced.deliver(*samples)

    assert due(graced) == [LATER + 2 * GRACE_MS]


@pytest.mark.parametrize(("said", "kept"), [(6480, 6480.0), (0, None), (-1, None), (None, None)])
def test_distance_is_the_payloads_when_it_is_more_than_nothing(rig, said, kept):
    rig.deliver(trip({"dis": said}))

    assert rig.rows(tables.trip, "distance_m") == [kept]


@pytest.mark.parametrize(
    ("device", "scored"), [("GPS", True), ("bbx", True), ("OBD-II", True), ("ADAS", False), ("x", False)]
)
def test_device_type_decides_whether_a_drive_is_scored(rig, device, scored):
    rig.deliver(*[each | {"data": each["data"] | {"deviceType": device}} for each in drive()])
    rig.score()

    assert bool(rig.rows(tables.driving_score)) is scored
    assert rig.rows(tables.trip, "not_scored") == [None if scored else "device_type"]


@pytest.mark.parametrize(
    ("said", "kept", "number"),
    [("bbx", "BLACKBOX", 8), ("OBD-2", "OBD", 4), ("d tag", "DTAG", 10), ("Toaster", "Toaster", 0), (None, "GPS", 2)],
)
def test_device_type_is_read_tolerantly_and_an_unknown_one_stored_as_sent(rig, said, kept, number):
    rig.deliver(microtrip(deviceType=said))

    assert rig.rows(tables.trip, "device_type") == [kept]
    assert rig.rows(tables.microtrip, "ty") == [number]


def test_event_of_another_device_type_does_not_decide_that_of_the_trip(rig):
    rig.deliver(event(deviceType="ADAS"), *drive())

    assert rig.rows(tables.trip, "device_type") == ["GPS"]


def test_vehicle_and_driver_are_told_of_the_latest_trip(rig):
    rig.deliver(microtrip())
    told = rig.rows(tables.vehicle, "latest_trip_id", "last_trip_msg_type")[0]
    rig.deliver(trip(userId=DRIVER))

    assert told == (TRIP, "MICROTRIP")
    assert rig.rows(tables.vehicle, "latest_trip_id", "last_trip_msg_type")[0] == (TRIP, "TRIP")
    assert rig.rows(tables.account, "latest_trip_id") == [TRIP]


def test_older_drive_that_is_delivered_late_is_not_the_latest(rig):
    older = trip(tripId=OTHER_TRIP, startTs=NOW - 9_000_000, endTs=NOW - 8_000_000)

    rig.deliver(trip())
    rig.deliver(older)

    assert rig.rows(tables.vehicle, "latest_trip_id")[0] == TRIP


def test_last_message_says_the_kind_whatever_drive_it_is_about_as_for_devices(rig):
    rig.deliver(*drive())

    rig.deliver(microtrip(sample(NOW - 9_000_000), tripId=OTHER_TRIP))

    assert rig.rows(tables.vehicle, "latest_trip_id", "last_trip_msg_type")[0] == (TRIP, "MICROTRIP")
    assert rig.rows(tables.sensor, "last_trip_msg_type")[0] == "MICROTRIP"


def test_trip_is_no_longer_the_latest_of_the_driver_that_an_earlier_message_named(rig):
    rig.deliver(trip(userId=DRIVER))
    before = rig.rows(tables.account, "latest_trip_id")

    rig.deliver(trip(userId=PLACEHOLDER))

    assert (before, rig.rows(tables.account, "latest_trip_id")) == ([TRIP], [None])


def test_late_microtrip_does_not_say_that_the_vehicle_drives(rig):
    rig.deliver(trip())

    rig.deliver(microtrip())

    assert rig.rows(tables.vehicle, "last_trip_msg_type")[0] == "TRIP"


def test_trip_id_of_another_sensor_is_rejected_and_changes_nothing(rig):
    rig.deliver(*drive())
    before = rig.rows(tables.trip)

    outcome = rig.deliver(*(each for each in drive(sensorId=UNMAPPED)), event(sensorId=UNMAPPED))

    assert set(reasons(outcome)) == {"trip_taken"}
    assert rig.rows(tables.trip) == before


def test_two_sensors_that_name_a_new_trip_in_one_batch_do_not_share_it(rig):
    outcome = rig.deliver(microtrip(), microtrip(sensorId=UNMAPPED))

    assert (dict(outcome.counts), reasons(outcome)) == ({"microtrip": 1}, ["trip_taken"])


def test_trip_id_of_a_device_s_trip_is_rejected(rig):
    rig.send(of_device(NOW))
    (taken,) = rig.rows(tables.trip, "id")

    assert reasons(rig.deliver(microtrip(tripId=taken))) == ["trip_taken"]


def test_device_that_sends_over_mqtt_too_keeps_a_trip_of_its_own(rig):
    rig.deliver(microtrip())
    rig.restart()

    rig.send(of_device(NOW))
    rig.send(of_device(NOW + 2_000))
    rig.deliver(trip())

    assert sorted(rig.rows(tables.trip, "source", "state")) == [("bus", "COMPLETE"), ("device", "OPEN")]


def test_silence_of_thirty_minutes_ends_a_trip_and_has_it_scored(rig):
    rig.deliver(*drive()[:-1])
    rig.now_ms = LATER + 30 * MINUTE
    assert end_silent(rig) == 0
    rig.now_ms += 1

    assert end_silent(rig) == 1

    rig.score()
    assert rig.rows(tables.trip, "state", "start_ms", "end_ms") == [("LAPSED", NOW, NOW + 158_000)]
    assert len(rig.rows(tables.driving_score)) == 1


def test_message_behind_silence_completes_the_trip_with_a_score_anew(rig):
    *samples, ended = drive()
    rig.deliver(*samples)
    rig.now_ms = LATER + 31 * MINUTE
    end_silent(rig)
    rig.score()

    rig.deliver(ended | {"data": ended["data"] | {"userId": DRIVER}})
    rig.score()

    assert rig.rows(tables.trip, "state") == ["COMPLETE"]
    assert rig.rows(tables.driving_score, "user_id") == [DRIVER]


def test_later_messages_keep_a_corrected_driver_and_name_the_recorded_one(rig):
    *samples, ended = drive()
    rig.deliver(*samples, ended)
    rig.score()
    rig.run(rig.store.write(lambda tx: _correct(tx, OTHER_DRIVER, now_ms=rig.now_ms)))

    rig.deliver(ended | {"data": ended["data"] | {"userId": DRIVER}})
    rig.deliver(*samples)
    rig.score()

    assert rig.rows(tables.trip, "user_id", "recorded_user_id") == [(OTHER_DRIVER, DRIVER)]
    assert rig.rows(tables.driving_score, "user_id") == [OTHER_DRIVER]


def test_microtrip_behind_silence_opens_the_trip_again(rig):
    *samples, _ = drive()
    rig.deliver(*samples[:4])
    rig.now_ms = LATER + 31 * MINUTE
    end_silent(rig)

    rig.deliver(*samples[4:])

    assert rig.rows(tables.trip, "state", "end_ms", "closed_ms") == [("OPEN", None, None)]


def test_trip_that_only_an_event_names_ends_by_silence_without_a_score(rig):
    rig.deliver(event())
    rig.now_ms = LATER + 31 * MINUTE

    assert end_silent(rig) == 1

    rig.score()
    assert rig.rows(tables.trip, "state", "not_scored") == [("LAPSED", "no_samples")]


@pytest.mark.parametrize("make", [microtrip, event])
def test_open_trips_end_when_their_sensor_is_deleted(rig, make):
    rig.deliver(make())

    rig.run(rig.store.write(lambda tx: removal.end_open(tx, SENSOR, now_ms=rig.now_ms)))

    assert rig.rows(tables.trip, "state") == ["LAPSED"]


def test_event_of_class_attributes_updates_the_latest_values(rig):
    rig.deliver(event({"wbv": 11.5}, ty=104), event({"cm": "01"}, ty=None, eventId=None))

    assert rig.rows(tables.sensor_attribute, "name", "payload") == [("104", b'{"wbv": 11.5}'), ("cm", b'{"cm": "01"}')]


def test_what_is_stored_is_pushed_as_what_devices_send(rig):
    rig.want("1,2,7,8,102")

    rig.deliver(*drive()[:1], trip(), event(), drive()[0])

    told = [(each["ty"], each["msgTy"], each["sensorId"], each["vehicleId"]) for each in rig.pushed()]
    assert told == [
        ("MICROTRIP", 2, SENSOR, VEHICLE),
        ("TRIP", 7, SENSOR, VEHICLE),
        ("EVENT", 102, SENSOR, VEHICLE),
    ]


def test_message_of_an_unknown_device_type_is_pushed_to_nobody(rig):
    rig.want("1,2,3,4,5,6,7,8,9,10")

    assert dict(rig.deliver(microtrip(deviceType="Toaster")).counts) == {"microtrip": 1}

    assert rig.pushed() == []


def test_aggregate_is_one_record_whatever_trip_numbers_its_items_have(rig):
    rig.deliver(microtrip([sample(NOW, tid=1), sample(NOW + 1_000, tid=2), sample(NOW + 2_000, **{"try": 2})]))

    assert len(rig.rows(tables.microtrip)) == len(rig.rows(tables.trip)) == 1


def test_parking_drive_is_not_scored(rig):
    rig.deliver(microtrip([sample(NOW, **{"try": 2})]), trip({"try": 2}))

    assert rig.rows(tables.trip, "not_scored", "parking") == [("parking", True)]


def test_empty_aggregate_makes_no_trip(rig):
    outcome = rig.deliver(microtrip([]), event([]))

    assert (dict(outcome.counts), outcome.refused, rig.rows(tables.trip)) == ({}, [], [])


def test_elements_that_are_no_objects_are_left_out_and_the_others_used(rig):
    outcome = rig.deliver(microtrip([sample(NOW), 5, sample(NOW + 1_000)]))

    assert (dict(outcome.counts), reasons(outcome)) == ({"microtrip": 1}, ["item_form"])
    assert json.loads(rig.rows(tables.microtrip, "payload")[0]) == [sample(NOW), sample(NOW + 1_000)]


@pytest.mark.parametrize(("count", "stored"), [(999, 1), (1_000, 1), (1_001, 0)])
def test_items_of_an_aggregate_are_bounded(rig, count, stored):
    outcome = rig.deliver(microtrip([item(NOW + at) for at in range(count)]))

    assert (outcome.counts["microtrip"], reasons(outcome)) == (stored, [] if stored else ["too_many_items"])


def test_array_of_events_is_one_event_each(rig):
    assert rig.deliver(event([{"wbv": 11.1}, {"wbv": 11.2}], ty=104)).counts["event"] == 2
    assert len(set(rig.rows(tables.device_event, "id"))) == 2


def test_batch_that_the_store_cannot_take_is_kept_by_nobody(rig):
    rig.store.away = True
    with pytest.raises(Outage):
        rig.deliver(microtrip())
    rig.store.away = False

    assert rig.rows(tables.trip) == []
    assert rig.deliver(microtrip()).counts["microtrip"] == 1


def test_numbers_that_are_taken_cost_a_second_try(rig):
    rig.deliver(microtrip(), trip())
    rig.restart(clock_set_back=True)

    assert rig.deliver(microtrip(tripId=OTHER_TRIP)).counts["microtrip"] == 1


def test_message_that_the_program_fails_on_is_set_aside_and_the_others_go_on(rig):
    rig.run(rig.store.write(lambda tx: stores.spoil(tx, "INSERT ON device_event", when="new.ty = 111")))

    outcome = rig.deliver(microtrip(), event({"event": 1}, ty=111, eventId=None), event(), trip())

    assert reasons(outcome) == ["internal"]
    assert dict(outcome.counts) == {"microtrip": 1, "event": 1, "trip": 1}
    assert rig.rows(tables.rejected_message, "reason") == ["internal"]


def test_batches_of_one_trip_at_the_same_time_store_everything_once(rig):
    batches = [drive()[at::3] for at in range(3)]

    async def work() -> None:
        consumers = [rig.bus_consumer() for _ in range(6)]
        await asyncio.gather(
            *(
                consumer.take_in([message(each) for each in batches[at % 3]], now_ms=rig.now_ms)
                for at, consumer in enumerate(consumers)
            )
        )

    rig.run(work())
    rig.now_ms += 1_000  # a microtrip that came behind the trip message has put the job off by an instant
    rig.score()

    assert len(rig.rows(tables.microtrip)) == 8
    assert rig.rows(tables.trip, "state") == ["COMPLETE"]
    assert len(rig.rows(tables.driving_score)) == 1


def test_vehicle_that_only_one_message_names_is_the_trips(rig):
    samples, ended = (
        drive(sensorId=UNMAPPED, vehicleId=None)[:-1],
        drive(sensorId=UNMAPPED, vehicleId=OTHER_VEHICLE)[-1],
    )

    rig.deliver(*samples)
    rig.deliver(ended)
    rig.score()

    assert rig.rows(tables.driving_score, "vehicle_id") == [OTHER_VEHICLE]


# the vehicle and driver of a trip


@pytest.mark.parametrize("deleted", [False, True])
def test_backlog_of_the_old_vehicle_goes_to_it_and_its_driver(rig: BusRig, deleted: bool) -> None:
    rig.remount(NOW + MINUTE)
    if deleted:
        rig.run(rig.store.write(lambda tx: tx.run(tables.vehicle.delete().where(tables.vehicle.c.id == VEHICLE))))
    rig.deliver(microtrip(vehicleId=None), event(tripId=None, vehicleId=None))
    rig.deliver(microtrip([sample(NOW + 2 * MINUTE)], tripId=OTHER_TRIP, microTripId=None, vehicleId=None))

    owner = (None, None) if deleted else (VEHICLE, DRIVER)
    assert rig.rows(tables.trip, "vehicle_id", "user_id") == [owner, (OTHER_VEHICLE, None)]
    assert rig.rows(tables.device_event, "vehicle_id", "user_id") == [(OTHER_VEHICLE, None)]
    assert rig.rows(tables.vehicle, "latest_trip_id") == ([OTHER_TRIP] if deleted else [TRIP, OTHER_TRIP])


def test_driver_is_the_one_at_the_start_unless_the_message_says_one(rig: BusRig) -> None:
    rig.note(Event.DRIVER_UNSET, NOW + MINUTE, vehicle_id=VEHICLE, user_id=DRIVER)
    rig.change(tables.vehicle, VEHICLE, current_driver_id=None)
    rig.deliver(microtrip(), microtrip([sample(NOW + 2 * MINUTE)], tripId=OTHER_TRIP, microTripId=None))

    assert rig.rows(tables.trip, "user_id") == [DRIVER, None]
