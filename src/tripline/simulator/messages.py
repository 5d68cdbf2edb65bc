"""The messages of a GPS device for a track: microtrips (ty 2) while it drives, then the trip message (ty 1).

Written from the published tables (spec/device-messages 5.1, 5.2, 7), not from the platform's readers, so that a replay
tests those. The trip message carries no `dis`: the platform measures the distance itself. Not here: sending
(`outbox.py`, `link.py`).
"""

from collections.abc import Sequence

import msgspec

from tripline.simulator.recordings import Point, Track


class Message(msgspec.Struct, frozen=True):
    """One publish: its body, and its time in a real drive, seconds after the replay's start at speed 1."""

    due_s: float
    body: bytes


class _Sample(msgspec.Struct, omit_defaults=True):
    tid: int
    lat: float
    lon: float
    time_ms: int = msgspec.field(name="clt")
    speed_kmh: float | None = msgspec.field(name="sp", default=None)


class _TripEnd(msgspec.Struct):
    tid: int
    start_ms: int = msgspec.field(name="stt")
    end_ms: int = msgspec.field(name="edt")
    start_lat: float = msgspec.field(name="stlat")
    start_lon: float = msgspec.field(name="stlon")
    end_lat: float = msgspec.field(name="edlat")
    end_lon: float = msgspec.field(name="edlon")


class _Microtrip(msgspec.Struct):
    time_ms: int = msgspec.field(name="ts")
    content: _Sample | list[_Sample] = msgspec.field(name="pld")
    ty: int = 2


class _Trip(msgspec.Struct):
    time_ms: int = msgspec.field(name="ts")
    content: _TripEnd = msgspec.field(name="pld")
    ty: int = 1


def of_tracks(tracks: Sequence[Track], *, aggregate: int = 1) -> list[Message]:
    """Every message of the drives, one trip after the other. The last nine digits of a drive's start, in milliseconds,
    are its trip number: drives of about the same time and of one number would be one trip.

    `aggregate` is the largest number of samples in one microtrip; with 1 the payload is an object, else an array.
    """
    messages: list[Message] = []
    begins_s = 0.0
    for track in tracks:
        messages += _of_track(track, track.start_ms % 1_000_000_000, aggregate, begins_s)
        begins_s = messages[-1].due_s
    return messages


def _of_track(track: Track, number: int, aggregate: int, begins_s: float) -> list[Message]:
    messages = []
    for first in range(0, len(track.points), aggregate):
        points = track.points[first : first + aggregate]
        samples = [_sample(point, number) for point in points]
        content = samples[0] if aggregate == 1 else samples
        body = msgspec.json.encode(_Microtrip(points[-1].time_ms, content))
        messages.append(Message(begins_s + (points[-1].time_ms - track.start_ms) / 1_000, body))
    messages.append(Message(messages[-1].due_s, msgspec.json.encode(_Trip(track.end_ms, _trip_end(track, number)))))
    return messages


def _sample(point: Point, number: int) -> _Sample:
    return _Sample(number, point.lat, point.lon, point.time_ms, point.speed_kmh)


def _trip_end(track: Track, number: int) -> _TripEnd:
    first, last = track.points[0], track.points[-1]
    return _TripEnd(number, first.time_ms, last.time_ms, first.lat, first.lon, last.lat, last.lon)
