"""An audience of live streams, whose readers see the same vehicles, and one stream: their state, without I/O or clock.

Events are in the form of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), their
data is JSON (spec/positions 5). An audience encodes an event once for all of its streams.
"""

import asyncio
import hashlib
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple

import msgspec

from tripline.domain.access import Actor, Reach, Scope
from tripline.domain.shares import Held
from tripline.services.shares import End as Ending
from tripline.store import reach
from tripline.store.live_vehicles import LiveVehicle, Moved
from tripline.store.transactions import ReadTx

BEAT_MS: Final = 800
"""A stream without news gets a beat at the next walk after so long: at least every two seconds."""
BEHIND_MS: Final = 10_000
"""A stream whose oldest unsent event is so old is dropped."""
BEHIND_BYTES: Final = 8 * 1_048_576
"""As `BEHIND_MS`, by bytes; a first answer with 20,000 vehicles is smaller."""
PIECE: Final = 65_536
"""Bytes that are written at a time."""
_JSON: Final = msgspec.json.Encoder()


class End(Enum):
    """Why a stream ends, as its last event says."""

    SIGNED_OUT = "signed_out"
    """The session is over: signed out, expired, account disabled or deleted."""
    CHANGED = "changed"
    """The account has another role or company: open another stream."""
    STOPPING = "stopping"
    """The server stops."""
    CROWDED = "crowded"
    """The stream makes room for another one."""
    BEHIND = "behind"
    """The reader did not read."""


class Key(NamedTuple):
    """Readers with equal keys see the same vehicles and names."""

    reaches: frozenset[Reach]
    named: frozenset[Reach]
    user_id: str
    """Empty if neither reach depends on the person."""
    company_id: str | None

    @classmethod
    def of(cls, scope: Scope, named: frozenset[Reach]) -> "Key":
        is_personal = bool(reach.mask_of(scope.reaches) & reach.OF_PEOPLE) or Reach.SELF in named
        return cls(scope.reaches, named, (scope.user_id or "") if is_personal else "", scope.company_id)


class Cursor(NamedTuple):
    """What a reader has: all changes up to a number, and the vehicles with this digest."""

    no: int
    digest: str

    @classmethod
    def read(cls, text: str | None) -> "Cursor":
        """Read a cursor; one that is none begins anew."""
        no, _, digest = (text or "").partition(".")
        # 15 digits: the number fits into the store's integers.
        return cls(int(no), digest) if no.isascii() and no.isdecimal() and len(no) <= 15 and digest else cls(0, "")

    @property
    def text(self) -> str:
        """As an event's id."""
        return f"{self.no}.{self.digest}"


class Stream:
    """One reader. `pieces` yields its bytes."""

    audience: "Audience"
    place: Held[Ending]

    def __init__(self, actor: Actor, recheck: Callable[[ReadTx], Actor], cursor: Cursor, *, now_ms: int) -> None:
        self.actor = actor
        self.recheck = recheck
        self.cursor = cursor
        self.checked_ms = now_ms
        self.sent_ms = 0
        """When the last event was handed over."""
        self.pending: deque[tuple[int, bytes]] = deque()
        """Unsent events, with the time at which each was handed over."""
        self.pending_bytes = 0
        self.ended: End | None = None
        """Why the stream is over; None: it is not."""
        self._news = asyncio.Event()

    def put(self, event: bytes, now_ms: int) -> None:
        """Hand over an event; a reader that is too far behind is dropped."""
        if self.ended is not None:
            return
        self.sent_ms = now_ms
        self.pending.append((now_ms, event))
        self.pending_bytes += len(event)
        if self.pending_bytes > BEHIND_BYTES or now_ms - self.pending[0][0] > BEHIND_MS:
            self.end(End.BEHIND)
        self._news.set()

    def end(self, why: End) -> None:
        """Send this as the last event, instead of the unsent ones; only the first end counts."""
        if self.ended is None:
            self.ended = why
            self.pending.clear()
            self.pending_bytes = 0
            self._news.set()

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        yield b": live\n\n"
        while self.ended is None:
            await self._news.wait()
            self._news.clear()
            while self.pending:
                event = memoryview(self.pending[0][1])
                for start in range(0, len(event), PIECE):
                    yield bytes(event[start : start + PIECE])
                if self.pending:
                    self.pending_bytes -= len(self.pending.popleft()[1])
        yield b"event: end\ndata: " + _JSON.encode({"reason": self.ended.value}) + b"\n\n"


class Audience(msgspec.Struct, eq=False):
    """Streams of readers who see the same vehicles."""

    key: Key
    scope: Scope
    named: frozenset[Reach]
    vehicles: dict[str, LiveVehicle] = {}
    is_cut: bool = False
    """More vehicles are within reach than one stream shows."""
    digest: str = ""
    checked_ms: int = 0
    """When the vehicles were read."""
    named_ms: int = 0
    """When their names were read."""
    streams: list[Stream] = []
    joining: list[Stream] = []
    """Streams that have had nothing yet."""

    def leave(self, stream: Stream) -> None:
        for streams in (self.streams, self.joining):
            if stream in streams:
                streams.remove(stream)

    def take(
        self,
        no: int,
        moved: Sequence[Moved],
        *,
        vehicles: Sequence[LiveVehicle] | Sequence[str] | None,
        whole: Sequence[Moved],
        joining: Sequence[Stream],
        most: int,
        now_ms: int,
    ) -> None:
        """Hand the results of a walk to the streams.

        `no`: the number up to which changes were read. `moved`: positions since the last walk, also of other vehicles.
        `vehicles`: all within reach, or only their ids, one more than `most` if there are more; None: not read.
        `whole`: positions of all vehicles, if vehicles or streams were added. `joining`: streams that begin.
        """
        events = []
        if vehicles is not None:
            changes = self._update(vehicles, most, now_ms)
            if changes is not None:
                events.append(_event("vehicles", changes.told))
                # A new vehicle that moves is in both.
                moved = [each for each in moved if each[1] not in changes.new]
                moved += [each for each in whole if each[1] in changes.new]
        known = self.vehicles
        here = [each[1:] for each in moved if each[1] in known]
        if here:
            events.append(_event("positions", here))
        cursor = Cursor(no, self.digest)
        beat = _event("beat", {"now": now_ms}, cursor.text)
        news = b"".join((*events, beat))
        for stream in self.streams:
            if events or now_ms - stream.sent_ms >= BEAT_MS:
                stream.put(news, now_ms)
        first = b""
        for stream in joining:
            if stream not in self.joining:
                continue
            self.joining.remove(stream)
            self.streams.append(stream)
            if stream.cursor.digest == self.digest and stream.cursor.no <= no:
                since = [each[1:] for each in whole if each[0] > stream.cursor.no and each[1] in known]
                missed = _event("positions", since) if since else b""
                stream.put(missed + beat, now_ms)
            else:
                first = first or self._everything(whole)
                stream.put(first + beat, now_ms)

    def _everything(self, whole: Sequence[Moved]) -> bytes:
        vehicles = {"whole": True, "vehicles": [*self.vehicles.values()], "gone": [], "cut": self.is_cut}
        here = [each[1:] for each in whole if each[1] in self.vehicles]
        return _event("vehicles", vehicles) + _event("positions", here)

    def _update(self, found: Sequence[LiveVehicle] | Sequence[str], most: int, now_ms: int) -> "_Changes | None":
        """Store the vehicles; return the changes, None without any."""
        self.checked_ms = now_ms
        was_cut, self.is_cut = self.is_cut, len(found) > most
        before = self.vehicles
        after: dict[str, LiveVehicle] = {}
        changed = []
        is_named = False
        for each in found[:most]:
            if isinstance(each, LiveVehicle):
                is_named = True
                after[each.id] = each
                if before.get(each.id) != each:
                    changed.append(each)
            elif each in before:
                after[each] = before[each]
        if is_named or not found:
            self.named_ms = now_ms
        gone = [each for each in before if each not in after]
        if not changed and not gone and was_cut == self.is_cut and self.digest:
            return None
        self.vehicles = after
        self.digest = hashlib.blake2b(_JSON.encode((self.is_cut, sorted(after.values()))), digest_size=8).hexdigest()
        new = {each.id for each in changed if each.id not in before}
        return _Changes({"whole": False, "vehicles": changed, "gone": gone, "cut": self.is_cut}, new)


class _Changes(NamedTuple):
    told: dict[str, Any]
    new: set[str]


def _event(name: str, data: Any, event_id: str | None = None) -> bytes:
    line = b"" if event_id is None else b"id: %b\n" % event_id.encode()
    return b"event: %b\n%bdata: %b\n\n" % (name.encode(), line, _JSON.encode(data))
