"""Messages of a device for a track."""

import msgspec

from tripline.simulator import messages
from tripline.simulator.recordings import Point, Track

T0 = 1_558_644_851_000
NUMBER = 644_851_000
TRACK = Track(
    "a.csv",
    (
        Point(T0, 41.25, -95.98, 49.03),
        Point(T0 + 1_000, 41.26, -95.97, None),
        Point(T0 + 3_000, 41.27, -95.96, 50.0),
    ),
)


def decoded(sent: list[messages.Message]) -> list[tuple[float, object]]:
    return [(message.due_s, msgspec.json.decode(message.body)) for message in sent]


def test_messages_one_sample_each_are_objects_then_the_trip_without_distance() -> None:
    sent = messages.of_tracks([TRACK])

    assert decoded(sent) == [
        (0, {"ts": T0, "ty": 2, "pld": {"tid": NUMBER, "lat": 41.25, "lon": -95.98, "clt": T0, "sp": 49.03}}),
        (1, {"ts": T0 + 1000, "ty": 2, "pld": {"tid": NUMBER, "lat": 41.26, "lon": -95.97, "clt": T0 + 1000}}),
        (
            3,
            {
                "ts": T0 + 3000,
                "ty": 2,
                "pld": {"tid": NUMBER, "lat": 41.27, "lon": -95.96, "clt": T0 + 3000, "sp": 50.0},
            },
        ),
        (
            3,
            {
                "ts": T0 + 3000,
                "ty": 1,
                "pld": {
                    "tid": NUMBER,
                    "stt": T0,
                    "edt": T0 + 3000,
                    "stlat": 41.25,
                    "stlon": -95.98,
                    "edlat": 41.27,
                    "edlon": -95.96,
                },
            },
        ),
    ]


def test_messages_aggregated_are_arrays_with_the_time_of_their_last_item() -> None:
    sent = messages.of_tracks([TRACK], aggregate=2)

    assert [(due, body["ts"], body["ty"]) for due, body in decoded(sent)] == [  # type: ignore[index]
        (1, T0 + 1000, 2),
        (3, T0 + 3000, 2),
        (3, T0 + 3000, 1),
    ]
    payloads = [msgspec.json.decode(message.body)["pld"] for message in sent[:2]]
    assert [[item["clt"] for item in payload] for payload in payloads] == [[T0, T0 + 1000], [T0 + 3000]]


def test_messages_of_several_tracks_follow_one_another_with_their_own_trip_number() -> None:
    later = Track(
        "b.csv", tuple(msgspec.structs.replace(point, time_ms=point.time_ms + 60_000) for point in TRACK.points)
    )
    sent = messages.of_tracks([TRACK, later], aggregate=3)

    assert [(m.due_s, msgspec.json.decode(m.body)["ty"]) for m in sent] == [(3, 2), (3, 1), (6, 2), (6, 1)]
    assert [msgspec.json.decode(m.body)["pld"]["tid"] for m in sent[1::2]] == [NUMBER, NUMBER + 60_000]
