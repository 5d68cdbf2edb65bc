"""Many vehicles delegated or taken back in one request, and what is told beforehand."""

import pytest
from tests.support import delegating, rest
from tests.support.refused import refused

from tripline.domain import delegations
from tripline.domain.ids import CompanyId, VehicleId
from tripline.domain.refusals import BadParameter, Forbidden, NotFound
from tripline.services.fleet import bulk_delegations as many
from tripline.services.fleet.bulk_delegations import Pair, Possible


async def world(app):
    """The companies, two vehicles of the owner's, and the borrower as its candidate."""
    of = await delegating.companies(app)
    await delegating.register(app, of.owner, of.borrower)
    return of, [await delegating.new_vehicle(app, of.owner, number) for number in ("1", "2")]


def pairs(receiver, *vehicle_ids):
    return [Pair(VehicleId(each), CompanyId(receiver.company_id)) for each in vehicle_ids]


def codes(impossible):
    return [(each.vehicle_id, each.vehicle_no, type(each.refusal)) for each in impossible]


async def delegate(app, actor, chosen):
    return await app.store.write(
        lambda tx: many.delegate(tx, actor=actor, pairs=chosen, ids=app.ids, now_ms=app.now_ms)
    )


async def take_back(app, actor, chosen):
    return await app.store.write(
        lambda tx: many.take_back(tx, actor=actor, pairs=chosen, ids=app.ids, now_ms=app.now_ms)
    )


async def received(app, login):
    page = await app.get(login, f"/company/{login.company_id}/vehicles/delegated", limit=9)
    return [each["vehicleNo"] for each in page["data"]]


async def test_preview_of_delegating_names_what_can_be_done_and_what_cannot_and_changes_nothing(app: rest.Rest):
    of, (first, second) = await world(app)
    foreign = await delegating.new_vehicle(app, of.other, "3")
    await delegating.delegate(app, of.owner, of.borrower, second)
    chosen = pairs(of.borrower, first, second, foreign, delegating.UNKNOWN)
    preview = await app.store.read(lambda tx: many.preview_delegating(tx, actor=of.owner.actor, pairs=chosen))
    now = await received(app, of.borrower)

    (possible,) = preview.possible
    assert possible == Possible(pair=possible.pair, vehicle_no="1", company_name="Borrower")
    assert possible.pair.vehicle_id == first
    assert codes(preview.impossible) == [
        (second, "2", delegations.AlreadyDelegated),
        (foreign, None, Forbidden),
        (delegating.UNKNOWN, None, NotFound),
    ]
    assert now == ["2"]


async def test_vehicles_are_delegated_and_those_that_cannot_be_stop_none(app: rest.Rest):
    of, (first, second) = await world(app)
    chosen = [*pairs(of.borrower, delegating.UNKNOWN, first), *pairs(of.below, first), *pairs(of.borrower, second)]
    done, now = await delegate(app, of.owner.actor, chosen), await received(app, of.borrower)

    assert [pair.to_company_id for pair in done.pairs] == [of.borrower.company_id] * 2
    assert [type(each.refusal) for each in done.impossible] == [NotFound, delegations.NotCandidate]
    assert now == ["1", "2"]


async def test_preview_of_taking_back_counts_the_rights_and_the_driver_that_end(app: rest.Rest):
    of, (first, second) = await world(app)
    await delegate(app, of.owner.actor, pairs(of.borrower, first, second))
    director = await delegating.director(app, of.borrower, "han")
    driver = await delegating.driver(app, of.borrower, "kim")
    own = await delegating.driver(app, of.owner, "own")
    await delegating.give(app, of.borrower, director, first)
    await delegating.give(app, of.borrower, director, first, drive=True)
    await delegating.give(app, of.borrower, driver, first, drive=True)
    await delegating.give(app, of.owner, own, first, drive=True)
    await app.store.write(delegating.drives_now(first, driver))
    await app.store.write(delegating.drives_now(second, own))
    chosen = [*pairs(of.borrower, first, second), *pairs(of.operator, first), *pairs(of.below, first)]
    preview = await app.store.read(lambda tx: many.preview_taking_back(tx, actor=of.owner.actor, pairs=chosen))

    assert [(each.vehicle_no, each.directors, each.drivers, each.driven) for each in preview.possible] == [
        ("1", 1, 2, True),
        ("2", 0, 0, False),
    ]
    assert (preview.directors, preview.drivers, preview.driven) == (1, 2, 1)
    assert [type(each.refusal) for each in preview.impossible] == [delegations.Irrevocable, NotFound]


async def test_vehicles_are_taken_back_with_their_sensors_told(app: rest.Rest):
    of, (first, second) = await world(app)
    sensor = await delegating.new_sensor(app, of.owner, on=first)
    await delegate(app, of.owner.actor, pairs(of.borrower, first, second))
    chosen = [*pairs(of.borrower, first), *pairs(of.operator, second)]
    done = await take_back(app, of.owner.actor, chosen)
    now = await received(app, of.borrower)

    assert [pair.vehicle_id for pair in done.pairs] == [done.pairs[0].vehicle_id]
    assert done.sensors == [sensor]
    assert [type(each.refusal) for each in done.impossible] == [delegations.Irrevocable]
    assert now == ["2"]


@pytest.mark.parametrize("who", ["driver", "director"])
async def test_role_that_delegates_nothing_is_refused_as_a_whole(app: rest.Rest, who):
    of, (first, _) = await world(app)
    person = await getattr(delegating, who)(app, of.owner, who)
    chosen = pairs(of.borrower, first)
    works = (
        lambda tx: many.preview_delegating(tx, actor=person.actor, pairs=chosen),
        lambda tx: many.preview_taking_back(tx, actor=person.actor, pairs=chosen),
    )
    for work in works:
        with pytest.raises(Forbidden):
            await app.store.write(work)
    with pytest.raises(Forbidden):
        await delegate(app, person.actor, chosen)
    with pytest.raises(Forbidden):
        await take_back(app, person.actor, chosen)

    assert await received(app, of.borrower) == []


def test_pairs_are_chosen_once_and_bounded():
    one = Pair(VehicleId("v"), CompanyId("c"))
    crowd = [Pair(VehicleId(str(number)), CompanyId("c")) for number in range(many.MOST + 1)]

    assert many.chosen([one, one]) == [one]
    assert many.chosen(crowd[1:]) == crowd[1:]
    with refused(BadParameter, match="at most 1000 vehicles"):
        many.chosen(crowd)
    with refused(BadParameter, match="vehicleId"):
        many.chosen([])
