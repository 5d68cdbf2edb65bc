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
"""A sensor's mapping, owner or existence changed; the detail is its id. The pipeline drops its cached state."""
SIGNAL_CREDENTIAL_ENDED: Final = "sensor.credential_ended"
"""A sensor's access token became invalid; the detail is the sensor's id. The gateway ends its session at once."""
SIGNAL_SCORING_DUE: Final = "scoring.due"
"""A trip was closed; the scorer looks for jobs."""
SIGNAL_RESCORING_DUE: Final = "rescoring.due"
"""A rescoring was requested; the rescoring worker checks for it."""
SIGNAL_ERASURE_DUE: Final = "erasure.due"
"""Something was deleted; the eraser checks for its remaining data."""
SIGNAL_RPC_ANSWERED: Final = "rpc.answered"
"""A device answered a call, or the call ended otherwise; the detail is its Request-ID. The waiting request reads it."""
SIGNAL_COMPANY_CHANGED: Final = "company.changed"
"""A company was changed or deleted; the detail is its id. Its push settings are read again."""
SIGNAL_PUSH_DUE: Final = "push.due"
"""A message was put into the outbox for a customer's server; the pusher looks."""
SIGNAL_RESEND_DUE: Final = "push.resend_due"
"""More messages are to be sent again than a request did; a worker looks."""
SIGNAL_IMPORT_DUE: Final = "import.due"
"""A draft of an import waits to be checked or registered; a worker looks."""
SIGNAL_MAIL_DUE: Final = "mail.due"
"""A mail was put into the outbox; the postman looks."""
SIGNAL_EXPORT_DUE: Final = "export.due"
"""An export was requested; the detail is its id. The export worker checks for it."""
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
"""The outcome of such a message; the detail is the requesting node, the message's number, and the outcome."""

EVENTS: Final[dict[str, str]] = {
    "serve.ready": "every listener is open",
    "health.failing": "`/health/ready` answers 503 from now on; the failed check and its reason",
    "health.failed": "an unexpected error in the readiness check; a bug",
    "health.well": "`/health/ready` answers 200 again",
    "serve.stopping": "a stop was requested; connections drain",
    "serve.stopped": "all accepted messages are committed, and everything is closed",
    "device.connected": "a device was admitted (level debug)",
    "device.no_tls": "a TLS handshake failed; the reason, such as the client's alert that it does not trust us; once in"
    " ten seconds for each address",
    "device.refused": "a CONNECT was answered with a refusal code; once in ten seconds for each address",
    "device.closed": "a device's connection ended, with the reason (level debug)",
    "device.contended": "a device's connections replace each other repeatedly: two devices share a token",
    "device.error": "an unexpected error in the processing of a device's bytes; its connection was closed; a bug",
    "ingest.reject": "a message was unusable; reason and sensor",
    "ingest.failed": "an unexpected error in the processing of a message; it is in the rejected-message log; a bug",
    "store.collision": "a transaction collided with another one and is retried; relevant when frequent (debug)",
    "store.checkpoint_failed": "the write-ahead log of SQLite could not be copied into the database; retried",
    "ingest.outage": "the store could not commit a batch; none of it was acknowledged",
    "ingest.slow": "a batch took longer than 2 s; its source, its size, and its longest step",
    "score.done": "trips were scored",
    "map.imported": "a map was imported over REST; its area",
    "map.import_ended": "an import over REST ended without a map; its area, and its last output",
    "map.import_cancelled": "an import was cancelled over REST; its area",
    "map.removed": "a map was removed over REST; its area",
    "map.none": "Valhalla is configured, but no map with speed limits has been imported",
    "map.lost": "an imported map can no longer be read (docs/operating.md)",
    "score.failed": "a scoring job failed and will be retried",
    "rescoring.done": "a rescoring is complete; scored trips, changed scores, and if it was a dry run",
    "standings.failed": "percentiles of scores could not be computed; retried",
    "rescoring.failed": "an unexpected error in a rescoring; a bug",
    "trip.failed": "silent trips of customers' systems could not be ended; retried",
    "erase.done": "deleted vehicles are fully erased; their number, and the number of their rows",
    "erase.failed": "erasing the data of deleted vehicles failed and will be retried",
    "account.login_failed": "wrong credentials; once in ten seconds",
    "account.login_throttled": "a password was not checked: too many attempts failed before; once in ten seconds",
    "account.refresh_reused": "a replaced refresh token was used again too late; its session was ended",
    "imports.failed": "an unexpected error in the check or the registration of a draft; its owner sees it; a bug",
    "accounts.failed": "expired sessions, links, drafts and parked mails could not be removed; retried later",
    "mail.failed": "a mail could not be sent and will be retried",
    "mail.parked": "retries of a mail have ended; `tripline doctor` counts such mails",
    "push.failed": "messages to a customer's server could not be delivered and will be retried; their number",
    "push.parked": "retries of messages to a customer's server have ended; `tripline push list` shows them",
    "push.mute": "a customer's server accepts messages but never answers; from now on each is sent once, without"
    " waiting",
    "push.answers": "a customer's server answers again; unconfirmed messages are sent again; their number",
    "push.unconfirmed_forgotten": "too many messages were never confirmed; the oldest were dropped; their number",
    "push.outage": "the store is away; messages to customers' servers wait, none is lost",
    "push.error": "an unexpected error in the sending of messages; they will be retried; a bug",
    "export.done": "a list was exported to a file; the list, and the number of rows",
    "export.cancelled": "an export was stopped: its owner cancelled it, or another process took it over",
    "export.refused": "an export was refused, because its owner may no longer see the list; the refusal",
    "export.failed": "an unexpected error in an export; a bug",
    "presence.failed": "the connected devices could not be recorded; retried",
    "live.failed": "an unexpected error in the writing of vehicle positions; retried; a bug",
    "live.outage": "positions of vehicles could not be written; none is lost, retried",
    "live.stream_failed": "an unexpected error in the reading for live maps; retried; a bug",
    "live.stream_outage": "live maps could not be read; retried, and the maps say so meanwhile",
    "rpc.failed": "overdue calls could not be ended, or old ones not deleted; retried",
    "partitions.made": "a week of a table has its partition from now on (PostgreSQL)",
    "partitions.dropped": "a week of rejected messages was dropped as a whole (PostgreSQL)",
    "partitions.failed": "a partition could not be made or dropped without blocking others; retried",
    "carrier.away": "the carrier did not answer in time, or not understandably; the pause of a line may be requested"
    " again",
    "bus.away": "brokers are unreachable or do not answer; the client library's code gives the cause; it retries",
    "bus.refused": "brokers refuse our certificate, name and password, or rights; the code gives the cause",
    "bus.back": "brokers answer again",
    "bus.topic_missing": "a topic does not exist, or we may not see it; checked again",
    "bus.topics_not_made": "our topics could not be checked or created; the reason; retried",
    "bus.assigned": "this member of the consumer group gained partitions; its number of partitions",
    "bus.revoked": "partitions moved to other members of the group; the number that remain",
    "bus.lost": "the group excluded this member; others read its unfinished messages again",
    "bus.paused": "reading pauses until earlier messages are stored; the slow step, the messages in progress and read"
    " ahead, and the duration",
    "bus.resumed": "reading continues; how long it paused",
    "bus.renewed": "the client library gave up; it was restarted",
    "bus.reject": "messages of customers were unusable; the reason, their number, and the place of the first one",
    "bus.message_failed": "an unexpected error in the processing of a message; it was set aside; a bug",
    "bus.outage": "messages of customers cannot be stored, or dead letters not written; none is lost, retried",
    "bus.failed": "an unexpected error in reading or writing the bus; it continues; a bug",
    "node.entered": "this process registered with the shared store; slot, node and roles",
    "node.away": "the store is unreachable, so others may take this process for dead; retried",
    "node.lost": "others took this process for dead; it continues as a new node and records its connections again",
    "node.buried": "a process fell silent; its shares are free, its devices' sessions ended",
    "node.failed": "an unexpected error in the monitoring of processes; retried; a bug",
    "node.unsettled": "a process did not confirm in time that it applies a change that was just answered; once it"
    " reaches the store it does so within seconds",
    "session.ended": "device sessions ended that another process had ended or taken over without a notification; their"
    " number",
    "loop.held": "the event loop was late; the delay, its main cause, and the line of code sampled most often in that"
    " time (setting `log.held_ms`)",
    "tls.own_certificate": "gateways with a shared store need one common certificate: set tls.cert and tls.key",
    "tls.renewed": "new handshakes use a new certificate; days until the first current certificate expires",
    "tls.not_renewed": "a certificate could not be renewed, or a changed one is unusable; the old one stays in use",
    "tls.authority_ends": "our own authority expires soon, and its successor is in ca.crt: give that to devices; days"
    " left",
    "tls.failed": "an unexpected error in the renewal of certificates; the current ones stay in use; a bug",
    "signal.away": "the connection to other processes is down, and why; everything is read again afterwards",
    "signal.failed": "a listener of a notification failed; the others received it; a bug",
    "request.outage": "a request was answered 503, and why: a service or file that it needs is away or damaged",
    "http.limit": "a peer of an HTTP listener reached a limit (docs/limits.md); which, how often, the address",
    "serve.few_files": "the system permits fewer open files than the settings need; how they are shared",
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
        "live.stream_failed",
        "live.stream_outage",
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
    "http.limit": ("cause",),
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
    """An outage is over: log the next one again."""
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
        """Flush the stream."""
        with self._without_trouble():
            self._stream.flush()

    @contextlib.contextmanager
    def _without_trouble(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            self._is_cut = True


_set_up: Callable[[], None] | None = None
"""The pending set-up of logging, until the first line: loading the library takes a tenth of a command's start."""
_setting_up: Final = threading.Lock()


def configure_logging(*, level: str, as_json: bool, stream: TextIO | None = None) -> None:
    """Send every log line to the stream (default stderr): key=value text for people, JSON lines for machines."""
    set_up_before_a_line(partial(_configure, level, as_json=as_json, stream=stream or sys.stderr))


def set_up_before_a_line(set_up: Callable[[], None] | None) -> None:
    """Run this before the next log line, instead of any earlier set-up."""
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
    """The logger of a part; it loads the logging library on first use."""

    def __init__(self, part: str) -> None:
        self._part = part

    @cached_property
    def _bound(self) -> "FilteringBoundLogger":
        bound: FilteringBoundLogger = structlog.get_logger(part=self._part)
        return bound

    def __getattr__(self, method: str) -> Any:
        """The method of a log level, or `bind`."""
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
