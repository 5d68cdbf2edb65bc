"""A batch of customers' messages: open -> read -> admit -> place -> keep, all of it in one transaction.

The rows that a batch depends on are locked, in the order of `docs/locks.md`, before anything is decided, so two workers
may have messages of one trip at the same time: the topics are independent of each other and have no keys. Nothing is
remembered from one batch to the next. Devices' own messages go on to the pipeline, when the others are kept.

What fails without being the store's fault is narrowed down to the message that causes it, which is set aside; the
others go on. Not here: where messages come from (`door.py`, `chores/ingest.py`), the rules (`wire/bus_read.py`,
`placing.py`), devices' own messages (`headed.py`).
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, Final

from tripline import observe
from tripline.domain import ids
from tripline.domain.access import Scope
from tripline.domain.ids import TimeIds
from tripline.ports import Outage, Signals
from tripline.services import hints
from tripline.services.bus import headed, placing
from tripline.services.bus import messages as reading
from tripline.services.bus.headed import TakesFrames
from tripline.services.bus.messages import Headed, Message, Outcome, Read, Refused
from tripline.services.bus.placing import Admitted, Ground, Placer
from tripline.services.hints import Hint
from tripline.services.ingest import pushing, steps
from tripline.services.ingest.intake import BUS
from tripline.services.ingest.pipeline import LONG_BYTES
from tripline.services.ingest.pushing import Wanted, Wishes
from tripline.services.ingest.rejecting import Entry, Plan, RejectedLog
from tripline.services.ingest.steps import Steps
from tripline.services.push import notices
from tripline.store import bus_facts, bus_records, bus_trips, driving
from tripline.store.bus_facts import Sensor
from tripline.store.bus_trips import BusTrip
from tripline.store.transactions import Store, WriteTx
from tripline.wire import bus_read, bus_reasons
from tripline.wire.bus_read import Opened
from tripline.wire.readings import Event, Microtrip, Rejected

SCOPE: Final = Scope.everything("take in what customers deliver over the bus")
TRIES: Final = 8
"""How often a batch is placed anew because what it depends on was changed meanwhile."""
_DAY_MS: Final = 86_400_000
"""Row numbers of several processes may differ by their clocks."""
_log = observe.logger("bus")


class _Stale(Exception):  # noqa: N818  a state of the world: read again
    """Somebody changed what the batch was placed by."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """What a transaction did."""

    counts: Counter[str]
    refused: list[Refused]
    hints: list[Hint]
    unusable: Plan


class BusBatches:
    """Takes batches of customers' messages in, one at a time."""

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
    ) -> None:
        """`zone` is that of times as text; `grace_s` the wait between a trip message and its scoring; `devices` takes
        in messages that are a device's own; `log` is where messages go that cannot be used."""
        self._store = store
        self._ids = ids
        self._signals = signals
        self._zone = zone
        self._grace_ms = round(grace_s * 1000)
        self._max_items = max_items
        self._wishes = Wishes(store, signals)
        self._devices = devices
        self._rejected = log
        self.steps = Steps()
        """What the batch under way is at."""

    async def take_in(self, batch: Sequence[Message], *, now_ms: int) -> Outcome:
        """Store the batch; taken in again it changes nothing. Raises `Outage` when the store is away: then it is to be
        taken in again, for some of it may be kept."""
        with self.steps.batch(BUS, messages=len(batch), size=sum(len(message.body) for message in batch)):
            outcome = await self._taken(batch, now_ms)
        if outcome.headed:
            # Behind the others, which change nothing when an outage has them come again.
            of_devices = await headed.take_in(outcome.headed, door=self._devices, now_ms=now_ms)
            self._report(of_devices, counted=True)
            outcome.add(of_devices)
        return outcome

    async def _taken(self, batch: Sequence[Message], now_ms: int) -> Outcome:
        """What has a place among the customers' trips is kept, and what cannot be used is in the log."""
        try:
            return await self._through(batch, now_ms)
        except Outage:
            raise
        except Exception:  # noqa: BLE001  a second try tells what the clock or another process did
            self._ids.skip_to(await self._store.read(lambda tx: driving.newest_no(tx, SCOPE)))
        try:
            return await self._through(batch, now_ms)
        except Outage:
            raise
        except Exception as error:  # noqa: BLE001  one message must not hold up the others
            return await self._narrowed_down(batch, now_ms, error)

    async def _narrowed_down(self, batch: Sequence[Message], now_ms: int, error: Exception) -> Outcome:
        """Take the halves in; set the one bad message aside."""
        outcome = Outcome()
        if len(batch) > 1:
            half = len(batch) // 2
            outcome.add(await self._taken(batch[:half], now_ms))
            outcome.add(await self._taken(batch[half:], now_ms))
            return outcome
        message = batch[0]
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

    async def _through(self, batch: Sequence[Message], now_ms: int) -> Outcome:
        outcome = Outcome()
        self.steps.at(steps.DECODE)
        is_long = sum(len(message.body) for message in batch) > LONG_BYTES
        opened = await asyncio.to_thread(_opened, batch) if is_long else _opened(batch)
        self.steps.at(steps.TRACKS)
        sensors = await self._sensors(opened)
        self.steps.at(steps.DECODE)
        read = self._read
        reads = await asyncio.to_thread(read, opened, sensors, now_ms) if is_long else read(opened, sensors, now_ms)
        outcome.refused += [each for each in reads if isinstance(each, Refused)]
        outcome.headed += [each for each in reads if isinstance(each, Headed)]
        usable = [each for each in reads if isinstance(each, Read)]
        if usable or outcome.refused:
            await self._rejected.know(now_ms=now_ms)
            kept = await self._kept(usable, outcome.refused, sensors, now_ms)
            self._rejected.done(kept.unusable)
            outcome.counts += kept.counts
            outcome.refused += kept.refused
            hints.tell(self._signals, kept.hints)
        self._report(outcome)
        return outcome

    async def _sensors(self, opened: Sequence[tuple[Message, Opened | Rejected]]) -> dict[str, Sensor]:
        """The registered ones among those that the messages name."""
        named = {each.sensor_id for _, each in opened if isinstance(each, Opened)}
        return await self._store.read(lambda tx: bus_facts.sensors(tx, SCOPE, named)) if named else {}

    def _read(
        self, opened: Sequence[tuple[Message, Opened | Rejected]], sensors: dict[str, Sensor], now_ms: int
    ) -> list[Read | Headed | Refused]:
        found: list[Read | Headed | Refused] = []
        for message, each in opened:
            if isinstance(each, Rejected):
                found.append(Refused(message, each))
            elif each.sensor_id not in sensors:
                found.append(Refused(message, bus_reasons.rejected(bus_reasons.UNKNOWN_SENSOR, message.body)))
            elif each.of_device is not None:
                found.append(placing.headed(message, each, each.of_device, sensors[each.sensor_id]))
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
    ) -> _Kept:
        """What the transaction did that keeps the batch and its refusals."""
        for _ in range(TRIES):
            self.steps.at(steps.PLACE)
            wanted = await self._wishes.of_companies({each.company_id for each in sensors.values()}, now_ms=now_ms)

            def work(tx: WriteTx, wanted: dict[Any, Wanted] = wanted) -> _Kept:
                self.steps.at(steps.COMMIT)
                if self._wishes.stale:
                    raise _Stale
                return self._work(tx, reads, refused, wanted, now_ms)

            try:
                self.steps.at(steps.COMMIT)
                with observe.COMMIT_SECONDS.time():
                    return await self._store.write(work, locked=True)
            except _Stale:
                self.steps.again()
                self._wishes.forget()
        raise Outage("What the messages are about is changed all the time.")

    def _work(
        self, tx: WriteTx, reads: Sequence[Read], before: Sequence[Refused], wanted: dict[Any, Wanted], now_ms: int
    ) -> _Kept:
        """Everything of the batch, on the rows as they are now."""
        refused: list[Refused] = []
        sensors = bus_facts.sensors(tx, SCOPE, {read.opened.sensor_id for read in reads})
        messages = placing.admitted(reads, sensors, refused)
        self.steps.at(steps.LOCKS)
        ground = self._ground(tx, messages, sensors, now_ms)
        self.steps.at(steps.COMMIT)
        placer = Placer(ground, ids_=self._ids, grace_ms=self._grace_ms, now_ms=now_ms)
        placer.place(messages)
        refused += placer.refused
        _write(tx, placer, ground.trips)
        unusable = self._log_refused(tx, [*before, *refused], sensors, now_ms)
        told = [*notices.put(tx, _notices(placer, wanted, now_ms), ids=self._ids, now_ms=now_ms)]
        if placer.rows.jobs:
            told.append((observe.SIGNAL_SCORING_DUE, ""))
        return _Kept(placer.counts, refused, told, unusable)

    def _ground(self, tx: WriteTx, messages: Sequence[Admitted], sensors: dict[str, Sensor], now_ms: int) -> Ground:
        """What the messages are placed by, locked: trips, jobs, sensors, vehicles, people."""
        named = {message.trip_id for message in messages if message.trip_id is not None}
        trips = bus_trips.lock(tx, SCOPE, named)
        facts = bus_facts.load(
            tx,
            SCOPE,
            sensors=sensors,
            vehicle_ids=_not_none(
                *(message.read.opened.vehicle_id for message in messages), *(trip.vehicle_id for trip in trips.values())
            ),
            user_ids=_not_none(
                *(message.read.opened.user_id for message in messages), *(trip.user_id for trip in trips.values())
            ),
        )
        new = placing.new_trips(messages, trips, facts, ids_=self._ids, now_ms=now_ms)
        if new:
            bus_trips.make(tx, SCOPE, [value for values in new.values() for value in values])
            trips |= bus_trips.lock(tx, SCOPE, new)
        jobs = bus_trips.jobs(tx, SCOPE, [trip.no for trip in trips.values()])
        if not bus_facts.hold(tx, SCOPE, facts):
            raise _Stale
        self.steps.at(steps.REDELIVERY)
        microtrips, events = _stored(tx, messages, trips)
        return Ground(facts, trips, jobs, microtrips, events, lambda no: bus_trips.bounds(tx, SCOPE, no))

    def _log_refused(self, tx: WriteTx, refused: Sequence[Refused], sensors: dict[str, Sensor], now_ms: int) -> Plan:
        """Into the rejected-message log, where it came from with it."""
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
        """Metrics; one log line for each reason of refusal, with the place of the first such message. `counted`: the
        reasons are in the metrics."""
        for kind, count in outcome.counts.items():
            observe.BUS_MESSAGES.labels(kind).inc(count)
        first: dict[str, Refused] = {}
        for each in outcome.refused:
            first.setdefault(each.rejected.reason, each)
        for reason, count in Counter(each.rejected.reason for each in outcome.refused).items():
            observe.BUS_MESSAGES.labels("rejected").inc(count)
            if not counted:
                observe.REJECTS.labels(reason).inc(count)
            message = first[reason].message
            _log.info(
                "bus.reject",
                reason=reason,
                count=count,
                topic=message.topic,
                partition=message.partition,
                offset=message.offset,
            )


def _opened(batch: Sequence[Message]) -> list[tuple[Message, Opened | Rejected]]:
    return [(message, bus_read.opened(message.body, topic_kind=message.kind)) for message in batch]


def _stored(
    tx: WriteTx, messages: Sequence[Admitted], trips: dict[str, BusTrip]
) -> tuple[dict[int, list[bytes]], dict[int, list[bytes]]]:
    """Which of the microtrips and events may be there already: number -> payloads."""
    of_microtrips: set[int] = set()
    of_events: set[int] = set()
    since_no = min((trip.no for trip in trips.values()), default=ids.first_no(0))
    for message in messages:
        for record in message.read.records:
            keys = {record.by_content} if record.by_name is None else {record.by_content, record.by_name}
            if isinstance(record.reading, Microtrip):
                of_microtrips |= keys
            elif isinstance(record.reading, Event):
                of_events |= keys
    earliest = ids.first_no(ids.ms_of_no(since_no) - _DAY_MS)
    return (
        bus_records.microtrips(tx, SCOPE, of_microtrips, since_no=earliest) if of_microtrips else {},
        bus_records.events(tx, SCOPE, of_events) if of_events else {},
    )


def _write(tx: WriteTx, placer: Placer, trips: dict[str, BusTrip] | Any) -> None:
    """The rows, in the order in which locks are taken."""
    bus_trips.change(tx, SCOPE, list(trips.values()))
    bus_records.MICROTRIPS.insert(tx, placer.microtrips)
    bus_records.EVENTS.insert(tx, placer.events)
    bus_records.driven_by(tx, SCOPE, list(placer.driven.items()))
    driving.write(tx, SCOPE, placer.telling.in_order())


def _notices(placer: Placer, wanted: dict[Any, Wanted], now_ms: int) -> list[notices.Message]:
    """What customers' servers are told, as of what devices send."""
    found: list[notices.Message] = []
    for told in placer.told:
        about = wanted.get(told.subject.company_id)
        if about is not None:
            found += pushing.of_one(told.subject, told.reading, now_ms, about, told.subject.vehicle_id)
    return found


def _not_none(*found: str | None) -> set[str]:
    return {each for each in found if each is not None}
