"""Pages of a carrier line: its state and history, and lifting its pause.

Not here: the list (`lists/lines.py`), the carrier's own requests (`api/carrier.py`).
"""

from functools import partial
from typing import Final

from litestar.response import Response

from tripline.domain.access import Action
from tripline.domain.ids import RowNo, SensorId
from tripline.domain.lines import NwStatus
from tripline.domain.refusals import NotFound, Refusal
from tripline.domain.sensors import Sensor
from tripline.http import parameters
from tripline.http.context import Call, context_of, lines_of
from tripline.portal.frame import addresses, forms, views
from tripline.portal.frame.deletions import GoesChanged
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_of
from tripline.ports.outages import Outage
from tripline.services import notifications
from tripline.services.fleet import sensors
from tripline.services.lines import pauses
from tripline.store.transactions import ReadTx

CHANGES: Final = 50
_NUMBER: Final = "mdn"
"""The field with the telephone number at rendering."""


@page("GET", "/lines/{sensorId}", access=Action.SENSOR_READ)
async def line(request: Call) -> Response[bytes]:
    """One line: its state, its history, and the available actions."""
    return await _line(request, await visitor_of(request))


@page("POST", "/lines/{sensorId}/unpause", access=Action.CARRIER_UNPAUSE)
async def unpause(request: Call) -> Response[bytes]:
    """Have the carrier lift the pause of the line."""
    form = await forms.read(request)
    visitor = await visitor_of(request)
    context = context_of(request)
    sensor_id = parameters.sensor_id(request)
    sensor = await context.store.read_short(lambda tx: _with_number(tx, visitor, sensor_id))
    assert sensor.line is not None
    assert sensor.line.mdn is not None
    if _is_own(visitor, sensor) and form.text(_NUMBER) != sensor.line.mdn:
        # The device has a different line than at rendering.
        return await _line(request, visitor, error=GoesChanged("line"))
    try:
        await lines_of(request).unpauser.unpause(actor=visitor.actor, mdn=sensor.line.mdn)
    except Refusal as refusal:
        return await _line(request, visitor, error=forms.of_form(refusal))
    except Outage:
        # The outcome is unknown; a repeated request is harmless.
        return await _line(request, visitor, away=True, status=503)
    notifications.send(context.signals, notifications.PUSH_DUE)
    return views.moved(request, f"/lines/{sensor_id}", notice="portal.lines.unpaused")


async def _line(
    request: Call, visitor: Visitor, *, error: Refusal | None = None, away: bool = False, status: int | None = None
) -> Response[bytes]:
    context = context_of(request)
    before = parameters.whole(addresses.text(request, "before"), most_digits=18)
    known = await context.store.read_short(
        partial(
            pauses.read,
            actor=visitor.actor,
            sensor_id=parameters.sensor_id(request),
            before=None if before is None else RowNo(before),
            limit=CHANGES + 1,
            now_ms=context.clock(),
        )
    )
    sensor = known.sensor
    state = NwStatus.NOT_OPENED if sensor.line is None else sensor.line.nw_status
    newest = known.changes[0].no if known.changes else None
    seen = views.state_of(known.busy, state, newest)
    if views.is_shown(request, seen):
        return views.unchanged()
    return views.show(
        request,
        "lines/line.html",
        title=views.Plain(sensor.serial_no),
        fragment="part" if views.target_of(request) == "line" else views.CONTENT,
        status=status,
        error=error,
        away=away,
        known=known,
        seen=seen,
        changes=known.changes[:CHANGES],
        before=known.changes[CHANGES - 1].no if len(known.changes) > CHANGES else None,
        state=state,
        may_unpause=_is_own(visitor, sensor)
        and state is NwStatus.USE_SUSPENDED
        and visitor.may(Action.CARRIER_UNPAUSE),
    )


def _is_own(visitor: Visitor, sensor: Sensor) -> bool:
    return sensor.company_id == visitor.actor.company_id


def _with_number(tx: ReadTx, visitor: Visitor, sensor_id: SensorId) -> Sensor:
    """The sensor, with a line that has a number. Raises `NotFound` or `Forbidden`."""
    sensor = sensors.read(tx, actor=visitor.actor, sensor_id=sensor_id)
    if sensor.line is None or sensor.line.mdn is None:
        raise NotFound("line", field="mdn")
    return sensor
