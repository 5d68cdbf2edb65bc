"""Two at the same time: one consistent outcome (the writer takes one after the other, and each looks first)."""

import asyncio

from tests.support import delegating, rest


def _codes(answers):
    return sorted((answer.status_code, answer.json().get("errorCode")) for answer in answers)


async def test_one_of_two_equal_requests_is_done_and_the_other_refused(app: rest.Rest):
    posts, deletes = [(200, None), *[(400, 31)] * 4], [(200, None), *[(404, 32)] * 4]

    of = await delegating.companies(app)
    vehicle_id = await delegating.new_vehicle(app, of.owner)
    driver = await delegating.driver(app, of.borrower, "driver")
    requests = (
        (of.owner, "POST", delegating.candidates(of.owner), {"toCompanyId": of.borrower.company_id}),
        (of.owner, "POST", f"/company/{of.borrower.company_id}/relation/vehicle", {"vehicleId": vehicle_id}),
        (of.borrower, "POST", delegating.rights(driver, drive=True), {"vehicleId": vehicle_id}),
        (of.borrower, "DELETE", f"{delegating.rights(driver, drive=True)}/{vehicle_id}"),
        (of.owner, "DELETE", delegating.delegation(of.borrower, vehicle_id)),
        (of.owner, "DELETE", f"{delegating.candidates(of.owner)}/{of.borrower.company_id}"),
    )
    found = [_codes(await asyncio.gather(*(app.call(*request) for _ in range(5)))) for request in requests]

    assert found == [posts, posts, posts, deletes, deletes, deletes]


async def test_right_given_while_the_vehicle_is_taken_back_is_not_left_over(app: rest.Rest, of):
    vehicle_id = await delegating.new_vehicle(app, of.owner)
    driver = await delegating.driver(app, of.borrower, "driver")
    await delegating.register(app, of.owner, of.borrower)
    give = (of.borrower, "POST", delegating.rights(driver, drive=True), {"vehicleId": vehicle_id})
    take_back = (of.owner, "DELETE", delegating.delegation(of.borrower, vehicle_id))
    seen = set()
    for order in ((give, take_back), (take_back, give)) * 5:
        await delegating.delegate(app, of.owner, of.borrower, vehicle_id)
        await asyncio.gather(*(app.call(*request) for request in order))
        left = await app.get(driver, f"{delegating.rights(driver, drive=True)}s", limit=1)
        seen.add((len(left["data"]), (await app.call(driver, "GET", f"/vehicle/{vehicle_id}")).status_code))

    assert seen == {(0, 403)}


async def test_candidate_removed_while_a_vehicle_is_delegated_to_it_is_either_of_the_two(app: rest.Rest, of):
    vehicle_id = await delegating.new_vehicle(app, of.owner)
    delegate = (of.owner, "POST", f"/company/{of.borrower.company_id}/relation/vehicle", {"vehicleId": vehicle_id})
    remove = (of.owner, "DELETE", f"{delegating.candidates(of.owner)}/{of.borrower.company_id}")
    outcomes = set()
    for order in ((delegate, remove), (remove, delegate)) * 5:
        await app.call(of.owner, "POST", delegating.candidates(of.owner), {"toCompanyId": of.borrower.company_id})
        answers = await asyncio.gather(*(app.call(*request) for request in order))
        delegated, removed = answers if order[0] is delegate else reversed(answers)
        outcomes.add((delegated.status_code, removed.status_code))
        await app.call(of.owner, "DELETE", delegating.delegation(of.borrower, vehicle_id))

    assert outcomes <= {(200, 400), (400, 200)}
