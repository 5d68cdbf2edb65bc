"""An account that ends while its request is still on the way: what comes last is not done any more."""

import pytest
from sqlalchemy import update
from tests.support import rest

from tripline.domain.access import Authority
from tripline.store.tables import account

BODY = b'{"name": "Other", "email": "new@x.example", "vehicleNo": "2", "mileage": 2}'
CASES = (
    ("PUT", "/company/{company}", BODY),
    ("PUT", "/driver/{driver}", BODY),
    ("PUT", "/vehicle/{vehicle}", BODY),
    ("POST", "/vehicle", BODY),
    ("POST", "/company/{company}/relation/company", b'{"toCompanyId": "{partner}"}'),
    ("POST", "/driver/{driver}/relation/vehicle", b'{"vehicleId": "{vehicle}"}'),
    ("POST", "/company/{partner}/relation/vehicle", b'{"vehicleId": "{vehicle}"}'),
    ("POST", "/vehicles/bulk", b"vehicleNo,mileage\n2,1\n"),
    ("POST", "/api/auth/changePassword", b'{"currentPassword": "pass phrase", "newPassword": "pass phrase 2"}'),
)


@pytest.mark.parametrize(("method", "path", "body"), CASES, ids=[case[1] for case in CASES])
async def test_request_of_an_account_disabled_amid_the_body_is_refused(app: rest.Rest, admin, method, path, body):
    partner, _ = await app.partner(admin, "p@p.example")
    driver = await app.person(admin, Authority.DRIVER, "driver")
    vehicle = await app.post(admin, "/vehicle", {"vehicleNo": "1", "mileage": 1})
    ids = {"company": admin.company_id, "partner": partner["id"]["id"], "vehicle": vehicle["id"]["id"]}
    ids["driver"] = driver.user_id
    sent = body
    for name, each in ids.items():
        sent = sent.replace(b"{%s}" % name.encode(), each.encode())

    async def slowly():
        yield sent[:1]
        gone = update(account).where(account.c.id == admin.user_id).values(enabled=False)
        await app.store.write(lambda tx: tx.run(gone))
        yield sent[1:]

    address = path if path.startswith("/api") else f"/api/tre/v1{path.format_map(ids)}"
    headers = {"X-Authorization": f"Bearer {admin.token}"}
    answer = await app.http.request(method, address, headers=headers, content=slowly())

    assert (answer.status_code, answer.json()["errorCode"]) == (401, 10)
