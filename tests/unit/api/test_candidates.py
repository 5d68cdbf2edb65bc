"""Delegation candidates over REST (spec/rest 7.6, rule 1 of delegation)."""

from tests.support import delegating, rest
from tests.support.delegating import UNKNOWN


async def _listed(app, owner, **query):
    """The names of the owner's candidates, or of its delegated companies."""
    page = await app.get(owner, f"/company/{owner.company_id}/relation/companies", limit=9, **query)
    return [record["toCompanyName"] for record in page["data"]]


async def test_candidate_is_answered_and_listed_with_every_field(app, of):
    new = await delegating.register(app, of.owner, of.borrower)
    page = await app.get(of.owner, f"/company/{of.owner.company_id}/relation/companies", limit=1)

    assert new == {
        "id": new["id"],
        "createdTime": rest.NOW_MS,
        "fromCompanyId": {"id": of.owner.company_id},
        "toCompanyId": {"id": of.borrower.company_id},
        "serviceType": "ace",
        "fromCompanyName": "Owner",
        "toCompanyName": "Borrower",
    }
    assert list(new) == list(page["data"][0])
    assert page == {"data": [new], "nextPageLink": None, "hasNext": False}


async def test_candidate_may_be_named_by_an_id_object_or_a_bare_uuid_in_either_case(app, of):
    path = delegating.candidates(of.owner)
    found = [
        (await app.post(of.owner, path, {"toCompanyId": named}))["toCompanyName"]
        for named in (of.borrower.company_id, of.below.company_id.upper(), {"id": of.operator.company_id, "x": 1})
    ]

    assert found == ["Borrower", "Below", "Ace"]


async def test_candidate_without_a_usable_id_is_refused(app, of):
    path = delegating.candidates(of.owner)
    bodies = (
        None,
        {},
        {"toCompanyId": None},
        {"toCompanyId": ""},
        {"toCompanyId": "x"},
        {"toCompanyId": {"id": 1}},
    )
    refused = [await app.refused(of.owner, "POST", path, body) for body in (*bodies, {"toCompanyId": UNKNOWN})]

    assert [answer[:2] for answer in refused] == [(400, 31)] * 6 + [(404, 32)]
    assert refused[2][2] == "Parameter 'toCompanyId' can't be empty!"


async def test_rule_1_candidate_is_another_company_of_the_same_service_type_and_registered_once(app, of):
    path = delegating.candidates(of.owner)
    first = await delegating.register(app, of.owner, of.borrower)
    refused = [
        await app.refused(of.owner, "POST", path, {"toCompanyId": login.company_id})
        for login in (of.owner, of.other, of.borrower)
    ]

    assert [answer[:2] for answer in refused] == [(400, 30), (400, 30), (400, 31)]
    assert await _listed(app, of.owner) == [first["toCompanyName"]]


async def test_candidates_are_the_own_companys_business_alone(app, of):
    await delegating.register(app, of.owner, of.borrower)
    people = [await delegating.director(app, of.owner, "director"), await delegating.driver(app, of.owner, "driver")]
    calls = (
        ("POST", delegating.candidates(of.owner), {"toCompanyId": of.below.company_id}),
        ("DELETE", f"{delegating.candidates(of.owner)}/{of.borrower.company_id}", None),
    )
    logins = [of.operator, of.borrower, of.below, of.other, *people]

    assert {(await app.refused(login, *call))[:2] for login in logins for call in calls} == {(403, 20)}


async def test_candidates_are_listed_by_the_company_and_its_operator(app, of):
    await delegating.register(app, of.owner, of.borrower)
    people = [await delegating.director(app, of.owner, "director"), await delegating.driver(app, of.owner, "driver")]
    path = f"/company/{of.owner.company_id}/relation/companies?limit=1"
    listed = [(await app.get(login, path))["data"] for login in (of.owner, of.operator)]
    refused = {(await app.refused(login, "GET", path))[:2] for login in (of.borrower, of.below, of.other, *people)}

    assert [[each["toCompanyName"] for each in page] for page in listed] == [["Borrower"], ["Borrower"]]
    assert refused == {(403, 20)}


async def test_candidate_checks_come_in_the_published_order(app, of):
    relation = f"/company/{of.owner.company_id}/relation"
    checks = [
        ((None, "POST", "/company/x/relation/company", {}), (401, 10)),
        ((of.owner, "POST", "/company/x/relation/company", {}), (400, 31)),
        ((of.owner, "POST", f"/company/{UNKNOWN}/relation/company", {}), (404, 32)),
        ((of.borrower, "POST", f"{relation}/company", {}), (403, 20)),
        ((of.owner, "POST", f"{relation}/company", {}), (400, 31)),
        ((of.owner, "DELETE", f"{relation}/company/x"), (400, 31)),
        ((of.borrower, "DELETE", f"{relation}/company/{UNKNOWN}"), (404, 32)),
        ((of.borrower, "DELETE", f"{relation}/company/{of.below.company_id}"), (403, 20)),
        ((of.owner, "DELETE", f"{relation}/company/{of.below.company_id}"), (404, 32)),
        ((of.borrower, "GET", f"{relation}/companies"), (403, 20)),
        ((of.owner, "GET", f"{relation}/companies"), (400, 31)),
        ((of.owner, "GET", f"{relation}/companies?limit=1&delegated=maybe"), (400, 31)),
    ]

    for call, refusal in checks:
        assert (await app.refused(*call))[:2] == refusal, call


async def test_rule_1_company_that_received_a_vehicle_is_a_delegated_company_until_the_last_is_taken_back(app, of):
    seen = []

    async def look():
        seen.append((await _listed(app, of.owner), await _listed(app, of.owner, delegated="true")))

    await delegating.register(app, of.owner, of.borrower)
    await delegating.register(app, of.owner, of.below)
    vehicles = [await delegating.new_vehicle(app, of.owner, number) for number in ("1", "2")]
    await look()
    for vehicle_id in vehicles:
        await delegating.delegate(app, of.owner, of.borrower, vehicle_id)
        await look()
    again = await app.refused(
        of.owner, "POST", delegating.candidates(of.owner), {"toCompanyId": of.borrower.company_id}
    )
    for vehicle_id in vehicles:
        await delegating.take_back(app, of.owner, of.borrower, vehicle_id)
        await look()

    assert seen == [
        (["Below", "Borrower"], []),
        (["Below"], ["Borrower"]),
        (["Below"], ["Borrower"]),
        (["Below"], ["Borrower"]),
        (["Below", "Borrower"], []),
    ]
    assert again[:2] == (400, 31)


async def test_candidate_is_removed_but_not_while_it_holds_vehicles(app, of):
    vehicle_id = await delegating.new_vehicle(app, of.owner)
    path = f"{delegating.candidates(of.owner)}/{of.borrower.company_id}"
    await delegating.register(app, of.owner, of.borrower)
    await delegating.delegate(app, of.owner, of.borrower, vehicle_id)
    holding = await app.refused(of.owner, "DELETE", path)
    await delegating.take_back(app, of.owner, of.borrower, vehicle_id)
    removed = await app.call(of.owner, "DELETE", path)
    twice = await app.refused(of.owner, "DELETE", path)
    stranger = await app.refused(
        of.owner, "POST", f"/company/{of.borrower.company_id}/relation/vehicle", {"vehicleId": vehicle_id}
    )
    await delegating.register(app, of.owner, of.borrower)

    assert (holding[:2], removed.json(), twice[:2], stranger[:2]) == ((400, 30), {}, (404, 32), (400, 30))


async def test_operator_that_is_registered_stays_a_candidate_whatever_it_has_automatically(app, of):
    await delegating.new_vehicle(app, of.owner)
    await delegating.register(app, of.owner, of.operator)
    listed = await _listed(app, of.owner), await _listed(app, of.owner, delegated="true")
    removed = await app.call(of.owner, "DELETE", f"{delegating.candidates(of.owner)}/{of.operator.company_id}")

    assert (listed, removed.status_code) == ((["Ace"], []), 200)


async def test_candidates_of_the_same_name_are_paged_by_name_then_id(app):
    _, operator = await app.operator("ace", name="Ace")
    for number, name in enumerate(("Twin", "Twin", "Alpha", "Twin")):
        _, partner = await app.partner(operator, f"p{number}@x.example", name=name)
        await delegating.register(app, operator, partner)
    path = f"/company/{operator.company_id}/relation/companies"
    found, query = [], {"limit": 1}
    while query:
        page = await app.get(operator, path, **query)
        found += [(record["toCompanyName"], record["id"]["id"]) for record in page["data"]]
        link = page["nextPageLink"]
        query = link and {"limit": 1, "textOffset": link["textOffset"], "idOffset": link["idOffset"]}
    by_id = await app.get(operator, path, limit=9, idOffset=found[1][1])
    searched = await app.get(operator, path, limit=9, textSearch="tw")
    unknown = await app.refused(operator, "GET", f"{path}?limit=9&idOffset={UNKNOWN}")

    assert [name for name, _ in found] == ["Alpha", "Twin", "Twin", "Twin"]
    assert found == sorted(found)
    assert [record["id"]["id"] for record in by_id["data"]] == [key for _, key in found[2:]]
    assert [record["id"]["id"] for record in searched["data"]] == [key for _, key in found[1:]]
    assert unknown[:2] == (400, 31)
