"""Registering, changing, deleting and listing a company's administrators over REST."""

from tests.support import dangling, rest

from tripline.domain.access import Authority

BODY = {"name": "Lee", "email": "lee@ace.example", "phone": "010", "password": "pass phrase"}
UNKNOWN = "ffffffff-a4ed-11f0-8000-010000000042"


async def log_in(app, email, password):
    """Status and tokens of a log-in."""
    answer = await app.http.post("/api/auth/login", json={"username": email, "password": password})
    return answer.status_code, answer.json()


async def test_new_administrator_logs_in_and_administers_the_company(app: rest.Rest, admin):
    record = await app.post(admin, f"/company/{admin.company_id}/admin", BODY)
    _, tokens = await log_in(app, "lee@ace.example", "pass phrase")
    headers = {"X-Authorization": f"Bearer {tokens['token']}"}
    mine = await app.http.get("/api/tre/v1/company/me", headers=headers)
    company_id, seen = admin.company_id, mine.json()["id"]["id"]

    assert record == {
        "id": record["id"],
        "createdTime": rest.NOW_MS,
        "companyId": {"id": company_id},
        "name": "Lee",
        "phone": "010",
        "vehicleId": None,
        "latestTripId": {"id": "13814000-1dd2-11b2-8080-808080808080"},
        "email": "lee@ace.example",
        "authority": "COMPANY_ADMIN",
        "password": None,
        "additionalInfo": None,
        "passwordUpdatedTime": rest.NOW_MS,
    }
    assert seen == company_id


async def test_administrators_are_managed_by_their_company_its_operator_and_the_platform(app: rest.Rest):
    root = await app.account("root@x.example", Authority.SYS_ADMIN)
    _, operator = await app.operator("ace")
    _, p = await app.partner(operator, "p@p.example")
    _, q = await app.partner(p, "q@q.example")
    _, other = await app.operator("other")
    director = await app.person(p, Authority.DIRECTOR, "han")
    path = f"/company/{p.company_id}"
    asked = []
    for number, login in enumerate((root, operator, p, q, other, director)):
        body = {**BODY, "email": f"{number}@p.example"}
        answers = [
            await app.call(login, "POST", f"{path}/admin", body),
            await app.call(login, "PUT", f"{path}/admin/{p.user_id}", {"name": f"by {number}"}),
            await app.call(login, "GET", f"{path}/admins?limit=9"),
        ]
        asked.append([answer.status_code for answer in answers])

    assert asked == [[200] * 3, [200] * 3, [200] * 3, [403] * 3, [403] * 3, [403] * 3]


async def test_change_of_another_administrators_password_ends_the_log_ins_to_be_prolonged(app: rest.Rest, admin):
    path = f"/company/{admin.company_id}/admin"
    record = await app.post(admin, path, BODY)
    _, tokens = await log_in(app, "lee@ace.example", "pass phrase")
    app.now_ms += 1_000
    body = {"password": "another phrase", "email": "lee@new.example"}
    changed = await app.call(admin, "PUT", f"{path}/{record['id']['id']}", body)
    refreshed = await app.http.post("/api/auth/token", json={"refreshToken": tokens["refreshToken"]})
    changed, refreshed, old, new = (
        changed.json(),
        refreshed.status_code,
        (await log_in(app, "lee@new.example", "pass phrase"))[0],
        (await log_in(app, "lee@new.example", "another phrase"))[0],
    )

    assert changed == {**record, "email": "lee@new.example", "passwordUpdatedTime": rest.NOW_MS + 1_000}
    assert (refreshed, old, new) == (401, 401, 200)


async def test_own_email_and_password_are_not_changed_here(app: rest.Rest, admin):
    path = f"/company/{admin.company_id}/admin/{admin.user_id}"
    password, email, name = (
        await app.refused(admin, "PUT", path, {"password": "another"}),
        await app.refused(admin, "PUT", path, {"email": "new@ace.example"}),
        (await app.call(admin, "PUT", path, {"email": "admin@ace.example", "name": "Kim 2"})).json()["name"],
    )

    assert password == (400, 30, "Change your own password with POST /api/auth/changePassword.")
    assert email == (
        400,
        30,
        "You log in with this e-mail address; only an administrator can change it.",
    )
    assert name == "Kim 2"


async def test_last_administrator_of_a_company_is_not_deleted(app: rest.Rest):
    root = await app.account("root@x.example", Authority.SYS_ADMIN)
    _, admin = await app.operator("ace")
    path = f"/company/{admin.company_id}/admin"
    refused = [await app.refused(login, "DELETE", f"{path}/{admin.user_id}") for login in (admin, root)]
    second = (await app.post(admin, path, BODY))["id"]["id"]
    deleted = await app.call(admin, "DELETE", f"{path}/{admin.user_id}")
    deleted, second, token, found = (
        deleted.json(),
        (await app.refused(root, "DELETE", f"{path}/{second}"))[:2],
        (await app.refused(admin, "GET", "/company/me"))[:2],
        await dangling.left(app.store, admin.user_id),
    )

    only = (400, 30, "This is the company's only administrator; register another one first.")
    assert refused == [only, only]
    assert (deleted, second, token, found) == ({}, (400, 30), (401, 10), {})


async def test_administrator_is_looked_for_in_the_company_of_the_path(app: rest.Rest):
    _, operator = await app.operator("ace")
    _, p = await app.partner(operator, "p@p.example")
    _, other = await app.operator("other")
    driver = await app.person(operator, Authority.DRIVER, "han")
    path = f"/company/{operator.company_id}/admin"
    ids = (p.user_id, other.user_id, driver.user_id, UNKNOWN, "x")
    refusals = [
        await app.refused(operator, method, f"{path}/{user_id}", [1]) for user_id in ids for method in ("PUT", "DELETE")
    ]

    elsewhere = (404, 32, "The company has no administrator with this id.")
    foreign = (403, 20, "This administrator is outside your reach.")
    unknown = (404, 32, "There is no administrator with this id.")
    malformed = (400, 31, "Parameter 'userId' must be a UUID.")
    assert refusals == [each for each in (elsewhere, foreign, unknown, unknown, malformed) for _ in range(2)]


async def test_administrators_are_listed_by_name(app: rest.Rest, admin):
    path = f"/company/{admin.company_id}/admin"
    for name in ("b", "A", "c"):
        await app.post(admin, path, {**BODY, "name": name, "email": f"{name}@ace.example"})
    await app.person(admin, Authority.DRIVER, "driver")
    page = await app.get(admin, f"{path}s?limit=3")
    link = page["nextPageLink"]
    rest_of_it = await app.get(admin, f"{path}s?limit=3&idOffset={link['idOffset']}&textOffset={link['textOffset']}")
    found = await app.get(admin, f"{path}s?limit=3&textSearch=B")
    seen = [[user["name"] for user in one["data"]] for one in (page, rest_of_it, found)]

    assert seen == [["A", "Kim", "b"], ["c"], ["b"]]


async def test_h5_email_of_another_account_is_refused(app: rest.Rest, admin):
    await app.operator("other")
    path = f"/company/{admin.company_id}/admin"
    lee = (await app.post(admin, path, BODY))["id"]["id"]
    taken = {"email": "ADMIN@other.example"}

    refusal = (400, 31, "Parameter 'email': an account with the e-mail address ADMIN@other.example already exists.")
    assert await app.refused(admin, "POST", path, {**BODY, **taken}) == refusal
    assert await app.refused(admin, "PUT", f"{path}/{lee}", taken) == refusal
