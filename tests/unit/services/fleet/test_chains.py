"""The chain of a vehicle: who is in it for whom, and what each may do."""

import pytest
from tests.support import delegating, rest

from tripline.domain.access import Action
from tripline.domain.chains import Place
from tripline.domain.delegations import UserRole
from tripline.domain.ids import VehicleId
from tripline.domain.refusals import Forbidden, NotFound
from tripline.services.fleet import chains

_RIGHTS = (UserRole.DELEGATED_DIRECTOR, UserRole.DRIVER)


async def world(app):
    """A vehicle of the owner's with a managing director, delegated to the borrower, whose people have rights."""
    of = await delegating.companies(app)
    vehicle = await delegating.new_vehicle(app, of.owner)
    await delegating.register(app, of.owner, of.borrower)
    await delegating.delegate(app, of.owner, of.borrower, vehicle)
    people = {
        "manager": await delegating.director(app, of.owner, "manager"),
        "other": await delegating.director(app, of.owner, "other"),
        "delegated": await delegating.director(app, of.borrower, "delegated"),
        "driver": await delegating.driver(app, of.borrower, "driver"),
    }
    await app.post(of.owner, f"/vehicle/{vehicle}/director/{people['manager'].user_id}")
    await delegating.give(app, of.borrower, people["delegated"], vehicle)
    await delegating.give(app, of.borrower, people["delegated"], vehicle, drive=True)
    await delegating.give(app, of.borrower, people["driver"], vehicle, drive=True)
    await app.store.write(delegating.drives_now(vehicle, people["driver"]))
    return of, people, vehicle


def chain(app, login, vehicle):
    return app.store.read(lambda tx: chains.of_vehicle(tx, actor=login.actor, vehicle_id=VehicleId(vehicle)))


def seen(found):
    """Of each member its place, name, people and numbers of rights."""
    return [
        (each.place, each.name, [person.name for person in each.people], each.directors, each.drivers)
        for each in found.members
    ]


async def test_operator_sees_the_whole_chain_with_everybody_in_it(app: rest.Rest):
    of, _, vehicle = await world(app)
    found = await chain(app, of.operator, vehicle)

    assert seen(found) == [
        (Place.OPERATOR, "Ace", [], 0, 0),
        (Place.OWNER, "Owner", ["manager"], 0, 0),
        (Place.DELEGATED, "Borrower", ["driver", "delegated"], 1, 2),
    ]
    operator, owner, delegated = found.members
    assert (operator.automatic, operator.since_ms, owner.since_ms) == (True, rest.NOW_MS, None)
    assert (delegated.automatic, delegated.since_ms) == (False, rest.NOW_MS)
    (manager,) = owner.people
    driver, director = delegated.people
    assert (manager.manages, manager.rights, manager.drives_now) == (True, (), False)
    assert (director.manages, director.rights, director.drives_now) == (False, _RIGHTS, False)
    assert (driver.manages, driver.rights, driver.drives_now) == (False, (UserRole.DRIVER,), True)


@pytest.mark.parametrize(
    ("who", "people"),
    [
        ("owner", [[], ["manager"], []]),
        ("borrower", [[], [], ["driver", "delegated"]]),
        ("manager", [[], ["manager"], []]),
        ("delegated", [[], [], ["driver", "delegated"]]),
    ],
)
async def test_companies_are_told_to_all_in_it_and_people_to_those_who_may_read_of_them(app: rest.Rest, who, people):
    of, persons, vehicle = await world(app)
    found = await chain(app, persons.get(who) or getattr(of, who), vehicle)

    assert [each.name for each in found.members] == ["Ace", "Owner", "Borrower"]
    assert [[person.name for person in each.people] for each in found.members] == people
    assert (found.members[2].directors, found.members[2].drivers) == (1, 2)


@pytest.mark.parametrize("who", ["below", "other company", "other", "driver"])
async def test_chain_is_refused_to_whoever_has_nothing_to_do_with_it_and_to_drivers(app: rest.Rest, who):
    of, persons, vehicle = await world(app)
    login = {"below": of.below, "other company": of.other, **persons}[who]
    with pytest.raises(Forbidden):
        await chain(app, login, vehicle)


async def test_unknown_vehicle_has_no_chain(app: rest.Rest, of):
    with pytest.raises(NotFound):
        await chain(app, of.owner, delegating.UNKNOWN)


async def test_what_each_may_do_is_what_the_routes_let_each_do(app: rest.Rest):
    """Each of the actions that the chain grants is done over REST, and one that it does not grant is refused."""

    of, people, vehicle = await world(app)
    found = await chain(app, of.operator, vehicle)
    logins = {"Ace": of.operator, "Owner": of.owner, "Borrower": of.borrower, **people}
    may = {each.name: each.may for each in found.members}
    may |= {person.name: person.may for each in found.members for person in each.people}
    done, granted = (
        {
            name: {
                action: await answered(app, logins[name], *route, vehicle=vehicle, below=of.below.company_id)
                for action, route in ROUTES.items()
            }
            for name in may
        },
        {name: {action: action in granted for action in ROUTES} for name, granted in may.items()},
    )

    assert done == granted
    assert {name for name, each in granted.items() if each[Action.VEHICLE_MODIFY]} == {
        "Ace",
        "Owner",
        "Borrower",
        "manager",
    }


async def answered(app, login, method, path, body, **names):
    """Whether the request is let pass, whatever is said of its state."""
    sent = None if body is None else {key: names.get(value, value) for key, value in body.items()}
    return (await app.call(login, method, path.format(**names), sent)).status_code != 403


ROUTES = {
    Action.VEHICLE_READ: ("GET", "/vehicle/{vehicle}", None),
    Action.DRIVING_READ: ("GET", "/vehicle/{vehicle}/trips?limit=1", None),
    Action.VEHICLE_MODIFY: ("PUT", "/vehicle/{vehicle}", {"mileage": 2}),
    Action.VEHICLE_ACTIVATE: ("POST", "/vehicle/{vehicle}/activate", None),
    Action.VEHICLE_DELEGATE: ("POST", "/company/{below}/relation/vehicle", {"vehicleId": "vehicle"}),
}
"""Requests that show whether an action may be done with the vehicle; what is refused otherwise does not count."""
