"""One device's connection: bytes to the session, frames to the intake, answers back to the device.

Each chunk of bytes takes one call: the session parses it once, its frames are offered, and immediate answers leave in
one write. Acknowledgements leave in `settled`, one write for each commit.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Final, cast

import msgspec

from tripline import metrics, observe
from tripline.config import Devices
from tripline.domain.ids import RowNo, SensorId
from tripline.gateway.newcomers import Newcomers, address_of
from tripline.gateway.roster import Roster
from tripline.mqtt import events, session
from tripline.mqtt.packets import ConnectCode
from tripline.ports.clocks import Clock
from tripline.ports.devices import TAKEN_OVER, Intake, Presence
from tripline.wire import addresses

TOO_LARGE: Final = "too_large"
"""Reason of a publish above `max_packet` in the rejected-message log."""
SLOW_READER: Final = "slow_reader"
SILENT: Final = "silent"
LATE: Final = "no_connect"
OUTAGE: Final = "store_away"
BUG: Final = "error"
SUBACK_S: Final = 30.0
"""Longest delay of a SUBACK by the store; then the connection ends, and the device reconnects."""
LOST: Final = "lost"
"""The peer or the network ended the connection without a DISCONNECT."""

_log = observe.logger("gateway")

# Reasons to stop reading a connection: bits of one plain number, because every commit checks it.
ADMISSION: Final = 1
UNACKNOWLEDGED: Final = 2
CROWDED: Final = 4
STOPPING: Final = 8
UNREAD: Final = 16
"""Received bytes are left for the next turn of the loop, so that a busy connection delays no other."""


LOOK_S: Final = 0.01
"""How often it is checked whether the intake has room, while a connection waits for that: frames at QoS 0 are never
settled, so no call would wake a connection that sends only those."""


class Crowd:
    """Resumes all connections that are not read because the intake is crowded, as soon as it has room."""

    def __init__(self, intake: Intake, loop: asyncio.AbstractEventLoop) -> None:
        self._intake = intake
        self._loop = loop
        self._waiting: list[Callable[[], None]] = []

    def wait(self, resume: Callable[[], None]) -> None:
        if not self._waiting:
            self._loop.call_later(LOOK_S, self._look)
        self._waiting.append(resume)

    def _look(self) -> None:
        if self._intake.crowded:
            self._loop.call_later(LOOK_S, self._look)
            return
        waiting, self._waiting = self._waiting, []
        for resume in waiting:
            resume()


class Surroundings(msgspec.Struct, frozen=True):
    """Dependencies that all connections of a listener share."""

    config: Devices
    rules: session.Rules
    intake: Intake
    clock: Clock
    crowd: Crowd
    newcomers: Newcomers
    roster: Roster
    presence: Presence
    number_session: Callable[[], RowNo]
    """Makes the number of a new session, greater than every one before."""
    opened: Callable[["Connection", asyncio.Transport], None]
    """Registers a new connection; a full listener ends one of the newcomers, perhaps this one."""
    asked: Callable[["Connection", str], None]
    """Called with the user name of a CONNECT; answers with `admitted` or `refused`."""
    closed: Callable[["Connection"], None]


class Connection(asyncio.Protocol):
    """A device, from its first byte to its last. Implements `ports.devices.Source`."""

    __slots__ = (
        "_around",
        "_detail",
        "_ending_looks",
        "_entered",
        "_holds",
        "_opened_at",
        "_reason",
        "_session",
        "_suback_since",
        "_transport",
        "credential",
        "seen_ms",
        "sensor_id",
        "session_no",
        "under_way",
    )

    def __init__(self, around: Surroundings) -> None:
        self.sensor_id = SensorId("")
        self._around = around
        self._session = session.ServerSession(around.rules)
        self.session_no = RowNo(0)
        """Of two connections of a sensor, the one with the later CONNECT has the greater number."""
        self.credential = ""
        """The user name of its CONNECT."""
        self._entered = False
        """True while roster and presence list the session: they learn of each end once, when it is decided."""
        self.seen_ms = 0
        """Time of the last bytes received, epoch ms."""
        self._transport: asyncio.Transport | None = None
        self._opened_at: float | None = None
        self._holds = 0
        self.under_way = 0
        """Frames offered and not yet settled (QoS 1 and 2)."""
        self._reason = ""
        self._detail = ""
        self._ending_looks = 0
        self._suback_since: float | None = None
        """When a delayed SUBACK was first noticed; seconds of the loop's clock."""

    @property
    def address(self) -> str:
        """The peer's address in the form for counting."""
        return addresses.UNKNOWN if self._transport is None else address_of(self._transport)

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._reason

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=self._around.config.write_buffer)
        self._around.opened(self, self._transport)

    def data_received(self, data: bytes) -> None:
        try:
            self._act_on(self._session.receive(data))
        except Exception as error:  # noqa: BLE001  a bug costs this connection, never the process
            self.fail(error)
        if self._session.more:
            self._leave_for_later()
        if not self._entered and self._transport is not None and not self._reason:
            self._around.newcomers.note(self._transport, self._session.held + len(self.credential))

    def pause_writing(self) -> None:
        """More than `write_buffer` bytes are unsent: the device does not read its answers."""
        self.end(SLOW_READER)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is not None:
            self._around.newcomers.forget(self._transport)
        self._transport = None
        self._around.closed(self)
        self._leave()
        _log.debug("device.closed", sensor=self.sensor_id, reason=self._reason or LOST, detail=self._detail)

    def settled(self, tokens: list[int]) -> None:
        self.under_way -= len(tokens)
        if self._transport is None or self._reason:
            return
        self._transport.write(self._session.settled(tokens))
        if self._holds & UNACKNOWLEDGED and self.under_way <= self._around.config.max_unacknowledged // 2:
            self._release(UNACKNOWLEDGED)

    def abandoned(self) -> None:
        self.under_way = 0
        self.end(OUTAGE)

    def publish(self, topic: str, body: bytes, *, qos: int) -> int | None:
        """Send a message; its packet id (0 at QoS 0), or None if the device is not subscribed or lags behind.

        It lags behind when half of `write_buffer` is unread; when all of it is, the connection is closed.
        """
        if self._transport is None or self._transport.get_write_buffer_size() > self._around.config.write_buffer // 2:
            return None
        packet_id = self._session.publish(topic, body, qos=qos)
        self._flush()
        return packet_id

    def is_subscribed(self, topic: str) -> bool:
        return self._session.is_subscribed(topic)

    def admitted(self, sensor_id: SensorId) -> None:
        """Begin the session of the sensor with this user name, ending an older one."""
        if self._transport is None or self._reason:
            return
        around = self._around
        self.sensor_id = sensor_id
        if not around.roster.enter(sensor_id, self):
            self.end(TAKEN_OVER)
            return
        self._entered = True
        around.newcomers.forget(self._transport)
        self._session.hold_subacks()
        around.presence.connected(sensor_id, self.session_no, around.clock(), self._callable)
        metrics.CONNECTS.labels(code=int(ConnectCode.ACCEPTED)).inc()
        _log.debug("device.connected", sensor=sensor_id)
        try:
            self._act_on(self._session.admit())
        except Exception as error:  # noqa: BLE001  as in data_received
            self.fail(error)
            return
        if self._session.more:
            self._leave_for_later()
        self._release(ADMISSION)

    def refused(self, code: ConnectCode) -> None:
        """Answer the CONNECT with this code and close."""
        if self._transport is None or self._reason:
            return
        self._session.refuse(code)
        self._say_refused(code)
        self._flush()
        self.close(events.REFUSED)

    def close(self, reason: str) -> None:
        """Close after sending everything written."""
        if self._transport is not None and not self._reason:
            self._reason = reason
            self._transport.close()
            self._leave()

    def end(self, reason: str) -> None:
        if self._transport is not None:
            self._reason = self._reason or reason
            self._transport.abort()
            self._leave()

    def look(self, now: float) -> None:
        """Close late, silent and unclosable connections; called about every second with a steady clock (s)."""
        if self._opened_at is None:
            self._opened_at = now
        if self._reason:
            self._ending_looks += 1
            if self._ending_looks > 1:
                self.end(self._reason)
        elif self._session.state is not session.State.LIVE:
            if now - self._opened_at > self._around.config.connect_timeout_s:
                self.end(LATE)
        elif self._session.overdue(now):
            self.end(SILENT)
        elif not self._session.holds_subacks:
            self._suback_since = None
        elif self._suback_since is None:
            self._suback_since = now
        elif now - self._suback_since > SUBACK_S:
            self.close(OUTAGE)

    def stop_reading(self) -> None:
        """Stop reading from the device; offered frames are still acknowledged."""
        self._hold(STOPPING)

    def _act_on(self, found: list[events.SessionEvent]) -> None:
        around = self._around
        intake = around.intake
        offer = intake.offer
        received_ms = self.seen_ms = around.clock()
        for event in found:
            if type(event) is list:
                for topic, body, token in event:
                    offer(self, topic, body, received_ms, token)
                    if token:
                        self.under_way += 1
            else:
                act = self._ON.get(type(event))
                if act is not None:
                    act(self, event, received_ms)
        self._flush()
        if self.under_way > around.config.max_unacknowledged:
            self._hold(UNACKNOWLEDGED)
        if intake.crowded and not self._holds & CROWDED and self._transport is not None:
            self._hold(CROWDED)
            around.crowd.wait(partial(self._release, CROWDED))

    def _flush(self) -> None:
        output = self._session.take_output()
        if output and self._transport is not None:
            self._transport.write(output)

    def _callable(self) -> None:
        """Release the SUBACKs: every process can reach the session now."""
        if self._transport is None or self._reason:
            return
        self._session.release_subacks()
        self._flush()

    def _leave_for_later(self) -> None:
        self._hold(UNREAD)
        if self._holds == UNREAD:
            asyncio.get_running_loop().call_soon(self._read_on)

    def _read_on(self) -> None:
        """Process the bytes that were left, unless there is another reason to wait."""
        if self._holds != UNREAD or self._transport is None or self._reason:
            return
        self.data_received(b"")
        if not self._session.more:
            self._release(UNREAD)

    def _hold(self, why: int) -> None:
        if not self._holds and self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()
        self._holds |= why

    def _release(self, why: int) -> None:
        self._holds &= ~why
        if self._holds == UNREAD:
            asyncio.get_running_loop().call_soon(self._read_on)
        if not self._holds and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def _leave(self) -> None:
        if not self._entered:
            return
        # Before the socket closes: no call waits for a TLS goodbye, which may take two seconds (docs/decisions/107).
        self._entered = False
        around, reason = self._around, self._reason or LOST
        around.roster.leave(self.sensor_id, self)
        around.presence.lost(self.sensor_id, self.session_no, around.clock(), seen_ms=self.seen_ms, reason=reason)

    def _on_asked(self, asked: events.ConnectRequest, _received_ms: int) -> None:
        self.session_no = self._around.number_session()
        self.credential = asked.user_name
        self._hold(ADMISSION)
        self._around.asked(self, asked.user_name)

    def _on_oversized(self, publish: events.Oversized, received_ms: int) -> None:
        if publish.token:
            self.under_way += 1
        # Settled like a frame: if it were closed, the device would resend it for ever (docs/decisions/104).
        self._around.intake.refuse(
            self, publish.topic, publish.head, received_ms, publish.token, TOO_LARGE, publish.size
        )

    def _on_ended(self, ended: events.Ended, _received_ms: int) -> None:
        output = self._session.take_output()
        if ended.reason == events.REFUSED:
            self._say_refused(ConnectCode(output[-1]))
        self._detail = ended.detail
        if output and self._transport is not None:
            self._transport.write(output)
        self.close(ended.reason)

    def _say_refused(self, code: ConnectCode) -> None:
        metrics.CONNECTS.labels(code=int(code)).inc()
        peer = self._transport.get_extra_info("peername") if self._transport is not None else None
        _log.info("device.refused", code=int(code), peer=peer[0] if peer else "")

    def fail(self, error: Exception) -> None:
        _log.error("device.error", sensor=self.sensor_id, exc_info=error)
        self.end(BUG)

    _ON: ClassVar[dict[type, Callable[["Connection", Any, int], None]]] = {
        events.ConnectRequest: _on_asked,
        events.Oversized: _on_oversized,
        events.Ended: _on_ended,
    }
    """Handlers of events other than runs of frames; further events need none."""
