"""The history of a device's line, and the lines that a director sees."""

import pytest
from tests.support import delegating, lines, rest
from tests.support.lines import ACTIONS, MDN

from tripline.domain.ids import SensorId
from tripline.domain.refusals import Forbidden
from tripline.ports.carriers import CarrierRefusedError
from tripline.services.fleet import lists
from tripline.services.lines import pauses
from tripline.store.listing.lines import Filters
from tripline.store.listing.pages import PageRequest
from tripline.store.tables import line_change


def history(app, login, sensor_id, *, limit=10, before=None):
    return app.store.read(
        lambda tx: pauses.read(
            tx, actor=login.actor, sensor_id=SensorId(sensor_id), before=before, limit=limit, now_ms=app.now_ms
        )
    )


def listed(app, login):
    page_request = PageRequest(limit=10, by="serial")
    return app.store.read(
        lambda tx: lists.LINES.page(tx, actor=login.actor, filters=Filters(), page_request=page_request)
    )


def told(known):
    return [(each.type, each.nw_status.value, each.occurred_ms, each.refused) for each in known.changes]


async def test_what_became_of_a_line_is_kept_with_the_time_that_the_carrier_says(app: rest.Rest):
    scene = await lines.scene(app)
    sensor_id = await scene.opened()
    await scene.act("SUSPENSION", kind="USE", occurredTime=5_000)
    assert (await scene.refused("SUSPENSION", kind="USE"))[0] == 400
    assert (await scene.unpause()).status_code == 200
    await scene.act("NUMBER_CHANGE", newMdn="01087654321")
    known = await history(app, scene.admin, sensor_id)
    page = await history(app, scene.admin, sensor_id, limit=1, before=known.changes[1].no)

    assert told(known) == [
        ("NUMBER_CHANGE", "01", rest.NOW_MS, None),
        ("UNPAUSE", "01", rest.NOW_MS, None),
        ("SUSPENSION", "02", 5_000, None),
        ("OPENING", "01", rest.NOW_MS, None),
    ]
    assert {each.written_ms for each in known.changes} == {rest.NOW_MS}
    assert told(page) == told(known)[2:3]
    assert known.busy is False


class Unwilling:
    """Implements `ports.carriers.CarrierLines`: will not."""

    async def unpause(self, mdn, *, request_id):
        raise CarrierRefusedError("unpaid bill")


async def test_pause_that_the_carrier_does_not_lift_is_kept_with_its_words(tmp_path):
    async with rest.opened(tmp_path, carrier=Unwilling()) as app:
        scene = await lines.scene(app)
        sensor_id = await scene.opened()
        await scene.act("SUSPENSION", kind="USE")
        assert (await scene.unpause()).status_code == 400
        known = await history(app, scene.admin, sensor_id, limit=1)

    assert told(known) == [("UNPAUSE", "02", rest.NOW_MS, "unpaid bill")]


async def test_device_that_takes_over_a_line_and_the_one_that_had_it_both_tell_of_it(app: rest.Rest):
    scene = await lines.scene(app)
    old = await scene.opened()
    new = (await scene.act("DEVICE_CHANGE", newImei="356938035643817"))["sensor"]
    old, new = [told(await history(app, scene.admin, each)) for each in (old, new)]

    assert old[0] == ("DEVICE_CHANGE", "00", rest.NOW_MS, None)
    assert new == [("DEVICE_CHANGE", "01", rest.NOW_MS, None)]


async def test_changes_of_a_line_at_two_servers_in_one_millisecond_are_told_in_the_order_in_which_they_were_done(
    tmp_path,
):
    async with rest.two(tmp_path) as (here, there):
        scene = await lines.scene(here)
        sensor_id = await scene.opened()
        for server, plan in ((here, "A"), (there, "B")):
            two = [scene.action("PLAN_CHANGE", subscription=plan), scene.action("SIM_CHANGE", imsi="1", iccid="2")]
            await server.post(scene.carrier, ACTIONS, {"actions": two})
        await here.post(scene.carrier, ACTIONS, scene.action("SUSPENSION", kind="USE"))
        await there.post(scene.admin, lines.UNPAUSE, {"mdn": MDN})
        await here.post(scene.carrier, ACTIONS, scene.action("SUSPENSION", kind="DORMANT"))
        found = [each.type for each in (await history(there, scene.admin, sensor_id)).changes]

    assert found == ["OPENING", *["PLAN_CHANGE", "SIM_CHANGE"] * 2, "SUSPENSION", "UNPAUSE", "SUSPENSION"][::-1]


async def test_what_became_of_a_line_goes_with_its_device(app: rest.Rest):
    scene = await lines.scene(app)
    sensor_id = await scene.opened()
    before = await app.store.read(lambda tx: len(tx.all(line_change.select())))
    await app.delete(scene.admin, f"/sensor/{sensor_id}")

    assert (before, await app.store.read(lambda tx: tx.all(line_change.select()))) == (1, [])


@pytest.mark.parametrize(("who", "seen"), [("manager", [MDN]), ("idle", [])])
async def test_directors_see_the_lines_of_their_vehicles_devices(app: rest.Rest, who, seen):
    scene = await lines.scene(app)
    sensor_id = await scene.opened()
    vehicle = await delegating.new_vehicle(app, scene.admin)
    await app.post(scene.admin, f"/sensor/{sensor_id}/vehicle/{vehicle}")
    people = {name: await delegating.director(app, scene.admin, name) for name in ("manager", "idle")}
    await app.post(scene.admin, f"/vehicle/{vehicle}/director/{people['manager'].user_id}")
    found = await listed(app, people[who])
    if not seen:
        with pytest.raises(Forbidden):
            await history(app, people[who], sensor_id)

    assert [each.mdn for each in found.rows] == seen
