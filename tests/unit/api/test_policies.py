"""Scoring policies over REST: which there are, which holds from when, who chose it, wrong values, the history."""

import pytest
from tests.support import rest

from tripline.domain.access import Authority
from tripline.scoring.rules import Rules, Scoring
from tripline.store.scores import policies
from tripline.store.scores.policies import Kind

POLICIES = "/api/tre/v1_3/scoring/policies"
UNKNOWN = "11111111-1111-1111-8111-111111111111"
LATEST_MS = 4_102_444_800_000


@pytest.fixture
async def admin(app):
    """The administrator of an operator with the program's policies and one more."""
    return await app.staged(_admin)


async def _admin(app):
    await app.store.write(lambda tx: policies.keep(tx, Rules(scoring=Scoring(harsh_weight=0.9)), now_ms=1))
    return (await app.operator("taxi"))[1]


@pytest.fixture
def path(admin):
    """Of its scoring."""
    return f"/api/tre/v1_3/company/{admin.company_id}/scoring"


async def test_policies_are_told_with_every_number(app: rest.Rest, admin):
    first, second, third, fourth = (await app.get(admin, POLICIES))["data"]

    assert [each["policy"] for each in (first, second, third, fourth)] == [1, 2, 3, 4]
    assert (first["style"]["braking_weight"], second["style"]["braking_weight"]) == (0.0, 0.1)
    assert (first["scoring"]["harsh_weight"], fourth["scoring"]["harsh_weight"]) == (0.45, 0.9)
    assert first["harsh"]["start"] == [10.0, 8.0, 6.0]
    assert "grace_s" not in first["scoring"]


async def test_choice_is_told_with_its_date_and_who_made_it(app: rest.Rest, path, admin):
    before = await app.get(admin, path)
    now = await app.call(admin, "PUT", path, {"policy": 2})
    app.now_ms += 1_000
    later = await app.call(admin, "PUT", path, {"policy": None, "fromTime": app.now_ms + 5_000})
    app.now_ms += 5_000
    now_ms, now, later, after = app.now_ms - 6_000, now.json(), later.json(), await app.get(admin, path)

    by = {"id": admin.user_id}
    chosen = {"policy": 2, "fromTime": now_ms, "chosenTime": now_ms, "chosenBy": by}
    ended = {"policy": None, "fromTime": now_ms + 6_000, "chosenTime": now_ms + 1_000, "chosenBy": by}
    of_settings = {"inForce": 1, "inForceBy": "SETTINGS", "inForceSince": None, "rescoring": None}
    of_company = {"inForce": 2, "inForceBy": "COMPANY", "inForceSince": now_ms, "rescoring": None}
    assert before == {**of_settings, "choices": []}
    assert now == {**of_company, "choices": [chosen]}
    assert later == {**of_company, "choices": [chosen, ended]}
    assert after == {**of_settings, "choices": [chosen, ended]}


async def test_choice_of_the_service_holds_where_the_company_has_none(app: rest.Rest, path, admin):
    await app.store.write(lambda tx: policies.choose(tx, Kind.SERVICE_TYPE, "taxi", 4, from_ms=0, now_ms=app.now_ms))
    by_service = await app.get(admin, path)
    await app.call(admin, "PUT", path, {"policy": 2})
    by_company = await app.get(admin, path)

    assert by_service == {
        "inForce": 4,
        "inForceBy": "SERVICE_TYPE",
        "inForceSince": 0,
        "choices": [],
        "rescoring": None,
    }
    assert (by_company["inForce"], by_company["inForceBy"]) == (2, "COMPANY")


async def test_nothing_is_in_force_before_anything_was_scored(app: rest.Rest):
    record, admin = await app.operator("taxi")

    assert await app.get(admin, f"/api/tre/v1_3/company/{record['id']['id']}/scoring") == {
        "inForce": None,
        "inForceBy": "SETTINGS",
        "inForceSince": None,
        "choices": [],
        "rescoring": None,
    }


async def test_choice_stands_in_the_history_of_the_company(app: rest.Rest, path, admin):
    await app.call(admin, "PUT", path, {"policy": 2, "fromTime": 1})
    await app.call(admin, "PUT", path, {"policy": 4, "fromTime": 1_790_812_800_000})
    company = path.split("/")[-2]

    newest, older, *_ = (await app.get(admin, f"/api/tre/v1/company/{company}/history", limit=5))["data"]

    assert newest["event"] == older["event"] == "CHANGED"
    assert [(each["field"], each["before"], each["after"]) for each in newest["changes"]] == [
        ("scoringPolicy", 2, 4),
        ("scoringPolicyFrom", None, "2026-10-01 00:00 UTC"),
    ]


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({}, 31, "policy"),
        ({"fromTime": 5}, 31, "policy"),
        ({"policy": "2"}, 31, "policy"),
        ({"policy": 0}, 31, "policy"),
        ({"policy": 5}, 31, "policy"),
        ({"policy": 2**31}, 31, "policy"),
        ({"policy": 2**31 - 1}, 31, "policy"),
        ({"policy": 10**30}, 31, "policy"),
        ({"policy": 2, "fromTime": -1}, 31, "fromTime"),
        ({"policy": 2, "fromTime": LATEST_MS + 1}, 31, "fromTime"),
    ],
)
async def test_wrong_choice_names_the_field_and_changes_nothing(app: rest.Rest, path, admin, body, code, field):
    answer = await app.call(admin, "PUT", path, body)
    after = await app.get(admin, path)

    assert (answer.status_code, answer.json()["errorCode"]) == (400, code)
    assert field in answer.json()["message"]
    assert after["choices"] == []


@pytest.mark.parametrize("at", [0, LATEST_MS])
async def test_first_and_last_date_can_be_chosen(app: rest.Rest, path, admin, at):
    assert (await app.call(admin, "PUT", path, {"policy": 2, "fromTime": at})).json()["choices"][0]["fromTime"] == at


@pytest.mark.parametrize(("body", "code"), [({}, 31), ({"policy": None}, 31), ({"policy": 9}, 31)])
async def test_preview_needs_a_policy_that_there_is(app: rest.Rest, path, admin, body, code):
    answer = await app.call(admin, "POST", f"{path}/preview", body)

    assert (answer.status_code, answer.json()["errorCode"]) == (400, code)


async def test_preview_of_a_company_without_trips_is_empty(app: rest.Rest, path, admin):
    assert (await app.call(admin, "POST", f"{path}/preview", {"policy": 2})).json() == {
        "trips": 0,
        "same": 0,
        "moved": 0,
        "lost": 0,
        "meanChange": 0.0,
        "greatestChange": 0.0,
        "reasons": {},
        "meanBefore": None,
        "meanAfter": None,
        "movers": [],
        "toScore": 0,
    }


async def test_choices_are_listed_for_companies_and_services_in_reach(app: rest.Rest, path, admin):
    root = await app.account("root@x.example", Authority.SYS_ADMIN)
    _, stranger = await app.operator("bus")
    await app.store.write(lambda tx: policies.choose(tx, Kind.SERVICE_TYPE, "taxi", 4, from_ms=0, now_ms=1))
    await app.call(admin, "PUT", path, {"policy": 2, "fromTime": 7})
    (of_root, of_admin, of_stranger) = [(await app.get(who, POLICIES))["choices"] for who in (root, admin, stranger)]
    company = path.split("/")[-2]

    of_company, of_service = of_admin
    assert of_root == of_admin
    assert of_stranger == []
    assert (of_company["companyId"], of_company["policy"], of_company["fromTime"]) == ({"id": company}, 2, 7)
    assert of_service == {"companyId": None, "companyName": None, "serviceType": "taxi", "policy": 4, "fromTime": 0}


@pytest.mark.parametrize(("number", "status"), [("2", 200), ("9", 404), ("x", 404), ("99999999999", 404)])
async def test_readers_of_driving_data_read_one_policy(app: rest.Rest, admin, number, status):
    answer = await app.call(admin, "GET", f"/api/tre/v1_3/scoring/policy/{number}")

    assert answer.status_code == status
    assert answer.json()["policy"] == 2 if status == 200 else answer.json()["errorCode"] == 32


async def test_choice_of_a_company_goes_with_it(app: rest.Rest, path):
    root = await app.account("root@x.example", Authority.SYS_ADMIN)
    await app.call(root, "PUT", path, {"policy": 2})
    company = path.split("/")[-2]
    await app.delete(root, f"/api/tre/v1/company/{company}")

    assert await app.store.read(policies.choices) == []
