"""The pusher on a real store, with real requests to servers on the loopback: what is sent, in which order, and when."""

from collections import defaultdict

from tests.support.pushes import HOUR_MS, play
from tests.support.receivers import STATUS_LINE_ONLY, Receiver, Reply, serving, status

from tripline import config


def numbered(count, prefix=b""):
    return [prefix + b'{"n":%d}' % number for number in range(count)]


def test_messages_are_delivered_and_leave_the_outbox(tmp_path):
    async def scenario(world):
        async with serving(Receiver()) as receiver, world.pushing():
            company_id = await world.company("ace", notify_host=receiver.url)
            ids = await world.put(company_id, 0, *numbered(3))
            await receiver.until(3)
            await world.until([])
            return ids, receiver.requests

    ids, requests = play(tmp_path, scenario)

    assert [request.body for request in requests] == numbered(3)
    assert [request.id for request in requests] == ids
    assert {request.line for request in requests} == {"POST /noti HTTP/1.1"}
    assert {request.headers["content-type"] for request in requests} == {"application/json; charset=utf-8"}
    assert {request.connection for request in requests} == {1}


def test_messages_of_a_sensor_go_in_order_and_those_of_others_beside_them(tmp_path):
    async def scenario(world):
        async with serving(Receiver(lambda _: Reply(status(200), after_s=0.002))) as receiver:
            company_id = await world.company("ace", notify_host=receiver.url)
            for number in range(30):
                for sensor in range(10):
                    await world.put(company_id, sensor, b"%d:%d" % (sensor, number))
            async with world.pushing():
                await receiver.until(300)
                await world.until([])
            return receiver

    receiver = play(tmp_path, scenario)

    lanes = defaultdict(list)
    for body in receiver.bodies:
        sensor, number = map(int, body.split(b":"))
        lanes[sensor].append(number)
    assert lanes == {sensor: list(range(30)) for sensor in range(10)}
    assert 1 < receiver.most_at_once <= config.Push().per_receiver


def test_check_case_receiver_that_sends_a_status_line_only_is_delivered_to_once(tmp_path):
    async def scenario(world):
        async with serving(Receiver(lambda _: STATUS_LINE_ONLY)) as receiver, world.pushing():
            company_id = await world.company("ace", notify_host=receiver.url)
            await world.put(company_id, 0, *numbered(3))
            await receiver.until(3)
            await world.until([])
            return receiver.bodies

    assert play(tmp_path, scenario) == numbered(3)


def test_check_case_receiver_down_for_an_hour_then_back_gets_everything_in_order(tmp_path):
    async def scenario(world):
        dead = Receiver()
        async with serving(dead):
            company_id = await world.company("ace", notify_host=dead.url)
        async with world.pushing():
            for minute in range(60):
                for sensor in range(3):
                    await world.put(company_id, sensor, b"%d:%d" % (sensor, minute))
                world.move(60_000)
            await world.put(company_id, 0, b"0:60")
            back = Receiver()
            async with serving(back, port=dead.port):
                world.move(2 * HOUR_MS)
                await back.until(181)
                await world.until([])
            return back.bodies

    bodies = play(tmp_path, scenario)

    lanes = defaultdict(list)
    for body in bodies:
        sensor, minute = map(int, body.split(b":"))
        lanes[sensor].append(minute)
    assert lanes == {0: list(range(61)), 1: list(range(60)), 2: list(range(60))}
