"""Carrier lines over REST: every action's effect, what is refused, what happens once, and lifting a pause."""

import json

import pytest
from tests.support import lines, rest
from tests.support.lines import ACTIONS, IMEI, MDN

from tripline import observe
from tripline.domain import ids
from tripline.domain.access import Authority
from tripline.ports.carriers import CarrierRefusedError
from tripline.ports.outages import Outage
from tripline.services.lines import batches

NONE = {"id": ids.PLACEHOLDER}


def line_of(record):
    """What a record says of the line."""
    info = record.get("additionalInfo")
    plan = (info["subscription"], info["imsi"], info["iccid"]) if isinstance(info, dict) else None
    return record.get("mdn"), record.get("nwStatus"), plan


async def mounted(scene, sensor_id, number="1가1"):
    vehicle = await scene.app.post(scene.admin, "/vehicle", {"vehicleNo": number, "mileage": 1})
    await scene.app.post(scene.admin, f"/sensor/{sensor_id}/vehicle/{vehicle['id']['id']}")
    return vehicle["id"]["id"]


@pytest.fixture
async def scene(app):
    return await lines.scene(app)


async def test_opening_of_an_unknown_device_creates_its_sensor(scene):
    sensor_id = await scene.opened()
    record = await scene.sensor(sensor_id)
    found = await scene.app.get(scene.admin, "/sensor", mdn=MDN)
    company_id = scene.admin.company_id

    assert found == record
    assert line_of(record) == (MDN, "01", ("PLAN", "450081", "8982"))
    kept = ("id", "companyId", "serialNo", "credentialsId", "type", "status", "vehicleId")
    assert {name: record[name] for name in kept} == {
        "id": {"id": sensor_id},
        "companyId": {"id": company_id},
        "serialNo": IMEI,
        "credentialsId": None,
        "type": "OBD2",
        "status": "DEACTIVATED",
        "vehicleId": NONE,
    }


async def test_opening_by_service_type_belongs_to_its_operator(scene):
    sensor_id = await scene.opened(companyId=None, serviceType="ace", deviceType="GPS")
    record = await scene.sensor(sensor_id)

    assert (record["companyId"]["id"] == scene.admin.company_id, record["type"]) == (True, "GPS")


async def test_opening_of_a_registered_device_gives_it_a_line(scene):
    body = {"serialNo": IMEI, "type": "GPS", "credentialsId": "t" * 20}
    registered = await scene.app.post(scene.admin, "/sensor", body)
    vehicle_id = await mounted(scene, registered["id"]["id"])
    same = await scene.opened() == registered["id"]["id"]
    record = await scene.sensor(registered["id"]["id"])

    assert same is True
    assert line_of(record)[:2] == (MDN, "01")
    assert record["vehicleId"]["id"] == vehicle_id
    assert record["credentialsId"] == "t" * 20
    assert record["type"] == "GPS"


@pytest.mark.parametrize(
    ("said", "status", "code", "word"),
    [
        ({"imei": None}, 400, 31, "'imei' can't be empty"),
        ({"imei": "35-69"}, 400, 31, "'imei' must be"),
        ({"imei": 356938035643809}, 400, 31, "'imei' has the wrong type"),
        ({"mdn": None}, 400, 31, "'mdn' can't be empty"),
        ({"mdn": "010-1234"}, 400, 31, "'mdn' must be digits"),
        ({"type": None}, 400, 31, "'type' can't be empty"),
        ({"type": "REBIRTH"}, 400, 31, "'type' must be one of OPENING"),
        ({"companyId": None}, 400, 31, "'companyId' can't be empty"),
        ({"companyId": "x"}, 400, 31, "'companyId' must be a UUID"),
        ({"companyId": "ffffffff-a4ed-11f0-8000-010000000042"}, 404, 32, "'companyId'"),
        ({"companyId": None, "serviceType": "nobody's"}, 404, 32, "'serviceType'"),
        ({"serviceType": "other"}, 400, 31, "'serviceType' must be ace"),
        ({"iccid": "8" * 33}, 400, 31, "'iccid' must be"),
        ({"subscription": "p" * 256}, 400, 31, "'subscription' must have at most 255"),
        ({"occurredTime": -1}, 400, 31, "'occurredTime' must be between"),
    ],
)
async def test_opening_that_cannot_be_done_is_refused_by_field(scene, said, status, code, word):
    body = {"imei": IMEI, "companyId": scene.admin.company_id, **said}
    answer = await scene.app.refused(scene.carrier, "POST", ACTIONS, {**scene.action("OPENING"), **body})

    assert answer[:2] == (status, code)
    assert word in answer[2]


async def test_opening_of_a_taken_number_or_another_companys_device_is_refused(scene):
    await scene.opened()
    _, partner = await scene.app.partner(scene.admin, "p@p.example")
    company = {"companyId": partner.company_id}
    found = (
        await scene.refused("OPENING", imei="999", **company),
        await scene.refused("OPENING", mdn="01099999999", imei=IMEI, **company),
    )

    assert found == (
        (400, 31, f"Parameter 'mdn': the number {MDN} is the line of another device."),
        (400, 31, f"Parameter 'imei': a sensor with the serial number {IMEI} is another company's."),
    )


@pytest.mark.parametrize(("kind", "after"), [("USE", "02"), ("DORMANT", "03"), ("TERMINATION", "04")])
async def test_suspension_of_each_kind_is_written(scene, kind, after):
    sensor_id = await scene.opened()
    done = await scene.act("SUSPENSION", kind=kind)
    record = await scene.sensor(sensor_id)

    assert (done["nwStatus"], line_of(record), await scene.refused("SUSPENSION", kind="USE")) == (
        after,
        (MDN, after, ("PLAN", "450081", "8982")),
        (400, 30, f"The line has nwStatus {after}; suspension of use needs 01."),
    )


async def test_opening_makes_a_suspended_line_normal(scene):
    await scene.opened()
    await scene.act("SUSPENSION", kind="DORMANT")

    assert line_of(await scene.sensor(await scene.opened()))[:2] == (MDN, "01")


async def test_number_sim_and_plan_change_are_written(scene):
    sensor_id = await scene.opened()
    await scene.act("SIM_CHANGE", imsi="450082", iccid="8983")
    await scene.act("PLAN_CHANGE", subscription="OTHER")
    await scene.act("NUMBER_CHANGE", newMdn="01087654321")
    found = await scene.app.get(scene.admin, "/sensor", mdn="01087654321")
    gone = await scene.app.refused(scene.admin, "GET", "/sensor", mdn=MDN)

    assert found["id"]["id"] == sensor_id
    assert line_of(found) == ("01087654321", "01", ("OTHER", "450082", "8983"))
    assert gone[:2] == (404, 32)


async def test_number_change_to_a_taken_number_is_refused(scene):
    await scene.opened()
    await scene.opened(imei="999", mdn="01087654321")

    assert await scene.refused("NUMBER_CHANGE", newMdn="01087654321") == (
        400,
        31,
        "Parameter 'newMdn': the number 01087654321 is the line of another device.",
    )


@pytest.mark.parametrize("suspended", [False, True])
async def test_device_change_moves_mapping_owner_and_line(scene, suspended):
    state = "02" if suspended else "01"
    old = await scene.opened()
    vehicle_id = await mounted(scene, old)
    if suspended:
        await scene.act("SUSPENSION", kind="USE")
    scene.app.signals.told.clear()
    new = (await scene.act("DEVICE_CHANGE", newImei="111"))["sensor"]
    before, after = await scene.sensor(old), await scene.sensor(new)
    found = (
        (line_of(before)[:2], before["vehicleId"], before["status"]),
        (line_of(after), after["vehicleId"]["id"] == vehicle_id, after["status"], after["serialNo"]),
        after["companyId"] == before["companyId"],
        [told for told in scene.app.signals.told if told[0] == observe.SIGNAL_SENSOR_CHANGED]
        == [(observe.SIGNAL_SENSOR_CHANGED, each) for each in (old, new)],
        (observe.SIGNAL_PUSH_DUE, "") in scene.app.signals.told,
    )

    assert found == (
        ((None, "00"), NONE, "DEACTIVATED"),
        ((MDN, state, ("PLAN", "450081", "8982")), True, "ACTIVATED", "111"),
        True,
        True,
        True,
    )


async def test_device_change_to_a_device_in_use_is_refused(scene):
    await scene.opened()
    await scene.opened(imei="222", mdn="01022222222")
    body = {"serialNo": "333", "type": "GPS", "credentialsId": "t" * 20}
    await mounted(scene, (await scene.app.post(scene.admin, "/sensor", body))["id"]["id"])
    found = [(await scene.refused("DEVICE_CHANGE", newImei=imei))[:2] for imei in (IMEI, "222", "333")]

    assert found == [(400, 31)] * 3


async def test_owner_change_deletes_the_record_and_frees_number_and_device(scene):
    old = await scene.opened()
    vehicle_id = await mounted(scene, old)
    done = await scene.act("OWNER_CHANGE")
    gone = await scene.app.refused(scene.admin, "GET", f"/sensor/{old}")
    vehicle = await scene.app.get(scene.admin, f"/vehicle/{vehicle_id}")
    _, partner = await scene.app.partner(scene.admin, "p@p.example")
    new = await scene.opened(companyId=partner.company_id)
    found = done == {"sensor": old, "nwStatus": "00"}, gone[:2], vehicle["sensorCount"], new != old

    assert found == (True, (404, 32), 0, True)


@pytest.mark.parametrize(("kind", "after"), [("ORDINARY", "06"), ("AUTHORITY", "05")])
async def test_termination_empties_the_record_and_frees_the_number(scene, kind, after):
    told = {observe.SIGNAL_SENSOR_CHANGED, observe.SIGNAL_CREDENTIAL_ENDED, observe.SIGNAL_PUSH_DUE}
    body = {"serialNo": IMEI, "type": "GPS", "credentialsId": "t" * 20, "additionalInfo": "on the left"}
    await scene.app.post(scene.admin, "/sensor", body)
    sensor_id = await scene.opened()
    await mounted(scene, sensor_id)
    await scene.act("SUSPENSION", kind="TERMINATION")
    scene.app.signals.told.clear()
    done = await scene.act("TERMINATION", kind=kind)
    record = await scene.sensor(sensor_id)
    heard = {subject for subject, _ in scene.app.signals.told}
    again = await scene.opened(imei="444") != sensor_id

    assert done["nwStatus"] == after
    assert record["nwStatus"] == after
    assert record["mdn"] is None
    assert record["credentialsId"] is None
    assert record["vehicleId"] == NONE
    assert heard == told
    assert again is True


async def test_terminated_line_is_unknown_by_its_number(scene):
    await scene.opened()
    await scene.act("TERMINATION", kind="ORDINARY")

    assert await scene.refused("SUSPENSION", kind="USE") == (
        404,
        32,
        f"Parameter 'mdn': there is no line with the number {MDN}.",
    )


@pytest.mark.parametrize(
    ("type_", "missing"),
    [
        ("DEVICE_CHANGE", "newImei"),
        ("NUMBER_CHANGE", "newMdn"),
        ("SIM_CHANGE", "imsi"),
        ("TERMINATION", "kind"),
        ("SUSPENSION", "kind"),
        ("PLAN_CHANGE", "subscription"),
    ],
)
async def test_action_without_a_needed_field_is_refused_by_its_name(scene, type_, missing):
    assert await scene.refused(type_) == (400, 31, f"Parameter '{missing}' can't be empty!")


STATED = {"imei": IMEI, "imsi": "450081", "iccid": "8982", "subscription": "PLAN", "deviceType": "OBD2"}
OTHERS = {
    "imei": "1",
    "imsi": "2",
    "iccid": "3",
    "subscription": "4",
    "companyId": "11111111-1111-1111-8111-111111111111",
}
OTHERS |= {"serviceType": "x", "deviceType": "GPS", "newImei": "5", "newMdn": "010", "kind": "USE"}
NEEDS = {
    "DEVICE_CHANGE": {"newImei": "111", "deviceType": "OBD2"},
    "OWNER_CHANGE": {},
    "NUMBER_CHANGE": {"newMdn": "01087654321"},
    "SIM_CHANGE": {"imsi": "450082", "iccid": "8983"},
    "PLAN_CHANGE": {"subscription": "OTHER"},
    "SUSPENSION": {"kind": "USE"},
    "TERMINATION": {"kind": "ORDINARY"},
}


@pytest.mark.parametrize("type_", NEEDS)
async def test_what_an_action_does_not_need_is_as_recorded_or_refused_by_name(scene, type_):
    needs = NEEDS[type_]

    await scene.opened()
    others = {name: value for name, value in OTHERS.items() if name not in needs}
    refused = {name: await scene.refused(type_, **needs, **{name: value}) for name, value in others.items()}
    own = {"companyId": scene.admin.company_id.upper(), "serviceType": "ace"}
    stated = {name: value for name, value in {**STATED, **own}.items() if name not in needs}
    unset = dict.fromkeys(others.keys() - stated.keys())
    done = await scene.act(type_, **needs, **stated, **unset)

    assert {name: (status, code, message.split("'")[1]) for name, (status, code, message) in refused.items()} == {
        name: (400, 31, name) for name in refused
    }
    assert done["sensor"]


async def test_fields_of_an_action_beside_a_batch_are_refused_by_name(scene):
    batch = {"actions": [scene.action("OWNER_CHANGE")], "mdn": MDN}

    assert await scene.app.refused(scene.carrier, "POST", ACTIONS, batch) == (
        400,
        31,
        "Parameter 'mdn' must be inside each of the 'actions', not beside them.",
    )


async def test_batch_is_done_in_order_and_a_refused_one_does_not_stop_the_others(scene):
    actions = [
        scene.action("OPENING", imei=IMEI, companyId=scene.admin.company_id),
        scene.action("SUSPENSION", kind="USE"),
        scene.action("SUSPENSION", kind="DORMANT"),
        scene.action("PLAN_CHANGE"),
        scene.action("PLAN_CHANGE", subscription="NEW"),
    ]
    outcomes = (await scene.app.post(scene.carrier, ACTIONS, {"actions": actions}))["outcomes"]
    ids_told = [each["actionId"] for each in outcomes] == [each["actionId"] for each in actions]

    assert ids_told is True
    assert [(each["outcome"], each["nwStatus"], each.get("errorCode")) for each in outcomes] == [
        ("DONE", "01", None),
        ("DONE", "02", None),
        ("REFUSED", None, 30),
        ("REFUSED", None, 31),
        ("DONE", "02", None),
    ]


async def test_action_sent_twice_is_done_once_and_answered_alike(scene):
    same = "Parameter 'actionId': another action was sent with this id before; give this one its own."
    await scene.opened()
    suspension = scene.action("SUSPENSION", kind="USE")
    first = await scene.app.post(scene.carrier, ACTIONS, suspension)
    second = await scene.app.post(scene.carrier, ACTIONS, dict(reversed(suspension.items())))
    other = await scene.app.refused(scene.carrier, "POST", ACTIONS, {**suspension, "kind": "DORMANT"})

    assert (first == second, other, len(await scene.pushed())) == (True, (400, 30, same), 2)


async def test_refused_action_is_refused_alike_when_it_comes_again(scene):
    unknown = (404, 32, f"Parameter 'mdn': there is no line with the number {MDN}.")
    suspension = scene.action("SUSPENSION", kind="USE")
    first = await scene.app.refused(scene.carrier, "POST", ACTIONS, suspension)
    await scene.opened()

    assert (first, await scene.app.refused(scene.carrier, "POST", ACTIONS, suspension)) == (unknown, unknown)


async def test_same_id_of_two_carriers_is_two_actions(scene):
    await scene.opened()
    other = await scene.app.account("net@other.example", Authority.CARRIER)
    suspension = scene.action("SUSPENSION", kind="USE")
    await scene.app.post(scene.carrier, ACTIONS, suspension)

    assert (await scene.app.refused(other, "POST", ACTIONS, suspension))[:2] == (400, 30)


@pytest.mark.parametrize("size", [999, 1000, 1001])
async def test_batch_of_at_most_1000_is_taken(scene, size):
    batch = {"actions": [{"actionId": str(number)} for number in range(size)]}
    answer = await scene.app.call(scene.carrier, "POST", ACTIONS, batch)
    found = answer.status_code, len(answer.json().get("outcomes", [])), answer.json().get("errorCode")

    assert found == ((200, size, None) if size <= 1000 else (400, 0, 31))


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({}, "'actionId' can't be empty"),
        ({"actionId": ""}, "'actionId' can't be empty"),
        ({"actionId": "a" * 256}, "'actionId' must have at most 255"),
        ({"actionId": "a\n"}, "'actionId' must not contain control"),
        ({"actionId": 7}, "'actionId' has the wrong type"),
        ({"actions": []}, "'actions' can't be empty"),
        ({"actions": {}}, "'actions' has the wrong type"),
        ({"actions": [1]}, "'actions' has the wrong type"),
        ({"actions": [{"actionId": "1"}, {}]}, "'actionId' can't be empty"),
    ],
)
async def test_request_that_holds_no_actions_is_refused_whole(scene, body, word):
    answer = await scene.app.refused(scene.carrier, "POST", ACTIONS, body)

    assert answer[:2] == (400, 31)
    assert word in answer[2]


async def test_action_nested_to_any_depth_is_no_bug(scene):
    bodies = (b'{"actionId":"%d","x":%b1%b}' % (depth, b"[" * depth, b"]" * depth) for depth in range(880, 1010, 2))
    found = {(await scene.app.call(scene.carrier, "POST", ACTIONS, body)).status_code for body in bodies}

    assert found == {400}


async def test_carrier_may_do_nothing_else_and_nobody_else_may_act(app: rest.Rest, scene):
    app = scene.app
    root = await app.account("root@x.example", Authority.SYS_ADMIN)
    director = await app.person(scene.admin, Authority.DIRECTOR, "d")
    others = (None, root, scene.admin, director)
    forbidden = [(await app.refused(login, "POST", ACTIONS, {}))[:2] for login in others]
    reads = ("/company/me", "/sensors?limit=1", f"/sensor?mdn={MDN}", "/vehicle?vehicleNo=1")
    refused = [(await app.refused(scene.carrier, "GET", path))[0] for path in reads]

    assert forbidden == [(401, 10), (403, 20), (403, 20), (403, 20)]
    assert refused == [403, 403, 403, 403]
    assert (await scene.unpause(scene.carrier)).status_code == 403


async def test_g10_every_change_of_state_is_pushed_once_and_other_changes_are_not(scene):
    sensor_id = await scene.opened(occurredTime=1_735_689_602_000)
    vehicle_id = await mounted(scene, sensor_id)
    await scene.act("SIM_CHANGE", imsi="1", iccid="2")
    await scene.act("PLAN_CHANGE", subscription="P")
    await scene.act("SUSPENSION", kind="USE")
    assert (await scene.unpause()).status_code == 200
    await scene.act("TERMINATION", kind="ORDINARY")
    company = scene.admin.company_id
    receivers = {(receiver, sensor) for receiver, sensor, _ in await scene.pushed()}
    bodies = [json.loads(body) for _, _, body in await scene.pushed()]
    common = {"masterCompanyId": company, "companyId": company, "sensorId": sensor_id, "ty": "NWSTATUS"}
    expected = [
        {**common, "vehicleId": vehicle, "ts": ts, "pld": {"nwStatus": status}}
        for status, vehicle, ts in (
            ("01", ids.PLACEHOLDER, 1_735_689_602_000),
            ("02", vehicle_id, scene.app.now_ms),
            ("01", vehicle_id, scene.app.now_ms),
            ("06", vehicle_id, scene.app.now_ms),
        )
    ]
    once = receivers == {(company, sensor_id)}

    assert once
    assert bodies == expected


async def test_partners_change_is_pushed_to_the_operator_and_to_the_partner_that_asked(scene):
    asked = {"notifyHost": "http://p.example/", "notifyMsgType": [600]}
    _, loud = await scene.app.partner(scene.admin, "p@p.example", **asked)
    _, silent = await scene.app.partner(scene.admin, "q@q.example", notifyMsgType=600)
    await scene.opened(companyId=loud.company_id)
    await scene.opened(companyId=silent.company_id, imei="5", mdn="555")
    operator = scene.admin.company_id
    found = [receiver for receiver, _, _ in await scene.pushed()] == [operator, loud.company_id, operator]

    assert found


@pytest.mark.parametrize("family", ["carrier", "swing"])
async def test_g14_unpause_answers_the_sensor_with_status_01(scene, family):
    sensor_id = await scene.opened()
    await scene.act("SUSPENSION", kind="USE")
    answer = await scene.app.call(scene.admin, "POST", f"/api/tre/v1_4/{family}/unpause", {"mdn": MDN})
    found = answer.status_code, answer.json() == await scene.sensor(sensor_id), answer.json()["nwStatus"]

    assert found == (200, True, "01")


async def test_g15_unpause_errors_are_31_32_20_30(app: rest.Rest, scene):
    app = scene.app
    await scene.opened()
    _, other = await app.operator("other")
    _, partner = await app.partner(scene.admin, "p@p.example")
    director = await app.person(scene.admin, Authority.DIRECTOR, "d")
    granted = await app.account("granted@x.example", Authority.COMPANY_ADMIN)
    cases = [(scene.admin, {}), (scene.admin, {"mdn": ""}), (scene.admin, {"mdn": 1}), (scene.admin, {"mdn": "0"})]
    cases += [(login, {"mdn": MDN}) for login in (other, partner, director, granted, scene.admin)]
    cases += [(login, {}) for login in (director, granted)]
    found = [(await app.refused(login, "POST", lines.UNPAUSE, body))[:2] for login, body in cases]

    assert found == [(400, 31)] * 3 + [(404, 32)] + [(403, 20)] * 4 + [(400, 30)] + [(403, 20)] * 2


class Died(BaseException):
    """The program ends while the carrier is asked."""


class Carrier:
    """Answers as it is told, and keeps what it was asked."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def unpause(self, mdn, *, request_id):
        self.asked.append(request_id)
        answer = self.answers.pop(0)
        if answer is not None:
            raise answer


@pytest.fixture
def carrier():
    return Carrier()


@pytest.fixture
async def paused(tmp_path, monkeypatch, carrier):
    """A scene with a paused line at this carrier; nobody waits long for a busy line."""
    monkeypatch.setattr(batches, "PAUSES_S", (0.001, 0.001))
    async with rest.opened(tmp_path, carrier=carrier) as app:
        made = await lines.scene(app)
        await made.opened()
        await made.act("SUSPENSION", kind="USE")
        yield made


async def test_carriers_refusal_is_passed_on_clean_and_short(paused, carrier):
    carrier.answers = [CarrierRefusedError("unpaid\r\n\x1b[31m bills" + "!" * 300), None]
    refused, then = [await paused.unpause() for _ in range(2)]

    assert (refused.status_code, refused.json()["errorCode"], then.status_code) == (400, 30, 200)
    assert refused.json()["message"] == "The carrier refused: " + ("unpaid [31m bills" + "!" * 300)[:200]
    assert len(set(carrier.asked)) == 2


async def test_carrier_away_is_503_and_the_next_request_repeats_the_same_call(paused, carrier):
    carrier.answers = [Outage("away"), None]
    away, done = [await paused.unpause() for _ in range(2)]

    assert (away.status_code, away.json()["errorCode"], done.json()["nwStatus"]) == (503, 2, "01")
    assert len(await paused.pushed()) == 3
    assert len(carrier.asked) == 2
    assert len(set(carrier.asked)) == 1


async def test_suspension_after_a_lost_call_means_that_the_pause_had_been_lifted(paused, carrier):
    carrier.answers = [Outage("away")]
    await paused.unpause()
    suspended = await paused.act("SUSPENSION", kind="DORMANT")

    assert (suspended["nwStatus"], (await paused.unpause()).status_code) == ("03", 400)


async def test_claim_of_a_call_that_died_runs_out_and_the_call_is_completed(paused, carrier):
    carrier.answers = [Died(), None]
    with pytest.raises(Died):
        await paused.unpause()
    busy = await paused.unpause()
    paused.app.now_ms += 15_000

    assert (busy.status_code, busy.json()["errorCode"], (await paused.unpause()).json()["nwStatus"]) == (409, 2, "01")
    assert len(carrier.asked) == 2
    assert len(set(carrier.asked)) == 1


async def test_busy_line_refuses_an_action_without_keeping_it(paused, carrier):
    carrier.answers = [Died()]
    with pytest.raises(Died):
        await paused.unpause()
    number = paused.action("NUMBER_CHANGE", newMdn="01055555555")
    plan = paused.action("PLAN_CHANGE", subscription="B")
    batch = {"actions": [number, plan]}
    busy = (await paused.app.post(paused.carrier, ACTIONS, batch))["outcomes"]
    paused.app.now_ms += 15_000
    later = await paused.app.post(paused.carrier, ACTIONS, number)

    assert ([each["errorCode"] for each in busy], later["outcomes"][0]["outcome"]) == ([2, 2], "DONE")
