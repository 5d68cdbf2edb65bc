"""Messages to customers' servers about device data: trips, microtrips and device events (spec/push 2, 4.2, 4.4).

Each stored record is one message: an aggregate with two trip numbers makes two records, so two messages. Rejected and
redelivered messages are not pushed, nor is a trip that ended by silence, since the device sent no message for it.

The selectors of companies are cached and reloaded when a company changes, here or in another process; while no company
wants any messages, a batch costs one lookup of its companies.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import msgspec

from tripline import observe
from tripline.domain import pushes
from tripline.domain.ids import PLACEHOLDER, CompanyId, VehicleId
from tripline.domain.pushes import Receiver, Wish
from tripline.ports.signals import Signals
from tripline.services.ingest.batch import Batch
from tripline.services.ingest.tracks import Track
from tripline.services.push import notices
from tripline.services.push.notices import Message, Subject
from tripline.store.push import outbox
from tripline.store.transactions import ReadTx, Store
from tripline.wire import push
from tripline.wire.device import answered_payloads as device_answered_payloads
from tripline.wire.device import tables as device_tables
from tripline.wire.readings import DeviceEvent, LatestValues, Microtrip, Trip

_NO_NUMBER: Final = 0
"""A number that cannot be selected."""
PushedReading: TypeAlias = Microtrip | Trip | DeviceEvent
KNOWN_MS: Final = 3_000
"""How long cached selectors are used on a shared store, where a signal from another process may be lost."""
_INLINE: Final = 8
"""Most companies read on the event loop; more are read in a thread."""


class Numbers(NamedTuple):
    """The numbers by which a company may select a message (N4)."""

    kind: int
    """Number of its kind, after classification."""
    sent: int
    """As sent; if the device sent none, the number of its kind."""


class Wanted(msgspec.Struct, frozen=True):
    """The operator above a company, and the companies that want messages about its sensors."""

    operator_id: CompanyId
    wishes: tuple[Wish, ...]
    _chosen: dict[Numbers, list[Receiver]] = msgspec.field(default_factory=dict)

    def receivers(self, numbers: Numbers) -> list[Receiver]:
        """Receivers of a device's message with these numbers (N4)."""
        # A device may send any number: numbers that cannot be selected share one entry.
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
        """Drop the cache: an operator's selectors apply to all its partners."""
        # Replace the dictionary: a read under way writes to the old one, which is no longer used.
        self._of = {}

    @property
    def stale(self) -> bool:
        """True if another process committed since the first entry was read; exact inside a write."""
        return bool(self._of) and self._foreign_commits != self._store.foreign_commits

    async def of_companies(self, companies: Collection[CompanyId], *, now_ms: int) -> dict[CompanyId, Wanted]:
        """The companies with receivers for messages about their sensors. Raises `Outage`."""
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
    """Messages to send about a placed batch, in order of receipt."""
    found: list[Message] = []
    if not wanted:
        return found
    for item in batch.new:
        about = wanted.get(item.track.company_id)
        if about is not None and not isinstance(item.reading, LatestValues):
            found += of_one(item.track, item.reading, item.frame.received_ms, about, item.vehicle_id)
    return found


def of_one(
    about_whom: Track | Subject, reading: PushedReading, received_ms: int, about: Wanted, vehicle_id: VehicleId | None
) -> Iterable[Message]:
    """Messages to send about one stored reading of a sensor."""
    numbers = numbers_of(reading)
    receivers = about.receivers(numbers)
    if not receivers:
        return ()
    payload = device_answered_payloads.coerced(reading.payload, ty=reading.ty, device_type=reading.device_type)
    notice = push.Notice(
        master_company_id=about.operator_id,
        company_id=about_whom.company_id,
        sensor_id=about_whom.sensor_id,
        vehicle_id=vehicle_id or PLACEHOLDER,
        ts=push.message_ms(reading.ts, received_ms),
        ty=_NAMES[type(reading)],
        msg_ty=numbers.sent,
        pld=msgspec.Raw(payload),
    )
    return notices.addressed(notice, receivers)


def numbers_of(reading: PushedReading) -> Numbers:
    """The numbers of a stored reading."""
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
