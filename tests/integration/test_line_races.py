"""Two servers on one database file and a carrier that takes its time: what is done to a line is done one by one."""

import asyncio
import json
from collections import Counter

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


def play(tmp_path, scenario):
    """The scenario with a scene at the first of two servers over one file, both, and the carrier they ask."""

    gate = Gate()

    async def with_scene(servers):
        scene = await lines.scene(servers[0])
        await scene.opened()
        return await scenario(scene, servers, gate)

    return rest.run_two(tmp_path, with_scene, carrier=gate)


async def at_once(scene, servers, actions):
    """The answers to actions sent at the same time, in turn to each server."""
    return await asyncio.gather(
        *(servers[n % 2].call(scene.carrier, "POST", ACTIONS, action) for n, action in enumerate(actions))
    )


async def statuses(scene):
    """The states that were pushed, oldest first."""
    return [json.loads(body)["pld"]["nwStatus"] for _, _, body in await scene.pushed()]


def test_of_20_suspensions_at_once_one_is_done(tmp_path):
    async def scenario(scene, servers, gate):
        kinds = ("USE", "DORMANT", "TERMINATION", "USE")
        answers = await at_once(scene, servers, [scene.action("SUSPENSION", kind=kinds[n % 4]) for n in range(20)])
        won = [each.json()["outcomes"][0]["nwStatus"] for each in answers if each.status_code == 200]
        codes = Counter((each.status_code, each.json().get("errorCode")) for each in answers)
        return codes, await statuses(scene) == ["01", *won]

    assert play(tmp_path, scenario) == ({(200, None): 1, (400, 30): 19}, True)


def test_20_number_changes_at_once_leave_one_line_with_one_number(tmp_path):
    async def scenario(scene, servers, gate):
        actions = [scene.action("NUMBER_CHANGE", newMdn=f"0105555{n:04d}") for n in range(20)]
        answers = await at_once(scene, servers, actions)
        codes = Counter((each.status_code, each.json().get("errorCode")) for each in answers)
        (winner,) = [action for action, each in zip(actions, answers, strict=True) if each.status_code == 200]
        found = await scene.app.get(scene.admin, "/sensor", mdn=winner["newMdn"])
        return codes, found["serialNo"]

    assert play(tmp_path, scenario) == ({(200, None): 1, (404, 32): 19}, IMEI)


def in_order(told):
    """What was told, as it must be: on PostgreSQL each server numbers by its own clock, and here both stand still."""
    return sorted(told) if stores.on_postgresql() else list(told)


def test_same_action_20_times_at_once_is_done_once_and_answered_alike(tmp_path):
    async def scenario(scene, servers, gate):
        answers = await at_once(scene, servers, [scene.action("SUSPENSION", kind="USE")] * 20)
        return {each.status_code for each in answers}, len({each.content for each in answers}), await statuses(scene)

    codes, contents, told = play(tmp_path, scenario)

    assert (codes, contents) == ({200}, 1)
    assert in_order(told) == ["01", "02"]


def test_same_new_device_opened_20_times_at_once_is_one_sensor(tmp_path):
    async def scenario(scene, servers, gate):
        opening = {"imei": "7", "companyId": scene.admin.company_id}
        actions = [{**scene.action("OPENING", **opening), "mdn": f"0107777{n:04d}"} for n in range(20)]
        answers = await at_once(scene, servers, actions)
        sensors = {each.json()["outcomes"][0]["sensorId"]["id"] for each in answers}
        count = await scene.app.get(scene.admin, "/sensors/count")
        return {each.status_code for each in answers}, len(sensors), count

    assert play(tmp_path, scenario) == ({200}, 1, {"count": 2})


def test_suspension_during_an_unpause_waits_for_its_end(tmp_path):
    async def scenario(scene, servers, gate):
        await scene.act("SUSPENSION", kind="USE")
        async with asyncio.TaskGroup() as tasks:
            unpause = tasks.create_task(scene.unpause())
            await gate.asked.wait()
            again = scene.action("SUSPENSION", kind="DORMANT")
            suspension = tasks.create_task(servers[1].call(scene.carrier, "POST", ACTIONS, again))
            await settled(servers[1])
            waiting = not suspension.done()
            gate.open.set()
        return waiting, unpause.result().json()["nwStatus"], suspension.result().status_code, await statuses(scene)

    waiting, unpaused, status, told = play(tmp_path, scenario)

    assert (waiting, unpaused, status) == (True, "01", 200)
    assert in_order(told) == in_order(["01", "02", "01", "03"])


def test_unpauses_at_once_are_one_call_and_the_others_are_told(tmp_path):
    async def scenario(scene, servers, gate):
        await scene.act("SUSPENSION", kind="USE")
        body = {"mdn": MDN}
        async with asyncio.TaskGroup() as tasks:
            calls = [tasks.create_task(servers[n % 2].call(scene.admin, "POST", lines.UNPAUSE, body)) for n in range(6)]
            await gate.asked.wait()
            gate.open.set()
        answers = [call.result() for call in calls]
        codes = Counter((each.status_code, each.json().get("errorCode")) for each in answers)
        return codes, len(gate.requests), await statuses(scene)

    assert play(tmp_path, scenario) == ({(200, None): 1, (400, 30): 5}, 1, ["01", "02", "01"])


def test_line_that_stays_busy_is_answered_409_after_a_bounded_wait(tmp_path):
    async def scenario(scene, servers, gate):
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
        return (
            [(each.status_code, each.json()["errorCode"]) for each in busy],
            first.result().status_code,
            again.status_code,
        )

    assert play(tmp_path, scenario) == ([(409, 2), (409, 2)], 200, 200)


async def settled(server):
    """Whatever the server had queued for its writer is done."""
    for _ in range(20):
        await server.store.write(lambda tx: None)
