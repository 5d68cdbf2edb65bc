"""The messages of a GPS device for a track: microtrips (ty 2) while it drives, then the trip message (ty 1).

Written from the published tables (spec/device-messages 5.1, 5.2, 7), not from the platform's readers, so that a replay
tests those. The trip message carries no `dis`: the platform measures the distance itself.
"""

from collections.abc import Sequence

import msgspec

from tripline.simulator.drafts import Kind, Message
from tripline.simulator.payloads import Payload
from tripline.simulator.recordings import Point, Track
from tripline.wire import topics


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
    for at in range(0, len(track.points), aggregate):
        points = track.points[at : at + aggregate]
        samples = [_sample(point, number) for point in points]
        due_s = begins_s + (points[-1].time_ms - track.start_ms) / 1_000
        content = samples[0] if aggregate == 1 else samples
        messages.append(_message(due_s, Kind.MICROTRIP, {"ty": 2, "ts": points[-1].time_ms, "pld": content}))
    first, last = track.points[0], track.points[-1]
    ends = {"stlat": first.lat, "stlon": first.lon, "edlat": last.lat, "edlon": last.lon}
    trip = {"tid": number, "stt": first.time_ms, "edt": last.time_ms, **ends}
    messages.append(_message(messages[-1].due_s, Kind.TRIP, {"ty": 1, "ts": last.time_ms, "pld": trip}))
    return messages


def _sample(point: Point, number: int) -> Payload:
    speed = {} if point.speed_kmh is None else {"sp": point.speed_kmh}
    return {"tid": number, "lat": point.lat, "lon": point.lon, "clt": point.time_ms, **speed}


def _message(due_s: float, kind: Kind, body: Payload) -> Message:
    return Message(due_s=due_s, kind=kind, topic=topics.TRE, body=msgspec.json.encode(body))
