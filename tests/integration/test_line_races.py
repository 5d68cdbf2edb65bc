"""Two servers on one database file and a carrier that takes its time: what is done to a line is done one by one."""

import asyncio
import json
from collections import Counter

import pytest
from tests.support import lines, rest, stores
from tests.support.lines import ACTIONS, IMEI, MDN


class Gate:
    """A carrier that answers when the test lets it."""

    def __init__(self):
        self.asked = asyncio.Event()
        self.open = asyncio.Event()
        self.requests = []

    async def unpause(self, mdn, *, request_id):
        self.requests.append(request_id)
        self.asked.set()
        await self.open.wait()


@pytest.fixture
def gate():
    return Gate()


@pytest.fixture
async def servers(tmp_path, gate):
    """Two servers over one file, which ask the carrier behind the gate."""
    async with rest.two(tmp_path, carrier=gate) as made:
        yield made


@pytest.fixture
async def scene(servers):
    """A scene at the first server, with a line."""
    made = await lines.scene(servers[0])
    await made.opened()
    return made


async def at_once(scene, servers, actions):
    """The answers to actions sent at the same time, in turn to each server."""
    return await asyncio.gather(
        *(servers[n % 2].call(scene.carrier, "POST", ACTIONS, action) for n, action in enumerate(actions))
    )


async def statuses(scene):
    """The states that were pushed, oldest first."""
    return [json.loads(body)["pld"]["nwStatus"] for _, _, body in await scene.pushed()]


async def test_of_20_suspensions_at_once_one_is_done(scene, servers):
    kinds = ("USE", "DORMANT", "TERMINATION", "USE")
    answers = await at_once(scene, servers, [scene.action("SUSPENSION", kind=kinds[n % 4]) for n in range(20)])
    won = [each.json()["outcomes"][0]["nwStatus"] for each in answers if each.status_code == 200]
    codes = Counter((each.status_code, each.json().get("errorCode")) for each in answers)

    assert (codes, await statuses(scene) == ["01", *won]) == ({(200, None): 1, (400, 30): 19}, True)


async def test_20_number_changes_at_once_leave_one_line_with_one_number(scene, servers):
    actions = [scene.action("NUMBER_CHANGE", newMdn=f"0105555{n:04d}") for n in range(20)]
    answers = await at_once(scene, servers, actions)
    codes = Counter((each.status_code, each.json().get("errorCode")) for each in answers)
    (winner,) = [action for action, each in zip(actions, answers, strict=True) if each.status_code == 200]
    found = await scene.app.get(scene.admin, "/sensor", mdn=winner["newMdn"])

    assert (codes, found["serialNo"]) == ({(200, None): 1, (404, 32): 19}, IMEI)


def in_order(told):
    """What was told, as it must be: on PostgreSQL each server numbers by its own clock, and here both stand still."""
    return sorted(told) if stores.on_postgresql() else list(told)


async def test_same_action_20_times_at_once_is_done_once_and_answered_alike(scene, servers):
    answers = await at_once(scene, servers, [scene.action("SUSPENSION", kind="USE")] * 20)
    codes = {each.status_code for each in answers}
    contents = len({each.content for each in answers})
    told = await statuses(scene)

    assert (codes, contents) == ({200}, 1)
    assert in_order(told) == ["01", "02"]


async def test_same_new_device_opened_20_times_at_once_is_one_sensor(scene, servers):
    opening = {"imei": "7", "companyId": scene.admin.company_id}
    actions = [{**scene.action("OPENING", **opening), "mdn": f"0107777{n:04d}"} for n in range(20)]
    answers = await at_once(scene, servers, actions)
    sensors = {each.json()["outcomes"][0]["sensorId"]["id"] for each in answers}
    count = await scene.app.get(scene.admin, "/sensors/count")

    assert ({each.status_code for each in answers}, len(sensors), count) == ({200}, 1, {"count": 2})


async def test_suspension_during_an_unpause_waits_for_its_end(scene, servers, gate):
    await scene.act("SUSPENSION", kind="USE")
    async with asyncio.TaskGroup() as tasks:
        unpause = tasks.create_task(scene.unpause())
        await gate.asked.wait()
        again = scene.action("SUSPENSION", kind="DORMANT")
        suspension = tasks.create_task(servers[1].call(scene.carrier, "POST", ACTIONS, again))
        await settled(servers[1])
        waiting = not suspension.done()
        gate.open.set()
    unpaused = unpause.result().json()["nwStatus"]
    status = suspension.result().status_code
    told = await statuses(scene)

    assert (waiting, unpaused, status) == (True, "01", 200)
    assert in_order(told) == in_order(["01", "02", "01", "03"])


async def test_unpauses_at_once_are_one_call_and_the_others_are_told(scene, servers, gate):
    await scene.act("SUSPENSION", kind="USE")
    body = {"mdn": MDN}
    async with asyncio.TaskGroup() as tasks:
        calls = [tasks.create_task(servers[n % 2].call(scene.admin, "POST", lines.UNPAUSE, body)) for n in range(6)]
        await gate.asked.wait()
        gate.open.set()
    answers = [call.result() for call in calls]
    codes = Counter((each.status_code, each.json().get("errorCode")) for each in answers)

    assert codes == {(200, None): 1, (400, 30): 5}
    assert len(gate.requests) == 1
    assert await statuses(scene) == ["01", "02", "01"]


async def test_line_that_stays_busy_is_answered_409_after_a_bounded_wait(scene, servers, gate):
    await scene.act("SUSPENSION", kind="USE")
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(scene.unpause())
        await gate.asked.wait()
        change = scene.action("SIM_CHANGE", imsi="1", iccid="2")
        busy = await asyncio.gather(
            servers[1].call(scene.admin, "POST", lines.UNPAUSE, {"mdn": MDN}),
            servers[1].call(scene.carrier, "POST", ACTIONS, change),
        )
        gate.open.set()
    again = await servers[1].call(scene.carrier, "POST", ACTIONS, change)

    assert [(each.status_code, each.json()["errorCode"]) for each in busy] == [(409, 2), (409, 2)]
    assert first.result().status_code == 200
    assert again.status_code == 200


async def settled(server):
    """Whatever the server had queued for its writer is done."""
    for _ in range(20):
        await server.store.write(lambda tx: None)
