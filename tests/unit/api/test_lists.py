"""Every list: the order of its checks, its offsets, its search."""

import pytest
from tests.support import journeys, rest, scores
from tests.support.rest import Login, Rest

from tripline.domain.ids import TimeIds
from tripline.store.transactions import WriteTx

UNKNOWN = "ffffffff-a4ed-11f0-8000-010000000042"


async def _fleet(app: Rest, service_type: str) -> tuple[Login, dict[str, tuple[str, list[str]]]]:
    """An administrator, and for each list of its fleet the path and the ids of its three items, first to last."""
    _, admin = await app.operator(service_type)
    vehicles, sensors = [], []
    for number in range(3):
        vehicle = await app.post(admin, "/vehicle", {"vehicleNo": f"{service_type}{number}", "mileage": 1})
        body = {
            "serialNo": f"{service_type}{number}",
            "type": "GPS",
            "credentialsId": f"{service_type:.5}".ljust(19, "x"),
        }
        sensor = await app.post(admin, "/sensor", {**body, "credentialsId": body["credentialsId"] + str(number)})
        vehicles.append(vehicle["id"]["id"])
        sensors.append(sensor["id"]["id"])
    on = {"company_id": admin.company_id, "vehicle_id": vehicles[0], "sensor_id": sensors[0]}
    first = 0 if service_type == "taxi" else 10

    def work(tx: WriteTx) -> tuple[list[str], list[str], list[str], list[str]]:
        kept = [journeys.keep_trip(tx, app.ids, created_ms=rest.NOW_MS + 10 * first + n, **on) for n in range(3)]
        later = TimeIds(node=0x43 + first)
        return (
            [trip_id for _, trip_id in kept],
            [
                journeys.keep_microtrip(tx, later, kept[0][0], created_ms=rest.NOW_MS + first + n, payload={})
                for n in range(3)
            ],
            [scores.add_score(tx, first + n, vehicles[0], created_ms=rest.NOW_MS + n) for n in range(3)],
            [
                scores.add_event(tx, first + n, vehicles[0], created_ms=rest.NOW_MS, event_ms=rest.NOW_MS + n)
                for n in range(3)
            ],
        )

    trips, microtrips, scored, events = await app.store.write(work)
    analytics = f"/api/tre/v1_3/vehicle/{vehicles[0]}/analytics"
    return admin, {
        "vehicles": (f"/company/{admin.company_id}/vehicles", vehicles),
        "sensors": (f"/sensors?companyId={admin.company_id}", sensors),
        "trips": (f"/vehicle/{vehicles[0]}/trips", trips[::-1]),
        "microtrips": (f"/trip/{trips[0]}/microtrips", microtrips[::-1]),
        "scores": (f"{analytics}/drivingScore", scored[::-1]),
        "events": (f"{analytics}/gpsEvent", events[::-1]),
    }


def _asking(path: str, query: str) -> str:
    return f"{path}{'&' if '?' in path else '?'}{query}"


LISTS = {"vehicles", "sensors", "trips", "microtrips", "scores", "events"}


async def test_h10_id_offset_is_exclusive_and_must_name_an_item_of_this_very_list(app):
    owner, lists = await _fleet(app, "taxi")
    _, foreign = await _fleet(app, "bus")
    found = {}
    for name, (path, items) in lists.items():
        pages = [await app.get(owner, _asking(path, f"limit=9&idOffset={item}")) for item in items]
        others = [foreign[name][1][1], UNKNOWN]
        found[name] = (
            items,
            [[row["id"]["id"] for row in page["data"]] for page in pages],
            [await app.refused(owner, "GET", _asking(path, f"limit=9&idOffset={other}")) for other in others],
        )

    assert found.keys() == LISTS
    for name, (items, after, refused) in found.items():
        assert after == [items[1:], items[2:], []], name
        assert refused == [(400, 31, "Parameter 'idOffset' does not name an item of this list.")] * 2, name


async def test_query_of_a_foreign_list_is_not_looked_at(app):
    owner, lists = await _fleet(app, "taxi")
    _, stranger = await app.operator("bus")
    found = {}
    for name, (path, items) in lists.items():
        queries = ("", "limit=x", "limit=0", "limit=9&idOffset=x", f"limit=9&idOffset={items[0]}")
        foreign = [(await app.refused(stranger, "GET", _asking(path, query)))[:2] for query in queries]
        own = [(await app.refused(owner, "GET", _asking(path, query)))[:2] for query in queries[:-1]]
        found[name] = [foreign, own]

    assert found == {name: [[(403, 20)] * 5, [(400, 31)] * 4] for name in LISTS}


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("é", ["ÉCOLE 1", "école 2"]),
        ("ÉCO", ["ÉCOLE 1", "école 2"]),
        ("я", ["Я 3"]),
        ("가", ["가 4"]),
        ("%", []),
        ("", 5),
    ],
)
async def test_text_search_finds_beginnings_in_any_letter_case_of_any_script(app, search, found):
    _, owner = await app.operator("taxi")
    for number in ("ÉCOLE 1", "école 2", "Я 3", "가 4", "x%"):
        await app.post(owner, "/vehicle", {"vehicleNo": number, "mileage": 1})
    page = await app.get(owner, f"/company/{owner.company_id}/vehicles", limit=9, textSearch=search)
    seen = [row["vehicleNo"] for row in page["data"]]

    assert (seen if isinstance(found, list) else len(seen)) == found


@pytest.mark.parametrize("limit", [99, 100, 1000])
async def test_page_is_the_same_on_the_loop_and_on_a_reader_thread(app, limit):
    owner, lists = await _fleet(app, "taxi")
    pages = [await app.get(owner, _asking(path, f"limit={limit}")) for path, _ in lists.values()]
    seen = [[row["id"]["id"] for row in page["data"]] for page in pages] + [items for _, items in lists.values()]

    assert seen[:6] == seen[6:]
