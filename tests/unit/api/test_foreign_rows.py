"""Others' rows stay hidden: a list's offset, a body's id or a search tells no more than their own address.

Not here: who may read what (tests/properties/test_access_matrix.py).
"""

import pytest
from tests.support import access_world, delegating, journeys, rest

LISTS = {
    # A list within P's reach, and an existing row elsewhere of the same kind.
    "/companies": "other",
    "/company/{P}/vehicles": "X",
    "/company/{P}/vehicles/delegated": "X",
    "/company/{P}/vehicles/delegating": "X",
    "/company/{P}/admins": "admin of Q",
    "/company/{P}/relation/companies": "other",
    "/directors": "director of R",
    "/drivers": "driver of R",
    "/director/{managing director}/vehicles": "X",
    "/director/{managing director}/relation/vehicles": "X",
    "/driver/{delegated driver of P}/relation/vehicles": "X",
    "/vehicle/{V}/companies": "other",
    "/sensors": "on X",
    "/vehicle/{W}/trips": "T",
    "/vehicle/{W}/events": "event of V",
    "/director/{managing director}/trips": "T",
    "/driver/{was delegated driver of P}/trips": "T",
    "/api/tre/v1_3/vehicle/{W}/analytics/drivingScore": "T",
    "/api/tre/v1_3/vehicle/{W}/analytics/gpsEvent": "GPS event of V",
    "/api/tre/v1_2/driver/{was delegated driver of P}/analytics/drivingScore": "T",
}
GPS_EVENTS = "/api/tre/v1_3/vehicle/{V}/analytics/gpsEvent"
OF_R = {
    # A list of R's own, and an existing row of somebody else.
    "/api/tre/v1_3/company/{R}/dispute": "D",
    "/api/tre/v1_3/company/{R}/scoring/rescoring": "rescoring of P",
    "/sessions": "session of P",
}
SEARCHED = [path for path, row in LISTS.items() if row not in ("T", "event of V", "GPS event of V")]


@pytest.fixture
async def world(app):
    return await access_world.settled(app)


async def test_offset_that_is_anothers_row_is_answered_like_one_that_is_nobodys(app: rest.Rest, world):
    (session,) = (await app.get(world.of("P"), "/sessions", limit=1))["data"]
    (harsh,) = (await app.get(world.of("P"), GPS_EVENTS.format_map(world.ids), limit=1))["data"]
    event = await app.store.write(
        lambda tx: journeys.keep_event(tx, app.ids, created_ms=app.now_ms, vehicle_id=world.ids["V"])
    )
    ids = world.ids | {
        "session of P": session["id"]["id"],
        "GPS event of V": harsh["id"]["id"],
        "event of V": event,
    }
    told = {}
    for owner, lists in {"P": LISTS, "R": OF_R}.items():
        for path, foreign in lists.items():
            answers = [
                await app.refused(world.of(owner), "GET", path.format_map(ids), limit=1, idOffset=offset)
                for offset in (ids[foreign], ids["unknown"])
            ]
            told[path] = answers[0] == answers[1] and answers[0][:2] == (400, 31)

    assert told == dict.fromkeys([*LISTS, *OF_R], True)


@pytest.mark.parametrize("search", ["%", "_", "%%", "[A-Z]", "*", "?", "\\", "' OR 1=1 --"])
async def test_search_knows_no_wildcards(app: rest.Rest, world, search):
    found = {}
    for path in SEARCHED:
        answer = await app.get(world.of("P"), path.format_map(world.ids), limit=10, textSearch=search)
        found[path] = answer["data"]

    assert found == {path: [] for path in SEARCHED}


async def test_offset_text_beyond_the_own_rows_shows_no_others(app: rest.Rest, world):
    every = {}
    for path in SEARCHED:
        address, own = path.format_map(world.ids), world.of("P")
        all_of_it = await app.get(own, address, limit=1000)
        from_the_start = await app.get(own, address, limit=1000, textOffset="\x01", idOffset=world.ids["unknown"])
        every[path] = from_the_start["data"] == all_of_it["data"]

    assert every == dict.fromkeys(SEARCHED, True)


async def test_id_in_upper_case_is_the_same_and_reaches_no_further(app: rest.Rest, world):
    ids = {name: text.upper() for name, text in world.ids.items()}
    p = world.of("P")
    own = [await app.get(p, path.format_map(ids)) for path in ("/vehicle/{V}", "/company/{P}", "/sensor/{on V}")]
    lower = [
        await app.get(p, path.format_map(world.ids)) for path in ("/vehicle/{V}", "/company/{P}", "/sensor/{on V}")
    ]
    bodies = (
        ("POST", f"/company/{ids['P']}/relation/company", {"toCompanyId": {"id": ids["other"]}}),
        ("POST", f"/driver/{ids['driver of P']}/relation/vehicle", {"vehicleId": ids["X"]}),
        ("PUT", "/company", {"id": {"id": ids["other"]}, "name": "Mine"}),
        ("POST", f"/sensor/{ids['free']}/vehicle/{ids['X']}", None),
    )
    refused = [(await app.refused(p, *call))[:2] for call in bodies]

    assert (own == lower, refused) == (True, [(400, 30), (403, 20), (403, 20), (403, 20)])


FORGED = {
    "authority": "SYS_ADMIN",
    "Authority": "SYS_ADMIN",
    "_authority": "SYS_ADMIN",
    "__class__": {"__init__": {}},
    "__proto__": {"master": True},
    "constructor": "SYS_ADMIN",
    "id": {"id": delegating.UNKNOWN},
    "createdTime": 1,
    "companyId": {"id": delegating.UNKNOWN},
    "company_id": delegating.UNKNOWN,
    "master": True,
    "masterId": {"id": delegating.UNKNOWN},
    "registeredById": delegating.UNKNOWN,
    "tokenPrefix": "AAAAA",
    "directorId": {"id": delegating.UNKNOWN},
    "currentDriverId": {"id": delegating.UNKNOWN},
    "vehicleId": {"id": delegating.UNKNOWN},
    "latestTripId": {"id": delegating.UNKNOWN},
    "status": "ACTIVATED",
    "sensorCount": 99,
    "delegateUserCount": 99,
    "lastTripMsgType": "TRIP",
    "passwordUpdatedTime": 1,
    "passwordHash": "$argon2id$",
    "password_hash": "$argon2id$",
    "login": "root@x.example",
    "enabled": False,
    "mdn": "01000000000",
    "nwStatus": "01",
    "vehicleNo2": "",
}
CHANGED = {
    "/company/{P}": "P",
    "/company/{P}/admin/{admin of P}": "P",
    "/director/{managing director}": "P",
    "/driver/{driver of P}": "P",
    "/vehicle/{W}": "P",
    "/sensor/{free}": "P",
}


async def test_change_hears_nothing_that_a_record_only_shows(app: rest.Rest, world):
    changed = {}
    for path, who in CHANGED.items():
        address, login = path.format_map(world.ids), world.of(who)
        before = (await app.call(login, "PUT", address, {})).json()
        statuses = {(await app.call(login, "PUT", address, {name: FORGED[name]})).status_code for name in FORGED}
        after = (await app.call(login, "PUT", address, {})).json()
        changed[path] = statuses, {name: value for name, value in after.items() if before.get(name) != value}

    assert changed == {path: ({200, 400}, {}) for path in CHANGED}


async def test_access_token_of_anothers_device_is_not_taken_over(app: rest.Rest, world):
    taken = {"credentialsId": "on-X".ljust(20, "-")}
    refused = await app.refused(world.of("P"), "PUT", f"/sensor/{world.ids['free']}", taken)

    assert (refused[:2], taken["credentialsId"] in refused[2]) == ((400, 31), False)


async def test_of_a_key_that_is_there_twice_one_value_alone_is_checked_and_kept(app: rest.Rest, world):
    body = b'{"vehicleNo":"W2","vehicleNo":"V","mileage":0,"mileage":1}'

    assert (await app.refused(world.of("P"), "PUT", f"/vehicle/{world.ids['W']}", body))[:2] == (400, 31)


async def test_what_was_delegated_is_neither_delegated_on_nor_deleted_nor_moved(app: rest.Rest, world):
    r, operator, v = world.of("R"), world.of("operator"), world.ids["V"]
    lent_on = {"vehicleId": {"id": v}}
    await delegating.register(app, r, world.of("S"))
    await delegating.register(app, operator, world.of("S"))
    calls = (
        ("POST", f"/company/{world.ids['S']}/relation/vehicle", lent_on),
        ("DELETE", f"/company/{world.ids['R']}/relation/vehicle/{v}", None),
        ("DELETE", f"/vehicle/{v}", None),
        ("POST", f"/vehicle/{v}/director/{world.ids['director of R']}", None),
    )
    refused = [(await app.refused(login, *call))[:2] for login in (r, operator) for call in calls]
    moved = await app.refused(r, "PUT", f"/vehicle/{v}", {"companyId": FORGED["companyId"]})
    kept = await app.get(r, f"/vehicle/{v}")

    assert (refused, moved[:2], kept["companyId"]["id"] == world.ids["P"]) == ([(403, 20)] * 8, (400, 31), True)


async def test_who_changes_a_partner_gets_nothing_of_it_for_another_service(app: rest.Rest, world):
    path, operator = f"/company/{world.ids['P']}", world.of("operator")
    forged = {"serviceType": "other"}, {"masterId": {"id": world.ids["other"]}}
    refused = [(await app.refused(operator, "PUT", path, body))[:2] for body in forged]
    # How to reach somebody is text: it makes nobody's account an administrator's.
    changed = (await app.call(operator, "PUT", path, {"picEmail": "admin@other.example"})).json()
    listed = await app.get(world.of("P"), f"{path}/admins", limit=9)
    found = refused, changed["masterId"]["id"] == world.ids["operator"], [each["email"] for each in listed["data"]]

    assert found == ([(400, 31)] * 2, True, ["p@admins.example"])


async def test_nobody_makes_a_platform_administrator_or_carrier_over_rest(app: rest.Rest, world):
    forged = {
        "scopes": ["SYS_ADMIN"],
        "role": "CARRIER",
        "name": "N",
        "password": "pass phrase",
    }

    made = []
    for number, (who, path) in enumerate(
        (
            ("P", "/director"),
            ("P", "/driver"),
            ("P", "/company/{P}/admin"),
            ("operator", "/company/{P}/admin"),
            ("platform administrator", "/company/{P}/admin"),
        )
    ):
        body = {**forged, "email": f"forged{number}@x.example"}
        address, login = path.format_map(world.ids), world.of(who)
        assert (await app.refused(login, "POST", address, {**body, "authority": "SYS_ADMIN"}))[:2] == (400, 31)
        made.append((await app.post(login, address, body))["authority"])

    assert made == ["DIRECTOR", "DRIVER", "COMPANY_ADMIN", "COMPANY_ADMIN", "COMPANY_ADMIN"]
