"""Share the rejected-message log fairly: decide which messages are stored, and which are deleted first.

Each sensor may store its first `rejected_per_hour` messages of an hour; senders without a sensor get as many for each
topic. Further messages are counted by reason, and the count becomes a row of its own: no message is dropped silently.

The log as a whole is bounded in rows and bytes at any moment. Maintenance reduces it to three quarters of the bounds,
deleting from the largest holder first, oldest rows first. Above seven eighths, only companies below their equal share
may add messages, and at the bounds none may: such messages are counted too.

This process reads the size of the log once a minute, and after adding many rows; in between it adds its own writes.

Not here: the rows (`store/ingest/rejected.py`).
"""

from collections import Counter, OrderedDict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import msgspec

from tripline.config import Ingest
from tripline.domain.ids import CompanyId, SensorId, TimeIds
from tripline.domain.instants import DAY_MS
from tripline.services.ingest.tracks import SCOPE
from tripline.store.database import partitions
from tripline.store.ingest import rejected
from tripline.store.ingest.rejected import Holding
from tripline.store.transactions import Store, WriteTx

WINDOW_MS: Final = 3_600_000
FIRST_COUNT_MS: Final = 60_000
"""Delay before the first count of a reason becomes a row."""
NEXT_COUNT_MS: Final = 600_000
"""Delay before each further count becomes a row."""
MOST_SENDERS: Final = 20_000
"""Most senders, and pairs of sender and reason, in memory, some 300 bytes each. The least recent is forgotten first: it
may then store messages again."""
KNOWN_MS: Final = 60_000
"""How long the size read from the log is used."""
_KNOWN_PART: Final = 16
"""The size is read again after this process added this fraction of the bounds."""
_MIB: Final = 2**20
_NOTHING: Final = Holding(0, 0)
_MANY: Final = "many senders"


class Entry(NamedTuple):
    """An unusable message."""

    source: str
    sensor_id: SensorId | None
    company_id: CompanyId | None
    """The sender's company; None: unknown."""
    topic: str
    reason: str
    detail: str
    body: bytes
    bus_partition: int | None = None
    bus_offset: int | None = None

    @property
    def sender(self) -> str:
        """The holder of a budget."""
        return self.sensor_id or f"{self.source} {self.company_id} {self.topic}"

    def shortened(self) -> "Entry":
        """Return it shortened for storage."""
        detail, body = rejected.shortened(self.detail, self.body)
        limit = rejected.TEXT_LIMIT
        if body is self.body and len(self.topic) <= limit and len(detail) <= limit:
            return self
        return self._replace(topic=self.topic[:limit], detail=detail[:limit], body=body)

    def bare(self) -> "Entry":
        """Return it without detail and body."""
        topic = self.topic[: rejected.TEXT_LIMIT]
        return Entry(self.source, self.sensor_id, self.company_id, topic, self.reason, "", b"")

    def row(self, no: int, messages: int = 1) -> list[Any]:
        """Column values for `rejected.LOG`."""
        return [
            *(no, self.source, self.sensor_id, self.company_id, self.topic, self.reason, self.detail, self.body),
            *(self.size, messages, self.bus_partition, self.bus_offset),
        ]

    @property
    def size(self) -> int:
        """Size of its row in bytes."""
        return rejected.ROW_BYTES + len(self.topic.encode()) + len(self.detail.encode()) + len(self.body)


class _Window(msgspec.Struct):
    """Messages stored for a sender within an hour."""

    since_ms: int
    kept: int = 0


class _Counted(msgspec.Struct):
    """Messages of one sender and reason that were not stored, since the last row about them."""

    like: Entry
    since_ms: int
    last_ms: int
    messages: int = 0
    is_told: bool = False
    """True if a row was written in this hour."""

    def is_due(self, now_ms: int) -> bool:
        return abs(now_ms - self.since_ms) >= (NEXT_COUNT_MS if self.is_told else FIRST_COUNT_MS)

    def entry(self) -> Entry:
        until = datetime.fromtimestamp(self.last_ms / 1000, UTC)
        detail = f"{self.messages} more messages until {until:%Y-%m-%d %H:%M:%S} UTC; they were counted, not kept"
        return self.like._replace(detail=detail)


class Plan(msgspec.Struct):
    """Decisions about some messages; they take effect in `RejectedLog.done`."""

    now_ms: int
    kept: list[Entry] = msgspec.field(default_factory=list)
    kept_of: Counter[str] = msgspec.field(default_factory=Counter)
    """Number of stored messages, by sender."""
    added: dict[CompanyId | None, Holding] = msgspec.field(default_factory=dict)
    total: Holding = _NOTHING
    counted: dict[tuple[str, str], list[Any]] = msgspec.field(default_factory=dict)
    """Sender and reason -> an example without its body, and the number of messages."""

    def keep(self, entry: Entry, sender: str) -> None:
        """Plan to store this message."""
        size = entry.size
        self.kept.append(entry)
        self.kept_of[sender] += 1
        self.added[entry.company_id] = self.added.get(entry.company_id, _NOTHING).and_also(1, size)
        self.total = self.total.and_also(1, size)

    def write(self, tx: WriteTx, ids: TimeIds) -> None:
        """Write the rows of the messages to store."""
        numbers = ids.numbers(len(self.kept), now_ms=self.now_ms) if self.kept else ()
        rejected.LOG.insert(
            tx, [value for entry, no in zip(self.kept, numbers, strict=True) for value in entry.row(no)]
        )


class RejectedLog:
    """The log as one process writes it. `plan` may be called in any thread, the rest on the event loop."""

    def __init__(self, *, store: Store, settings: Ingest, ids: TimeIds) -> None:
        self._store = store
        self._ids = ids
        self._days_ms = int(settings.rejected_days * DAY_MS)
        self._per_hour = settings.rejected_per_hour
        self._most = Holding(settings.rejected_kept, settings.rejected_mib * _MIB)
        self._crowded = Holding(*(each * 7 // 8 for each in self._most))
        self._aim = Holding(*(each * 3 // 4 for each in self._most))
        self._held: dict[CompanyId | None, Holding] = {}
        self._total = _NOTHING
        self._known_ms: int | None = None
        self._aged_ms: int | None = None
        """When the log was last free of expired rows."""
        self._added = _NOTHING
        """Added since the log was read."""
        self._windows: OrderedDict[str, _Window] = OrderedDict()
        self._counted: OrderedDict[tuple[str, str], _Counted] = OrderedDict()

    async def know(self, *, now_ms: int) -> None:
        """Read the size of the log, unless the cached one is recent enough. Raises `Outage`."""
        is_fresh = self._known_ms is not None and abs(now_ms - self._known_ms) < KNOWN_MS
        if is_fresh and all(added * _KNOWN_PART < most for added, most in zip(self._added, self._most, strict=True)):
            return
        added = self._added
        self._held = await self._store.read(lambda tx: rejected.holdings(tx, SCOPE))
        self._total = Holding(*map(sum, zip(*self._held.values(), strict=True))) if self._held else _NOTHING
        # The read may have missed entries added meanwhile: if there were any, read again before the next use.
        self._known_ms = now_ms if self._added == added else None
        self._added = _NOTHING

    def plan(self, entries: Sequence[Entry], *, now_ms: int) -> Plan:
        """Decide which messages are stored, and which only counted. Changes nothing."""
        plan = Plan(now_ms)
        left_of: dict[str, int] = {}
        full: set[CompanyId | None] = set()  # companies without room in this batch, so that a flood is cheap
        for entry in entries:
            sender = entry.sender
            left = left_of.get(sender)
            if left is None:
                window = self._window(sender, now_ms)
                left = left_of[sender] = self._per_hour - (0 if window is None else window.kept)
            if left > 0 and entry.company_id not in full:
                short = entry.shortened()
                if self._has_room(short, plan):
                    left_of[sender] = left - 1
                    plan.keep(short, sender)
                    continue
                full.add(entry.company_id)
            key = (sender, entry.reason)
            counted = plan.counted.get(key)
            if counted is None:
                plan.counted[key] = [entry.bare(), 1]
            else:
                counted[1] += 1
        return plan

    def done(self, plan: Plan) -> None:
        """Apply a plan that was written."""
        for sender, kept in plan.kept_of.items():
            window = self._window(sender, plan.now_ms) or _Window(plan.now_ms)
            window.kept += kept
            self._windows[sender] = window
            self._windows.move_to_end(sender)
        for key, (like, messages) in plan.counted.items():
            self._count(key, like, messages, plan.now_ms)
        while len(self._windows) > MOST_SENDERS:
            self._windows.popitem(last=False)
        self._add(plan.added)

    async def tend(self, *, now_ms: int) -> bool:
        """Write due counts, delete expired rows and reduce the log, a limited number at a time; true if more may
        remain. Raises `Outage`."""
        await self.know(now_ms=now_ms)
        if await self._write_counts(now_ms):
            return True
        return await self._delete_old(now_ms) or await self._evict()

    async def settle(self, *, now_ms: int) -> None:
        """Write all counts that fit into the log. Raises `Outage`."""
        await self.know(now_ms=now_ms)
        while await self._write_counts(now_ms, everything=True):
            pass

    def _window(self, sender: str, now_ms: int) -> _Window | None:
        window = self._windows.get(sender)
        return window if window is not None and abs(now_ms - window.since_ms) < WINDOW_MS else None

    def _has_room(self, entry: Entry, plan: Plan) -> bool:
        total = self._total.and_also(*plan.total).and_also(1, entry.size)
        if _fits(total, self._crowded):
            return True
        if not _fits(total, self._most):
            return False
        new = {company_id for company_id in (*plan.added, entry.company_id) if company_id not in self._held}
        holders = len(self._held) + len(new)
        share = Holding(*(each // holders for each in self._crowded))
        mine = self._held.get(entry.company_id, _NOTHING).and_also(*plan.added.get(entry.company_id, _NOTHING))
        return _fits(mine.and_also(1, entry.size), share)

    def _count(self, key: tuple[str, str], like: Entry, messages: int, now_ms: int) -> None:
        counted = self._counted.get(key)
        if counted is None and len(self._counted) >= MOST_SENDERS:
            key = (_MANY, like.reason)
            like = like._replace(sensor_id=None, company_id=None, topic=_MANY)
            counted = self._counted.get(key)
        if counted is None:
            counted = self._counted[key] = _Counted(like, now_ms, now_ms)
        counted.messages += messages
        counted.last_ms = now_ms

    def _add(self, added: dict[CompanyId | None, Holding]) -> None:
        for company_id, holding in added.items():
            self._held[company_id] = self._held.get(company_id, _NOTHING).and_also(*holding)
            self._total = self._total.and_also(*holding)
            self._added = self._added.and_also(*holding)

    async def _write_counts(self, now_ms: int, *, everything: bool = False) -> bool:
        """Write some counts; true if more may remain. Counts that do not fit wait for room."""
        plan = Plan(now_ms)
        written: list[tuple[_Counted, Entry]] = []
        for key, counted in list(self._counted.items()):
            if not counted.messages:
                if abs(now_ms - counted.last_ms) >= WINDOW_MS:
                    del self._counted[key]
                continue
            entry = counted.entry()
            total = self._total.and_also(*plan.total).and_also(1, entry.size)
            if (everything or counted.is_due(now_ms)) and _fits(total, self._most):
                written.append((counted, entry))
                plan.added[entry.company_id] = plan.added.get(entry.company_id, _NOTHING).and_also(1, entry.size)
                plan.total = plan.total.and_also(1, entry.size)
                if len(written) == rejected.PURGED_AT_ONCE:
                    break
        if not written:
            return False
        numbers = self._ids.numbers(len(written), now_ms=now_ms)
        told = [(counted, counted.messages) for counted, _ in written]
        rows = [
            value
            for (_, entry), (_, messages), no in zip(written, told, numbers, strict=True)
            for value in entry.row(no, messages)
        ]
        await self._store.write(lambda tx: rejected.LOG.insert(tx, rows), locked=True)
        for counted, messages in told:  # more may have arrived meanwhile
            counted.messages -= messages
            counted.since_ms, counted.is_told = now_ms, True
        self._add(plan.added)
        return len(written) == rejected.PURGED_AT_ONCE

    async def _delete_old(self, now_ms: int) -> bool:
        if self._aged_ms is not None and abs(now_ms - self._aged_ms) < KNOWN_MS:
            return False
        before_ms = now_ms - self._days_ms
        if self._store.shared:  # whole weeks are dropped as partitions; what they leave lay in none
            before_ms = partitions.week_of(before_ms) - DAY_MS
        if not await self._store.read_short(lambda tx: rejected.any_before(tx, SCOPE, before_ms=before_ms)):
            self._aged_ms = now_ms
            return False
        self._known_ms = None
        return await self._store.write(lambda tx: rejected.purge(tx, SCOPE, before_ms=before_ms), locked=True) > 0

    async def _evict(self) -> bool:
        """Delete rows of the largest holder."""
        rows, size = self._total.rows - self._aim.rows, self._total.size - self._aim.size
        if (rows <= 0 and size <= 0) or not self._held:
            return False
        largest = max(self._held, key=self._part)
        gone = await self._store.write(lambda tx: rejected.evict(tx, SCOPE, largest, rows=rows, size=size), locked=True)
        if not gone.rows or largest not in self._held:  # others were faster
            self._known_ms = None
            return False
        self._held[largest] = self._held[largest].and_also(-gone.rows, -gone.size)
        if not self._held[largest].rows:
            del self._held[largest]
        self._total = self._total.and_also(-gone.rows, -gone.size)
        return True

    def _part(self, company_id: CompanyId | None) -> float:
        """The holder's share of the log, in rows or bytes, whichever is larger."""
        held = self._held[company_id]
        return max(held.rows / self._most.rows, held.size / self._most.size)


def _fits(holding: Holding, bound: Holding) -> bool:
    return holding.rows <= bound.rows and holding.size <= bound.size
