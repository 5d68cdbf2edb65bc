"""Message-bus ingestion: what a customer's system delivers, as REST shows it afterwards.

The messages go in by `tripline ingest` beside the running server, which reads them as the bus consumer does; that a bus
brings the same is `tests/contract/test_buses.py` and `tests/system/`.
"""

import functools
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from tests.support import servers
from tests.support.bus_messages import PLACEHOLDER, event, microtrip, sample, trip
from tests.support.ingest_rig import NOW
from tests.support.spec.checks import rows
from tests.support.spec.world import Record, World

HEADING = "Message-bus ingestion"


@dataclass(frozen=True)
class Delivered:
    """What was registered, what was delivered of it, and what the command said."""

    world: World
    vehicle: str
    sensor: str
    ids: dict[str, str]
    told: str

    def trip(self, name: str) -> Record:
        """A trip that was delivered."""
        return self.world.good("operator", "GET", f"/trip/{self.ids[name]}")

    def microtrip(self, name: str) -> Record:
        """The only microtrip of a trip."""
        (found,) = self.world.page("operator", f"/trip/{self.ids[name]}/microtrips")["data"]
        record: Record = found
        return record

    def event(self, name: str) -> Record:
        """An event that was delivered."""
        found: list[Record] = self.world.page("operator", f"/vehicle/{self.vehicle}/events")["data"]
        return next(each for each in found if each["id"]["id"] == self.ids[name])


@functools.cache
def _delivered(world: World) -> Delivered:
    vehicle = world.vehicle("operator")["id"]["id"]
    sensor = world.sensor("operator", type="OBD2")["id"]["id"]
    world.good("operator", "POST", f"/sensor/{sensor}/vehicle/{vehicle}")
    spare = world.sensor("operator")["id"]["id"]
    ids = {
        name: str(uuid.uuid1())
        for name in ("whole", "record", "event", "plain", "text", "spare", "bare", "bare_event", "text_event", "other")
    }
    whose = {"companyId": world.ids["operator"], "sensorId": sensor, "vehicleId": vehicle}
    of_whole = {**whose, "tripId": ids["whole"]}
    as_text = {"startTs": None, "endTs": None, "startDt": "2025-01-01 09:00:00", "endDt": "2025-01-01 09:15:00"}
    messages = [
        microtrip(microTripId=ids["record"], **of_whole),
        trip(userId=world.ids["driver"], **of_whole),
        event(eventId=ids["event"], userId=world.ids["driver"], **of_whole),
        trip({"dis": 7}, **{**whose, "tripId": ids["text"], **as_text}),
        event(eventId=ids["text_event"], eventTs=None, eventDt="2025-01-01 09:05:30", **of_whole),
        event(eventId=ids["bare_event"], eventTs=None, **of_whole),
        microtrip(sample(NOW), date=None, **{**whose, "tripId": ids["plain"]}),
        trip(sensorId=spare, vehicleId=vehicle, companyID=world.ids["operator"], companyId=None, tripId=ids["spare"]),
        trip(deviceType=None, userId=PLACEHOLDER, **{**whose, "tripId": ids["bare"]}),
        trip(**{**whose, "companyId": world.ids["other"], "tripId": ids["other"]}),
    ]
    topics = {"microtrip": "sf-microtrip", "trip": "sf-trip", "event": "sf-event"}
    lines = [
        # Half of them say by their topic alone what they are.
        {"topic": topics[each["msgType"]], "value": each if at % 2 else {"data": each["data"]}}
        for at, each in enumerate(messages)
    ]
    told = servers.run(
        *("ingest", "-", "--data", str(world.server.data)),
        stdin="".join(json.dumps(line) + "\n" for line in lines),
        variables={"TRIPLINE_BUS_GRACE_S": "0"},
    )
    assert told.stderr == "", told.stderr
    return Delivered(world, vehicle, sensor, ids, told.stdout)


def _topic_of_microtrips(done: Delivered) -> None:
    assert done.microtrip("whole")["id"]["id"] == done.ids["record"]


def _topic_of_trips(done: Delivered) -> None:
    assert done.trip("whole")["payload"]["dis"] == 6480


def _topic_of_events(done: Delivered) -> None:
    assert done.event("event")["tripId"]["id"] == done.ids["whole"]


def _date(done: Delivered) -> None:
    assert done.microtrip("plain")["payload"] == sample(NOW)


def _device_type(done: Delivered) -> None:
    assert (done.trip("whole")["deviceType"], done.trip("bare")["deviceType"]) == ("BLACKBOX", "OBD")


def _company(done: Delivered) -> None:
    assert "line 10: company: " in done.told
    assert done.world.refused("operator", "GET", f"/trip/{done.ids['other']}")[0] == 404
    assert done.trip("spare")["companyId"]["id"] == done.world.ids["operator"]


def _payload(done: Delivered) -> None:
    assert done.microtrip("whole")["payload"] == [sample(NOW), sample(NOW + 2_000, lat=37.498171)]
    assert done.event("event")["payload"] == event()["data"]["payload"]


def _ts(done: Delivered) -> None:
    assert done.microtrip("whole")["ts"] == NOW + 2_000


def _start_ts(done: Delivered) -> None:
    assert done.trip("whole")["startTs"] == NOW


def _end_ts(done: Delivered) -> None:
    assert done.trip("whole")["endTs"] == NOW + 900_000


def _start_dt(done: Delivered) -> None:
    assert (done.trip("text")["startTs"], done.trip("text")["startDt"]) == (NOW, "2025-01-01 09:00:00")


def _end_dt(done: Delivered) -> None:
    assert (done.trip("text")["endTs"], done.trip("text")["endDt"]) == (NOW + 900_000, "2025-01-01 09:15:00")


def _event_ts(done: Delivered) -> None:
    assert done.event("event")["eventTs"] == NOW + 330_000


def _event_dt(done: Delivered) -> None:
    assert done.event("text_event")["eventTs"] == NOW + 330_000


def _created_time(done: Delivered) -> None:
    assert done.event("bare_event")["eventTs"] == NOW + 331_000


def _trip_id(done: Delivered) -> None:
    assert done.trip("whole")["id"]["id"] == done.microtrip("whole")["tripId"]["id"] == done.ids["whole"]


def _event_id(done: Delivered) -> None:
    assert done.event("event")["id"]["id"] == done.ids["event"]


def _vehicle_id(done: Delivered) -> None:
    assert done.trip("whole")["vehicleId"]["id"] == done.trip("spare")["vehicleId"]["id"] == done.vehicle


def _sensor_id(done: Delivered) -> None:
    assert done.trip("whole")["sensorId"]["id"] == done.microtrip("whole")["sensorId"]["id"] == done.sensor


def _user_id(done: Delivered) -> None:
    assert done.trip("whole")["userId"]["id"] == done.event("event")["userId"]["id"] == done.world.ids["driver"]
    assert done.trip("bare")["userId"]["id"] == PLACEHOLDER


def _ty(done: Delivered) -> None:
    assert done.event("event")["ty"] == 102


CHECKED: dict[str, Callable[[Delivered], None]] = {
    "sf-microtrip": _topic_of_microtrips,
    "sf-trip": _topic_of_trips,
    "sf-event": _topic_of_events,
    "date": _date,
    "deviceType": _device_type,
    "companyID": _company,
    "payload": _payload,
    "ts": _ts,
    "startTs": _start_ts,
    "endTs": _end_ts,
    "startDt": _start_dt,
    "endDt": _end_dt,
    "eventTs": _event_ts,
    "eventDt": _event_dt,
    "createdTime": _created_time,
    "tripId": _trip_id,
    "microTripId": _topic_of_microtrips,
    "eventId": _event_id,
    "vehicleId": _vehicle_id,
    "sensorId": _sensor_id,
    "userId": _user_id,
    "ty": _ty,
}


def _row(world: World, name: str) -> None:
    CHECKED[name](_delivered(world))


rows(HEADING, CHECKED, _row)
