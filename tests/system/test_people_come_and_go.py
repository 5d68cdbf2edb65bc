"""A running server: a driver is deleted in the middle of a drive, a partner company after it; no row names them."""

import asyncio
import time

from tests.support import dangling, fleet, servers, stores
from tests.system.test_device_to_score import PATIENCE_S, STEPS, microtrip, publish_all, scores_of, trip

from tripline.domain.ids import PLACEHOLDER

V1 = "/api/tre/v1"
PASSWORD = "a long pass phrase"


def put(company, path, body):
    """PUT that must succeed."""
    answer = company.http.put(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def delete(company, path):
    """DELETE that must succeed."""
    answer = company.http.delete(path)
    assert (answer.status_code, answer.json()) == (200, {}), answer.text


def test_driver_deleted_in_the_middle_of_a_drive_and_a_partner_after_it(tmp_path):
    with servers.serving(tmp_path / "data") as server, fleet.Company(server.api, server.data) as company:
        registered = company.vehicle_with_sensor(1)
        vehicle = f"{V1}/vehicle/{registered.vehicle_id}"
        person = {"name": "Han", "email": "han@people.example", "password": PASSWORD}
        driver_id = company.post(f"{V1}/driver", person)["id"]["id"]
        renamed = put(company, f"{V1}/driver/{driver_id}", {"name": "Han 2", "phone": "010"})
        company.post(f"{V1}/driver/{driver_id}/relation/vehicle", {"vehicleId": {"id": registered.vehicle_id}})
        company.post(f"{vehicle}/activate")
        company.post(f"{vehicle}/driver/{driver_id}")

        publish_all(server, registered.token, [microtrip(step) for step in range(STEPS // 2)])
        driven = company.get(f"{V1}/driver/{driver_id}/trips", limit=5)["data"]
        delete(company, f"{V1}/driver/{driver_id}")
        publish_all(server, registered.token, [*map(microtrip, range(STEPS // 2, STEPS)), trip()])
        scores = scores_of(company, registered.vehicle_id)
        trips = company.get(f"{vehicle}/trips", limit=5)["data"]

        partner = {"name": "P", "picName": "P", "picEmail": "p@p.example", "picPasswd": PASSWORD}
        partner_id = company.post(f"{V1}/company", partner)["id"]["id"]
        counted = company.get(f"{V1}/companies/count", serviceType="test-fleet")
        delete(company, f"{V1}/company/{partner_id}")
        named = _named(server, driver_id, partner_id)

    assert (renamed["name"], renamed["phone"]) == ("Han 2", "010")
    assert [trip["userId"]["id"] for trip in driven] == [driver_id]
    assert [(trip["id"], trip["userId"]["id"]) for trip in trips] == [(driven[0]["id"], PLACEHOLDER)]
    assert [score["userId"]["id"] for score in scores] == [PLACEHOLDER]
    assert counted == {"count": 1}
    assert named == {}


def _named(server: servers.Running, *deleted: str) -> dict[str, int]:
    """Where the ids are named, as soon as the server's eraser is through."""

    async def look() -> dict[str, int]:
        store = stores.Database(server.data).open()
        try:
            return await store.read(lambda tx: dangling.references(tx, *deleted))
        finally:
            await store.close()

    deadline = time.monotonic() + PATIENCE_S
    while (found := asyncio.run(look())) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found
