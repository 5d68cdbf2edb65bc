"""The streams of live maps: one walk reads the changes for all streams of the process.

A walk follows each round of a position keeper (`position_keeper.py`), whose notifications wake it; without any, there
is one a second. So a position waits for the rest of its round, and not for the next second.

Streams of readers with the same reach share an audience: its vehicles, and the bytes of each event. A walk reads, in
one transaction: the positions that are new, every `CHECK_MS` the vehicles of each audience and the account of each
stream, every `NAMES_MS` the names. A walk without changes reads one row.

A stream continues from its cursor: the number of the last change that its reader has, and a digest of the vehicles that
it knows (spec/positions L10). A reader that does not read is dropped.

Not here: the statements (`store/live_vehicles.py`), the state of an audience and a stream (`audience.py`), HTTP
(`portal/live/stream.py`).
"""

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from tripline import observe
from tripline.domain import access
from tripline.domain.access import Action, Actor
from tripline.domain.refusals import Refusal, TryLater
from tripline.domain.shares import Holder, Shares
from tripline.ports.clocks import Clock
from tripline.ports.signals import Signals
from tripline.services import poll_loop
from tripline.services.live.audience import Audience, Cursor, End, Key, Stream
from tripline.services.shares import Places
from tripline.store import live_vehicles, positions
from tripline.store.live_vehicles import LiveVehicle, Moved
from tripline.store.transactions import Crew, ReadTx, Store

EVERY_S: Final = 1.0
"""From the beginning of a walk to that of the next, while nothing is written."""
APART_S: Final = 0.85
"""Least time between them when something is written: several processes may write at different times. A page draws as
often (`live-map.js`)."""
QUIET_S: Final = 0.1
"""A round of writing is over when nothing was written for so long."""
MOST_S: Final = 1.5
"""Most time between them, while one round follows another."""
LEAST_S: Final = 0.1
"""Least pause between two walks, when streams begin."""
REST: Final = 3.0
"""A long walk is followed by a pause of so many times its duration, so that walks take a quarter of a core at most."""
CHECK_MS: Final = 1_200
"""After so long the next walk checks accounts and vehicles again: at least every three seconds."""
NAMES_MS: Final = 14_000
FEW: Final = 2_000
"""Up to so many vehicles in all audiences, their positions are found by their keys; beyond, all positions are read."""
VEHICLES: Final = 20_000
"""Most vehicles in one stream, the first by number."""
STREAMS: Final = Shares(total=400, operator=300, company=200, account=8)
"""Streams of this process: a browser has one."""
BYTES: Final = 64 * 1_048_576
"""Bytes that all streams of the process have not sent; beyond, those with the most are dropped."""
_AGAIN_S: Final = 10
_log = observe.logger("live")


class ManyStreams(TryLater):
    """The account, its company, or the process has as many live maps open as it may have."""

    code = "live.many_streams"


class _Due(NamedTuple):
    since_no: int
    audiences: Mapping[Key, Audience]
    checked: Mapping[Key, bool]
    """Audiences whose vehicles are read again; True: with names."""
    streams: list[Stream]
    """Streams whose account is checked."""
    joining: Mapping[Key, list[Stream]]


class _Seen(NamedTuple):
    no: int
    moved: list[Moved] | dict[Key, list[Moved]]
    vehicles: dict[Key, list[LiveVehicle] | list[str]]
    whole: dict[Key, list[Moved]]
    """All positions of audiences to which vehicles or streams were added."""
    ended: dict[Stream, End]


class Feed:
    """All streams of the process. Use it on the event loop; `run` is a worker."""

    def __init__(self, *, store: Store, clock: Clock, signals: Signals, places: Places | None = None) -> None:
        self._store = store.of(Crew.DEVICES)
        self._clock = clock
        self._places = Places(STREAMS) if places is None else places
        self._audiences: dict[Key, Audience] = {}
        self._streams: dict[Stream, None] = {}
        self._no = 0
        self._wake = asyncio.Event()
        self._has_new = False
        """Streams began since the last walk."""
        self._written_s = -math.inf
        """When positions were last written, by the monotonic clock."""
        self._stopping = False
        signals.subscribe(observe.SIGNAL_VEHICLES_MOVED, self._written)

    def join(self, *, actor: Actor, holder: Holder, cursor: str | None, recheck: Callable[[ReadTx], Actor]) -> Stream:
        """Open a stream of the vehicles that the actor may see; the caller passes it to `leave` at its end.

        `recheck` returns the account behind the request as it is now, or raises a `Refusal`. Raises `ManyStreams`.
        """
        scope = access.scope_of(actor, Action.DRIVING_READ)
        named = access.scope_of(actor, Action.USER_READ).reaches
        stream = Stream(actor, recheck, Cursor.read(cursor), now_ms=self._clock())
        held = self._places.enter(holder, lambda: stream.end(End.CROWDED))
        if held is None:
            raise ManyStreams(after_s=_AGAIN_S)
        stream.place = held
        key = Key.of(scope, named)
        audience = self._audiences.get(key)
        if audience is None:
            audience = self._audiences[key] = Audience(key, scope, named)
        stream.audience = audience
        audience.joining.append(stream)
        self._streams[stream] = None
        if self._stopping:
            stream.end(End.STOPPING)
        self._has_new = True
        self._wake.set()
        return stream

    def leave(self, stream: Stream) -> None:
        """Forget a stream that is over."""
        self._places.leave(stream.place)
        self._streams.pop(stream, None)
        stream.pending.clear()
        audience = stream.audience
        audience.leave(stream)
        if not audience.streams and not audience.joining:
            self._audiences.pop(audience.key, None)

    def stop(self) -> None:
        """End every stream; later ones end at once."""
        self._stopping = True
        for stream in list(self._streams):
            stream.end(End.STOPPING)

    async def run(self) -> None:
        """Walk until cancelled, while there are streams."""
        while True:
            while not self._streams:
                self._wake.clear()
                await self._wake.wait()
            self._has_new = False
            began = time.monotonic()
            try:
                await self.walk()
            except Exception as error:  # noqa: BLE001  the next walk may succeed
                poll_loop.report(error, _log, failed="live.stream_failed", outage="live.stream_outage")
            await asyncio.sleep(max(LEAST_S, REST * (time.monotonic() - began)))
            # A new stream need not wait for its turn.
            while not self._has_new:
                rest_s = next_walk_s(began, self._written_s) - time.monotonic()
                if rest_s <= 0:
                    break
                self._wake.clear()
                await poll_loop.set_within(self._wake, rest_s)

    def _written(self, _vehicles: str) -> None:
        self._written_s = time.monotonic()
        self._wake.set()

    async def walk(self) -> None:
        """Read the changes since the last walk, and hand them to the streams. Raises `Outage`: nothing was handed."""
        due = self._due()
        seen = await self._store.read(lambda tx: _look(tx, due))
        now_ms = self._clock()
        for stream, end in seen.ended.items():
            stream.end(end)
        for key, audience in due.audiences.items():
            moved = seen.moved.get(key, []) if isinstance(seen.moved, dict) else seen.moved
            audience.take(
                seen.no,
                moved,
                vehicles=seen.vehicles.get(key),
                whole=seen.whole.get(key, ()),
                joining=due.joining[key],
                most=VEHICLES,
                now_ms=now_ms,
            )
        for stream in due.streams:
            stream.checked_ms = now_ms
        self._no = seen.no
        self._bound()

    def _due(self) -> _Due:
        now_ms = self._clock()
        audiences = dict(self._audiences)
        joining = {key: [*each.joining] for key, each in audiences.items()}
        checked = {
            key: now_ms - each.named_ms >= NAMES_MS
            for key, each in audiences.items()
            if now_ms - each.checked_ms >= CHECK_MS
        }
        streams = [each for each in self._streams if now_ms - each.checked_ms >= CHECK_MS]
        return _Due(self._no, audiences, checked, streams, joining)

    def _bound(self) -> None:
        """Drop streams whose unsent bytes exceed the bound of all."""
        held = sum(each.pending_bytes for each in self._streams)
        if held > BYTES:
            for stream in sorted(self._streams, key=lambda each: -each.pending_bytes):
                held -= stream.pending_bytes
                stream.end(End.BEHIND)
                if held <= BYTES:
                    return


def next_walk_s(began_s: float, written_s: float) -> float:
    """When the next walk is due. `began_s`: when the last one began; `written_s`: when positions were last written."""
    if written_s < began_s:
        return began_s + EVERY_S
    return min(max(began_s + APART_S, written_s + QUIET_S), began_s + MOST_S)


def _look(tx: ReadTx, due: _Due) -> _Seen:
    """Read the changes, on a thread."""
    no = positions.now_no(tx)
    since_no = due.since_no if due.since_no <= no else 0
    moved: list[Moved] | dict[Key, list[Moved]] = []
    standing = {key: each for key, each in due.audiences.items() if each.streams}
    if no != since_no and standing:
        if sum(len(each.vehicles) for each in standing.values()) <= FEW:
            moved = {key: live_vehicles.moved_within(tx, each.scope, since_no) for key, each in standing.items()}
        else:
            moved = live_vehicles.moved(tx, since_no)
    checked = {**due.checked, **dict.fromkeys(_with_strangers(due.audiences, moved), True)}
    vehicles = {key: _vehicles(tx, due.audiences[key], with_names) for key, with_names in checked.items()}
    whole = {key for key, streams in due.joining.items() if streams}
    whole |= {key for key, found in vehicles.items() if _adds(due.audiences[key], found)}
    every = {key: live_vehicles.moved_within(tx, due.audiences[key].scope, 0) for key in whole}
    return _Seen(no, moved, vehicles, every, _ended(tx, due))


def _with_strangers(audiences: Mapping[Key, Audience], moved: list[Moved] | dict[Key, list[Moved]]) -> list[Key]:
    """Audiences within whose reach a vehicle moved that they do not know, if positions were read for each."""
    if not isinstance(moved, dict):
        return []
    return [key for key, rows in moved.items() if any(row[1] not in audiences[key].vehicles for row in rows)]


def _vehicles(tx: ReadTx, audience: Audience, with_names: bool) -> list[LiveVehicle] | list[str]:
    """The audience's vehicles, or only their ids if it knows all of them."""
    if not with_names:
        found = live_vehicles.ids(tx, audience.scope, limit=VEHICLES + 1)
        if not _adds(audience, found):
            return found
    return live_vehicles.vehicles(tx, audience.scope, audience.named, limit=VEHICLES + 1)


def _adds(audience: Audience, found: list[LiveVehicle] | list[str]) -> bool:
    """True if the audience does not know all of these."""
    ids = (each if isinstance(each, str) else each.id for each in found[:VEHICLES])
    return any(each not in audience.vehicles for each in ids)


def _ended(tx: ReadTx, due: _Due) -> dict[Stream, End]:
    """Streams whose session is over, or whose account has another role or company now."""
    ended = {}
    for stream in due.streams:
        try:
            actor = stream.recheck(tx)
        except Refusal:
            ended[stream] = End.SIGNED_OUT
        else:
            if actor != stream.actor:
                ended[stream] = End.CHANGED
    return ended
