"""Made-up drives as the bodies a device would publish: long enough to be scored, exact, easy to count."""

import json


def straight_trip(
    tid: int, start_ms: int, *, samples: int = 80, step_ms: int = 2_000, speed_kmh: float = 90.0
) -> list[bytes]:
    """Microtrips due north at a steady speed, then the trip message: `samples + 1` bodies.

    At the defaults the trip is 3.95 km long and has no harsh event and no overspeed.
    """
    metres = speed_kmh / 3.6 * step_ms / 1000
    bodies = []
    for index in range(samples):
        at_ms = start_ms + index * step_ms
        item = {
            "tid": tid,
            "lat": round(36.0 + index * metres / 111_195.0, 7),
            "lon": 127.5,
            "sp": speed_kmh,
            "clt": at_ms,
        }
        bodies.append(json.dumps({"ty": 2, "ts": at_ms, "pld": item}).encode())
    end_ms = start_ms + (samples - 1) * step_ms
    trip = {"tid": tid, "stt": start_ms, "edt": end_ms}
    bodies.append(json.dumps({"ty": 1, "ts": end_ms, "pld": trip}).encode())
    return bodies
