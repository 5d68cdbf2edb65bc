"""The chain of a vehicle's delegations, for actors who may see them (`domain/chains.py`).

They see all its companies. People are listed only for actors who may read their rights; others see their number.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from tripline.domain import access, chains
from tripline.domain.access import Action, Actor, Authority, Reach, Thing
from tripline.domain.chains import Chain, Member, Person, Place
from tripline.domain.companies import Company
from tripline.domain.delegations import Delegation, UserRole
from tripline.domain.ids import CompanyId, UserId, VehicleId
from tripline.domain.people import DRIVING_ROLES
from tripline.domain.vehicles import Vehicle
from tripline.services.fleet import candidates, delegations
from tripline.store import lists
from tripline.store.fleet import people, rights, vehicles
from tripline.store.fleet.rights import Held
from tripline.store.transactions import ReadTx

COMPANIES: Final = 50
"""Most delegated companies displayed."""
PEOPLE: Final = 200
"""Rights that are shown."""
_NONE: Final = Held(0, 0)


def of_vehicle(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId) -> Chain:
    """The vehicle's chain. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, Action.VEHICLE_DELEGATIONS_READ)
    vehicle = access.admitted(vehicles.find(tx, scope, vehicle_id), Thing.VEHICLE)
    owner = candidates.counterpart(tx, vehicle.company_id)
    window = lists.Window(limit=COMPANIES + 1)
    given = delegations.of_vehicle(tx, actor=actor, vehicle_id=vehicle_id, window=window)
    known = _people(tx, actor, vehicle)
    counted = rights.counted(tx, vehicle_id)
    members = [
        _member(each, known.get(each.company_id, ()), counted.get(each.company_id, _NONE), vehicle)
        for each in _companies(tx, owner, {each.to_company_id: each for each in given[:COMPANIES]})
    ]
    return Chain(
        vehicle_id=vehicle.id, vehicle_no=vehicle.vehicle_no, members=tuple(members), more=len(given) > COMPANIES
    )


def _companies(tx: ReadTx, owner: Company, given: dict[CompanyId, Delegation]) -> list[Member]:
    """The companies of the chain, without their people: operator, owner, then who has the vehicle, by name."""
    found = [Member(company_id=owner.id, name=owner.name, place=Place.OWNER)]
    if owner.master_id != owner.id:
        operator = candidates.counterpart(tx, owner.master_id)
        delegation = given.pop(operator.id, None)
        found.insert(
            0,
            Member(
                company_id=operator.id,
                name=operator.name,
                place=Place.OPERATOR,
                since_ms=None if delegation is None else delegation.created_ms,
                automatic=True,
            ),
        )
    return found + [
        Member(
            company_id=each.to_company_id, name=each.to_company_name, place=Place.DELEGATED, since_ms=each.created_ms
        )
        for each in given.values()
    ]


class _Known(msgspec.Struct):
    """Details of a person related to the vehicle."""

    user_id: UserId
    name: str
    email: str
    authority: Authority
    rights: list[UserRole]


def _people(tx: ReadTx, actor: Actor, vehicle: Vehicle) -> dict[CompanyId, list[_Known]]:
    """Those whom the actor may know, by company: the managing director, the current driver, who holds a right."""
    found: dict[UserId, tuple[CompanyId, _Known]] = {}
    for user_id, roles in ((vehicle.director_id, (Authority.DIRECTOR,)), (vehicle.current_driver_id, DRIVING_ROLES)):
        person = None if user_id is None else people.find(tx, access.scope_of(actor, Action.USER_READ), roles, user_id)
        if person is not None and person[1] and person[0].company_id is not None:
            user = person[0]
            found[user.id] = (person[0].company_id, _Known(user.id, user.name, user.email, user.authority, []))
    readable = access.scope_of(actor, Action.RIGHT_READ)
    for right, email, authority in rights.on_vehicle(tx, readable, vehicle.id, limit=PEOPLE):
        new = (right.company_id, _Known(right.user_id, right.user_name, email, authority, []))
        found.setdefault(right.user_id, new)[1].rights.append(right.user_role)
    by_company = defaultdict(list)
    for company_id, known in found.values():
        by_company[company_id].append(known)
    return by_company


def _member(company: Member, known: Sequence[_Known], held: Held, vehicle: Vehicle) -> Member:
    """The company with the permissions of itself and its people."""
    reaches = chains.company_reaches(company.place, delegated=company.since_ms is not None or company.automatic)
    return replace(
        company,
        may=chains.may(Authority.COMPANY_ADMIN, reaches),
        people=tuple(_person(each, reaches, vehicle) for each in known),
        directors=held.directors,
        drivers=held.drivers,
    )


def _person(known: _Known, company: frozenset[Reach], vehicle: Vehicle) -> Person:
    manages = known.user_id == vehicle.director_id
    reaches = chains.person_reaches(company, manages=manages, rights=known.rights)
    return Person(
        user_id=known.user_id,
        name=known.name,
        email=known.email,
        authority=known.authority,
        manages=manages,
        rights=tuple(sorted(known.rights)),
        drives_now=known.user_id == vehicle.current_driver_id,
        may=chains.may(known.authority, reaches),
    )
