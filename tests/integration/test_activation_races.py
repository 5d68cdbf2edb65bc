"""Two servers on one database file: the result of an activation, and what happens to the sensor at the same moment."""

import asyncio

import pytest
from sqlalchemy import func, select
from tests.support import ingest_rig, rest

from tripline.domain import ids
from tripline.domain.ids import SensorId
from tripline.ports.devices import Delivery
from tripline.services import notifications
from tripline.services.rpc import answers
from tripline.store import tables
from tripline.wire.readings import RpcAnswer

ROUNDS = 6
UNSET = {"id": ids.PLACEHOLDER}


class Acknowledging:
    """Implements `ports.devices.Devices`: every device acknowledges at once, through the first server."""

    def __init__(self) -> None:
        self.servers = []
        self.requests = []

    async def send(self, sensor_id, topic, body) -> Delivery:
        self.requests.append(topic.rpartition("/")[2])
        await self.says(self.servers[0], sensor_id, self.requests[-1], is_result=False)
        return Delivery.SENT

    async def says(self, server, sensor_id, request_id, *, is_result) -> None:
        """A device's success, taken in by this server."""
        said = RpcAnswer(is_result=is_result, request_id=request_id, body=b'{"result":2000}')
        answered = [ingest_rig.answered(SensorId(sensor_id), said, server.now_ms)]
        taken = await server.store.write(lambda tx: answers.take_in(tx, answered, ids=server.ids, now_ms=server.now_ms))
        for each in self.servers:
            notifications.send(each.signals, taken.notifications)


async def run(folder, scenario):
    """Play the scenario on two servers whose devices acknowledge."""
    devices = Acknowledging()
    async with rest.two(folder, devices=devices) as servers:
        devices.servers = servers
        _, admin = await servers[0].operator("ace")
        return [await scenario(servers, devices, admin, number) for number in range(ROUNDS)]


async def fleet(server, admin, number):
    """Ids of a new sensor that needs activation, and of two new vehicles."""
    body = {"serialNo": f"SN-{number}", "type": "OBD", "credentialsId": f"{number:020d}", "activationRequired": True}
    sensor = await server.post(admin, "/sensor", body)
    known = {"mileage": 1, "fuelType": "DIESEL", "missionType": "AUTO"}
    vehicles = [await server.post(admin, "/vehicle", {"vehicleNo": f"{number}-{n}", **known}) for n in (1, 2)]
    return sensor["id"]["id"], [vehicle["id"]["id"] for vehicle in vehicles]


async def pending(server):
    statement = select(func.count()).select_from(tables.activation)
    return (await server.store.read(lambda tx: tx.one(statement)))[0]


async def with_result(servers, devices, admin, sensor_id, request_id, number, *request):
    """Outcome of the request, sent while the result of the activation comes."""
    first, second = servers if number % 2 else servers[::-1]
    _, answer = await asyncio.gather(
        devices.says(first, sensor_id, request_id, is_result=True), second.call(admin, *request)
    )
    return answer.status_code, answer.json().get("errorCode")


@pytest.mark.parametrize("path", ["/sensor/{sensor}/vehicle", "/sensor/{sensor}/vehicle/{vehicle}"])
async def test_result_and_unmounting_at_once_leave_the_sensor_on_no_vehicle(tmp_path, path):
    async def scenario(servers, devices, admin, number):
        sensor, (vehicle, _) = await fleet(servers[0], admin, number)
        await servers[0].post(admin, f"/sensor/{sensor}/vehicle/{vehicle}")
        request = ("DELETE", path.format(sensor=sensor, vehicle=vehicle))
        outcome = await with_result(servers, devices, admin, sensor, devices.requests[-1], number, *request)
        record = await servers[0].get(admin, f"/sensor/{sensor}")
        return outcome, record["vehicleId"], record["status"], await pending(servers[0])

    assert await run(tmp_path, scenario) == [((200, None), UNSET, "DEACTIVATED", 0)] * ROUNDS


@pytest.mark.parametrize("what", ["sensor", "vehicle"])
async def test_result_and_deletion_at_once_leave_no_mounting(tmp_path, what):
    async def scenario(servers, devices, admin, number):
        sensor, (vehicle, _) = await fleet(servers[0], admin, number)
        await servers[0].post(admin, f"/sensor/{sensor}/vehicle/{vehicle}")
        gone = f"/{what}/{sensor if what == 'sensor' else vehicle}"
        outcome = await with_result(servers, devices, admin, sensor, devices.requests[-1], number, "DELETE", gone)
        kept = f"/vehicle/{vehicle}" if what == "sensor" else f"/sensor/{sensor}"
        record = await servers[1].get(admin, kept)
        return outcome, record.get("sensorCount", 0), record.get("vehicleId", UNSET), await pending(servers[0])

    assert await run(tmp_path, scenario) == [((200, None), 0, UNSET, 0)] * ROUNDS


async def test_result_and_newer_request_at_once_leave_the_one_that_came_first(tmp_path):
    async def scenario(servers, devices, admin, number):
        sensor, (one, two) = await fleet(servers[0], admin, number)
        await servers[0].post(admin, f"/sensor/{sensor}/vehicle/{one}")
        request = ("POST", f"/sensor/{sensor}/vehicle/{two}")
        outcome = await with_result(servers, devices, admin, sensor, devices.requests[-1], number, *request)
        on = (await servers[0].get(admin, f"/sensor/{sensor}"))["vehicleId"]
        waits = await pending(servers[0])
        if waits:
            await devices.says(servers[0], sensor, devices.requests[-1], is_result=True)
            assert (await servers[0].get(admin, f"/sensor/{sensor}"))["vehicleId"] == {"id": two}
        return (outcome, on, waits) in (((400, 31), {"id": one}, 0), ((200, None), UNSET, 1))

    assert await run(tmp_path, scenario) == [True] * ROUNDS


async def test_of_two_requests_at_once_the_later_one_counts(tmp_path):
    async def scenario(servers, devices, admin, number):
        sensor, vehicles = await fleet(servers[0], admin, number)
        before = len(devices.requests)
        answered = await asyncio.gather(
            *(
                server.call(admin, "POST", f"/sensor/{sensor}/vehicle/{vehicle}")
                for server, vehicle in zip(servers, vehicles, strict=True)
            )
        )
        for request_id in devices.requests[before:]:
            await devices.says(servers[1], sensor, request_id, is_result=True)
        on = (await servers[0].get(admin, f"/sensor/{sensor}"))["vehicleId"]["id"]
        counts = [(await servers[0].get(admin, f"/vehicle/{vehicle}"))["sensorCount"] for vehicle in vehicles]
        return [answer.status_code for answer in answered], counts == [int(on == vehicle) for vehicle in vehicles]

    assert await run(tmp_path, scenario) == [([200, 200], True)] * ROUNDS
