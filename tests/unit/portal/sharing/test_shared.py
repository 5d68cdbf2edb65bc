"""Share links: what the page behind one shows, and each way to end one."""

import re

import pytest
from sqlalchemy import delete, insert, select, update
from tests.support import delegating, rest, scoring_rows
from tests.support.portal import Browser, Page
from tests.unit.api.test_positions import mounted, move

from tripline.domain.access import Authority
from tripline.domain.ids import no_of
from tripline.domain.positions import DEGREE_M
from tripline.domain.share_links import MOST_OF_ACCOUNT, MS_PER_HOUR
from tripline.services.accounts.sweeper import Sweeper
from tripline.store import tables

NOW = rest.NOW_MS
PATH = "/api/tre/v1_3"
NUMBER = "12가3456"
STEP_DEG = 10.02 / DEGREE_M
"""Ten metres, and a hair, so that 200 m are not missed by rounding."""


class Street:
    """An operator with a vehicle that has a position, lent to another company with a director."""

    def __init__(self, app):
        self.app = app

    async def built(self):
        app = self.app
        _, self.admin = await app.operator("ace")
        _, self.borrower = await app.partner(self.admin, "b@x.example", name="B")
        self.vehicle, self.sensor = await mounted(app, self.admin, NUMBER)
        self.director = await app.person(self.borrower, Authority.DIRECTOR, "director")
        await delegating.register(app, self.admin, self.borrower)
        await delegating.delegate(app, self.admin, self.borrower, self.vehicle)
        await delegating.give(app, self.borrower, self.director, self.vehicle)
        await move(app, self.vehicle, self.sensor)
        return self

    async def shared(self, maker, **fields):
        return await self.app.post(maker, f"{PATH}/vehicle/{self.vehicle}/sharelink", fields)

    async def shared_trip(self, maker, trip_id, **fields):
        return await self.app.post(maker, f"{PATH}/trip/{trip_id}/sharelink", fields)

    async def trip(self, metres=1_000, **changes):
        """A trip of the vehicle to the north, ten metres a second."""
        app = self.app
        trip_id = app.ids.next(now_ms=NOW)
        row = {"no": no_of(trip_id), "id": trip_id, "created_ms": NOW, "company_id": self.admin.company_id}
        row |= {"vehicle_id": self.vehicle, "user_id": self.director.user_id, "sensor_id": self.sensor}
        row |= {"service_type": "ace", "device_type": "GPS", "parking": False, "state": "COMPLETE", "distance_m": 4_711}
        row |= {"start_ms": scoring_rows.START_MS, "end_ms": scoring_rows.START_MS + 100 * metres}

        def work(tx):
            tx.run(insert(tables.trip), row | changes)
            places = range(metres // 10 + 1)
            packed = [scoring_rows.sample(no, 36.0, lat=35 + no * STEP_DEG, lon=129.0) for no in places]
            scoring_rows.add_microtrips(tx, app.ids, row["no"], packed)

        await app.store.write(work)
        return trip_id


class Guest:
    """A browser without an account that opened the address of a link."""

    def __init__(self, app, link):
        self.browser = Browser(app)
        self.path, _, self.secret = link["url"].partition("#")
        self.path = re.sub("^https?://[^/]*", "", self.path)

    async def open(self, secret=None):
        return await self.browser.post(f"{self.path}/opening", {"secret": secret or self.secret})

    async def get(self, what):
        return await self.browser.get(f"{self.path}/{what}")


async def opened(street, maker=None, **fields):
    guest = Guest(street.app, await street.shared(maker or street.admin, **fields))
    assert (await guest.open()).status_code == 200
    assert (await guest.get("position")).status_code == 200
    return guest


async def opened_trip(street, trip_id, maker=None, **fields):
    guest = Guest(street.app, await street.shared_trip(maker or street.admin, trip_id, **fields))
    assert (await guest.open()).status_code == 200
    assert (await guest.get("trip")).status_code == 200
    return guest


@pytest.fixture
async def street(app: rest.Rest) -> Street:
    return await Street(app).built()


async def test_link_shows_these_fields_and_no_others(street):
    """Golden: page, position, trail, style and tile, with everything chosen and with nothing."""

    plain, full = await opened(street), await opened(street, trail=True, number=True)
    page = await plain.browser.get(plain.path)
    parts = [(await each.get(what)).json() for each in (plain, full) for what in ("position", "trail")]
    style, tile = await plain.get("map/style.json"), await plain.get("map/14/8624/5743.mvt")

    position = {"time": NOW, "lat": 35.0, "lon": 129.0, "heading": 90.0}
    assert parts == [
        {**position, "number": None},
        {"points": []},
        {**position, "number": NUMBER},
        {"points": []},
    ]
    assert (style.status_code, tile.status_code, tile.content) == (200, 204, b"")
    assert style.json().keys() == {"version", "name", "sources", "layers"}
    whole = page.text + str(parts) + style.text
    for hidden in (street.vehicle, street.sensor, street.admin.user_id, street.admin.company_id, "50.0", "DRIVING"):
        assert hidden not in whole
    assert plain.secret not in page.text
    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["x-robots-tag"] == "noindex"
    assert [each["href"] for each in Page(page.text).all("a")] == ["#content", "/"]


async def test_link_of_a_trip_shows_these_fields_and_no_others(street):
    """Golden: page, what it shows, trip, style and tile; nothing tells of the hidden ends."""

    trip_id = await street.trip()
    plain, full = [await opened_trip(street, trip_id, **fields) for fields in ({}, {"whole": True, "number": True})]
    page = await plain.browser.get(plain.path)
    answers = [await plain.get(what) for what in ("shows", "trip", "map/style.json", "map/14/8624/5743.mvt")]
    hidden = [(await plain.get(what)).status_code for what in ("position", "trail")]
    (shows, cut, style, tile), full = answers, (await full.get("trip")).json()

    def shown(first, last, number, whole):
        points = [{"lat": round(35 + no * STEP_DEG, 6), "lon": 129.0} for no in range(first, last + 1)]
        begin, end = (scoring_rows.START_MS + no * 1_000 for no in (first, last))
        return {"begin": begin, "end": end, "number": number, "whole": whole, "points": points}

    assert shows.json() == {"shows": "trip"}
    assert cut.json() == shown(20, 80, None, False)
    assert full == shown(0, 100, NUMBER, True)
    assert hidden == [404, 404]
    assert (tile.status_code, tile.content) == (204, b"")
    told = "".join(f"{each.headers} {each.text}" for each in (page, shows, cut, style, tile))
    ids = (street.vehicle, street.sensor, trip_id, street.director.user_id, street.admin.company_id)
    ends = (str(scoring_rows.START_MS), str(scoring_rows.START_MS + 100_000), "4711", "4.7", "35.0,", "36.0")
    assert [each for each in (*ids, *ends, NUMBER, "COMPLETE") if each in told] == []
    assert {each.headers["x-robots-tag"] for each in (page, shows, cut)} == {"noindex"}
    assert {each.headers["referrer-policy"] for each in (page, shows, cut)} == {"no-referrer"}
    assert {each.headers["cache-control"] for each in (page, shows, cut)} == {"no-store"}
    assert "last-modified" not in cut.headers


async def test_link_of_a_vehicle_shows_no_trip(street):
    guest = await opened(street)
    shows, trip = [await guest.get(what) for what in ("shows", "trip")]

    assert shows.json() == {"shows": "vehicle"}
    assert trip.status_code == 404


@pytest.mark.parametrize(("metres", "points"), [(390, 0), (420, 3)])
async def test_short_trip_shows_nothing(street, metres, points):
    found = (await (await opened_trip(street, await street.trip(metres))).get("trip")).json()

    assert len(found["points"]) == points
    assert (found["begin"] is None, found["end"] is None) == (not points, not points)


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"state": "OPEN", "end_ms": None}, 409),
        ({"vehicle_id": None}, 409),
        ({"vehicle_id": None, "company_id": "11111111-1111-1111-8111-111111111111"}, 403),
    ],
    ids=["under way", "on no vehicle", "out of reach"],
)
async def test_trip_is_refused_over_rest_and_on_its_page(street, changes, status):
    trip_id = await street.trip(**changes)
    refused = await street.app.refused(street.admin, "POST", f"{PATH}/trip/{trip_id}/sharelink", {})
    browser = Browser(street.app, street.admin)
    page = await browser.get(f"/trips/{trip_id}")
    found = refused[0], (await browser.get(f"/trips/{trip_id}/share")).status_code, "/share" in page.text

    assert found == (status, status, False)


async def test_driver_of_a_trip_does_not_share_it(street):
    driver = await delegating.driver(street.app, street.admin, "driver")
    trip_id = await street.trip(user_id=driver.user_id)
    refused = await street.app.refused(driver, "POST", f"{PATH}/trip/{trip_id}/sharelink", {})
    page = await Browser(street.app, driver).get(f"/trips/{trip_id}")

    assert (refused[0], page.status_code, f"{trip_id}/share" in page.text) == (403, 200, False)


async def test_cookie_is_limited_to_the_link_and_opens_no_other(street):
    guest = Guest(street.app, await street.shared(street.admin))
    answer = await guest.open()
    other = Guest(street.app, await street.shared(street.admin))
    other.browser = guest.browser
    elsewhere = await guest.browser.http.get(
        f"{other.path}/position", headers={"cookie": f"tripline-share={guest.secret}"}
    )
    elsewhere, tiles = elsewhere.status_code, (await guest.browser.get("/map/style.json")).status_code

    cookie = f"tripline-share={guest.secret}; Path={guest.path}; HttpOnly; SameSite=Strict"
    assert answer.headers["set-cookie"] == cookie
    assert (elsewhere, tiles) == (404, 401)


async def test_secret_is_stored_as_its_hash_alone(street):
    link = await street.shared(street.admin)
    row = (await street.app.store.read(lambda tx: tx.all(select(tables.share_link))))[0]
    listed = await street.app.get(street.admin, f"{PATH}/sharelinks")
    row, listed = tuple(row), listed["data"]

    secret = link["url"].partition("#")[2]
    assert len(secret) == 43
    assert secret not in map(str, row)
    assert [each["url"] for each in listed] == [None]


async def test_openings_are_counted_and_wrong_secrets_are_not(street):
    guest = Guest(street.app, await street.shared(street.admin))
    wrong = await guest.open("A" * 43)
    street.app.now_ms += 1
    await guest.open()
    await guest.get("position")
    (listed,) = (await street.app.get(street.admin, f"{PATH}/sharelinks"))["data"]

    assert wrong.status_code == 404
    assert (listed["openings"], listed["openedTime"], listed["makerName"]) == (1, NOW + 1, listed["makerName"])


async def test_wrong_secrets_are_limited_for_an_address(street):
    guest = Guest(street.app, await street.shared(street.admin))
    statuses = {(await guest.open(str(number))).status_code for number in range(40)}
    refused = await guest.open()

    assert (statuses, (refused.status_code, refused.headers["retry-after"])) == ({404, 429}, (429, "30"))


async def _expires(street, guests):
    street.app.now_ms += 24 * MS_PER_HOUR


async def _by_hand(street, guests):
    for each in guests:
        await street.app.delete(street.borrower, f"{PATH}/sharelink/{each.path.rpartition('/')[2]}")


async def _take_back(street, guests):
    await delegating.take_back(street.app, street.admin, street.borrower, street.vehicle)
    await delegating.delegate(street.app, street.admin, street.borrower, street.vehicle)
    await delegating.give(street.app, street.borrower, street.director, street.vehicle)


async def _vehicle_deleted(street, guests):
    await street.app.delete(street.admin, f"/vehicle/{street.vehicle}")


async def _maker_deleted(street, guests):
    await street.app.delete(street.borrower, f"/director/{street.director.user_id}")


async def _maker_disabled(street, guests):
    off = update(tables.account).where(tables.account.c.id == street.director.user_id).values(enabled=False)
    await street.app.store.write(lambda tx: tx.run(off))


async def _right_revoked(street, guests):
    await street.app.delete(street.borrower, f"{delegating.rights(street.director, drive=False)}/{street.vehicle}")


@pytest.mark.parametrize(
    "ends",
    [_expires, _by_hand, _take_back, _vehicle_deleted, _maker_deleted, _maker_disabled, _right_revoked],
    ids=lambda each: each.__name__,
)
async def test_links_of_vehicle_and_trip_end_with_their_next_request(street, ends):
    guests = [
        await opened(street, street.director, trail=True),
        await opened_trip(street, await street.trip(), street.director, whole=True),
    ]
    await ends(street, guests)
    whats = ("shows", "position", "trail", "trip", "map/style.json", "map/14/8624/5743.mvt")
    answers = [await each.open() for each in guests]
    found = {each.status_code for each in [*answers, *[await each.get(what) for each in guests for what in whats]]}

    assert found == {404}


@pytest.mark.parametrize("vehicle_id", [None, "11111111-1111-1111-8111-111111111111"], ids=["erased", "moved"])
async def test_link_of_a_trip_ends_when_the_trip_is_erased_or_of_another_vehicle(street, vehicle_id):
    trip_id = await street.trip()
    guest = await opened_trip(street, trip_id)
    trip = tables.trip
    change = delete(trip) if vehicle_id is None else update(trip).values(vehicle_id=vehicle_id)
    await street.app.store.write(lambda tx: tx.run(change.where(trip.c.id == trip_id)))
    listed = await street.app.get(street.admin, f"{PATH}/sharelinks")

    assert ((await guest.get("trip")).status_code, (await guest.open()).status_code, listed["data"]) == (404, 404, [])


async def test_each_company_lists_and_ends_its_own_links(street):
    link = await street.shared(street.director)
    seen = [len((await street.app.get(who, f"{PATH}/sharelinks"))["data"]) for who in (street.borrower, street.admin)]
    refused = await street.app.refused(street.admin, "DELETE", f"{PATH}/sharelink/{link['id']['id']}")

    assert (seen, refused[0]) == ([1, 0], 403)


@pytest.mark.parametrize("hours", [0, 721])
async def test_lifetime_is_bounded(street, hours):
    path = f"{PATH}/vehicle/{street.vehicle}/sharelink"
    refused, usual = (
        await street.app.refused(street.admin, "POST", path, {"hours": hours}),
        await street.shared(street.admin),
    )

    assert refused[:2] == (400, 31)
    assert "hours" in refused[2]
    assert usual["url"].startswith("http://127.0.0.1/share/")
    assert usual["expiresTime"] - usual["createdTime"] == 24 * MS_PER_HOUR


async def test_account_makes_a_bounded_number_of_links(street):
    for _ in range(MOST_OF_ACCOUNT):
        await street.shared(street.director, hours=1)
    path = f"{PATH}/vehicle/{street.vehicle}/sharelink"
    full = await street.app.refused(street.director, "POST", path, {})
    street.app.now_ms += MS_PER_HOUR

    assert full[0] == 409
    assert (await street.shared(street.director))["url"]


async def test_history_of_the_vehicle_has_the_making_and_the_end(street):
    link = await street.shared(street.director)
    await street.app.delete(street.director, f"{PATH}/sharelink/{link['id']['id']}")
    entries = (await street.app.get(street.admin, f"/vehicle/{street.vehicle}/history", limit=2))["data"]

    assert [each["event"] for each in entries] == ["SHARE_ENDED", "SHARED"]
    assert link["url"].partition("#")[2] not in str(entries)


async def test_pages_make_list_and_end_a_link(street):
    browser = Browser(street.app, street.admin)
    address = f"/fleet/vehicles/{street.vehicle}"
    vehicle = await browser.get(address)
    made = await browser.post(f"{address}/share", {"hours": "8", "number": "1"})
    guest = Guest(street.app, {"url": re.search(r"[^<\s\">]*/share/[^<\s\"]+#[^<\s\"]+", made.text)[0]})
    await guest.open()
    shown = (await guest.get("position")).json()
    listed = await browser.get("/shares")
    (end,) = [each["action"] for each in Page(listed.text).all("form") if (each.get("action") or "").endswith("/end")]
    await browser.post(end)
    empty, gone = await browser.get("/shares"), (await guest.get("position")).status_code

    assert any(href.endswith("/share") for href in Page(vehicle.text).hrefs)
    assert shown["number"] == NUMBER
    assert NUMBER in listed.text
    assert NUMBER not in empty.text
    assert gone == 404


async def test_pages_make_and_list_a_link_of_a_trip(street):
    browser, trip_id = Browser(street.app, street.admin), await street.trip()
    address = f"/trips/{trip_id}"
    page, form = await browser.get(address), await browser.get(f"{address}/share")
    made = await browser.post(f"{address}/share", {"hours": "72", "whole": "1", "trail": "1"})
    wrong = await browser.post(f"{address}/share", {"hours": "721"})
    links = (await street.app.get(street.admin, f"{PATH}/sharelinks"))["data"]
    (link,), listed = links, await browser.get("/shares")

    assert f"/trips/{trip_id}/share" in Page(page.text).hrefs
    assert {"hours", "whole", "number"} <= {
        each.get("name") for each in Page(form.text).all("input") + Page(form.text).all("select")
    }
    assert (made.status_code, wrong.status_code) == (200, 400)
    assert (link["tripId"]["id"], link["tripStartTime"]) == (trip_id, scoring_rows.START_MS)
    assert (link["whole"], link["trail"], link["number"]) == (True, False, False)
    assert link["expiresTime"] - link["createdTime"] == 72 * MS_PER_HOUR
    assert f"/trips/{trip_id}" in Page(listed.text).hrefs
    assert "whole track" in listed.text


async def test_sweeper_deletes_expired_links(street):
    await street.shared(street.admin, hours=1)
    await street.shared(street.admin, hours=2)
    street.app.now_ms += MS_PER_HOUR
    await Sweeper(store=street.app.store, clock=lambda: street.app.now_ms, history_days=30).sweep()

    assert len(await street.app.store.read(lambda tx: tx.all(select(tables.share_link.c.id)))) == 1
