"""Every seam between Tripline and what can be replaced, on one page.

An adapter is a file in `adapters/` (or `store/` for the store), named only in `wiring_adapters.py` and `app.py`, and
passes the contract suite of its port in `tests/contract/`.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

import msgspec

from tripline.domain.ids import RowNo, SensorId

if TYPE_CHECKING:
    # They bring numpy, which no process needs that has nothing to score.
    from tripline.roads.located import Located
    from tripline.scoring.drives import Drives


class Outage(Exception):  # noqa: N818  a state of the world, not an error of ours
    """Something we need is away (store, bus, carrier). Retried, counted, 503; never a false acknowledgement."""


class Fault(Enum):
    """What is wrong with a store that cannot be used."""

    AWAY = "away"
    """It is not reached, or others hold it."""
    FULL = "full"
    """Its disk has no room."""
    READ_ONLY = "read-only"
    """It takes no writes."""
    DISK = "disk error"
    """Its disk does not read or write."""
    DAMAGED = "damaged"
    """What is on its disk is not what was written. It does not mend itself."""


class StoreOutage(Outage):
    """The store cannot be used."""

    def __init__(self, fault: Fault, text: str) -> None:
        super().__init__(text)
        self.fault = fault


class Clock(Protocol):
    """Reads the time; only the rim holds one."""

    def __call__(self) -> int:
        """Now, epoch ms."""


class Signals(Protocol):
    """Hints between components (and, scaled out, between processes). State is in tables; a lost hint costs only time.

    Subjects are the constants of `observe.py` (`SIGNAL_...`).
    """

    def notify(self, subject: str, detail: str = "") -> None:
        """Tell every subscriber of the subject; never blocks, never raises."""

    def subscribe(self, subject: str, listener: Callable[[str], None]) -> None:
        """Call the listener (on the event loop, quickly) with the detail of each hint."""

    async def run(self) -> None:
        """Let hints pass between processes, where there are several, until cancelled; what waits then is still sent."""


class Source(Protocol):
    """Where frames came from, and whom to tell when they are durable. Implemented by the gateway's connection."""

    sensor_id: SensorId

    def settled(self, tokens: list[int]) -> None:
        """The frames with these tokens (in the order offered) are committed; called on the event loop."""

    def abandoned(self) -> None:
        """The store is away: nothing offered since the last `settled` is kept. Close without acknowledging."""


class Intake(Protocol):
    """The listener of the ingest pipeline, offered to the gateway."""

    def offer(self, source: Source, topic: str, body: bytes, received_ms: int, token: int) -> None:
        """Queue one frame. Cheap; never blocks. The order of a source's frames is kept."""

    def refuse(
        self, source: Source, topic: str, head: bytes, received_ms: int, token: int, reason: str, size: int
    ) -> None:
        """Keep a frame the gateway could not take in: `head` is the first KiB of its `size` bytes.

        It goes to the rejected-message log with the reason and is settled in order, like a frame.
        """

    @property
    def crowded(self) -> bool:
        """Whether sources should stop reading until their next `settled`."""

    @property
    def away(self) -> bool:
        """Whether nothing that is offered now would be kept: who comes had better come again later."""


TAKEN_OVER: Final = "taken_over"
"""Why an older session of a sensor ends in the moment in which a newer one begins."""


class Presence(Protocol):
    """Told by the gateway which devices are there. A session's number is greater than those of older sessions."""

    def connected(self, sensor_id: SensorId, session_no: RowNo, at_ms: int, callable_now: Callable[[], None]) -> None:
        """A session began. Cheap; never blocks.

        `callable_now` runs on the event loop once a call that any process makes reaches this session: at once where
        there is one process, after a commit where there are several, never when a newer session took its place.
        """

    def lost(self, sensor_id: SensorId, session_no: RowNo, at_ms: int, *, seen_ms: int, reason: str) -> None:
        """The session ended, for this reason; something was last heard at `seen_ms`. Cheap; never blocks.

        One that is `TAKEN_OVER` ends just before, or any time after, the newer one begins.
        """


class Delivery(Enum):
    """What became of a message to a device."""

    SENT = "written to its connection"
    NOT_CONNECTED = "it has no live session"
    NOT_SUBSCRIBED = "it has a session, and did not subscribe to the topic"
    CONGESTED = "it does not read what was sent before"


class Devices(Protocol):
    """Devices with a live session, on whichever gateway."""

    async def send(self, sensor_id: SensorId, topic: str, body: bytes) -> Delivery:
        """Send a message at QoS 1, or less when the device asked for less."""


class Webhook(msgspec.Struct, frozen=True):
    """A request to a customer's server."""

    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


class WebhookFailedError(Exception):
    """No status line came in time, or the address may not be asked; the text says why, without the address."""


UNANSWERED: Final = "The server took the message and did not answer."


class WebhookUnansweredError(WebhookFailedError):
    """The server took the connection and the whole request; neither a byte nor the end came in time (spec/push M1)."""

    def __init__(self) -> None:
        super().__init__(UNANSWERED)


class Listening(msgspec.Struct, frozen=True):
    """How to send to a server that takes messages and never answers: go on early, and listen on."""

    place_s: float
    """How long to wait for an answer once the whole request is written."""
    heard: Callable[[int], None]
    """Called on the event loop with the status of an answer that comes later, within the usual time."""


class WebhookReply(msgspec.Struct, frozen=True):
    """What a customer's server answered, for somebody who wants to see it."""

    status: int
    took_ms: int
    """From the request to its status line."""
    start: bytes
    """How the body begins, 1,000 bytes at most."""


class WebhookSender(Protocol):
    """Sends requests to servers of customers, and follows no redirect."""

    async def post(self, webhook: Webhook, listening: Listening | None = None) -> int | None:
        """The status of the answer, whose body is not waited for; None when the connection listens on.

        Raises `WebhookFailedError`, of which `WebhookUnansweredError` is one.
        """

    async def ask(self, webhook: Webhook) -> WebhookReply:
        """The answer, as somebody wants to see it. Raises as `post`."""


class Letter(msgspec.Struct, frozen=True):
    """A mail to send: plain text, one recipient."""

    recipient: str
    subject: str
    text: str


class LetterRefusedError(Exception):
    """The mail server will never take this letter (unknown recipient, say); trying again is of no use."""


class Mailer(Protocol):
    """Sends mails."""

    async def send(self, letter: Letter) -> None:
        """Hand the letter over for good. Raises `Outage` when it may work later, `LetterRefusedError` when never."""


class CarrierRefusedError(Exception):
    """The carrier answered that it will not do it; the text says why, in its words cut short."""


class CarrierLines(Protocol):
    """What is asked of the carrier about a line."""

    async def unpause(self, mdn: str, *, request_id: str) -> None:
        """Lift the pause of the line with this telephone number; asked twice with one request id, it happens once.

        Raises `CarrierRefusedError`, or `Outage` when it is not known whether it was done.
        """


class BusMessage(NamedTuple):
    """A message that was read from the bus; topic, partition and offset name it for ever."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes
    timestamp_ms: int
    """When it was written, epoch ms; 0 when nobody said so."""


BusPartition: TypeAlias = tuple[str, int]
"""Topic and partition."""


class BusBatch(msgspec.Struct, frozen=True):
    """Messages, those of a partition in their order. It goes back to the reader that it came from."""

    messages: Sequence[BusMessage]
    number: int
    """The reader's own: which batch this is, also with fewer messages."""
    marks: Mapping[BusPartition, tuple[int, int]]
    """The reader's own: since when each partition is its, and where it goes on behind this batch."""
    came: bool = False
    """Whether it is the first with messages of a partition that came to this reader: others may have stored them."""


class BusReader(Protocol):
    """One member of a consumer group. Every message is read at least once; again, when its batch was not `done`.

    Whoever cannot store (the store is away) keeps the batch and tries again: a reader that is not read pauses, stays in
    its group, and drops nothing. A partition that moves to another member is let go only when the batches with
    messages of it are done, or after five seconds; then it is theirs, and `kept` says so.
    """

    async def read(self, most: int | None = None) -> BusBatch:
        """The next messages, at least one and so many at most; waits for them. One batch is read ahead, no more."""

    def kept(self, batch: BusBatch) -> BusBatch:
        """The batch without messages of partitions that are another member's by now. Ask before each try to store."""

    def done(self, batch: BusBatch) -> None:
        """The batch is stored: the group goes on behind it, once those read before it are done. Cheap, never blocks."""

    def skip(self, offsets: Mapping[BusPartition, int]) -> None:
        """What lies before these offsets is stored: go on there. Cheap, never blocks."""

    def explain(self, doing: Callable[[], str]) -> None:
        """Where to ask what happens to the batch that was read, for the log; may be called on any thread."""


class BusLog(Protocol):
    """What is known of one topic beside its messages."""

    async def identity(self) -> str:
        """The topic's name with the id that brokers gave it: another one for a topic made anew. Raises `Outage`."""

    async def ends(self) -> dict[int, int]:
        """Partition -> the offset that its next message will have. Raises `Outage`."""


class Receipts(Protocol):
    """Told on the event loop what became of messages that it sent; each ticket is in one call, once."""

    def delivered(self, tickets: list[Any]) -> None:
        """Every replica that must have them has these messages."""

    def failed(self, tickets: list[Any]) -> None:
        """It is not known whether these messages will be read by anybody."""


class BusNote(NamedTuple):
    """A message to write to the bus."""

    topic: str
    key: bytes | None
    value: bytes


class BusMessageRefusedError(Exception):
    """The brokers will never take this message (too long, say); the text says why."""


class BusWriter(Protocol):
    """Writes to the bus, each message once, messages of one key in their order."""

    def send(self, note: BusNote, told: Receipts, ticket: Any) -> None:
        """Queue a message; `told` hears of it. Cheap, never blocks. Raises `Outage` when no more may wait."""

    async def deliver(self, notes: Sequence[BusNote]) -> None:
        """Write messages; all are kept when this returns. Raises `Outage`, or `BusMessageRefusedError`."""

    async def reach(self, topic: str) -> None:
        """See whether brokers answer, asking about this topic. Raises `Outage`."""

    @property
    def crowded(self) -> bool:
        """Whether so much waits that senders should stop for now."""

    @property
    def away(self) -> bool:
        """Whether messages are not taken: the latest that was settled failed."""


class RoadsOutage(Outage):
    """What is to tell roads is away; trips elsewhere can be scored."""


class LostMap(NamedTuple):
    """A map that is to tell roads, and cannot be read."""

    name: str
    why: str


class RoadMatcher(Protocol):
    """Tells on which roads trips were driven, and the limits there."""

    @property
    def has_maps(self) -> bool:
        """Whether it knows any road at all. Cheap."""

    def located(self, drives: "Drives") -> "Located":
        """The drives with what is known of their roads. Takes milliseconds; called on any thread.

        Raises `RoadsOutage` while what would tell the roads of one of them is away: for a time, then it goes without.
        """

    def lost(self) -> Sequence[LostMap]:
        """The maps that it cannot read, by name. Takes milliseconds; called on any thread."""


class MapTile(NamedTuple):
    """A vector tile (MVT)."""

    version: str
    """Of the whole map: another one may have another tile there."""
    body: bytes
    packed: bool
    """Whether the body is packed with gzip."""


class ShownMap(NamedTuple):
    """The base map as a whole."""

    version: str
    """Changes when any tile may have changed."""
    bounds: tuple[float, float, float, float] | None
    """West, south, east, north, degrees; None: there is no map."""
    least_zoom: int
    most_zoom: int
    attribution: str
    """Whom to name beside it, plain text."""


NO_MAP: Final = ShownMap("0", None, 0, 0, "")
"""What is to see without a map."""


class BaseMap(Protocol):
    """The tiles of a map that pages show. Called on the event loop, and quick."""

    def shown(self) -> ShownMap:
        """What there is to see now."""

    async def tile(self, zoom: int, column: int, row: int) -> MapTile | None:
        """A tile; None: nothing is there. `column` and `row` lie between 0 and 2^zoom - 1."""

    def unpacked(self, tile: MapTile) -> bytes:
        """The body of a tile without packing. Raises `Outage` when it is damaged."""
