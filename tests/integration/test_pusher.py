"""The pusher on a real store, with real requests to servers on the loopback: what is sent, in which order, and when."""

import asyncio
import base64
import contextlib
import hashlib
import hmac
from collections import defaultdict

import pytest
from tests.support import stores, waits
from tests.support.pushes import HOUR_MS, SENSORS, play
from tests.support.receivers import OK, SILENT, STATUS_LINE_ONLY, Receiver, Reply, Then, serving, status

from tripline import config
from tripline.domain.pushes import Channel
from tripline.services.push import outbox
from tripline.services.push.attempts import NO_ADDRESS
from tripline.store.fleet import companies
from tripline.store.push import secrets as push_secrets


def numbered(count, prefix=b""):
    return [prefix + b'{"n":%d}' % number for number in range(count)]


async def test_messages_are_delivered_and_leave_the_outbox(world):
    async with serving(Receiver()) as receiver, world.pushing():
        company_id = await world.company("ace", notify_host=receiver.url)
        ids = await world.put(company_id, 0, *numbered(3))
        await receiver.until(3)
        await world.until([])
        requests = receiver.requests

    assert [request.body for request in requests] == numbered(3)
    assert [request.id for request in requests] == ids
    assert {request.line for request in requests} == {"POST /noti HTTP/1.1"}
    assert {request.headers["content-type"] for request in requests} == {"application/json; charset=utf-8"}
    assert {request.connection for request in requests} == {1}


async def test_messages_of_a_sensor_go_in_order_and_those_of_others_beside_them(world):
    async with serving(Receiver(lambda _: Reply(status(200), after_s=0.002))) as receiver:
        company_id = await world.company("ace", notify_host=receiver.url)
        for number in range(30):
            for sensor in range(10):
                await world.put(company_id, sensor, b"%d:%d" % (sensor, number))
        async with world.pushing():
            await receiver.until(300)
            await world.until([])

    lanes = defaultdict(list)
    for body in receiver.bodies:
        sensor, number = map(int, body.split(b":"))
        lanes[sensor].append(number)
    assert lanes == {sensor: list(range(30)) for sensor in range(10)}
    assert 1 < receiver.most_at_once <= config.Push().per_receiver


async def test_check_case_receiver_that_sends_a_status_line_only_is_delivered_to_once(world):
    async with serving(Receiver(lambda _: STATUS_LINE_ONLY)) as receiver, world.pushing():
        company_id = await world.company("ace", notify_host=receiver.url)
        await world.put(company_id, 0, *numbered(3))
        await receiver.until(3)
        await world.until([])
        found = receiver.bodies

    assert found == numbered(3)


async def test_check_case_receiver_down_for_an_hour_then_back_gets_everything_in_order(world):
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
        bodies = back.bodies

    lanes = defaultdict(list)
    for body in bodies:
        sensor, minute = map(int, body.split(b":"))
        lanes[sensor].append(minute)
    assert lanes == {0: list(range(61)), 1: list(range(60)), 2: list(range(60))}


def test_receiver_that_is_down_holds_up_no_other_one(tmp_path):
    async def scenario(world):
        dead, alive = Receiver(lambda _: Reply(b"", Then.CLOSE, after_s=0.2)), Receiver()
        async with serving(dead), serving(alive), world.pushing():
            silent = await world.company("ace", notify_host=dead.url)
            well = await world.company("bee", notify_host=alive.url)
            for sensor in range(10):
                await world.put(silent, sensor, *numbered(20))
            for sensor in range(10):
                await world.put(well, sensor, *numbered(20))
            await alive.until(200)
            return dead.most_at_once, len(dead.requests), len([row for row in await world.rows() if not row[1]])

    at_once, tried, untouched = play(tmp_path, scenario, at_once=4)

    assert at_once <= 2
    assert tried < 10
    assert untouched > 180


def test_requests_are_shared_out_among_slow_receivers(tmp_path):
    async def scenario(world):
        slow = [Receiver(lambda _: Reply(status(200), after_s=0.05)) for _ in range(4)]
        fast = Receiver()
        async with contextlib.AsyncExitStack() as stack:
            for receiver in (*slow, fast):
                await stack.enter_async_context(serving(receiver))
            for number, receiver in enumerate(slow):
                company_id = await world.company(f"c{number}", notify_host=receiver.url)
                for sensor in range(10):
                    await world.put(company_id, sensor, *numbered(10))
            await stack.enter_async_context(world.pushing())
            for receiver in slow:
                await receiver.until(5)
            company_id = await world.company("fast", notify_host=fast.url)
            for sensor in range(10):
                await world.put(company_id, sensor, *numbered(5))
            await fast.until(50, timeout_s=5)
            return sum(len(receiver.requests) for receiver in slow), max(receiver.most_at_once for receiver in slow)

    sent, most_at_once = play(tmp_path, scenario, at_once=8)

    assert sent < 400
    assert most_at_once <= 8


def test_more_receivers_than_requests_at_once_all_get_their_messages(tmp_path):
    async def scenario(world):
        receiver = Receiver(lambda _: Reply(status(200), after_s=0.002))
        async with serving(receiver), world.pushing():
            for number in range(12):
                company_id = await world.company(f"c{number}", notify_host=receiver.url)
                await world.put(company_id, 0, *numbered(4, b"%d:" % number))
            await receiver.until(48)
            await world.until([])
            return receiver

    receiver = play(tmp_path, scenario, at_once=3)

    assert receiver.most_at_once <= 3
    for number in range(12):
        mine = [body for body in receiver.bodies if body.startswith(b"%d:" % number)]
        assert mine == numbered(4, b"%d:" % number)


async def test_410_parks_at_once_and_what_is_behind_goes_on(world):
    receiver = Receiver(lambda request: Reply(status(410 if request.body == b"1" else 200)))
    async with serving(receiver), world.pushing():
        company_id = await world.company("ace", notify_host=receiver.url)
        await world.put(company_id, 0, b"0", b"1", b"2")
        await world.until([(b"1", 1, True)])
        bodies, (parked,) = receiver.bodies, await world.parked()

    assert bodies == [b"0", b"1", b"2"]
    assert (parked.last_error, parked.attempts) == ("HTTP status 410.", 1)


async def test_refused_message_is_parked_after_three_attempts_and_what_is_behind_goes_on(world):
    receiver = Receiver(lambda request: Reply(status(404 if request.body == b"1" else 200)))
    async with serving(receiver), world.pushing():
        company_id = await world.company("ace", notify_host=receiver.url)
        await world.put(company_id, 0, b"1", b"2")
        await world.put(company_id, 1, b"3")
        for attempts, pause_ms in ((1, 1_000), (2, 5_000)):
            await world.until([(b"1", attempts, False), (b"2", 0, False)])
            world.move(pause_ms)
        await world.until([(b"1", 3, True)])
        found = sorted(receiver.bodies)

    assert found == [b"1", b"1", b"1", b"2", b"3"]


def test_message_that_is_never_delivered_is_parked_when_its_time_is_over_with_all_that_are_as_old(tmp_path):
    async def scenario(world):
        receiver = Receiver(lambda _: Reply(status(503)))
        async with serving(receiver), world.pushing():
            company_id = await world.company("ace", notify_host=receiver.url)
            await world.put(company_id, 0, b"1", b"2", b"3")
            for attempts, pause_s in ((1, 1), (2, 5), (3, 30), (4, 300)):
                await world.until([(b"1", attempts, False), (b"2", 0, False), (b"3", 0, False)])
                world.move(pause_s * 1_000)
            young = [(b"4", 0, False), (b"5", 0, False)]
            await world.put(company_id, 0, b"4", b"5")
            await world.until([(b"1", 5, False), (b"2", 0, False), (b"3", 0, False), *young])
            world.move(30_000)
            await world.until([(b"1", 6, True), (b"2", 0, True), (b"3", 0, True), (b"4", 1, False), (b"5", 0, False)])
            receiver.answer = lambda _: OK
            world.move(30_000)
            await world.until([(b"1", 6, True), (b"2", 0, True), (b"3", 0, True)])
            return receiver.bodies[6:], {each.last_error for each in await world.parked()}

    assert play(tmp_path, scenario, patience_hours=0.1) == ([b"4", b"4", b"5"], {"HTTP status 503."})


async def test_same_message_has_the_same_id_at_every_attempt_and_a_timestamp_of_its_own(world):
    replies = [500, 200]
    receiver = Receiver(lambda _: Reply(status(replies.pop(0))))
    async with serving(receiver), world.pushing():
        company_id = await world.company("ace", notify_host=receiver.url)
        (message_id,) = await world.put(company_id, 0, b"{}")
        await world.until([(b"{}", 1, False)])
        world.move(1_000)
        await receiver.until(2)
        await world.until([])
        secret = await world.store.read(lambda tx: push_secrets.find(tx, company_id))
        requests, secret = receiver.requests, secret.secret

    assert [request.id for request in requests] == [message_id] * 2
    times = [int(request.headers["webhook-timestamp"]) for request in requests]
    assert times[1] - times[0] == 1
    for request, timestamp in zip(requests, times, strict=True):
        signed = hmac.new(secret, f"{message_id}.{timestamp}.{{}}".encode(), hashlib.sha256).digest()
        assert request.headers["webhook-signature"] == "v1," + base64.b64encode(signed).decode()


async def test_company_with_both_addresses_gets_both_and_one_that_is_down_does_not_hold_up_the_other(world):
    notify, rpc = Receiver(lambda _: Reply(status(500))), Receiver()
    async with serving(notify), serving(rpc), world.pushing():
        company_id = await world.company(
            "ace",
            notify_host=notify.url,
            rpc_notify_host="127.0.0.1",
            rpc_notify_port=rpc.port,
            rpc_notify_base_path="/rpc",
        )
        await world.put(company_id, 0, b"{}")
        await world.put(company_id, 0, b' { "result" : 2000 }', channel=Channel.RPC_NOTIFY, method="a\nb")
        await rpc.until(1)
        await world.until([(b"{}", 1, False)])
        request, tried = rpc.requests[0], len(notify.requests)

    assert tried == 1
    assert (request.line, request.body) == ("POST /rpc HTTP/1.1", b' { "result" : 2000 }')
    assert request.headers["x-rpc-method"] == "a%0Ab"
    assert request.headers["x-sensor-id"] == request.headers["x-request-id"] == SENSORS[0]


async def test_new_address_is_used_as_soon_as_it_is_told_of(world):
    first, second = Receiver(), Receiver()
    async with serving(first), serving(second), world.pushing():
        company_id = await world.company("ace", notify_host=first.url)
        await world.put(company_id, 0, b"1")
        await first.until(1)
        await world.readdress(company_id, second.url)
        await world.put(company_id, 0, b"2")
        await second.until(1)
        await world.until([])
        found = first.bodies, second.bodies

    assert found == ([b"1"], [b"2"])


async def test_company_without_an_address_any_more_has_its_messages_parked_and_can_have_them_again(world):
    receiver = Receiver()
    async with serving(receiver):
        company_id = await world.company("ace", notify_host=receiver.url)
        await world.readdress(company_id, None)
        for sensor in range(3):
            await world.put(company_id, sensor, b"1", b"2")
        async with world.pushing():
            await world.until([(body, 0, True) for _ in range(3) for body in (b"1", b"2")])
            errors = {each.last_error for each in await world.parked()}
            await world.readdress(company_id, receiver.url)
            await world.resend()
            await receiver.until(6)
            await world.until([])
        found = errors

    assert found == {NO_ADDRESS}


async def test_address_given_while_the_former_is_read_is_not_overwritten_by_it(world, monkeypatch):
    company_id = await world.company("ace", notify_host="http://127.0.0.1:1")
    await world.readdress(company_id, None)
    async with world.pushing() as pusher:
        receiver = pusher._receiver((company_id, Channel.NOTIFY))
        read = world.store.read_short

        async def read_late(work):
            found = await read(work)
            monkeypatch.setattr(world.store, "read_short", read)
            before = receiver.changes
            await world.readdress(company_id, "http://127.0.0.1:2")
            await waits.until(lambda: receiver.changes != before)  # the hint is on its way
            return found

        monkeypatch.setattr(world.store, "read_short", read_late)
        await pusher._deliveries.find_address(receiver)
        stale = receiver.known_until_ms
        while receiver.known_until_ms <= world.now_ms:
            await pusher._deliveries.find_address(receiver)
        url, is_known = receiver.url, receiver.known_until_ms > world.now_ms

    assert stale == 0
    assert url.startswith("http://127.0.0.1:2")
    assert is_known


async def test_messages_are_not_given_up_for_want_of_an_address_that_was_given_meanwhile(world):
    company_id = await world.company("ace", notify_host="http://127.0.0.1:1")
    await world.put(company_id, 0, b"1", b"2")
    key = (company_id, Channel.NOTIFY)
    what = {"before_no": 2**62, "error": NO_ADDRESS, "now_ms": world.now_ms, "limit": 10}

    def park(tx):
        return outbox.park_unaddressed(tx, key, **what)

    with pytest.raises(outbox.AddressedError):
        await world.store.write(park, locked=True)
    before = await world.rows()
    await world.readdress(company_id, None)
    parked = await world.store.write(park, locked=True)
    after = await world.rows()

    assert before == [(b"1", 0, False), (b"2", 0, False)]
    assert parked == 2
    assert after == [(b"1", 0, True), (b"2", 0, True)]


async def test_messages_of_a_company_that_is_gone_are_not_sent(world):
    receiver = Receiver(lambda request: Reply(status(200), after_s=0.05))
    async with serving(receiver), world.pushing():
        company_id = await world.company("ace", notify_host=receiver.url)
        await world.put(company_id, 0, *numbered(20))
        await receiver.until(1)
        await world.store.write(lambda tx: companies.remove(tx, company_id))
        await world.until([])
        other = await world.company("bee", notify_host=receiver.url)
        await world.put(other, 1, b"other")
        await receiver.until(len(receiver.requests) + 1)
        bodies = receiver.bodies

    assert len(bodies) <= 5
    assert bodies[-1] == b"other"


async def test_what_is_sent_again_goes_with_its_own_id_behind_what_waits(world):
    receiver = Receiver(lambda _: Reply(status(410)))
    async with serving(receiver), world.pushing():
        company_id = await world.company("ace", notify_host=receiver.url)
        ids = await world.put(company_id, 0, b"1", b"2")
        await world.until([(b"1", 1, True), (b"2", 1, True)])
        receiver.answer = lambda _: OK
        world.move(48 * HOUR_MS)
        await world.resend(message_ids=[ids[1]])
        await receiver.until(3)
        await world.until([(b"1", 1, True)])
        requests = receiver.requests

    assert [request.id for request in requests] == [*ids, ids[1]]


async def test_message_that_is_sent_again_has_its_full_patience_again(world):
    receiver = Receiver(lambda _: Reply(status(410)))
    async with serving(receiver), world.pushing():
        company_id = await world.company("ace", notify_host=receiver.url)
        await world.put(company_id, 0, b"1")
        await world.until([(b"1", 1, True)])
        receiver.answer = lambda _: Reply(status(503))
        world.move(48 * HOUR_MS)
        await world.resend()
        await world.until([(b"1", 1, False)])
        receiver.answer = lambda _: OK
        world.move(1_000)
        await world.until([])


async def test_stop_lets_requests_under_way_end_and_begins_no_more(world):
    receiver = Receiver(lambda _: Reply(status(200), after_s=0.2))
    async with serving(receiver):
        company_id = await world.company("ace", notify_host=receiver.url)
        async with world.pushing():
            await world.put(company_id, 0, *numbered(3))
            await receiver.until(1)
        found = receiver.bodies, [body for body, _, _ in await world.rows()]

    assert found == (numbered(1), numbered(3)[1:])


async def test_pusher_that_is_cancelled_sends_again_under_the_same_id(world):
    receiver = Receiver()
    async with serving(receiver):
        company_id = await world.company("ace", notify_host=receiver.url)
        (message_id,) = await world.put(company_id, 0, b"{}")
        receiver.answer = lambda _: SILENT
        async with world.pushing(patient=False):
            await receiver.until(1)
        receiver.answer = lambda _: OK
        async with world.pushing():
            await world.until([])
        found = {request.id for request in receiver.requests} == {message_id}, len(receiver.requests)

    assert found == (True, 2)


class Busy:
    """A server that answers with a status and `Retry-After` until it is free."""

    def __init__(self, code=429, retry_after="600"):
        self.reply = Reply(status(code, f"Retry-After: {retry_after}"))
        self.free = False
        self.receiver = Receiver(lambda _: OK if self.free else self.reply)


@pytest.mark.parametrize("code", [429, 503])
async def test_receiver_that_asks_for_a_pause_gets_nothing_before_its_end_and_others_are_not_delayed(world, code):
    busy = Busy(code)
    async with serving(busy.receiver), serving(Receiver()) as well, world.pushing():
        held, other = [
            await world.company(name, notify_host=each.url) for name, each in (("a", busy.receiver), ("b", well))
        ]
        await world.put(held, 0, *numbered(3))
        await world.until_tried(1)
        await world.put(held, 1, b"9")
        world.move(599_999)
        await world.put(other, 0, *numbered(3))
        await well.until(3)
        await world.put(held, 2, b"8")
        await asyncio.sleep(0.1)
        before, busy.free = len(busy.receiver.requests), True
        world.move(1)
        await world.until([])
        bodies, others = busy.receiver.bodies, well.bodies

    assert before == 1
    assert [body for body in bodies[1:] if body in numbered(3)] == numbered(3)
    assert sorted(bodies[1:]) == [b"8", b"9", *numbered(3)]
    assert others == numbered(3)


@pytest.mark.parametrize("asked", [False, True])
async def test_pause_that_a_receiver_asked_for_outlives_its_process_unless_somebody_ends_it(world, asked):
    first, second = numbered(2)
    busy = Busy()
    async with serving(busy.receiver):
        company_id = await world.company("ace", notify_host=busy.receiver.url)
        async with world.pushing():
            await world.put(company_id, 0, *numbered(2))
            await world.until_tried(1)
        busy.free = True
        world.move(1_000)
        async with world.pushing():
            await world.put(company_id, 1, b"9")
            await asyncio.sleep(0.2)
            before = len(busy.receiver.requests)
            if asked:
                await world.send_now(company_id)
            else:
                world.move(599_000)
            await world.until([])
        found = before, sorted(busy.receiver.bodies)

    assert found == (1, [b"9", first, first, second])


@pytest.mark.parametrize("code", [408, 500])
async def test_retry_after_of_other_statuses_and_malformed_ones_are_ignored(world, code):
    busy = Busy(code) if code == 408 else Busy(503, "soon")
    async with serving(busy.receiver), world.pushing():
        company_id = await world.company("ace", notify_host=busy.receiver.url)
        await world.put(company_id, 0, b"0")
        await world.until_tried(1)
        world.move(1_000)
        await busy.receiver.until(2)
        found = True

    assert found


async def test_private_address_is_not_asked_and_its_message_waits(world):
    receiver = Receiver()
    async with serving(receiver), world.pushing(allow_private=False):
        company_id = await world.company("ace", notify_host=receiver.url)
        await world.put(company_id, 0, b"{}")
        await world.until([(b"{}", 1, False)])
        found = receiver.connections

    assert found == 0


async def test_store_that_is_away_for_a_moment_loses_nothing(world, tmp_path):
    receiver = Receiver()
    async with serving(receiver):
        company_id = await world.company("ace", notify_host=receiver.url)
        await world.put(company_id, 0, *numbered(5))
        lock = stores.WriteLock(tmp_path)
        async with world.pushing():
            await receiver.until(1)
            await asyncio.to_thread(lock.take)
            await receiver.until(5)
            lock.close()
            await world.until([])
        found = receiver.bodies

    assert found == numbered(5)


async def test_backlog_longer_than_memory_is_delivered_in_order(world):
    receiver = Receiver()
    async with serving(receiver):
        company_id = await world.company("ace", notify_host=receiver.url)
        for number in range(0, 1_500, 100):
            for sensor in range(2):
                await world.put(company_id, sensor, *(b"%d:%d" % (sensor, number + step) for step in range(100)))
        async with world.pushing():
            await receiver.until(3_000, timeout_s=30)
            await world.until([])
        bodies = receiver.bodies

    for sensor in range(2):
        mine = [body for body in bodies if body.startswith(b"%d:" % sensor)]
        assert mine == [b"%d:%d" % (sensor, number) for number in range(1_500)]
