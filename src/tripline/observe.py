"""The catalogue of log events and signal subjects, and how logging is set up.

A log event that is not declared here does not exist. No tokens, passwords or positions in any of them.

Not here: metrics (`metrics.py`).
"""

import contextlib
import logging
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, TextIO, cast

from tripline.later import Later

if TYPE_CHECKING:
    import structlog
    from structlog.typing import EventDict, FilteringBoundLogger, Processor
else:
    # Rich would paint tracebacks, which we write plainly: 0.1 s of a start, and 5 MiB.
    structlog = Later("structlog", without="rich")

SIGNAL_SENSOR_CHANGED: Final = "sensor.changed"
"""A sensor's mapping, owner or existence changed; the detail is its id. The pipeline forgets what it knew of it."""
SIGNAL_CREDENTIAL_ENDED: Final = "sensor.credential_ended"
"""A sensor's access token became invalid; the detail is the sensor's id. The gateway ends its session at once."""
SIGNAL_SCORING_DUE: Final = "scoring.due"
"""A trip was closed; the scorer looks for jobs."""
SIGNAL_RESCORING_DUE: Final = "rescoring.due"
"""Somebody asked for a rescoring; whoever goes on with rescorings looks."""
SIGNAL_ERASURE_DUE: Final = "erasure.due"
"""Something was deleted; the eraser looks for what it left behind."""
SIGNAL_RPC_ANSWERED: Final = "rpc.answered"
"""A device answered a call, or the call ended otherwise; the detail is its Request-ID. Who waits for it looks."""
SIGNAL_COMPANY_CHANGED: Final = "company.changed"
"""A company was changed or deleted; the detail is its id. What it wants pushed is read again."""
SIGNAL_PUSH_DUE: Final = "push.due"
"""A message was put into the outbox for a customer's server; the pusher looks."""
SIGNAL_RESEND_DUE: Final = "push.resend_due"
"""More messages are to be sent again than a request did; a worker looks."""
SIGNAL_IMPORT_DUE: Final = "import.due"
"""A draft of an import waits to be checked or registered; a worker looks."""
SIGNAL_MAIL_DUE: Final = "mail.due"
"""A mail was put into the outbox; the postman looks."""
SIGNAL_EXPORT_DUE: Final = "export.due"
"""Somebody asked for an export; the detail is its id. Whoever makes exports looks."""
SIGNAL_VEHICLES_MOVED: Final = "vehicle.moved"
"""Newer positions were written; the detail are the ids of vehicles, with blanks between. Who shows them reads them."""
SIGNAL_RESYNC: Final = "resync"
"""Notifications may have been lost: listeners read their state again."""
SIGNAL_SESSION_BEGAN: Final = "device.session_began"
"""A device connected to another gateway; the detail is its sensor and the session's number. Older sessions end."""
SIGNAL_HINTS_ASKED: Final = "hints.asked"
"""A process waits for others to act on earlier notifications; the detail is its node and the question's number."""
SIGNAL_HINTS_SETTLED: Final = "hints.settled"
"""A process has acted on them; the detail is the question's, and the node that answers."""
SIGNAL_DEVICE_SEND: Final = "device.send"
"""A message waits to be sent to a device; the detail is the node that is connected with it."""
SIGNAL_DEVICE_SENT: Final = "device.sent"
"""What became of such a message; the detail is the node that asked, the message's number, and the outcome."""

EVENTS: Final[dict[str, str]] = {
    "serve.ready": "every listener is open",
    "health.failing": "`/health/ready` answers 503 from now on; which check failed, and why",
    "health.failed": "an unexpected error while readiness was looked at; a bug",
    "health.well": "`/health/ready` answers 200 again",
    "serve.stopping": "a stop was asked for; connections drain",
    "serve.stopped": "everything accepted is committed and closed",
    "device.connected": "a device was admitted (level debug)",
    "device.no_tls": "a TLS handshake failed; the reason, such as an alert of the client that it does not trust us;"
    " once in ten seconds for each address",
    "device.refused": "a CONNECT was answered with a refusal code; once in ten seconds for each address",
    "device.closed": "a device's connection ended, with the reason (level debug)",
    "device.contended": "a device's connections take each other's place again and again: two devices share a token",
    "device.error": "an unexpected error while a device's bytes were handled; its connection was closed; a bug",
    "ingest.reject": "a message could not be used; reason and sensor",
    "ingest.failed": "an unexpected error while a message was taken in; it is in the rejected-message log; a bug",
    "store.collision": "a transaction met another one and runs again; of interest when it is frequent (debug)",
    "store.checkpoint_failed": "the write-ahead log of SQLite could not be carried over into the database; tried again",
    "ingest.outage": "the store could not commit a batch; nothing of it was acknowledged",
    "ingest.slow": "a batch took longer than 2 s; where it came from, its size, and the step that took most of it",
    "score.done": "trips were scored",
    "map.imported": "a map that came over REST was imported; its area",
    "map.import_ended": "an import that came over REST ended without a map; its area, and what was said",
    "map.import_cancelled": "an import was cancelled over REST; its area",
    "map.removed": "a map was removed over REST; its area",
    "map.none": "a Valhalla server is to find roads, and no map is imported that tells their limits",
    "map.lost": "an imported map cannot be read any more (docs/operating.md)",
    "score.failed": "a scoring job failed and will be tried again",
    "rescoring.done": "a rescoring is at its end; trips judged, scores that moved, and whether it was a dry run",
    "standings.failed": "percentiles of scores could not be counted; tried again",
    "rescoring.failed": "an unexpected error while a rescoring went on; a bug",
    "trip.failed": "silent trips of customers' systems could not be ended; tried again",
    "erase.done": "nothing is left of some deleted vehicles; how many, and how many rows they had",
    "erase.failed": "erasing what deleted vehicles left behind failed and will be tried again",
    "account.login_failed": "wrong credentials; once in ten seconds",
    "account.login_throttled": "an attempt at a password was not made: too many failed before it; once in ten seconds",
    "account.refresh_reused": "a refresh token was used again after its time; its session was ended",
    "imports.failed": "an unexpected error while a draft was checked or registered; its owner is told; a bug",
    "accounts.failed": "expired sessions, links, drafts and parked mails could not be removed; tried again later",
    "mail.failed": "a mail could not be sent and will be tried again",
    "mail.parked": "a mail is not tried any more; `tripline doctor` counts them",
    "push.failed": "messages to a customer's server could not be delivered and will be tried again; how many",
    "push.parked": "messages to a customer's server are not tried any more; `tripline push list` shows them",
    "push.mute": "a customer's server takes messages and never answers; from now on each is sent once, without waiting",
    "push.answers": "a customer's server answers again; messages that nobody confirmed are sent again, so many",
    "push.unconfirmed_forgotten": "too many messages were never confirmed; the oldest were forgotten, so many",
    "push.outage": "the store is away; messages to customers' servers wait, nothing is lost",
    "push.error": "an unexpected error while messages were sent; they will be tried again; a bug",
    "export.done": "a file was made of a list; which list, and its rows",
    "export.cancelled": "a file was being made of a list that its owner no longer wants, or that another process took",
    "export.refused": "a file of a list cannot be made, for its owner may not see the list any more; the refusal",
    "export.failed": "an unexpected error while a file was made of a list; a bug",
    "presence.failed": "who is connected could not be written down; tried again",
    "live.failed": "an unexpected error while positions of vehicles were written; tried again; a bug",
    "live.outage": "positions of vehicles could not be written; nothing is lost, it is tried again",
    "rpc.failed": "calls that are overdue or old could not be ended or forgotten; tried again",
    "partitions.made": "a week of a table has its partition from now on (PostgreSQL)",
    "partitions.dropped": "a week of rejected messages was dropped as a whole (PostgreSQL)",
    "partitions.failed": "a partition could not be made or dropped without holding others up; tried again",
    "carrier.away": "the carrier did not answer in time, or not understandably; the pause of a line may be asked again",
    "bus.away": "brokers cannot be reached or do not answer; the code of the client's library says how; it tries again",
    "bus.refused": "brokers refuse us: certificate, name and password, or rights; the code says which",
    "bus.back": "brokers answer again",
    "bus.topic_missing": "a topic does not exist, or we may not see it; we look again",
    "bus.topics_not_made": "topics of ours could not be looked at or made; the reason says why; it tries again",
    "bus.assigned": "partitions came to this member of the consumer group; how many it has now",
    "bus.revoked": "partitions went to other members of the group; how many it has now",
    "bus.lost": "the group went on without this member; what it had is read again by others",
    "bus.paused": "what was read is not stored yet; nothing more is read until it is; the step that takes so long, the"
    " messages under way and read ahead, and for how long",
    "bus.resumed": "reading goes on; how long it paused",
    "bus.renewed": "the client's library gave up; it was started anew",
    "bus.reject": "messages of customers could not be used; reason, how many, and where the first of them stands",
    "bus.message_failed": "an unexpected error while a message was taken in; it was set aside; a bug",
    "bus.outage": "messages of customers cannot be stored, or dead letters not written; nothing is lost, it is retried",
    "bus.failed": "an unexpected error while the bus was read or written; it goes on; a bug",
    "node.entered": "this process took its place among those that share the store; slot, node and roles",
    "node.away": "the store cannot be reached, so others may take this process for dead; tried again",
    "node.lost": "others took this process for dead; it goes on as a new node and says again who is connected",
    "node.buried": "a process fell silent; what it held is free, its devices' sessions ended",
    "node.failed": "an unexpected error while processes were looked after; tried again; a bug",
    "node.unsettled": "a process did not say in time that it acts on a change that was just answered; once it reaches"
    " the store it does so within seconds",
    "session.ended": "devices' sessions ended that another process ended or took over without a notification; how many",
    "loop.held": "the event loop came late; for how long, what most of the time went to, and the line that was seen"
    " most often meanwhile (setting `log.held_ms`)",
    "tls.own_certificate": "gateways that share a store need one certificate: set tls.cert and tls.key",
    "tls.renewed": "new handshakes get a new certificate; days until the first of those in use ends",
    "tls.not_renewed": "a certificate could not be renewed, or a changed one not be used; the former stays in use",
    "tls.authority_ends": "our own authority ends, and its successor is in ca.crt: give that to devices; days left",
    "tls.failed": "an unexpected error while certificates were looked after; those in use stay; a bug",
    "signal.away": "other processes are not heard or told for now, and why; everything is read again afterwards",
    "signal.failed": "a listener of a notification failed; the others got it; a bug",
    "request.outage": "a request was answered 503, and why: something that it needs is away or damaged",
    "http.limit": "a peer of an HTTP listener met a bound (docs/limits.md); which, how often, the address",
    "serve.few_files": "the system permits fewer open files than the settings ask for; how they are shared",
    "request.failed": "an unexpected error answered 500; a bug",
}
"""Log event names and when they are written."""

LASTING: Final = frozenset(
    {
        "ingest.outage",
        "push.outage",
        "bus.outage",
        "presence.failed",
        "live.failed",
        "live.outage",
        "rpc.failed",
        "score.failed",
        "trip.failed",
        "erase.failed",
        "accounts.failed",
        "partitions.failed",
        "node.away",
        "store.checkpoint_failed",
        "request.outage",
    }
)
"""Warnings that come with every attempt while something is away. Each is written once a minute for each reason."""
SAID_AGAIN_S: Final = 60.0
_OF_LASTING: Final = ("part", "reason", "error", "route", "method")
_SAID_AT_MOST: Final = 1_000
"""Reasons to remember; beyond them all are forgotten, and said anew."""
SAMPLED: Final = {
    "device.refused": ("code", "peer"),
    "device.no_tls": ("reason", "peer"),
    "account.login_failed": (),
    "account.login_throttled": (),
}
"""Lines that strangers cause, and the fields that make a kind: each kind is written once in ten seconds."""
SAMPLE_S: Final = 10.0
KINDS_AT_MOST: Final = 100
"""Kinds of sampled lines in ten seconds; all others of an event are one kind, for addresses change."""
_said: dict[tuple[Any, ...], list[float]] = {}
"""When each lasting trouble was written, and how often it was left out since."""
_sampled: dict[tuple[Any, ...], list[float]] = {}
"""The same of sampled lines."""


def say_anew() -> None:
    """What was away is back: when it is away again, that is news."""
    _said.clear()


def _seldom(_logger: Any, method: str, event: "EventDict") -> "EventDict":
    """Leave out lasting troubles and sampled lines that were written lately; count them in the next: `repeated`."""
    name, now = event.get("event", ""), time.monotonic()
    if method == "warning" and name in LASTING:
        kind = (name, *map(event.get, _OF_LASTING))
        if kind not in _said and len(_said) >= _SAID_AT_MOST:
            _said.clear()
        return _once(event, _said, kind, now, SAID_AGAIN_S)
    if name in SAMPLED:
        kind = (name, *map(event.get, SAMPLED[name]))
        if kind not in _sampled and len(_sampled) >= KINDS_AT_MOST:
            for each in [each for each, (at, _) in _sampled.items() if now - at >= SAMPLE_S]:
                del _sampled[each]
            if len(_sampled) >= KINDS_AT_MOST:
                kind = (name,)
        return _once(event, _sampled, kind, now, SAMPLE_S)
    return event


def _once(
    event: "EventDict", said: dict[tuple[Any, ...], list[float]], kind: tuple[Any, ...], now: float, every_s: float
) -> "EventDict":
    """The event with how often it was left out; left out itself within this time of the last one."""
    at, repeated = said.get(kind, (-math.inf, 0))
    if now - at < every_s:
        said[kind][1] += 1
        raise structlog.DropEvent
    said[kind] = [now, 0]
    if repeated:
        event["repeated"] = int(repeated)
    return event


class _Lines:
    """A stream for log lines. Work goes on without a line that the stream does not take, such as one on a full disk."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_cut = False

    def write(self, text: str) -> int:
        """Write the text, on a line of its own behind one that was cut off."""
        with self._without_trouble():
            self._stream.write(f"\n{text}" if self._is_cut else text)
            self._is_cut = False
        return len(text)

    def flush(self) -> None:
        """Hand on what was written."""
        with self._without_trouble():
            self._stream.flush()

    @contextlib.contextmanager
    def _without_trouble(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            self._is_cut = True


_set_up: Callable[[], None] | None = None
"""How log lines are written, as long as none was: what writes them takes a tenth of a command's start to load."""
_setting_up: Final = threading.Lock()


def configure_logging(*, level: str, as_json: bool, stream: TextIO | None = None) -> None:
    """Send every log line to the stream (default stderr): key=value text for people, JSON lines for machines."""
    set_up_before_a_line(partial(_configure, level, as_json=as_json, stream=stream or sys.stderr))


def set_up_before_a_line(set_up: Callable[[], None] | None) -> None:
    """Have this done before the next log line is written, in place of what was to be done before."""
    global _set_up
    _set_up = set_up


def _configure(level: str, *, as_json: bool, stream: TextIO) -> None:
    renderer: Processor = (
        structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer(colors=False)
    )
    structlog.configure(
        processors=[
            _seldom,
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", _Lines(stream))),
        cache_logger_on_first_use=True,
    )


class _Logger:
    """The logger of a part, which loads what writes lines when there is one."""

    def __init__(self, part: str) -> None:
        self._part = part

    @cached_property
    def _bound(self) -> "FilteringBoundLogger":
        bound: FilteringBoundLogger = structlog.get_logger(part=self._part)
        return bound

    def __getattr__(self, method: str) -> Any:
        """What writes a line of a level, or binds values."""
        if _set_up is not None:
            _set_up_once()
        return getattr(self._bound, method)


def _set_up_once() -> None:
    # A second set-up has a lock of its own: lines of two threads would run into each other.
    with _setting_up:
        if _set_up is not None:
            _set_up()
            set_up_before_a_line(None)


def logger(part: str) -> "FilteringBoundLogger":
    """The logger of a part of the program."""
    return cast("FilteringBoundLogger", _Logger(part))
