"""Messages as a customer's collecting system writes them: builders, one for each kind, with the documented fields."""

import json
from typing import Any

from tests.support.ingest_rig import COMPANY, NOW, SENSOR, VEHICLE

TRIP = "0d3b6a00-c7d3-11ef-b1a8-27c5d9c1f0a2"
OTHER_TRIP = "0d3b6a01-c7d3-11ef-b1a8-27c5d9c1f0a2"
RECORD = "0fd1c2e0-c7d3-11ef-b1a8-27c5d9c1f0a2"
PLACEHOLDER = "13814000-1dd2-11b2-8080-808080808080"


def sample(at_ms: int, **more: Any) -> dict[str, Any]:
    """A black box's sample."""
    return {"tid": 88, "try": 1, "lat": 37.497952, "lon": 127.027619, "sp": 43, "clt": at_ms, **more}


def microtrip(payload: Any = None, *, as_text: bool = True, **data: Any) -> dict[str, Any]:
    """A message with two samples; a field given as None is left out."""
    if payload is None:
        payload = [sample(NOW), sample(NOW + 2_000, lat=37.498171)]
    fields = {
        "date": "2025-01-01T09:00",
        "deviceType": "BLACKBOX",
        "companyId": COMPANY,
        "payload": json.dumps(payload) if as_text else payload,
        "ts": NOW + 2_000,
        "createdTime": NOW + 4_310,
        "tripId": TRIP,
        "microTripId": RECORD,
        "vehicleId": VEHICLE,
        "sensorId": SENSOR,
    }
    return {"data": _with(fields, data), "msgType": "microtrip"}


def trip(payload: Any = None, *, as_text: bool = True, **data: Any) -> dict[str, Any]:
    """The message of a drive of fifteen minutes."""
    if payload is None:
        payload = {"tid": 88, "dis": 6480, "stlat": 37.497952, "stlon": 127.027619}
    fields = {
        "deviceType": "BLACKBOX",
        "companyId": COMPANY,
        "payload": json.dumps(payload) if as_text else payload,
        "startTs": NOW,
        "endTs": NOW + 900_000,
        "createdTime": NOW + 4_310,
        "tripId": TRIP,
        "vehicleId": VEHICLE,
        "userId": PLACEHOLDER,
        "sensorId": SENSOR,
    }
    return {"data": _with(fields, data), "latestTrip": {"deviceType": "BLACKBOX"}, "msgType": "trip"}


def event(payload: Any = None, *, as_text: bool = False, **data: Any) -> dict[str, Any]:
    """A collision warning."""
    if payload is None:
        payload = {"tid": 88, "dclat": 37.512210, "dclon": 127.041877}
    fields = {
        "deviceType": "OBD",
        "companyId": COMPANY,
        "payload": json.dumps(payload) if as_text else payload,
        "eventTs": NOW + 330_000,
        "createdTime": NOW + 331_000,
        "tripId": TRIP,
        "eventId": "1f1c2e00-c7d3-11ef-b1a8-27c5d9c1f0a2",
        "vehicleId": VEHICLE,
        "sensorId": SENSOR,
        "userId": PLACEHOLDER,
        "ty": 102,
    }
    return {"data": _with(fields, data), "msgType": "event"}


def _with(fields: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in (fields | data).items() if value is not None}
