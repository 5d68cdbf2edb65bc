"""Two servers on one database file that act on the same vehicle at once: one consistent outcome, whoever was first."""

import asyncio
from collections import Counter
from functools import partial

from tests.support import dangling
from tests.support.vehicles import give_right, vehicle_of

from tripline.domain import vehicles
from tripline.domain.access import Actor, Authority
from tripline.domain.vehicles import VehicleEvent
from tripline.services.fleet import assignments
from tripline.services.fleet import bulk_vehicles as many

ROUNDS = 8


def told(answers):
    return Counter((answer.status_code, answer.json().get("errorCode")) for answer in answers)


async def test_vehicle_deleted_while_a_sensor_is_mounted_leaves_the_sensor_on_nothing(servers):
    one, other = servers
    _, admin = await one.operator("ace")
    outcomes = []
    for number in range(ROUNDS):
        vehicle_id = await vehicle_of(one, admin, str(number))
        body = {"serialNo": f"S{number}", "type": "GPS", "credentialsId": f"{number:020d}"}
        sensor_id = (await one.post(admin, "/sensor", body))["id"]["id"]
        mount, delete = await asyncio.gather(
            one.call(admin, "POST", f"/sensor/{sensor_id}/vehicle/{vehicle_id}"),
            other.call(admin, "DELETE", f"/vehicle/{vehicle_id}"),
        )
        sensor = await one.get(admin, f"/sensor/{sensor_id}")
        left = await one.store.read(lambda tx, gone=vehicle_id: dangling.references(tx, gone, besides=("erasure.id",)))
        outcomes.append((mount.status_code in (200, 404), delete.status_code, sensor["status"], left))

    assert outcomes == [(True, 200, "DEACTIVATED", {})] * ROUNDS


async def test_vehicle_deleted_by_several_at_once_is_deleted_once(servers, admin):
    path = f"/vehicle/{await vehicle_of(servers[0], admin)}"

    assert told(await asyncio.gather(*(server.call(admin, "DELETE", path) for server in servers * 3))) == {
        (200, None): 1,
        (404, 32): 5,
    }


async def test_activation_undone_in_two_windows_at_once_is_undone_once(servers):
    one = servers[0]
    _, admin = await one.operator("ace")
    vehicle_ids = [await vehicle_of(one, admin, str(number)) for number in range(3)]
    outcomes = []
    for _ in range(ROUNDS):
        for each in servers:
            each.now_ms += 1_000
        at_ms, actor = one.now_ms, admin.actor
        for vehicle_id in vehicle_ids:
            await one.post(admin, f"/vehicle/{vehicle_id}/activate")
        undo = partial(many.undo, actor=actor, event=VehicleEvent.ACTIVATE, at_ms=at_ms, now_ms=at_ms + 1)
        answers = await asyncio.gather(*(each.store.write(partial(undo, ids=each.ids)) for each in servers * 2))
        entries = [await one.get(admin, f"/vehicle/{each}/history", limit=2) for each in vehicle_ids]
        events = [[entry["event"] for entry in page["data"]] for page in entries]
        outcomes.append((sum(len(moved) for moved, _ in answers), sum(len(left) for _, left in answers), events))

    assert outcomes == [(3, 9, [["DEACTIVATED", "ACTIVATED"]] * 3)] * ROUNDS


async def test_number_given_to_several_vehicles_at_once_goes_to_one(servers, admin):
    paths = [f"/vehicle/{await vehicle_of(servers[0], admin, str(number))}" for number in range(6)]

    assert told(
        await asyncio.gather(
            *(servers[n % 2].call(admin, "PUT", path, {"vehicleNo": "taken"}) for n, path in enumerate(paths))
        )
    ) == {(200, None): 1, (400, 31): 5}


async def test_drivers_who_log_in_at_once_leave_one_driver(servers):
    one = servers[0]
    _, admin = await one.operator("ace")
    vehicle_id = await vehicle_of(one, admin)
    await one.post(admin, f"/vehicle/{vehicle_id}/activate")
    drivers = [await one.person(admin, Authority.DRIVER, f"driver{number}") for number in range(6)]
    for driver in drivers:
        await give_right(one, vehicle_id, driver, "DRIVER")
    answers = await asyncio.gather(
        *(
            servers[n % 2].call(driver, "POST", f"/vehicle/{vehicle_id}/driver/{driver.user_id}")
            for n, driver in enumerate(drivers)
        )
    )
    winner = next(driver.user_id for driver, answer in zip(drivers, answers, strict=True) if answer.status_code == 200)
    set_now = (await one.get(admin, f"/vehicle/{vehicle_id}"))["currentDriverId"]["id"]

    assert (told(answers), set_now == winner) == ({(200, None): 1, (400, 30): 5}, True)


async def test_of_two_windows_that_choose_at_once_one_is_told_of_the_other(servers):
    """Each expects whom its page showed, as the portal's forms do; both transactions are under way at the same time."""
    one = servers[0]
    _, admin = await one.operator("ace")
    actor = Actor(admin.user_id, admin.authority, admin.company_id)
    people = {
        "director": [await one.person(admin, Authority.DIRECTOR, f"director{number}") for number in range(3)],
        "driver": [await one.person(admin, Authority.DRIVER, f"driver{number}") for number in range(3)],
    }
    vehicle_id = await vehicle_of(one, admin)

    async def choose(server, what, who, seen):
        work = assignments.set_director if what == "director" else assignments.set_driver
        named = {"actor": actor, "vehicle_id": vehicle_id, f"{what}_id": who, "ids": server.ids}
        try:
            await server.store.write(lambda tx: work(tx, **named, now_ms=server.now_ms, seen=seen))
        except vehicles.AssignedMeanwhile:
            return None
        return who

    outcomes = []
    for number in range(ROUNDS):
        for what, of in people.items():
            field = "directorId" if what == "director" else "currentDriverId"
            now_id = (await one.get(admin, f"/vehicle/{vehicle_id}"))[field]["id"]
            shown = vehicles.PreviousAssignment(now_id if number else None)
            chosen = [each.user_id for each in of if each.user_id != now_id][:2]
            done = await asyncio.gather(
                *(choose(server, what, who, shown) for server, who in zip(servers, chosen, strict=True))
            )
            after = (await one.get(admin, f"/vehicle/{vehicle_id}"))[field]["id"]
            outcomes.append(([each for each in done if each] == [after], done.count(None)))

    assert outcomes == [(True, 1)] * ROUNDS * 2


async def test_driver_chosen_for_two_vehicles_at_once_is_taken_from_neither_unseen(servers):
    one = servers[0]
    _, admin = await one.operator("ace")
    actor = Actor(admin.user_id, admin.authority, admin.company_id)
    driver = await one.person(admin, Authority.DRIVER, "driver")
    vehicle_ids = [await vehicle_of(one, admin, str(number)) for number in range(2)]

    async def choose(server, vehicle_id):
        named = {"actor": actor, "vehicle_id": vehicle_id, "driver_id": driver.user_id, "ids": server.ids}
        seen = vehicles.PreviousAssignment(None)
        try:
            await server.store.write(lambda tx: assignments.set_driver(tx, **named, now_ms=server.now_ms, seen=seen))
        except vehicles.AssignedMeanwhile:
            return None
        return vehicle_id

    outcomes = []
    for _ in range(ROUNDS):
        done = await asyncio.gather(
            *(choose(server, vehicle_id) for server, vehicle_id in zip(servers, vehicle_ids, strict=True))
        )
        there = [(await one.get(admin, f"/vehicle/{each}"))["currentDriverId"]["id"] for each in vehicle_ids]
        driven = [each for each, who in zip(vehicle_ids, there, strict=True) if who == driver.user_id]
        outcomes.append(([each for each in done if each] == driven, len(driven)))
        await one.call(admin, "DELETE", f"/vehicle/{driven[0]}/driver/{driver.user_id}")

    assert outcomes == [(True, 1)] * ROUNDS
