"""The acceptance summary, row by row, over TLS: what is stored, and what is scored (spec/device-messages 10).

A trip is scored from 3,000 m on, with two usable samples or more, and a median period under 5 s; each bound is tried
below, at and above. What REST says of trips that are not scored is in `test_trip_stories.py`.
"""

import json
from typing import Any

import pytest
from tests.support.fleet import Registered, device_token
from tests.support.worlds import World
from tests.system.test_trip_stories import START_MS, drive, item, judged, trip_message

from tripline.wire import topics

FAR = {"dis": 3_000}
SCORED = None
"""`not_scored` of a trip that has a score."""


def sent(ty: Any, pld: Any, **header: Any) -> bytes:
    return json.dumps({"ty": ty, "pld": pld, **header}).encode()


def every(period_ms: int, count: int, *, ty: int = 2, **more: Any) -> bytes:
    """Samples this far apart, in one publish."""
    return sent(ty, [item(step, **more) | {"clt": START_MS + step * period_ms} for step in range(count)])


def counts(world: World, sensor_id: str) -> dict[str, int]:
    """How many rows of each kind the sensor has; those of which there is none are left out."""
    tables = {
        "microtrip": "microtrip JOIN trip ON trip.no = trip_no",
        "trip": "trip",
        "event": "device_event",
        "value": "sensor_attribute",
        "rejected": "rejected_message",
    }
    found = {
        name: world.rows(f"SELECT count(*) FROM {table} WHERE sensor_id = ?", sensor_id)[0][0]
        for name, table in tables.items()
    }
    return {name: count for name, count in found.items() if count}


def verdict(world: World, sensor_id: str) -> str | None:
    """Why the sensor's only trip has no score; None: it has one."""
    trip_id = judged(world, sensor_id)
    ((not_scored, score),) = world.rows(
        "SELECT not_scored, (SELECT count(*) FROM driving_score WHERE trip_no = trip.no) FROM trip WHERE id = ?",
        trip_id,
    )
    assert (score == 0) is (not_scored is not None)
    return not_scored


@pytest.mark.parametrize("ty", [2, 4, 6, 8, 10, 12])
@pytest.mark.parametrize("form", ["object", "array"])
def test_acceptance_microtrip_of_every_even_number_is_stored(world, ty, form):
    box = world.box()
    pld = item(0)

    world.send(box, sent(ty, pld if form == "object" else [pld, item(1)]))

    assert counts(world, box.sensor_id) == {"microtrip": 1, "trip": 1}


@pytest.mark.parametrize(
    ("pld", "left"),
    [
        ([7, {"tid": 1, "lat": 37.5, "lon": 127.0}], {"microtrip": 1, "trip": 1, "rejected": 1}),
        ({}, {"microtrip": 1, "trip": 1}),
        ([7], {"rejected": 1}),
        ([], {}),
        ("x", {"rejected": 1}),
        (7, {"rejected": 1}),
    ],
    ids=["one object", "empty object", "no object", "empty array", "text", "number"],
)
def test_acceptance_microtrip_is_stored_with_at_least_one_object(world, pld, left):
    box = world.box()

    world.send(box, sent(2, pld))

    assert counts(world, box.sensor_id) == left


@pytest.mark.parametrize("ty", [1, 3, 5, 7, 9, 11])
def test_acceptance_trip_of_every_odd_number_is_stored_when_its_payload_is_an_object(world, ty):
    box = world.box()

    world.send(box, sent(ty, {"tid": 1}), sent(ty, "x"))

    assert counts(world, box.sensor_id) == {"trip": 1, "rejected": 1}


@pytest.mark.parametrize("ty", [0, 13, 19, 27, 99, -2])
def test_acceptance_other_number_below_100_is_stored_nowhere(world, ty):
    box = world.box()

    world.send(box, sent(ty, item(0)))

    assert counts(world, box.sensor_id) == {"rejected": 1}


@pytest.mark.parametrize(
    ("body", "topic", "left"),
    [
        (sent(100, {}), topics.TRE, {"event": 1}),
        (sent(116, {"tid": 1}), topics.TRE, {"event": 1}),
        (sent(2_000, {"a": 1}), topics.TRE, {"event": 1}),
        (sent(2, {"wbv": 11.4}), topics.TRE, {"event": 1, "value": 1}),
        (sent(None, {"dtcc": "P0420"}), topics.TRE, {"event": 1}),
        (b'{"rs":"off"}', topics.TELEMETRY, {"event": 1, "value": 1}),
        (sent(104, "x"), topics.TRE, {"rejected": 1}),
    ],
    ids=["100", "116", "large", "misnumbered", "no number", "headerless", "no object"],
)
def test_acceptance_event_is_stored_by_number_or_signature_and_never_scored(world, body, topic, left):
    box = world.box()

    world.send(box, body, topic=topic)

    assert counts(world, box.sensor_id) == left
    assert world.rows(
        "SELECT count(*) FROM scoring_job JOIN trip ON no = trip_no WHERE sensor_id = ?", box.sensor_id
    ) == [(0,)]


@pytest.mark.parametrize(
    ("sensor_type", "ty", "more", "why"),
    [
        ("GPS", 2, {}, SCORED),
        ("OBD", 4, {}, SCORED),
        ("BLACKBOX", 8, {"try": 1}, SCORED),
        ("BLACKBOX", 8, {}, SCORED),
        ("BLACKBOX", 8, {"try": 2}, "parking"),
        ("ADAS", 6, {}, "device_type"),
        ("DTAG", 10, {}, "device_type"),
        ("DTG", 10, {}, "device_type"),
        ("AVN", 12, {}, "device_type"),
    ],
)
def test_acceptance_trip_is_scored_by_its_type_of_device_and_when_driving(world, sensor_type, ty, more, why):
    box = world.box(sensor_type)

    world.send(box, drive(ty=ty, **more), trip_message(ty=ty - 1, **more))

    assert verdict(world, box.sensor_id) == why
    assert counts(world, box.sensor_id) == {"microtrip": 1, "trip": 1}


@pytest.mark.parametrize(("metres", "why"), [(2_999, "too_short"), (3_000, SCORED), (3_001, SCORED)])
def test_acceptance_trip_is_scored_from_3000_m_on(world, metres, why):
    box = world.box()

    world.send(box, every(1_000, 5), trip_message(dis=metres))

    assert verdict(world, box.sensor_id) == why


@pytest.mark.parametrize(("samples", "why"), [(1, "no_samples"), (2, SCORED), (3, SCORED)])
def test_acceptance_trip_is_scored_with_two_usable_samples(world, samples, why):
    box = world.box()

    world.send(box, every(1_000, samples), trip_message(**FAR))

    assert verdict(world, box.sensor_id) == why


@pytest.mark.parametrize(("period_ms", "why"), [(4_999, SCORED), (5_000, "sparse"), (5_001, "sparse")])
def test_acceptance_trip_is_scored_with_a_median_period_under_5_s(world, period_ms, why):
    box = world.box()

    world.send(box, every(period_ms, 7), trip_message(**FAR))

    assert verdict(world, box.sensor_id) == why


@pytest.mark.parametrize(
    ("bodies", "why"),
    [
        ([sent(2, {"tid": 1, "lat": 37.5, "lon": 127.0}, ts=START_MS + n * 1_000) for n in range(3)], SCORED),
        ([sent(2, [{"tid": 1, "lat": 37.5, "lon": 127.0}] * 3, ts=START_MS)], "no_samples"),
        ([every(1_000, 3, lat=None)], "no_position"),
        ([sent(2, [item(0), item(1) | {"clt": None}, item(2)])], SCORED),
        ([sent(2, [item(0), item(1) | {"clt": None}])], "no_samples"),
    ],
    ids=["alone in their messages", "array without times", "no position", "two of three timed", "one of two timed"],
)
def test_acceptance_sample_counts_with_position_and_own_time_or_alone(world, bodies, why):
    box = world.box()

    world.send(box, *bodies, trip_message(**FAR))

    assert verdict(world, box.sensor_id) == why


def test_acceptance_messages_of_an_unmapped_sensor_are_stored_and_not_scored(world):
    token = device_token()
    sensor = world.company.post(
        "/api/tre/v1/sensor", {"serialNo": f"ACC-{next(world.numbers)}", "type": "GPS", "credentialsId": token}
    )
    box = Registered("", "", sensor["id"]["id"], token)

    world.send(box, drive(), trip_message(), sent(104, {"wbv": 11.4}))

    assert verdict(world, box.sensor_id) == "unmapped"
    assert counts(world, box.sensor_id) == {"microtrip": 1, "trip": 1, "event": 1, "value": 1}
    assert world.rows("SELECT vehicle_id FROM device_event WHERE sensor_id = ?", box.sensor_id) == [(None,)]
