"""Applying for a service account, and the platform administrator's review."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import select
from tests.support import rest as support
from tests.support.rest import Login, Rest

from tripline import observe
from tripline.domain.access import Authority
from tripline.domain.ids import PLACEHOLDER
from tripline.store.tables import account, mail_outbox, service_application

EMAIL = "ops@hanbit.example"
FORM = {
    "serviceName": "안전 택시",
    "companyName": "Hanbit",
    "contactName": "김하늘",
    "mobile": "010-1234-5678",
    "email": EMAIL,
    "introduction": "Scores\nfor taxis.",
    "department": "Fleet",
    "providerManagerName": "Lee",
    "providerManagerEmail": "lee@provider.example",
    "notifyHost": "push.hanbit.example",
}
UNKNOWN = "ffffffff-a4ed-11f0-8000-010000000042"


async def root(rest: Rest) -> Login:
    return await rest.account("root@platform.example", Authority.SYS_ADMIN)


async def submitted(rest: Rest, reviewer: Login, **fields: Any) -> dict[str, Any]:
    """A new application as the reviewer sees it."""
    assert await rest.post(None, "/api/noauth/application", {**FORM, **fields}) == {}
    page = await rest.get(reviewer, "/applications", limit=1)
    record: dict[str, Any] = page["data"][0]
    return record


async def mails(rest: Rest) -> list[tuple[str, str, str | None]]:
    columns = (mail_outbox.c.kind, mail_outbox.c.recipient, mail_outbox.c.application_id)
    return [tuple(row) for row in await rest.store.read(lambda tx: tx.all(select(*columns)))]


@pytest.fixture
async def reviewer(app: Rest) -> Login:
    return await root(app)


async def test_application_is_shown_as_it_was_sent(app, reviewer):
    record = await submitted(app, reviewer, unknown="ignored")
    listed, read = record, await app.get(reviewer, f"/application/{record['id']['id']}")

    assert listed == read
    assert {name: value for name, value in read.items() if name != "id"} == {
        **FORM,
        "createdTime": support.NOW_MS,
        "state": "SUBMITTED",
        "decidedTime": None,
        "decidedBy": {"id": PLACEHOLDER},
        "reason": None,
    }


async def test_application_may_name_the_providers_manager_as_the_original_interface_does(app):
    original = {"sktManagerName": "Park", "sktManagerEmail": "park@provider.example"}

    published = dict.fromkeys(("providerManagerName", "providerManagerEmail"))
    record = await submitted(app, await root(app), **published, **original)

    assert [record["providerManagerName"], record["providerManagerEmail"]] == list(original.values())


async def test_optional_fields_are_null_when_they_were_not_sent(app):
    optional = ("department", "providerManagerName", "providerManagerEmail", "notifyHost")

    record = await submitted(app, await root(app), **dict.fromkeys(optional))

    assert [record[name] for name in optional] == [None] * 4


@pytest.mark.parametrize("name", ["serviceName", "companyName", "contactName", "mobile", "email", "introduction"])
async def test_required_field_is_asked_for_by_name(app, name):
    found = await app.refused(None, "POST", "/api/noauth/application", {**FORM, name: ""})

    assert found == (400, 31, f"Parameter '{name}' can't be empty!")


async def test_answer_does_not_tell_whether_the_address_is_known(app, reviewer):
    await app.account(EMAIL, Authority.COMPANY_ADMIN)
    first = await submitted(app, reviewer)
    second = await submitted(app, reviewer, email=EMAIL.upper(), companyName="A stranger")
    rows = await app.store.read(lambda tx: tx.all(select(service_application.c.company_name)))

    assert (first == second, [row.company_name for row in rows]) == (True, ["Hanbit"])


async def test_many_applications_with_one_address_at_once_leave_one(app):
    forms = [{**FORM, "companyName": f"Company {n}"} for n in range(8)]
    answers = await asyncio.gather(*(app.post(None, "/api/noauth/application", form) for form in forms))

    assert (answers, len((await app.get(await root(app), "/applications", limit=10))["data"])) == ([{}] * 8, 1)


async def test_approved_applicant_has_an_account_that_nobody_can_log_in_to_yet(app, reviewer):
    record = await submitted(app, reviewer)
    app.now_ms += 5
    approved = await app.post(reviewer, f"/application/{record['id']['id']}/approve")
    columns = (account.c.login, account.c.name, account.c.phone, account.c.division, account.c.authority)
    of_applicant = select(*columns, account.c.company_id).where(account.c.login == EMAIL)
    (made,) = await app.store.read(lambda tx: tx.all(of_applicant))
    changed = {name: value for name, value in approved.items() if record[name] != value}
    sent = await mails(app) == [("application.approved", EMAIL, record["id"]["id"])]
    made, told, reviewer_id = tuple(made), app.signals.told, reviewer.user_id

    assert changed == {"state": "APPROVED", "decidedTime": support.NOW_MS + 5, "decidedBy": {"id": reviewer_id}}
    assert made == (EMAIL, "김하늘", "010-1234-5678", "Fleet", "COMPANY_ADMIN", None)
    assert sent
    assert told == [(observe.SIGNAL_MAIL_DUE, "")]


async def test_rejected_applicant_gets_a_mail_and_no_account(app, reviewer):
    record = await submitted(app, reviewer)
    body = {"reason": "No\nanswer"}
    rejected = await app.post(reviewer, f"/application/{record['id']['id']}/reject", body)
    accounts = await app.store.read(lambda tx: tx.all(select(account.c.id)))
    sent = await mails(app) == [("application.rejected", EMAIL, record["id"]["id"])]
    again = await submitted(app, reviewer)
    found = rejected["state"], rejected["reason"], len(accounts), sent, again["id"] != record["id"]

    assert found == ("REJECTED", "No\nanswer", 1, True, True)


@pytest.mark.parametrize("body", [{}, {"reason": ""}, {"reason": " \n"}, {"reason": "x" * 4097}, {"reason": 7}])
async def test_rejection_needs_a_reason(app, reviewer, body):
    record = await submitted(app, reviewer)
    path = f"/application/{record['id']['id']}"
    status, code, _ = await app.refused(reviewer, "POST", f"{path}/reject", body)

    assert (status, code, (await app.get(reviewer, path))["state"]) == (400, 31, "SUBMITTED")


@pytest.mark.parametrize("first", ["approve", "reject"])
@pytest.mark.parametrize("second", ["approve", "reject"])
async def test_second_decision_is_refused(app, reviewer, first, second):
    path = f"/application/{(await submitted(app, reviewer))['id']['id']}"
    decided = await app.post(reviewer, f"{path}/{first}", {"reason": "because"})
    status, code, _ = await app.refused(reviewer, "POST", f"{path}/{second}", {"reason": "otherwise"})

    assert (status, code, await app.get(reviewer, path) == decided, len(await mails(app))) == (400, 30, True, 1)


async def test_administrators_deciding_at_once_leave_one_outcome(app, reviewer):
    path = f"/application/{(await submitted(app, reviewer))['id']['id']}"
    decisions = ["approve", "reject"] * 4
    body = {"reason": "because"}
    answers = await asyncio.gather(*(app.call(reviewer, "POST", f"{path}/{each}", body) for each in decisions))
    accounts = await app.store.read(lambda tx: tx.all(select(account.c.id)))
    state = (await app.get(reviewer, path))["state"]
    statuses, accounts, sent = (
        sorted(a.status_code for a in answers),
        len(accounts),
        [kind for kind, *_ in await mails(app)],
    )

    assert statuses == [200] + [400] * 7
    assert (state, accounts, sent) in (
        ("APPROVED", 2, ["application.approved"]),
        ("REJECTED", 1, ["application.rejected"]),
    )


async def test_approval_of_an_address_that_has_an_account_is_refused_and_leaves_all_as_it_was(app):
    reviewer = await root(app)
    path = f"/application/{(await submitted(app, reviewer))['id']['id']}"
    await app.account(EMAIL.upper(), Authority.DRIVER)
    status, code, _ = await app.refused(reviewer, "POST", f"{path}/approve")

    assert (status, code, (await app.get(reviewer, path))["state"], await mails(app)) == (400, 31, "SUBMITTED", [])


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", f"/application/{UNKNOWN}", (404, 32)),
        ("GET", "/application/7", (400, 31)),
        ("POST", f"/application/{UNKNOWN}/approve", (404, 32)),
        ("POST", f"/application/{UNKNOWN}/reject", (404, 32)),
        ("GET", "/applications", (400, 31)),
        ("GET", "/applications?limit=0", (400, 31)),
        ("GET", "/applications?limit=1&state=submitted", (400, 31)),
        ("GET", f"/applications?limit=1&idOffset={UNKNOWN}", (400, 31)),
    ],
)
async def test_review_of_what_is_not_there_is_refused(app, method, path, expected):
    assert (await app.refused(await root(app), method, path))[:2] == expected


@pytest.mark.parametrize("ascending", ["false", "true"])
@pytest.mark.parametrize("state", [None, "SUBMITTED", "REJECTED"])
def test_pages_walk_through_all_applications_once(tmp_path, ascending, state):
    async def scenario(rest: Rest) -> tuple[list[str], list[str]]:
        reviewer = await root(rest)
        made = []
        for n in range(7):
            rest.now_ms += n % 2
            record = await submitted(rest, reviewer, email=f"k{n}@x.example")
            found = await rest.get(reviewer, "/applications", limit=100)
            (new,) = [each for each in found["data"] if each["email"] == f"k{n}@x.example"]
            assert record in found["data"]
            made.append(new["email"])
            if n % 3 == 0:
                await rest.post(reviewer, f"/application/{new['id']['id']}/reject", {"reason": "r"})
        query = {"limit": "2", "ascOrder": ascending, **({"state": state} if state else {})}
        seen: list[str] = []
        while True:
            page = await rest.get(reviewer, "/applications", **query)
            seen += [each["email"] for each in page["data"]]
            if not page["hasNext"]:
                return seen, made
            query["idOffset"] = page["nextPageLink"]["idOffset"]

    seen, made = support.run(tmp_path, scenario)
    wanted = {None: made, "SUBMITTED": [m for n, m in enumerate(made) if n % 3], "REJECTED": made[::3]}[state]
    assert seen == (wanted if ascending == "true" else wanted[::-1])


@pytest.mark.parametrize(
    "route",
    [
        "GET /applications?limit=1",
        "GET /application/{known}",
        f"GET /application/{UNKNOWN}",
        "POST /application/{known}/approve",
        "POST /application/{known}/reject",
        f"POST /application/{UNKNOWN}/approve",
    ],
)
async def test_only_a_platform_administrator_reviews(app, reviewer, route):
    record = await submitted(app, reviewer)
    _, admin = await app.operator("taxi")
    people = [await app.person(admin, role, role.lower()) for role in (Authority.DIRECTOR, Authority.DRIVER)]
    carrier = await app.account("carrier@x.example", Authority.CARRIER)
    granted = await app.account("granted@x.example", Authority.COMPANY_ADMIN)
    method, path = route.format(known=record["id"]["id"]).split(" ")
    body = {"reason": "because"} if path.endswith("reject") else None
    codes = [(await app.refused(who, method, path, body))[:2] for who in (admin, *people, carrier, granted)]
    nobody = (await app.refused(None, method, path, body))[:2]
    found = codes, nobody, (await app.get(reviewer, f"/application/{record['id']['id']}")) == record

    assert found == ([(403, 20)] * 5, (401, 10), True)
