"""Rights on single vehicles over REST (spec/rest 7.6 and 9; rules 2 and 3 of delegation; H4)."""

from dataclasses import dataclass

import pytest
from tests.support import delegating, rest
from tests.support.access_world import Undoing
from tests.support.delegating import UNKNOWN, Companies
from tests.support.rest import Login

from tripline import observe


@dataclass(frozen=True)
class Cast:
    """The owner's vehicle V is managed by one of its directors and delegated to the borrower; W is neither."""

    of: Companies
    v: str
    w: str
    managing: Login
    people: dict[str, Login]


async def _cast(app):
    of = await delegating.companies(app)
    managing = await delegating.director(app, of.owner, "managing")
    v = await delegating.new_vehicle(app, managing, "V")
    w = await delegating.new_vehicle(app, of.owner, "W")
    await delegating.register(app, of.owner, of.borrower)
    await delegating.delegate(app, of.owner, of.borrower, v)
    people = {}
    for name in ("operator", "owner", "borrower", "below", "other"):
        admin = getattr(of, name)
        people[f"director of {name}"] = await delegating.director(app, admin, f"director-{name}")
        people[f"driver of {name}"] = await delegating.driver(app, admin, f"driver-{name}")
    return Cast(of, v, w, managing, people)


async def _outcome(app, giver, person, vehicle_id, *, drive):
    """The role that was given, or status and errorCode."""
    answer = await app.call(giver, "POST", delegating.rights(person, drive=drive), {"vehicleId": vehicle_id})
    record = answer.json()
    return record.get("userRole") or (answer.status_code, record["errorCode"])


async def _outcomes(app, table, cast, *, drive, **others):
    """The rows of the table with what is answered to each; what is given is undone."""
    app.change(store=Undoing(app.store))
    who = {"managing": cast.managing, **cast.people, **vars(cast.of), **others}
    return [
        (giver, receiver, name, await _outcome(app, who[giver], who[receiver], getattr(cast, name), drive=drive))
        for giver, receiver, name, _ in table
    ]


@pytest.fixture
async def cast(app):
    return await app.staged(_cast)


@pytest.mark.parametrize(
    ("drive", "role", "name"), [(False, "DELEGATED_DIRECTOR", "director"), (True, "DRIVER", "driver")]
)
async def test_h4_right_is_answered_read_and_listed_with_every_field(app, cast, drive, role, name):
    person = cast.people[f"{name} of borrower"]
    new = await delegating.give(app, cast.of.borrower, person, cast.v, drive=drive)
    path = delegating.rights(person, drive=drive)
    read = await app.get(cast.of.borrower, f"{path}/{cast.v}")
    listed = await app.get(person, f"{path}s", limit=1)
    vehicle = await app.get(cast.of.owner, f"/vehicle/{cast.v}")

    assert new == {
        "id": new["id"],
        "createdTime": rest.NOW_MS,
        "companyId": {"id": cast.of.borrower.company_id},
        "companyName": "Borrower",
        "userId": {"id": person.user_id},
        "userName": f"{name}-borrower",
        "vehicleId": {"id": cast.v},
        "vehicleNo": "V",
        "userRole": role,
    }
    assert (read, listed) == (new, {"data": [new], "nextPageLink": None, "hasNext": False})
    assert list(read) == list(new)
    assert vehicle["delegateUserCount"] == 1


GIVEN, FOREIGN, STATE, TAKEN = "DELEGATED_DIRECTOR", (403, 20), (400, 30), (400, 31)


DIRECTING = [
    # A COMPANY_ADMIN: vehicles of its own company or delegated to it, directors of its own company.
    ("owner", "director of owner", "v", GIVEN),
    ("owner", "director of owner", "w", GIVEN),
    ("owner", "director of borrower", "v", FOREIGN),
    ("borrower", "director of borrower", "v", GIVEN),
    ("borrower", "director of borrower", "w", FOREIGN),
    ("borrower", "director of owner", "v", FOREIGN),
    ("borrower", "director of below", "v", FOREIGN),
    ("operator", "director of operator", "v", GIVEN),
    ("operator", "director of operator", "w", GIVEN),
    ("operator", "director of owner", "v", FOREIGN),
    ("below", "director of below", "v", FOREIGN),
    ("other", "director of other", "v", FOREIGN),
    # A DIRECTOR: vehicles it manages, another director, of another company when the vehicle is delegated to that.
    ("managing", "director of owner", "v", GIVEN),
    ("managing", "director of borrower", "v", GIVEN),
    ("managing", "director of operator", "v", GIVEN),
    ("managing", "managing", "v", STATE),
    ("managing", "director of below", "v", FOREIGN),
    ("managing", "director of other", "v", FOREIGN),
    ("managing", "director of owner", "w", FOREIGN),
    ("director of owner", "managing", "v", FOREIGN),
    ("director of borrower", "director of borrower", "v", FOREIGN),
    ("driver of owner", "director of owner", "v", FOREIGN),
]


async def test_rule_2_who_makes_whom_delegated_director_of_what(app, cast):
    assert await _outcomes(app, DIRECTING, cast, drive=False) == DIRECTING


async def test_rule_2_director_of_a_company_that_has_other_vehicles_but_not_this_one_is_refused(app, cast):
    unlent = await delegating.new_vehicle(app, cast.managing, "unlent")
    answer = await app.refused(
        cast.managing,
        "POST",
        delegating.rights(cast.people["director of borrower"], drive=False),
        {"vehicleId": unlent},
    )

    assert answer[:2] == STATE


async def test_rule_2_delegated_director_makes_no_other_one(app, cast):
    second = await delegating.director(app, cast.of.borrower, "second")
    await delegating.give(app, cast.of.borrower, cast.people["director of borrower"], cast.v)

    assert await _outcome(app, cast.people["director of borrower"], second, cast.v, drive=False) == FOREIGN


DRIVING = [
    # A COMPANY_ADMIN: vehicles of its own company or delegated to it, drivers of its own company.
    ("owner", "driver of owner", "w", "DRIVER"),
    ("owner", "director of owner", "w", "DRIVER"),
    ("owner", "driver of borrower", "v", FOREIGN),
    ("borrower", "driver of borrower", "v", "DRIVER"),
    ("borrower", "driver of borrower", "w", FOREIGN),
    ("borrower", "driver of owner", "v", FOREIGN),
    ("operator", "driver of operator", "w", "DRIVER"),
    ("below", "driver of below", "v", FOREIGN),
    ("other", "driver of other", "v", FOREIGN),
    # A DIRECTOR: vehicles it manages or is DELEGATED_DIRECTOR of, drivers of its own company.
    ("managing", "driver of owner", "v", "DRIVER"),
    ("managing", "managing", "v", "DRIVER"),
    ("managing", "driver of borrower", "v", FOREIGN),
    ("managing", "driver of owner", "w", FOREIGN),
    ("director of owner", "driver of owner", "v", FOREIGN),
    ("delegated director", "driver of borrower", "v", "DRIVER"),
    ("delegated director", "driver of owner", "v", FOREIGN),
    ("delegated director", "driver of borrower", "w", FOREIGN),
    ("delegated driver", "driver of borrower", "v", FOREIGN),
]


async def test_rule_3_who_lets_whom_drive_what(app, cast):
    delegated = await delegating.director(app, cast.of.borrower, "delegated")
    driver = await delegating.driver(app, cast.of.borrower, "delegated-driver")
    await delegating.give(app, cast.of.borrower, delegated, cast.v)
    await delegating.give(app, cast.of.borrower, driver, cast.v, drive=True)
    given = {"delegated director": delegated, "delegated driver": driver}

    assert await _outcomes(app, DRIVING, cast, drive=True, **given) == DRIVING


async def test_right_is_given_once_but_directing_and_driving_are_two(app, cast):
    director = cast.people["director of borrower"]
    outcomes = [
        await _outcome(app, giver, director, cast.v, drive=drive)
        for giver, drive in (
            (cast.of.borrower, False),
            (cast.of.borrower, False),
            (cast.managing, False),
            (cast.of.borrower, True),
            (cast.of.borrower, True),
        )
    ]
    count = (await app.get(director, f"/vehicle/{cast.v}"))["delegateUserCount"]

    assert (outcomes, count) == ([GIVEN, TAKEN, TAKEN, "DRIVER", TAKEN], 2)


async def test_drivers_and_administrators_are_no_directors_and_administrators_no_drivers(app, cast):
    found = [
        await _outcome(app, cast.of.owner, person, cast.v, drive=drive)
        for person, drive in (
            (cast.people["driver of owner"], False),
            (cast.of.owner, False),
            (cast.of.owner, True),
        )
    ]

    assert found == [(404, 32)] * 3


async def test_right_checks_come_in_the_published_order(app, cast):
    person, foreign = (
        f"/driver/{cast.people[name].user_id}/relation/vehicle" for name in ("driver of owner", "driver of other")
    )
    owner, driver = cast.of.owner, cast.people["driver of owner"]
    checks = [
        ((None, "POST", "/driver/x/relation/vehicle", {}), (401, 10)),
        ((driver, "POST", "/driver/x/relation/vehicle", {}), (403, 20)),
        ((owner, "POST", "/driver/x/relation/vehicle", {}), (400, 31)),
        ((owner, "POST", f"/driver/{UNKNOWN}/relation/vehicle", {}), (404, 32)),
        ((owner, "POST", foreign, {}), (403, 20)),
        ((owner, "POST", person, {}), (400, 31)),
        ((owner, "POST", person, {"vehicleId": "x"}), (400, 31)),
        ((owner, "POST", person, {"vehicleId": UNKNOWN}), (404, 32)),
        ((cast.of.borrower, "DELETE", f"{person}/{UNKNOWN}"), (404, 32)),
        ((cast.of.borrower, "DELETE", f"/driver/{UNKNOWN}/relation/vehicle/{cast.w}"), (404, 32)),
        ((cast.of.borrower, "DELETE", f"{person}/{cast.v}"), (403, 20)),
        ((owner, "DELETE", f"{person}/x"), (400, 31)),
        ((owner, "DELETE", f"{person}/{cast.v}"), (404, 32)),
        ((owner, "GET", f"{foreign}/{cast.v}"), (403, 20)),
        ((owner, "GET", f"{person}/{UNKNOWN}"), (404, 32)),
        ((owner, "GET", f"{person}/{cast.v}"), (404, 32)),
        ((owner, "GET", f"{foreign}s"), (403, 20)),
        ((owner, "GET", f"{person}s"), (400, 31)),
    ]

    for call, refusal in checks:
        assert (await app.refused(*call))[:2] == refusal, call


async def test_rights_are_read_by_their_holder_its_directors_its_administrators_and_the_operator(app, cast):
    holder = cast.people["driver of borrower"]
    await delegating.give(app, cast.of.borrower, holder, cast.v, drive=True)
    path = delegating.rights(holder, drive=True)
    who = {"managing": cast.managing, **cast.people, **vars(cast.of)}
    readers = {
        name: {(await app.call(login, "GET", each)).status_code for each in (f"{path}/{cast.v}", f"{path}s?limit=1")}
        for name, login in who.items()
    }
    found = (
        {name for name, codes in readers.items() if codes == {200}},
        {code for codes in readers.values() for code in codes},
    )

    assert found == ({"borrower", "operator", "director of borrower", "driver of borrower"}, {200, 403})


TAKING = [
    # The owner's administrator takes back any right on its vehicle.
    ("owner", "director of owner", False, 200),
    ("owner", "director of borrower", False, 200),
    ("owner", "director of operator", False, 200),
    ("owner", "driver of borrower", True, 200),
    # The administrator of a company that has the vehicle, those of its own people.
    ("borrower", "director of borrower", False, 200),
    ("borrower", "driver of borrower", True, 200),
    ("borrower", "director of owner", False, 403),
    ("borrower", "driver of operator", True, 403),
    ("operator", "driver of operator", True, 200),
    ("operator", "director of owner", False, 403),
    ("below", "director of borrower", False, 403),
    ("other", "driver of borrower", True, 403),
    # Directors, what they could give.
    ("managing", "director of owner", False, 200),
    ("managing", "director of borrower", False, 200),
    ("managing", "driver of owner", True, 200),
    ("managing", "driver of borrower", True, 403),
    ("director of borrower", "driver of borrower", True, 200),
    ("director of borrower", "director of borrower", False, 403),
    ("director of borrower", "driver of owner", True, 403),
    ("director of below", "driver of borrower", True, 403),
    ("driver of borrower", "driver of borrower", True, 403),
]


async def test_who_takes_back_which_right(app, cast):
    who = {"managing": cast.managing, **cast.people, **vars(cast.of)}

    async def give(holder, drive):
        admin = who[holder.rpartition(" ")[2]]
        await delegating.give(app, admin, who[holder], cast.v, drive=drive)

    for holder, drive in sorted({(holder, drive) for _, holder, drive, _ in TAKING}):
        await give(holder, drive)
    found = []
    for taker, holder, drive, _ in TAKING:
        path = f"{delegating.rights(who[holder], drive=drive)}/{cast.v}"
        status = (await app.call(who[taker], "DELETE", path)).status_code
        assert (await app.call(cast.of.operator, "GET", path)).status_code == (404 if status == 200 else 200)
        if status == 200:
            await give(holder, drive)
        found.append((taker, holder, drive, status))

    assert found == TAKING


async def test_owner_takes_back_the_right_of_a_person_of_no_related_company_is_nothing_to_find(app, cast):
    path = delegating.rights(cast.people["driver of other"], drive=True)

    assert (await app.refused(cast.of.owner, "DELETE", f"{path}/{cast.v}"))[:2] == (404, 32)


@pytest.mark.parametrize(
    ("rights", "taken", "still_drives"),
    [
        ((True,), True, False),
        ((False,), False, False),
        ((True, False), True, True),
        ((True, False), False, True),
    ],
)
async def test_current_driver_whose_last_right_is_taken_back_drives_no_more(app, cast, rights, taken, still_drives):
    person = cast.people["director of borrower"]
    sensor = await delegating.new_sensor(app, cast.of.owner, on=cast.v)
    for drive in rights:
        await delegating.give(app, cast.of.borrower, person, cast.v, drive=drive)
    await app.store.write(delegating.drives_now(cast.v, person))
    app.signals.told.clear()
    await app.call(cast.of.borrower, "DELETE", f"{delegating.rights(person, drive=taken)}/{cast.v}")
    driver = (await app.get(cast.of.owner, f"/vehicle/{cast.v}"))["currentDriverId"]["id"]
    told = [(observe.SIGNAL_SENSOR_CHANGED, sensor)] == app.signals.told
    drives, count = driver == person.user_id, len(app.signals.told)

    assert drives is still_drives
    assert (told, count) == ((False, 0) if still_drives else (True, 1))


async def test_managing_director_and_others_who_drive_go_on_when_a_right_is_taken_back(app, cast):
    driver = cast.people["driver of owner"]
    drivers = []
    for person in (cast.managing, cast.people["driver of borrower"]):
        await delegating.give(app, cast.of.owner, driver, cast.v, drive=True)
        await app.store.write(delegating.drives_now(cast.v, person))
        await app.call(cast.of.owner, "DELETE", f"{delegating.rights(driver, drive=True)}/{cast.v}")
        drivers.append((await app.get(cast.of.owner, f"/vehicle/{cast.v}"))["currentDriverId"]["id"])
    await delegating.give(app, cast.managing, cast.managing, cast.v, drive=True)
    await app.store.write(delegating.drives_now(cast.v, cast.managing))
    await app.call(cast.managing, "DELETE", f"{delegating.rights(cast.managing, drive=True)}/{cast.v}")
    drivers.append((await app.get(cast.of.owner, f"/vehicle/{cast.v}"))["currentDriverId"]["id"])

    assert drivers == [cast.managing.user_id, cast.people["driver of borrower"].user_id, cast.managing.user_id]


async def test_rights_of_one_role_are_paged_by_vehicle_number(app, of):
    director = await delegating.director(app, of.owner, "director")
    for number in "4213":
        vehicle_id = await delegating.new_vehicle(app, of.owner, number)
        await delegating.give(app, of.owner, director, vehicle_id)
        if number in "13":
            await delegating.give(app, of.owner, director, vehicle_id, drive=True)

    async def walk(drive):
        found, query = [], {"limit": 1}
        while query:
            page = await app.get(director, f"{delegating.rights(director, drive=drive)}s", **query)
            found += [(record["vehicleNo"], record["userRole"]) for record in page["data"]]
            query = page["nextPageLink"] and {"limit": 1, "idOffset": page["nextPageLink"]["idOffset"]}
        return found

    unknown = await app.refused(
        director, "GET", f"{delegating.rights(director, drive=True)}s?limit=1&idOffset={UNKNOWN}"
    )

    assert await walk(False) == [(number, "DELEGATED_DIRECTOR") for number in "1234"]
    assert await walk(True) == [("1", "DRIVER"), ("3", "DRIVER")]
    assert unknown[:2] == (400, 31)
