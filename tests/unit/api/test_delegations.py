"""Vehicles delegated to companies over REST (spec/rest 7.1, 7.3, 7.6, 7.7; rule 1 of delegation; G13, X2, H3)."""

import pytest
from tests.support import delegating, rest
from tests.support.delegating import UNKNOWN

from tripline import observe


async def _lendable(app):
    """The companies, and a vehicle of the owner's that it may delegate to the borrower."""
    of = await delegating.companies(app)
    await delegating.register(app, of.owner, of.borrower)
    return of, await delegating.new_vehicle(app, of.owner)


async def test_delegation_is_answered_and_listed_with_every_field(app: rest.Rest):
    of, vehicle_id = await _lendable(app)
    new = await delegating.delegate(app, of.owner, of.borrower, vehicle_id)
    page = await app.get(of.owner, f"/vehicle/{vehicle_id}/companies", limit=9)

    assert new == {
        "id": new["id"],
        "createdTime": rest.NOW_MS,
        "fromCompanyId": {"id": of.owner.company_id},
        "fromCompanyName": "Owner",
        "toCompanyId": {"id": of.borrower.company_id},
        "toCompanyName": "Borrower",
        "vehicleId": {"id": vehicle_id},
        "vehicleNo": "12가3456",
    }
    automatic, delegated = page["data"]
    assert (automatic["toCompanyName"], delegated) == ("Ace", new)
    assert list(delegated) == list(new)


@pytest.mark.parametrize("wrapped", [True, False])
async def test_g13_x2_director_path_with_the_header_delegates_as_the_company_path_does(app: rest.Rest, wrapped):
    of, vehicle_id = await _lendable(app)
    answer = await app.http.post(
        f"/api/tre/v1/director/{UNKNOWN}/relation/vehicle",
        headers={"X-Authorization": f"Bearer {of.owner.token}", "toCompanyId": of.borrower.company_id.upper()},
        json={"vehicleId": {"id": vehicle_id} if wrapped else vehicle_id},
    )
    on_company_path = await app.refused(
        of.owner, "POST", f"/company/{of.borrower.company_id}/relation/vehicle", {"vehicleId": vehicle_id}
    )
    delegated = await app.get(of.borrower, f"/company/{of.borrower.company_id}/vehicles/delegated", limit=9)

    assert answer.status_code == 200
    assert (answer.json()["toCompanyName"], answer.json()["vehicleId"]) == ("Borrower", {"id": vehicle_id})
    assert on_company_path[:2] == (400, 31)
    assert [record["id"]["id"] for record in delegated["data"]] == [vehicle_id]


async def test_g13_header_and_path_of_the_director_path_are_checked_for_their_form(app: rest.Rest):
    of, vehicle_id = await _lendable(app)
    director = await delegating.director(app, of.owner, "director")
    to = of.borrower.company_id

    async def refusal(login, path_id, header, body):
        answer = await app.http.post(
            f"/api/tre/v1/director/{path_id}/relation/vehicle",
            headers={"X-Authorization": f"Bearer {login.token}", "toCompanyId": header},
            json=body,
        )
        return answer.status_code, answer.json()["errorCode"]

    body = {"vehicleId": vehicle_id}

    assert await refusal(director, "x", "x", {}) == (403, 20)
    assert await refusal(of.owner, "x", to, body) == (400, 31)
    assert await refusal(of.owner, UNKNOWN, "x", body) == (400, 31)
    assert await refusal(of.owner, UNKNOWN, "", body) == (400, 31)
    assert await refusal(of.owner, UNKNOWN, f'{{"id":"{to}"}}', body) == (400, 31)
    assert await refusal(of.owner, UNKNOWN, UNKNOWN, {}) == (404, 32)
    assert await refusal(of.owner, UNKNOWN, to, {}) == (400, 31)
    assert await refusal(of.owner, UNKNOWN, to, {"vehicleId": UNKNOWN}) == (404, 32)
    assert await refusal(of.borrower, UNKNOWN, of.owner.company_id, body) == (403, 20)


async def test_rule_1_vehicle_is_delegated_to_candidates_and_delegated_companies_only(app: rest.Rest):
    of, first = await _lendable(app)
    second = await delegating.new_vehicle(app, of.owner, "second")
    await delegating.delegate(app, of.owner, of.borrower, first)
    await delegating.delegate(app, of.owner, of.borrower, second)
    found = [
        (await app.refused(of.owner, "POST", f"/company/{to}/relation/vehicle", {"vehicleId": first}))[:2]
        for to in (
            of.borrower.company_id,
            of.operator.company_id,
            of.below.company_id,
            of.other.company_id,
            of.owner.company_id,
            UNKNOWN,
        )
    ]

    assert found == [(400, 31), (400, 31), (400, 30), (400, 30), (400, 30), (404, 32)]


async def test_candidate_of_another_lender_is_none_of_this_ones(app: rest.Rest):
    of, _ = await _lendable(app)
    vehicle_id = await delegating.new_vehicle(app, of.operator, "operator's")
    path = f"/company/{of.borrower.company_id}/relation/vehicle"
    refused = await app.refused(of.operator, "POST", path, {"vehicleId": vehicle_id})
    await delegating.register(app, of.operator, of.borrower)
    await delegating.delegate(app, of.operator, of.borrower, vehicle_id)

    assert refused[:2] == (400, 30)


async def test_h2_partner_of_a_partner_delegates_and_receives_like_any_other(app: rest.Rest, of):
    await delegating.register(app, of.below, of.owner)
    await delegating.register(app, of.owner, of.below)
    theirs, ours = (await delegating.new_vehicle(app, of.below, "b"), await delegating.new_vehicle(app, of.owner, "o"))
    await delegating.delegate(app, of.below, of.owner, theirs)
    await delegating.delegate(app, of.owner, of.below, ours)
    pages = [
        await app.get(login, f"/company/{login.company_id}/vehicles/delegated", limit=9)
        for login in (of.owner, of.below, of.borrower)
    ]

    assert [[record["vehicleNo"] for record in page["data"]] for page in pages] == [["b"], ["o"], []]


async def test_only_an_administrator_of_the_vehicles_company_delegates_and_takes_back(app: rest.Rest):
    of, _ = await _lendable(app)
    managing = await delegating.director(app, of.owner, "managing")
    vehicle_id = await delegating.new_vehicle(app, managing, "managed")
    await delegating.delegate(app, of.owner, of.borrower, vehicle_id)
    await delegating.register(app, of.borrower, of.below)
    people = [managing, await delegating.driver(app, of.owner, "driver")]
    calls = [
        (login, *call)
        for login in (of.operator, of.borrower, of.below, of.other, *people)
        for call in (
            ("POST", f"/company/{of.below.company_id}/relation/vehicle", {"vehicleId": vehicle_id}),
            ("DELETE", delegating.delegation(of.borrower, vehicle_id)),
            ("DELETE", delegating.delegation(of.operator, vehicle_id)),
        )
    ]

    assert {(await app.refused(*call))[:2] for call in calls} == {(403, 20)}


async def test_h3_automatic_delegation_to_the_operator_is_a_record_that_nobody_takes_back(app: rest.Rest):
    of, vehicle_id = await _lendable(app)
    refused = [
        await app.refused(login, "DELETE", delegating.delegation(of.operator, vehicle_id))
        for login in (of.owner, of.operator)
    ]
    page = await app.get(of.operator, f"/vehicle/{vehicle_id}/companies", limit=9)

    assert [answer[:2] for answer in refused] == [(403, 20), (403, 20)]
    assert [record["toCompanyName"] for record in page["data"]] == ["Ace"]


async def test_delegation_checks_come_in_the_published_order(app: rest.Rest):
    of, vehicle_id = await _lendable(app)
    to = of.borrower.company_id
    checks = [
        ((None, "POST", "/company/x/relation/vehicle", {}), (401, 10)),
        ((of.owner, "POST", "/company/x/relation/vehicle", {}), (400, 31)),
        ((of.owner, "POST", f"/company/{UNKNOWN}/relation/vehicle", {}), (404, 32)),
        ((of.owner, "POST", f"/company/{to}/relation/vehicle", {}), (400, 31)),
        ((of.owner, "POST", f"/company/{to}/relation/vehicle", {"vehicleId": "x"}), (400, 31)),
        ((of.owner, "POST", f"/company/{to}/relation/vehicle", {"vehicleId": UNKNOWN}), (404, 32)),
        ((of.operator, "POST", f"/company/{to}/relation/vehicle", {"vehicleId": vehicle_id}), (403, 20)),
        ((of.owner, "DELETE", f"/company/{to}/relation/vehicle/x"), (400, 31)),
        ((of.operator, "DELETE", f"/company/{to}/relation/vehicle/{UNKNOWN}"), (404, 32)),
        ((of.operator, "DELETE", f"/company/{UNKNOWN}/relation/vehicle/{vehicle_id}"), (404, 32)),
        ((of.operator, "DELETE", f"/company/{to}/relation/vehicle/{vehicle_id}"), (403, 20)),
        ((of.owner, "DELETE", f"/company/{to}/relation/vehicle/{vehicle_id}"), (404, 32)),
        ((of.other, "GET", f"/vehicle/{vehicle_id}/companies"), (403, 20)),
        ((of.owner, "GET", f"/vehicle/{vehicle_id}/companies"), (400, 31)),
        ((of.borrower, "GET", f"/company/{of.owner.company_id}/vehicles/delegating"), (403, 20)),
        ((of.owner, "GET", f"/company/{of.owner.company_id}/vehicles/delegating"), (400, 31)),
    ]

    for call, refusal in checks:
        assert (await app.refused(*call))[:2] == refusal, call


async def test_delegation_ended_and_made_again_is_a_new_one(app: rest.Rest):
    of, vehicle_id = await _lendable(app)
    first = await delegating.delegate(app, of.owner, of.borrower, vehicle_id)
    await delegating.take_back(app, of.owner, of.borrower, vehicle_id)

    assert (await app.refused(of.owner, "DELETE", delegating.delegation(of.borrower, vehicle_id)))[:2] == (404, 32)
    assert (await delegating.delegate(app, of.owner, of.borrower, vehicle_id))["id"] != first["id"]


async def test_taking_back_tells_the_pipeline_of_every_sensor_on_the_vehicle_and_of_no_other(app: rest.Rest):
    of, vehicle_id = await _lendable(app)
    elsewhere = await delegating.new_vehicle(app, of.owner, "elsewhere")
    await delegating.delegate(app, of.owner, of.borrower, vehicle_id)
    sensors = [
        await delegating.new_sensor(app, of.owner, f"S{number}", on=on)
        for number, on in enumerate((vehicle_id, vehicle_id, elsewhere))
    ]
    app.signals.told.clear()
    await delegating.take_back(app, of.owner, of.borrower, vehicle_id)
    told = app.signals.told

    assert sorted(told) == sorted((observe.SIGNAL_SENSOR_CHANGED, sensor_id) for sensor_id in sensors[:2])


async def test_delegated_vehicles_are_listed_by_number_for_both_sides(app: rest.Rest, of):
    await delegating.register(app, of.operator, of.borrower)
    await delegating.register(app, of.operator, of.owner)
    for number in "53142":
        vehicle_id = await delegating.new_vehicle(app, of.operator, number)
        for receiver in (of.borrower, of.owner) if number in "135" else ():
            await delegating.delegate(app, of.operator, receiver, vehicle_id)
    await delegating.new_vehicle(app, of.borrower, "6")

    async def walk(login, company, which):
        numbers, query = [], {"limit": 2}
        while query:
            page = await app.get(login, f"/company/{company.company_id}/vehicles/{which}", **query)
            numbers += [record["vehicleNo"] for record in page["data"]]
            link = page["nextPageLink"]
            query = link and {"limit": 2, "idOffset": link["idOffset"]}
        return numbers

    assert await walk(of.borrower, of.borrower, "delegated") == ["1", "3", "5"]
    assert await walk(of.operator, of.operator, "delegated") == ["6"]
    assert await walk(of.operator, of.operator, "delegating") == ["1", "3", "5"]
    assert await walk(of.borrower, of.borrower, "delegating") == ["6"]
    assert await walk(of.owner, of.owner, "delegating") == []
    assert await walk(of.operator, of.borrower, "delegated") == ["1", "3", "5"]


async def test_lists_of_delegated_vehicles_show_a_director_what_it_may_see(app: rest.Rest):
    of, hidden = await _lendable(app)
    shown = await delegating.new_vehicle(app, of.owner, "shown")
    for vehicle_id in (hidden, shown):
        await delegating.delegate(app, of.owner, of.borrower, vehicle_id)
    director = await delegating.director(app, of.borrower, "delegated")
    await delegating.give(app, of.borrower, director, shown)
    page = await app.get(director, f"/company/{of.borrower.company_id}/vehicles/delegated", limit=9)
    driver = await delegating.driver(app, of.borrower, "driver")
    none = await app.get(driver, f"/company/{of.borrower.company_id}/vehicles/delegated", limit=9)

    assert ([record["vehicleNo"] for record in page["data"]], none["data"]) == (["shown"], [])
