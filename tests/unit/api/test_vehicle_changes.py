"""Changing, activating, finding and counting vehicles over REST (spec/rest 7.3)."""

from sqlalchemy import update
from tests.support import delegating, journeys, rest
from tests.support.vehicles import UNKNOWN, delegate, give_right, vehicle_of

from tripline.domain import access
from tripline.domain.access import Action, Authority
from tripline.domain.delegations import UserRole
from tripline.store import positions
from tripline.store.fleet import rights
from tripline.store.listing import vehicles as listing
from tripline.store.listing.pages import PageRequest
from tripline.store.lists import Window
from tripline.store.tables import vehicle


async def test_change_replaces_what_is_named_and_leaves_the_rest(app: rest.Rest, admin):
    before = await app.post(
        admin,
        "/vehicle",
        {"vehicleNo": "1", "mileage": 5, "vendor": "Kia", "modelYear": "2018", "category": "BUS", "usage": "tour"},
    )
    path = f"/vehicle/{before['id']['id']}"
    body = {"vehicleNo": "2", "usage": None, "displacement": 1998, "enabled": False}
    changed = (await app.call(admin, "PUT", path, body)).json()
    after = await app.get(admin, path)

    assert changed == {**before, "vehicleNo": "2", "usage": None, "displacement": 1998}
    assert after == changed


async def test_lists_of_vehicles_and_rights_go_by_a_new_number(app: rest.Rest, admin):
    director = await delegating.director(app, admin, "director")
    vehicles = [await vehicle_of(app, admin, number) for number in ("1", "2", "3")]
    for vehicle_id in vehicles:
        await delegating.give(app, admin, director, vehicle_id)
    await app.call(admin, "PUT", f"/vehicle/{vehicles[0]}", {"vehicleNo": "4"})
    scope, of_rights = (access.scope_of(director.actor, each) for each in (Action.VEHICLE_READ, Action.RIGHT_READ))

    def work(tx):
        held = rights.of_user(tx, of_rights, director.user_id, UserRole.DELEGATED_DIRECTOR, Window(limit=9))
        listed = listing.LIST.page(tx, scope, listing.Filters(), PageRequest(limit=9, by="number"))
        return [row.vehicle_no for row in held], [row.vehicle_no for row in listed.rows]

    held, listed = await app.store.read(work)

    assert held == ["2", "3", "4"]
    assert listed == ["2", "3", "4"]


async def test_empty_change_answers_the_record(app: rest.Rest, admin):
    vehicle_id = await vehicle_of(app, admin, vendor="Kia")
    before = await app.get(admin, f"/vehicle/{vehicle_id}")
    answer = (await app.call(admin, "PUT", f"/vehicle/{vehicle_id}", {})).json()

    assert answer == before


async def test_change_refuses_what_registration_refuses_and_changes_nothing(app: rest.Rest):
    bodies = {
        "no number": {"vehicleNo": None},
        "empty number": {"vehicleNo": ""},
        "number of 256": {"vehicleNo": "n" * 256},
        "mileage 0": {"mileage": 0, "vendor": "Kia"},
        "mileage as text": {"mileage": "10"},
        "year before 1900": {"modelYear": 1899},
        "fuel": {"fuelType": "STEAM"},
        "no object": [1],
    }

    _, admin = await app.operator("ace")
    path = f"/vehicle/{await vehicle_of(app, admin)}"
    before = await app.get(admin, path)
    refusals = {name: (await app.refused(admin, "PUT", path, body))[:2] for name, body in bodies.items()}
    after = await app.get(admin, path)

    assert refusals == dict.fromkeys(bodies, (400, 31))
    assert after == before


async def test_g5_change_takes_every_bound_itself(app: rest.Rest):
    body = {
        "vehicleNo": "n" * 255,
        "vendor": "v" * 255,
        "additionalInfo": "i" * 4096,
        "modelYear": "2100",
        "mileage": 0.1,
        "displacement": 0,
    }

    _, admin = await app.operator("ace")
    answer = await app.call(admin, "PUT", f"/vehicle/{await vehicle_of(app, admin)}", body)
    status, record = answer.status_code, answer.json()

    assert status == 200
    assert {name: record[name] for name in body} == {**body, "modelYear": 2100}


async def test_h5_number_stays_unique_in_the_service_type(app: rest.Rest, admin):
    _, other = await app.operator("other")
    path = f"/vehicle/{await vehicle_of(app, admin, '1')}"
    await vehicle_of(app, admin, "2")
    await vehicle_of(app, other, "3")
    taken = await app.refused(admin, "PUT", path, {"vehicleNo": "2"})
    own = (await app.call(admin, "PUT", path, {"vehicleNo": "1"})).status_code
    elsewhere = (await app.call(admin, "PUT", path, {"vehicleNo": "3"})).status_code

    assert taken == (400, 31, "Parameter 'vehicleNo': a vehicle with the number 2 is already registered.")
    assert (own, elsewhere) == (200, 200)


async def test_borrower_and_operator_change_a_vehicle_but_do_not_delete_it(app: rest.Rest):
    _, operator = await app.operator("ace")
    _, owner = await app.partner(operator, "p@p.example")
    _, borrower = await app.partner(operator, "r@r.example")
    _, stranger = await app.partner(operator, "s@s.example")
    path = f"/vehicle/{(vehicle_id := await vehicle_of(app, owner))}"
    await delegate(app, vehicle_id, owner, borrower)
    director = await app.person(owner, Authority.DIRECTOR, "managing")
    await app.post(owner, f"{path}/director/{director.user_id}")
    actors = {"operator": operator, "borrower": borrower, "stranger": stranger, "director": director}
    changes = {
        name: (await app.call(actor, "PUT", path, {"vendor": name})).status_code for name, actor in actors.items()
    }
    deletions = {name: (await app.call(actor, "DELETE", path)).status_code for name, actor in actors.items()}

    assert changes == {"operator": 200, "borrower": 200, "stranger": 403, "director": 200}
    assert deletions == {"operator": 403, "borrower": 403, "stranger": 403, "director": 200}


async def test_ownership_is_told_before_the_body(app: rest.Rest, admin):
    _, other = await app.operator("other")
    path = f"/vehicle/{await vehicle_of(app, admin)}"

    assert (await app.refused(other, "PUT", path, b"no json"))[:2] == (403, 20)
    assert (await app.refused(admin, "PUT", f"/vehicle/{UNKNOWN}", b"no json"))[:2] == (404, 32)
    assert (await app.refused(admin, "PUT", "/vehicle/1", b"no json"))[:2] == (400, 31)
    assert (await app.refused(admin, "PUT", path, b"no json"))[:2] == (400, 31)


async def test_vehicle_is_found_by_its_number_in_the_callers_service_type(app: rest.Rest, admin):
    _, partner = await app.partner(admin, "p@p.example")
    _, stranger = await app.partner(admin, "s@s.example")
    _, other = await app.operator("other")
    number = "12가 3456&b=c"
    record = await app.post(partner, "/vehicle", {"vehicleNo": number, "mileage": 1})
    await vehicle_of(app, other, "X")
    found, foreign, part, elsewhere, empty, missing = (
        [await app.get(login, "/vehicle", vehicleNo=number) for login in (partner, admin)],
        await app.refused(stranger, "GET", "/vehicle", vehicleNo=number),
        await app.refused(partner, "GET", "/vehicle", vehicleNo="12"),
        await app.refused(partner, "GET", "/vehicle", vehicleNo="X"),
        await app.refused(partner, "GET", "/vehicle", vehicleNo=""),
        await app.refused(partner, "GET", "/vehicle"),
    )

    assert found == [record, record]
    assert foreign == (403, 20, "This vehicle is outside your reach.")
    assert part == elsewhere == (404, 32, "There is no vehicle with this number.")
    assert empty == missing == (400, 31, "Parameter 'vehicleNo' can't be empty!")


async def test_g9_activation_moves_the_state_and_again_changes_nothing(app: rest.Rest, admin):
    path = f"/vehicle/{await vehicle_of(app, admin)}"
    steps = [(await app.get(admin, path))["status"]]
    for verb in ("deactivate", "activate", "activate", "deactivate", "deactivate"):
        record = await app.post(admin, f"{path}/{verb}")
        assert record == await app.get(admin, path)
        steps.append(record["status"])

    assert steps == [
        "DEACTIVATED",
        "DEACTIVATED",
        "ACTIVATED",
        "ACTIVATED",
        "DEACTIVATED",
        "DEACTIVATED",
    ]


async def test_vehicle_is_activated_by_who_directs_or_holds_it(app: rest.Rest, admin):
    _, owner = await app.partner(admin, "p@p.example")
    _, stranger = await app.partner(admin, "s@s.example")
    path = f"/vehicle/{(vehicle_id := await vehicle_of(app, owner))}"
    director = await app.person(owner, Authority.DIRECTOR, "director")
    delegated = await app.person(stranger, Authority.DIRECTOR, "delegated")
    driver = await app.person(owner, Authority.DRIVER, "driver")
    await give_right(app, vehicle_id, delegated, "DELEGATED_DIRECTOR")
    await give_right(app, vehicle_id, driver, "DRIVER")
    logins = (admin, owner, stranger, director, delegated, driver)
    found = [(await app.call(login, "POST", f"{path}/activate")).status_code for login in logins]

    assert found == [200, 200, 403, 403, 200, 403]


async def counted(app, login, **query):
    answer = await app.call(login, "GET", "/vehicles/count", **query)
    return answer.json().get("count", answer.status_code)


async def test_counts_hold_what_the_caller_may_see(app: rest.Rest, admin):
    _, owner = await app.partner(admin, "p@p.example")
    _, borrower = await app.partner(admin, "r@r.example")
    _, other = await app.operator("other")
    await vehicle_of(app, admin, "op")
    await vehicle_of(app, other, "x")
    first, second, _ = [await vehicle_of(app, owner, number) for number in "123"]
    await delegate(app, first, owner, borrower)
    director = await app.person(owner, Authority.DIRECTOR, "director")
    driver = await app.person(owner, Authority.DRIVER, "driver")
    idle = await app.person(owner, Authority.DRIVER, "idle")
    await app.post(owner, f"/vehicle/{second}/director/{director.user_id}")
    await give_right(app, first, director, "DELEGATED_DIRECTOR")
    await give_right(app, first, driver, "DRIVER")
    logins = (admin, owner, borrower, other, director, driver, idle)
    both = {"companyId": owner.company_id, "serviceType": "ace"}
    queries = ({}, {"companyId": owner.company_id}, both, {"serviceType": "ace"}, {"companyId": UNKNOWN})
    own, of_owner, of_both, of_type, unknown = [
        [await counted(app, login, **query) for login in logins] for query in queries
    ]

    assert own == [1, 3, 0, 1, 2, 1, 0]
    assert of_owner == of_both == [3, 3, 403, 403, 2, 1, 0]
    assert of_type == [4, 3, 1, 403, 2, 1, 0]
    assert unknown == [404] * 7


async def test_counts_tell_vehicles_without_sensor_and_those_driving(app: rest.Rest, admin):
    mounted, driving, parking, ended, _ = [await vehicle_of(app, admin, number) for number in "12345"]
    sensor_id = await delegating.new_sensor(app, admin, on=mounted)

    def drive(tx):
        for vehicle_id, more in (
            (driving, {}),
            (driving, {"state": "LAPSED"}),
            (parking, {"parking": True}),
            (ended, {"payload": {}}),
        ):
            columns = {"company_id": admin.company_id, "vehicle_id": vehicle_id, "sensor_id": None}
            _, trip_id = journeys.keep_trip(tx, app.ids, created_ms=1, **columns, **more)
            tx.run(update(vehicle).where(vehicle.c.id == vehicle_id).values(latest_trip_id=trip_id))
            positions.write(tx, (vehicle_id, 1, 37.0, 127.0, 50.0, None, False, True, sensor_id))

    await app.store.write(drive)
    queries = (
        {},
        {"sensor": "false"},
        {"sensor": "TRUE"},
        {"driving": "true"},
        {"driving": "false"},
        {"sensor": "false", "driving": "true"},
        {"sensor": ""},
    )
    found = [
        [await counted(app, admin, **query, **of) for query in queries]
        for of in ({}, {"companyId": admin.company_id}, {"serviceType": "ace"})
    ]

    assert found == [[5, 4, 1, 1, 4, 1, 5]] * 3


async def test_counts_refuse_what_cannot_be_read(app: rest.Rest, admin):
    granted = await app.account("g@g.example", Authority.COMPANY_ADMIN)

    assert (await app.refused(admin, "GET", "/vehicles/count", companyId="1"))[:2] == (400, 31)
    assert (await app.refused(admin, "GET", "/vehicles/count", sensor="perhaps"))[:2] == (400, 31)
    assert (await app.refused(granted, "GET", "/vehicles/count"))[:2] == (403, 20)
