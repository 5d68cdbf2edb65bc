"""Sending many messages again: in steps between which others write, and finished after whatever end."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from tests.support import stores
from tests.support.pushes import World

from tripline import config
from tripline.domain.ids import RowNo, no_of
from tripline.services.push import resender
from tripline.services.push.resender import Resender
from tripline.store.push import parked as push_parked
from tripline.store.push import queue as push_queue
from tripline.store.push.parked import Which
from tripline.store.push.queue import Result

COUNT = 40


@asynccontextmanager
async def world_of(folder):
    store = stores.Database(folder).open()
    try:
        yield World(store, config.Push())
    finally:
        await store.close()


async def given_up(world):
    """A company with messages that were given up; its id, and theirs."""
    company_id = await world.company("ace")
    ids = await world.put(company_id, 0, *[b"{}"] * COUNT)
    results = [Result(RowNo(no_of(each)), 3, world.now_ms, "HTTP status 404.") for each in ids]
    await world.store.write(lambda tx: push_queue.settle(tx, delivered=[], postponed=[], parked=results))
    return company_id, ids


def request(world, company_id, **which):
    chosen = Which(company_id=company_id, until_ms=world.now_ms, **which)
    return resender.resend(world.store, admit=lambda _: None, which=chosen, ids=world.ids, now_ms=world.now_ms)


def worker(world):
    return Resender(store=world.store, signals=world.signals, clock=lambda: world.now_ms, ids=world.ids)


async def all_by_worker(world, company_id, monkeypatch):
    """Have a request leave everything to a worker, which then does it."""
    with monkeypatch.context() as patch:
        patch.setattr(resender, "AT_ONCE_S", -1.0)
        assert (await request(world, company_id)).count == COUNT
    assert len(await world.parked()) == COUNT
    while await worker(world).go_on():
        pass


async def all_by_command(world):
    async for _ in resender.resend_all(world.store, which=Which(), ids=world.ids, now_ms=world.now_ms):
        pass


@pytest.mark.once("how writers of SQLite wait for each other")
@pytest.mark.parametrize("way", ["request", "worker", "command"])
async def test_other_writers_wait_for_one_step_at_most(tmp_path, monkeypatch, way):
    steps = 0
    put_in_line = push_parked.resend

    def counting(tx, numbers, **how):
        nonlocal steps
        steps += 1
        assert len(numbers) <= 2
        return put_in_line(tx, numbers, **how)

    monkeypatch.setattr(resender, "STEP", 2)
    monkeypatch.setattr(push_parked, "resend", counting)

    async with world_of(stores.fresh(tmp_path).folder) as world:
        company_id, _ = await given_up(world)
        waited = []

        async def others():
            while steps < COUNT // 2:
                before = steps
                await world.store.write(lambda _, before=before: waited.append(steps - before))

        how = {
            "request": lambda: request(world, company_id),
            "worker": lambda: all_by_worker(world, company_id, monkeypatch),
            "command": lambda: all_by_command(world),
        }
        await asyncio.gather(how[way](), others())
        parked = await world.parked()

    assert max(waited) == 1
    assert parked == []


def test_rest_of_a_request_is_finished_by_another_process(tmp_path, monkeypatch):
    monkeypatch.setattr(resender, "STEP", 4)
    monkeypatch.setattr(resender, "AT_ONCE", 12)
    folder = stores.fresh(tmp_path).folder

    async def asked():
        async with world_of(folder) as world:
            company_id, _ = await given_up(world)
            return (await request(world, company_id)).count, len(await world.parked())

    async def finished():
        async with world_of(folder) as world:
            running = asyncio.create_task(worker(world).run())
            try:
                await world.until([(b"{}", 0, False)] * COUNT)
            finally:
                running.cancel()
            return len(await world.rows())

    assert asyncio.run(asked()) == (COUNT, COUNT - 12)
    assert asyncio.run(finished()) == COUNT


async def test_two_at_once_send_each_message_again_once(tmp_path, monkeypatch):
    monkeypatch.setattr(resender, "STEP", 3)

    async with world_of(stores.fresh(tmp_path).folder) as world:
        company_id, ids = await given_up(world)
        counts = await asyncio.gather(*(request(world, company_id) for _ in range(3)), all_by_command(world))
        waiting = await world.store.read(push_parked.counts)
        counts = counts[:3]

    assert (waiting.waiting, waiting.parked) == (len(ids), 0)
    assert sum(each.count for each in counts) <= len(ids)


async def test_command_that_is_ended_leaves_in_line_what_it_has_done(tmp_path, monkeypatch):
    monkeypatch.setattr(resender, "STEP", 5)

    async with world_of(stores.fresh(tmp_path).folder) as world:
        await given_up(world)
        done = resender.resend_all(world.store, which=Which(), ids=world.ids, now_ms=world.now_ms)
        told = [(await anext(done)).count for _ in range(3)]
        await done.aclose()
        found = told, len(await world.parked())

    assert found == ([0, 5, 10], COUNT - 10)
