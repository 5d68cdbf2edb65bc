"""Checks of "Resources and fields": every field of every request and record."""

import uuid
from typing import Any

from tests.support.spec.checks import add, row, rows
from tests.support.spec.world import OPERATOR, PARTNER, SENSOR, VEHICLE, Record, World

PLACEHOLDER = {"id": "13814000-1dd2-11b2-8080-808080808080"}
ALLOWED = {
    "missionType": ("AUTO", "MANUAL"),
    "fuelType": ("DIESEL", "GASOLINE", "LPG"),
    "category": ("TRUCK", "BUS", "TAXI", "PERSONAL", "ETC"),
}


def is_id(value: Any) -> bool:
    """Whether the value is `{id: <uuid>}`."""
    return isinstance(value, dict) and value.keys() == {"id"} and str(uuid.UUID(value["id"])) == value["id"]


def created(world: World, record: Record) -> None:
    """`createdTime` is an instant in ms that a time-based id agrees with."""
    instant = (uuid.UUID(record["id"]["id"]).time - 0x01B21DD213814000) // 10_000
    assert abs(record["createdTime"] - instant) < 1_000


def wrong_type(world: World, path: str, body: Record, name: str) -> None:
    """A list in place of the value is refused by name."""
    answer = world.ask("operator", "POST", path, {**body, name: [{"no": "value"}]})
    assert (answer.status_code, answer.json()["errorCode"]) == (400, 31), answer.text
    assert f"'{name}'" in answer.json()["message"]


def company_field(world: World, name: str) -> None:
    """A company's field is taken, echoed, and refused in the wrong type."""
    sent = [(world.operator, OPERATOR), (world.partner, PARTNER)]
    echoed = [record[name] == body[name] for record, body in sent if name in body]
    assert echoed
    assert all(echoed)
    wrong_type(world, "/company", PARTNER, name)


def vehicle_field(world: World, name: str) -> None:
    """A vehicle's field is taken, echoed, kept, and refused in the wrong type or with a word that is not allowed."""
    assert world.full_vehicle[name] == VEHICLE[name]
    assert world.good("operator", "GET", f"/vehicle/{world.ids['vehicle']}")[name] == VEHICLE[name]
    body = {"vehicleNo": world.fresh(), "mileage": 1}
    wrong_type(world, "/vehicle", body, name)
    for word in ALLOWED.get(name, ()):
        assert world.vehicle("operator", **{name: word})[name] == word
    if name in ALLOWED:
        assert world.refused("operator", "POST", "/vehicle", {**body, name: "WOOD"}) == (400, 31)


def sensor_field(world: World, name: str) -> None:
    """A sensor's field is taken, echoed, kept, and refused in the wrong type."""
    assert world.full_sensor[name] == SENSOR[name]
    assert world.good("operator", "GET", f"/sensor/{world.ids['sensor']}")[name] == SENSOR[name]
    body = {"serialNo": world.fresh(), "type": "GPS", "credentialsId": world.fresh("credential-----")}
    wrong_type(world, "/sensor", body, name)


rows("Company", (*OPERATOR, "rpcNotifyHost", "rpcNotifyPort", "rpcNotifyBasePath"), company_field)
rows("Vehicle", VEHICLE, vehicle_field)
rows("Sensor (device)", SENSOR, sensor_field)


@row("Company: Operator company")
def operator_is_its_own_master(world: World) -> None:
    assert world.operator["master"] is True
    assert world.operator["masterId"] == world.operator["id"]


@row("Company: Partner company")
def partner_has_the_operator_as_master(world: World) -> None:
    assert world.partner["master"] is False
    assert world.partner["masterId"] == world.operator["id"]


def company_answer(world: World, name: str) -> None:
    """What a company's record holds."""
    for record, body in ((world.operator, OPERATOR), (world.partner, PARTNER)):
        if name in body:
            assert record[name] == body[name]
        elif name == "createdTime":
            created(world, record)
        else:
            assert isinstance(record[name], bool) if name == "master" else is_id(record[name])


rows(
    "Company answer",
    ("id", "createdTime", "name", "serviceType", "master", "masterId", "cooperationTask", "description"),
    company_answer,
)

VEHICLE_AT_CREATION = {
    "directorId": PLACEHOLDER,
    "currentDriverId": PLACEHOLDER,
    "latestTripId": PLACEHOLDER,
    "serviceType": "ace",
    "sensorCount": 0,
    "status": "DEACTIVATED",
    "delegateUserCount": 0,
    "lastTripMsgType": None,
}
DEFAULTS = {"displacement": 0}


def vehicle_answer(world: World, name: str) -> None:
    """What a new vehicle's record holds, with all fields sent and with the required ones alone."""
    bare = world.vehicle("operator")
    for record, sent in ((world.full_vehicle, VEHICLE), (bare, {"vehicleNo": bare["vehicleNo"], "mileage": 1})):
        if name == "createdTime":
            created(world, record)
        elif name == "id":
            assert is_id(record["id"])
        elif name == "companyId":
            assert record["companyId"] == world.operator["id"]
        elif name in VEHICLE:
            assert record[name] == sent.get(name, DEFAULTS.get(name))
        else:
            assert record[name] == VEHICLE_AT_CREATION[name]


rows("Vehicle answer", ("id", "createdTime", "companyId", *VEHICLE, *VEHICLE_AT_CREATION), vehicle_answer)

SENSOR_AT_CREATION = {
    "vehicleId": PLACEHOLDER,
    "directorId": PLACEHOLDER,
    "status": "DEACTIVATED",
    "lastTripMsgType": None,
    "vehicleNo": None,
}


def sensor_answer(world: World, name: str) -> None:
    """What a sensor's record holds: new, and mounted."""
    record = world.full_sensor
    if name == "createdTime":
        created(world, record)
    elif name == "id":
        assert is_id(record["id"])
    elif name == "companyId":
        assert record["companyId"] == world.operator["id"]
    elif name in SENSOR:
        assert record[name] == SENSOR[name]
    else:
        assert record[name] == SENSOR_AT_CREATION[name]
    if name == "vehicleId":
        assert world.mounted["vehicleId"] == world.driven["id"]
    if name == "vehicleNo":
        assert world.mounted["vehicleNo"] == world.driven["vehicleNo"]


rows(
    "Sensor (device) answer",
    ("id", "createdTime", "companyId", *(name for name in SENSOR if name != "missionType"), *SENSOR_AT_CREATION),
    sensor_answer,
)


def person_answer(world: World, name: str) -> None:
    """What the record of a director and of a driver holds."""
    for who, record in (("director", world.director), ("driver", world.driver)):
        expected = {
            "companyId": world.operator["id"],
            "name": who,
            "phone": "010",
            "vehicleId": None,
            "latestTripId": PLACEHOLDER,
            "email": f"{who}@people.example",
            "authority": who.upper(),
            "password": None,
            "additionalInfo": None,
            "passwordUpdatedTime": record["createdTime"],
        }
        if name == "createdTime":
            created(world, record)
        elif name == "id":
            assert is_id(record["id"])
        else:
            assert record[name] == expected[name]


rows(
    "Director and Driver answer",
    (
        "id",
        "createdTime",
        "companyId",
        "name",
        "phone",
        "vehicleId",
        "latestTripId",
        "email",
        "authority",
        "password",
        "additionalInfo",
        "passwordUpdatedTime",
    ),
    person_answer,
)


def exact(heading: str, record: str, expected: dict[str, Any]) -> None:
    """Register checks of a record of the world: each field has this value, or what a function of the world gives."""

    def check(world: World, name: str) -> None:
        found = getattr(world, record)
        if name == "id":
            assert is_id(found["id"])
        elif name == "createdTime":
            created(world, found)
        else:
            wanted = expected[name]
            assert found[name] == (wanted(world) if callable(wanted) else wanted)
        assert found.keys() == {"id", "createdTime", *expected}

    rows(heading, ("id", "createdTime", *expected), check)


exact(
    "Company relation (delegation candidate) answer",
    "candidate",
    {
        "fromCompanyId": lambda world: world.operator["id"],
        "toCompanyId": lambda world: world.partner["id"],
        "serviceType": "ace",
        "fromCompanyName": "Ace",
        "toCompanyName": "Partner",
    },
)
exact(
    "Vehicle delegation to a company answer",
    "delegation",
    {
        "fromCompanyId": lambda world: world.operator["id"],
        "fromCompanyName": "Ace",
        "toCompanyId": lambda world: world.partner["id"],
        "toCompanyName": "Partner",
        "vehicleId": lambda world: world.full_vehicle["id"],
        "vehicleNo": VEHICLE["vehicleNo"],
    },
)
RIGHT = "Vehicle delegation to a user (director or driver) answer"
exact(
    RIGHT,
    "driver_right",
    {
        "companyId": lambda world: world.operator["id"],
        "companyName": "Ace",
        "userId": lambda world: world.driver["id"],
        "userName": "driver",
        "vehicleId": lambda world: world.full_vehicle["id"],
        "vehicleNo": VEHICLE["vehicleNo"],
        "userRole": "DRIVER",
    },
)


def _page_link(world: World, name: str) -> None:
    path = f"/api/tre/v1_3/vehicle/{world.ids['driven']}/analytics/drivingScore"
    times = {"startTime": 1_000_000_000_000, "endTime": 1_900_000_000_000}
    first = world.page("operator", path, limit=1, ascOrder="true", **times)
    assert first.keys() == {"data", "nextPageLink", "hasNext"}
    assert (first["data"], first["hasNext"]) == ([world.scores[-1]], True)
    link = first["nextPageLink"]
    assert link == {"limit": 1, **times, "ascOrder": True, "idOffset": world.scores[-1]["id"]["id"]}
    assert name in {*first, *link}
    last = world.page("operator", path, **{key: str(value).lower() for key, value in link.items()})
    assert last == {"data": [world.scores[0]], "nextPageLink": None, "hasNext": False}


rows(
    "Page of results answer",
    ("data", "nextPageLink", "limit", "startTime", "endTime", "ascOrder", "idOffset", "hasNext"),
    _page_link,
)


def _score(world: World, name: str) -> None:
    (score,) = [score for score in world.scores if score["id"] == world.scores[0]["id"]]
    expected = {
        "id": world.good("operator", "GET", f"/vehicle/{world.ids['driven']}/trip/latest")["id"],
        "vehicleId": world.driven["id"],
        "userId": world.driver["id"],
    }
    counts = [sum(event["eventTy"] in kinds for event in _events_of(world, score)) for kinds in ((1, 2), (3, 4), (5,))]
    expected |= dict(zip(("accel", "deAccel", "overSpeed"), counts, strict=True))
    if name in expected:
        assert score[name] == expected[name]
    elif name == "createdTime":
        assert score["createdTime"] >= _events_of(world, score)[0]["createdTime"]
    elif name == "score":
        assert 0 < score["score"] < 100
    else:
        assert 4_500 < score["dist"] < 4_800  # metres
    assert min(counts) > 0
    assert len(score) == 9


def _events_of(world: World, score: Record) -> list[Record]:
    return [event for event in world.events if event["tripId"] == score["id"]]


SCORE = ("id", "createdTime", "vehicleId", "userId", "score", "accel", "deAccel", "dist", "overSpeed")
rows("Driving score (per trip) answer", SCORE, _score)


def _accumulated(world: World, name: str) -> None:
    stat = world.good("operator", "GET", f"/api/tre/v1_3/vehicle/{world.ids['driven']}/analytics/drivingScore/stat")
    expected = {
        "id": world.driven["id"],
        "userId": world.driver["id"],
        "count": 2,
        "distance": sum(score["dist"] for score in world.scores),
    }
    assert stat.keys() == {"createdTime", "score", *expected}
    if name in expected:
        assert stat[name] == expected[name]
    elif name == "createdTime":
        assert stat["createdTime"] >= world.scores[0]["createdTime"]
    else:
        assert abs(stat["score"] - world.scores[0]["score"]) < 0.01  # two trips alike


rows(
    "Accumulated driving score (per vehicle) answer",
    ("id", "createdTime", "userId", "count", "score", "distance"),
    _accumulated,
)
EVENT = {
    "vehicleId": lambda world, event: event["vehicleId"] == world.driven["id"],
    "tripId": lambda world, event: event["tripId"] in [score["id"] for score in world.scores],
    "eventTs": lambda _, event: event["eventTs"] % 1000 == 0,
    "eventTy": lambda _, event: event["eventTy"] in (1, 2, 3, 4, 5),
    "info": lambda _, event: isinstance(event["info"], str),
    "deviceType": lambda _, event: event["deviceType"] == "GPS",
    "serviceType": lambda _, event: event["serviceType"] is None,
    "speedMh": lambda _, event: event["speedMh"] >= 0,
    "userId": lambda world, event: event["userId"] == world.driver["id"],
    "posLat": lambda _, event: 37 <= event["posLat"] < 37.1,
    "posLon": lambda _, event: event["posLon"] == 127.0,
}


def _event(world: World, name: str) -> None:
    for event in world.events:
        assert event.keys() == {"id", "createdTime", *EVENT}
        if name == "createdTime":
            created(world, event)
        else:
            assert is_id(event["id"]) if name == "id" else EVENT[name](world, event)


rows("GPS event (risky driving event) answer", ("id", "createdTime", *EVENT), _event)


@row(*(f"GPS event (risky driving event) answer: {name}" for name in ("id #2", "maxSpd", "rank")))
def info_is_text_of_an_object(world: World) -> None:
    overspeed = {event["info"] for event in world.events if event["eventTy"] == 5}
    assert overspeed == {'{"id":"","maxSpd":110000,"rank":0}'}


def _kind(number: int) -> None:
    add(f"Events: {number}", lambda world: _has_kind(world, number))


def _has_kind(world: World, number: int) -> None:
    assert [event for event in world.events if event["eventTy"] == number]


for _number in (1, 2, 3, 4, 5):
    _kind(_number)
