"""The parts that receive data from devices and customers' systems, connected: gateway, pipeline, bus."""

import zoneinfo
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, TypeAlias, TypedDict

import msgspec

from tripline.config import Config
from tripline.config import bus as config_bus
from tripline.domain.ids import TimeIds
from tripline.gateway.listener import DeviceListener
from tripline.ports.clocks import Clock
from tripline.ports.signals import Signals
from tripline.services.bus.batches import BusBatches
from tripline.services.bus.consumer import BusConsumer
from tripline.services.bus.silence import Silence
from tripline.services.ingest.buffer import BufferIntake
from tripline.services.ingest.drain import Drain, Progress
from tripline.services.ingest.intake import Intake, StoredUntil
from tripline.services.ingest.pipeline import Pipeline
from tripline.services.live.position_keeper import PositionKeeper
from tripline.services.presence import PresenceKeeper
from tripline.store.fleet import sensors
from tripline.store.transactions import Crew, Store
from tripline.wiring.adapters import Adapters

Worker: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
"""Runs until it is cancelled."""


class Base(TypedDict):
    """Common dependencies of nearly every part."""

    store: Store
    ids: TimeIds
    signals: Signals
    clock: Clock


def of_devices(base: Base) -> Base:
    """The same, with the store for work that acknowledgements wait for."""
    return Base(store=base["store"].of(Crew.DEVICES), ids=base["ids"], signals=base["signals"], clock=base["clock"])


class Ingress(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a gateway."""

    intake: Intake | BufferIntake
    listener: DeviceListener


class Buffered(NamedTuple):
    """The parts that process frames from the bus."""

    intake: Intake
    drain: Drain


def buffered(config: Config, base: Base, others: Adapters, positions: PositionKeeper) -> Buffered | None:
    """The parts that process frames from the bus; None: gateways do not write to it."""
    if others.frames is None:
        return None
    progress = Progress(log=others.frames.log, store=base["store"])
    intake = pipeline_intake(config, base, positions, stored_until=progress.stored_until)
    drain = Drain(
        reader=others.frames.reader, progress=progress, intake=intake, clock=base["clock"], batch=config.bus.batch
    )
    return Buffered(intake, drain)


def pipeline_intake(
    config: Config, base: Base, positions: PositionKeeper, *, stored_until: StoredUntil | None = None
) -> Intake:
    """The intake of the pipeline. `stored_until`: returns the time up to which acknowledged frames are stored."""
    common: dict[str, Any] = {"store": base["store"], "settings": config.ingest, "signals": base["signals"]}
    pipeline = Pipeline(
        scoring_grace_s=config.scoring.grace_s,
        late_grace_s=config.bus.grace_s,
        max_items=config.devices.max_items,
        ids=base["ids"],
        positions=positions,
        **common,
    )
    return Intake(pipeline, clock=base["clock"], stored_until=stored_until, **common)


def ingress(
    config: Config, base: Base, others: Adapters, presence: PresenceKeeper, positions: PositionKeeper
) -> Ingress:
    """A gateway that feeds the pipeline, or the bus."""
    intake: Intake | BufferIntake
    if others.buffer is not None:
        intake = BufferIntake(others.buffer, topic=config.bus.buffer_topic, patience_s=config.bus.timeout_s)
    else:
        intake = pipeline_intake(config, base, positions)
    listener = DeviceListener(
        config=config.devices,
        intake=intake,
        presence=presence,
        admit=lambda credential: base["store"].read_short(lambda tx: sensors.holder_of(tx, credential)),
        ids=base["ids"],
        clock=base["clock"],
    )
    return Ingress(intake=intake, listener=listener)


def bus_batches(config: Config, base: Base, pipeline: Intake, positions: PositionKeeper) -> BusBatches:
    """The processor of batches of customers' messages, from the bus or from a file."""
    return BusBatches(
        store=base["store"],
        ids=base["ids"],
        signals=base["signals"],
        zone=zoneinfo.ZoneInfo(config.time_zone),
        grace_s=config.bus.grace_s,
        max_items=config.devices.max_items,
        devices=pipeline,
        log=pipeline.rejected,
        positions=positions,
    )


def bus_consumer(
    config: Config, base: Base, others: Adapters, pipeline: Intake | None, positions: PositionKeeper
) -> tuple[Worker, ...]:
    """The worker that ends silent trips, and with a bus the consumer of customers' messages."""
    store, signals, clock = base["store"], base["signals"], base["clock"]
    silence = Silence(store=store, settings=config.ingest, signals=signals, clock=clock)
    if others.customers is None or others.letters is None or pipeline is None:
        return (silence.run,)
    consumer = BusConsumer(
        reader=others.customers,
        writer=others.letters,
        batches=bus_batches(config, base, pipeline, positions),
        topics=config_bus.topics(config.bus),
        dead_letters=config.bus.dead_letters,
        clock=clock,
        most=config.bus.batch,
    )
    return silence.run, consumer.run
