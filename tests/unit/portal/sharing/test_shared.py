"""Share links: what the page behind one shows, and each way to end one."""

import re

import pytest
from sqlalchemy import select, update
from tests.support import delegating, rest
from tests.support.portal import Browser, Page
from tests.unit.api.test_positions import mounted, move

from tripline.domain.access import Authority
from tripline.domain.share_links import MOST_OF_ACCOUNT, MS_PER_HOUR
from tripline.services.accounts.sweeper import Sweeper
from tripline.store import tables

NOW = rest.NOW_MS
PATH = "/api/tre/v1_3"
NUMBER = "12가3456"


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


def played(tmp_path, scenario):
    async def play(app):
        return await scenario(await Street(app).built())

    return rest.run(tmp_path, play)


async def opened(street, maker=None, **fields):
    guest = Guest(street.app, await street.shared(maker or street.admin, **fields))
    assert (await guest.open()).status_code == 200
    assert (await guest.get("position")).status_code == 200
    return guest


def test_link_shows_these_fields_and_no_others(tmp_path):
    """Golden: page, position, trail, style and tile, with everything chosen and with nothing."""

    async def scenario(street):
        plain, full = await opened(street), await opened(street, trail=True, number=True)
        page = await plain.browser.get(plain.path)
        parts = [(await each.get(what)).json() for each in (plain, full) for what in ("position", "trail")]
        return page, parts, await plain.get("map/style.json"), await plain.get("map/14/8624/5743.mvt"), street, plain

    page, parts, style, tile, street, plain = played(tmp_path, scenario)

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


def test_cookie_is_limited_to_the_link_and_opens_no_other(tmp_path):
    async def scenario(street):
        guest = Guest(street.app, await street.shared(street.admin))
        answer = await guest.open()
        other = Guest(street.app, await street.shared(street.admin))
        other.browser = guest.browser
        elsewhere = await guest.browser.http.get(
            f"{other.path}/position", headers={"cookie": f"tripline-share={guest.secret}"}
        )
        return guest, answer, elsewhere.status_code, (await guest.browser.get("/map/style.json")).status_code

    guest, answer, elsewhere, tiles = played(tmp_path, scenario)

    cookie = f"tripline-share={guest.secret}; Path={guest.path}; HttpOnly; SameSite=Strict"
    assert answer.headers["set-cookie"] == cookie
    assert (elsewhere, tiles) == (404, 401)


def test_secret_is_stored_as_its_hash_alone(tmp_path):
    async def scenario(street):
        link = await street.shared(street.admin)
        row = (await street.app.store.read(lambda tx: tx.all(select(tables.share_link))))[0]
        listed = await street.app.get(street.admin, f"{PATH}/sharelinks")
        return link, tuple(row), listed["data"]

    link, row, listed = played(tmp_path, scenario)

    secret = link["url"].partition("#")[2]
    assert len(secret) == 43
    assert secret not in map(str, row)
    assert [each["url"] for each in listed] == [None]


def test_openings_are_counted_and_wrong_secrets_are_not(tmp_path):
    async def scenario(street):
        guest = Guest(street.app, await street.shared(street.admin))
        wrong = await guest.open("A" * 43)
        street.app.now_ms += 1
        await guest.open()
        await guest.get("position")
        return wrong, (await street.app.get(street.admin, f"{PATH}/sharelinks"))["data"]

    wrong, (listed,) = played(tmp_path, scenario)

    assert wrong.status_code == 404
    assert (listed["openings"], listed["openedTime"], listed["makerName"]) == (1, NOW + 1, listed["makerName"])


def test_wrong_secrets_are_limited_for_an_address(tmp_path):
    async def scenario(street):
        guest = Guest(street.app, await street.shared(street.admin))
        statuses = {(await guest.open(str(number))).status_code for number in range(40)}
        return statuses, (await guest.open()).status_code

    assert played(tmp_path, scenario) == ({404, 429}, 429)


async def _expires(street, guest):
    street.app.now_ms += 24 * MS_PER_HOUR


async def _by_hand(street, guest):
    await street.app.delete(street.borrower, f"{PATH}/sharelink/{guest.path.rpartition('/')[2]}")


async def _take_back(street, guest):
    await delegating.take_back(street.app, street.admin, street.borrower, street.vehicle)
    await delegating.delegate(street.app, street.admin, street.borrower, street.vehicle)


async def _vehicle_deleted(street, guest):
    await street.app.delete(street.admin, f"/vehicle/{street.vehicle}")


async def _maker_deleted(street, guest):
    await street.app.delete(street.borrower, f"/director/{street.director.user_id}")


async def _maker_disabled(street, guest):
    off = update(tables.account).where(tables.account.c.id == street.director.user_id).values(enabled=False)
    await street.app.store.write(lambda tx: tx.run(off))


async def _right_revoked(street, guest):
    await street.app.delete(street.borrower, f"{delegating.rights(street.director, drive=False)}/{street.vehicle}")


@pytest.mark.parametrize(
    "ends",
    [_expires, _by_hand, _take_back, _vehicle_deleted, _maker_deleted, _maker_disabled, _right_revoked],
    ids=lambda each: each.__name__,
)
def test_link_ends_with_its_next_request(tmp_path, ends):
    async def scenario(street):
        maker = street.borrower if ends is _by_hand else street.director
        guest = await opened(street, maker, trail=True)
        await ends(street, guest)
        whats = ("position", "trail", "map/style.json", "map/14/8624/5743.mvt")
        return [(await guest.get(what)).status_code for what in whats], (await guest.open()).status_code

    assert played(tmp_path, scenario) == ([404] * 4, 404)


def test_each_company_lists_and_ends_its_own_links(tmp_path):
    async def scenario(street):
        link = await street.shared(street.director)
        seen = [
            len((await street.app.get(who, f"{PATH}/sharelinks"))["data"]) for who in (street.borrower, street.admin)
        ]
        refused = await street.app.refused(street.admin, "DELETE", f"{PATH}/sharelink/{link['id']['id']}")
        return seen, refused[0]

    assert played(tmp_path, scenario) == ([1, 0], 403)


@pytest.mark.parametrize("hours", [0, 721])
def test_lifetime_is_bounded(tmp_path, hours):
    async def scenario(street):
        path = f"{PATH}/vehicle/{street.vehicle}/sharelink"
        return await street.app.refused(street.admin, "POST", path, {"hours": hours}), await street.shared(street.admin)

    refused, usual = played(tmp_path, scenario)

    assert refused[:2] == (400, 31)
    assert "hours" in refused[2]
    assert usual["url"].startswith("http://127.0.0.1/share/")
    assert usual["expiresTime"] - usual["createdTime"] == 24 * MS_PER_HOUR


def test_account_makes_a_bounded_number_of_links(tmp_path):
    async def scenario(street):
        for _ in range(MOST_OF_ACCOUNT):
            await street.shared(street.director, hours=1)
        path = f"{PATH}/vehicle/{street.vehicle}/sharelink"
        full = await street.app.refused(street.director, "POST", path, {})
        street.app.now_ms += MS_PER_HOUR
        return full[0], await street.shared(street.director)

    full, link = played(tmp_path, scenario)

    assert full == 409
    assert link["url"]


def test_history_of_the_vehicle_has_the_making_and_the_end(tmp_path):
    async def scenario(street):
        link = await street.shared(street.director)
        await street.app.delete(street.director, f"{PATH}/sharelink/{link['id']['id']}")
        return (await street.app.get(street.admin, f"/vehicle/{street.vehicle}/history", limit=2))["data"], link

    entries, link = played(tmp_path, scenario)

    assert [each["event"] for each in entries] == ["SHARE_ENDED", "SHARED"]
    assert link["url"].partition("#")[2] not in str(entries)


def test_pages_make_list_and_end_a_link(tmp_path):
    async def scenario(street):
        browser = Browser(street.app, street.admin)
        address = f"/fleet/vehicles/{street.vehicle}"
        vehicle = await browser.get(address)
        made = await browser.post(f"{address}/share", {"hours": "8", "number": "1"})
        guest = Guest(street.app, {"url": re.search(r"[^<\s\">]*/share/[^<\s\"]+#[^<\s\"]+", made.text)[0]})
        await guest.open()
        shown = (await guest.get("position")).json()
        listed = await browser.get("/shares")
        (end,) = [
            each["action"] for each in Page(listed.text).all("form") if (each.get("action") or "").endswith("/end")
        ]
        await browser.post(end)
        return vehicle, shown, listed, await browser.get("/shares"), (await guest.get("position")).status_code

    vehicle, shown, listed, empty, gone = played(tmp_path, scenario)

    assert any(href.endswith("/share") for href in Page(vehicle.text).hrefs)
    assert shown["number"] == NUMBER
    assert NUMBER in listed.text
    assert NUMBER not in empty.text
    assert gone == 404


def test_sweeper_deletes_expired_links(tmp_path):
    async def scenario(street):
        await street.shared(street.admin, hours=1)
        await street.shared(street.admin, hours=2)
        street.app.now_ms += MS_PER_HOUR
        await Sweeper(store=street.app.store, clock=lambda: street.app.now_ms, history_days=30).sweep()
        return len(await street.app.store.read(lambda tx: tx.all(select(tables.share_link.c.id))))

    assert played(tmp_path, scenario) == 1
