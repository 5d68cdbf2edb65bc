"""Devices' answers, through the pipeline into rows, latest values and the outbox: rules R1 to R8 of spec/rpc."""

import json
import tracemalloc

import msgspec
import pytest
from sqlalchemy import insert
from tests.support.ingest_rig import COMPANY, DRIVER, MINUTE, NOW, OTHER_VEHICLE, SENSOR, UNMAPPED, VEHICLE, Rig

from tripline import observe
from tripline.domain.ids import UserId, VehicleId
from tripline.domain.rpc import CallEvent
from tripline.services.rpc import activation, requests
from tripline.store import tables
from tripline.store.devices import latest_values
from tripline.store.rpc import activations as rpc_activations

RESPONSE = "v1/sensors/me/rpc/response/"
RESULT = "v1/sensors/me/rpc/result/"
CALL = tables.rpc_call


@pytest.fixture
def rig(tmp_path):
    with Rig.fresh(tmp_path) as opened:
        yield opened


def ask(rig, *, sensor=SENSOR, method="reset", onto=None):
    """A call that was just sent; of an activation, `onto` a vehicle."""

    def work(tx):
        what = {"user_id": UserId(DRIVER), "params": b"{}", "ack_ms": 20_000, "ids": rig.ids, "now_ms": rig.now_ms}
        method_of = "activationReq" if onto else method
        call = requests.insert(tx, sensor_id=sensor, method=method_of, activation_on=onto and VehicleId(onto), **what)
        if onto:
            rpc_activations.put(tx, call, VehicleId(onto), now_ms=rig.now_ms)
        return call

    return rig.run(rig.store.write(work))


def end(rig, call, event):
    return rig.run(
        rig.store.write(
            lambda tx: requests.end(tx, request_id=call.id, event=event, ids=rig.ids, now_ms=rig.now_ms + 20_000)
        )
    )


def ack(rig, call, body=None, *, sensor=SENSOR, at=None):
    return rig.send({"result": 2000} if body is None else body, topic=RESPONSE + call.id, sensor=sensor, at=at)


def result(rig, call, *bodies, sensor=SENSOR, at=None):
    return rig.send(*(bodies or ({"results": 2000},)), topic=RESULT + call.id, sensor=sensor, at=at)


def state(rig, *columns):
    return rig.rows(CALL, *(columns or ("state", "response_code", "result_code")))


def reasons(rig):
    return rig.rows(tables.rejected_message, "reason")


def mounted_on(rig, sensor=UNMAPPED):
    return dict(rig.rows(tables.sensor, "id", "vehicle_id"))[sensor]


def waiting(rig):
    return rig.rows(tables.activation, "call_id")


def test_acknowledgement_of_no_call_is_logged_and_acknowledged_r1(rig):
    source = rig.send({"result": 2000}, b"x", topic=RESPONSE + "6f1f3c10-c7a4-11ef-8a3e-5f0c5d2b9a71")
    rig.send({"result": 2000}, topic=RESULT + "17")

    assert source.settlements == [[1, 2]]
    assert reasons(rig) == ["unknown_call"] * 3


def test_answer_of_another_sensor_is_logged_and_changes_nothing_r2(rig):
    call = ask(rig)

    ack(rig, call, sensor=UNMAPPED)
    result(rig, call, sensor=UNMAPPED)

    assert state(rig) == [("REQUESTED", None, None)]
    assert reasons(rig) == ["unknown_call"] * 2


def test_acknowledgement_is_kept_as_sent_and_told_b3(rig):
    call = ask(rig)
    body = b'{ "results" : "2001" }'

    ack(rig, call, body, at=NOW + 5)

    assert state(rig, "state", "response", "response_ms", "response_code") == [("ACKED", body, NOW + 5, 2001)]
    assert (observe.SIGNAL_RPC_ANSWERED, call.id) in rig.signals.told


def test_second_acknowledgement_is_ignored_r3(rig):
    call = ask(rig)

    rig.send({"result": 2000}, {"result": 4000}, topic=RESPONSE + call.id)
    ack(rig, call, {"result": 4001})

    assert state(rig) == [("ACKED", 2000, None)]


def test_request_id_is_read_in_either_letter_case(rig):
    call = ask(rig)

    rig.send({"result": 2000}, topic=RESPONSE + call.id.upper())

    assert state(rig) == [("ACKED", 2000, None)]


def test_body_that_is_no_json_is_an_acknowledgement_without_a_code_b4(rig):
    call = ask(rig)

    ack(rig, call, b"OK")

    assert state(rig, "state", "response", "response_code") == [("ACKED", b"OK", None)]


def test_result_ends_the_call_and_is_pushed_twice(rig):
    rig.want([300])
    rig.change(tables.company, COMPANY, rpc_notify_host="receiver.example")
    call = ask(rig, method="serial")
    body = b'{"results":2000,  "additionalInfo":{"sn":"1"}}'

    ack(rig, call)
    result(rig, call, body, at=NOW + 9)

    assert state(rig, "state", "result", "result_ms", "result_code") == [("DONE", body, NOW + 9, 2000)]
    notice, verbatim = rig.rows(tables.push_outbox, "channel", "selector", "request_id", "method", "body")
    assert notice[:4] == ("notify", 300, call.id, "serial")
    assert b'"pld":' + body in notice[4]
    envelope = {"masterCompanyId": COMPANY, "companyId": COMPANY, "sensorId": SENSOR, "vehicleId": VEHICLE}
    envelope |= {"ts": NOW + 9, "ty": "RPC", "requestId": call.id}
    assert json.loads(notice[4]) == {**envelope, "pld": json.loads(body)}
    assert verbatim == ("rpc_notify", 300, call.id, "serial", body)
    assert (observe.SIGNAL_PUSH_DUE, "") in rig.signals.told


@pytest.mark.parametrize(("asked", "pushes"), [([300], 1), (["0f"], 0), ([2, 101], 0), (None, 0)])
def test_result_is_pushed_to_whom_asked_for_it(rig, asked, pushes):
    rig.want(asked)

    result(rig, ask(rig))

    assert len(rig.pushed()) == pushes


@pytest.mark.parametrize(("host", "pushes"), [(None, 0), ("", 0), ("  ", 0), ("receiver.example", 1)])
def test_result_is_pushed_verbatim_to_a_company_with_an_address_for_it(rig, host, pushes):
    rig.change(tables.company, COMPANY, rpc_notify_host=host)

    result(rig, ask(rig))

    assert len(rig.rows(tables.push_outbox, "channel")) == pushes


def test_result_that_is_no_json_is_pushed_as_text_b5(rig):
    rig.want([300])
    rig.change(tables.company, COMPANY, rpc_notify_host="receiver.example")

    result(rig, ask(rig), b"it works")

    assert state(rig) == [("FAILED", None, None)]
    notice, verbatim = rig.rows(tables.push_outbox, "body")
    assert (json.loads(notice)["pld"], verbatim) == ("it works", b"it works")


def test_second_result_is_history_and_pushed_when_it_differs_r4(rig):
    rig.want([300])
    call = ask(rig)

    for code in (2000, 2000, 4000, 2000, 4000):
        result(rig, call, {"results": code})

    assert state(rig) == [("DONE", None, 2000)]
    assert rig.rows(tables.rpc_later_result, "call_no", "code") == [
        (call.no, code) for code in (2000, 4000, 2000, 4000)
    ]
    assert [push["pld"]["results"] for push in rig.pushed()] == [2000, 4000]


def test_second_result_of_the_same_batch_is_history_r4(rig):
    rig.want([300])
    call = ask(rig)

    result(rig, call, {"results": 2000}, {"results": 4000}, {"results": 2000})

    assert state(rig) == [("DONE", None, 2000)]
    assert rig.rows(tables.rpc_later_result, "code") == [4000, 2000]
    assert [push["pld"]["results"] for push in rig.pushed()] == [2000, 4000]


@pytest.mark.parametrize("together", [True, False])
def test_first_result_with_a_code_counts_before_one_without_r4(rig, together):
    call = ask(rig)
    bodies = [{"ok": True}, {"results": 2000}]

    for batch in [bodies] if together else [[body] for body in bodies]:
        result(rig, call, *batch)

    assert state(rig) == [("DONE", None, 2000)]
    assert rig.rows(tables.rpc_later_result, "body") == [b'{"ok": true}']


def test_box_that_repeats_its_result_for_ever_fills_nothing(rig):
    call = ask(rig)

    result(rig, call, *[{"results": 2000, "n": n} for n in range(40)])

    assert len(rig.rows(tables.rpc_later_result, "no")) == 16


def test_box_that_repeats_its_result_for_ever_has_nothing_read_again(rig):
    """Else a few long results and then short ones, a hundred a second, would hold up everybody's messages."""
    call = ask(rig)
    result(rig, call, *[b'{"results":2000,"pad":"%s%02d"}' % (b"x" * 250_000, n) for n in range(20)])
    tracemalloc.start()
    try:
        result(rig, call, b"{}")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(rig.rows(tables.rpc_later_result, "no")) == 16
    assert peak < 1_000_000


def test_acknowledgement_after_the_time_out_is_kept_r5(rig):
    rig.want([300])
    call = ask(rig)

    end(rig, call, CallEvent.NO_ACK)
    ack(rig, call, at=NOW + MINUTE)
    timed_out = state(rig)
    result(rig, call)

    assert timed_out == [("TIMEOUT", 2000, 5001)]
    assert state(rig) == [("DONE", 2000, 2000)]
    assert [push["pld"] for push in rig.pushed()] == [{"result": 5001}, {"results": 2000}]


def test_result_that_overtakes_its_acknowledgement_is_matched_r6(rig):
    call = ask(rig)

    result(rig, call)
    without = state(rig)
    ack(rig, call)

    assert without == [("DONE", None, 2000)]
    assert state(rig) == [("DONE", 2000, 2000)]


def test_messagepack_result_is_kept_as_sent_and_pushed_as_json_r7(rig):
    rig.want([300])
    body = msgspec.msgpack.encode({"result": 2000})

    result(rig, ask(rig), body)

    assert state(rig, "state", "result") == [("DONE", body)]
    assert rig.pushed()[0]["pld"] == {"result": 2000}


def test_calls_of_one_sensor_are_independent_r8(rig):
    first, second = ask(rig), ask(rig)

    ack(rig, second)
    result(rig, first, {"results": 4000})
    ack(rig, first)
    result(rig, second)

    assert state(rig) == [("FAILED", 2000, 4000), ("DONE", 2000, 2000)]


def test_newest_result_is_a_latest_value_of_the_sensor_until_it_is_taken_off(rig):
    result(rig, ask(rig), {"results": 2000})
    result(rig, ask(rig), {"results": 4000})
    shown = rig.rows(tables.sensor_attribute, "name", "payload")
    rig.run(rig.store.write(lambda tx: latest_values.forget_of_vehicle(tx, SENSOR)))

    assert shown == [("rpc", b'{"results": 4000}')]
    assert rig.rows(tables.sensor_attribute, "name") == []


def test_result_of_a_call_on_another_vehicle_is_no_latest_value(rig):
    call = ask(rig)
    rig.change(tables.sensor, SENSOR, vehicle_id=OTHER_VEHICLE)

    result(rig, call)

    assert rig.rows(tables.sensor_attribute, "name") == []


def test_activation_is_mapped_with_its_result_and_pushed_after_it(rig):
    rig.want([300])
    call = ask(rig, sensor=UNMAPPED, onto=VEHICLE)

    ack(rig, call, sensor=UNMAPPED)
    before = mounted_on(rig)
    result(rig, call, sensor=UNMAPPED)

    assert (before, mounted_on(rig), waiting(rig)) == (None, VEHICLE, [])
    assert [(push["vehicleId"], push["requestId"]) for push in rig.pushed()] == [(VEHICLE, call.id)]
    assert rig.rows(tables.push_outbox, "method") == ["activationReq"]
    assert (observe.SIGNAL_SENSOR_CHANGED, UNMAPPED) in rig.signals.told


@pytest.mark.parametrize("said", [{"results": 4002}, {"ok": True}, b"no"])
def test_activation_that_fails_maps_nothing_and_is_pushed(rig, said):
    rig.want([300])
    call = ask(rig, sensor=UNMAPPED, onto=VEHICLE)

    result(rig, call, said, sensor=UNMAPPED)
    result(rig, call, sensor=UNMAPPED)

    assert (mounted_on(rig), waiting(rig)) == (None, [])
    assert rig.pushed()[0]["vehicleId"] != VEHICLE


def test_activation_that_is_refused_is_awaited_no_more(rig):
    call = ask(rig, sensor=UNMAPPED, onto=VEHICLE)

    ack(rig, call, {"results": 4001}, sensor=UNMAPPED)
    result(rig, call, sensor=UNMAPPED)

    assert (mounted_on(rig), waiting(rig)) == (None, [])


def test_superseded_activation_maps_nothing(rig):
    old, new = ask(rig, sensor=UNMAPPED, onto=VEHICLE), ask(rig, sensor=UNMAPPED, onto=OTHER_VEHICLE)

    result(rig, old, sensor=UNMAPPED)
    after_old = mounted_on(rig)
    result(rig, new, sensor=UNMAPPED)

    assert (after_old, mounted_on(rig)) == (None, OTHER_VEHICLE)
    assert state(rig, "state") == ["DONE", "DONE"]


def test_activation_that_was_cancelled_maps_nothing(rig):
    rig.want([300])
    call = ask(rig, sensor=UNMAPPED, onto=VEHICLE)

    rig.run(rig.store.write(lambda tx: activation.activation(tx, UNMAPPED, ids=rig.ids, now_ms=NOW)))
    result(rig, call, sensor=UNMAPPED)

    assert mounted_on(rig) is None
    assert [push["pld"] for push in rig.pushed()] == [{"result": 5003}, {"results": 2000}]


def test_activation_that_timed_out_is_still_awaited(rig):
    call = ask(rig, sensor=UNMAPPED, onto=VEHICLE)

    end(rig, call, CallEvent.NO_ACK)
    result(rig, call, sensor=UNMAPPED)

    assert mounted_on(rig) == VEHICLE


def test_activation_that_was_not_delivered_is_awaited_no_more(rig):
    call = ask(rig, sensor=UNMAPPED, onto=VEHICLE)

    end(rig, call, CallEvent.UNDELIVERABLE)

    assert (waiting(rig), state(rig, "state", "result_code")) == ([], [("FAILED", 5002)])


def test_activation_onto_the_vehicle_of_another_company_maps_nothing(rig):
    call = ask(rig, sensor=UNMAPPED, onto=VEHICLE)
    other = {"id": DRIVER, "master_id": DRIVER, "service_type": "other", "token_prefix": "OTHER", "master": True}
    other |= {"created_ms": 0, "name": "Other"}
    rig.run(rig.store.write(lambda tx: tx.run(insert(tables.company).values(other))))
    rig.change(tables.vehicle, VEHICLE, company_id=DRIVER)

    result(rig, call, sensor=UNMAPPED)

    assert (mounted_on(rig), waiting(rig)) == (None, [])


def test_activation_survives_a_restart(rig):
    call = ask(rig, sensor=UNMAPPED, onto=VEHICLE)
    ack(rig, call, sensor=UNMAPPED)

    rig.restart()
    result(rig, call, sensor=UNMAPPED)

    assert mounted_on(rig) == VEHICLE
