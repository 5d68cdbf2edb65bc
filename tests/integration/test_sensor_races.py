"""Two servers on one database file: of changes to one sensor that collide, one outcome is left."""

import asyncio
from collections import Counter

import pytest

from tripline.domain import ids

ROUNDS = 6
UNSET = {"id": ids.PLACEHOLDER}


async def fleet(server, admin, number):
    """Ids of a new sensor and of two new vehicles."""
    body = {"serialNo": f"SN-{number}", "type": "GPS", "credentialsId": f"{number:020d}"}
    sensor = await server.post(admin, "/sensor", body)
    vehicles = [await server.post(admin, "/vehicle", {"vehicleNo": f"{number}-{n}", "mileage": 1}) for n in (1, 2)]
    return sensor["id"]["id"], [vehicle["id"]["id"] for vehicle in vehicles]


async def at_once(servers, login, *requests):
    """Status and errorCode of the requests, sent to the servers in turn, all at the same time."""
    calls = (servers[n % 2].call(login, *request) for n, request in enumerate(requests))
    return [(answer.status_code, answer.json().get("errorCode")) for answer in await asyncio.gather(*calls)]


async def test_one_sensor_is_mounted_on_one_of_two_vehicles(servers, admin):
    outcomes = []
    for number in range(ROUNDS):
        sensor_id, vehicles = await fleet(servers[0], admin, number)
        answers = await at_once(
            servers, admin, *(("POST", f"/sensor/{sensor_id}/vehicle/{vehicle}") for vehicle in vehicles)
        )
        winner = vehicles[answers.index((200, None))]
        record = await servers[1].get(admin, f"/sensor/{sensor_id}")
        counts = [(await servers[0].get(admin, f"/vehicle/{vehicle}"))["sensorCount"] for vehicle in vehicles]
        outcomes.append((Counter(answers), record["vehicleId"] == {"id": winner}, sorted(counts)))

    assert outcomes == [({(200, None): 1, (400, 31): 1}, True, [0, 1])] * ROUNDS


async def test_one_vehicle_carries_two_sensors_mounted_at_once(servers, admin):
    one, (vehicle, _) = await fleet(servers[0], admin, 1)
    two, _ = await fleet(servers[0], admin, 2)
    answers = await at_once(servers, admin, *(("POST", f"/sensor/{each}/vehicle/{vehicle}") for each in (one, two)))

    assert answers == [(200, None), (200, None)]
    assert (await servers[0].get(admin, f"/vehicle/{vehicle}"))["sensorCount"] == 2


@pytest.mark.parametrize("what", ["/vehicle/{vehicle}", "/sensor/{sensor}"])
async def test_mounting_and_deleting_at_once_leaves_no_mounting_on_what_is_gone(servers, admin, what):
    outcomes = set()
    for number in range(ROUNDS):
        sensor_id, (vehicle, _) = await fleet(servers[0], admin, number)
        mounted, deleted = await at_once(
            servers,
            admin,
            ("POST", f"/sensor/{sensor_id}/vehicle/{vehicle}"),
            ("DELETE", what.format(vehicle=vehicle, sensor=sensor_id)),
        )
        sensor = (await servers[1].call(admin, "GET", f"/sensor/{sensor_id}")).json()
        on = (await servers[1].call(admin, "GET", f"/vehicle/{vehicle}")).json()
        left = sensor.get("vehicleId", UNSET), on.get("sensorCount", 0)
        outcomes.add((mounted in ((200, None), (404, 32)), deleted, left == (UNSET, 0)))

    assert outcomes == {(True, (200, None), True)}


async def test_sensor_is_deleted_and_unmounted_once(servers, admin):
    outcomes = []
    for number in range(ROUNDS):
        sensor_id, (vehicle, _) = await fleet(servers[0], admin, number)
        await servers[0].post(admin, f"/sensor/{sensor_id}/vehicle/{vehicle}")
        unmounted = await at_once(servers, admin, *[("DELETE", f"/sensor/{sensor_id}/vehicle")] * 4)
        deleted = await at_once(servers, admin, *[("DELETE", f"/sensor/{sensor_id}")] * 4)
        outcomes.append((Counter(unmounted), Counter(deleted)))

    assert outcomes == [({(200, None): 1, (400, 30): 3}, {(200, None): 1, (404, 32): 3})] * ROUNDS


async def test_two_sensors_that_take_one_token_have_one_winner(servers, admin):
    sensors = [(await fleet(servers[0], admin, number))[0] for number in range(4)]
    wanted = {"credentialsId": "w" * 20}
    answers = await at_once(servers, admin, *(("PUT", f"/sensor/{each}", wanted) for each in sensors))
    listed = (await servers[1].get(admin, "/sensors", limit=9))["data"]

    assert Counter(answers) == {(200, None): 1, (400, 31): 3}
    assert sum(record["credentialsId"] == "w" * 20 for record in listed) == 1


async def test_changes_of_different_fields_at_once_are_all_kept(servers, admin):
    sensor_id, _ = await fleet(servers[0], admin, 1)
    changes = {"vendor": "Maker", "additionalInfo": "spare", "missionType": "AUTO", "serialNo": "SN-9"}
    await at_once(servers, admin, *(("PUT", f"/sensor/{sensor_id}", {name: changes[name]}) for name in changes))
    record = await servers[1].get(admin, f"/sensor/{sensor_id}")

    assert {name: record[name] for name in changes} == changes
