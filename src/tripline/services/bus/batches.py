"""A batch of customers' messages: open -> read -> admit -> place -> store, in one transaction.

The rows that a batch depends on are locked, in the order of `docs/locks.md`, before it is placed, so two workers may
have messages of one trip at the same time: the topics are independent of each other and have no keys. No state is
carried from one batch to the next. Devices' own messages go to the pipeline after the others are stored.

A failure outside the store is narrowed down to the message that causes it, which is set aside; the others proceed. Not
here: reading the bus (`consumer.py`, `maintenance/ingest.py`), the rules (`wire/bus/reader.py`, `placement.py`),
devices' own messages (`device_messages.py`).
"""

from collections import Counter
from collections.abc import Sequence
from datetime import tzinfo
from typing import Any, Final, NamedTuple

import msgspec

from tripline import metrics, observe
from tripline.domain import ids
from tripline.domain.access import Scope
from tripline.domain.ids import TimeIds
from tripline.domain.instants import DAY_MS
from tripline.ports.signals import Signals
from tripline.services import batch_tries, notifications
from tripline.services.batch_tries import Halves, Stale
from tripline.services.bus import device_messages, placement
from tripline.services.bus import messages as reading
from tripline.services.bus.device_messages import TakesFrames
from tripline.services.bus.messages import Headed, Message, Outcome, Read, Refused
from tripline.services.bus.placement import Admitted, LockedState, Placer, StoredReading
from tripline.services.ingest import notices as ingest_notices
from tripline.services.ingest import steps
from tripline.services.ingest.intake import BUS
from tripline.services.ingest.notices import Wanted, Wishes
from tripline.services.ingest.pipeline import LONG_BYTES
from tripline.services.ingest.rejected_log import Entry, Plan, RejectedLog
from tripline.services.ingest.steps import Steps
from tripline.services.live.position_keeper import PositionKeeper
from tripline.services.notifications import Notification
from tripline.services.own_thread import OwnThread
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


class _Portion(NamedTuple):
    """Messages to process together."""

    messages: Sequence[Message]
    now_ms: int


class _OpenMessage(NamedTuple):
    """A message with its opened envelope, or the reason it is unusable."""

    message: Message
    opened: Opened | Rejected


class _Known(NamedTuple):
    """Records that may be stored already: number -> payloads."""

    microtrips: dict[int, list[bytes]]
    events: dict[int, list[bytes]]


class _Stored(msgspec.Struct, frozen=True):
    """Results of a transaction."""

    counts: Counter[str]
    refused: list[Refused]
    notifications: list[Notification]
    unusable: Plan
    placed: Sequence[StoredReading]


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
        devices: TakesFrames,
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
        self._long_batches = OwnThread("long-batches")
        self.steps = Steps()
        """The current step of the batch."""

    async def take_in(self, batch: Sequence[Message], *, now_ms: int) -> Outcome:
        """Store the batch; storing it again changes nothing. Raises `Outage` if the store is down: then repeat the
        batch, since parts of it may be stored."""
        with self.steps.batch(BUS, (message.body for message in batch)):
            outcome = await batch_tries.narrowed_down(_Portion(batch, now_ms), self, store=self._store)
        if outcome.headed:
            # After the others: if an outage repeats the batch, they change nothing.
            of_devices = await device_messages.take_in(outcome.headed, intake=self._devices, now_ms=now_ms)
            self._report(of_devices, counted=True)
            outcome.add(of_devices)
        return outcome

    async def recover(self, portion: _Portion) -> None:
        """Skip row numbers in use."""
        self._ids.skip_to(await self._store.read(lambda tx: batch_rows.newest_no(tx, SCOPE)))

    def halves(self, portion: _Portion) -> Halves[_Portion] | None:
        """Split the messages in two, in order of receipt."""
        messages = batch_tries.in_halves(portion.messages)
        return messages and Halves(*(portion._replace(messages=half) for half in messages))

    async def set_aside(self, portion: _Portion, error: Exception) -> Outcome:
        """Store the single message in the rejected-message log."""
        outcome, now_ms = Outcome(), portion.now_ms
        if not portion.messages:
            raise error
        message = portion.messages[0]
        _log.error(
            "bus.message_failed",
            topic=message.topic,
            partition=message.partition,
            offset=message.offset,
            exc_info=error,
        )
        outcome.refused.append(Refused(message, bus_reasons.rejected(bus_reasons.INTERNAL, message.body)))
        await self._rejected.know(now_ms=now_ms)
        plan = await self._store.write(lambda tx: self._log_refused(tx, outcome.refused, {}, now_ms), locked=True)
        self._rejected.done(plan)
        self._report(outcome)
        return outcome

    async def through(self, portion: _Portion) -> Outcome:
        """Store messages that belong to customers' trips, and log unusable ones."""
        batch, now_ms = portion
        outcome = Outcome()
        self.steps.at(steps.DECODE)
        is_long = sum(len(message.body) for message in batch) > LONG_BYTES
        opened = await self._long_batches.run(_opened, batch) if is_long else _opened(batch)
        self.steps.at(steps.TRACKS)
        sensors = await self._sensors(opened)
        self.steps.at(steps.DECODE)
        read, run = self._read, self._long_batches.run
        reads = await run(read, opened, sensors, now_ms) if is_long else read(opened, sensors, now_ms)
        outcome.refused += [each for each in reads if isinstance(each, Refused)]
        outcome.headed += [each for each in reads if isinstance(each, Headed)]
        usable = [each for each in reads if isinstance(each, Read)]
        if usable or outcome.refused:
            await self._rejected.know(now_ms=now_ms)
            kept = await self._kept(usable, outcome.refused, sensors, now_ms)
            self._rejected.done(kept.unusable)
            outcome.counts += kept.counts
            outcome.refused += kept.refused
            notifications.send(self._signals, kept.notifications)
            self._note_positions(kept.placed)
        self._report(outcome)
        return outcome

    def _note_positions(self, placed: Sequence[StoredReading]) -> None:
        """Update the live positions from durable samples."""
        for told in placed:
            if isinstance(told.reading, Microtrip) and told.subject.vehicle_id is not None:
                self._positions.saw(
                    told.subject.sensor_id, told.subject.vehicle_id, told.reading.samples, told.reading.last_ms
                )

    async def _sensors(self, messages: Sequence[_OpenMessage]) -> dict[str, Sensor]:
        """The registered sensors that the messages refer to."""
        named = {each.opened.sensor_id for each in messages if isinstance(each.opened, Opened)}
        return await self._store.read(lambda tx: bus_facts.sensors(tx, SCOPE, named)) if named else {}

    def _read(
        self, messages: Sequence[_OpenMessage], sensors: dict[str, Sensor], now_ms: int
    ) -> list[Read | Headed | Refused]:
        found: list[Read | Headed | Refused] = []
        for message, each in messages:
            if isinstance(each, Rejected):
                found.append(Refused(message, each))
            elif each.sensor_id not in sensors:
                found.append(Refused(message, bus_reasons.rejected(bus_reasons.UNKNOWN_SENSOR, message.body)))
            elif each.of_device is not None:
                found.append(placement.headed(message, each, each.of_device, sensors[each.sensor_id]))
            else:
                found.append(
                    reading.read(
                        message,
                        each,
                        sensor_type=sensors[each.sensor_id].type,
                        zone=self._zone,
                        received_ms=now_ms,
                        max_items=self._max_items,
                    )
                )
        return found

    async def _kept(
        self, reads: Sequence[Read], refused: Sequence[Refused], sensors: dict[str, Sensor], now_ms: int
    ) -> _Stored:
        """Store the messages and refusals in one transaction, and return its results."""
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

        outage = "What the messages are about is changed all the time."
        return await batch_tries.while_stale(attempt, again, tries=TRIES, outage=outage)

    def _work(
        self, tx: WriteTx, reads: Sequence[Read], before: Sequence[Refused], wanted: dict[Any, Wanted], now_ms: int
    ) -> _Stored:
        """Place and store the batch, based on the current rows."""
        refused: list[Refused] = []
        sensors = bus_facts.sensors(tx, SCOPE, {read.opened.sensor_id for read in reads})
        messages = placement.admitted(reads, sensors, refused)
        self.steps.at(steps.LOCKS)
        locked = self._locked(tx, messages, sensors, now_ms)
        self.steps.at(steps.COMMIT)
        placer = Placer(locked, ids_=self._ids, grace_ms=self._grace_ms, now_ms=now_ms)
        placer.place(messages)
        refused += placer.refused
        bus_trips.change(tx, SCOPE, list(locked.trips.values()))
        bus_trips.MICROTRIPS.insert(tx, placer.microtrips)
        bus_trips.EVENTS.insert(tx, placer.events)
        bus_trips.driven_by(tx, SCOPE, placer.driven)
        batch_rows.write(tx, SCOPE, placer.rows)
        unusable = self._log_refused(tx, [*before, *refused], sensors, now_ms)
        told = [*notices.put(tx, _notices(placer, wanted, now_ms), ids=self._ids, now_ms=now_ms)]
        if placer.rows.jobs:
            told.append((observe.SIGNAL_SCORING_DUE, ""))
        return _Stored(placer.counts, refused, told, unusable, placer.told)

    def _locked(
        self, tx: WriteTx, messages: Sequence[Admitted], sensors: dict[str, Sensor], now_ms: int
    ) -> LockedState:
        """Lock and load the rows that placement depends on: trips, jobs, sensors, vehicles, people."""
        named = {message.trip_id for message in messages if message.trip_id is not None}
        trips = bus_trips.lock(tx, SCOPE, named)
        facts = bus_facts.load(
            tx,
            SCOPE,
            sensors=sensors,
            changed={message.sensor.id: message.sensor for message in messages if message.is_before_change}.values(),
            vehicle_ids=_not_none(
                *(message.read.opened.vehicle_id for message in messages), *(trip.vehicle_id for trip in trips.values())
            ),
            user_ids=_not_none(
                *(message.read.opened.user_id for message in messages), *(trip.user_id for trip in trips.values())
            ),
        )
        new = placement.new_trips(messages, trips, facts, ids_=self._ids, now_ms=now_ms)
        if new:
            bus_trips.make(tx, SCOPE, [value for values in new.values() for value in values])
            trips |= bus_trips.lock(tx, SCOPE, new)
        jobs = bus_trips.jobs(tx, SCOPE, [trip.no for trip in trips.values()])
        if not bus_facts.hold(tx, SCOPE, facts):
            raise Stale
        self.steps.at(steps.REDELIVERY)
        known = _known(tx, messages, trips)
        return LockedState(
            facts, trips, jobs, known.microtrips, known.events, lambda no: bus_trips.bounds(tx, SCOPE, no)
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


def _opened(batch: Sequence[Message]) -> list[_OpenMessage]:
    return [_OpenMessage(message, bus_reader.opened(message.body, topic_kind=message.kind)) for message in batch]


def _known(tx: WriteTx, messages: Sequence[Admitted], trips: dict[str, BusTrip]) -> _Known:
    of_microtrips: set[int] = set()
    of_events: set[int] = set()
    since_no = min((trip.no for trip in trips.values()), default=ids.first_no(0))
    for message in messages:
        for record in message.read.records:
            keys = {record.by_content} if record.by_name is None else {record.by_content, record.by_name}
            if isinstance(record.reading, Microtrip):
                of_microtrips |= keys
            elif isinstance(record.reading, DeviceEvent):
                of_events |= keys
    earliest = ids.first_no(ids.ms_of_no(since_no) - MARGIN_MS)
    return _Known(
        microtrips=bus_trips.microtrips(tx, SCOPE, of_microtrips, since_no=earliest) if of_microtrips else {},
        events=bus_trips.events(tx, SCOPE, of_events) if of_events else {},
    )


def _notices(placer: Placer, wanted: dict[Any, Wanted], now_ms: int) -> list[notices.Message]:
    """Pushes to customers' servers, as for device messages."""
    found: list[notices.Message] = []
    for told in placer.told:
        about = wanted.get(told.subject.company_id)
        if about is not None:
            found += ingest_notices.of_one(told.subject, told.reading, now_ms, about, told.subject.vehicle_id)
    return found


def _not_none(*found: str | None) -> set[str]:
    return {each for each in found if each is not None}
