"""Two servers on one database file: of registrations that collide one wins, and the other is told so."""

import asyncio
from collections import Counter

import pytest
from tests.support import rest

from tripline.domain.access import Authority

ROUNDS = 8

RACES = {
    "/vehicle": lambda n: {"vehicleNo": f"{n}가", "mileage": 1},
    "/sensor": lambda n: {"serialNo": f"SN-{n}", "type": "GPS", "credentialsId": f"{n:020d}"},
    "/driver": lambda n: {"name": "N", "email": f"n{n}@new.example", "password": "pass phrase"},
    "/director": lambda n: {"name": "N", "email": f"n{n}@new.example", "password": "pass phrase"},
}


async def collide(servers, login, path, body):
    """HTTP status and errorCode of the same request sent to every server at once, three times each."""
    answers = await asyncio.gather(*(server.call(login, "POST", path, body) for server in servers * 3))
    return Counter((answer.status_code, answer.json().get("errorCode")) for answer in answers)


@pytest.mark.parametrize("path", RACES)
async def test_same_registration_at_two_servers_has_one_winner(servers, admin, path):
    assert [await collide(servers, admin, path, RACES[path](number)) for number in range(ROUNDS)] == [
        {(200, None): 1, (400, 31): 5}
    ] * ROUNDS


async def test_same_token_under_different_serials_has_one_winner(servers, admin):
    bodies = [{"serialNo": f"SN-{n}", "type": "GPS", "credentialsId": "t" * 20} for n in range(6)]
    answers = await asyncio.gather(
        *(servers[n % 2].call(admin, "POST", "/sensor", body) for n, body in enumerate(bodies))
    )

    taken = "Parameter 'credentialsId': a sensor with this access token is already registered."

    assert Counter(answer.json().get("message", "registered") for answer in answers) == {"registered": 1, taken: 5}


async def test_same_service_type_at_two_servers_has_one_operator(servers):
    root = await servers[0].account("root@x.example", Authority.SYS_ADMIN)
    bodies = [rest.company_body("ace", f"kim{n}@ace.example") for n in range(6)]
    answers = await asyncio.gather(
        *(servers[n % 2].call(root, "POST", "/company", body) for n, body in enumerate(bodies))
    )

    taken = "Parameter 'serviceType': ace already has an operator company."

    assert Counter(answer.json().get("message", "registered") for answer in answers) == {"registered": 1, taken: 5}


async def test_granted_account_that_asks_twice_at_once_registers_one_company(servers):
    granted = await servers[0].account("kim@ace.example", Authority.COMPANY_ADMIN)
    bodies = [rest.company_body(f"type-{n}", "kim@ace.example") for n in range(2)]

    assert sorted(
        answer.status_code
        for answer in await asyncio.gather(
            *(server.call(granted, "POST", "/company", body) for server, body in zip(servers, bodies, strict=True))
        )
    ) == [200, 400]
