"""Gateways, apis and a worker as processes of their own on one PostgreSQL: what one of them does the others respect."""

import asyncio
import contextlib
import itertools
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support import calling, clusters, postgres, prompt, waits
from tests.support.clusters import Deployment, Node
from tests.support.fleet import PASSWORD, Registered, device_token
from tests.support.gateways import Client
from tests.support.receiving import receiving
from tests.system.test_device_to_score import START_MS, STEPS, microtrip, publish_all, scores_of, trip

from tripline.mqtt import packets
from tripline.wire import topics

pytestmark = pytest.mark.deep

V1 = "/api/tre/v1"
SETTINGS = {"TRIPLINE_PUSH_ABSENT_S": "1"}
DEAD_S = 25.0
"""Ten seconds until a process is taken for dead, and until a worker looks; the rest is for a slow machine."""


@dataclass(frozen=True)
class Listener:
    """A gateway's device listener, as devices are told of it."""

    device_host: str
    device_port: int
    ca: Path


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    postgres.need("processes of several roles")
    with (
        postgres.cluster() as database,
        clusters.deployed(tmp_path_factory.mktemp("roles"), database, workers=1, variables=SETTINGS) as running,
    ):
        yield running


def listener(node: Node) -> Any:
    """Where devices reach the gateway."""
    return Listener(*node.devices, node.folder.parent / "ca.crt")


def new(deployment: Deployment) -> Registered:
    """A vehicle with a sensor."""
    return deployment.registered(1)[0]


def asked(deployment: Deployment, node: Node, method: str, path: str, **how: Any) -> httpx.Response:
    """What an api answers to the company's administrator."""
    return httpx.request(method, node.api + path, headers=deployment.company.http.headers, timeout=30, **how)


def call(deployment: Deployment, node: Node, sensor_id: str) -> tuple[int, Any]:
    """A call to a device through an api: status and body."""
    body = {"method": "reset", "params": {}}
    answer = asked(deployment, node, "POST", f"/api/plugins/rpc/twoway/{sensor_id}", json=body)
    return answer.status_code, answer.json()


def http(deployment: Deployment, api: Node) -> httpx.AsyncClient:
    """The company's administrator at an api, whose connections stay open from one request to the next."""
    return httpx.AsyncClient(base_url=api.api, headers=deployment.company.http.headers, timeout=30)


def told_of_connections(deployment: Deployment, url: str) -> None:
    """The company asks to be told who is connected (class 500)."""
    path = f"{V1}/company/{deployment.company.record['id']['id']}"
    answer = deployment.company.http.put(path, json={"notifyHost": url, "notifyMsgType": "500"})
    assert answer.status_code == 200, answer.text


def connected(deployment: Deployment, sensor_id: str) -> tuple[Any, ...]:
    """Whether the device is connected, and why it was not, as the rows say."""
    statement = f"SELECT connected, reason FROM device_connection WHERE sensor_id = '{sensor_id}'"
    return next(iter(deployment.rows(statement)), (None, None))


def is_closed(box: calling.Box) -> bool:
    """Whether the device's connection is over."""
    return not box._client.is_connected()


def test_drive_taken_in_by_a_gateway_is_scored_by_the_worker_and_read_from_either_api(deployment):
    mounted = new(deployment)

    publish_all(listener(deployment.gateways[1]), mounted.token, [*map(microtrip, range(STEPS)), trip()])
    scores = scores_of(deployment.company, mounted.vehicle_id)
    path = f"{V1}/vehicle/{mounted.vehicle_id}/trips?limit=5"
    read = [len(asked(deployment, api, "GET", path).json()["data"]) for api in deployment.apis]

    assert [score["score"] for score in scores] == [100.0]
    assert read == [1, 1]


def test_call_from_each_api_reaches_a_device_on_each_gateway(deployment):
    for gateway, api in itertools.product(deployment.gateways, deployment.apis):
        mounted = new(deployment)
        with calling.box(listener(gateway), mounted.token, calling.answering({"results": 2000})) as device:
            latest = asked(deployment, api, "GET", f"{V1}/sensor/{mounted.sensor_id}/latest").json()
            status, answer = call(deployment, api, mounted.sensor_id)

        assert latest["connected"]
        assert (status, answer["response"]) == (200, {"results": 2000})
        assert device.request()[0] == answer["requestId"]


def test_twenty_devices_called_the_moment_they_are_subscribed_all_answer_in_ten_runs(deployment):
    """Devices change their gateway from one run to the next, and each api calls devices on each gateway."""
    devices = deployment.registered(20)

    async def runs() -> list[tuple[int, Any]]:
        async with contextlib.AsyncExitStack() as opened:
            apis = [await opened.enter_async_context(http(deployment, api)) for api in deployment.apis]

            async def called(run: int, number: int) -> tuple[int, Any]:
                api = apis[(number // 2) % 2]
                path = f"/api/plugins/rpc/twoway/{devices[number].sensor_id}"
                gateway = deployment.gateways[(number + run) % 2]
                answer = await prompt.asked_at_once(
                    gateway.devices,
                    deployment.tls,
                    devices[number].token,
                    lambda: api.post(path, json={"method": "reset", "params": {}}),
                )
                return answer.status_code, answer.json().get("response", answer.json())

            return [
                each
                for run in range(10)
                for each in await asyncio.gather(*(called(run, number) for number in range(20)))
            ]

    answers = asyncio.run(runs())

    assert [answer for answer in answers if answer != (200, prompt.SUCCESS)] == []
    assert len(answers) == 200


def test_sensor_that_needs_activation_is_mounted_by_a_request_made_the_moment_its_device_is_subscribed(deployment):
    company = deployment.company
    pairs = []
    for vehicle in deployment.registered(4):
        token = device_token()
        body = {"serialNo": f"ACT-{token}", "type": "OBD", "credentialsId": token, "activationRequired": True}
        pairs.append((vehicle, token, company.post(f"{V1}/sensor", body)["id"]["id"]))
    for vehicle, _, _ in pairs:
        path, described = f"{V1}/vehicle/{vehicle.vehicle_id}", {"fuelType": "DIESEL", "missionType": "AUTO"}
        company.http.put(path, json=described | {"displacement": 1995}).raise_for_status()

    async def mounted(number: int) -> tuple[int, Any]:
        vehicle, token, sensor_id = pairs[number]
        gateway = deployment.gateways[number % 2]
        async with (
            http(deployment, deployment.apis[number // 2]) as api,
            prompt.subscribed(gateway.devices, deployment.tls, token),
        ):
            answer = await api.post(f"{V1}/sensor/{sensor_id}/vehicle/{vehicle.vehicle_id}")
        return answer.status_code, answer.json().get("response", answer.json())

    async def all_mounted() -> list[tuple[int, Any]]:
        return await asyncio.gather(*map(mounted, range(len(pairs))))

    assert asyncio.run(all_mounted()) == [(200, prompt.SUCCESS)] * len(pairs)


async def test_call_goes_to_the_session_that_took_over_on_another_gateway_from_its_suback_on(deployment):
    """The device changes its gateway again and again, and leaves every older connection open."""
    mounted = new(deployment)
    path = f"/api/plugins/rpc/twoway/{mounted.sensor_id}"

    async with contextlib.AsyncExitStack() as opened:
        apis = [await opened.enter_async_context(http(deployment, api)) for api in deployment.apis]
        answers, called = [], []
        for turn in range(8):
            gateway = deployment.gateways[turn % 2]
            session = prompt.subscribed(gateway.devices, deployment.tls, mounted.token)
            called.append((await opened.enter_async_context(session))[1])
            asked = [api.post(path, json={"method": "reset", "params": {}}) for api in apis]
            answers += [answer.status_code for answer in await asyncio.gather(*asked)]
        found = answers, [len(calls) for calls in called]

    assert found == ([200] * 16, [2] * 8)


async def test_call_to_a_device_that_hung_up_just_now_is_answered_409(deployment):
    mounted = new(deployment)
    body = {"method": "reset", "params": {}}

    async def hung_up(gateway: Node, api: httpx.AsyncClient) -> int:
        async with prompt.subscribed(gateway.devices, deployment.tls, mounted.token):
            pass  # its connection is closed by both sides at the end
        return (await api.post(f"/api/plugins/rpc/twoway/{mounted.sensor_id}", json=body)).status_code

    async with http(deployment, deployment.apis[0]) as first, http(deployment, deployment.apis[1]) as second:
        pairs = [*itertools.product(deployment.gateways, (first, second))] * 2
        found = [await hung_up(gateway, api) for gateway, api in pairs]

    assert found == [409] * 8


async def test_token_that_was_changed_is_served_by_no_gateway_once_the_change_is_answered(deployment):
    """The device's gateway stands still for a moment: the answer waits for it."""
    gateway, other = deployment.gateways
    mounted = new(deployment)
    path = f"{V1}/sensor/{mounted.sensor_id}"
    token = device_token()
    kept = f"SELECT credentials_id FROM sensor WHERE id = '{mounted.sensor_id}'"
    assert gateway.process is not None

    async def refused_everywhere() -> list[Any]:
        clients = [await Client.open(node.devices, deployment.tls) for node in (gateway, other)]
        for client in clients:
            client.send(packets.Connect("a box", user_name=mounted.token))
        answers = [await client.next() for client in clients]
        for client in clients:
            await client.close()
        return answers

    async with http(deployment, deployment.apis[0]) as api:
        device = await Client.connected(gateway.devices, deployment.tls, user_name=mounted.token)
        # Stopped while it writes that the device is here, or what follows, it would hold the row of the sensor.
        await asyncio.to_thread(waits.seen, lambda: connected(deployment, mounted.sensor_id)[0])
        await asyncio.sleep(1)
        gateway.process.send_signal(signal.SIGSTOP)
        try:
            change = asyncio.create_task(api.put(path, json={"credentialsId": token}))
            await asyncio.to_thread(waits.seen, lambda: deployment.rows(kept) == [(token,)])
            early, _ = await asyncio.wait([change], timeout=0.5)
        finally:
            gateway.process.send_signal(signal.SIGCONT)
        status = (await change).status_code
        device.send(packets.Publish(topics.TRE, b"{}", 1, 7))
        said = await device.next()
        await device.close()
        found = bool(early), status, said, await refused_everywhere()

    assert found == (False, 200, None, [packets.Connack(5)] * 2)


def test_wish_of_a_company_counts_for_what_devices_send_once_it_is_answered(deployment):
    mounted = new(deployment)
    path = f"{V1}/company/{deployment.company.record['id']['id']}"
    turns = 12

    async def scenario(url: str) -> list[packets.Packet | None]:
        async with http(deployment, deployment.apis[1]) as api:
            device = await Client.connected(deployment.gateways[0].devices, deployment.tls, user_name=mounted.token)
            acknowledged = []
            for turn in range(turns):
                wish = {"notifyHost": url, "notifyMsgType": "1" if turn % 2 else "2"}
                (await api.put(path, json=wish)).raise_for_status()
                device.send(packets.Publish(topics.TRE, microtrip(turn), 1, turn + 1))
                acknowledged.append(await device.next())
            await device.close()
            return acknowledged

    with receiving() as customer:
        acknowledged = asyncio.run(scenario(customer.url))
        customer.wait(turns // 2, sensor_id=mounted.sensor_id)
        told = [body["pld"]["clt"] for body in customer.bodies if body["sensorId"] == mounted.sensor_id]

    assert acknowledged == [packets.Puback(turn + 1) for turn in range(turns)]
    assert told == [START_MS + turn * 1_000 for turn in range(0, turns, 2)]


def test_call_to_an_absent_device_is_answered_409_at_once_by_every_api(deployment):
    mounted = new(deployment)

    assert [call(deployment, api, mounted.sensor_id)[0] for api in deployment.apis] == [409, 409]


def test_device_that_connects_to_another_gateway_takes_its_session_over_and_customers_hear_of_no_loss(deployment):
    first, second = deployment.gateways
    mounted, marker = deployment.registered(2)
    with receiving() as customer, contextlib.ExitStack() as boxes:
        told_of_connections(deployment, customer.url)
        older = boxes.enter_context(calling.box(listener(first), mounted.token))
        with calling.box(listener(second), mounted.token, calling.answering({"results": 2000})):
            waits.seen(lambda: is_closed(older))
            status, _ = call(deployment, deployment.apis[0], mounted.sensor_id)
            state = connected(deployment, mounted.sensor_id)
            with calling.box(listener(first), marker.token):
                customer.wait(1, sensor_id=marker.sensor_id)
            customer.wait(2, sensor_id=marker.sensor_id)  # told to be away: the other one would have been before
        told = [body["pld"]["connected"] for body in customer.bodies if body["sensorId"] == mounted.sensor_id]

    assert (status, state) == (200, (True, None))
    assert told == [True]


def test_deleted_sensor_is_disconnected_from_its_gateway(deployment):
    for gateway, api in itertools.product(deployment.gateways, deployment.apis):
        mounted = new(deployment)
        with calling.box(listener(gateway), mounted.token) as device:
            deleted = asked(deployment, api, "DELETE", f"{V1}/sensor/{mounted.sensor_id}")
            waits.seen(lambda device=device: is_closed(device))

        assert deleted.status_code == 200


def test_sensor_deleted_without_a_hint_is_disconnected(deployment):
    """As when the process that deleted it was killed between its commit and its hint."""
    mounted = new(deployment)
    with calling.box(listener(deployment.gateways[0]), mounted.token) as device:
        deployment.rows(f"UPDATE sensor SET credentials_id = '{device_token()}' WHERE id = '{mounted.sensor_id}'")
        waits.seen(lambda: is_closed(device))


def test_rights_and_sessions_ended_on_one_api_are_refused_by_the_other_at_once(deployment):
    one, other = deployment.apis
    mounted = new(deployment)
    vehicle = f"{V1}/vehicle/{mounted.vehicle_id}"
    partner = {"name": "Borrower", "picName": "B", "picEmail": "b@borrower.example", "picPasswd": PASSWORD}
    partner_id = deployment.company.post(f"{V1}/company", partner)["id"]["id"]
    own_id = deployment.company.record["id"]["id"]
    deployment.company.post(f"{V1}/company/{own_id}/relation/company", {"toCompanyId": {"id": partner_id}})
    delegation = f"{V1}/company/{partner_id}/relation/vehicle"
    login = {"username": partner["picEmail"], "password": PASSWORD}
    token = httpx.post(one.api + "/api/auth/login", json=login).json()["token"]

    def seen() -> int:
        return httpx.get(other.api + vehicle, headers={"X-Authorization": f"Bearer {token}"}).status_code

    before = seen()
    asked(deployment, one, "POST", delegation, json={"vehicleId": {"id": mounted.vehicle_id}}).raise_for_status()
    delegated = seen()
    asked(deployment, one, "DELETE", f"{delegation}/{mounted.vehicle_id}").raise_for_status()
    taken_back = seen()
    asked(deployment, one, "DELETE", f"{V1}/company/{partner_id}").raise_for_status()
    deleted = seen()

    assert (before, delegated, taken_back, deleted) == (403, 200, 403, 401)


def test_browsers_session_made_on_one_api_is_used_on_the_other_and_ends_on_both(deployment):
    one, other = deployment.apis
    email = "c@borrower.example"
    partner = {"name": "Browsing", "picName": "C", "picEmail": email, "picPasswd": PASSWORD}
    deployment.company.post(f"{V1}/company", partner)

    def signed_in(api: str) -> httpx.Client:
        browser = httpx.Client(base_url=api, headers={"Sec-Fetch-Site": "same-origin"})
        entered = browser.post("/sign-in", data={"email": email, "password": PASSWORD})
        assert (entered.status_code, entered.headers["location"]) == (303, "/")
        return browser

    def sees(api: str, browser: httpx.Client) -> bool:
        answer = httpx.get(f"{api}/fleet/vehicles", headers={"Cookie": browser.headers["Cookie"]})
        assert answer.status_code == 200 or answer.headers["location"].startswith("/sign-in"), answer.text
        return answer.status_code == 200

    def form_of(browser: httpx.Client) -> dict[str, str]:
        found = re.search(r'name="(csrf)" value="([^"]+)"', browser.get("/account").text)
        assert found is not None
        return {found[1]: found[2]}

    leaves, changes, bystander = browsers = [signed_in(one.api), signed_in(other.api), signed_in(other.api)]
    with contextlib.ExitStack() as closing:
        for browser in browsers:
            closing.callback(browser.close)
            browser.headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
        leaving, changing = (form_of(browser) for browser in (leaves, changes))
        before = [sees(api, browser) for api in (one.api, other.api) for browser in browsers]
        assert leaves.post("/sign-out", data=leaving).status_code == 303
        left = [sees(other.api, browser) for browser in browsers]
        new_password = PASSWORD + "!"
        form = {"currentPassword": PASSWORD, "newPassword": new_password, "again_password": new_password}
        assert changes.post("/account/password", data=changing | form).status_code == 303
        changed = sees(one.api, bystander)

    assert before == [True] * 6
    assert left == [False, True, True]
    assert not changed


@pytest.mark.slow
def test_devices_of_a_gateway_that_was_killed_are_away_and_come_back_through_the_other(deployment):
    first, second = deployment.gateways
    stays, moves = deployment.registered(2)
    with contextlib.ExitStack() as boxes:
        for mounted in (stays, moves):
            boxes.enter_context(calling.box(listener(first), mounted.token))
        slots = {row[0] for row in deployment.rows("SELECT slot FROM node WHERE roles <> ''")}

        first.kill()
        boxes.enter_context(calling.box(listener(second), moves.token, calling.answering({"results": 2000})))
        waits.seen(
            lambda: connected(deployment, stays.sensor_id),
            lambda told: told == (False, "gateway_lost"),
            within_s=DEAD_S,
        )
        status, _ = call(deployment, deployment.apis[0], moves.sensor_id)
        state = connected(deployment, moves.sensor_id)
        first.start()

    numbers = deployment.rows("SELECT slot, count(*) FROM node WHERE roles <> '' GROUP BY slot")
    assert (status, state) == (200, (True, None))
    assert len(numbers) == len(slots) == len(deployment.nodes)
    assert {row[0] for row in numbers} != slots, "a slot is not used again so soon"


@pytest.mark.slow
def test_process_that_was_taken_for_dead_goes_on_as_a_new_node_and_says_who_is_connected(deployment):
    gateway = deployment.gateways[0]
    mounted = new(deployment)
    statement = "SELECT id FROM node WHERE roles = 'gateway'"
    before = set(deployment.rows(statement))
    with calling.box(listener(gateway), mounted.token, calling.answering({"results": 2000})) as device:
        assert gateway.process is not None
        gateway.process.send_signal(signal.SIGSTOP)
        try:
            waits.seen(
                lambda: connected(deployment, mounted.sensor_id),
                lambda told: told == (False, "gateway_lost"),
                within_s=DEAD_S,
            )
        finally:
            gateway.process.send_signal(signal.SIGCONT)
        waits.seen(lambda: connected(deployment, mounted.sensor_id)[0])
        status, _ = call(deployment, deployment.apis[1], mounted.sensor_id)
        still_there = not is_closed(device)

    assert (status, still_there) == (200, True)
    assert gateway.count("node.lost") == 1
    assert len(set(deployment.rows(statement)) - before) == 1


@pytest.mark.slow
def test_process_of_each_role_ends_in_order_and_says_that_it_is_gone(deployment):
    leaving = [deployment.gateways[1], deployment.apis[1], deployment.workers[0]]
    mounted = new(deployment)
    left = "SELECT bool_and(roles = '') FROM node WHERE split_part(name, ':', 2) = '{}'"
    with calling.box(listener(leaving[0]), mounted.token):
        processes = [node.process.pid for node in leaving if node.process is not None]
        codes = [node.stop() for node in leaving]
        state = connected(deployment, mounted.sensor_id)
        gone = [deployment.rows(left.format(pid)) for pid in processes]
    said = [node.said.read_text().split()[1].partition("=")[0] for node in leaving]
    for node in leaving:
        node.start()

    assert codes == [0, 0, 0]
    assert gone == [[(True,)]] * 3
    assert state == (False, "server_stopping")
    assert said == ["health", "api", "health"]
    assert [node.count("serve.stopped") for node in leaving] == [1, 1, 1]
