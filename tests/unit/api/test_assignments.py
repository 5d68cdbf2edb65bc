"""Managing directors and drivers of vehicles, over REST (spec/rest 7.3 and 9)."""

from tests.support import rest
from tests.support.delegating import new_sensor
from tests.support.vehicles import UNKNOWN, delegate, give_right, vehicle_of

from tripline.domain.access import Authority
from tripline.domain.ids import PLACEHOLDER
from tripline.observe import SIGNAL_SENSOR_CHANGED


async def assign(app, login, method, vehicle_id, role, person):
    """The id that the record shows afterwards, or status, errorCode and message of the refusal."""
    person_id = person if isinstance(person, str) else person.user_id
    path = f"/vehicle/{vehicle_id}/{role}/{person_id}"
    answer = await app.call(login, method, path)
    if answer.status_code != 200:
        return await app.refused(login, method, path)
    record = answer.json()
    assert record == await app.get(login, f"/vehicle/{vehicle_id}")
    return record["directorId" if role == "director" else "currentDriverId"]["id"]


async def test_managing_director_is_set_replaced_and_unset(app: rest.Rest, admin):
    vehicle_id = await vehicle_of(app, admin)
    first = await app.person(admin, Authority.DIRECTOR, "first")
    second = await app.person(admin, Authority.DIRECTOR, "second")
    steps = [
        await assign(app, admin, "POST", vehicle_id, "director", first),
        await assign(app, admin, "POST", vehicle_id, "director", first),
        await assign(app, admin, "POST", vehicle_id, "director", second),
        await assign(app, admin, "DELETE", vehicle_id, "director", first),
        await assign(app, admin, "DELETE", vehicle_id, "director", second),
        await assign(app, admin, "DELETE", vehicle_id, "director", second),
    ]
    first, second = first.user_id, second.user_id

    other = (400, 30, "This director does not manage the vehicle.")
    assert steps == [first, first, second, other, PLACEHOLDER, other]


async def test_managing_director_is_one_of_the_vehicles_own_company(app: rest.Rest, admin):
    _, owner = await app.partner(admin, "p@p.example")
    vehicle_id = await vehicle_of(app, owner)
    own = await app.person(owner, Authority.DIRECTOR, "own")
    driver = await app.person(owner, Authority.DRIVER, "driver")
    foreign = await app.person(admin, Authority.DIRECTOR, "foreign")
    await app.post(owner, f"/vehicle/{vehicle_id}/director/{own.user_id}")
    path = f"/vehicle/{vehicle_id}/director"
    found = [
        (await app.call(login, method, f"{path}/{person}")).status_code
        for method in ("POST", "DELETE")
        for login, person in (
            (owner, foreign.user_id),
            (owner, driver.user_id),
            (owner, UNKNOWN),
            (owner, "1"),
            (admin, own.user_id),
            (admin, UNKNOWN),
            (own, own.user_id),
            (driver, own.user_id),
        )
    ]

    assert found == [403, 404, 404, 400, 403, 404, 403, 403] * 2


async def test_administrator_sets_people_of_the_company_and_holders_of_a_right(app: rest.Rest, admin):
    _, owner = await app.partner(admin, "p@p.example")
    _, borrower = await app.partner(admin, "r@r.example")
    vehicle_id = await vehicle_of(app, owner)
    await delegate(app, vehicle_id, owner, borrower)
    driver = await app.person(owner, Authority.DRIVER, "driver")
    director = await app.person(owner, Authority.DIRECTOR, "director")
    borrowing = await app.person(borrower, Authority.DRIVER, "borrowing")
    right_holder = await app.person(borrower, Authority.DRIVER, "right-holder")
    await give_right(app, vehicle_id, right_holder, "DRIVER")
    tries = (
        (owner, driver),
        (owner, director),
        (owner, right_holder),
        (borrower, borrowing),
        (owner, borrowing),
        (owner, owner),
        (owner, UNKNOWN),
        (borrower, driver),
    )
    answers, people = (
        [await assign(app, login, "POST", vehicle_id, "driver", person) for login, person in tries],
        [person.user_id for _, person in tries[:4]],
    )

    assert answers == [
        *people,
        (403, 20, "This driver is outside your reach."),
        (404, 32, "There is no driver with this id."),
        (404, 32, "There is no driver with this id."),
        (403, 20, "This driver is outside your reach."),
    ]


async def test_driver_logs_in_and_out_of_an_activated_vehicle_that_is_free(app: rest.Rest, admin):
    vehicle_id = await vehicle_of(app, admin)
    first = await app.person(admin, Authority.DRIVER, "first")
    second = await app.person(admin, Authority.DRIVER, "second")
    idle = await app.person(admin, Authority.DRIVER, "idle")
    for driver in (first, second):
        await give_right(app, vehicle_id, driver, "DRIVER")
    steps = {"not activated": await assign(app, first, "POST", vehicle_id, "driver", first)}
    await app.post(admin, f"/vehicle/{vehicle_id}/activate")
    for name, login, method, person in (
        ("another person", first, "POST", second),
        ("no right", idle, "POST", idle),
        ("log in", first, "POST", first),
        ("log in again", first, "POST", first),
        ("occupied", second, "POST", second),
        ("log another out", second, "DELETE", first),
        ("log out though not in", second, "DELETE", second),
        ("log out", first, "DELETE", first),
        ("next one", second, "POST", second),
    ):
        steps[name] = await assign(app, login, method, vehicle_id, "driver", person)
    first, second = first.user_id, second.user_id

    assert steps == {
        "not activated": (
            400,
            30,
            "The vehicle is not activated for drivers; its director or an administrator can activate it.",
        ),
        "another person": (403, 20, "This driver is outside your reach."),
        "no right": (403, 20, "This vehicle is outside your reach."),
        "log in": first,
        "log in again": first,
        "occupied": (400, 30, "Another driver is using this vehicle and must log out first."),
        "log another out": (403, 20, "This driver is outside your reach."),
        "log out though not in": (400, 30, "This person is not set as the vehicle's driver."),
        "log out": PLACEHOLDER,
        "next one": second,
    }


async def test_lender_unsets_the_borrowers_driver(app: rest.Rest):
    not_set = (400, 30, "This person is not set as the vehicle's driver.")
    _, operator = await app.operator("ace")
    _, owner = await app.partner(operator, "p@p.example")
    _, borrower = await app.partner(operator, "r@r.example")
    vehicle_id = await vehicle_of(app, owner)
    await delegate(app, vehicle_id, owner, borrower)
    driving = await app.person(borrower, Authority.DRIVER, "driving")
    idle = await app.person(borrower, Authority.DRIVER, "idle")
    await assign(app, borrower, "POST", vehicle_id, "driver", driving)
    found = [await assign(app, owner, "DELETE", vehicle_id, "driver", person) for person in (idle, driving)]

    assert found == [not_set, PLACEHOLDER]


async def test_setting_a_driver_moves_the_person_and_tells_every_sensor_concerned(app: rest.Rest, admin):
    before, after = await vehicle_of(app, admin, "1"), await vehicle_of(app, admin, "2")
    sensors = [await new_sensor(app, admin, name, on=on) for name, on in (("a", before), ("b", before), ("c", after))]
    driver = await app.person(admin, Authority.DRIVER, "driver")
    await app.post(admin, f"/vehicle/{before}/driver/{driver.user_id}")
    app.signals.told.clear()
    await app.post(admin, f"/vehicle/{after}/driver/{driver.user_id}")
    moved = sorted(app.signals.told)
    app.signals.told.clear()
    await app.post(admin, f"/vehicle/{after}/driver/{driver.user_id}")
    again = list(app.signals.told)
    drivers = [(await app.get(admin, f"/vehicle/{key}"))["currentDriverId"]["id"] for key in (before, after)]

    assert moved == sorted((SIGNAL_SENSOR_CHANGED, sensor_id) for sensor_id in sensors)
    assert again == []
    assert drivers == [PLACEHOLDER, driver.user_id]


async def test_unsetting_a_driver_tells_the_sensors_of_the_vehicle(app: rest.Rest, admin):
    vehicle_id = await vehicle_of(app, admin)
    sensor_id = await new_sensor(app, admin, on=vehicle_id)
    driver = await app.person(admin, Authority.DRIVER, "driver")
    await app.post(admin, f"/vehicle/{vehicle_id}/driver/{driver.user_id}")
    app.signals.told.clear()
    shown = await assign(app, admin, "DELETE", vehicle_id, "driver", driver)

    assert (shown, app.signals.told) == (PLACEHOLDER, [(SIGNAL_SENSOR_CHANGED, sensor_id)])
