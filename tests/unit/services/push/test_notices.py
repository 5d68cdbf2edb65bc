"""Messages in the outbox: one row for each receiver, with an id of its own, in the order of commits."""

import json

import pytest
from sqlalchemy import select, update
from tests.support import rest

from tripline.domain import pushes
from tripline.domain.ids import SensorId, TimeIds, VehicleId
from tripline.domain.lines import NwStatus
from tripline.services.push import notices
from tripline.services.push.notices import Subject
from tripline.store.push import outbox
from tripline.store.tables import company, push_outbox

SENSOR = SensorId("c4d91e60-c801-11ef-9d5c-6b1f6f2a4c11")
VEHICLE = VehicleId("d6022b90-c801-11ef-9d5c-6b1f6f2a4c11")
ASKED = {"notifyHost": "http://n.example/", "notifyMsgType": " 8 ,, 600 "}


async def kept(app):
    return await app.store.read(lambda tx: tx.all(select(push_outbox).order_by(push_outbox.c.no)))


def tell(app, company_id, status, ids=None):
    """Work that tells of a new state."""
    return lambda tx: notices.network_status(
        tx,
        subject=Subject(SENSOR, company_id, VEHICLE),
        status=status,
        at_ms=1_735_689_602_000,
        ids=ids or app.ids,
        now_ms=app.now_ms,
    )


async def test_notice_is_one_row_for_each_receiver(app: rest.Rest):
    _, operator = await app.operator("ace", **ASKED)
    _, partner = await app.partner(operator, "p@p.example", **ASKED)
    await app.store.write(tell(app, partner.company_id, NwStatus.NORMAL))
    operator, partner, rows, now_ms = operator.company_id, partner.company_id, await kept(app), app.now_ms

    envelope = {
        "masterCompanyId": operator,
        "companyId": partner,
        "sensorId": SENSOR,
        "vehicleId": VEHICLE,
        "ts": 1_735_689_602_000,
        "ty": "NWSTATUS",
        "pld": {"nwStatus": "01"},
    }
    assert [json.loads(row.body) for row in rows] == [envelope, envelope]
    told = [(row.company_id, row.sensor_id, row.selector, row.due_ms, row.attempts) for row in rows]
    assert told == [(company_id, SENSOR, 600, now_ms, 0) for company_id in (operator, partner)]
    assert len({row.id for row in rows}) == 2


async def test_company_that_asked_for_nothing_gets_no_row(app: rest.Rest):
    _, operator = await app.operator("ace", notifyHost="http://n.example/", notifyMsgType="0f")
    await app.store.write(tell(app, operator.company_id, NwStatus.NORMAL))

    assert await kept(app) == []


@pytest.mark.sqlite("programs beside each other without slots")
async def test_rows_are_in_the_order_of_commits_whatever_the_writers_clock_says(app: rest.Rest):
    _, operator = await app.operator("ace", **ASKED)
    ahead, behind = TimeIds(node=1), TimeIds(node=2)
    ahead.skip_to(ahead.take(1, now_ms=app.now_ms + 60_000))
    for ids, status in ((ahead, NwStatus.NORMAL), (behind, NwStatus.DORMANT), (ahead, NwStatus.ENDED)):
        await app.store.write(tell(app, operator.company_id, status, ids))

    assert [json.loads(row.body)["pld"]["nwStatus"] for row in await kept(app)] == ["01", "03", "06"]


async def test_wish_of_each_company_is_read_as_it_was_sent(app: rest.Rest):
    _, operator = await app.operator("ace", notifyMsgType=["7", 8])
    _, partner = await app.partner(operator, "p@p.example", **ASKED)
    cleared = update(company).where(company.c.id == operator.company_id).values(notify_host=None)
    await app.store.write(lambda tx: tx.run(cleared))
    read = await app.store.read(lambda tx: outbox.subscriptions(tx, partner.company_id))
    own = await app.store.read(lambda tx: outbox.subscriptions(tx, operator.company_id))
    operator, partner = operator.company_id, partner.company_id

    above = pushes.Subscription(operator, None, ["7", 8])
    assert read == (above, pushes.Subscription(partner, "http://n.example/", " 8 ,, 600 "))
    assert own == (above, above)
