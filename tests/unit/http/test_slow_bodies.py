"""Accounts that end while the body of their request is on its way."""

from tests.support import rest


async def test_account_that_ends_before_its_body_came_is_refused(app: rest.Rest):
    _, owner = await app.operator("owner")
    partner, administrator = await app.partner(owner, "p@p.example", name="P")

    async def body():
        await app.delete(owner, f"/company/{partner['id']['id']}")
        yield b'{"vehicleNo": "V1"}'

    answer = await app.http.request(
        "POST",
        "/api/tre/v1/vehicle",
        content=body(),
        headers={"X-Authorization": f"Bearer {administrator.token}"},
    )

    assert (answer.status_code, answer.json()["errorCode"]) == (401, 10)
