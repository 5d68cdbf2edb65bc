"""Rights of directors and drivers on single vehicles: giving, reading, taking back, listing (spec/rest 7.6).

The director's path with the header `toCompanyId` delegates a vehicle to a company instead (G13, X2; `delegations.py`).
"""

from functools import partial
from typing import Final

from litestar.types import ASGIApp

from tripline.api import delegations as company_delegations
from tripline.domain import access, delegations, fields
from tripline.domain.access import Action, Actor
from tripline.domain.delegations import UserRole
from tripline.domain.ids import CompanyId, UserId, VehicleId
from tripline.domain.refusals import BadParameter
from tripline.http import answers, changes, pages, parameters, permission, reads
from tripline.http.context import Call, context_of
from tripline.http.operations import Value, operation
from tripline.services import notifications
from tripline.services.fleet import rights as service
from tripline.store.transactions import ReadTx, WriteTx
from tripline.wire.rest import bodies as rest_bodies
from tripline.wire.rest import delegations as rest_delegations
from tripline.wire.rest import read_only as rest_read_only
from tripline.wire.rest.base import Page

TO_COMPANY: Final = Value(
    "toCompanyId",
    str,
    "when sent, the vehicle is delegated to this company, and the answer is that delegation",
    "0d2f8e60-c802-11ef-9d5c-6b1f6f2a4c11",
)
_PERSON: Final = {UserRole.DELEGATED_DIRECTOR: "directorId", UserRole.DRIVER: "driverId"}
_REFUSALS: Final = (delegations.NotDelegatedThere, delegations.RightHeld)


@operation(
    "POST",
    "/api/tre/v1/director/{directorId}/relation/vehicle",
    access=Action.RIGHT_GIVE_DIRECTOR,
    request=rest_delegations.VehicleChoice,
    required=("vehicleId",),
    answer=rest_delegations.RightRecord | rest_delegations.DelegationRecord,
    headers=(TO_COMPANY,),
    refuses=(delegations.Oneself, *_REFUSALS, *company_delegations.REFUSALS),
)
async def give_director(request: Call) -> ASGIApp:
    """Make a director DELEGATED_DIRECTOR of a vehicle; with the header, delegate the vehicle to a company instead."""
    named = request.headers.get("tocompanyid")
    if named is None:
        return await _give(request, UserRole.DELEGATED_DIRECTOR)
    actor = await permission.permitted(request)
    access.scope_of(actor, Action.VEHICLE_DELEGATE)
    parameters.path_id(request, "directorId")
    return await company_delegations.delegate_to(request, actor, CompanyId(fields.uuid("toCompanyId", named)))


@operation(
    "POST",
    "/api/tre/v1/driver/{driverId}/relation/vehicle",
    access=Action.RIGHT_GIVE_DRIVER,
    request=rest_delegations.VehicleChoice,
    required=("vehicleId",),
    answer=rest_delegations.RightRecord,
    refuses=_REFUSALS,
)
async def give_driver(request: Call) -> ASGIApp:
    """Let a driver, or a director, who may act as one, drive a vehicle."""
    return await _give(request, UserRole.DRIVER)


_right_at: Final = partial(operation, "GET", access=Action.RIGHT_READ, answer=rest_delegations.RightRecord)


@_right_at("/api/tre/v1/director/{directorId}/relation/vehicle/{vehicleId}")
async def read_director(request: Call) -> ASGIApp:
    """The director's right on a vehicle as DELEGATED_DIRECTOR."""
    return await _read(request, UserRole.DELEGATED_DIRECTOR)


@_right_at("/api/tre/v1/driver/{driverId}/relation/vehicle/{vehicleId}")
async def read_driver(request: Call) -> ASGIApp:
    """The right to drive a vehicle."""
    return await _read(request, UserRole.DRIVER)


@operation(
    "DELETE",
    "/api/tre/v1/director/{directorId}/relation/vehicle/{vehicleId}",
    access=Action.RIGHT_GIVE_DIRECTOR,
    answer=None,
)
async def take_back_director(request: Call) -> ASGIApp:
    """Take back the right that made the director DELEGATED_DIRECTOR of the vehicle."""
    return await _take_back(request, UserRole.DELEGATED_DIRECTOR)


@operation(
    "DELETE", "/api/tre/v1/driver/{driverId}/relation/vehicle/{vehicleId}", access=Action.RIGHT_GIVE_DRIVER, answer=None
)
async def take_back_driver(request: Call) -> ASGIApp:
    """Take back the right to drive the vehicle; who drives it by no other right is its current driver no longer."""
    return await _take_back(request, UserRole.DRIVER)


_rights_at: Final = partial(
    operation, "GET", access=Action.RIGHT_READ, answer=pages.named(rest_delegations.RightRecord)
)


@_rights_at("/api/tre/v1/director/{directorId}/relation/vehicles")
async def list_director(request: Call) -> ASGIApp:
    """The director's rights as DELEGATED_DIRECTOR, by vehicle number."""
    return await _list(request, UserRole.DELEGATED_DIRECTOR)


@_rights_at("/api/tre/v1/driver/{driverId}/relation/vehicles")
async def list_driver(request: Call) -> ASGIApp:
    """The rights to drive that the person has, by vehicle number."""
    return await _list(request, UserRole.DRIVER)


async def _give(request: Call, role: UserRole) -> ASGIApp:
    actor = await permission.admitted(
        request,
        lambda tx, actor: service.require_receiver(tx, actor=actor, user_id=_person_in(request, role), role=role),
    )
    user_id = _person_in(request, role)
    body = await parameters.json_object(request)
    sent = rest_bodies.read(body, rest_delegations.VehicleChoice)
    vehicle_id = VehicleId(rest_delegations.id_of(sent.vehicle_id, "vehicleId"))
    if role is UserRole.DELEGATED_DIRECTOR and body.get("toCompanyId"):
        raise BadParameter("header_only", field="toCompanyId")
    others = (rest_delegations.DelegationRecord,) if role is UserRole.DELEGATED_DIRECTOR else ()

    def work(tx: WriteTx) -> rest_delegations.RightRecord:
        new = service.give(tx, **changes.by(request, actor), user_id=user_id, vehicle_id=vehicle_id, role=role)
        return rest_read_only.registered(
            body, rest_delegations.VehicleChoice, rest_delegations.right_record(new), *others
        )

    return answers.ok(await context_of(request).store.write(work))


async def _read(request: Call, role: UserRole) -> ASGIApp:
    actor = await permission.permitted(request)
    user_id, vehicle_id = _person_in(request, role), parameters.vehicle_id(request)
    found = await context_of(request).store.read_short(
        lambda tx: service.read(tx, actor=actor, user_id=user_id, vehicle_id=vehicle_id, role=role)
    )
    return answers.ok(rest_delegations.right_record(found))


async def _take_back(request: Call, role: UserRole) -> ASGIApp:
    sensors = await changes.made(
        request,
        lambda tx, by: service.take_back(
            tx, **by, user_id=_person_in(request, role), vehicle_id=parameters.vehicle_id(request), role=role
        ),
    )
    notifications.send(context_of(request).signals, notifications.sensors_changed(sensors))
    return answers.ok({})


async def _list(request: Call, role: UserRole) -> ASGIApp:
    def work(tx: ReadTx, actor: Actor) -> Page:
        user_id = _person_in(request, role)
        service.require_holder(tx, actor=actor, user_id=user_id, role=role)
        return reads.by_name(
            request,
            lambda window: service.of_user(tx, actor=actor, user_id=user_id, role=role, window=window),
            record=rest_delegations.right_record,
            name=lambda right: right.vehicle_no,
        )

    return await reads.answer(request, work)


def _person_in(request: Call, role: UserRole) -> UserId:
    return UserId(parameters.path_id(request, _PERSON[role]))
