"""History over REST: who changed what and when, who may read it, and what of it outlives a deletion (spec/rest 7.8)."""

import pytest
from sqlalchemy import select
from tests.support import dangling, delegating, rest

from tripline.domain import history as domain
from tripline.domain.access import Authority
from tripline.domain.ids import PLACEHOLDER
from tripline.services.accounts import links
from tripline.store.fleet import history as rows
from tripline.store.tables import account, history

SENSOR = {"serialNo": "S", "type": "GPS", "credentialsId": "S" * 20}


async def entries(app, login, path, **query):
    """The history of a thing, newest first."""
    return (await app.get(login, f"{path}/history", **{"limit": 100, **query}))["data"]


def told(entry):
    """An entry in short: the event, who did it, and the fields."""
    changes = entry["changes"]
    fields = None if changes is None else {each["field"]: (each["before"], each["after"]) for each in changes}
    return entry["event"], entry["actorName"], fields


async def events(app, login, path):
    return [entry["event"] for entry in await entries(app, login, path)]


async def test_change_of_a_vehicle_tells_who_and_each_field_before_and_after(app: rest.Rest):
    _, admin = await app.operator("ace", name="Ace")
    vehicle_id = await delegating.new_vehicle(app, admin, "1")
    app.now_ms += 1_000
    await app.call(admin, "PUT", f"/vehicle/{vehicle_id}", {"vendor": "Kia", "fuelType": None, "mileage": 1})
    found = await entries(app, admin, f"/vehicle/{vehicle_id}")

    assert [told(entry) for entry in found] == [
        ("CHANGED", "Kim", {"vendor": (None, "Kia"), "fuelType": ("LPG", None)}),
        (
            "REGISTERED",
            "Kim",
            {
                "vehicleNo": (None, "1"),
                "missionType": (None, "AUTO"),
                "fuelType": (None, "LPG"),
                "mileage": (None, 1),
                "displacement": (None, 0),
            },
        ),
    ]
    newest = found[0]
    assert newest["createdTime"] == rest.NOW_MS + 1_000
    assert (newest["actorId"]["id"], newest["actorAuthority"]) == (admin.user_id, "COMPANY_ADMIN")
    assert (newest["actorCompanyName"], newest["vehicleNo"]) == ("Ace", "1")
    assert newest["vehicleId"]["id"] == vehicle_id
    assert newest["sensorId"]["id"] == PLACEHOLDER


async def test_change_of_nothing_makes_no_entry(app: rest.Rest, admin):
    path = f"/vehicle/{await delegating.new_vehicle(app, admin)}"
    before = await app.get(admin, path)
    await app.call(admin, "PUT", path, before)
    await app.call(admin, "POST", f"{path}/deactivate")

    assert await events(app, admin, path) == ["REGISTERED"]


async def test_refused_change_makes_no_entry(app: rest.Rest, admin):
    await delegating.new_vehicle(app, admin, "taken")
    path = f"/vehicle/{await delegating.new_vehicle(app, admin, 'other')}"
    await app.refused(admin, "PUT", path, {"vehicleNo": "taken"})

    assert await events(app, admin, path) == ["REGISTERED"]


async def test_every_step_of_a_vehicle_stands_in_its_history_and_in_that_of_whom_it_names(app: rest.Rest, of):
    vehicle = await delegating.new_vehicle(app, of.owner)
    path = f"/vehicle/{vehicle}"
    sensor = (await app.post(of.owner, "/sensor", SENSOR))["id"]["id"]
    director = await delegating.director(app, of.owner, "director")
    driver = await delegating.driver(app, of.owner, "driver")
    await app.post(of.owner, f"{path}/activate")
    await app.post(of.owner, f"/sensor/{sensor}/vehicle/{vehicle}")
    await app.post(of.owner, f"{path}/director/{director.user_id}")
    await app.post(director, f"{path}/driver/{driver.user_id}")
    await app.delete(of.owner, f"{path}/driver/{driver.user_id}")
    await app.delete(of.owner, f"{path}/director/{director.user_id}")
    await delegating.give(app, of.owner, driver, vehicle, drive=True)
    await app.delete(of.owner, f"{delegating.rights(driver, drive=True)}/{vehicle}")
    await delegating.register(app, of.owner, of.borrower)
    await delegating.delegate(app, of.owner, of.borrower, vehicle)
    await delegating.take_back(app, of.owner, of.borrower, vehicle)
    await app.delete(of.owner, f"/sensor/{sensor}/vehicle")
    await app.post(of.owner, f"{path}/deactivate")
    vehicle, sensor, driver, director, company = (
        await entries(app, of.owner, path),
        await events(app, of.owner, f"/sensor/{sensor}"),
        await events(app, of.owner, f"/user/{driver.user_id}"),
        await events(app, of.owner, f"/user/{director.user_id}"),
        await events(app, of.owner, f"/company/{of.owner.company_id}"),
    )

    assert [entry["event"] for entry in vehicle] == [
        "DEACTIVATED",
        "UNMOUNTED",
        "TAKEN_BACK",
        "DELEGATED",
        "RIGHT_TAKEN_BACK",
        "RIGHT_GIVEN",
        "DIRECTOR_UNSET",
        "DRIVER_UNSET",
        "DRIVER_SET",
        "DIRECTOR_SET",
        "MOUNTED",
        "ACTIVATED",
        "DELEGATED",
        "REGISTERED",
    ]
    assert [entry["serialNo"] for entry in vehicle if entry["event"] == "MOUNTED"] == ["S"]
    assert [entry["toCompanyName"] for entry in vehicle if entry["event"] == "DELEGATED"] == ["Borrower", "Ace"]
    assert [(entry["actorName"], entry["userName"]) for entry in vehicle if entry["event"] == "DRIVER_SET"] == [
        ("director", "driver")
    ]
    assert sensor == ["UNMOUNTED", "MOUNTED", "REGISTERED"]
    assert driver == ["RIGHT_TAKEN_BACK", "RIGHT_GIVEN", "DRIVER_UNSET", "DRIVER_SET", "REGISTERED"]
    assert director == ["DIRECTOR_UNSET", "DIRECTOR_SET", "REGISTERED"]
    assert company == ["CANDIDATE_REGISTERED", "REGISTERED"]


async def test_driver_who_moves_to_another_vehicle_is_told_of_in_both(app: rest.Rest, admin):
    driver, before = [await delegating.driver(app, admin, name) for name in ("driver", "before")]
    one, other = [await delegating.new_vehicle(app, admin, number) for number in "12"]
    await app.post(admin, f"/vehicle/{one}/driver/{driver.user_id}")
    await app.post(admin, f"/vehicle/{other}/driver/{before.user_id}")
    await app.post(admin, f"/vehicle/{other}/driver/{driver.user_id}")
    await app.post(admin, f"/vehicle/{other}/driver/{driver.user_id}")
    one, other = [
        [(entry["event"], entry["userName"]) for entry in await entries(app, admin, f"/vehicle/{vehicle}")][:-1]
        for vehicle in (one, other)
    ]

    assert one == [("DRIVER_UNSET", "driver"), ("DRIVER_SET", "driver")]
    assert other == [("DRIVER_SET", "driver"), ("DRIVER_UNSET", "before"), ("DRIVER_SET", "before")]


async def test_driver_who_loses_the_right_by_which_he_drives_is_told_of(app: rest.Rest, of):
    vehicle = await delegating.new_vehicle(app, of.owner)
    await delegating.register(app, of.owner, of.borrower)
    await delegating.delegate(app, of.owner, of.borrower, vehicle)
    driver = await delegating.driver(app, of.borrower, "driver")
    await delegating.give(app, of.borrower, driver, vehicle, drive=True)
    await app.post(of.borrower, f"/vehicle/{vehicle}/driver/{driver.user_id}")
    await delegating.take_back(app, of.owner, of.borrower, vehicle)
    found = await entries(app, of.owner, f"/vehicle/{vehicle}")
    steps, lost = [told(entry) for entry in found[:2]], found[0]

    assert steps == [("DRIVER_UNSET", "Kim", {}), ("TAKEN_BACK", "Kim", {"rights": (1, None)})]
    # Whose people they are is for their company to know.
    assert lost["userName"] is None


async def test_secrets_are_named_and_never_kept(app: rest.Rest):
    secrets = ("S" * 20, "T" * 20, "pass phrase", "another phrase", "hidden", "secret")

    company, admin = await app.operator("ace")
    sensor = (await app.post(admin, "/sensor", SENSOR))["id"]["id"]
    await app.call(admin, "PUT", f"/sensor/{sensor}", {"credentialsId": "T" * 20})
    driver = await delegating.driver(app, admin, "driver")
    await app.call(admin, "PUT", f"/driver/{driver.user_id}", {"password": "another phrase"})
    path = f"/company/{company['id']['id']}"
    for address in ("https://me:hidden@host.example/?key=hidden", "https://me:secret@host.example/?key=secret"):
        answer = await app.call(admin, "PUT", path, {"notifyHost": address})
        assert answer.status_code == 200, answer.text
    stored = await app.store.read(lambda tx: [row.changes for row in tx.all(select(history.c.changes))])
    newest = [
        (await entries(app, admin, each))[0]["changes"]
        for each in (f"/sensor/{sensor}", f"/user/{driver.user_id}", path)
    ]

    assert not [text for text in stored for secret in secrets if secret in (text or "")]
    assert newest == [
        [{"field": field, "before": None, "after": None, "secret": True}]
        for field in ("credentialsId", "password", "notifyHost")
    ]


async def test_deleted_vehicle_and_sensor_are_told_of_to_who_could_read_it_before(app: rest.Rest, of):
    vehicle = await delegating.new_vehicle(app, of.owner, "12")
    sensor = (await app.post(of.owner, "/sensor", SENSOR))["id"]["id"]
    await app.post(of.owner, f"/sensor/{sensor}/vehicle/{vehicle}")
    await delegating.register(app, of.owner, of.borrower)
    await delegating.delegate(app, of.owner, of.borrower, vehicle)
    driver = await delegating.driver(app, of.owner, "driver")
    await delegating.give(app, of.owner, driver, vehicle, drive=True)
    await app.delete(of.owner, f"/vehicle/{vehicle}")
    await app.delete(of.owner, f"/sensor/{sensor}")
    newest = [(await entries(app, of.owner, path))[0] for path in (f"/vehicle/{vehicle}", f"/sensor/{sensor}")]
    by_operator = await events(app, of.operator, f"/vehicle/{vehicle}")
    refused = [
        (await app.refused(who, "GET", f"{path}/history", limit=5))[:2]
        for who in (of.borrower, of.other)
        for path in (f"/vehicle/{vehicle}", f"/sensor/{sensor}")
    ]
    unmounted = (await entries(app, of.owner, f"/sensor/{sensor}"))[1]

    assert [told(entry) for entry in newest] == [
        (
            "DELETED",
            "Kim",
            {"vehicleNo": ("12", None), "sensors": (1, None), "delegations": (2, None), "rights": (1, None)},
        ),
        ("DELETED", "Kim", {"serialNo": ("S", None)}),
    ]
    assert by_operator[0] == "DELETED"
    assert refused == [(403, 20)] * 4
    assert (unmounted["event"], unmounted["vehicleNo"]) == ("UNMOUNTED", None)


async def persons_world(app):
    """A driver who was changed, drives, has a right, and did something himself."""
    _, admin = await app.operator("ace")
    vehicle = await delegating.new_vehicle(app, admin)
    driver = await delegating.driver(app, admin, "Hong")
    await app.call(admin, "PUT", f"/driver/{driver.user_id}", {"phone": "010-7777-7777"})
    await delegating.give(app, admin, driver, vehicle, drive=True)
    await app.post(admin, f"/vehicle/{vehicle}/activate")
    await app.post(driver, f"/vehicle/{vehicle}/driver/{driver.user_id}")
    return admin, vehicle, driver


@pytest.mark.parametrize("erased", [False, True])
async def test_deleted_person_leaves_events_without_name_and_values(app: rest.Rest, erased):
    admin, vehicle, driver = await persons_world(app)
    await app.delete(admin, f"/driver/{driver.user_id}")
    left = await dangling.left(app.store, driver.user_id) if erased else {}
    rows = await app.store.read(lambda tx: tx.all(select(history.c.user_id, history.c.vehicle_id, history.c.changes)))
    own, vehicle, rows, kept = (
        [told(entry) for entry in await entries(app, admin, f"/user/{driver.user_id}")],
        [
            (entry["event"], entry["actorName"], entry["actorAuthority"], entry["userId"]["id"], entry["userName"])
            for entry in await entries(app, admin, f"/vehicle/{vehicle}")
        ],
        [row for row in rows if row.user_id == driver.user_id],
        "".join(row.changes or "" for row in rows),
    )

    alone = [("DELETED", "Kim", {"rights": (1, None), "driven": (1, None)})]
    alone += [("CHANGED", "Kim", None), ("REGISTERED", "Kim", None)]
    if erased:
        assert own == alone
        assert (left, [row.vehicle_id for row in rows]) == ({}, [None] * 3)
        assert "Hong" not in kept
        assert "7777" not in kept
    else:
        assert [entry for entry in own if entry[0] in ("DELETED", "CHANGED", "REGISTERED")] == alone
    assert vehicle == [
        ("DRIVER_SET", None, "DRIVER", PLACEHOLDER, None),
        ("ACTIVATED", "Kim", "COMPANY_ADMIN", PLACEHOLDER, None),
        ("RIGHT_GIVEN", "Kim", "COMPANY_ADMIN", PLACEHOLDER, None),
        ("REGISTERED", "Kim", "COMPANY_ADMIN", PLACEHOLDER, None),
    ]


async def test_deleted_company_leaves_no_names_of_people(app: rest.Rest, admin):
    partner, _ = await app.partner(admin, "pic@partner.example", name="Partner")
    path = f"/company/{partner['id']['id']}"
    await app.call(admin, "PUT", path, {"picPhone": "010-7777-7777"})
    await app.delete(admin, path)
    found = [told(entry) for entry in await entries(app, admin, path)]
    await dangling.left(app.store, partner["id"]["id"])
    rows = await app.store.read(lambda tx: tx.all(select(history.c.changes)))
    kept = "".join(row.changes or "" for row in rows)

    assert found == [
        ("DELETED", "Kim", {"name": ("Partner", None), "people": (1, None)}),
        ("CHANGED", "Kim", None),
        ("REGISTERED", "Kim", None),
    ]
    assert "7777" not in kept
    assert "pic@partner.example" not in kept


async def test_administrator_who_registers_and_deletes_another_is_told_of(app: rest.Rest):
    company, admin = await app.operator("ace")
    path = f"/company/{company['id']['id']}/admin"
    body = {"name": "Second", "email": "second@ace.example", "password": "pass phrase"}
    second = (await app.post(admin, path, body))["id"]["id"]
    await app.call(admin, "PUT", f"{path}/{second}", {"name": "Renamed"})
    before = [told(entry) for entry in await entries(app, admin, f"/user/{second}")]
    await app.delete(admin, f"{path}/{second}")
    after = [told(entry) for entry in await entries(app, admin, f"/user/{second}")]

    registered = {"name": (None, "Second"), "email": (None, "second@ace.example"), "authority": (None, "COMPANY_ADMIN")}
    assert before == [("CHANGED", "Kim", {"name": ("Second", "Renamed")}), ("REGISTERED", "Kim", registered)]
    assert after == [("DELETED", "Kim", {}), ("CHANGED", "Kim", None), ("REGISTERED", "Kim", None)]


async def test_import_is_one_entry_of_the_company_and_the_first_of_each_vehicle(app: rest.Rest, admin):
    company = f"/company/{admin.company_id}"
    app.now_ms += 1_000
    lines = b"".join(b"%d,1\n" % number for number in range(600))
    report = (await app.call(admin, "POST", "/vehicles/bulk", b"vehicleNo,mileage\n" + lines, skipBadRows=True)).json()
    app.now_ms += 1_000
    await app.call(admin, "POST", "/sensors/bulk", b"serialNo,type,credentialsId\nS,GPS,%s\n" % (b"s" * 20))
    found = await app.get(admin, f"{company}/vehicles", limit=2)
    path = f"/vehicle/{found['data'][1]['id']['id']}"
    sensor = (await app.get(admin, "/sensors", limit=1))["data"][0]["id"]["id"]
    app.now_ms += 1_000
    await app.call(admin, "PUT", path, {"vendor": "Kia"})
    pages = [await app.get(admin, f"{path}/history", limit=1)]
    while pages[-1]["hasNext"]:
        pages.append(await app.get(admin, f"{path}/history", limit=1, idOffset=pages[-1]["nextPageLink"]["idOffset"]))
    created, company, vehicle, paged, sensor, later = (
        report["created"],
        [told(entry) for entry in await entries(app, admin, company)],
        [told(entry) for entry in await entries(app, admin, path, ascOrder=True)],
        [told(entry) for page in pages for entry in page["data"]],
        await events(app, admin, f"/sensor/{sensor}"),
        await entries(app, admin, path, ascOrder=True, startTime=rest.NOW_MS + 2_000),
    )

    made, changed = (
        ("VEHICLES_IMPORTED", "Kim", {"vehicles": (None, 600)}),
        ("CHANGED", "Kim", {"vendor": (None, "Kia")}),
    )
    assert created == 600
    assert company[:2] == [("SENSORS_IMPORTED", "Kim", {"sensors": (None, 1)}), made]
    assert vehicle == [made, changed]
    assert paged == [changed, made]
    assert sensor == ["SENSORS_IMPORTED"]
    assert [entry["event"] for entry in later] == ["CHANGED"]


async def test_pages_go_by_key_in_both_orders_and_meet_every_entry_once(app: rest.Rest, admin):
    path = f"/vehicle/{await delegating.new_vehicle(app, admin)}"
    for number in range(7):
        app.now_ms += 1_000
        await app.call(admin, "PUT", path, {"vendor": str(number)})
    found = {}
    for ascending in (True, False):
        seen, offset = [], {}
        while True:
            page = await app.get(admin, f"{path}/history", limit=3, ascOrder=ascending, **offset)
            seen += [entry["createdTime"] - rest.NOW_MS for entry in page["data"]]
            if not page["hasNext"]:
                break
            offset = {"idOffset": page["nextPageLink"]["idOffset"]}
        found[ascending] = seen
    between = await entries(app, admin, path, startTime=rest.NOW_MS + 2_000, endTime=rest.NOW_MS + 3_000)
    unknown = await app.refused(admin, "GET", f"{path}/history", limit=3, idOffset=delegating.UNKNOWN)

    assert found[True] == [number * 1_000 for number in range(8)]
    assert found[False] == found[True][::-1]
    assert [entry["createdTime"] - rest.NOW_MS for entry in between] == [3_000, 2_000]
    assert unknown[:2] == (400, 31)


async def test_reader_is_shown_only_names_that_are_in_reach(app: rest.Rest, of):
    vehicle = await delegating.new_vehicle(app, of.owner)
    await delegating.register(app, of.owner, of.borrower)
    await delegating.delegate(app, of.owner, of.borrower, vehicle)
    director = await delegating.director(app, of.borrower, "director")
    await delegating.give(app, of.borrower, director, vehicle)
    await app.post(of.borrower, f"/vehicle/{vehicle}/activate")
    owner, operator = [
        [
            (entry["event"], entry["actorName"], entry["actorCompanyName"], entry["userName"])
            for entry in (await entries(app, who, f"/vehicle/{vehicle}"))[:2]
        ]
        for who in (of.owner, of.operator)
    ]

    assert owner == [("ACTIVATED", None, "Borrower", None), ("RIGHT_GIVEN", None, "Borrower", None)]
    assert operator == [("ACTIVATED", "Kim", "Borrower", None), ("RIGHT_GIVEN", "Kim", "Borrower", "director")]


async def test_vehicle_of_a_partner_tells_that_the_program_delegated_it_to_the_operator(app: rest.Rest):
    _, operator = await app.operator("ace", name="Ace")
    _, partner = await app.partner(operator, "p@p.example")
    vehicle_id = await delegating.new_vehicle(app, partner, "1")
    newest, first = await entries(app, partner, f"/vehicle/{vehicle_id}")

    assert told(newest) == ("DELEGATED", None, {"automatic": (None, True)})
    assert (newest["toCompanyName"], newest["actorAuthority"]) == ("Ace", None)
    assert first["event"] == "REGISTERED"


@pytest.mark.parametrize("by_link", [False, True])
async def test_own_password_is_told_of_without_a_value_however_it_was_changed(app: rest.Rest, admin, by_link):
    person = await app.person(admin, Authority.DRIVER, "lee")
    if by_link:
        token = await app.store.write(lambda tx: links.make(tx, user_id=person.user_id, hours=1, now_ms=app.now_ms))
        await app.post(None, "/api/noauth/setPassword", {"token": token, "password": "another phrase"})
    else:
        body = {"currentPassword": "pass phrase", "newPassword": "another phrase"}
        await app.post(person, "/api/auth/changePassword", body)
    (newest, *_) = await entries(app, admin, f"/user/{person.user_id}")

    assert (newest["event"], newest["actorId"]["id"]) == ("CHANGED", person.user_id)
    assert newest["changes"] == [{"field": "password", "before": None, "after": None, "secret": True}]


async def test_new_push_secret_is_told_of_without_a_value(app: rest.Rest):
    record, admin = await app.operator("ace")
    path = f"/company/{record['id']['id']}"
    await app.post(admin, f"{path}/push/secret")

    newest = (await entries(app, admin, path))[0]

    assert newest["event"] == "CHANGED"
    assert newest["changes"] == [{"field": "pushSecret", "before": None, "after": None, "secret": True}]


TODAY_MS = rest.NOW_MS % 86_400_000


@pytest.fixture
def few_changes(monkeypatch):
    """Four entries are as much as an account may write in a day, each of which is counted."""
    monkeypatch.setattr(domain, "OF_DAY", 4)
    monkeypatch.setattr(rows, "_COUNTED_EVERY", 1)


async def test_account_that_has_written_a_day_of_history_changes_nothing_more_today(app: rest.Rest, admin, few_changes):
    director = await app.person(admin, Authority.DIRECTOR, "d")
    vehicle_id = await delegating.new_vehicle(app, admin, "1")
    answers = [await app.call(admin, "PUT", f"/vehicle/{vehicle_id}", {"vendor": str(at)}) for at in range(5)]
    headers = {"X-Authorization": f"Bearer {admin.token}", "accept-language": "ko"}
    address = f"/api/tre/v1/vehicle/{vehicle_id}"
    korean = await app.http.request("PUT", address, headers=headers, json={"vendor": "x"})
    other = await app.call(director, "POST", "/vehicle", {"vehicleNo": "2", "mileage": 1})
    bulk = await app.call(admin, "POST", "/vehicles/bulk", b"vehicleNo,mileage\nA,1\n")
    now = await app.get(admin, f"/vehicle/{vehicle_id}")
    noted = await events(app, admin, f"/vehicle/{vehicle_id}")
    app.now_ms += 86_400_000 - TODAY_MS
    admin = await app.login(admin.user_id, "admin@ace.example", Authority.COMPANY_ADMIN, admin.company_id)
    tomorrow = await app.call(admin, "PUT", f"/vehicle/{vehicle_id}", {"vendor": "y"})
    vendor = now["vendor"]

    changed = [answer.status_code for answer in answers]
    refused = answers[-1]
    assert changed == [200] * changed.count(200) + [429] * changed.count(429)
    assert 0 < changed.count(200) < 4
    assert (refused.json()["errorCode"], "limit of 4 changes" in refused.json()["message"]) == (2, True)
    assert int(refused.headers["retry-after"]) == (86_400_000 - TODAY_MS) // 1_000 + 1
    assert (korean.status_code, "하루에 4건" in korean.json()["message"]) == (429, True)
    assert (other.status_code, bulk.status_code, tomorrow.status_code) == (200, 429, 200)
    assert (vendor, len(noted)) == (str(changed.count(200) - 1), 1 + changed.count(200))


async def test_long_values_count_by_the_kib(app: rest.Rest, few_changes, monkeypatch):
    monkeypatch.setattr(domain, "OF_DAY", 12)

    _, admin = await app.operator("ace")
    vehicle_id = await delegating.new_vehicle(app, admin, "1")
    values = [{"additionalInfo": letter * 4_000} for letter in "abc"]
    found = [(await app.call(admin, "PUT", f"/vehicle/{vehicle_id}", each)).status_code for each in values]

    assert found == [200, 200, 429]


async def test_entries_are_counted_by_a_sample_that_is_close(app: rest.Rest, admin):
    def work(tx):
        for _ in range(5_000):
            fact = domain.Fact(
                event=domain.Event.CHANGED, actor_id=admin.user_id, company_id=admin.company_id, changes=()
            )
            rows.add(tx, fact, ids=app.ids, now_ms=app.now_ms)
        return tx.all(select(account.c.history_written).where(account.c.id == admin.user_id))[0][0]

    assert await app.store.write(work) == pytest.approx(5_000, rel=0.05)
