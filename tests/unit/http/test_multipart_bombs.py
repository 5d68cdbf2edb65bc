"""Forms made to cost: refused while they come, whatever they hold many of."""

import pytest
from tests.support import rest

pytestmark = pytest.mark.once("how a form is read")

PART = b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\nv\r\n'
FILE = b'--b\r\nContent-Disposition: form-data; name="f"; filename="%b"\r\n\r\nvehicleNo,mileage\n1,1\n'
BOMBS = {
    "ten thousand parts": PART * 10_000 + b"--b--\r\n",
    "name of two megabytes": PART.replace(b"x", b"n" * 2_000_000) + b"--b--\r\n",
    "file name of a megabyte": FILE % (b"n" * 1_000_000) + b"\r\n--b--\r\n",
    "a hundred thousand headers": b"--b\r\n" + b"X: y\r\n" * 100_000 + b"\r\nv\r\n--b--\r\n",
    "nothing but what comes before": b"x" * 2_000_000,
    "nothing but beginnings": b"--b" * 700_000,
    "file that never ends": FILE % b"f",
    "field of a megabyte": PART.replace(b"\r\n\r\nv", b"\r\n\r\n" + b"v" * 1_000_000) + b"--b--\r\n",
}


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize("noun", ["vehicles", "sensors"])
async def test_form_made_to_cost_is_refused_and_registers_nothing(app: rest.Rest, noun, bomb):
    async def pieces():
        for start in range(0, len(BOMBS[bomb]), 65_536):
            yield BOMBS[bomb][start : start + 65_536]

    _, admin = await app.operator("ace")
    headers = {"X-Authorization": f"Bearer {admin.token}", "Content-Type": "multipart/form-data; boundary=b"}
    answer = await app.http.post(f"/api/tre/v1/{noun}/bulk", headers=headers, content=pieces())
    count = await app.get(admin, f"/{noun}/count", companyId=admin.company_id)

    assert (answer.status_code in (400, 413), answer.json()["errorCode"], count) == (True, 31, {"count": 0})


@pytest.mark.parametrize(
    "content_type",
    [
        "multipart/form-data; boundary=" + "b" * 60_000,
        "multipart/form-data; " + "a=b; " * 10_000 + "boundary=b",
        'multipart/form-data; boundary="' + '\\"' * 20_000,
        'multipart/form-data; boundary="b\r\n"',
    ],
    ids=["long boundary", "many options", "quotes", "line end"],
)
async def test_content_type_made_to_cost_is_refused(app: rest.Rest, admin, content_type):
    headers = {"X-Authorization": f"Bearer {admin.token}", "Content-Type": content_type}
    answer = await app.http.post("/api/tre/v1/vehicles/bulk", headers=headers, content=PART)

    assert (answer.status_code, answer.json()["errorCode"]) == (400, 31)
