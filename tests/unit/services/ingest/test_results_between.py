"""A result between messages: what follows it belongs where it put the device; a bad one costs itself alone."""

import asyncio
import json

import pytest
from prometheus_client import REGISTRY
from tests.support import stores
from tests.support.ingest_rig import COMPANY, NOW, OTHER_VEHICLE, SENSOR, TOPIC, UNMAPPED, FakeSource, Rig, microtrip

from tripline.domain import rpc
from tripline.domain.ids import CompanyId, RequestId, VehicleId
from tripline.domain.rpc import Call
from tripline.store import tables
from tripline.store.rpc import activations as rpc_activations
from tripline.store.rpc import calls as rpc_calls
from tripline.wire import topics

DONE = b'{"result":2000}'


def activation(rig: Rig) -> RequestId:
    """An activation of the sensor without a vehicle that was acknowledged."""
    no = rig.ids.take(1, now_ms=NOW)
    call = Call(
        no=no,
        id=RequestId(rig.ids.text(no)),
        sensor_id=UNMAPPED,
        company_id=CompanyId(COMPANY),
        vehicle_id=VehicleId(OTHER_VEHICLE),
        user_id=None,
        activation=True,
        method="activationReq",
        state=rpc.State.ACKED,
        deadline_ms=NOW,
    )

    def keep(tx):
        rpc_calls.insert_new(tx, call, b"{}")
        rpc_activations.put(tx, call, VehicleId(OTHER_VEHICLE), now_ms=NOW)

    rig.run(rig.store.write(keep))
    return call.id


def offered(rig: Rig, *sent: tuple[FakeSource, str, bytes]) -> None:
    """Offer messages to an intake in one go, and wait until all are taken in."""

    async def work() -> None:
        intake = rig.intake()
        for token, (source, topic, body) in enumerate(sent, 1):
            intake.offer(source, topic, body, NOW, token)
        intake.stop()
        async with asyncio.timeout(20):
            await intake.run()

    rig.run(work())


def body(at: int) -> bytes:
    return json.dumps(microtrip(at)).encode()


def test_what_follows_a_result_in_one_batch_is_placed_on_the_vehicle_that_it_gave(rig: Rig) -> None:
    request_id = activation(rig)
    rig.want("2,300")
    ours, others = FakeSource(UNMAPPED), FakeSource(SENSOR)

    offered(
        rig,
        (ours, TOPIC, body(NOW)),
        (ours, topics.RPC_RESULT + request_id, DONE),
        (others, TOPIC, body(NOW)),
        (ours, TOPIC, body(NOW + 1000)),
        (ours, TOPIC, body(NOW + 2000)),
    )

    trips = rig.rows(tables.trip, "sensor_id", "vehicle_id", "state")
    assert [trip[1:] for trip in trips if trip[0] == UNMAPPED] == [(None, "LAPSED"), (OTHER_VEHICLE, "OPEN")]
    assert ours.settlements == [[1, 2], [4, 5]]
    assert others.settlements == [[3]]
    pushed = [(message["ty"], message["vehicleId"]) for message in rig.pushed() if message["sensorId"] == UNMAPPED]
    assert [name for name, _ in pushed] == ["MICROTRIP", "RPC", "MICROTRIP", "MICROTRIP"]
    assert [vehicle_id for _, vehicle_id in pushed][2:] == [OTHER_VEHICLE] * 2


def test_r2_result_of_another_devices_call_maps_nothing_and_is_logged(rig: Rig, capsys) -> None:
    request_id = activation(rig)
    before = REGISTRY.get_sample_value("tripline_ingest_rejected_total", {"reason": "unknown_call"}) or 0
    source = FakeSource(SENSOR)

    offered(rig, (source, topics.RPC_RESULT + request_id, DONE), (source, topics.RPC_RESPONSE + "x", b"{}"))

    assert rig.rows(tables.rejected_message, "sensor_id", "reason", "body") == [
        (SENSOR, "unknown_call", DONE),
        (SENSOR, "unknown_call", b"{}"),
    ]
    assert REGISTRY.get_sample_value("tripline_ingest_rejected_total", {"reason": "unknown_call"}) == before + 2
    assert "ingest.reject" in capsys.readouterr().out
    assert source.settlements == [[1, 2]]
    assert rig.rows(tables.sensor, "vehicle_id")[1] is None


@pytest.mark.parametrize("place", [0, 1, 2])
def test_poisonous_answer_costs_itself_and_nothing_else(rig: Rig, place: int) -> None:
    request_id = activation(rig)
    rig.run(rig.store.write(lambda tx: stores.spoil(tx, "UPDATE ON rpc_call")))
    source, others = FakeSource(UNMAPPED), FakeSource(SENSOR)
    sent = [(others, TOPIC, body(NOW)), (others, TOPIC, body(NOW + 1))]
    sent.insert(place, (source, topics.RPC_RESULT + request_id, DONE))

    offered(rig, *sent)

    assert rig.rows(tables.rejected_message, "sensor_id", "reason", "body") == [(UNMAPPED, "internal", DONE)]
    assert source.settlements == [[place + 1]]
    assert len(rig.rows(tables.microtrip)) == 2
    assert sorted(token for tokens in others.settlements for token in tokens) == sorted({1, 2, 3} - {place + 1})
