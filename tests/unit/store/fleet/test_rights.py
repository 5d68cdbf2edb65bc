"""Forgetting what hangs on a deleted vehicle, person or company (what rights allow: unit/api/test_rights.py)."""

import pytest
from tests.support import dangling, delegating, rest

from tripline.domain.ids import CompanyId, UserId, VehicleId
from tripline.store.fleet import candidates, delegations, rights
from tripline.store.tables import company_relation, vehicle_company, vehicle_user


async def _related(app):
    """The owner's vehicles V, delegated to the borrower and with rights on it, and W, likewise; the people's logins."""
    of = await delegating.companies(app)
    await delegating.register(app, of.owner, of.borrower)
    await delegating.register(app, of.below, of.borrower)
    await delegating.register(app, of.borrower, of.below)
    vehicles = [await delegating.new_vehicle(app, of.owner, number) for number in "VW"]
    people = [
        await delegating.director(app, of.borrower, "director"),
        await delegating.driver(app, of.borrower, "driver"),
    ]
    for vehicle_id in vehicles:
        await delegating.delegate(app, of.owner, of.borrower, vehicle_id)
        for drive, person in enumerate(people):
            await delegating.give(app, of.borrower, person, vehicle_id, drive=bool(drive))
    return of, vehicles, people


def _named_in_relations(tx, key):
    """In which relations the id is still named."""
    tables = {table.name for table in (company_relation, vehicle_company, vehicle_user)}
    return {column for column in dangling.references(tx, key) if column.split(".")[0] in tables}


def _forget_vehicle(tx, vehicle_id):
    delegations.forget_vehicle(tx, VehicleId(vehicle_id))
    rights.forget_vehicle(tx, VehicleId(vehicle_id))


async def test_forgotten_vehicle_is_named_nowhere_and_the_other_one_as_before(app: rest.Rest):
    _, (v, w), _ = await app.staged(_related)
    before = await app.store.read(lambda tx: dangling.references(tx, w))
    await app.store.write(lambda tx: _forget_vehicle(tx, v))
    named, as_before, before = await app.store.read(
        lambda tx: (_named_in_relations(tx, v), dangling.references(tx, w) == before, before)
    )

    assert (named, as_before) == (set(), True)
    assert (before["vehicle_company.vehicle_id"], before["vehicle_user.vehicle_id"]) == (2, 2)


async def test_forgotten_person_has_no_right_and_others_keep_theirs(app: rest.Rest):
    _, (v, _), (director, driver) = await app.staged(_related)
    await app.store.write(lambda tx: rights.forget_user(tx, UserId(director.user_id)))
    found = await app.store.read(
        lambda tx: [rights.may_drive(tx, VehicleId(v), person.user_id) for person in (director, driver)]
    )

    assert found == [False, True]


@pytest.mark.parametrize("which", ["owner", "borrower", "below"])
async def test_forgotten_company_delegates_and_receives_nothing(app: rest.Rest, which):
    of, (v, _), _ = await app.staged(_related)
    company_id = CompanyId(getattr(of, which).company_id)

    def forget(tx):
        delegations.forget_company(tx, company_id)
        candidates.forget_company(tx, company_id)

    await app.store.write(forget)
    found = await app.store.read(
        lambda tx: (
            _named_in_relations(tx, company_id) - {"vehicle_user.company_id"},
            delegations.holds(tx, VehicleId(v), CompanyId(of.borrower.company_id)),
        )
    )

    assert found == (set(), which == "below")
