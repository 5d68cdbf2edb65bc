"""Every pair of requests about the fleet that can collide, sent at once to a running server: one outcome is left.

Not here: accounts and lines (`test_account_races.py`); two servers on one file (`tests/integration/test_*_races.py`).
"""

import pytest
from tests.support import races
from tests.support.races import GONE, NOBODY, OK, OUTSIDE, STATE, TAKEN, Ask, Race, one_wins, winners

from tripline.domain.ids import PLACEHOLDER

pytestmark = pytest.mark.deep

UNSET = {"id": PLACEHOLDER}
RACES = {}


def race(prepare):
    """Run this with the others."""
    RACES[prepare.__name__] = prepare
    return prepare


@pytest.fixture(scope="module")
def track(tmp_path_factory):
    with races.track(tmp_path_factory.mktemp("races")) as new:
        yield new


@race
def mount_on_two_vehicles(t):
    sensor, vehicles = t.sensor(), [t.vehicle(), t.vehicle()]

    def left(answers):
        (winner,) = winners(answers)
        counts = [t.get(f"/vehicle/{each}")["sensorCount"] for each in vehicles]
        on = t.get(f"/sensor/{sensor}")["vehicleId"]["id"]
        return (on, counts), (vehicles[winner], [int(index == winner) for index in (0, 1)])

    rivals = [Ask(t.admin, "POST", f"/sensor/{sensor}/vehicle/{each}") for each in vehicles]
    return Race(rivals, one_wins(2), left)


@race
def mount_two_sensors_on_one_vehicle(t):
    vehicle = t.vehicle()
    rivals = [Ask(t.admin, "POST", f"/sensor/{t.sensor()}/vehicle/{vehicle}") for _ in range(2)]
    return Race(rivals, {(OK, OK)}, lambda _: (t.get(f"/vehicle/{vehicle}")["sensorCount"], 2))


@race
def mount_and_delete_the_sensor(t):
    sensor, vehicle = t.sensor(), t.vehicle()
    rivals = [Ask(t.admin, "POST", f"/sensor/{sensor}/vehicle/{vehicle}"), Ask(t.admin, "DELETE", f"/sensor/{sensor}")]
    return Race(
        rivals,
        {(OK, OK), (GONE, OK)},
        lambda _: ((t.get(f"/vehicle/{vehicle}")["sensorCount"], t.outcome(f"/sensor/{sensor}")), (0, GONE)),
        [sensor],
    )


@race
def mount_and_delete_the_vehicle(t):
    sensor, vehicle = t.sensor(), t.vehicle()

    def left(_):
        record = t.get(f"/sensor/{sensor}")
        return (record["vehicleId"], record["status"], t.outcome(f"/vehicle/{vehicle}")), (UNSET, "DEACTIVATED", GONE)

    rivals = [Ask(t.admin, "POST", f"/sensor/{sensor}/vehicle/{vehicle}"), delete_vehicle(t, vehicle)]
    return Race(rivals, {(OK, OK), (GONE, OK)}, left, [vehicle])


@race
def mount_elsewhere_and_unmount(t):
    (sensor, here), there = t.mounted(), t.vehicle()

    def left(answers):
        there_now = answers[0].outcome == OK
        counts = [t.get(f"/vehicle/{each}")["sensorCount"] for each in (here, there)]
        return (t.get(f"/sensor/{sensor}")["vehicleId"]["id"], counts), (
            (there, [0, 1]) if there_now else (PLACEHOLDER, [0, 0])
        )

    rivals = [
        Ask(t.admin, "POST", f"/sensor/{sensor}/vehicle/{there}"),
        Ask(t.admin, "DELETE", f"/sensor/{sensor}/vehicle/{here}"),
    ]
    return Race(rivals, {(OK, OK), (TAKEN, OK)}, left)


@race
def unmount_and_delete_the_vehicle(t):
    sensor, vehicle = t.mounted()
    rivals = [Ask(t.admin, "DELETE", f"/sensor/{sensor}/vehicle"), delete_vehicle(t, vehicle)]
    return Race(rivals, {(OK, OK), (STATE, OK)}, lambda _: (t.get(f"/sensor/{sensor}")["vehicleId"], UNSET), [vehicle])


@race
def change_and_delete_a_sensor(t):
    sensor = t.sensor()
    rivals = [
        Ask(t.admin, "PUT", f"/sensor/{sensor}", {"serialNo": f"N{t.number()}"}),
        Ask(t.admin, "DELETE", f"/sensor/{sensor}"),
    ]
    return Race(rivals, {(OK, OK), (GONE, OK)}, lambda _: (t.outcome(f"/sensor/{sensor}"), GONE), [sensor])


@race
def change_and_delete_a_vehicle(t):
    vehicle = t.vehicle()
    rivals = [Ask(t.admin, "PUT", f"/vehicle/{vehicle}", {"vendor": "Maker"}), delete_vehicle(t, vehicle)]
    return Race(rivals, {(OK, OK), (GONE, OK)}, lambda _: (t.outcome(f"/vehicle/{vehicle}"), GONE), [vehicle])


@race
def activate_and_delete_a_vehicle(t):
    vehicle = t.vehicle()
    rivals = [Ask(t.admin, "POST", f"/vehicle/{vehicle}/activate"), delete_vehicle(t, vehicle)]
    return Race(rivals, {(OK, OK), (GONE, OK)}, lambda _: (t.outcome(f"/vehicle/{vehicle}"), GONE), [vehicle])


@race
def change_different_fields(t):
    vehicle, changes = t.vehicle(), {"vendor": "Maker", "modelName": "Model", "mileage": 7, "usage": "taxi"}
    rivals = [Ask(t.admin, "PUT", f"/vehicle/{vehicle}", {name: changes[name]}) for name in changes]
    return Race(
        rivals, {(OK,) * 4}, lambda _: ({name: t.get(f"/vehicle/{vehicle}")[name] for name in changes}, changes)
    )


@race
def delete_a_vehicle_thrice(t):
    _, vehicle = t.mounted()
    return Race([delete_vehicle(t, vehicle)] * 3, one_wins(3, GONE), deleted=[vehicle])


@race
def delete_a_sensor_thrice(t):
    sensor, _ = t.mounted()
    return Race([Ask(t.admin, "DELETE", f"/sensor/{sensor}")] * 3, one_wins(3, GONE), deleted=[sensor])


@race
def delete_a_company_thrice(t):
    company, _ = t.candidate()
    return Race([Ask(t.admin, "DELETE", f"/company/{company}")] * 3, one_wins(3, GONE), deleted=[company])


@race
def delete_a_driver_thrice(t):
    driver, _ = t.person("driver")
    return Race([Ask(t.admin, "DELETE", f"/driver/{driver}")] * 3, one_wins(3, GONE), deleted=[driver])


@race
def register_a_candidate_thrice(t):
    partner, _ = t.partner()
    ask = Ask(t.admin, "POST", f"/company/{t.operator_id}/relation/company", {"toCompanyId": partner})
    return Race([ask] * 3, one_wins(3))


@race
def register_a_candidate_and_delete_it(t):
    partner, _ = t.partner()
    ask = Ask(t.admin, "POST", f"/company/{t.operator_id}/relation/company", {"toCompanyId": partner})
    return Race([ask, Ask(t.admin, "DELETE", f"/company/{partner}")], {(OK, OK), (GONE, OK)}, deleted=[partner])


@race
def delegate_thrice(t):
    vehicle, (partner, _) = t.vehicle(), t.candidate()
    return Race([delegate(t, vehicle, partner)] * 3, one_wins(3), lambda _: (lent_to(t, vehicle), [partner]))


@race
def delegate_and_remove_the_candidate(t):
    vehicle, (partner, _) = t.vehicle(), t.candidate()
    remove = Ask(t.admin, "DELETE", f"/company/{t.operator_id}/relation/company/{partner}")

    def left(answers):
        return lent_to(t, vehicle), [partner] if winners(answers) == [0] else []

    return Race([delegate(t, vehicle, partner), remove], {(OK, STATE), (STATE, OK)}, left)


@race
def delegate_and_delete_the_vehicle(t):
    vehicle, (partner, token) = t.vehicle(), t.candidate()

    def left(_):
        return t.get(f"/company/{partner}/vehicles/delegated?limit=9", token)["data"], []

    return Race([delegate(t, vehicle, partner), delete_vehicle(t, vehicle)], {(OK, OK), (GONE, OK)}, left, [vehicle])


@race
def delegate_and_delete_the_receiver(t):
    vehicle, (partner, _) = t.vehicle(), t.candidate()
    rivals = [delegate(t, vehicle, partner), Ask(t.admin, "DELETE", f"/company/{partner}")]
    return Race(rivals, {(OK, OK), (GONE, OK)}, lambda _: (lent_to(t, vehicle), []), [partner])


@race
def take_back_thrice(t):
    vehicle, partner, _ = t.borrower()
    return Race([take_back(t, vehicle, partner)] * 3, one_wins(3, GONE), lambda _: (lent_to(t, vehicle), []))


@race
def give_a_right_thrice(t):
    vehicle, (driver, _) = t.vehicle(), t.person("driver")
    return Race([let_drive(t.admin, driver, vehicle)] * 3, one_wins(3))


@race
def give_a_right_and_take_the_vehicle_back(t):
    vehicle, partner, token = t.borrower()
    driver, its = t.person("driver", token)
    rivals = [let_drive(token, driver, vehicle), take_back(t, vehicle, partner)]
    return Race(
        rivals,
        {(OK, OK), (OUTSIDE, OK)},
        lambda _: ((rights(t, driver), t.outcome(f"/vehicle/{vehicle}", its)), ([], OUTSIDE)),
    )


@race
def give_a_right_and_delete_the_person(t):
    vehicle, (director, _) = t.vehicle(), t.person("director")
    rivals = [
        Ask(t.admin, "POST", f"/director/{director}/relation/vehicle", {"vehicleId": vehicle}),
        Ask(t.admin, "DELETE", f"/director/{director}"),
    ]
    return Race(
        rivals, {(OK, OK), (GONE, OK)}, lambda _: (t.get(f"/vehicle/{vehicle}")["delegateUserCount"], 0), [director]
    )


@race
def give_a_right_and_delete_the_vehicle(t):
    vehicle, (driver, _) = t.vehicle(), t.person("driver")
    rivals = [let_drive(t.admin, driver, vehicle), delete_vehicle(t, vehicle)]
    return Race(rivals, {(OK, OK), (GONE, OK)}, lambda _: (rights(t, driver), []), [vehicle])


@race
def give_a_right_and_delete_the_borrower(t):
    vehicle, partner, token = t.borrower()
    driver, _ = t.person("driver", token)
    rivals = [let_drive(token, driver, vehicle), Ask(t.admin, "DELETE", f"/company/{partner}")]
    # Whose company is gone by the time its token is looked at is nobody; by the time of writing, the driver is unknown.
    allowed = {(OK, OK), (GONE, OK), (NOBODY, OK)}
    return Race(rivals, allowed, lambda _: (t.get(f"/vehicle/{vehicle}")["delegateUserCount"], 0), [partner, driver])


@race
def set_two_drivers(t):
    vehicle, people = t.vehicle(), [t.person("driver")[0] for _ in range(2)]
    rivals = [Ask(t.admin, "POST", f"/vehicle/{vehicle}/driver/{each}") for each in people]
    return Race(rivals, {(OK, OK)}, lambda _: (t.get(f"/vehicle/{vehicle}")["currentDriverId"]["id"] in people, True))


@race
def two_drivers_log_in(t):
    vehicle, people = t.vehicle(), [t.person("driver") for _ in range(2)]
    t.post(f"/vehicle/{vehicle}/activate")
    for driver, _ in people:
        t.good(let_drive(t.admin, driver, vehicle))
    rivals = [Ask(token, "POST", f"/vehicle/{vehicle}/driver/{driver}") for driver, token in people]

    def left(answers):
        (winner,) = winners(answers)
        return t.get(f"/vehicle/{vehicle}")["currentDriverId"]["id"], people[winner][0]

    return Race(rivals, one_wins(2, STATE), left)


@race
def one_driver_on_two_vehicles(t):
    vehicles, (driver, _) = [t.vehicle(), t.vehicle()], t.person("driver")
    rivals = [Ask(t.admin, "POST", f"/vehicle/{each}/driver/{driver}") for each in vehicles]

    def left(_):
        drives = [t.get(f"/vehicle/{each}")["currentDriverId"]["id"] for each in vehicles]
        return sorted(drives), sorted([driver, PLACEHOLDER])

    return Race(rivals, {(OK, OK)}, left)


@race
def set_a_driver_and_delete_it(t):
    vehicle, (driver, _) = t.vehicle(), t.person("driver")
    rivals = [Ask(t.admin, "POST", f"/vehicle/{vehicle}/driver/{driver}"), Ask(t.admin, "DELETE", f"/driver/{driver}")]
    return Race(
        rivals, {(OK, OK), (GONE, OK)}, lambda _: (t.get(f"/vehicle/{vehicle}")["currentDriverId"], UNSET), [driver]
    )


@race
def set_a_driver_and_delete_the_vehicle(t):
    vehicle, (driver, _) = t.vehicle(), t.person("driver")
    rivals = [Ask(t.admin, "POST", f"/vehicle/{vehicle}/driver/{driver}"), delete_vehicle(t, vehicle)]
    return Race(rivals, {(OK, OK), (GONE, OK)}, deleted=[vehicle])


@race
def drive_and_lose_the_vehicle(t):
    vehicle, partner, token = t.borrower()
    driver, its = t.person("driver", token)
    t.good(let_drive(token, driver, vehicle))
    t.post(f"/vehicle/{vehicle}/activate")
    rivals = [Ask(its, "POST", f"/vehicle/{vehicle}/driver/{driver}"), take_back(t, vehicle, partner)]
    return Race(rivals, {(OK, OK), (OUTSIDE, OK)}, lambda _: (t.get(f"/vehicle/{vehicle}")["currentDriverId"], UNSET))


@race
def set_a_director_and_delete_it(t):
    vehicle, (director, _) = t.vehicle(), t.person("director")
    rivals = [
        Ask(t.admin, "POST", f"/vehicle/{vehicle}/director/{director}"),
        Ask(t.admin, "DELETE", f"/director/{director}"),
    ]
    return Race(
        rivals, {(OK, OK), (GONE, OK)}, lambda _: (t.get(f"/vehicle/{vehicle}")["directorId"], UNSET), [director]
    )


@race
def set_two_directors_and_unset_the_first(t):
    vehicle, people = t.vehicle(), [t.person("director")[0] for _ in range(2)]
    t.post(f"/vehicle/{vehicle}/director/{people[0]}")
    rivals = [
        Ask(t.admin, "POST", f"/vehicle/{vehicle}/director/{people[1]}"),
        Ask(t.admin, "DELETE", f"/vehicle/{vehicle}/director/{people[0]}"),
    ]
    return Race(
        rivals, {(OK, OK), (OK, STATE)}, lambda _: (t.get(f"/vehicle/{vehicle}")["directorId"]["id"], people[1])
    )


@race
def director_registers_a_vehicle_and_is_deleted(t):
    director, token = t.person("director")
    number = f"V{t.number()}"
    rivals = [
        Ask(token, "POST", "/vehicle", races.vehicle_body(number)),
        Ask(t.admin, "DELETE", f"/director/{director}"),
    ]

    def left(answers):
        return t.outcome(f"/vehicle?vehicleNo={number}"), OK if answers[0].outcome == OK else GONE

    return Race(rivals, {(OK, OK), (NOBODY, OK)}, left, [director])


IN_A_COMPANY = {
    "vehicle": ("/vehicle", lambda t: races.vehicle_body(f"V{t.number()}")),
    "sensor": ("/sensor", lambda t: races.sensor_body(f"S{t.number()}", f"{t.number():020d}")),
    "file": ("/vehicles/bulk", lambda t: f"vehicleNo,mileage\nB{t.number()},1\n"),
    "director": ("/director", lambda t: races.person_body(t.email())),
    "administrator": ("/company/{}/admin", lambda t: races.person_body(t.email())),
    "partner": ("/company", lambda t: races.company_body(t.email())),
    "candidate": ("/company/{}/relation/company", lambda t: {"toCompanyId": t.operator_id}),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", IN_A_COMPANY)
def test_company_deleted_while_it_registers_something_is_kept_by_it_or_takes_it_along(what, track):
    path, body = IN_A_COMPANY[what]

    def prepare(t):
        partner, token = t.partner()
        rivals = [Ask(token, "POST", path.format(partner), body(t)), Ask(t.admin, "DELETE", f"/company/{partner}")]
        kept = {(OK, STATE)} if what in ("vehicle", "sensor", "file") else {(OK, OK)}

        def left(answers):
            return t.outcome(f"/company/{partner}"), GONE if answers[1].outcome == OK else OK

        return Race(rivals, {(NOBODY, OK), (GONE, OK)} | kept, left)

    track.run(prepare)


@race
def delete_an_operator_that_registers_a_partner(t):
    operator, token = t.operator(f"type-{t.number()}")
    rivals = [
        Ask(token, "POST", "/company", races.company_body(t.email())),
        Ask(t.root, "DELETE", f"/company/{operator}"),
    ]
    return Race(rivals, {(OK, STATE), (NOBODY, OK)})


@race
def same_vehicle_number(t):
    number = f"V{t.number()}"
    body = races.vehicle_body(number)
    changed = t.vehicle(), t.vehicle()
    csv = f"vehicleNo,mileage\n{number},1\n"
    rivals = [
        *[Ask(t.admin, "POST", "/vehicle", body)] * 2,
        *[Ask(t.admin, "PUT", f"/vehicle/{each}", {"vehicleNo": number}) for each in changed],
        *[Ask(t.admin, "POST", "/vehicles/bulk", csv)] * 2,
    ]

    def left(answers):
        registered = sum(each.outcome == OK for each in answers[:4])
        created = sum(each.body["created"] for each in answers[4:])
        return (registered + created, t.outcome(f"/vehicle?vehicleNo={number}")), (1, OK)

    # An import that finds a number taken answers 200 and says so of the row.
    allowed = {(*each, OK, OK) for each in (*one_wins(4), (TAKEN,) * 4)}
    return Race(rivals, allowed, left)


@race
def same_serial_number(t):
    serial = f"S{t.number()}"
    tokens = [f"{t.number():020d}" for _ in range(2)]
    csv = f"serialNo,type,credentialsId\n{serial},GPS,{t.number():020d}\n"
    rivals = [
        *[Ask(t.admin, "POST", "/sensor", races.sensor_body(serial, token)) for token in tokens],
        *[Ask(t.admin, "PUT", f"/sensor/{t.sensor()}", {"serialNo": serial}) for _ in range(2)],
        Ask(t.admin, "POST", "/sensors/bulk", csv),
    ]

    def left(answers):
        registered = sum(each.outcome == OK for each in answers[:4])
        return (registered + answers[4].body["created"], t.outcome(f"/sensor?serialNo={serial}")), (1, OK)

    return Race(rivals, {(*each, OK) for each in (*one_wins(4), (TAKEN,) * 4)}, left)


@race
def same_access_token(t):
    token = f"{t.number():020d}"
    serials = [f"S{t.number()}" for _ in range(3)]
    csv = f"serialNo,type,credentialsId\n{serials[2]},GPS,{token}\n"
    rivals = [
        *[Ask(t.admin, "POST", "/sensor", races.sensor_body(each, token)) for each in serials[:2]],
        *[Ask(t.admin, "PUT", f"/sensor/{t.sensor()}", {"credentialsId": token}) for _ in range(2)],
        Ask(t.admin, "POST", "/sensors/bulk", csv),
    ]

    def left(answers):
        return sum(each.outcome == OK for each in answers[:4]) + answers[4].body["created"], 1

    return Race(rivals, {(*each, OK) for each in (*one_wins(4), (TAKEN,) * 4)}, left)


@race
def hand_a_token_over(t):
    giver, taker, token = t.sensor(), t.sensor(), f"{t.number():020d}"
    t.good(Ask(t.admin, "PUT", f"/sensor/{giver}", {"credentialsId": token}))
    rivals = [
        Ask(t.admin, "PUT", f"/sensor/{giver}", {"credentialsId": f"{t.number():020d}"}),
        Ask(t.admin, "PUT", f"/sensor/{taker}", {"credentialsId": token}),
    ]

    def left(answers):
        held = t.get(f"/sensor/{taker}")["credentialsId"] == token
        return held, answers[1].outcome == OK

    return Race(rivals, {(OK, OK), (OK, TAKEN)}, left)


@race
def same_service_type(t):
    bodies = [{**races.company_body(t.email()), "serviceType": f"type-{t.number()}"} for _ in range(3)]
    wanted = bodies[0]["serviceType"]
    rivals = [Ask(t.root, "POST", "/company", {**each, "serviceType": wanted}) for each in bodies]
    return Race(rivals, one_wins(3), lambda _: (operators(t, wanted), 1))


def delete_vehicle(t, vehicle):
    return Ask(t.admin, "DELETE", f"/vehicle/{vehicle}")


def delegate(t, vehicle, partner):
    return Ask(t.admin, "POST", f"/company/{partner}/relation/vehicle", {"vehicleId": vehicle})


def take_back(t, vehicle, partner):
    return Ask(t.admin, "DELETE", f"/company/{partner}/relation/vehicle/{vehicle}")


def let_drive(token, driver, vehicle):
    return Ask(token, "POST", f"/driver/{driver}/relation/vehicle", {"vehicleId": vehicle})


def lent_to(t, vehicle):
    return [delegation["toCompanyId"]["id"] for delegation in t.get(f"/vehicle/{vehicle}/companies?limit=9")["data"]]


def rights(t, driver):
    return t.get(f"/driver/{driver}/relation/vehicles?limit=9")["data"]


def operators(t, service_type):
    return len(t.get(f"/companies?limit=9&serviceType={service_type}", t.root)["data"])


@pytest.mark.slow
@pytest.mark.parametrize("name", RACES)
def test_race_leaves_one_consistent_outcome(name, track):
    track.run(RACES[name])
