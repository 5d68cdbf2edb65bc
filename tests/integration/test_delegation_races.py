"""Two servers on one database file: of equal delegations one is made, and nothing is left of what was taken back."""

import asyncio
from collections import Counter

from tests.support import delegating

ROUNDS = 6


async def test_equal_delegations_at_two_servers_have_one_winner_each(servers):
    first = servers[0]
    of = await delegating.companies(first)
    vehicle_id = await delegating.new_vehicle(first, of.owner)
    driver = await delegating.driver(first, of.borrower, "driver")
    requests = [
        (of.owner, "POST", delegating.candidates(of.owner), {"toCompanyId": of.borrower.company_id}),
        (of.owner, "POST", f"/company/{of.borrower.company_id}/relation/vehicle", {"vehicleId": vehicle_id}),
        (of.borrower, "POST", delegating.rights(driver, drive=True), {"vehicleId": vehicle_id}),
        (of.borrower, "DELETE", f"{delegating.rights(driver, drive=True)}/{vehicle_id}"),
        (of.owner, "DELETE", delegating.delegation(of.borrower, vehicle_id)),
        (of.owner, "DELETE", f"{delegating.candidates(of.owner)}/{of.borrower.company_id}"),
    ]
    outcomes = []
    for request in requests * ROUNDS:
        answers = await asyncio.gather(*(server.call(*request) for server in servers * 3))
        outcomes.append(Counter((answer.status_code, answer.json().get("errorCode")) for answer in answers))

    made, gone = {(200, None): 1, (400, 31): 5}, {(200, None): 1, (404, 32): 5}

    assert outcomes == [made, made, made, gone, gone, gone] * ROUNDS


async def test_rights_given_at_one_server_while_the_other_takes_the_vehicle_back_are_not_left_over(servers):
    first, second = servers
    of = await delegating.companies(first)
    vehicle_id = await delegating.new_vehicle(first, of.owner)
    driver = await delegating.driver(first, of.borrower, "driver")
    await delegating.register(first, of.owner, of.borrower)
    give = (of.borrower, "POST", delegating.rights(driver, drive=True), {"vehicleId": vehicle_id})
    seen = []
    for _ in range(ROUNDS):
        await delegating.delegate(first, of.owner, of.borrower, vehicle_id)
        await asyncio.gather(
            first.call(*give), second.call(of.owner, "DELETE", delegating.delegation(of.borrower, vehicle_id))
        )
        rights = await second.get(of.operator, f"{delegating.rights(driver, drive=True)}s", limit=9)
        vehicle = await first.call(driver, "GET", f"/vehicle/{vehicle_id}")
        seen.append((rights["data"], vehicle.status_code))

    assert seen == [([], 403)] * ROUNDS
