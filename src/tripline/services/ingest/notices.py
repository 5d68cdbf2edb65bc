"""Messages to customers' servers about what devices sent: trips, microtrips and device events (spec/push 2, 4.2, 4.4).

We tell what was stored, one message for each stored record: an aggregate with two trip numbers is two records, so two
messages. What was rejected or delivered again is not told, nor is a trip that silence ended: there is no message of it.

What companies want is remembered and read again when a company changes, here or in another process; while nobody wants
anything a batch costs one look at its companies.

Not here: the rows and their numbers (`services/push/notices.py`), the sending.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import msgspec

from tripline import observe
from tripline.domain import pushes
from tripline.domain.ids import CompanyId, VehicleId
from tripline.domain.pushes import Receiver, Wish
from tripline.ports.signals import Signals
from tripline.services.ingest.batch import Batch
from tripline.services.ingest.tracks import Track
from tripline.services.push import notices
from tripline.services.push.notices import Message, Subject
from tripline.store.push import outbox
from tripline.store.transactions import ReadTx, Store
from tripline.wire import push
from tripline.wire.device import stored_payloads as device_stored_payloads
from tripline.wire.device import tables as device_tables
from tripline.wire.readings import DeviceEvent, LatestValues, Microtrip, Trip

_NO_NUMBER: Final = 0
"""Nobody can ask for it."""
Told: TypeAlias = Microtrip | Trip | DeviceEvent
KNOWN_MS: Final = 3_000
"""How long what companies want is believed on a shared store, where a signal from another process may be lost."""
_INLINE: Final = 8
"""Companies read on the event loop itself; more are read in a thread."""


class Numbers(NamedTuple):
    """The numbers by which a company may ask for a message (N4)."""

    kind: int
    """Of its kind, after classification."""
    sent: int
    """As sent; of a message that was sent without one, the kind's."""


class Wanted(msgspec.Struct, frozen=True):
    """The operator above a company, and who wants what about the company's sensors."""

    operator_id: CompanyId
    wishes: tuple[Wish, ...]
    _chosen: dict[Numbers, list[Receiver]] = msgspec.field(default_factory=dict)

    def receivers(self, numbers: Numbers) -> list[Receiver]:
        """Who gets a device's message with these numbers (N4)."""
        # A device may send any number: those that nobody can ask for share one place.
        kind, sent = numbers
        numbers = Numbers(
            kind if kind in pushes.OF_DEVICES else _NO_NUMBER, sent if sent in pushes.OF_DEVICES else _NO_NUMBER
        )
        found = self._chosen.get(numbers)
        if found is None:
            found = self._chosen[numbers] = pushes.chosen(self.wishes, numbers)
        return found


class Wishes:
    """The message types that each company selected."""

    def __init__(self, store: Store, signals: Signals) -> None:
        self._store = store
        self._of: dict[CompanyId, Wanted] = {}
        self._foreign_commits = store.foreign_commits
        self._read_ms = 0
        for subject in (observe.SIGNAL_COMPANY_CHANGED, observe.SIGNAL_RESYNC):
            signals.subscribe(subject, lambda _: self.forget())

    def forget(self) -> None:
        """Read everything again: an operator's wish counts for all its partners."""
        # A new one: what a read under way brings goes into the old one, which nobody looks at again.
        self._of = {}

    @property
    def stale(self) -> bool:
        """Whether another process committed since the first of them was read; exact inside a write."""
        return bool(self._of) and self._foreign_commits != self._store.foreign_commits

    async def about(self, batch: Batch) -> dict[CompanyId, Wanted]:
        """The companies of a batch's sensors that somebody wants messages about. Raises `Outage`."""
        return await self.of_companies({item.track.company_id for item in batch.new}, now_ms=batch.now_ms)

    async def of_companies(self, companies: Collection[CompanyId], *, now_ms: int) -> dict[CompanyId, Wanted]:
        """Those of the companies about whose sensors somebody wants messages. Raises `Outage`."""
        if self._store.shared and abs(now_ms - self._read_ms) > KNOWN_MS:
            self._read_ms = now_ms
            self.forget()
        known = self._of
        missing = [company_id for company_id in companies if company_id not in known]
        if missing:
            await self._read(missing, known)
        return {company_id: known[company_id] for company_id in companies if known[company_id].wishes}

    async def _read(self, missing: Sequence[CompanyId], known: dict[CompanyId, Wanted]) -> None:
        if not known:
            self._foreign_commits = self._store.foreign_commits

        def load(tx: ReadTx) -> list[Wanted]:
            return [_wanted(tx, company_id) for company_id in missing]

        open_one = self._store.read_short if len(missing) <= _INLINE else self._store.read
        known.update(zip(missing, await open_one(load), strict=True))


def _wanted(tx: ReadTx, company_id: CompanyId) -> Wanted:
    operator, owner = outbox.subscriptions(tx, company_id)
    return Wanted(operator.company_id, pushes.wishes(operator, owner))


def messages(batch: Batch, wanted: Mapping[CompanyId, Wanted]) -> list[Message]:
    """What is to be sent about a batch that was placed, in the order received."""
    found: list[Message] = []
    if not wanted:
        return found
    for item in batch.new:
        about = wanted.get(item.track.company_id)
        if about is not None and not isinstance(item.reading, LatestValues):
            found += of_one(item.track, item.reading, item.frame.received_ms, about, item.vehicle_id)
    return found


def of_one(
    about_whom: Track | Subject, reading: Told, received_ms: int, about: Wanted, vehicle_id: VehicleId | None
) -> Iterable[Message]:
    """What is to be sent about one reading of a sensor that was stored."""
    numbers = numbers_of(reading)
    receivers = about.receivers(numbers)
    if not receivers:
        return ()
    payload = device_stored_payloads.coerced(reading.payload, ty=reading.ty, device_type=reading.device_type)
    notice = push.Notice(
        master_company_id=about.operator_id,
        company_id=about_whom.company_id,
        sensor_id=about_whom.sensor_id,
        vehicle_id=push.vehicle_or_unset(vehicle_id),
        ts=push.message_ms(reading.ts, received_ms),
        ty=_NAMES[type(reading)],
        msg_ty=numbers.sent,
        pld=push.sent_payload(payload),
    )
    return notices.addressed(notice, receivers)


def numbers_of(reading: Told) -> Numbers:
    """The numbers of a reading that was stored."""
    if isinstance(reading, DeviceEvent):
        return Numbers(reading.ty, reading.ty if reading.sent_ty is None else reading.sent_ty)
    trip = device_tables.TRIP_OF.get(reading.device_type)
    if trip is None:
        return Numbers(_NO_NUMBER, reading.ty)
    return Numbers(trip + 1 if isinstance(reading, Microtrip) else trip, reading.ty)


_NAMES: Final[dict[type, pushes.Name]] = {
    Microtrip: pushes.Name.MICROTRIP,
    Trip: pushes.Name.TRIP,
    DeviceEvent: pushes.Name.EVENT,
}
