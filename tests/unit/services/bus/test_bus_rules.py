"""Every reading rule of spec/bus-messages 4, through reading, placing and keeping; the number is in the test's name."""

import json
from collections import Counter
from typing import Any

import pytest
from sqlalchemy import insert, update
from tests.support import drives, fleet_rows, reference, stores
from tests.support.bus_messages import (
    OTHER_TRIP,
    PLACEHOLDER,
    RECORD,
    TRIP,
    event,
    microtrip,
    sample,
    trip,
)
from tests.support.bus_rig import LATER, BusRig, message, reasons
from tests.support.ingest_rig import COMPANY, DRIVER, NOW, OTHER_VEHICLE, SENSOR, UNMAPPED, VEHICLE, item

from tripline.ports.outages import Outage
from tripline.store import tables

STRANGER = "99999999-0000-11ef-8000-000000000009"


def counts(rig: BusRig, *messages: Any, **more: Any) -> dict[str, int]:
    return dict(rig.deliver(*messages, **more).counts)


def envelopes(rig: BusRig, table: Any) -> list[Any]:
    return [json.loads(text) for text in rig.rows(table, "envelope")]


def register_company(rig: BusRig, company_id: str = STRANGER) -> None:
    """Another company, with a vehicle and a person."""

    def work(tx: Any) -> None:
        values = {"name": "Stranger", "service_type": "other", "master": True, "token_prefix": "STRAN"}
        tx.run(insert(tables.company).values(id=company_id, created_ms=0, master_id=company_id, **values))
        tx.run(insert(tables.vehicle), fleet_rows.vehicle(VEHICLE.replace("3", "7"), company_id, service_type="other"))

    rig.run(rig.store.write(work))


# 4.1 and 4.2


@pytest.mark.parametrize("said", ["microtrip", "Microtrip", " MICROTRIP "])
def test_rule_4_1_letter_case_and_blanks_of_msg_type_do_not_matter(rig, said):
    assert counts(rig, microtrip() | {"msgType": said}) == {"microtrip": 1}


def test_rule_4_2_msg_type_decides_the_kind_and_not_the_topic(rig):
    assert counts(rig, trip(), event(), microtrip(), topic="sf-microtrip") == {"trip": 1, "event": 1, "microtrip": 1}


@pytest.mark.parametrize("said", [None, "telemetry", 7])
def test_rule_4_2_topic_decides_when_msg_type_says_nothing(rig, said):
    assert counts(rig, trip() | {"msgType": said}, topic="sf-trip") == {"trip": 1}


def test_rule_4_2_message_of_no_kind_from_no_known_topic_is_rejected(rig):
    assert reasons(rig.deliver(trip() | {"msgType": "x"}, topic="elsewhere")) == ["kind"]


# 4.3


def test_rule_4_3_payload_may_be_text_or_object_or_array(rig):
    items = [sample(NOW), sample(NOW + 2_000)]
    for number, payload in enumerate((items[0], items)):
        for as_text in (True, False):
            name = f"{number}{as_text:d}"
            sent = microtrip(payload, as_text=as_text, tripId=f"{TRIP[:-2]}{name}", microTripId=None)

            assert counts(rig, sent) == {"microtrip": 1}

    stored = [json.loads(payload) for payload in rig.rows(tables.microtrip, "payload")]
    assert stored == [items[0], items[0], items, items]


def test_rule_4_3_raw_line_breaks_inside_the_payload_text_are_read(rig):
    body = json.dumps(microtrip(json.dumps([sample(NOW)], indent=1), as_text=False)).replace("\\n", "\n").encode()
    assert b"\n" in body

    assert counts(rig, body, topic="sf-microtrip") == {"microtrip": 1}

    assert json.loads(rig.rows(tables.microtrip, "payload")[0]) == [sample(NOW)]


@pytest.mark.parametrize("text", ["{", "", "nonsense", '{"a":1'])
def test_rule_4_3_payload_text_that_does_not_parse_is_rejected(rig, text):
    assert reasons(rig.deliver(microtrip(text, as_text=False))) == ["payload_text"]


@pytest.mark.parametrize("payload", [7, True, '"text"', "3"])
def test_rule_4_3_payload_that_is_no_record_is_rejected(rig, payload):
    assert reasons(rig.deliver(microtrip(payload, as_text=False))) == ["payload_form"]
    assert rig.rows(tables.trip) == []


# 4.4 to 4.6


@pytest.mark.parametrize("name", ["companyId", "sensorId", "vehicleId", "tripId", "userId", "microTripId"])
def test_rule_4_4_both_spellings_of_a_key_are_read(rig, name):
    sent = microtrip(userId=DRIVER)
    sent["data"][name[:-2] + "ID"] = sent["data"].pop(name)

    assert counts(rig, sent) == {"microtrip": 1}

    assert rig.rows(tables.trip, "id", "sensor_id", "vehicle_id") == [(TRIP, SENSOR, VEHICLE)]
    assert rig.rows(tables.microtrip, "id") == [RECORD]


def test_rule_4_4_event_id_in_both_spellings_is_read(rig):
    sent = event()
    sent["data"]["eventID"] = sent["data"].pop("eventId")

    counts(rig, sent)

    assert rig.rows(tables.device_event, "id") == [event()["data"]["eventId"]]


def test_rule_4_4_the_usual_spelling_comes_first(rig):
    assert counts(rig, microtrip(companyID=STRANGER)) == {"microtrip": 1}


def test_rule_4_5_ids_may_be_id_objects(rig):
    data = {name: {"id": microtrip()["data"][name]} for name in ("companyId", "sensorId", "tripId", "microTripId")}

    assert counts(rig, microtrip(**data)) == {"microtrip": 1}

    assert (rig.rows(tables.trip, "id"), rig.rows(tables.microtrip, "id")) == ([TRIP], [RECORD])


def test_rule_4_5_ids_in_capitals_and_with_blanks_are_read(rig):
    assert counts(rig, microtrip(tripId=f" {TRIP.upper()} ")) == {"microtrip": 1}

    assert rig.rows(tables.trip, "id") == [TRIP]


def test_rule_4_6_data_may_be_json_text(rig):
    sent = microtrip()

    assert counts(rig, sent | {"data": json.dumps(sent["data"])}) == {"microtrip": 1}

    assert rig.rows(tables.microtrip, "payload") == [sent["data"]["payload"].encode()]


@pytest.mark.parametrize("data", ["{", "[]", 5, [1]])
def test_rule_4_6_data_that_is_no_object_is_rejected(rig, data):
    assert reasons(rig.deliver({"data": data, "msgType": "trip"})) == ["data_form"]


# 4.7 and 4.8


@pytest.mark.parametrize("latest", [{"deviceType": "OBD", "Id": RECORD}, "text", [], None, 5])
def test_rule_4_7_latest_trip_is_not_looked_at(rig, latest):
    assert counts(rig, trip() | {"latestTrip": latest}) == {"trip": 1}


def test_rule_4_8_day_as_a_number_and_instants_as_numbers_are_tolerated(rig):
    assert counts(rig, microtrip(date=14), event(eventTs=None, eventDt=NOW)) == {"microtrip": 1, "event": 1}

    assert rig.rows(tables.device_event, "event_ms") == [NOW]


def test_rule_4_8_text_times_are_read_in_the_zone_when_the_numbers_are_missing(rig):
    sent = trip(startTs=None, endTs=None, startDt="2025-01-01 09:00:00", endDt="2025-01-01T09:15")

    counts(rig, sent)

    assert rig.rows(tables.trip, "start_ms", "end_ms") == [(NOW, NOW + 900_000)]


@pytest.mark.parametrize("text", ["2025-13-01 00:00:00", "yesterday", "2009-12-31 00:00:00", "2031-01-01 00:00:00"])
def test_rule_4_8_text_times_that_cannot_be_are_as_if_absent(rig, text):
    counts(rig, event({"event": 1}, ty=111, eventTs=None, eventDt=text))

    assert rig.rows(tables.device_event, "event_ms") == [NOW + 331_000]


# 4.9 to 4.11


def test_rule_4_9_payload_of_an_event_is_not_checked_against_its_number(rig):
    assert counts(rig, event({"event": 1234}, ty=111, eventId=None)) == {"event": 1}

    assert rig.rows(tables.device_event, "ty", "payload") == [(111, b'{"event": 1234}')]


def test_rule_4_9_signature_supplies_a_missing_number(rig):
    counts(rig, event({"wbv": 11.2}, ty=None))

    assert rig.rows(tables.device_event, "ty", "sent_ty") == [(104, None)]


def test_rule_4_9_number_that_was_sent_wins_over_a_signature(rig):
    counts(rig, event({"wbv": 11.2}, ty=111))

    assert rig.rows(tables.device_event, "ty", "sent_ty") == [(111, 111)]


@pytest.mark.parametrize(
    ("number", "reason"), [(None, "no_type"), ("x", "no_type"), (99, "unknown_type"), (2, "unknown_type")]
)
def test_rule_4_9_event_without_number_or_signature_or_with_one_below_100_is_rejected(rig, number, reason):
    assert reasons(rig.deliver(event({"event": 1}, ty=number))) == [reason]


@pytest.mark.parametrize("number", [100, 101, 116, 130, "102", 2**31 - 1])
def test_rule_4_9_numbers_from_100_on_are_stored(rig, number):
    assert counts(rig, event({"a": 1}, ty=number)) == {"event": 1}

    assert rig.rows(tables.device_event, "ty") == [int(number)]


def test_rule_4_10_items_without_position_are_stored_and_not_scored(rig):
    items = [{"tid": 1, "sp": 40, "clt": NOW + second * 1000} for second in range(60)]
    counts(rig, microtrip(items), trip())

    rig.score()

    assert rig.rows(tables.trip, "not_scored") == ["no_position"]
    assert rig.rows(tables.driving_score) == []


def test_rule_4_11_times_of_the_message_win_when_its_end_is_after_its_start(rig):
    counts(rig, trip({"stt": NOW - 9_000_000, "edt": NOW - 8_000_000}, endTs=NOW + 1))

    assert rig.rows(tables.trip, "start_ms", "end_ms") == [(NOW, NOW + 1)]


@pytest.mark.parametrize("end", [NOW, NOW - 1])
def test_rule_4_11_times_of_the_payload_count_when_the_message_contradicts_itself(rig, end):
    counts(rig, trip({"stt": NOW - 9_000_000, "edt": NOW - 8_000_000}, endTs=end))

    assert rig.rows(tables.trip, "start_ms", "end_ms") == [(NOW - 9_000_000, NOW - 8_000_000)]


def test_rule_4_11_example_of_the_page_is_stored_with_the_times_of_its_payload(rig):
    page = (reference.ROOT / "docs" / "bus.md").read_text("utf-8").partition("**Times of a trip.**")[2]
    example = json.loads(page.partition("```json")[2].partition("```")[0])
    data = example["data"] | {"companyId": COMPANY, "sensorId": SENSOR, "vehicleId": VEHICLE}
    counts(rig, example | {"data": data})

    assert data["startTs"] == data["endTs"]
    assert rig.rows(tables.trip, "start_ms", "end_ms") == [(1_525_651_200_000, 1_525_652_100_000)]


@pytest.mark.parametrize("trip_first", [True, False])
def test_rule_4_11_samples_say_the_times_when_nothing_else_does(rig, trip_first):
    ended = trip({"dis": 9}, startTs=None, endTs=None)
    drive = [microtrip([sample(NOW + at)], microTripId=None, ts=NOW + at) for at in (60_000, 0, 90_000)]
    for sent in [ended, *drive] if trip_first else [*drive, ended]:
        counts(rig, sent)

    assert rig.rows(tables.trip, "start_ms", "end_ms", "state") == [(NOW, NOW + 90_000, "COMPLETE")]


# 4.12 to 4.14


def test_rule_4_12_producer_that_uses_one_id_for_everything_is_stored(rig):
    same = {"tripId": TRIP, "microTripId": TRIP, "vehicleId": SENSOR}
    sent = [microtrip([sample(NOW + at * 1_000)], ts=NOW + at * 1_000, **same) for at in range(5)]

    assert counts(rig, *sent) == {"microtrip": 5}
    assert counts(rig, *sent) == {"duplicate": 5}

    assert rig.rows(tables.trip, "id", "vehicle_id") == [(TRIP, VEHICLE)]
    found = rig.rows(tables.microtrip, "id")
    assert found[0] == TRIP
    assert len(set(found)) == 5


@pytest.mark.parametrize("name", ["sensorId", "tripId", "payload", "deviceType"])
def test_rule_4_13_field_beside_data_is_found(rig, name):
    sent = microtrip()
    sent[name] = sent["data"].pop(name)

    assert counts(rig, sent) == {"microtrip": 1}

    assert rig.rows(tables.trip, "id", "device_type") == [(TRIP, "BLACKBOX")]


def test_rule_4_13_envelope_is_data_when_it_has_the_payload(rig):
    sent = microtrip()

    assert counts(rig, sent["data"] | {"msgType": "microtrip"}) == {"microtrip": 1}


def test_rule_4_13_data_without_payload_anywhere_is_rejected(rig):
    assert reasons(rig.deliver(microtrip(payload=None) | {"data": {"sensorId": SENSOR, "tripId": TRIP}})) == [
        "no_payload"
    ]


def headed(body: Any, **beside: Any) -> dict[str, Any]:
    """What a device would send, with its sensor beside it."""
    sent = json.loads(body) if isinstance(body, bytes) else body
    return {**sent, "sensorId": SENSOR, **beside}


OF_DEVICE: list[dict[str, Any]] = [
    *map(json.loads, drives.straight_trip(1, NOW)[:-1]),
    {"ty": 102, "ts": NOW + 60_000, "pld": {"tid": 1, "dclat": 36.01, "dclon": 127.5}},
    {"ty": 104, "ts": NOW + 61_000, "pld": {"wbv": 11}},
    {"ty": 2, "ts": NOW + 62_000, "pld": {"cm": ["10", "30"]}},
    json.loads(drives.straight_trip(1, NOW)[-1]),
    {"ty": 2, "ts": NOW + 200_000, "pld": [item(NOW + 200_000 + at * 1_000, tid=2 + at // 3) for at in range(6)]},
    {"ty": "8", "try": 2, "ts": NOW + 300_000, "pld": {"tid": 9, "lat": 37.5, "lon": 127.0, "clt": NOW + 300_000}},
    {"pld": {"tid": 9, "dis": 5}, "ts": NOW + 310_000, "ty": 7},
]
"""A drive with events and a latest value, two that no message ends, a parking."""
STORED: dict[Any, tuple[str, ...]] = {
    tables.trip: (
        *("company_id", "sensor_id", "vehicle_id", "user_id", "service_type", "device_type", "tid", "parking", "state"),
        *("start_ms", "end_ms", "closed_ms", "message_ty", "message_key", "distance_m", "payload", "not_scored"),
        *("source", "envelope"),
    ),
    tables.microtrip: ("ts", "ty", "payload", "samples", "envelope"),
    tables.device_event: (
        *("company_id", "sensor_id", "vehicle_id", "user_id", "device_type", "ty", "sent_ty", "ts", "event_ms"),
        *("lat", "lon", "payload", "envelope"),
    ),
    tables.sensor_attribute: ("sensor_id", "name", "updated_ms", "payload"),
    tables.driving_score: ("score", "accel", "de_accel", "over_speed", "distance_m"),
    tables.sensor: ("id", "last_trip_msg_type"),
    tables.vehicle: ("id", "last_trip_msg_type"),
}


def stored(rig: BusRig) -> dict[str, list[Any]]:
    """What is in the store, without ids and numbers, and which trips records belong to, by their order."""
    found = {table.name: rig.rows(table, *columns) for table, columns in STORED.items()}
    trips = rig.rows(tables.trip, "no", "id")
    places = {key: at for at, both in enumerate(trips) for key in both}
    found["of trips"] = [places[no] for no in rig.rows(tables.microtrip, "trip_no")]
    found["events of trips"] = [places.get(trip_id) for trip_id in rig.rows(tables.device_event, "trip_id")]
    found["latest"] = [places.get(trip_id) for trip_id in rig.rows(tables.vehicle, "latest_trip_id")]
    return found


def test_rule_4_14_message_with_the_header_of_devices_is_read_as_one(rig):
    headed = {"ty": 2, "ts": NOW, "pld": {"tid": 1, "lat": 37.5, "lon": 127.0, "sp": 40, "clt": NOW}}

    assert counts(rig, headed | {"sensorId": SENSOR, "tripId": TRIP}) == {"microtrip": 1}
    assert counts(rig, {"ty": 104, "ts": NOW, "pld": {"wbv": 11}, "sensorID": SENSOR}) == {"event": 1}

    assert rig.rows(tables.microtrip, "ty", "ts") == [(2, NOW)]
    assert rig.rows(tables.trip, "id", "source") == [(TRIP, "bus")]


@pytest.mark.parametrize("at_once", [True, False])
def test_rule_4_14_header_form_without_a_trip_makes_the_rows_that_the_device_would(tmp_path, at_once):
    batches = [OF_DEVICE] if at_once else [[each] for each in OF_DEVICE]
    with BusRig.fresh(tmp_path) as device:
        for bodies in batches:
            device.send(*bodies)
        device.score()
        expected = stored(device)
    told: Counter[str] = Counter()
    with BusRig.fresh(tmp_path) as rig:
        for bodies in batches:
            told += rig.deliver(*(headed(each) for each in bodies)).counts
        rig.score()

        assert stored(rig) == expected
        assert len(rig.rows(tables.driving_score)) == 1
        assert rig.rows(tables.trip, "state", "parking") == [
            *(("COMPLETE", False), ("LAPSED", False), ("LAPSED", False), ("COMPLETE", True))
        ]
        assert told == {"microtrip": 83, "event": 2, "latest": 1, "trip": 2}


def test_rule_4_14_header_form_delivered_again_changes_nothing(rig):
    timed = [headed(each) for each in OF_DEVICE]
    rig.deliver(*timed)
    rig.score()
    before = stored(rig)

    assert counts(rig, *timed) == {"duplicate": 87, "latest": 1}
    rig.restart()
    assert counts(rig, *timed) == {"duplicate": 87, "latest": 1}

    assert stored(rig) == before
    assert rig.rows(tables.scoring_job) == []


def test_rule_4_14_header_form_goes_on_with_the_trip_that_the_device_began(rig):
    bodies = [json.loads(body) for body in drives.straight_trip(1, NOW, samples=4)]
    rig.send(*bodies[:2])

    assert counts(rig, headed(bodies[1]), headed(bodies[2])) == {"duplicate": 1, "microtrip": 1}
    rig.send(*bodies[3:])
    assert counts(rig, headed(bodies[4])) == {"duplicate": 1}

    assert rig.rows(tables.trip, "state", "end_ms") == [("COMPLETE", NOW + 6_000)]
    assert len(rig.rows(tables.microtrip)) == 4


def test_rule_4_14_header_form_of_a_black_box_that_parks_is_no_drive(rig):
    rig.deliver(headed({"ty": 8, "try": 2, "ts": NOW, "pld": {"tid": 9, "lat": 37.5, "lon": 127.0}}))

    assert rig.rows(tables.trip, "device_type", "parking") == [("BLACKBOX", True)]


def test_rule_4_14_header_form_with_line_breaks_in_texts_and_numbers_out_of_range_is_read(rig):
    body = b'\xef\xbb\xbf{"sensorId":"%b","ty":104,"ts":%d,"pld":{"wbv":1e999,"as":"a\nb"}}' % (SENSOR.encode(), NOW)

    assert counts(rig, body) == {"event": 1}

    assert rig.rows(tables.device_event, "payload") == [b'{"wbv":null,"as":"a\\nb"}']


def test_rule_4_14_header_form_without_a_sensor_is_rejected(rig):
    assert reasons(rig.deliver({"ty": 2, "ts": NOW, "pld": {}})) == ["no_sensor"]


def test_rule_4_14_header_form_of_an_unknown_sensor_is_rejected(rig):
    assert reasons(rig.deliver(headed(OF_DEVICE[0], sensorId=STRANGER))) == ["unknown_sensor"]

    assert rig.rows(tables.rejected_message, "reason", "source", "bus_partition") == [("unknown_sensor", "bus", 0)]
    assert rig.rows(tables.trip) == []


@pytest.mark.parametrize(("said", "topics"), [(STRANGER, None), (None, STRANGER), (COMPANY, STRANGER)])
def test_rule_4_14_header_form_of_another_company_is_rejected_and_not_shown_to_the_owner(rig, said, topics):
    assert reasons(rig.deliver(headed(OF_DEVICE[0], companyId=said), company=topics)) == ["company"]
    assert rig.rows(tables.rejected_message, "reason", "sensor_id", "source") == [("company", None, "bus")]
    assert rig.rows(tables.trip) == []
    assert counts(rig, headed(OF_DEVICE[0], companyId=COMPANY), company=COMPANY) == {"microtrip": 1}


@pytest.mark.parametrize("trip_id", ["x", "", PLACEHOLDER])
def test_rule_4_14_header_form_with_a_trip_that_is_none_is_rejected_as_any(rig, trip_id):
    assert reasons(rig.deliver(headed(OF_DEVICE[0], tripId=trip_id))) == ["no_trip"]
    assert counts(rig, headed(OF_DEVICE[0], tripId=None)) == {"microtrip": 1}


def test_rule_4_14_header_form_that_cannot_be_used_is_in_the_log_as_the_devices_and_told_to_the_sender(rig):
    unknown = headed({"ty": 50, "ts": NOW, "pld": {"a": 1}})
    partly = headed({"ty": 2, "ts": NOW, "pld": [item(NOW), 7]})

    outcome = rig.take([message(unknown, topic="sf-event", offset=7), message(partly, offset=8)])

    assert [(each.rejected.reason, each.message.offset) for each in outcome.refused] == [
        ("unknown_type", 7),
        ("item_form", 8),
    ]
    assert outcome.counts == {"microtrip": 1}
    assert rig.rows(tables.rejected_message, "reason", "source", "sensor_id", "topic") == [
        ("unknown_type", "device", SENSOR, "v1/sensors/me/tre"),
        ("item_form", "device", SENSOR, "v1/sensors/me/tre"),
    ]


def test_rule_4_14_header_form_waits_while_the_store_is_away_and_comes_again_with_its_batch(rig):
    take_in, tries = rig.pipeline.take_in, 0

    async def away_at_first(*args: Any, **more: Any) -> Any:
        nonlocal tries
        tries += 1
        rig.store.away = tries == 1
        return await take_in(*args, **more)

    rig.pipeline.take_in = away_at_first
    with pytest.raises(Outage):
        rig.deliver(microtrip(), headed(OF_DEVICE[0]))
    rig.store.away = False

    assert counts(rig, microtrip(), headed(OF_DEVICE[0])) == {"duplicate": 1, "microtrip": 1}

    assert sorted(rig.rows(tables.trip, "source")) == ["bus", "device"]
    assert len(rig.rows(tables.microtrip)) == 2


def test_rule_4_14_sensor_that_changes_hands_meanwhile_takes_nothing_of_its_former_owner(rig):
    register_company(rig)
    take_in = rig.pipeline.take_in

    async def sold(*args: Any, **more: Any) -> Any:
        new_owner = update(tables.sensor).where(tables.sensor.c.id == SENSOR).values(company_id=STRANGER)
        await rig.store.write(lambda tx: tx.run(new_owner))
        return await take_in(*args, **more)

    rig.pipeline.take_in = sold
    with pytest.raises(Outage):
        rig.deliver(headed(OF_DEVICE[0]), company=COMPANY)

    assert reasons(rig.deliver(headed(OF_DEVICE[0]), company=COMPANY)) == ["company"]
    assert rig.rows(tables.trip) == []


def test_rule_4_14_header_form_that_the_program_fails_on_is_set_aside_and_the_others_go_on(rig):
    rig.run(rig.store.write(lambda tx: stores.spoil(tx, "INSERT ON device_event", when="new.ty = 102")))

    outcome = rig.deliver(microtrip(), *map(headed, OF_DEVICE))

    assert reasons(outcome) == ["internal"]
    assert dict(outcome.counts) == {"microtrip": 84, "event": 1, "latest": 1, "trip": 2}


# 4.15


def test_rule_4_15_same_microtrip_again_is_dropped(rig):
    assert counts(rig, microtrip(), microtrip()) == {"microtrip": 1, "duplicate": 1}
    assert counts(rig, microtrip(), microtrip(json.loads(microtrip()["data"]["payload"]), as_text=False)) == {
        "duplicate": 2
    }


def test_rule_4_15_same_id_with_another_payload_is_a_new_record_with_an_id_of_ours(rig):
    other = microtrip([sample(NOW + 9_000)])

    assert counts(rig, microtrip(), other) == {"microtrip": 2}
    assert counts(rig, other, microtrip()) == {"duplicate": 2}

    found = rig.rows(tables.microtrip, "id")
    assert found[0] == RECORD
    assert found[1] != RECORD


def test_rule_4_15_same_microtrip_of_another_trip_is_stored(rig):
    assert counts(rig, microtrip(), microtrip(tripId=OTHER_TRIP)) == {"microtrip": 2}


def test_rule_4_15_second_trip_message_is_an_update(rig):
    counts(rig, trip())
    rig.score()
    again = trip({"dis": 7000}, userId=DRIVER)

    assert counts(rig, again) == {"updated": 1}

    assert rig.rows(tables.trip, "distance_m", "user_id", "state") == [(7000.0, DRIVER, "COMPLETE")]
    assert len(rig.rows(tables.scoring_job)) == 1


def test_rule_4_15_trip_message_that_changes_only_times_asks_for_no_score(rig):
    counts(rig, trip())
    rig.score()

    assert counts(rig, trip(endTs=NOW + 800_000)) == {"updated": 1}

    assert rig.rows(tables.trip, "end_ms") == [NOW + 800_000]
    assert rig.rows(tables.scoring_job) == []


def test_rule_4_15_older_trip_message_that_comes_again_does_not_undo_an_update(rig):
    first, second = trip({"dis": 6000}), trip({"dis": 7000})
    counts(rig, first, second)

    assert counts(rig, first) == {"duplicate": 1}

    assert rig.rows(tables.trip, "distance_m") == [7000.0]


def test_rule_4_15_same_event_again_is_dropped_and_another_payload_is_not(rig):
    other = event({"tid": 1, "dclat": 37.0, "dclon": 127.0})

    assert counts(rig, event(), event(), other) == {"event": 2, "duplicate": 1}
    assert counts(rig, other, event()) == {"duplicate": 2}


@pytest.mark.parametrize("make", [lambda: microtrip(microTripId=None), lambda: event(eventId=None)])
def test_rule_4_15_message_without_an_id_is_known_by_its_content(rig, make):
    assert sum(counts(rig, make(), make()).values()) == 2
    assert counts(rig, make()) == {"duplicate": 1}


# 4.16 to 4.20


@pytest.mark.parametrize("said", [OTHER_VEHICLE, STRANGER, SENSOR, "nonsense", None])
def test_rule_4_16_mapping_of_the_platform_wins(rig, said):
    counts(rig, microtrip(vehicleId=said))

    assert rig.rows(tables.trip, "vehicle_id") == [VEHICLE]


def test_rule_4_16_vehicle_of_the_message_counts_when_the_sensor_is_on_none(rig):
    counts(rig, microtrip(sensorId=UNMAPPED, vehicleId=OTHER_VEHICLE))

    assert rig.rows(tables.trip, "vehicle_id") == [OTHER_VEHICLE]


@pytest.mark.parametrize("said", [STRANGER, VEHICLE.replace("3", "7"), None])
def test_rule_4_16_other_vehicles_are_none_and_the_trip_is_not_scored(rig, said):
    register_company(rig)

    counts(rig, microtrip(sensorId=UNMAPPED, vehicleId=said), trip(sensorId=UNMAPPED, vehicleId=said))

    assert rig.rows(tables.trip, "vehicle_id", "not_scored") == [(None, "unmapped")]


def test_rule_4_17_company_that_is_not_the_sensors_is_rejected_and_not_shown_to_the_owner(rig):
    assert reasons(rig.deliver(microtrip(companyId=STRANGER))) == ["company"]
    assert rig.rows(tables.rejected_message, "reason", "sensor_id", "source") == [("company", None, "bus")]
    assert rig.rows(tables.trip) == []


def test_rule_4_17_missing_company_is_the_sensors(rig):
    assert counts(rig, microtrip(companyId=None)) == {"microtrip": 1}

    assert rig.rows(tables.trip, "company_id") == [COMPANY]


def test_rule_4_17_topic_of_another_company_is_rejected_whatever_the_message_says(rig):
    assert reasons(rig.deliver(microtrip(), company=STRANGER)) == ["company"]
    assert counts(rig, microtrip(), company=COMPANY) == {"microtrip": 1}


def test_rule_4_18_placeholder_says_that_there_is_no_driver(rig):
    counts(rig, trip(userId=PLACEHOLDER))

    assert rig.rows(tables.trip, "user_id") == [None]


@pytest.mark.parametrize("user", [STRANGER, "somebody"])
def test_rule_4_18_unknown_user_is_the_placeholder_and_kept_in_the_raw_view(rig, user):
    counts(rig, trip(userId=user), event(userId=user))

    assert rig.rows(tables.trip, "user_id") == [None]
    assert rig.rows(tables.device_event, "user_id") == [None]
    assert envelopes(rig, tables.trip)[0]["data"]["userId"] == user
    assert envelopes(rig, tables.device_event)[0]["data"]["userId"] == user


def test_rule_4_18_registered_driver_is_the_trips(rig):
    counts(rig, trip(userId=DRIVER), event(userId=DRIVER))

    assert rig.rows(tables.trip, "user_id") == [DRIVER]
    assert rig.rows(tables.device_event, "user_id") == [DRIVER]
    assert rig.rows(tables.account, "latest_trip_id") == [TRIP]


def test_rule_4_18_who_drives_now_counts_when_nobody_is_said(rig):
    counts(rig, trip(userId=None))

    assert rig.rows(tables.trip, "user_id") == [DRIVER]


def test_rule_4_19_unknown_keys_at_any_level_are_kept(rig):
    sent = microtrip([sample(NOW, colour="red")], extra=[1, {"deep": True}]) | {"beside": "kept"}

    counts(rig, sent)

    (kept,) = envelopes(rig, tables.microtrip)
    assert kept["beside"] == "kept"
    assert kept["data"] == {name: value for name, value in sent["data"].items() if name != "payload"}
    assert json.loads(rig.rows(tables.microtrip, "payload")[0])[0]["colour"] == "red"


@pytest.mark.parametrize("name", ["x", "", None, 7, PLACEHOLDER])
def test_rule_4_20_trip_id_that_is_none_is_rejected_but_of_an_event(rig, name):
    assert reasons(rig.deliver(microtrip(tripId=name), trip(tripId=name))) == ["no_trip", "no_trip"]
    assert counts(rig, event(tripId=name)) == {"event": 1}

    assert rig.rows(tables.device_event, "trip_id", "vehicle_id") == [(None, VEHICLE)]
    assert rig.rows(tables.trip) == []


# The check cases of section 6


def test_bus_check_case_payload_as_an_array_gives_the_same_record(rig):
    items = json.loads(microtrip()["data"]["payload"])
    counts(rig, microtrip(), microtrip(items, as_text=False, tripId=OTHER_TRIP))

    first, second = rig.rows(tables.microtrip, "id", "ts", "ty", "samples", "payload")
    assert first[:4] == second[:4]
    assert json.loads(first[4]) == json.loads(second[4])


def test_bus_check_case_capitalised_microtrip_on_the_topic_of_trips(rig):
    assert counts(rig, microtrip() | {"msgType": "Microtrip"}, topic="sf-trip") == {"microtrip": 1}


def test_bus_check_case_company_in_capitals_only(rig):
    sent = microtrip(companyID=COMPANY)
    del sent["data"]["companyId"]

    assert counts(rig, sent) == {"microtrip": 1}


def test_bus_check_case_sensor_beside_data_only(rig):
    sent = microtrip() | {"sensorId": SENSOR}
    del sent["data"]["sensorId"]

    assert counts(rig, sent) == {"microtrip": 1}


def test_bus_check_case_unknown_sensor_is_a_dead_letter(rig):
    body = json.dumps(microtrip(sensorId=STRANGER)).encode()

    outcome = rig.take([message(body, topic="sf-microtrip", offset=42)])

    (refused,) = outcome.refused
    assert (refused.rejected.reason, refused.message.offset, refused.message.body) == ("unknown_sensor", 42, body)
    kept = rig.rows(tables.rejected_message, "topic", "bus_partition", "bus_offset", "reason", "body")
    assert kept == [("sf-microtrip", 0, 42, "unknown_sensor", body)]


def test_bus_check_case_second_delivery_is_dropped(rig):
    counts(rig, microtrip())

    assert counts(rig, microtrip()) == {"duplicate": 1}

    assert len(rig.rows(tables.microtrip)) == 1


def test_bus_check_case_event_without_id_gets_one_of_ours(rig):
    counts(rig, event(eventId=None))

    (found,) = rig.rows(tables.device_event, "id")
    assert len(found) == 36


def test_bus_check_case_event_of_the_producer_is_stored_uninterpreted(rig):
    assert counts(rig, event({"event": 1}, ty=111)) == {"event": 1}


@pytest.mark.parametrize("latest", [[], None])
def test_bus_check_case_trip_with_any_latest_trip_or_none(rig, latest):
    sent = trip() | {"latestTrip": latest}
    missing = trip(tripId=OTHER_TRIP)
    del missing["latestTrip"]

    assert counts(rig, sent, missing) == {"trip": 2}


def test_bus_check_case_trip_without_times_takes_those_of_its_payload(rig):
    counts(rig, trip({"stt": NOW + 1_000, "edt": NOW + 2_000}, startTs=None, endTs=None))

    assert rig.rows(tables.trip, "start_ms", "end_ms") == [(NOW + 1_000, NOW + 2_000)]


def test_rule_of_time_more_than_five_minutes_ahead_is_as_if_absent(rig):
    counts(rig, event({"event": 1}, ty=111, eventTs=LATER + 300_001))

    assert rig.rows(tables.device_event, "event_ms") == [NOW + 331_000]


def test_rule_of_time_five_minutes_ahead_is_read(rig):
    counts(rig, event({"event": 1}, ty=111, eventTs=LATER + 300_000))

    assert rig.rows(tables.device_event, "event_ms") == [LATER + 300_000]
