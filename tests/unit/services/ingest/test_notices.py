"""Outbox rows for messages of devices (spec/push 2, 4.2, 4.4, 5; V6)."""

import json

import pytest
from sqlalchemy import insert
from tests.support import fleet_rows, stores
from tests.support.ingest_rig import (
    COMPANY,
    MINUTE,
    NOW,
    OTHER_VEHICLE,
    SENSOR,
    UNMAPPED,
    VEHICLE,
    FakeSource,
    Rig,
    aggregate,
    frame,
    item,
    microtrip,
    trip_message,
)

from tripline import observe
from tripline.domain import ids
from tripline.domain.ids import SensorId
from tripline.store import tables
from tripline.wire import topics

PARTNER = "00000000-0000-11ef-8000-000000000011"
PARTNERS_SENSOR = SensorId("00000000-0000-11ef-8000-000000000014")
EVERYTHING = "1,2,3,4,5,6,7,8,9,10,11,12," + ",".join(map(str, range(101, 117)))
ABOUT = {"masterCompanyId": COMPANY, "companyId": COMPANY, "sensorId": SENSOR, "vehicleId": VEHICLE}
RPM = {"rpm": 900}
LOW_BATTERY = {"ty": 104, "ts": NOW, "pld": {"wbv": 11.4}}


def told(rig):
    """Name and number of each message in the outbox."""
    return [(body["ty"], body["msgTy"]) for body in rig.pushed()]


def with_partner(rig):
    """A partner below the company, with a sensor of its own on no vehicle."""
    sensor = fleet_rows.sensor(PARTNERS_SENSOR, PARTNER, service_type="harbour")
    company = {"id": PARTNER, "created_ms": 0, "name": "P", "service_type": "harbour", "master": False}
    company |= {"master_id": COMPANY, "token_prefix": "PARTN"}
    rig.run(rig.store.write(lambda tx: tx.run(insert(tables.company).values(**company))))
    rig.run(rig.store.write(lambda tx: tx.run(insert(tables.sensor).values(**sensor))))


def test_nobody_asked_so_nothing_is_put_and_nobody_is_told(rig: Rig) -> None:
    rig.send(microtrip(NOW), trip_message(NOW, NOW + 9), LOW_BATTERY)

    assert rig.pushed() == []
    assert observe.SIGNAL_PUSH_DUE not in [subject for subject, _ in rig.signals.told]


def test_check_case_2_101_gps_microtrip_is_one_message(rig: Rig) -> None:
    rig.want("2,101")

    rig.send(microtrip(NOW))

    assert rig.pushed() == [{**ABOUT, "ts": NOW, "ty": "MICROTRIP", "msgTy": 2, "pld": item(NOW)}]
    assert list(rig.pushed()[0]) == [*ABOUT, "ts", "ty", "msgTy", "pld"]
    assert (observe.SIGNAL_PUSH_DUE, "") in rig.signals.told


@pytest.mark.parametrize(
    ("asked", "body", "expected"),
    [
        ("2,101", microtrip(NOW, **RPM), [("MICROTRIP", 2)]),
        ("4", microtrip(NOW, **RPM), [("MICROTRIP", 2)]),
        ("2,4", microtrip(NOW, **RPM), [("MICROTRIP", 2)]),
        ("1", microtrip(NOW, **RPM), []),
        ("3", trip_message(NOW, NOW + 9, rpm=900), [("TRIP", 1)]),
        ("1", trip_message(NOW, NOW + 9, rpm=900), [("TRIP", 1)]),
        ("2,101", {"ty": 102, "pld": {"dclat": 35.1, "dclon": 129.1}}, []),
        ("104", {"ty": 5, "pld": {"wbv": 11.4}}, [("EVENT", 5)]),
        ("5", {"ty": 5, "pld": {"wbv": 11.4}}, [("EVENT", 5)]),
        ("101", {"ty": 20, "pld": {"dtcc": "P0101"}}, [("EVENT", 20)]),
        ("20", {"ty": 20, "pld": {"dtcc": "P0101"}}, []),
        (["8", 101.0], microtrip(NOW, ty=8), [("MICROTRIP", 8)]),
        (8, microtrip(NOW, ty=8), [("MICROTRIP", 8)]),
        ("0f", microtrip(NOW), []),
        ("", microtrip(NOW), []),
    ],
)
def test_n4_number_of_the_kind_or_the_number_sent_selects_one_message(rig: Rig, asked, body, expected) -> None:
    rig.want(asked)

    rig.send(body)

    assert told(rig) == expected


@pytest.mark.parametrize("number", [300, 500, 600])
def test_n4_device_cannot_speak_under_a_number_of_the_platform(rig: Rig, number) -> None:
    rig.want(str(number))

    rig.send({"ty": number, "pld": {"nwStatus": "01"}})

    assert rig.rows(tables.device_event, "ty") == [number]
    assert rig.pushed() == []


def test_n3_company_without_host_gets_nothing(rig: Rig) -> None:
    rig.want(EVERYTHING, host=None)

    rig.send(microtrip(NOW))

    assert rig.pushed() == []


def test_envelope_of_a_trip_and_of_an_event_has_the_keys_of_4_2(rig: Rig) -> None:
    rig.want(EVERYTHING)

    rig.send(trip_message(NOW, NOW + 9, ts=NOW + 10), LOW_BATTERY, at=NOW + 20)

    assert rig.pushed() == [
        {**ABOUT, "ts": NOW + 10, "ty": "TRIP", "msgTy": 1, "pld": {"tid": 41, "stt": NOW, "edt": NOW + 9}},
        {**ABOUT, "ts": NOW, "ty": "EVENT", "msgTy": 104, "pld": {"wbv": 11.4}},
    ]
    assert rig.rows(tables.push_outbox, "selector", "attempts", "due_ms", "channel", "request_id") == [
        (1, 0, NOW + 20, "notify", None),
        (104, 0, NOW + 20, "notify", None),
    ]


def test_headerless_event_carries_the_number_of_its_kind(rig: Rig) -> None:
    rig.want(EVERYTHING)

    rig.send({"wbv": "11.4"}, at=NOW + 3, topic=topics.ATTRIBUTES)

    assert rig.pushed() == [{**ABOUT, "ts": NOW + 3, "ty": "EVENT", "msgTy": 104, "pld": {"wbv": 11.4}}]


def test_sensor_on_no_vehicle_is_told_with_the_placeholder(rig: Rig) -> None:
    rig.want("2")

    rig.send(microtrip(NOW), sensor=UNMAPPED)

    assert [body["vehicleId"] for body in rig.pushed()] == [ids.PLACEHOLDER]


def test_late_trip_message_names_the_vehicle_of_its_trip(rig: Rig) -> None:
    rig.want("1")
    rig.send(microtrip(NOW))
    rig.change(tables.sensor, SENSOR, vehicle_id=OTHER_VEHICLE)
    rig.take_in([], again=[SENSOR])

    rig.send(trip_message(NOW, NOW + 9), at=NOW + 100)
    rig.send(trip_message(NOW + 1000, NOW + 2000, tid=77), at=NOW + 200)

    assert [body["vehicleId"] for body in rig.pushed()] == [VEHICLE, OTHER_VEHICLE]


@pytest.mark.parametrize("ts", [None, 123456, 9_999_999_999_999, NOW + 10 * MINUTE])
def test_time_is_the_receipt_when_the_header_has_none_that_is_one(rig: Rig, ts) -> None:
    rig.want("2")

    rig.send({"ty": 2, "pld": item(NOW - 5)} | ({} if ts is None else {"ts": ts}), at=NOW + 7)

    assert [body["ts"] for body in rig.pushed()] == [NOW + 7]


def test_time_in_seconds_is_told_in_milliseconds(rig: Rig) -> None:
    rig.want("2")

    rig.send({"ty": 2, "ts": NOW // 1000, "pld": item(NOW)}, at=NOW + 7)

    assert [body["ts"] for body in rig.pushed()] == [NOW]


def test_aggregate_is_one_message_with_its_array(rig: Rig) -> None:
    rig.want("2")

    rig.send(aggregate([NOW, NOW + 1, NOW + 2]))

    assert [body["pld"] for body in rig.pushed()] == [[item(NOW), item(NOW + 1), item(NOW + 2)]]


def test_aggregate_of_two_trips_is_one_message_for_each_stored_record(rig: Rig) -> None:
    rig.want("2")

    rig.send({"ty": 2, "pld": [item(NOW), item(NOW + 1), item(NOW + 2, tid=42)]}, at=NOW + 3)

    assert [[sample["tid"] for sample in body["pld"]] for body in rig.pushed()] == [[41, 41], [42]]
    assert len(rig.rows(tables.microtrip)) == 2


def test_v6_payload_is_as_sent_with_documented_keys_in_their_kind(rig: Rig) -> None:
    rig.want("4,106")

    rig.send(
        b'{"ty":4,"pld":{"tid":41,"lat":35.1,"lon":129.1,"clt":%d,"vv":"12.5","em":"0B","New":"1"}}' % NOW,
        {"ty": 106, "pld": {"rs": 1, "fwv": 3}},
    )

    assert rig.pushed()[0]["pld"] == {
        "tid": 41,
        "lat": 35.1,
        "lon": 129.1,
        "clt": NOW,
        "vv": 12.5,
        "em": "0B",
        "New": "1",
    }


def test_redelivered_rejected_and_uninterpreted_messages_are_not_told(rig: Rig) -> None:
    rig.want(EVERYTHING)
    rig.send(microtrip(NOW), LOW_BATTERY, trip_message(NOW, NOW + 9))

    rig.send(microtrip(NOW), LOW_BATTERY, trip_message(NOW, NOW + 9), at=NOW + 100)
    rig.send(b"{", {"ty": 13, "pld": {}}, {"pld": {"x": 1}}, microtrip(NOW, lat=999) | {"pld": 3}, at=NOW + 200)
    rig.send({"fw": "1.2"}, topic=topics.ATTRIBUTES, at=NOW + 300)

    assert told(rig) == [("MICROTRIP", 2), ("EVENT", 104), ("TRIP", 1)]


def test_trip_that_silence_ends_is_not_told(rig: Rig) -> None:
    rig.want(EVERYTHING)
    rig.send(microtrip(NOW))
    rig.now_ms = NOW + 60 * MINUTE

    rig.take_in([], silent=[SENSOR])

    assert rig.rows(tables.trip, "state") == ["LAPSED"]
    assert told(rig) == [("MICROTRIP", 2)]


def test_operator_and_owner_receive_each_by_its_own_wish(rig: Rig) -> None:
    with_partner(rig)
    rig.want("2")
    rig.want("2,104", company=PARTNER)

    rig.send(microtrip(NOW), LOW_BATTERY, sensor=PARTNERS_SENSOR)
    rig.send(microtrip(NOW), LOW_BATTERY)

    assert [
        (receiver, selector, json.loads(body)["companyId"], json.loads(body)["masterCompanyId"])
        for receiver, selector, body in rig.rows(tables.push_outbox, "company_id", "selector", "body")
    ] == [
        (COMPANY, 2, PARTNER, COMPANY),
        (PARTNER, 2, PARTNER, COMPANY),
        (PARTNER, 104, PARTNER, COMPANY),
        (COMPANY, 2, COMPANY, COMPANY),
    ]
    assert len(set(rig.rows(tables.push_outbox, "id"))) == 4


def test_changed_wish_counts_from_the_next_batch(rig: Rig) -> None:
    rig.send(microtrip(NOW))
    rig.want("2")
    rig.send(microtrip(NOW + 1), at=NOW + 1)
    rig.want("4")

    rig.send(microtrip(NOW + 2), at=NOW + 2)

    assert [body["ts"] for body in rig.pushed()] == [NOW + 1]


@pytest.mark.sqlite("on PostgreSQL it is known a second later")
def test_wish_that_another_process_changed_counts_at_once(rig: Rig) -> None:
    rig.send(microtrip(NOW))
    other = Rig(rig.database)
    with other:
        other.want("2")

    rig.send(microtrip(NOW + 1), at=NOW + 1)

    assert [body["ts"] for body in rig.pushed()] == [NOW + 1]


@pytest.mark.sqlite("on PostgreSQL it is known a second later")
def test_wish_that_another_process_changed_counts_when_only_the_wishes_were_kept(rig: Rig) -> None:
    rig.send(microtrip(NOW))
    with Rig(rig.database) as other:
        other.want("2")
    rig.take_in([], again=[SENSOR])

    rig.send(microtrip(NOW + 1), at=NOW + 1)

    assert [body["ts"] for body in rig.pushed()] == [NOW + 1]


@pytest.mark.sqlite("programs beside each other without slots")
def test_messages_are_behind_all_that_is_there_whatever_the_clock_says(rig: Rig) -> None:
    rig.want("2")
    rig.send(microtrip(NOW), at=NOW)
    rig.restart(clock_set_back=True)

    rig.send(microtrip(NOW - 60 * MINUTE), at=NOW - 60 * MINUTE)

    assert [body["ts"] for body in rig.pushed()] == [NOW, NOW - 60 * MINUTE]


def test_poisonous_frame_costs_its_own_message_only(rig: Rig) -> None:
    rig.want("2")
    rig.run(rig.store.write(lambda tx: stores.spoil(tx, "INSERT ON microtrip", when="new.ts = 666")))
    source = FakeSource()

    rig.take_in(
        [frame(source, {**microtrip(NOW + at), "ts": ts}, NOW + 9, at) for at, ts in ((1, 1), (2, 666), (3, 3))]
    )

    assert [body["pld"]["clt"] for body in rig.pushed()] == [NOW + 1, NOW + 3]
    assert sorted(token for tokens in source.settlements for token in tokens) == [1, 2, 3]
    assert rig.rows(tables.rejected_message, "reason") == ["internal"]
