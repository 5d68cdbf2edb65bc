"""The line changes of a device; lifting a pause: claim the line, call the carrier outside any transaction, store the
result.

    unclaimed --begin--> claimed --done--> 01 --refused--> unclaimed, still 02
                                 --unknown--> may be retried, with the same request id

The claim blocks other changes of the line during the call to the carrier. If this program dies, the claim expires and
the next attempt repeats the call with the same request id, which the carrier processes once.

Follows spec/rest 11 and spec/gaps G14, G15.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from tripline import metrics, observe
from tripline.domain import access, lines
from tripline.domain.access import Action, Actor
from tripline.domain.ids import RowNo, SensorId, TimeIds
from tripline.domain.lines import Change, Claim, LineEvent, NwStatus
from tripline.domain.refusals import NotFound
from tripline.domain.sensors import Sensor
from tripline.ports.carriers import CarrierLines, CarrierRefusedError
from tripline.ports.clocks import Clock
from tripline.ports.outages import Outage
from tripline.services.fleet import sensors
from tripline.services.lines import batches
from tripline.services.push import notices
from tripline.store.fleet import sensors as sensor_rows
from tripline.store.lines import lines as rows
from tripline.store.transactions import ReadTx, Store, WriteTx

MARGIN_MS: Final = 5_000
"""A claim outlasts the carrier's timeout by this long, to leave time for storing the answer."""

_log = observe.logger("carrier")


class Call(msgspec.Struct, frozen=True):
    """The call to the carrier that holds a claim."""

    sensor_id: SensorId
    request_id: str


class Unpauser:
    """Lifts pauses."""

    def __init__(self, *, store: Store, carrier: CarrierLines, ids: TimeIds, clock: Clock, timeout_s: float) -> None:
        self._store = store
        self._carrier = carrier
        self._ids = ids
        self._clock = clock
        self._timeout_s = timeout_s

    async def unpause(self, *, actor: Actor, mdn: str) -> Sensor:
        """Return the device, whose line is now normal.

        Raises `NotFound`, `Forbidden`, `lines.WrongState`, `lines.LineBusy`, `lines.CarrierRefused`, or `Outage` if the
        carrier's result is unknown; the caller may then try again.
        """
        call = await batches.until_free(lambda: self._store.write(lambda tx: self._begun(tx, actor, mdn)))
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._carrier.unpause(mdn, request_id=call.request_id)
        except CarrierRefusedError as error:
            metrics.CARRIER_CALLS.labels("refused").inc()
            refused = lines.carrier_refused(str(error))
            await self._store.write(
                lambda tx: refuse(tx, call=call, refused=refused, ids=self._ids, now_ms=self._clock())
            )
            raise refused from error
        except (Outage, TimeoutError) as error:
            metrics.CARRIER_CALLS.labels("away").inc()
            _log.warning("carrier.away", request=call.request_id)
            await self._store.write(lambda tx: release(tx, call=call, known=False))
            raise Outage("The carrier cannot be reached.") from error
        metrics.CARRIER_CALLS.labels("done").inc()
        return await self._store.write(
            lambda tx: settle(tx, actor=actor, call=call, ids=self._ids, now_ms=self._clock())
        )

    def _begun(self, tx: WriteTx, actor: Actor, mdn: str) -> Call:
        hold_ms = int(self._timeout_s * 1000) + MARGIN_MS
        return begin(tx, actor=actor, mdn=mdn, ids=self._ids, now_ms=self._clock(), hold_ms=hold_ms)


def begin(tx: WriteTx, *, actor: Actor, mdn: str, ids: TimeIds, now_ms: int, hold_ms: int) -> Call:
    """Claim the line for a call to the carrier. Raises `NotFound`, `Forbidden`, `LineBusy` or `WrongState`."""
    scope = access.scope_of(actor, Action.CARRIER_UNPAUSE)
    found = sensor_rows.find_by_mdn(tx, scope, mdn, tokens=scope)
    if found is None:
        raise NotFound("line", field="mdn")
    sensor = access.admitted(found, access.Thing.LINE)
    claim = rows.claim_of(tx, sensor.id)
    if claim is not None and claim.holds(now_ms):
        raise lines.LineBusy("under_way")
    lines.moved(_status(sensor), LineEvent.UNPAUSE)
    # An expired claim belongs to a call with an unknown result: the carrier processes a repeated id only once.
    request_id = ids.next(now_ms=now_ms) if claim is None else claim.request_id
    rows.claim(tx, sensor.id, Claim(request_id, now_ms + hold_ms))
    return Call(sensor.id, request_id)


def settle(tx: WriteTx, *, actor: Actor, call: Call, ids: TimeIds, now_ms: int) -> Sensor:
    """Store that the carrier lifted the pause; return the device.

    If the claim expired and another process settled the same call, that result counts. Raises `lines.LineBusy` if the
    line has changed since.
    """
    sensor = sensors.find(tx, actor=actor, action=Action.CARRIER_UNPAUSE, sensor_id=call.sensor_id)
    if _holds(tx, call) and sensor.line is not None:
        after = replace(sensor.line, nw_status=lines.moved(sensor.line.nw_status, LineEvent.UNPAUSE))
        rows.put(tx, after, now_ms=now_ms)
        rows.claim(tx, sensor.id, None)
        rows.add(tx, sensor.id, _change(after.nw_status, ids, now_ms))
        subject = notices.Subject(sensor.id, sensor.company_id, sensor.vehicle_id)
        notices.network_status(tx, subject=subject, status=after.nw_status, at_ms=now_ms, ids=ids, now_ms=now_ms)
        return replace(sensor, line=after)
    # The claim expired and the line changed without this call: it is normal now, or the result is unclear.
    if _status(sensor) is not NwStatus.NORMAL:
        raise lines.LineBusy("under_way")
    return sensor


def refuse(tx: WriteTx, *, call: Call, refused: lines.CarrierRefused, ids: TimeIds, now_ms: int) -> None:
    """Let go of the line, whose pause the carrier did not lift, and keep why."""
    if _holds(tx, call):
        words = str(refused.values.get("said", ""))
        change = replace(_change(NwStatus.USE_SUSPENDED, ids, now_ms), refused=words)
        rows.add(tx, call.sensor_id, change)
    release(tx, call=call, known=True)


def release(tx: WriteTx, *, call: Call, known: bool) -> None:
    """Release the line. If the carrier's result is unknown, the next call reuses the request id."""
    if _holds(tx, call):
        rows.claim(tx, call.sensor_id, None if known else Claim(call.request_id, 0))


def _change(status: NwStatus, ids: TimeIds, now_ms: int) -> Change:
    return Change(no=ids.take(1, now_ms=now_ms), type=lines.UNPAUSE, nw_status=status, occurred_ms=now_ms)


def _holds(tx: ReadTx, call: Call) -> bool:
    claim = rows.claim_of(tx, call.sensor_id)
    return claim is not None and claim.request_id == call.request_id


def _status(sensor: Sensor) -> NwStatus:
    return NwStatus.NOT_OPENED if sensor.line is None else sensor.line.nw_status


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """A device, its line changes, and if a call to the carrier about it is running."""

    sensor: Sensor
    changes: Sequence[Change]
    """The newest first."""
    busy: bool


def read(tx: ReadTx, *, actor: Actor, sensor_id: SensorId, before: RowNo | None, limit: int, now_ms: int) -> Known:
    """Return the device with its line changes before this number. Raises `NotFound` or `Forbidden`."""
    sensor = sensors.read(tx, actor=actor, sensor_id=sensor_id)
    claim = rows.claim_of(tx, sensor_id)
    return Known(
        sensor=sensor,
        changes=rows.of_sensor(tx, sensor_id, before=before, limit=limit),
        busy=claim is not None and claim.holds(now_ms),
    )
