"""The base map over HTTP: who gets tiles, what is kept where and until when, what may stand in their addresses."""

import contextlib
import gzip
from functools import partial
from types import SimpleNamespace

import httpx
import pytest
from pmtiles.tile import Compression
from tests.support import rest
from tests.support import tile_files as made

from tripline import config
from tripline.adapters.maps import base_map
from tripline.basemap.layers import MOST_ZOOM
from tripline.domain.access import Authority
from tripline.services.accounts import sessions
from tripline.services.accounts.limits import Limits

HERE = "/map/3/4/2.mvt"
TILE = made.tile("Vaduz")
MVT = "application/vnd.mapbox-vector-tile"


class Client:
    """Asks for parts of the map, as an account that may have them unless headers say who asks."""

    def __init__(self, app):
        self.app = app

    async def signed_in(self, authority=Authority.DRIVER):
        self.login = await self.app.account(
            f"{authority}{self.app.ids.take(1, now_ms=self.app.now_ms)}@x.example", authority
        )
        return self

    async def cookie(self):
        opened = partial(
            sessions.opened,
            user_id=self.login.user_id,
            client=rest.NOBODY,
            settings=config.Sessions(),
            before=None,
            now_ms=self.app.now_ms,
        )
        return await self.app.store.write(opened)

    async def get(self, path=HERE, method="GET", **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        who = {} if "cookie" in named or named.pop("nobody", "") else {"X-Authorization": f"Bearer {self.login.token}"}
        return await self.app.http.request(method, path, headers={**who, **named})


@contextlib.asynccontextmanager
async def asking(tmp_path, tiles=None, *, shown=True, **file):
    """A driver in front of a map of these tiles."""
    file = made.written(tmp_path / "tiles", {(3, 4, 2): TILE} if tiles is None else tiles, **file)
    maps = base_map.BaseMaps(tmp_path, file=file, monotonic=iter(range(10_000)).__next__) if shown else None
    async with rest.opened(tmp_path, base_map=maps) as app:
        yield await Client(app).signed_in()


@pytest.fixture
async def client(tmp_path):
    async with asking(tmp_path) as opened:
        yield opened


async def test_tile_is_sent_as_it_is_stored(client):
    # Without the hook that reads, and unpacks, every answer.
    plain = httpx.AsyncClient(transport=client.app.http._transport, base_url="http://127.0.0.1")
    headers = {"X-Authorization": f"Bearer {client.login.token}", "Accept-Encoding": "gzip"}
    async with plain.stream("GET", HERE, headers=headers) as answer:
        raw = b"".join([part async for part in answer.aiter_raw()])

    assert answer.status_code == 200
    assert raw == gzip.compress(TILE, mtime=0)
    headers = {name: answer.headers[name] for name in ("content-type", "content-encoding", "content-length", "vary")}
    assert headers == {
        "content-type": MVT,
        "content-encoding": "gzip",
        "content-length": str(len(raw)),
        "vary": "Accept-Encoding",
    }
    assert answer.headers["cache-control"] == "private, no-cache"


async def test_tile_takes_no_transaction(client):
    """Who asks is found by a statement on its own: on PostgreSQL a thread and two round trips more cost as much as the
    rest of a tile."""
    cookie = await client.cookie()
    client.app.change(store=SimpleNamespace(ask=client.app.store.ask))

    assert [(await client.get(**headers)).status_code for headers in ({}, {"cookie": f"tripline={cookie.text}"})] == [
        200,
        200,
    ]


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [("gzip, deflate, br", True), ("GZIP;q=0.5", True), ("identity", False), ("gzip;q=0", False), ("gzipped", False)],
)
async def test_tile_is_unpacked_for_who_does_not_take_gzip(client, accepted, packed):
    one = await client.get(accept_encoding=accepted)
    other = await client.get(accept_encoding="gzip")

    assert one.content == TILE
    assert ("content-encoding" in one.headers) is packed
    assert (one.headers["etag"] == other.headers["etag"]) is packed


async def test_tile_of_a_file_without_packing_is_sent_as_it_is(tmp_path):
    async with asking(tmp_path, packed=False) as client:
        answer = await client.get(accept_encoding="gzip")

    assert "content-encoding" not in answer.headers
    assert answer.content == TILE


async def test_tile_that_is_known_is_not_sent_again(client):
    etag = (await client.get()).headers["etag"]
    asked_again = [await client.get(if_none_match=each) for each in (etag, f'"x", W/{etag}', '"x"')]
    unpacked = await client.get(accept_encoding="identity", if_none_match=etag)

    assert not etag.startswith("W/")
    assert [answer.status_code for answer in asked_again] == [304, 304, 200]
    assert asked_again[0].content == b""
    assert asked_again[0].headers["etag"] == etag
    assert unpacked.status_code == 200


async def test_replaced_map_has_other_tags_and_another_address(client, tmp_path):
    style, before = (await client.get("/map/style.json")).json(), await client.get()
    known = style["sources"]["base"]["tiles"][0].format(z=3, x=4, y=2)
    kept = await client.get(known)
    made.written(tmp_path / "new", {(3, 4, 2): made.tile("Chur")}).replace(tmp_path / "tiles")
    after = await client.get(if_none_match=before.headers["etag"])
    stale, is_new = await client.get(known), (await client.get("/map/style.json")).json() != style

    assert kept.headers["cache-control"] == "private, max-age=86400, immutable"
    assert (after.status_code, made.names(after.content)) == (200, ["Chur"])
    assert stale.headers["cache-control"] == "private, no-cache"
    assert made.names(stale.content) == ["Chur"]
    assert is_new


async def test_map_that_is_replaced_between_tag_and_tile_is_kept_by_nobody(client, tmp_path):
    maps = client.app.contexts.maps.base_map
    find = maps.tile

    async def late(*place):
        made.written(tmp_path / "new", {(3, 4, 2): made.tile("Chur")}).replace(tmp_path / "tiles")
        return await find(*place)

    maps.tile = late
    answer = await client.get()

    assert made.names(answer.content) == ["Chur"]
    assert answer.headers["cache-control"] == "no-store"
    assert "etag" not in answer.headers


@pytest.mark.parametrize("shown", [True, False])
async def test_tile_that_nobody_has_is_empty(tmp_path, shown):
    async with asking(tmp_path, shown=shown) as client:
        answer = await client.get("/map/14/1/1.mvt")

    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["cache-control"] == "private, no-cache"
    assert "content-length" not in answer.headers


async def test_damaged_tile_is_answered_as_something_that_is_away(tmp_path):
    damaged = {"packed": False, "tile_compression": Compression.GZIP}
    async with asking(tmp_path, {(3, 4, 2): b"x"}, **damaged) as client:
        answer = await client.get(accept_encoding="identity")

    assert answer.status_code == 503


async def test_head_is_answered_without_the_tile(client):
    get, head = await client.get(), await client.get(method="HEAD")

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers == get.headers


@pytest.mark.parametrize("path", [HERE, "/map/style.json", "/map/style.json?theme=dark"])
@pytest.mark.parametrize("authority", Authority)
async def test_everybody_who_is_signed_in_sees_the_map(client, path, authority):
    await client.signed_in(authority)
    seen, unseen = await client.get(path), await client.get(path, nobody="yes")

    assert (seen.status_code, unseen.status_code) == (200, 401)
    assert unseen.json()["errorCode"] == 10


@pytest.mark.parametrize("path", [HERE, "/map/style.json"])
async def test_browser_with_a_session_sees_the_map_until_that_ends(client, path):
    app = client.app
    cookie = await client.cookie()
    found = [await client.get(path, cookie=f"tripline={cookie.text}")]
    found.append(await client.get(path, cookie=f"tripline={cookie.session_id}.{'x' * 43}"))
    app.now_ms += config.Sessions().idle_s * 1_000
    found.append(await client.get(path, cookie=f"tripline={cookie.text}"))

    assert [answer.status_code for answer in found] == [200, 401, 401]


async def test_each_tile_counts_as_a_request(client):
    limits = Limits(accounts=config.Accounts(), rest=config.Rest(requests_per_minute=2))
    client.app.change(limits=limits)

    assert [(await client.get()).status_code for _ in range(3)] == [200, 200, 429]


@pytest.mark.parametrize(
    ("place", "status"),
    [
        ("0/0/0.mvt", 204),
        ("3/0/0.mvt", 204),
        ("3/7/7.mvt", 204),
        ("3/8/7.mvt", 400),
        ("3/7/8.mvt", 400),
        (f"{MOST_ZOOM}/{2**MOST_ZOOM - 1}/{2**MOST_ZOOM - 1}.mvt", 204),
        (f"{MOST_ZOOM}/{2**MOST_ZOOM}/0.mvt", 400),
        (f"{MOST_ZOOM + 1}/0/0.mvt", 400),
        ("-1/0/0.mvt", 400),
        ("3/-1/0.mvt", 400),
        ("3/0/-1.mvt", 400),
        ("3/4/2", 200),
        ("3/4/2.png", 400),
        ("3/4/.mvt", 400),
        ("3/4/2.0.mvt", 400),
        ("3/٣/2.mvt", 400),
        ("3/ 4/2.mvt", 400),
        ("3/4/" + "0" * 9 + "2.mvt", 200),
        ("3/4/" + "0" * 10 + "2.mvt", 400),
        ("9" * 5_000 + "/0/0.mvt", 400),
    ],
)
async def test_address_of_a_tile_is_held_against_its_bounds(client, place, status):
    answer = await client.get(f"/map/{place}")

    assert answer.status_code == status
    if status == 400:
        assert answer.json()["errorCode"] == 31


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_style_names_tiles_of_the_host_that_was_asked(tmp_path, theme):
    async with asking(tmp_path, bounds=(9.0, 47.0, 10.0, 48.0), metadata={"attribution": "© X"}) as client:
        answer = await client.get(f"/map/style.json?theme={theme}", host="maps.example:8443")

    style = answer.json()
    assert style["name"] == f"Tripline {theme}"
    (tiles,) = style["sources"]["base"]["tiles"]
    assert tiles.startswith("http://maps.example:8443/map/{z}/{x}/{y}.mvt?v=")
    assert style["sources"]["base"]["attribution"] == "© X"
    assert style["sources"]["base"]["bounds"] == [9.0, 47.0, 10.0, 48.0]


@pytest.mark.parametrize(
    ("behind_proxy", "headers", "origin"),
    [
        (
            False,
            {"host": "a.example", "x-forwarded-host": "b.example", "x-forwarded-proto": "https"},
            "http://a.example",
        ),
        (
            True,
            {"host": "a.example", "x-forwarded-host": "b.example", "x-forwarded-proto": "https"},
            "https://b.example",
        ),
        (True, {"host": "a.example"}, "https://a.example"),
    ],
)
async def test_style_goes_by_the_proxy_where_there_is_one(client, behind_proxy, headers, origin):
    client.app.change(behind_proxy=behind_proxy, public_url="https://public.example")

    (tiles,) = (await client.get("/map/style.json", **headers)).json()["sources"]["base"]["tiles"]

    assert tiles.startswith(f"{origin}/map/")


async def test_style_is_not_sent_again_while_it_is_known(client):
    first = await client.get("/map/style.json")
    known = await client.get("/map/style.json", if_none_match=first.headers["etag"])
    other = await client.get("/map/style.json?theme=dark", if_none_match=first.headers["etag"])

    assert first.headers["cache-control"] == "private, no-cache"
    assert [answer.status_code for answer in (first, known, other)] == [200, 304, 200]
    assert known.content == b""


async def test_style_without_a_map_is_one_plain_colour(tmp_path):
    async with asking(tmp_path, shown=False) as client:
        found = (await client.get("/map/style.json")).json()

    assert found["sources"] == {}


@pytest.mark.parametrize("theme", ["Dark", "light,dark", "x" * 1_000])
async def test_unknown_theme_is_refused(client, theme):
    answer = await client.get(f"/map/style.json?theme={theme}")

    assert answer.status_code == 400
    assert answer.json()["message"] == "Parameter 'theme' must be one of light, dark."
