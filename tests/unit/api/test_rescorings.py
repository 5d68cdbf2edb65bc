"""Rescorings over REST: beginning one, its progress, the list, cancelling it, wrong values, with a choice of policy."""

from tests.support import rest

from tripline.domain.access import Authority
from tripline.observe import SIGNAL_RESCORING_DUE
from tripline.scoring.rules import Rules
from tripline.store.scores import policies

LATEST_MS = 4_102_444_800_000


async def company(app):
    """An operator with the program's policies; its scoring path and its administrator."""
    record, admin = await app.operator("taxi")
    await app.store.write(lambda tx: policies.keep(tx, Rules(), now_ms=1))
    return f"/api/tre/v1_3/company/{record['id']['id']}/scoring", admin


def one(record):
    return f"/api/tre/v1_3/rescoring/{record['id']['id']}"


async def test_rescoring_is_begun_read_cancelled_and_listed(app: rest.Rest):
    path, admin = await company(app)
    asked = {"dryRun": False, "fromTime": 5, "toTime": LATEST_MS, "all": True}
    begun = await app.post(admin, f"{path}/rescoring", asked)
    told = [each for each in app.signals.told if each[0] == SIGNAL_RESCORING_DUE]
    read = await app.get(admin, one(begun))
    app.now_ms += 1_000
    cancelled = (await app.call(admin, "PUT", f"{one(begun)}/cancellation")).json()
    app.now_ms += 1_000
    second = await app.post(admin, f"{path}/rescoring", {"dryRun": True, "policy": 2, "map": "seoul"})
    newest = await app.get(admin, f"{path}/rescoring", limit=1)
    older = await app.get(admin, f"{path}/rescoring", limit=5, idOffset=second["id"]["id"])

    assert begun == read
    assert told == [(SIGNAL_RESCORING_DUE, "")]
    assert {name: begun[name] for name in begun.keys() - {"id"}} == {
        "createdTime": rest.NOW_MS,
        "companyId": {"id": str(admin.company_id)},
        "requestedBy": {"id": admin.user_id},
        "dryRun": False,
        "fromTime": 5,
        "toTime": LATEST_MS,
        "all": True,
        "policy": None,
        "map": None,
        "state": "RUNNING",
        "progress": 0.0,
        **dict.fromkeys(("lookedAt", "trips", "same", "moved", "gained", "lost", "failed"), 0),
        "meanChange": 0.0,
        "greatestChange": 0.0,
        "reasons": {},
        "endedTime": None,
    }
    assert cancelled == {**begun, "state": "CANCELLED", "endedTime": rest.NOW_MS + 1_000}
    assert (second["dryRun"], second["policy"], second["all"], second["map"]) == (True, 2, False, "seoul")
    assert newest["data"] == [second]
    assert older["data"] == [cancelled]


async def test_second_rescoring_and_second_end_are_refused(app: rest.Rest):
    path, admin = await company(app)
    begun = await app.post(admin, f"{path}/rescoring", {"dryRun": True})
    second = await app.refused(admin, "POST", f"{path}/rescoring", {"dryRun": False})
    await app.call(admin, "PUT", f"{one(begun)}/cancellation")
    again = await app.refused(admin, "PUT", f"{one(begun)}/cancellation")

    assert second == (409, 2, "The company already has a rescoring under way; wait for it to end, or cancel it.")
    assert again == (409, 2, "This rescoring is already CANCELLED.")


WRONG = [
    ({}, "dryRun"),
    ({"dryRun": None}, "dryRun"),
    ({"dryRun": "yes"}, "dryRun"),
    ({"dryRun": True, "fromTime": -1}, "fromTime"),
    ({"dryRun": True, "toTime": LATEST_MS + 1}, "toTime"),
    ({"dryRun": True, "fromTime": 1.5}, "fromTime"),
    ({"dryRun": True, "all": 1}, "all"),
    ({"dryRun": True, "policy": 9}, "policy"),
    ({"dryRun": True, "policy": 10**30}, "policy"),
    ({"dryRun": False, "policy": 2}, "policy"),
    ({"dryRun": True, "map": " "}, "map"),
    ({"dryRun": True, "map": "x" * 256}, "map"),
    ({"dryRun": True, "map": 7}, "map"),
]


async def test_wrong_value_names_the_field_and_begins_nothing(app: rest.Rest):
    path, admin = await company(app)
    refused = [await app.refused(admin, "POST", f"{path}/rescoring", body) for body, _ in WRONG]
    after = await app.get(admin, path)

    for (status, code, message), (body, field) in zip(refused, WRONG, strict=True):
        assert (status, code) == (400, 31), body
        assert f"'{field}'" in message, body
    assert after["rescoring"] is None


async def test_choice_of_a_policy_begins_a_rescoring_from_its_date(app: rest.Rest):
    path, admin = await company(app)
    plain = (await app.call(admin, "PUT", path, {"policy": 2, "fromTime": 7})).json()
    chosen = (await app.call(admin, "PUT", path, {"policy": 2, "fromTime": 7, "rescore": True})).json()
    plain = plain["rescoring"]
    begun = chosen["rescoring"]
    listed = await app.get(admin, f"{path}/rescoring", limit=5)

    assert plain is None
    assert (begun["state"], begun["fromTime"], begun["dryRun"]) == ("RUNNING", 7, False)
    assert listed["data"] == [begun]


async def test_choice_that_cannot_begin_a_rescoring_chooses_nothing(app: rest.Rest):
    path, admin = await company(app)
    await app.post(admin, f"{path}/rescoring", {"dryRun": True})
    refused = await app.refused(admin, "PUT", path, {"policy": 2, "rescore": True})
    (status, code, _), after = refused, await app.get(admin, path)

    assert (status, code, after["choices"]) == (409, 2, [])


async def test_operator_has_trips_of_its_partners_scored_anew(app: rest.Rest):
    _, admin = await company(app)
    partner, own = await app.partner(admin, "partner@x.example")
    path = f"/api/tre/v1_3/company/{partner['id']['id']}/scoring/rescoring"
    begun = await app.post(admin, path, {"dryRun": True})
    driver = await app.person(own, Authority.DRIVER, "driver")
    by = (await app.get(own, one(begun)))["requestedBy"]
    operator = admin.user_id
    (status, code, _) = await app.refused(driver, "GET", one(begun))

    assert by == {"id": operator}
    assert (status, code) == (403, 20)
