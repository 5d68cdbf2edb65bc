"""The trips that a director or driver drove, over REST."""

import pytest
from tests.support import journeys, rest

from tripline.domain.access import Authority

ROLES = (Authority.DIRECTOR, Authority.DRIVER)
UNKNOWN = "ffffffff-a4ed-11f0-8000-010000000042"


async def driven(app, role):
    """Who asks, and the ids of the three trips that the person drove, oldest first."""
    _, operator = await app.operator("ace")
    _, p = await app.partner(operator, "p@p.example")
    _, q = await app.partner(p, "q@q.example")
    person = await app.person(p, role, "han")
    colleague = await app.person(p, Authority.DIRECTOR, "colleague")
    vehicle = (await app.post(p, "/vehicle", {"vehicleNo": "1", "mileage": 1}))["id"]["id"]
    columns = {"company_id": p.company_id, "vehicle_id": vehicle}

    def work(tx):
        kept = [
            journeys.keep_trip(tx, app.ids, created_ms=rest.NOW_MS + n, user_id=person.user_id, **columns)[1]
            for n in range(3)
        ]
        journeys.keep_trip(tx, app.ids, created_ms=rest.NOW_MS + 9, user_id=colleague.user_id, **columns)
        return kept

    logins = {"operator": operator, "p": p, "q": q, "person": person, "colleague": colleague}
    return logins, vehicle, await app.store.write(work)


def ids_of(page):
    return [trip["id"]["id"] for trip in page["data"]]


@pytest.mark.parametrize("role", ROLES)
async def test_trips_are_those_that_the_person_drove_newest_first(app: rest.Rest, role):
    logins, _, trips = await driven(app, role)
    path = f"/{role.lower()}/{logins['person'].user_id}/trips"
    first = await app.get(logins["p"], path, limit=2)
    link = first["nextPageLink"]
    pages = [
        first,
        await app.get(logins["p"], path, limit=2, idOffset=link["idOffset"]),
        await app.get(logins["p"], path, limit=9, ascOrder="true"),
        await app.get(logins["p"], path, limit=9, startTime=rest.NOW_MS + 1, endTime=rest.NOW_MS + 1),
    ]
    latest = await app.get(logins["p"], f"/{role.lower()}/{logins['person'].user_id}/trip/latest")
    drivers = {trip["userId"]["id"] for trip in pages[2]["data"]}
    pages, latest, drivers = [ids_of(page) for page in pages], latest["id"]["id"], drivers == {logins["person"].user_id}

    assert pages == [[trips[2], trips[1]], [trips[0]], trips, [trips[1]]]
    assert (latest, drivers) == (trips[2], True)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("what", ["trips?limit=1", "trip/latest"])
async def test_trips_are_read_by_the_person_its_company_and_its_operator(app: rest.Rest, role, what):
    logins, _, _ = await driven(app, role)
    path = f"/{role.lower()}/{logins['person'].user_id}/{what}"
    found = {name: (await app.call(login, "GET", path)).status_code for name, login in logins.items()}

    assert found == {"operator": 200, "p": 200, "q": 403, "person": 200, "colleague": 403}


@pytest.mark.parametrize("role", ROLES)
async def test_latest_trip_of_who_never_drove_is_unknown(app: rest.Rest, admin, role):
    person = await app.person(admin, role, "han")
    found = (
        await app.refused(admin, "GET", f"/{role.lower()}/{person.user_id}/trip/latest"),
        await app.refused(admin, "GET", f"/{role.lower()}/{UNKNOWN}/trip/latest"),
        await app.refused(admin, "GET", f"/{role.lower()}/{person.user_id}/trips?limit=2&idOffset={UNKNOWN}"),
    )

    assert found == (
        (404, 32, f"The {role.lower()} has no trip yet."),
        (404, 32, f"There is no {role.lower()} with this id."),
        (400, 31, "Parameter 'idOffset' does not name an item of this list."),
    )


async def test_trips_with_a_deleted_vehicle_are_no_more(app: rest.Rest):
    logins, vehicle, _ = await driven(app, Authority.DRIVER)
    path = f"/driver/{logins['person'].user_id}"
    deleted = await app.call(logins["p"], "DELETE", f"/vehicle/{vehicle}")

    assert deleted.status_code == 200
    assert ids_of(await app.get(logins["p"], f"{path}/trips?limit=9")) == []
    assert (await app.refused(logins["p"], "GET", f"{path}/trip/latest"))[:2] == (404, 32)


async def test_trips_stay_without_a_driver_when_the_person_is_deleted(app: rest.Rest):
    logins, vehicle, trips = await driven(app, Authority.DRIVER)
    deleted = await app.call(logins["p"], "DELETE", f"/driver/{logins['person'].user_id}")
    page = await app.get(logins["p"], f"/vehicle/{vehicle}/trips?limit=9&ascOrder=true")
    deleted, seen = deleted.json(), [(trip["id"]["id"], trip["userId"]["id"]) for trip in page["data"][:3]]

    assert deleted == {}
    assert seen == [(trip, "13814000-1dd2-11b2-8080-808080808080") for trip in trips]
