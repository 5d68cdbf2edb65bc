"""The keeper of pushes: it forgets in time, and counts."""

import asyncio

import pytest
from tests.support.pushes import HOUR_MS
from tests.support.receivers import SILENT, Receiver, Reply, serving, status

from tripline import config
from tripline.metrics import PUSH_MUTE, PUSH_OLDEST_SECONDS, PUSHES_PARKED, PUSHES_UNCONFIRMED, PUSHES_WAITING
from tripline.services.push.keeper import Keeper

DAY_MS = 24 * HOUR_MS


def keeper(world):
    return Keeper(store=world.store, settings=config.Push(parked_days=2), clock=lambda: world.now_ms)


async def given_up(world, *bodies):
    """Messages that were given up now."""
    receiver = Receiver(lambda _: Reply(status(410)))
    async with serving(receiver):
        company_id = await world.company(f"c{world.now_ms}", notify_host=receiver.url)
        await world.put(company_id, 0, *bodies)
        async with world.pushing():
            await world.until([*await older(world), *((body, 1, True) for body in bodies)])
    return company_id


async def older(world):
    return [row for row in await world.rows() if row[1]]


@pytest.mark.parametrize(("age_ms", "left"), [(2 * DAY_MS - 1, 2), (2 * DAY_MS, 2), (2 * DAY_MS + 1, 0)])
async def test_what_was_given_up_long_ago_is_forgotten(world, age_ms, left):
    company_id = await given_up(world, b"1", b"2")
    world.now_ms += age_ms
    await world.put(company_id, 1, b"waits")
    await keeper(world).purge()

    assert len(await world.rows()) == left + 1


async def unconfirmed(world, name, count):
    """Messages that a mute receiver took."""
    mute = Receiver(lambda _: SILENT)
    async with serving(mute):
        company_id = await world.company(name, notify_host=mute.url)
        before = len(await world.rows())
        async with world.pushing(timeout_s=0.2, place_s=0.01):
            await world.put(company_id, 0, *(b"%d" % number for number in range(count)))
            await world.until_tried(1)
            world.move(1_000)
            for _ in range(500):
                if len([1 for _, attempts, parked in await world.rows() if parked]) == before + count:
                    return
                await asyncio.sleep(0.01)
    raise AssertionError(await world.rows())


@pytest.mark.parametrize(("kept", "left"), [(1, 1), (2, 2), (3, 3), (4, 3)])
async def test_unconfirmed_messages_are_kept_up_to_a_number_of_each_receiver_the_newest(world, kept, left):
    await unconfirmed(world, "ace", 3)
    await unconfirmed(world, "bee", 1)
    settings = config.Push(unconfirmed_kept=kept)
    purged = await Keeper(store=world.store, settings=settings, clock=lambda: world.now_ms).purge()

    assert (purged, [body for body, _, _ in await world.rows()]) == (3 - left, [*[b"0", b"1", b"2"][3 - left :], b"0"])


@pytest.mark.parametrize(("age_ms", "left"), [(2 * DAY_MS, 2), (2 * DAY_MS + 1, 0)])
async def test_unconfirmed_messages_are_forgotten_as_late_as_those_that_were_given_up(world, age_ms, left):
    await unconfirmed(world, "ace", 2)
    world.now_ms += age_ms
    await keeper(world).purge()

    assert len(await world.rows()) == left


async def test_m3_receivers_that_never_answer_and_their_messages_are_counted(world):
    await unconfirmed(world, "ace", 2)
    await keeper(world).count()

    assert (PUSHES_PARKED._value.get(), PUSHES_UNCONFIRMED._value.get(), PUSH_MUTE._value.get()) == (0, 2, 1)


async def test_messages_are_counted(world):
    counts = []

    async def count():
        await keeper(world).count()
        counts.append(tuple(int(each._value.get()) for each in (PUSHES_WAITING, PUSHES_PARKED, PUSH_OLDEST_SECONDS)))

    await count()
    company_id = await given_up(world, b"1", b"2")
    await count()
    await world.put(company_id, 1, b"3")
    world.now_ms += 90_000
    await world.put(company_id, 2, b"4")
    await count()

    assert counts == [(0, 0, 0), (0, 2, 0), (2, 2, 90)]
