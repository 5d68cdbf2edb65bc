"""Changing, deleting, listing and counting companies over REST."""

import pytest
from tests.support import dangling, delegating, rest

from tripline.domain.access import Authority

UNKNOWN = "ffffffff-a4ed-11f0-8000-010000000042"


def names(page):
    return [company["name"] for company in page["data"]]


async def test_change_replaces_the_named_fields_alone(app: rest.Rest):
    before, admin = await app.operator("ace", notifyHost="http://203.0.113.10/noti", description="first")
    path = f"/company/{admin.company_id}"
    change = {"notifyHost": "http://203.0.113.11/noti", "notifyMsgType": [7, "600"]}
    changed = await app.call(admin, "PUT", path, change)
    changed, read = changed.json(), await app.get(admin, path)

    del before["picPasswd"]
    named = {"notifyHost": "http://203.0.113.11/noti", "notifyMsgType": [7, "600"]}
    assert changed == {**before, **named, "tokenPrefix": read["tokenPrefix"]}
    assert read == changed


async def test_change_of_nothing_answers_the_record(app: rest.Rest, admin):
    path = f"/company/{admin.company_id}"
    read = await app.get(admin, path)
    answers = [await app.call(admin, "PUT", path, body) for body in ({}, read, {"unheardOf": {"a": 1}})]

    assert [answer.json() for answer in answers] == [read] * 3


async def test_change_of_null_clears_an_optional_field(app: rest.Rest):
    _, admin = await app.operator("ace", notifyHost="203.0.113.10", region="Busan", rpcNotifyPort=80)
    body = {"notifyHost": None, "region": None, "rpcNotifyPort": ""}
    await app.call(admin, "PUT", f"/company/{admin.company_id}", body)
    record = await app.get(admin, "/company/me")

    assert record["region"] is None
    assert record.keys().isdisjoint({"notifyHost", "rpcNotifyPort"})


@pytest.mark.parametrize("wrap", [lambda text: {"id": text}, str, str.upper])
async def test_change_may_name_the_company_in_its_body(app: rest.Rest, admin, wrap):
    changed = await app.call(admin, "PUT", "/company", {"id": wrap(admin.company_id), "name": "Ace 2"})
    found = changed.status_code, changed.json()["name"], (await app.get(admin, "/company/me"))["name"]

    assert found == (200, "Ace 2", "Ace 2")


async def test_change_that_names_no_company_is_refused(app: rest.Rest):
    empty = (400, 31, "Parameter 'id' can't be empty!")
    _, ace = await app.operator("ace")
    _, other = await app.operator("other")
    bodies = [{}, {"id": None}, {"id": {}}, {"id": 7}, {"id": "x"}, {"id": UNKNOWN}, {"id": other.company_id}]

    assert [await app.refused(ace, "PUT", "/company", {"name": 7, **body}) for body in bodies] == [
        empty,
        empty,
        empty,
        (400, 31, "Parameter 'id' must be an Id object or a UUID."),
        (400, 31, "Parameter 'id' must be a UUID."),
        (404, 32, "There is no company with this id."),
        (403, 20, "This company is outside your reach."),
    ]


async def test_g5_bounds_hold_in_a_change_too(app: rest.Rest):
    cases = {
        "name": "a" * 256,
        "region": "a" * 256,
        "picName": " ",
        "picEmail": "a@" + "b" * 254,
        "picDivision": "a" * 256,
        "providerManagerName": "a" * 256,
        "providerManagerEmail": "lee",
        "cooperationTask": "a" * 4097,
        "description": "a" * 4097,
        "notifyHost": "ftp://receiver.example",
        "notifyMsgType": "1" * 256,
        "rpcNotifyHost": "a" * 256,
        "rpcNotifyPort": 65536,
        "rpcNotifyBasePath": "a" * 256,
        "picPhone": 10,
        "serviceType": "other",
        "picPasswd": "another",
    }

    _, admin = await app.operator("ace")
    path = f"/company/{admin.company_id}"
    before = await app.get(admin, path)
    refusals = {name: await app.refused(admin, "PUT", path, {name: value}) for name, value in cases.items()}
    after = await app.get(admin, path)

    assert {name: refusal[:2] for name, refusal in refusals.items()} == dict.fromkeys(cases, (400, 31))
    assert all(message.startswith(f"Parameter '{name}' ") for name, (_, _, message) in refusals.items())
    assert after == before


async def test_pic_email_of_a_change_is_contact_data_and_changes_no_login(app: rest.Rest, admin):
    await app.post(admin, "/driver", {"name": "D", "email": "d@ace.example", "password": "pass phrase"})
    changed = await app.call(admin, "PUT", f"/company/{admin.company_id}", {"picEmail": "d@ace.example"})
    found = (
        changed.json()["picEmail"],
        [
            (await app.http.post("/api/auth/login", json={"username": email, "password": "pass phrase"})).status_code
            for email in ("admin@ace.example", "d@ace.example")
        ],
        (await app.get(admin, f"/company/{admin.company_id}/admins?limit=5"))["data"][0]["email"],
    )

    assert found == ("d@ace.example", [200, 200], "admin@ace.example")


async def test_operator_changes_and_deletes_partners_of_partners_but_they_not_each_other(app: rest.Rest, admin):
    _, p = await app.partner(admin, "p@p.example")
    _, q = await app.partner(p, "q@q.example")
    company = f"/company/{q.company_id}"
    refused = [await app.refused(p, method, company, {}) for method in ("PUT", "DELETE")]
    own = [await app.call(q, method, company, {}) for method in ("PUT", "DELETE")]
    done = [await app.call(admin, method, company, {"name": "Q 2"}) for method in ("PUT", "DELETE")]
    own, (changed, deleted) = [answer.status_code for answer in own], [answer.json() for answer in done]

    assert refused == [(403, 20, "This company is outside your reach.")] * 2
    assert own == [200, 403]
    assert (changed["name"], deleted) == ("Q 2", {})


async def test_company_that_would_delete_itself_is_told_who_does(app: rest.Rest):
    told = "A company cannot delete itself: an operator deletes its partners, and the platform deletes operators."
    _, operator = await app.operator("ace")
    _, partner = await app.partner(operator, "p@p.example")
    found = [await app.refused(each, "DELETE", f"/company/{each.company_id}") for each in (operator, partner)]

    assert found == [(403, 20, told)] * 2


async def test_operator_never_deletes_itself_but_the_platform_does(app: rest.Rest, admin):
    root = await app.account("root@x.example", Authority.SYS_ADMIN)
    company = f"/company/{admin.company_id}"
    refused = await app.refused(admin, "DELETE", company)
    deleted = await app.call(root, "DELETE", company)
    deleted, gone, token, again = (
        deleted.json(),
        await app.refused(root, "GET", company),
        await app.refused(admin, "GET", "/company/me"),
        (await app.operator("ace"))[0]["serviceType"],
    )

    assert (refused[:2], deleted) == ((403, 20), {})
    assert gone == (404, 32, "There is no company with this id.")
    assert token[:2] == (401, 10)
    assert again == "ace"


async def test_company_in_use_is_not_deleted(app: rest.Rest):
    root = await app.account("root@x.example", Authority.SYS_ADMIN)
    _, operator = await app.operator("ace")
    _, p = await app.partner(operator, "p@p.example")
    vehicle = (await app.post(p, "/vehicle", {"vehicleNo": "1", "mileage": 1}))["id"]["id"]
    refused = [
        await app.refused(root, "DELETE", f"/company/{operator.company_id}"),
        await app.refused(operator, "DELETE", f"/company/{p.company_id}"),
    ]
    await app.call(p, "DELETE", f"/vehicle/{vehicle}")
    sensor_id = await delegating.new_sensor(app, p)
    refused.append(await app.refused(operator, "DELETE", f"/company/{p.company_id}"))
    await app.call(p, "DELETE", f"/sensor/{sensor_id}")
    left = [await app.call(root, "DELETE", f"/company/{one.company_id}") for one in (p, operator)]
    left = [answer.json() for answer in left]

    owns = (400, 30, "The company still has vehicles or sensors; delete them first.")
    assert refused == [(400, 30, "The company still has partners; delete them first."), owns, owns]
    assert left == [{}, {}]


async def test_deleted_company_leaves_no_reference_and_partners_it_registered(app: rest.Rest, admin):
    _, p = await app.partner(admin, "p@p.example")
    _, q = await app.partner(p, "q@q.example")
    driver = await app.person(p, Authority.DRIVER, "han")
    await app.call(admin, "DELETE", f"/company/{p.company_id}")
    found = await dangling.left(app.store, p.company_id, p.user_id, driver.user_id)
    left, operator_id = await app.get(q, "/company/me"), admin.company_id

    assert found == {}
    assert left["masterId"]["id"] == operator_id


async def test_companies_are_listed_by_name_within_reach(app: rest.Rest):
    root = await app.account("root@x.example", Authority.SYS_ADMIN)
    _, ace = await app.operator("ace", name="M")
    _, p = await app.partner(ace, "p@p.example", name="b")
    await app.partner(p, "q@q.example", name="A")
    _, other = await app.operator("other", name="Z")
    granted = await app.account("granted@x.example", Authority.COMPANY_ADMIN)
    path = "/companies?limit=9"
    every, by_type, own_type, found, foreign, granted, unlimited = (
        [names(await app.get(login, path)) for login in (root, ace, p, other)],
        [names(await app.get(root, f"{path}&serviceType={asked}")) for asked in ("ace", "other", "none")],
        [names(await app.get(login, f"{path}&serviceType=ace")) for login in (ace, p)],
        names(await app.get(ace, f"{path}&textSearch=B")),
        [await app.refused(ace, "GET", f"/companies?limit=x&serviceType={asked}") for asked in ("other", "none")],
        await app.refused(granted, "GET", path),
        await app.refused(ace, "GET", "/companies"),
    )

    assert every == [["A", "M", "Z", "b"], ["A", "M", "b"], ["b"], ["Z"]]
    assert by_type == [["A", "M", "b"], ["Z"], []]
    assert own_type == [["A", "M", "b"], ["b"]]
    assert found == ["b"]
    assert foreign == [(403, 20, "This service type is outside your reach.")] * 2
    assert granted[:2] == (403, 20)
    assert unlimited == (400, 31, "Parameter 'limit' can't be empty!")


@pytest.mark.parametrize("query", ["", "&serviceType=ace"])
async def test_pages_of_companies_follow_each_other(app: rest.Rest, query):
    _, ace = await app.operator("ace", name="same")
    for number in range(4):
        await app.partner(ace, f"p{number}@p.example", name="same")
    path = f"/companies?limit=2{query}"
    pages = [await app.get(ace, path)]
    while pages[-1]["hasNext"]:
        link = pages[-1]["nextPageLink"]
        pages.append(await app.get(ace, f"{path}&idOffset={link['idOffset']}&textOffset={link['textOffset']}"))
    alone = await app.get(ace, f"{path}&idOffset={pages[0]['nextPageLink']['idOffset']}")
    pages, alone = [[row["id"]["id"] for row in page["data"]] for page in pages], alone["data"] == pages[1]["data"]

    seen = [company_id for page in pages for company_id in page]
    assert [len(page) for page in pages] == [2, 2, 1]
    assert seen == sorted(set(seen))
    assert alone


async def test_number_of_partners_of_a_service_type(app: rest.Rest):
    root = await app.account("root@x.example", Authority.SYS_ADMIN)
    _, ace = await app.operator("ace")
    _, p = await app.partner(ace, "p@p.example")
    await app.partner(p, "q@q.example")
    _, other = await app.operator("other")
    await app.partner(other, "r@r.example")
    path = "/companies/count"
    for_root, for_ace, for_partner, foreign = (
        [await app.get(root, f"{path}{query}") for query in ("", "?serviceType=ace", "?serviceType=none")],
        [await app.get(ace, f"{path}{query}") for query in ("", "?serviceType=ace")],
        await app.get(p, f"{path}?serviceType=ace"),
        await app.refused(ace, "GET", f"{path}?serviceType=other"),
    )

    assert for_root == [{"count": 3}, {"count": 2}, {"count": 0}]
    assert for_ace == [{"count": 2}] * 2
    assert for_partner == {"count": 1}
    assert foreign[:2] == (403, 20)


async def test_x5_operators_and_partners_take_either_set_of_notify_fields(app: rest.Rest):
    both = {
        "notifyHost": "http://203.0.113.10:9090/noti",
        "notifyMsgType": "0f",
        "rpcNotifyHost": "203.0.113.10",
        "rpcNotifyPort": 8080,
        "rpcNotifyBasePath": "/rpc",
    }

    _, ace = await app.operator("ace")
    _, p = await app.partner(ace, "p@p.example")
    found = [(await app.call(one, "PUT", f"/company/{one.company_id}", both)).json() for one in (ace, p)]

    for record in found:
        assert {name: record[name] for name in both} == both


MANAGER = {"sktManagerName": "Lee", "sktManagerEmail": "lee@provider.example"}
PUBLISHED = {"sktManagerName": "providerManagerName", "sktManagerEmail": "providerManagerEmail"}


async def test_providers_manager_under_the_original_names_is_kept_and_echoed_under_both(app: rest.Rest):
    made, admin = await app.operator("ace", **MANAGER)
    path = f"/company/{admin.company_id}"
    read = await app.get(admin, path)
    changed = (await app.call(admin, "PUT", path, {"sktManagerName": "Park"})).json()
    cleared = (await app.call(admin, "PUT", path, {"sktManagerName": None})).json()

    published = {PUBLISHED[name]: value for name, value in MANAGER.items()}
    assert made.items() >= {**MANAGER, **published}.items()
    assert read.items() >= published.items()
    assert not MANAGER.keys() & read.keys()
    assert changed == {**read, "providerManagerName": "Park", "sktManagerName": "Park"}
    assert cleared == {**read, "providerManagerName": None, "sktManagerName": None}


@pytest.mark.parametrize(
    ("sent", "outcome"),
    [
        ({**MANAGER, "providerManagerName": "Lee"}, None),
        ({**MANAGER, "providerManagerName": None}, None),
        (
            {**MANAGER, "providerManagerName": "Park"},
            "Parameters 'sktManagerName' and 'providerManagerName' are the same field and must not differ.",
        ),
        ({"sktManagerEmail": 1}, "Parameter 'sktManagerEmail' has the wrong type: expected text, got a whole number."),
        ({"sktManagerEmail": "lee"}, "Parameter 'providerManagerEmail' must be an e-mail address."),
    ],
)
async def test_providers_manager_under_both_names_must_be_one(app: rest.Rest, sent, outcome):
    granted = await app.account("admin@ace.example", Authority.COMPANY_ADMIN)
    answer = await app.call(granted, "POST", "/company", rest.company_body("ace", "admin@ace.example", **sent))
    status, body = answer.status_code, answer.json()

    if outcome is None:
        assert (status, body["providerManagerName"]) == (200, "Lee")
    else:
        assert (status, body["errorCode"], body["message"]) == (400, 31, outcome)
