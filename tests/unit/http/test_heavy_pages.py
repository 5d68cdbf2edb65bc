"""Pages of what devices may send at its largest: a page ends before it is a burden, and the next one goes on."""

import asyncio
import itertools
import json
import threading

import pytest
from sqlalchemy import insert
from tests.support import delegating, journeys, rest

from tripline.http import answers, reads
from tripline.store import tables

BODY = {"pad": "x" * 250_000}
BIG = json.dumps(BODY).encode()
ROWS = 40
LIGHT = b"{}"


async def world(app, kind, *, body=BIG, rows=ROWS):
    """Who asks, the path of a list, and the ids of what is in it, oldest first."""
    _, admin = await app.operator("ace")
    vehicle = await delegating.new_vehicle(app, admin, "V")
    sensor = await delegating.new_sensor(app, admin, on=vehicle)
    on = {"company_id": admin.company_id, "vehicle_id": vehicle, "sensor_id": sensor}

    def trips(tx):
        kept = [journeys.keep_trip(tx, app.ids, created_ms=rest.NOW_MS + n, payload={}, **on)[1] for n in range(rows)]
        tx.run(tables.trip.update().values(payload=body))
        return f"/vehicle/{vehicle}/trips", kept

    def microtrips(tx):
        no, trip = journeys.keep_trip(tx, app.ids, created_ms=rest.NOW_MS, **on)
        at = [rest.NOW_MS + n for n in range(rows)]
        kept = [journeys.keep_microtrip(tx, app.ids, no, created_ms=each, payload={}) for each in at]
        tx.run(tables.microtrip.update().values(payload=body))
        return f"/trip/{trip}/microtrips", kept

    def events(tx):
        first = app.ids.take(rows, now_ms=rest.NOW_MS)
        what = {"device_type": "GPS", "ty": 104, "event_ms": rest.NOW_MS, "payload": body}
        kept = [app.ids.text(first + n) for n in range(rows)]
        for n, each in enumerate(kept):
            tx.run(insert(tables.device_event), {**on, **what, "no": first + n, "id": each})
        return f"/vehicle/{vehicle}/events", kept

    def calls(tx):
        first = app.ids.take(rows, now_ms=rest.NOW_MS)
        what = {"activation": False, "method": "m", "state": "DONE", "deadline_ms": 0}
        said = {"params": body, "response": body, "result": body}
        kept = [app.ids.text(first + n) for n in range(rows)]
        for n, each in enumerate(kept):
            tx.run(insert(tables.rpc_call), {**on, **what, **said, "no": first + n, "id": each})
        return f"/sensor/{sensor}/rpcs", kept

    path, kept = await app.store.write(
        {"trips": trips, "microtrips": microtrips, "events": events, "calls": calls}[kind]
    )
    return admin, path, kept


async def walked(app, admin, path, **query):
    """Every page from the first to the last."""
    found = [await app.get(admin, path, **query)]
    while found[-1]["hasNext"]:
        link = found[-1]["nextPageLink"]
        assert str(link["limit"]) == str(query["limit"])
        found.append(await app.get(admin, path, **query, idOffset=link["idOffset"]))
    assert found[-1]["nextPageLink"] is None
    return found


def ids_of(page):
    return [record["id"]["id"] for record in page["data"]]


KINDS = pytest.mark.parametrize("kind", ["trips", "microtrips", "events", "calls"])


@KINDS
async def test_page_of_the_largest_things_ends_early(app: rest.Rest, kind):
    admin, path, kept = await world(app, kind)
    pages = await walked(app, admin, path, limit=1000)

    assert len(pages) > 1
    assert max(len(json.dumps(page)) for page in pages) < reads.PAGE_BYTES + 10_000
    assert [each for page in pages for each in ids_of(page)] == kept[::-1]


@KINDS
async def test_page_that_ended_early_is_gone_on_from(app: rest.Rest, monkeypatch, kind):
    body = json.dumps({"pad": "x" * 2_500}).encode()
    monkeypatch.setattr(reads, "PAGE_BYTES", reads.PAGE_BYTES // 100)  # as above, a hundred times smaller
    ways = list(itertools.product((99, 1000), ("true", "false")))

    admin, path, kept = await world(app, kind, body=body)
    walks = [await walked(app, admin, path, limit=limit, ascOrder=ascending) for limit, ascending in ways]

    for pages, (_, ascending) in zip(walks, ways, strict=True):
        assert len(pages) > 1
        assert [each for page in pages for each in ids_of(page)] == (kept if ascending == "true" else kept[::-1])


@KINDS
@pytest.mark.parametrize("rows", [reads.AT_ONCE - 1, reads.AT_ONCE, reads.AT_ONCE + 1, 2 * reads.AT_ONCE])
async def test_page_of_usual_things_is_as_long_as_asked(app: rest.Rest, kind, rows):
    admin, path, kept = await world(app, kind, body=LIGHT, rows=rows)
    limits = (rows - 1, rows, rows + 1)
    walks = [await walked(app, admin, path, limit=limit) for limit in limits]

    assert [[len(page["data"]) for page in walk] for walk in walks] == [[rows - 1, 1], [rows], [rows]]
    assert [[each for page in walk for each in ids_of(page)] for walk in walks] == [kept[::-1]] * 3


@KINDS
@pytest.mark.parametrize("rows", [reads.AT_ONCE - 1, reads.AT_ONCE, reads.AT_ONCE + 1, 3 * reads.AT_ONCE])
async def test_page_that_takes_too_long_ends_early_and_is_gone_on_from(app: rest.Rest, monkeypatch, kind, rows):
    monkeypatch.setattr(reads, "PAGE_S", -1.0)

    admin, path, kept = await world(app, kind, body=LIGHT, rows=rows)
    pages = await walked(app, admin, path, limit=1000)

    assert (len(pages) > 1) == (rows >= reads.AT_ONCE)
    assert all(0 < len(page["data"]) < reads.AT_ONCE for page in pages)
    assert [each for page in pages for each in ids_of(page)] == kept[::-1]


async def test_thing_that_is_larger_than_a_page_may_be_is_a_page_by_itself(app: rest.Rest, monkeypatch):
    monkeypatch.setattr(reads, "PAGE_BYTES", len(BIG) // 2)

    admin, path, kept = await world(app, "calls", rows=3)

    assert [ids_of(page) for page in await walked(app, admin, path, limit=5)] == [[each] for each in kept[::-1]]


@pytest.mark.parametrize(
    ("bodies", "elsewhere"), [([], False), ([None], False), ([b"x" * 32_768], False), ([b"x" * 32_768, b"x"], True)]
)
def test_what_is_made_of_long_bodies_is_made_on_a_thread(bodies, elsewhere):
    """A body of 256 KiB may hold so many values that nobody else would be answered for a quarter of a second."""
    made_by = asyncio.run(answers.made(threading.get_ident, of=bodies))

    assert (made_by != threading.get_ident()) is elsewhere
