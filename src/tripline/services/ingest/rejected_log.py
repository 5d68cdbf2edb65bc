"""Share the rejected-message log fairly: decide which messages are stored, and which are deleted first.

Each sensor may store its first `rejected_per_hour` messages of an hour; senders without a sensor get as many for each
topic. Further messages are counted by reason, and the count becomes a row of its own: no message is dropped silently.

The log as a whole is bounded in rows and bytes at any moment. Maintenance reduces it to three quarters of the bounds,
deleting from the largest holder first, oldest rows first. Above seven eighths, only companies below their equal share
may add messages, and at the bounds none may: such messages are counted too.

This process reads the size of the log once a minute, and after adding many rows; in between it adds its own writes.
"""

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from operator import truediv
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
    """An unusable message, or several that are counted."""

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
    messages: int = 1

    @property
    def sender(self) -> str:
        """The holder of a budget."""
        return self.sensor_id or f"{self.source} {self.company_id} {self.topic[: rejected.TEXT_LIMIT]}"

    def shortened(self) -> "Entry":
        """Return it shortened for storage."""
        limit, size, detail = rejected.TEXT_LIMIT, len(self.body), self.detail
        if size > rejected.BODY_LIMIT:
            detail += f" [the first {rejected.BODY_LIMIT} of {size} bytes]"
        return self._replace(topic=self.topic[:limit], detail=detail[:limit], body=self.body[: rejected.BODY_LIMIT])

    def bare(self) -> "Entry":
        """Return it without detail, body and place."""
        return Entry(*self[:3], self.topic[: rejected.TEXT_LIMIT], self.reason, "", b"")

    def row(self, no: int) -> list[Any]:
        """Column values for `rejected.LOG`."""
        return [
            *(no, self.source, self.sensor_id, self.company_id, self.topic, self.reason, self.detail, self.body),
            *(self.size, self.messages, self.bus_partition, self.bus_offset),
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
        return self.like._replace(detail=detail, messages=self.messages)


class _Shares:
    """The sizes that companies hold, and their sum."""

    def __init__(self, held: dict[CompanyId | None, Holding]) -> None:
        self.held = held
        self.total = Holding(*map(sum, zip(*held.values(), strict=True))) if held else _NOTHING

    def of(self, company_id: CompanyId | None) -> Holding:
        return self.held.get(company_id, _NOTHING)

    def add(self, company_id: CompanyId | None, rows: int, size: int) -> None:
        self.held[company_id] = self.of(company_id).and_also(rows, size)
        self.total = self.total.and_also(rows, size)


class Plan:
    """Decisions about some messages; they take effect in `RejectedLog.done`."""

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self.kept: list[Entry] = []
        self.added = _Shares({})
        self.counted: dict[Entry, int] = defaultdict(int)
        """Number of messages like these bare ones that are only counted."""

    def keep(self, entry: Entry) -> None:
        self.kept.append(entry)
        self.added.add(entry.company_id, 1, entry.size)

    def write(self, tx: WriteTx, ids: TimeIds) -> None:
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
        self._shares = _Shares({})
        self._known_ms: int | None = None
        self._aged_ms: int | None = None
        """When the log was last free of expired rows."""
        self._added = _NOTHING
        """Added since the log was read."""
        self._windows: OrderedDict[str, _Window] = OrderedDict()
        self._counted: dict[str, _Counted] = {}
        """Sender and reason -> messages."""

    async def know(self, *, now_ms: int) -> None:
        """Read the size of the log, unless the cached one is recent enough. Raises `Outage`."""
        is_fresh = self._known_ms is not None and abs(now_ms - self._known_ms) < KNOWN_MS
        if is_fresh and all(added * _KNOWN_PART < most for added, most in zip(self._added, self._most, strict=True)):
            return
        added = self._added
        self._shares = _Shares(await self._store.read(lambda tx: rejected.holdings(tx, SCOPE)))
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
            if sender not in left_of:
                window = self._window(sender, now_ms)
                left_of[sender] = self._per_hour - (0 if window is None else window.kept)
            if left_of[sender] > 0 and entry.company_id not in full:
                short = entry.shortened()
                if self._has_room(short, plan):
                    left_of[sender] -= 1
                    plan.keep(short)
                    continue
                full.add(entry.company_id)
            plan.counted[entry.bare()] += 1
        return plan

    def done(self, plan: Plan) -> None:
        """Apply a plan that was written."""
        for sender, kept in Counter(entry.sender for entry in plan.kept).items():
            window = self._window(sender, plan.now_ms) or _Window(plan.now_ms)
            window.kept += kept
            self._windows[sender] = window
            self._windows.move_to_end(sender)
        for like, messages in plan.counted.items():
            self._count(like, messages, plan.now_ms)
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
        if self._fits(entry, plan, self._crowded):
            return True
        if not self._fits(entry, plan, self._most):
            return False
        holders = len({*self._shares.held, *plan.added.held, entry.company_id})
        share = Holding(*(each // holders for each in self._crowded))
        mine = self._shares.of(entry.company_id).and_also(*plan.added.of(entry.company_id)).and_also(1, entry.size)
        return mine.fits(share)

    def _fits(self, entry: Entry, plan: Plan, bound: Holding) -> bool:
        """True if the log is within the bound after the plan and this message."""
        return self._shares.total.and_also(*plan.added.total).and_also(1, entry.size).fits(bound)

    def _count(self, like: Entry, messages: int, now_ms: int) -> None:
        key = f"{like.sender} {like.reason}"
        if key not in self._counted and len(self._counted) >= MOST_SENDERS:
            key = f"{_MANY} {like.reason}"
            like = like._replace(sensor_id=None, company_id=None, topic=_MANY)
        counted = self._counted.setdefault(key, _Counted(like, now_ms, now_ms))
        counted.messages += messages
        counted.last_ms = now_ms

    def _add(self, added: _Shares) -> None:
        for company_id, holding in added.held.items():
            self._shares.add(company_id, *holding)
        self._added = self._added.and_also(*added.total)

    async def _write_counts(self, now_ms: int, *, everything: bool = False) -> bool:
        """Write some counts; true if more may remain. Counts that do not fit wait for room."""
        plan = Plan(now_ms)
        written: list[_Counted] = []
        for key, counted in list(self._counted.items()):
            if not counted.messages:
                if abs(now_ms - counted.last_ms) >= WINDOW_MS:
                    del self._counted[key]
            elif (everything or counted.is_due(now_ms)) and self._fits(entry := counted.entry(), plan, self._most):
                plan.keep(entry)
                written.append(counted)
                if len(written) == rejected.PURGED_AT_ONCE:
                    break
        if not written:
            return False
        await self._store.write(lambda tx: plan.write(tx, self._ids), locked=True)
        for counted, entry in zip(written, plan.kept, strict=True):  # more may have arrived meanwhile
            counted.messages -= entry.messages
            counted.since_ms, counted.is_told = now_ms, True
        self._add(plan.added)
        return len(written) == rejected.PURGED_AT_ONCE

    async def _delete_old(self, now_ms: int) -> bool:
        if self._aged_ms is not None and abs(now_ms - self._aged_ms) < KNOWN_MS:
            return False
        before_ms = now_ms - self._days_ms
        if self._store.shared:  # partitions of whole weeks are dropped; rows outside any partition remain
            before_ms = partitions.week_of(before_ms) - DAY_MS
        if not await self._store.read_short(lambda tx: rejected.any_before(tx, SCOPE, before_ms=before_ms)):
            self._aged_ms = now_ms
            return False
        self._known_ms = None
        return await self._store.write(lambda tx: rejected.purge(tx, SCOPE, before_ms=before_ms), locked=True) > 0

    async def _evict(self) -> bool:
        shares = self._shares
        rows, size = shares.total.rows - self._aim.rows, shares.total.size - self._aim.size
        if (rows <= 0 and size <= 0) or not shares.held:
            return False
        largest = max(shares.held, key=lambda each: max(map(truediv, shares.of(each), self._most)))
        gone = await self._store.write(lambda tx: rejected.evict(tx, SCOPE, largest, rows=rows, size=size), locked=True)
        if not gone.rows or largest not in self._shares.held:  # others were faster
            self._known_ms = None
            return False
        self._shares.add(largest, -gone.rows, -gone.size)
        if not self._shares.of(largest).rows:
            del self._shares.held[largest]
        return True
