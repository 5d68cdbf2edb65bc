"""Somebody loses the permission, or the account, while a device is asked: its answer is not for that person."""

import pytest
from tests.support import delegating, ingest_rig, rest

from tripline.ports.devices import Delivery
from tripline.services import notifications
from tripline.services.rpc import answers
from tripline.wire.readings import RpcAnswer

ANSWER = b'{"result":2000,"where":"here"}'
TWOWAY = "/api/plugins/rpc/twoway/"


class Asked:
    """Implements `ports.devices.Devices`: something happens before the device answers."""

    def __init__(self):
        self.app = None
        self.first = None

    async def send(self, sensor_id, topic, body):
        """Do what happens first, then acknowledge."""
        if self.first is not None:
            await self.first()
        app = self.app
        said = RpcAnswer(is_result=False, request_id=topic.rpartition("/")[2], body=ANSWER)
        taken = await app.store.write(
            lambda tx: answers.take_in(
                tx, [ingest_rig.answered(sensor_id, said, app.now_ms, topic)], ids=app.ids, now_ms=app.now_ms
            )
        )
        notifications.send(app.signals, taken.notifications)
        return Delivery.SENT


async def delegated(app, *, needs_activation=False):
    """Companies, a vehicle of the owner that is delegated to the borrower, and its sensor."""
    of = await delegating.companies(app)
    vehicle = await delegating.new_vehicle(app, of.owner)
    await delegating.register(app, of.owner, of.borrower)
    await delegating.delegate(app, of.owner, of.borrower, vehicle)
    need = {"type": "OBD", "activationRequired": needs_activation}
    on = None if needs_activation else vehicle
    return of, vehicle, await delegating.new_sensor(app, of.owner, on=on, **need)


@pytest.mark.parametrize(
    ("what", "outcome"),
    [("nothing", (200, None)), ("delegation", (403, 20)), ("account", (401, 10)), ("right", (403, 20))],
)
async def test_acknowledgement_is_for_those_who_may_still_call(tmp_path, what, outcome):
    device = Asked()

    async with rest.opened(tmp_path, devices=device) as app:
        device.app = app
        of, vehicle, sensor = await delegated(app)
        person = await delegating.director(app, of.borrower, "han")
        await delegating.give(app, of.borrower, person, vehicle)

        async def delegation():
            await delegating.take_back(app, of.owner, of.borrower, vehicle)

        async def account():
            await app.delete(of.borrower, f"/director/{person.user_id}")

        async def right():
            answer = await app.call(of.borrower, "DELETE", f"{delegating.rights(person, drive=False)}/{vehicle}")
            assert answer.status_code == 200

        device.first = {"nothing": None, "delegation": delegation, "account": account, "right": right}[what]
        answer = await app.call(person, "POST", TWOWAY + sensor, {"method": "where"})
        status, code, told = answer.status_code, answer.json().get("errorCode"), "here" in answer.text

    assert (status, code) == outcome
    assert told is (what == "nothing")


async def test_answer_of_an_activation_is_not_for_an_account_that_is_gone(tmp_path):
    device = Asked()

    async with rest.opened(tmp_path, devices=device) as app:
        device.app = app
        of, vehicle, sensor = await delegated(app, needs_activation=True)
        body = {"name": "Second", "email": "second@owner.example", "phone": "010", "password": "pass phrase"}
        path = f"/company/{of.owner.company_id}/admin"
        made = await app.post(of.owner, path, body)
        second = await app.login(made["id"]["id"], body["email"], of.owner.authority, of.owner.company_id)

        async def leave():
            await app.delete(of.owner, f"{path}/{second.user_id}")

        device.first = leave
        answer = await app.call(second, "POST", f"/sensor/{sensor}/vehicle/{vehicle}")
        found = answer.status_code, answer.json().get("errorCode"), "here" in answer.text

    assert found == (401, 10, False)
