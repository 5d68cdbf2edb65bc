"""Sensors whose data comes over MQTT and over the bus, to processes that share a PostgreSQL database."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from tests.support import bus_messages, drives, ingest_rig
from tests.support.bus_rig import LATER, consumer_over, message
from tests.support.ingest_nodes import Node, nodes
from tests.support.ingest_rig import NOW, SENSOR, VEHICLE, FakeSource

from tripline.services.bus.messages import Outcome
from tripline.store import tables

WAITING_S = 10.0


@pytest.fixture
def pair() -> Iterator[list[Node]]:
    """A gateway, and a worker that reads the bus."""
    with nodes(2) as both:
        yield both


def deliver(node: Node, *bodies: Any) -> Outcome:
    node.now_ms = LATER
    consumer = consumer_over(node)
    outcome: Outcome = node.run(consumer.take_in([message(body) for body in bodies], now_ms=LATER))
    return outcome


def drive() -> list[dict[str, Any]]:
    return [json.loads(body) for body in drives.straight_trip(1, NOW, samples=12)]


def test_rule_4_14_sensor_that_sends_to_a_gateway_and_over_the_bus_keeps_one_trip(pair: list[Node]) -> None:
    gateway, worker = pair
    for at, body in enumerate(drive()):
        if at % 2:
            gateway.send(body, at=LATER)
        else:
            deliver(worker, body | {"sensorId": SENSOR})

    assert gateway.rows(tables.trip, "state", "source") == [("COMPLETE", "device")]
    assert len(gateway.rows(tables.microtrip)) == 12
    assert gateway.rows(tables.scoring_job, "trip_no") == gateway.rows(tables.trip, "no")


def test_rule_4_14_message_delivered_to_both_is_stored_once(pair: list[Node]) -> None:
    gateway, worker = pair
    gateway.send(*drive(), at=LATER)

    assert deliver(worker, *(body | {"sensorId": SENSOR} for body in drive())).counts == {"duplicate": 13}
    assert len(gateway.rows(tables.microtrip)) == 12
    assert len(gateway.rows(tables.trip)) == 1


def test_rule_4_14_both_at_the_same_time_share_a_trip(pair: list[Node]) -> None:
    gateway, worker = pair
    *samples, _ = drive()
    gateway.now_ms = worker.now_ms = LATER
    source = FakeSource(SENSOR)
    frames = [ingest_rig.frame(source, body, LATER) for body in samples[::2]]
    sent = [message(body | {"sensorId": SENSOR}) for body in samples[1::2]]

    async def both() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(gateway.pipeline.take_in(frames, now_ms=LATER))
            tasks.create_task(consumer_over(worker).take_in(sent, now_ms=LATER))

    gateway.run(both())

    assert gateway.rows(tables.trip, "state", "source") == [("OPEN", "device")]
    assert len(gateway.rows(tables.microtrip)) == 12


def vehicle_is_free(url: str, held: threading.Event) -> bool:
    """Keep the sensor's row, until somebody waits for it; whether that one has left the vehicle's row alone so far."""
    locked = "SELECT 1 FROM {} WHERE id = %s FOR NO KEY UPDATE SKIP LOCKED"
    with closing(psycopg.connect(url)) as holder, closing(psycopg.connect(url, autocommit=True)) as looking:
        holder.execute(locked.format("sensor"), (SENSOR,))
        held.set()
        deadline = time.monotonic() + WAITING_S
        while looking.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone() == (0,):
            assert time.monotonic() < deadline, "nobody wants the sensor's row"
        return holder.execute(locked.format("vehicle"), (VEHICLE,)).fetchall() == [(1,)]


def test_bus_batch_locks_the_sensor_before_the_vehicle_as_the_pipeline_does(pair: list[Node]) -> None:
    _, worker = pair
    worker.now_ms = LATER
    held = threading.Event()

    async def work() -> tuple[bool, Outcome]:
        async with asyncio.TaskGroup() as tasks:
            asked = tasks.create_task(asyncio.to_thread(vehicle_is_free, worker.url, held))
            await asyncio.to_thread(held.wait, WAITING_S)
            stored = await consumer_over(worker).take_in([message(bus_messages.microtrip())], now_ms=LATER)
        return asked.result(), stored

    is_free, stored = worker.run(work())

    assert is_free
    assert stored.counts == {"microtrip": 1}
