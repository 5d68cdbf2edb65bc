"""A world with three trips of one vehicle around a midnight, for lists by start and for a vehicle's day."""

from sqlalchemy import delete, insert, update

from tests.support.access_world import settled
from tripline.domain.samples import FLAG_OWN_TIME, RECORD
from tripline.ports.maps import PlaceName
from tripline.store.tables import driving_score, microtrip, trip

HOUR_MS = 3_600_000
MIDNIGHT_MS = 1_735_657_200_000
"""2025-01-01 in Seoul."""
NOW_MS = MIDNIGHT_MS + 72 * HOUR_MS


def trip_id(no):
    return f"00000000-a4ed-11f0-8000-{no:012d}"


def row(world, no, *, start_ms, end_ms, **values):
    made = {
        "no": no,
        "id": trip_id(no),
        "created_ms": start_ms,
        "company_id": world.of("P").company_id,
        "vehicle_id": world.ids["V"],
        "user_id": world.ids["driver of P"],
        "service_type": "ace",
        "device_type": "GPS",
        "parking": False,
        "state": "COMPLETE" if end_ms else "OPEN",
        "start_ms": start_ms,
        "end_ms": end_ms,
        "distance_m": 10_000.0,
        "not_scored": "too_short",
    }
    return {**made, **values}


def samples(*moments):
    """Samples eastwards along one parallel: time, longitude."""
    return b"".join(RECORD.pack(ms, 37.5, lon, 50.0, -1, FLAG_OWN_TIME) for ms, lon in moments)


class Names:
    """The names of a map: one road, and places named by their longitude."""

    def named(self, points, *, language):
        return [PlaceName("Main Road", f"{language} {point.lon}") for point in points]


async def three_trips(app):
    """The world with three trips of one vehicle."""
    made = await settled(app)

    def write(tx):
        tx.run(delete(driving_score))
        tx.run(update(trip).values(start_ms=None))
        over_midnight = {"start_ms": MIDNIGHT_MS - HOUR_MS, "end_ms": MIDNIGHT_MS + HOUR_MS}
        tx.run(insert(trip), row(made, 1, **over_midnight))
        tx.run(insert(trip), row(made, 2, start_ms=MIDNIGHT_MS + 3 * HOUR_MS, end_ms=MIDNIGHT_MS + 4 * HOUR_MS))
        tx.run(insert(trip), row(made, 3, start_ms=MIDNIGHT_MS + 30 * HOUR_MS, end_ms=MIDNIGHT_MS + 31 * HOUR_MS))
        packed = samples((over_midnight["start_ms"], 127.0), (MIDNIGHT_MS - 1, 127.3), (over_midnight["end_ms"], 127.4))
        tx.run(insert(microtrip), {"no": 1, "trip_no": 1, "id": "m1", "ty": 1, "payload": b"[]", "samples": packed})

    await app.store.write(write)
    return made


def address(world, what):
    return f"/api/tre/v1_3/vehicle/{world.ids['V']}/{what}"
