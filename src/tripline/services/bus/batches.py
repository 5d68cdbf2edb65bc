"""A batch of customers' messages: open -> read -> admit -> place -> store, in one transaction.

The rows that a batch depends on are locked, in the order of `docs/locks.md`, before it is placed, so two workers may
have messages of one trip at the same time: the topics are independent of each other and have no keys. No state is
carried from one batch to the next. Devices' own messages go to the pipeline after the others are stored.

A failure outside the store is narrowed down to the message that causes it, which is set aside; the others proceed. Not
here: reading the bus (`consumer.py`, `maintenance/ingest.py`), the rules (`wire/bus/reader.py`, `placement.py`),
devices' own messages (`device_messages.py`).
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import tzinfo
from functools import partial
from typing import Any, Final, NamedTuple

from tripline import metrics, observe
from tripline.domain import ids
from tripline.domain.access import Scope
from tripline.domain.ids import TimeIds
from tripline.domain.instants import DAY_MS
from tripline.ports.signals import Signals
from tripline.services import batch_tries, notifications
from tripline.services.batch_tries import Stale
from tripline.services.bus import device_messages, placement
from tripline.services.bus import messages as bus_messages
from tripline.services.bus.messages import Message, Outcome, Read, Refused
from tripline.services.bus.placement import Admitted, LockedState, Placer, StoredReading
from tripline.services.ingest import notices as ingest_notices
from tripline.services.ingest import steps
from tripline.services.ingest.intake import BUS, Intake
from tripline.services.ingest.notices import Wanted, Wishes
from tripline.services.ingest.pipeline import LONG_BYTES
from tripline.services.ingest.rejected_log import Entry, Plan, RejectedLog
from tripline.services.ingest.steps import Steps
from tripline.services.live.position_keeper import PositionKeeper
from tripline.services.notifications import Notification
from tripline.services.push import notices
from tripline.store.bus import facts as bus_facts
from tripline.store.bus.facts import Sensor
from tripline.store.transactions import Store, WriteTx
from tripline.store.trips import batch_rows, bus_trips
from tripline.store.trips.bus_trips import BusTrip
from tripline.wire.bus import reader as bus_reader
from tripline.wire.bus import reasons as bus_reasons
from tripline.wire.bus.reader import Opened
from tripline.wire.readings import DeviceEvent, Microtrip, Rejected

SCOPE: Final = Scope.everything("take in what customers deliver over the bus")
TRIES: Final = 8
"""Most attempts to place a batch while others change the rows it depends on."""
MARGIN_MS: Final = DAY_MS
"""Margin for row numbers from processes with different clocks."""
_log = observe.logger("bus")


class _Stored(NamedTuple):
    placer: Placer
    notifications: list[Notification]
    unusable: Plan


class BusBatches:
    """Stores batches of customers' messages, one at a time."""

    def __init__(
        self,
        *,
        store: Store,
        ids: TimeIds,
        signals: Signals,
        zone: tzinfo,
        grace_s: float,
        max_items: int,
        devices: Intake,
        log: RejectedLog,
        positions: PositionKeeper,
    ) -> None:
        """`zone`: time zone of times as text; `grace_s`: delay from a trip message to its scoring; `devices`: receives
        devices' own messages; `log`: receives unusable messages; `positions`: receives vehicle positions."""
        self._store = store
        self._ids = ids
        self._signals = signals
        self._zone = zone
        self._grace_ms = round(grace_s * 1000)
        self._max_items = max_items
        self._wishes = Wishes(store, signals)
        self._devices = devices
        self._rejected = log
        self._positions = positions
        self._long_batches = ThreadPoolExecutor(1, thread_name_prefix="long-batches")
        self.steps = Steps()
        """The current step of the batch."""

    async def take_in(self, batch: Sequence[Message], *, now_ms: int) -> Outcome:
        """Store the batch; storing it again changes nothing. Raises `Outage` if the store is down: then repeat the
        batch, since parts of it may be stored."""
        with self.steps.batch(BUS, (message.body for message in batch)):
            outcome = await batch_tries.narrowed_down(
                batch,
                through=partial(self._through, now_ms=now_ms),
                recover=partial(batch_tries.skip_used_numbers, self._store, self._ids, SCOPE, now_ms=now_ms),
                set_aside=partial(self._set_aside, now_ms=now_ms),
                store=self._store,
            )
        if outcome.headed:
            # After the others: if an outage repeats the batch, they change nothing.
            of_devices = await device_messages.take_in(outcome.headed, intake=self._devices)
            self._report(of_devices, counted=True)
            outcome.add(of_devices)
        return outcome

    async def _set_aside(self, message: Message, error: Exception, *, now_ms: int) -> Outcome:
        _log.error(
            "bus.message_failed",
            topic=message.topic,
            partition=message.partition,
            offset=message.offset,
            exc_info=error,
        )
        outcome = Outcome(refused=[Refused.of(message, bus_reasons.INTERNAL)])
        await self._rejected.know(now_ms=now_ms)
        plan = await self._store.write(lambda tx: self._log_refused(tx, outcome.refused, {}, now_ms), locked=True)
        self._rejected.done(plan)
        self._report(outcome)
        return outcome

    async def _through(self, batch: Sequence[Message], *, now_ms: int) -> Outcome:
        """Store messages that belong to customers' trips, and log unusable ones."""
        outcome = Outcome()
        self.steps.at(steps.DECODE)
        is_long = sum(len(message.body) for message in batch) > LONG_BYTES
        run = partial(asyncio.get_running_loop().run_in_executor, self._long_batches)
        opened = await run(_opened, batch) if is_long else _opened(batch)
        self.steps.at(steps.TRACKS)
        named = {each.sensor_id for each in opened if isinstance(each, Opened)}
        sensors = await self._store.read(lambda tx: bus_facts.sensors(tx, SCOPE, named)) if named else {}
        self.steps.at(steps.DECODE)
        about = (batch, opened, sensors, outcome, now_ms)
        usable = await run(self._read, *about) if is_long else self._read(*about)
        if usable or outcome.refused:
            await self._rejected.know(now_ms=now_ms)
            stored = await self._kept(usable, outcome.refused, sensors, now_ms)
            self._rejected.done(stored.unusable)
            outcome.counts += stored.placer.counts
            outcome.refused += stored.placer.refused
            notifications.send(self._signals, stored.notifications)
            self._note_positions(stored.placer.told)
        self._report(outcome)
        return outcome

    def _note_positions(self, placed: Sequence[StoredReading]) -> None:
        for subject, reading in placed:
            if isinstance(reading, Microtrip) and subject.vehicle_id is not None:
                self._positions.saw(subject.sensor_id, subject.vehicle_id, reading.samples, reading.last_ms)

    def _read(
        self,
        batch: Sequence[Message],
        opened: Sequence[Opened | Rejected],
        sensors: dict[str, Sensor],
        outcome: Outcome,
        now_ms: int,
    ) -> list[Read]:
        """Return the messages that customers' trips get; add devices' own and unusable ones to the outcome."""
        read = partial(bus_messages.read, zone=self._zone, received_ms=now_ms, max_items=self._max_items)
        found: list[Read] = []
        for message, each in zip(batch, opened, strict=True):
            if isinstance(each, Rejected):
                outcome.refused.append(Refused(message, each))
            elif (sensor := sensors.get(each.sensor_id)) is None:
                outcome.refused.append(Refused.of(message, bus_reasons.UNKNOWN_SENSOR))
            elif each.of_device is None:
                found.append(read(message, each, sensor_type=sensor.type))
            elif placement.is_foreign(message, each, sensor):
                outcome.refused.append(Refused.of(message, bus_reasons.COMPANY))
            else:
                outcome.headed[device_messages.frame(sensor, each.of_device, now_ms)] = message
        return found

    async def _kept(
        self, reads: Sequence[Read], refused: Sequence[Refused], sensors: dict[str, Sensor], now_ms: int
    ) -> _Stored:
        companies = {each.company_id for each in sensors.values()}

        async def attempt(_: int) -> _Stored:
            self.steps.at(steps.PLACE)
            wanted = await self._wishes.of_companies(companies, now_ms=now_ms)

            def work(tx: WriteTx) -> _Stored:
                self.steps.at(steps.COMMIT)
                if self._wishes.stale:
                    raise Stale
                return self._work(tx, reads, refused, wanted, now_ms)

            self.steps.at(steps.COMMIT)
            with metrics.COMMIT_SECONDS.time():
                return await self._store.write(work, locked=True)

        async def again(_: int) -> None:
            self.steps.again()
            self._wishes.forget()

        outage = "Other processes keep changing the same trips."
        return await batch_tries.while_stale(attempt, again, tries=TRIES, outage=outage)

    def _work(
        self, tx: WriteTx, reads: Sequence[Read], before: Sequence[Refused], wanted: dict[Any, Wanted], now_ms: int
    ) -> _Stored:
        refused: list[Refused] = []
        sensors = bus_facts.sensors(tx, SCOPE, {read.opened.sensor_id for read in reads})
        messages = placement.admitted(reads, sensors, refused)
        self.steps.at(steps.LOCKS)
        locked = self._locked(tx, messages, sensors, now_ms)
        self.steps.at(steps.COMMIT)
        placer = Placer(locked, refused, ids_=self._ids, grace_ms=self._grace_ms, now_ms=now_ms)
        placer.place(messages)
        bus_trips.change(tx, SCOPE, list(locked.trips.values()))
        bus_trips.MICROTRIPS.insert(tx, placer.microtrips)
        bus_trips.EVENTS.insert(tx, placer.events)
        bus_trips.driven_by(tx, SCOPE, placer.driven)
        batch_rows.write(tx, SCOPE, placer.rows)
        unusable = self._log_refused(tx, [*before, *refused], sensors, now_ms)
        told = [*notices.put(tx, _notices(placer, wanted, now_ms), ids=self._ids, now_ms=now_ms)]
        if placer.rows.jobs:
            told.append((observe.SIGNAL_SCORING_DUE, ""))
        return _Stored(placer, told, unusable)

    def _locked(
        self, tx: WriteTx, messages: Sequence[Admitted], sensors: dict[str, Sensor], now_ms: int
    ) -> LockedState:
        """Lock and load the rows that placement depends on: trips, jobs, sensors, vehicles, people."""
        named = {message.trip_id for message in messages if message.trip_id is not None}
        trips = bus_trips.lock(tx, SCOPE, named)
        named_by: list[Opened | BusTrip] = [*(message.read.opened for message in messages), *trips.values()]
        facts = bus_facts.load(
            tx,
            SCOPE,
            sensors=sensors,
            changed={message.sensor.id: message.sensor for message in messages if message.is_before_change}.values(),
            vehicle_ids={each.vehicle_id for each in named_by},
            user_ids={each.user_id for each in named_by},
        )
        new = placement.new_trips(messages, trips, facts, ids_=self._ids, now_ms=now_ms)
        if new:
            bus_trips.make(tx, SCOPE, [value for values in new.values() for value in values])
            trips |= bus_trips.lock(tx, SCOPE, new)
        jobs = bus_trips.jobs(tx, SCOPE, [trip.no for trip in trips.values()])
        if not bus_facts.hold(tx, SCOPE, facts):
            raise Stale
        self.steps.at(steps.REDELIVERY)
        # Processes' clocks may differ by the margin.
        since_no = ids.first_no(ids.ms_of_no(min((trip.no for trip in trips.values()), default=0)) - MARGIN_MS)
        return LockedState(
            facts,
            trips,
            jobs,
            microtrips=bus_trips.microtrips(tx, SCOPE, _keys(messages, Microtrip), since_no=since_no),
            events=bus_trips.events(tx, SCOPE, _keys(messages, DeviceEvent)),
            bounds=lambda no: bus_trips.bounds(tx, SCOPE, no),
        )

    def _log_refused(self, tx: WriteTx, refused: Sequence[Refused], sensors: dict[str, Sensor], now_ms: int) -> Plan:
        """Add refused messages to the rejected-message log, with their origin on the bus."""
        entries: list[Entry] = []
        for each in refused:
            message, why = each.message, each.rejected
            owner = sensors.get(each.sensor_id) if each.sensor_id is not None else None
            company_id = message.company_id if owner is None else owner.company_id
            about = ("bus", each.sensor_id, company_id, message.topic, why.reason, why.detail, message.body)
            entries.append(Entry(*about, message.partition, message.offset))
        plan = self._rejected.plan(entries, now_ms=now_ms)
        plan.write(tx, self._ids)
        return plan

    def _report(self, outcome: Outcome, *, counted: bool = False) -> None:
        """Update metrics, and log one line per reason of refusal, with the origin of the first such message. `counted`:
        the reasons are already in the metrics."""
        for kind, count in outcome.counts.items():
            metrics.BUS_MESSAGES.labels(kind).inc(count)
        first: dict[str, Refused] = {}
        for each in outcome.refused:
            first.setdefault(each.rejected.reason, each)
        for reason, count in Counter(each.rejected.reason for each in outcome.refused).items():
            metrics.BUS_MESSAGES.labels("rejected").inc(count)
            if not counted:
                metrics.REJECTS.labels(reason).inc(count)
            message = first[reason].message
            _log.info(
                "bus.reject",
                reason=reason,
                count=count,
                topic=message.topic,
                partition=message.partition,
                offset=message.offset,
            )


def _opened(batch: Sequence[Message]) -> list[Opened | Rejected]:
    return [bus_reader.opened(message.body, topic_kind=message.kind) for message in batch]


def _keys(messages: Sequence[Admitted], kind: type[Microtrip | DeviceEvent]) -> set[int]:
    """The numbers under which records of this kind may be stored."""
    records = [record for message in messages for record in message.read.records if isinstance(record.reading, kind)]
    return {key for record in records for key in (record.by_content, record.by_name) if key is not None}


def _notices(placer: Placer, wanted: dict[Any, Wanted], now_ms: int) -> list[notices.Message]:
    """Pushes to customers' servers, as for device messages."""
    found: list[notices.Message] = []
    for subject, reading in placer.told:
        about = wanted.get(subject.company_id)
        if about is not None:
            found += ingest_notices.of_one(subject, reading, now_ms, about, subject.vehicle_id)
    return found
