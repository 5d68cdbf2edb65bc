"""Whatever is delegated, given and taken back in whatever order: no right is left whose ground is gone.

The rules are said twice: by the services, and below in plain Python over sets (rules 1 to 3 of delegation). After every
step both hold the same relations, delegations, rights and drivers, so a refused step changes nothing and an accepted
one nothing else.
"""

from dataclasses import dataclass, field
from itertools import product

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings
from sqlalchemy import delete, insert, select, update
from tests.support import fleet_rows, reaching, rows, stores

from tripline.domain.access import Actor, Authority
from tripline.domain.delegations import UserRole
from tripline.domain.ids import CompanyId, TimeIds, UserId, VehicleId
from tripline.domain.refusals import Refusal
from tripline.services.fleet import candidates, delegations, rights
from tripline.store.fleet import rights as rights_rows
from tripline.store.tables import account, company, company_relation, vehicle, vehicle_company, vehicle_user

OPERATOR, P, R, OTHER = "operator", "p", "r", "other"
SERVICES = {OPERATOR: "taxi", P: "taxi", R: "taxi", OTHER: "bus"}
ADMINS = {f"admin-{name}": name for name in SERVICES}
DIRECTORS = {"director-p": P, "second-p": P, "director-r": R}
DRIVERS = {"driver-p": P, "driver-r": R}
PEOPLE = {**ADMINS, **DIRECTORS, **DRIVERS}
OWNERS = {"v-p": P, "w-p": P, "v-r": R}
MANAGERS = {"v-p": "director-p", "w-p": "director-p", "v-r": "director-r"}
AUTOMATIC = {(name, OPERATOR) for name, owner in OWNERS.items() if owner in (P, R)}
IDS = TimeIds(node=0x77)


@dataclass
class Model:
    """The rules over sets."""

    relations: set[tuple[str, str]] = field(default_factory=set)
    delegations: set[tuple[str, str]] = field(default_factory=set)
    """Vehicle and receiver, without the automatic ones."""
    rights: set[tuple[str, str, UserRole]] = field(default_factory=set)
    drivers: dict[str, str] = field(default_factory=dict)

    def has(self, company_id, vehicle_id):
        """Whether the vehicle is the company's, or delegated to it in either way."""
        return OWNERS[vehicle_id] == company_id or (vehicle_id, company_id) in self.delegations | AUTOMATIC

    def delegates(self, owner, receiver):
        return any(OWNERS[vehicle_id] == owner and to == receiver for vehicle_id, to in self.delegations)

    def may_register(self, owner, receiver):
        return owner != receiver and SERVICES[owner] == SERVICES[receiver] and (owner, receiver) not in self.relations

    def register(self, owner, receiver):
        self.relations.add((owner, receiver))

    def may_remove(self, owner, receiver):
        return (owner, receiver) in self.relations and not self.delegates(owner, receiver)

    def remove(self, owner, receiver):
        self.relations.remove((owner, receiver))

    def may_delegate(self, vehicle_id, receiver):
        return not self.has(receiver, vehicle_id) and (OWNERS[vehicle_id], receiver) in self.relations

    def delegate(self, vehicle_id, receiver):
        self.delegations.add((vehicle_id, receiver))

    def may_take_back(self, vehicle_id, receiver):
        return (vehicle_id, receiver) in self.delegations

    def take_back(self, vehicle_id, receiver):
        self.delegations.remove((vehicle_id, receiver))
        self.rights = {right for right in self.rights if right[0] != vehicle_id or PEOPLE[right[1]] != receiver}
        if PEOPLE.get(self.drivers.get(vehicle_id)) == receiver:
            del self.drivers[vehicle_id]

    def reaches(self, giver, person, vehicle_id, role):
        """Rules 2 and 3, but for what is said of oneself and of what is held already."""
        theirs, its = PEOPLE[giver], PEOPLE[person]
        if person in DRIVERS and role is UserRole.DELEGATED_DIRECTOR:
            return False
        if giver in ADMINS:
            return self.has(theirs, vehicle_id) and theirs == its
        manages = MANAGERS.get(vehicle_id) == giver
        if role is UserRole.DRIVER:
            return theirs == its and (manages or (vehicle_id, giver, UserRole.DELEGATED_DIRECTOR) in self.rights)
        return manages and self.has(its, vehicle_id)

    def may_give(self, giver, person, vehicle_id, role):
        return (
            self.reaches(giver, person, vehicle_id, role)
            and (giver != person or role is UserRole.DRIVER)
            and (vehicle_id, person, role) not in self.rights
        )

    def give(self, giver, person, vehicle_id, role):
        self.rights.add((vehicle_id, person, role))

    def may_end(self, taker, person, vehicle_id, role):
        owns = taker in ADMINS and PEOPLE[taker] == OWNERS[vehicle_id]
        return (owns or self.reaches(taker, person, vehicle_id, role)) and (vehicle_id, person, role) in self.rights

    def end(self, taker, person, vehicle_id, role):
        self.rights.remove((vehicle_id, person, role))
        if self.drivers.get(vehicle_id) == person != MANAGERS.get(vehicle_id) and not self.may_drive(
            vehicle_id, person
        ):
            del self.drivers[vehicle_id]

    def may_drive(self, vehicle_id, person):
        return any((vehicle_id, person, role) in self.rights for role in UserRole)

    def drive(self, vehicle_id, person):
        self.drivers[vehicle_id] = person


PAIRS = list(product(SERVICES, SERVICES))
DELEGATIONS = list(product(OWNERS, SERVICES))
RIGHTS = list(product([*ADMINS, *DIRECTORS], [*DIRECTORS, *DRIVERS], OWNERS, UserRole))
ARGUMENTS = {
    "register": PAIRS,
    "remove": PAIRS,
    "delegate": DELEGATIONS,
    "take_back": DELEGATIONS,
    "give": RIGHTS,
    "end": RIGHTS,
    "drive": list(product(OWNERS, [*DIRECTORS, *DRIVERS])),
}
KINDS = ("register", "delegate", "give", "give", "drive", "end", "take_back", "remove")
"""Giving twice as often as the rest, so that there is something to end."""
STEPS = 40


def split(model, kind):
    """The arguments with which the step is allowed, and the others."""
    may = getattr(model, f"may_{kind}")
    allowed = [each for each in ARGUMENTS[kind] if may(*each)]
    return allowed, [each for each in ARGUMENTS[kind] if each not in allowed]


@pytest.fixture(scope="module")
def tx():
    with rows.memory() as transaction:
        for name, service in SERVICES.items():
            row = {"id": name, "created_ms": 1, "name": name, "service_type": service, "token_prefix": name[:5]}
            master = OTHER if name == OTHER else OPERATOR
            transaction.run(insert(company), {**row, "master": master == name, "master_id": master})
        for name, at in PEOPLE.items():
            row = {"id": name, "created_ms": 1, "name": name, "email": name, "login": name, "company_id": at}
            secret = {"password_hash": "", "password_updated_ms": 1, "enabled": True}
            transaction.run(insert(account), {**row, **secret, "authority": authority(name).value})
        for name, owner in OWNERS.items():
            row = fleet_rows.vehicle(name, owner, director_id=MANAGERS.get(name), status="DEACTIVATED")
            transaction.run(insert(vehicle), row)
        yield transaction


def authority(name):
    return Authority.COMPANY_ADMIN if name in ADMINS else Authority.DIRECTOR if name in DIRECTORS else Authority.DRIVER


def actor(name):
    return Actor(UserId(name), authority(name), CompanyId(PEOPLE[name]))


def empty(tx):
    """Nothing delegated but what is automatic, no right, nobody driving."""
    for table in (company_relation, vehicle_company, vehicle_user):
        tx.run(delete(table))
    tx.run(update(vehicle).values(current_driver_id=None))
    for vehicle_id, to in AUTOMATIC:
        delegation = {"id": IDS.next(now_ms=1), "created_ms": 1, "vehicle_id": vehicle_id, "to_company_id": to}
        tx.run(insert(vehicle_company), {**delegation, "from_company_id": OWNERS[vehicle_id], "automatic": True})
    reaching.recount(tx)


def take_step(tx, kind, arguments):
    """Do it as the program does; whether it was accepted."""
    try:
        match kind, arguments:
            case "drive", (vehicle_id, person):
                # As a row: who sets a driver is not the question here, but who drives must have a right.
                if not rights_rows.may_drive(tx, VehicleId(vehicle_id), UserId(person)):
                    return False
                tx.run(update(vehicle).where(vehicle.c.id == vehicle_id).values(current_driver_id=person))
            case "register", (owner, to):
                admin = actor(f"admin-{owner}")
                candidates.register(tx, actor=admin, company_id=owner, to_company_id=to, ids=IDS, now_ms=1)
            case "remove", (owner, to):
                candidates.remove(
                    tx, actor=actor(f"admin-{owner}"), company_id=owner, to_company_id=to, ids=IDS, now_ms=1
                )
            case "delegate", (vehicle_id, to):
                admin = actor(f"admin-{OWNERS[vehicle_id]}")
                delegations.delegate(
                    tx, actor=admin, vehicle_id=VehicleId(vehicle_id), to_company_id=to, ids=IDS, now_ms=1
                )
            case "take_back", (vehicle_id, to):
                admin = actor(f"admin-{OWNERS[vehicle_id]}")
                delegations.take_back(
                    tx, actor=admin, vehicle_id=VehicleId(vehicle_id), to_company_id=to, ids=IDS, now_ms=1
                )
            case "give", (giver, person, vehicle_id, role):
                right = {"user_id": UserId(person), "vehicle_id": VehicleId(vehicle_id), "role": role}
                rights.give(tx, actor=actor(giver), **right, ids=IDS, now_ms=1)
            case "end", (taker, person, vehicle_id, role):
                right = {"user_id": UserId(person), "vehicle_id": VehicleId(vehicle_id), "role": role}
                rights.take_back(tx, actor=actor(taker), **right, ids=IDS, now_ms=1)
    except Refusal:
        return False
    return True


def kept(tx):
    """What the program holds, as a model."""
    delegated = [tuple(row) for row in tx.all(select(vehicle_company.c.vehicle_id, vehicle_company.c.to_company_id))]
    given = tx.all(select(vehicle_user.c.vehicle_id, vehicle_user.c.user_id, vehicle_user.c.user_role))
    driven = tx.all(select(vehicle.c.id, vehicle.c.current_driver_id).where(vehicle.c.current_driver_id.is_not(None)))
    relations = tx.all(select(company_relation.c.from_company_id, company_relation.c.to_company_id))
    assert len(delegated) == len(set(delegated))
    assert set(delegated) >= AUTOMATIC
    return Model(
        relations={tuple(row) for row in relations},
        delegations=set(delegated) - AUTOMATIC,
        rights={(vehicle_id, user_id, UserRole(role)) for vehicle_id, user_id, role in given},
        drivers={row.id: row.current_driver_id for row in driven},
    )


@settings(
    max_examples=stores.examples(40), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(dice=st.randoms(use_true_random=True))
def test_any_sequence_of_steps_leaves_no_right_without_its_ground(tx, dice):
    empty(tx)
    model = Model()
    for kind in dice.choices(KINDS, k=STEPS):
        allowed, _ = split(model, kind)
        if not allowed:
            continue
        arguments = dice.choice(allowed)
        getattr(model, kind)(*arguments)
        assert take_step(tx, kind, arguments), (kind, arguments)
        assert kept(tx) == model
        assert all(model.has(PEOPLE[person], vehicle_id) for vehicle_id, person, _ in model.rights)
        assert all(model.has(PEOPLE[person], vehicle_id) for vehicle_id, person in model.drivers.items())
        assert all((OWNERS[vehicle_id], to) in model.relations for vehicle_id, to in model.delegations)
    for kind in ARGUMENTS:
        for arguments in split(model, kind)[1]:
            assert not take_step(tx, kind, arguments), (kind, arguments)
    assert kept(tx) == model
