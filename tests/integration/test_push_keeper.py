"""What the keeper forgets and counts."""

import pytest
from tests.support.pushes import HOUR_MS, play
from tests.support.receivers import Receiver, Reply, serving, status

from tripline import config
from tripline.observe import PUSH_OLDEST_SECONDS, PUSHES_PARKED, PUSHES_WAITING
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
def test_what_was_given_up_long_ago_is_forgotten(tmp_path, age_ms, left):
    async def scenario(world):
        company_id = await given_up(world, b"1", b"2")
        world.now_ms += age_ms
        await world.put(company_id, 1, b"waits")
        await keeper(world).purge()
        return len(await world.rows())

    assert play(tmp_path, scenario) == left + 1


def test_messages_are_counted(tmp_path):
    async def scenario(world):
        counts = []

        async def count():
            await keeper(world).count()
            counts.append(
                tuple(int(each._value.get()) for each in (PUSHES_WAITING, PUSHES_PARKED, PUSH_OLDEST_SECONDS))
            )

        await count()
        company_id = await given_up(world, b"1", b"2")
        await count()
        await world.put(company_id, 1, b"3")
        world.now_ms += 90_000
        await world.put(company_id, 2, b"4")
        await count()
        return counts

    assert play(tmp_path, scenario) == [(0, 0, 0), (0, 2, 0), (2, 2, 90)]
