"""The cursor of live positions beside slow writers: numbers appear in the order of commits, so nothing is missed."""

import asyncio
import threading

from tests.support import ingest_rig
from tests.support.ingest_nodes import nodes
from tests.support.ingest_rig import NOW, OTHER_VEHICLE, SENSOR, UNMAPPED, VEHICLE

from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId
from tripline.store import positions

SCOPE = Scope.everything("look at every position")
HELD_S = 0.3


def given(vehicle_id: str, sensor_id: str) -> tuple:
    return (vehicle_id, NOW, 35.0, 129.0, 50.0, None, False, None, sensor_id)


def test_reader_between_two_interleaved_transactions_misses_neither():
    """The first takes its number and is slow; a second that could commit before it with a greater one would hide it."""
    began, let_go = threading.Event(), threading.Event()

    def slow(tx):
        positions.write(tx, given(VEHICLE, SENSOR))
        began.set()
        assert let_go.wait(30)

    async def scenario(first, second):
        seen, since_no = [], 0

        async def look():
            nonlocal since_no

            def read(tx):
                company_id = CompanyId(ingest_rig.COMPANY)
                return positions.now_no(tx), positions.changed(
                    tx, SCOPE, company_id, since_no=since_no, after="", limit=9
                )

            now_no, found = await second.store.read(read)
            seen.append([each.vehicle_id for each in found if each.position is not None])
            since_no = now_no

        async with asyncio.TaskGroup() as tasks:
            behind = tasks.create_task(first.store.write(slow, locked=True))
            await asyncio.to_thread(began.wait, 30)
            fast = tasks.create_task(
                second.store.write(lambda tx: positions.write(tx, given(OTHER_VEHICLE, UNMAPPED)), locked=True)
            )
            await asyncio.sleep(HELD_S)
            overtook = fast.done()
            await look()
            let_go.set()
            await behind
            await look()
            await fast
            await look()
        return overtook, seen

    with nodes(2) as (first, second):
        overtook, seen = asyncio.run(scenario(first, second))

    assert overtook is False
    assert sorted(vehicle for some in seen for vehicle in some) == sorted([VEHICLE, OTHER_VEHICLE])
    assert seen[0] == []
