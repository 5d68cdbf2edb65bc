"""Receivers that never answer, and receivers that were repaired: spec/push M1 to M3 on a real store.

The published receiver writes a head of an answer and never ends it; its library sends nothing until then. Times are
shorter here: `ANSWER_S` stands for 5 s, `PLACE_S` for 250 ms. The run at full length is `python -m bench mute`.
"""

import asyncio
import random

import pytest
from tests.support.pushes import play
from tests.support.receivers import OK, SILENT, Receiver, Reply, Then, serving, status

from tripline.services.push.queue import WINDOW

ANSWER_S = 0.4
PLACE_S = 0.02
FAST = {"timeout_s": ANSWER_S, "place_s": PLACE_S}


def numbered(count, first=0):
    return [b"%d" % number for number in range(first, first + count)]


async def silenced(world, receiver, count, *, name="ace", sensors=1):
    """A company whose receiver was just found mute, with so many messages that it has been sent; their ids."""
    company_id = await world.company(name, notify_host=receiver.url)
    ids = []
    for number in range(count):
        ids += await world.put(company_id, number % sensors, b"%d" % number)
    await world.until_tried(min(sensors, 2))
    world.move(1_000)
    return company_id, ids


@pytest.mark.parametrize("sensors", [1, 3])
async def test_check_case_m2_mute_receiver_gets_the_first_message_twice_and_every_other_one_once(world, sensors):
    mute = Receiver(lambda _: SILENT)
    async with serving(mute), world.pushing(**FAST):
        _, ids = await silenced(world, mute, 40, sensors=sensors)
        await mute.until(41)
        await world.until_mute(40)
        requests = mute.requests

    twice = [message_id for message_id in ids if [request.id for request in requests].count(message_id) == 2]
    assert len(requests) == 41
    assert len(twice) == 1
    assert twice[0] in ids[:sensors]
    for sensor in range(sensors):
        came = list(dict.fromkeys(request.id for request in requests if int(request.body) % sensors == sensor))
        assert came == ids[sensor::sensors]


async def test_m2_message_to_a_mute_receiver_waits_for_its_place_alone(world):
    mute = Receiver(lambda _: SILENT)
    async with serving(mute), world.pushing(timeout_s=2.0, place_s=0.05):
        await silenced(world, mute, 20)
        await world.until_mute(20)
        found = mute.most_at_once

    assert found > 5


def test_mute_receivers_do_not_delay_another_company(tmp_path):
    async def scenario(world):
        mute, well = Receiver(lambda _: SILENT), Receiver()
        async with serving(mute), serving(well), world.pushing(timeout_s=ANSWER_S, place_s=0.25):
            for number in range(4):
                await silenced(world, mute, 40, name=f"mute-{number}", sensors=10)
            other = await world.company("bee", notify_host=well.url)
            for sensor in range(10):
                await world.put(other, sensor, *numbered(10))
            before = len(mute.requests)
            await well.until(100)
            return len(mute.requests) - before

    assert play(tmp_path, scenario, at_once=4) < 50


def test_receivers_that_are_down_have_a_quarter_of_all_requests_together(tmp_path):
    async def scenario(world):
        failing = Receiver(lambda _: Reply(status(503), after_s=0.05))
        async with serving(failing), world.pushing():
            for number in range(8):
                company_id = await world.company(f"down-{number}", notify_host=failing.url)
                for sensor in range(3):
                    await world.put(company_id, sensor, b"x")
            await world.until_tried(24)
            failing.most_at_once = 0
            world.move(1_000)
            await failing.until(32)
            return failing.most_at_once

    assert play(tmp_path, scenario, at_once=8) == 2


async def test_mute_state_survives_a_restart_and_no_message_comes_twice(world):
    mute = Receiver(lambda _: SILENT)
    async with serving(mute):
        async with world.pushing(**FAST):
            company_id, ids = await silenced(world, mute, 3)
            await world.until_mute(3)
        async with world.pushing(**FAST):
            ids += await world.put(company_id, 0, *numbered(3))
            await world.until_mute(6)
        came = [request.id for request in mute.requests]

    assert came == [ids[0], *ids]


@pytest.mark.parametrize("code", [200, 500])
async def test_m3_hung_receiver_that_recovers_loses_nothing_and_gets_everything_in_order(world, code):
    hung = Receiver(lambda _: SILENT)
    async with serving(hung), world.pushing(**FAST):
        company_id, ids = await silenced(world, hung, 30)
        await world.until_mute(30)
        before = len(hung.requests)
        hung.answer = lambda request: OK if len(hung.requests) > before + 1 else Reply(status(code))
        ids += await world.put(company_id, 0, *numbered(3, 30))
        await world.until_tried(0)
        if code == 500:
            await hung.until(before + 2)
        world.move(1_000)
        await world.until([])
        came, mute = [request.id for request in hung.requests[before:]], await world.mute()

    assert mute == []
    assert came[0] == ids[30]
    assert list(dict.fromkeys(came[1:])) == ids


async def test_m3_answer_that_comes_while_a_connection_listens_does_not_confirm_its_message_before_older_ones(world):
    slow = Receiver(lambda _: SILENT)
    async with serving(slow), world.pushing(timeout_s=1.0, place_s=0.02):
        company_id, ids = await silenced(world, slow, 2)
        await world.until_mute(2)
        slow.answer = lambda _: Reply(status(200), after_s=0.2)
        ids += await world.put(company_id, 0, b"late")
        await world.until([])
        came, mute = [request.id for request in slow.requests[3:]], await world.mute()

    assert mute == []
    assert came == [ids[2], *ids]


async def test_m3_everything_longer_than_memory_comes_again(world):
    count = WINDOW + 50

    hung = Receiver(lambda _: SILENT)
    async with serving(hung), world.pushing(timeout_s=0.3, place_s=0.001):
        company_id, ids = await silenced(world, hung, count)
        await world.until_mute(count)
        before = len(hung.requests)
        hung.answer = lambda _: OK
        ids += await world.put(company_id, 0, b"awake")
        await world.until([])
        came = [request.id for request in hung.requests[before + 1 :]]

    assert came == ids


async def test_receiver_that_is_killed_while_it_is_mute_is_down_and_then_mute_again(world):
    mute = Receiver(lambda _: SILENT)
    async with serving(mute):
        company_id = await world.company("ace", notify_host=mute.url)
    async with world.pushing(**FAST):
        async with serving(mute, port=mute.port):
            await world.put(company_id, 0, *numbered(2))
            await world.until_tried(1)
            world.move(1_000)
            await world.until_mute(2)
        await world.put(company_id, 0, *numbered(2, 2))
        await world.until_tried(1)
        async with serving(mute, port=mute.port):
            world.move(1_000)
            await world.until_mute(4)
        found = mute.bodies

    assert found == [b"0", *numbered(2), b"0", *numbered(2, 2)]


async def test_sensor_whose_messages_go_unanswered_does_not_make_a_receiver_mute_that_answers_others(world):
    partly = Receiver(lambda request: SILENT if request.body == b"stuck" else OK)
    async with serving(partly), world.pushing(**FAST):
        company_id = await world.company("ace", notify_host=partly.url)
        await world.put(company_id, 0, b"stuck")
        await world.until_tried(1)
        await world.put(company_id, 1, b"other")
        await world.until([(b"stuck", 1, False)])
        world.move(1_000)
        await partly.until(3)
        await world.until([(b"stuck", 2, False)])
        await world.put(company_id, 1, b"other")
        await world.until([(b"stuck", 2, False)])
        found = await world.mute()

    assert found == []


async def test_messages_that_nobody_confirmed_are_forgotten_with_the_company(world):
    mute = Receiver(lambda _: SILENT)
    async with serving(mute), world.pushing(**FAST):
        company_id, _ = await silenced(world, mute, 3)
        await world.until_mute(3)
        await world.remove(company_id)
        found = await world.rows(), await world.mute()

    assert found == ([], [])


async def test_messages_that_nobody_confirmed_are_sent_again_on_request(world):
    mute = Receiver(lambda _: SILENT)
    async with serving(mute), world.pushing(**FAST):
        company_id, ids = await silenced(world, mute, 3)
        await world.until_mute(3)
        sent = await world.resend(company_id=company_id), await world.resend(unconfirmed=True)
        await mute.until(7)
        await world.until_mute(3)
        came = [request.id for request in mute.requests[4:]]

    assert sent == (0, 3)
    assert came == ids


# Order after silence


class Fickle:
    """A server that is well or silent, answers after a random moment, and remembers what it confirmed."""

    def __init__(self, dice):
        self.dice = dice
        self.silent = False
        self.confirmed = []
        self.receiver = Receiver(self.answer)

    def answer(self, request):
        if self.silent:
            return SILENT
        self.confirmed.append(request.body)
        return Reply(status(200), after_s=self.dice.choice([0, 0, 0, PLACE_S / 2, 3 * PLACE_S]))

    def last_confirmed(self, sensor):
        """A sensor's messages in the order in which they were confirmed for good."""
        last = dict.fromkeys(reversed([body for body in self.confirmed if body.startswith(b"%d." % sensor)]))
        return list(reversed(last))


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(4))
async def test_m3_sensors_are_confirmed_in_order_whenever_a_silent_receiver_recovers(world, seed):
    sensors, dice = 4, random.Random(seed)

    fickle, counts = Fickle(dice), [0] * sensors
    async with serving(fickle.receiver), world.pushing(**FAST):
        company_id = await world.company("ace", notify_host=fickle.receiver.url)
        for step in range(60):
            if step % 15 == 3:
                fickle.silent = True
            if step % 15 == 12:
                fickle.silent = False
            for sensor in dice.sample(range(sensors), dice.randint(0, sensors)):
                await world.put(company_id, sensor, b"%d.%d" % (sensor, counts[sensor]))
                counts[sensor] += 1
            await asyncio.sleep(dice.choice([0, PLACE_S, ANSWER_S / 4]))
            world.move(1_000)
        fickle.silent = False
        while await world.rows():
            world.move(1_000)
            await asyncio.sleep(PLACE_S)
    mute = await world.mute()

    assert mute == []
    for sensor, count in enumerate(counts):
        assert fickle.last_confirmed(sensor) == [b"%d.%d" % (sensor, number) for number in range(count)]


async def test_m3_silent_receiver_that_is_started_again_gets_its_oldest_message_first(world):
    hung, good = Receiver(lambda _: SILENT), Receiver()
    async with world.pushing(**FAST):
        async with serving(hung):
            company_id, ids = await silenced(world, hung, 5)
            await world.until_mute(5)
        ids += await world.put(company_id, 0, b"5")
        await world.until_tried(1)
        async with serving(good, port=hung.port):
            world.move(1_000)
            await world.until([])

    assert [request.id for request in good.requests] == ids


# Repaired receivers. The clock stands still: no pause ends by itself.


async def down(world, *, sensors=5, each=3):
    """A company whose receiver is down, with messages of sensors that were tried and pause."""
    async with serving(Receiver()) as gone:
        company_id = await world.company("ace", notify_host=gone.url)
    for number in range(each):
        for sensor in range(sensors):
            await world.put(company_id, sensor, b"%d" % (number * sensors + sensor))
    await world.until_tried(3)
    return company_id, gone.port


def in_order(bodies, sensors=5):
    """Whether every sensor's messages came in order."""
    return all(
        [int(body) for body in bodies if int(body) % sensors == sensor] == list(range(sensor, 15, sensors))
        for sensor in range(sensors)
    )


async def test_check_case_receiver_down_whose_address_is_changed_gets_everything_within_a_second(world):
    async with serving(Receiver()) as good, world.pushing():
        company_id, _ = await down(world)
        await world.readdress(company_id, good.url)
        await good.until(15, timeout_s=5)
        await world.until([])
        bodies = good.bodies

    assert len(bodies) == 15
    assert in_order(bodies)


async def test_request_to_send_at_once_ends_the_pauses_of_a_receiver_that_was_down(world):
    good = Receiver()
    async with world.pushing():
        company_id, port = await down(world)
        async with serving(good, port=port):
            await world.send_now(company_id)
            await good.until(15, timeout_s=5)
            await world.until([])
        found = good.bodies

    assert in_order(found)


async def test_address_changed_while_no_pusher_ran_ends_the_pauses_too(world):
    async with serving(Receiver()) as good:
        async with world.pushing():
            company_id, _ = await down(world, sensors=3, each=5)  # every sensor was tried and pauses
        world.now_ms += 100
        await world.readdress(company_id, good.url)
        async with world.pushing():
            await good.until(15, timeout_s=5)
            await world.until([])
        found = good.bodies

    assert in_order(found, sensors=3)


async def test_request_that_hangs_at_the_former_address_is_not_waited_for(world):
    hung, good = Receiver(lambda _: Reply(b"H", Then.HANG)), Receiver()
    async with serving(hung), serving(good), world.pushing(timeout_s=60):
        company_id = await world.company("ace", notify_host=hung.url)
        await world.put(company_id, 0, *numbered(3))
        await hung.until(1)
        await world.readdress(company_id, good.url)
        await good.until(3, timeout_s=5)
        await world.until([])
        found = good.bodies

    assert found == numbered(3)


async def test_mute_receiver_with_another_address_has_everything_sent_there(world):
    mute, good = Receiver(lambda _: SILENT), Receiver()
    async with serving(mute), serving(good), world.pushing(**FAST):
        company_id, ids = await silenced(world, mute, 5)
        await world.until_mute(5)
        await world.readdress(company_id, good.url)
        ids += await world.put(company_id, 0, b"5")
        await world.until([])
        came, mute = [request.id for request in good.requests], await world.mute()

    assert mute == []
    assert came == ids


async def test_receiver_at_another_address_is_not_taken_for_the_mute_one_before(world):
    mute, other = Receiver(lambda _: SILENT), Receiver(lambda _: SILENT)
    async with serving(mute), serving(other), world.pushing(**FAST):
        company_id, ids = await silenced(world, mute, 3)
        await world.until_mute(3)
        await world.readdress(company_id, other.url)
        ids += await world.put(company_id, 0, b"3")
        await world.until_tried(1)
        world.move(1_000)
        await world.until_mute(4)
        came = [request.id for request in other.requests]

    assert came == [ids[0], ids[3], ids[3]]


async def test_sensor_that_pauses_holds_up_no_other_sensor(world):
    receiver = Receiver(lambda request: Reply(status(503 if request.body == b"bad" else 200)))
    async with serving(receiver), world.pushing():
        company_id = await world.company("ace", notify_host=receiver.url)
        await world.put(company_id, 0, b"bad")
        for attempts, pause_ms in ((1, 1_000), (2, 5_000), (3, 30_000), (4, 300_000)):
            await world.until([(b"bad", attempts, False)])
            world.move(pause_ms)
        await world.until([(b"bad", 5, False)])
        await world.put(company_id, 1, *numbered(3))
        await receiver.until(9, timeout_s=5)
        found = [body for body in receiver.bodies if body != b"bad"]

    assert found == numbered(3)


async def test_hint_that_is_lost_is_made_up_for(world, monkeypatch):
    monkeypatch.setattr("tripline.services.push.pusher.LOOK_S", 0.2)

    async with serving(Receiver()) as good, world.pushing():
        company_id, _ = await down(world)
        world.signals.notify = lambda *_: None
        await world.readdress(company_id, good.url)
        await good.until(15, timeout_s=5)
        found = good.bodies

    assert in_order(found)
