"""Assigning a director and a driver to a vehicle: choosing somebody, and taking the assignment back.

Not here: the vehicle's own page (`vehicles.py`), rights on it (`chains.py`).
"""

from collections.abc import Callable
from typing import Any, Final

from litestar.response import Response

from tripline.domain import vehicles
from tripline.domain.access import Action, Authority
from tripline.domain.ids import SensorId, UserId, VehicleId
from tripline.domain.people import DRIVING_ROLES
from tripline.domain.refusals import Refusal
from tripline.domain.vehicles import Vehicle
from tripline.http import parameters
from tripline.http.rim import Call, rim_of
from tripline.portal import forms, views, words
from tripline.portal.notices import Undo
from tripline.portal.page import page
from tripline.portal.visitors import Visitor, visitor_in, visitor_of
from tripline.services import hints
from tripline.services.fleet import assignments as service
from tripline.store import lists
from tripline.store.transactions import ReadTx

SHOWN: Final = 20
"""People on the page; of more the first letters of the name are to be typed."""
_PERSON: Final = "userId"
_REFUSES: Final = (vehicles.NotActivated, vehicles.Occupied, vehicles.OtherDriver, vehicles.OtherDirector)


@page("GET", "/fleet/vehicles/{vehicleId}/director", access=Action.VEHICLE_ASSIGN_DIRECTOR)
async def choose_director(request: Call) -> Response[bytes]:
    """Choose the managing director of a vehicle."""
    return await _choose(request, service.to_direct, "director", Authority.DIRECTOR)


@page("GET", "/fleet/vehicles/{vehicleId}/driver", access=Action.VEHICLE_ASSIGN_DRIVER)
async def choose_driver(request: Call) -> Response[bytes]:
    """Choose who drives a vehicle from now on."""
    role = Authority.DIRECTOR if request.query_params.get("role") == Authority.DIRECTOR else Authority.DRIVER
    return await _choose(request, service.to_drive, "driver", role)


@page("POST", "/fleet/vehicles/{vehicleId}/director", access=Action.VEHICLE_ASSIGN_DIRECTOR)
async def set_director(request: Call) -> Response[bytes]:
    """Make somebody the managing director of a vehicle."""
    return await _directed(request, service.set_director, "portal.assignments.director_set")


@page("POST", "/fleet/vehicles/{vehicleId}/director/unset", access=Action.VEHICLE_ASSIGN_DIRECTOR, refuses=_REFUSES)
async def unset_director(request: Call) -> Response[bytes]:
    """Leave a vehicle without its managing director."""
    return await _directed(request, service.unset_director, "portal.assignments.director_unset", undo="director")


@page("POST", "/fleet/vehicles/{vehicleId}/driver", access=Action.VEHICLE_ASSIGN_DRIVER, refuses=_REFUSES)
async def set_driver(request: Call) -> Response[bytes]:
    """Say who drives a vehicle from now on."""
    return await _driven(request, service.set_driver, "portal.assignments.driver_set")


@page("POST", "/fleet/vehicles/{vehicleId}/driver/unset", access=Action.VEHICLE_ASSIGN_DRIVER, refuses=_REFUSES)
async def unset_driver(request: Call) -> Response[bytes]:
    """Say that nobody drives a vehicle any more."""
    return await _driven(request, service.unset_driver, "portal.assignments.driver_unset", undo="driver")


async def _directed(
    request: Call, work: Callable[..., Vehicle], notice: str, *, undo: str | None = None
) -> Response[bytes]:
    """The vehicle's page after its managing director changed. `undo`: as what the same person is set to undo it."""
    form, visitor = await forms.read(request), await visitor_of(request)
    rim, now_ms = rim_of(request), rim_of(request).clock()
    vehicle_id, director_id = _vehicle_id(request), _person_id(form)
    try:
        vehicle = await rim.store.write(
            lambda tx: work(
                tx, actor=visitor.actor, vehicle_id=vehicle_id, director_id=director_id, ids=rim.ids, now_ms=now_ms
            )
        )
    except vehicles.OtherDirector as refusal:
        return await _choose(request, service.to_direct, "director", Authority.DIRECTOR, error=refusal)
    return _done(request, vehicle, notice, undo, director_id)


async def _driven(
    request: Call, work: Callable[..., tuple[Vehicle, list[SensorId]]], notice: str, *, undo: str | None = None
) -> Response[bytes]:
    """The vehicle's page after its driver changed, as `_directed`. Hints at the change, for the pipeline."""
    form, visitor = await forms.read(request), await visitor_of(request)
    rim, now_ms = rim_of(request), rim_of(request).clock()
    vehicle_id, driver_id = _vehicle_id(request), _person_id(form)
    try:
        vehicle, sensors = await rim.store.write(
            lambda tx: work(
                tx, actor=visitor.actor, vehicle_id=vehicle_id, driver_id=driver_id, ids=rim.ids, now_ms=now_ms
            )
        )
    except (vehicles.NotActivated, vehicles.Occupied, vehicles.OtherDriver) as refusal:
        return await _choose(request, service.to_drive, "driver", Authority.DRIVER, error=refusal)
    hints.tell(rim.signals, hints.sensors_changed(sensors))
    return _done(request, vehicle, notice, undo, driver_id)


async def _choose(
    request: Call,
    find: Callable[..., service.Choosing],
    what: str,
    role: Authority,
    *,
    error: Refusal | None = None,
) -> Response[bytes]:
    """The page on which somebody is chosen as `what`: people of this role, whose names begin with what was typed."""
    asked = parameters.query_text(request.query_params, "q")
    window = lists.Window(limit=SHOWN + 1, search=asked)

    def work(tx: ReadTx) -> tuple[Visitor, service.Choosing]:
        visitor = visitor_in(tx, request)
        return visitor, find(tx, actor=visitor.actor, vehicle_id=_vehicle_id(request), role=role, window=window)

    visitor, found = await rim_of(request).store.read_short(work)
    vehicle = found.vehicle
    now_id = vehicle.director_id if what == "director" else vehicle.current_driver_id
    path = f"/fleet/vehicles/{vehicle.id}"
    return views.show(
        request,
        visitor,
        "vehicles/assign.html",
        title="portal.assignments.director" if what == "director" else "portal.assignments.driver",
        error=error,
        vehicle=vehicle,
        what=what,
        now_id=now_id,
        now_name=found.now_name,
        people=found.people[:SHOWN],
        more=len(found.people) > SHOWN,
        roles=words.options(visitor, DRIVING_ROLES) if what == "driver" else (),
        role=role.value,
        asked=asked or "",
        up=path,
        here_path=f"{path}/{what}",
    )


def _done(request: Call, vehicle: Vehicle, notice: str, undo: str | None, person_id: UserId) -> Response[bytes]:
    path = f"/fleet/vehicles/{vehicle.id}"
    back = None if undo is None else Undo(f"{path}/{undo}", {_PERSON: person_id})
    return views.moved(request, path, notice=notice, undo=back, number=vehicle.vehicle_no)


def _vehicle_id(request: Call) -> VehicleId:
    return VehicleId(parameters.path_id(request, "vehicleId"))


def _person_id(form: forms.Form) -> UserId:
    return UserId(parameters.uuid_of(form.text(_PERSON), _PERSON))


handlers: Final[list[Any]] = [
    choose_director,
    choose_driver,
    set_director,
    unset_director,
    set_driver,
    unset_driver,
]
