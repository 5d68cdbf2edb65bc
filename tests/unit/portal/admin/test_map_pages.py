"""Pages of maps: what is listed, an import that is under way or ended, a file that is taken in, and removal."""

import asyncio
import errno
import os

import pytest
from msgspec.structs import replace
from tests.support import map_files as made
from tests.support import rest, stores
from tests.support.portal import HTMX, OWN, Browser, Page
from tests.unit.portal.frame import test_own_forms as own

from tripline.adapters.maps import files as map_files
from tripline.adapters.maps import locks
from tripline.domain.access import Authority
from tripline.maintenance import maps

PATH, NEW = "/admin/maps", "/admin/maps/new"
KOREAN = {"accept-language": "ko"}


@pytest.fixture
async def app(tmp_path):
    """REST with a folder of maps."""
    made = rest.Rest(stores.fresh(tmp_path), maps=tmp_path / "maps")
    yield made
    await made.close()


async def root_browser(app: rest.Rest):
    """The browser of a platform administrator."""
    return Browser(app, await app.account("root@x.example", Authority.SYS_ADMIN))


def imported(tmp_path, name="area", file=None):
    file = file or made.street(tmp_path / "a.osm.pbf")
    return maps.imported(tmp_path / "maps", file, name=name, country="", progress=lambda _: None)


def failed(tmp_path, name="area"):
    """An import of a file that is cut off."""
    cut = tmp_path / "cut.osm.pbf"
    cut.write_bytes(made.street(tmp_path / "b.osm.pbf").read_bytes()[:-20])
    with pytest.raises(maps.MapFileError):
        imported(tmp_path, name, cut)


def interrupted(tmp_path, name="area"):
    def stopped(_):
        raise KeyboardInterrupt

    file = made.street(tmp_path / "a.osm.pbf")
    with pytest.raises(KeyboardInterrupt):
        maps.imported(tmp_path / "maps", file, name=name, country="", progress=stopped)


def content(tmp_path):
    return made.street(tmp_path / "a.osm.pbf").read_bytes()


async def page(browser, address=PATH, **headers):
    answer = await browser.get(address, **headers)
    assert answer.status_code == 200, answer.text
    return Page(answer.text)


async def sent(browser, file, fields, name="street.osm.pbf", **headers):
    files = None if file is None else {"file": (name, file)}
    return await browser.http.post(NEW, data=fields, files=files, headers=OWN | headers)


def actions(page):
    return [each["action"] for each in page.all("form") if each["action"].startswith(PATH)]


def let_go(app):
    """End what was to be imported, as a server does that is killed."""
    os.close(app.contexts.maps.keeper._orders.get_nowait().held)


def values(page):
    return {each["name"]: each["value"] for each in page.all("input") if each["name"] in ("area", "country")}


async def test_areas_are_listed_with_what_is_known_of_them(app: rest.Rest, tmp_path):
    area = imported(tmp_path)
    imported(tmp_path, "gone")
    imported(tmp_path, "unread")
    (tmp_path / "maps/unread.json").write_text("")
    (gone,) = (each for each in (tmp_path / "maps").glob("gone.*") if each.is_dir())
    (gone / "lat.npy").unlink()

    browser = await root_browser(app)
    english, korean = await page(browser), await page(browser, **KOREAN)

    assert {f"{PATH}/{name}/delete" for name in ("area", "gone", "unread")} <= set(english.hrefs)
    assert [each for each in english.hrefs if each.startswith(f"{NEW}?")] == [f"{NEW}?area=gone", f"{NEW}?area=unread"]
    assert [each for each in ("a.osm.pbf", area.map) if each not in english.text] == []
    assert english.text.count("Cannot be read") == 2
    assert ("its files in " in english.text, "unread.json" in english.text) == (True, True)
    assert ("폴더의 파일 크기가" in korean.text, "지도 정보 파일" in korean.text) == (True, True)
    assert [each for each in ("its files", "its description") if each in korean.text] == []
    assert "tripline rescore --map area" in english.text


async def test_time_of_an_import_is_that_of_the_service(app: rest.Rest, tmp_path, monkeypatch):
    monkeypatch.setattr(maps.clock, "now_ms", lambda: 1_795_559_400_000)  # 22:30 on 24 November in UTC
    imported(tmp_path)

    browser = await root_browser(app)
    assert "07:30" in (await page(browser)).text


async def test_page_without_maps_says_what_to_do(app: rest.Rest):
    browser = await root_browser(app)
    shown = await page(browser)

    assert "tripline map import FILE.osm.pbf" in shown.text
    assert "tripline rescore" not in shown.text
    assert NEW in shown.hrefs


async def test_file_is_taken_in_and_its_import_told_until_it_is_over(app: rest.Rest, tmp_path):
    file = content(tmp_path)

    imported_before = imported(tmp_path)
    browser = await root_browser(app)
    answer = await sent(browser, file, {"area": "area", "country": "li"})
    shown = await page(browser)
    form = await page(browser, NEW)
    removal = await page(browser, f"{PATH}/area/delete") if imported_before else None
    polled = await browser.get(f"{PATH}/area/progress", **HTMX)
    country = app.contexts.maps.keeper._orders.get_nowait()
    os.close(country.held)
    ended = await browser.get(f"{PATH}/area/progress", **HTMX)
    imported(tmp_path)
    over = await browser.get(f"{PATH}/area/progress", **HTMX)

    assert (answer.status_code, answer.headers["location"], country.record.country) == (303, PATH, "LI")
    assert "Reading roads: 0 so far" in shown.text
    assert [each["hx-get"] for _, each in shown.elements if "hx-get" in each and "progress" in each["hx-get"]] == [
        f"{PATH}/area/progress?since={rest.NOW_MS}"
    ]
    assert f"{PATH}/area/delete" not in shown.hrefs
    assert (actions(form), actions(removal)) == ([], [])
    assert "is being imported or changed" in form.text
    assert ("hx-location" in polled.headers, "<h1" in polled.text, "Reading roads" in polled.text) == (
        False,
        False,
        True,
    )
    assert ("notice=" in ended.headers.get("set-cookie", ""), PATH in ended.headers["hx-location"]) == (False, True)
    assert ("notice=" in over.headers["set-cookie"], PATH in over.headers["hx-location"]) == (True, True)


BAD = [
    ({"area": "Area", "country": "Korea"}, ("area", "country"), 400),
    ({"area": "", "country": ""}, ("area",), 400),
    ({"area": "Valhalla", "country": ""}, ("area",), 400),
    ({"area": "a" * 64, "country": "kr"}, ("area",), 400),
]


@pytest.mark.parametrize(("fields", "at", "status"), BAD)
async def test_every_field_at_fault_is_named_and_what_was_typed_is_kept(app: rest.Rest, tmp_path, fields, at, status):
    browser = await root_browser(app)
    refused, without = await sent(browser, b"x" * 100, fields), await sent(browser, b"", fields, name="")

    for answer, faults in ((refused, at), (without, (*at, "file"))):
        shown = Page(answer.text)
        assert (answer.status_code, values(shown)) == (status, fields)
        assert [each["name"] for each in shown.all("input") if "aria-invalid" in each] == list(faults)
        assert ("Choose the file again" in shown.text) is ("file" not in faults)
    assert not (tmp_path / "maps").exists()


@pytest.mark.parametrize(
    ("headers", "sentence"),
    [
        ({}, "cannot be valhalla: scores use that name for the Valhalla server. Choose another name."),
        (KOREAN, "valhalla는 쓸 수 없습니다. 점수에서 Valhalla 서버를 가리키는 이름입니다. 다른 이름을 써 주십시오."),
    ],
)
async def test_area_cannot_be_called_as_the_server_that_finds_roads(app: rest.Rest, tmp_path, headers, sentence):
    browser = await root_browser(app)
    found = await sent(browser, content(tmp_path), {"area": "valhalla"}, **headers)

    assert sentence in Page(found.text).text
    assert not (tmp_path / "maps").exists()


@pytest.mark.parametrize(
    ("file", "status", "sentence"),
    [
        (b"", 400, "파일이 비어 있습니다."),
        (b"x" * 100, 400, "파일이 아닙니다"),
        (b"x" * (2**20 + 1), 413, "파일은 1MiB 이하여야 합니다."),
        (b"x" * (2**21), 413, "파일은 1MiB 이하여야 합니다."),
    ],
)
async def test_file_that_is_refused_is_told_at_its_field(app: rest.Rest, tmp_path, file, status, sentence):
    file = file if status == 400 else content(tmp_path) + file

    browser = await root_browser(app)
    answer, after = await sent(browser, file, {"area": "area", "country": ""}, **KOREAN), await page(browser)

    shown = Page(answer.text)
    assert answer.status_code == status
    assert sentence in shown.text
    assert [each["name"] for each in shown.all("input") if "aria-invalid" in each] == ["file"]
    assert values(shown) == {"area": "area", "country": ""}
    assert "No map is imported" in after.text


async def test_largest_file_arrives(app: rest.Rest, tmp_path):
    browser = await root_browser(app)
    file = content(tmp_path)
    app.contexts.maps.keeper.most_bytes = len(file)
    status = (await sent(browser, file, {"area": "area"})).status_code
    let_go(app)

    assert (status, (tmp_path / "maps/.uploads/area.osm.pbf").read_bytes() == file) == (303, True)


async def test_fields_behind_the_file_are_passed_over_within_bounds(app: rest.Rest, tmp_path):
    browser = await root_browser(app)
    found = []
    for size in (65_536, 65_537):
        parts = [("area", (None, "area")), ("file", ("a", content(tmp_path))), ("area", (None, "x" * size))]
        found.append((await browser.http.post(NEW, files=parts, headers=OWN)).status_code)
        if found[-1] == 303:
            let_go(app)

    assert found == [303, 413]


async def test_file_is_refused_in_a_sentence_while_maps_are_changed(app: rest.Rest, tmp_path):
    imported(tmp_path)

    browser = await root_browser(app)
    with locks.changing(locks.take(tmp_path / "maps")):
        answers = [
            await sent(browser, content(tmp_path), {"area": "other", "country": "KR"}),
            await browser.confirm(f"{PATH}/area/delete", "area"),
            await browser.post(f"{PATH}/area/continue"),
        ]
    after = await page(browser)

    busy = "A map is being imported or changed; try again when that has ended."
    assert [(each.status_code, busy in Page(each.text).text) for each in answers[:2]] == [(409, True)] * 2
    assert values(Page(answers[0].text)) == {"area": "other", "country": "KR"}
    assert answers[2].status_code == 409
    assert f"{PATH}/area/delete" in after.hrefs


async def test_import_that_was_interrupted_goes_on_by_a_button(app: rest.Rest, tmp_path):
    interrupted(tmp_path)

    browser = await root_browser(app)
    shown = await page(browser)
    answer = await browser.post(f"{PATH}/area/continue")
    after = await page(browser)
    let_go(app)

    assert "The import of “area” was interrupted" in shown.text
    assert "while the roads of a.osm.pbf were read" in shown.text
    assert actions(shown) == [f"{PATH}/area/continue", f"{PATH}/area/cancel"]
    assert f"{NEW}?area=area" in shown.hrefs
    assert (answer.status_code, "is being imported" in after.text) == (303, True)


async def test_import_that_failed_says_why_in_the_readers_language(app: rest.Rest, tmp_path):
    imported(tmp_path)
    failed(tmp_path)

    browser = await root_browser(app)
    english, korean = await page(browser), await page(browser, **KOREAN)

    assert "cut.osm.pbf is damaged or cut off: " in english.text
    assert "cut.osm.pbf 파일이 손상되었거나 " in korean.text
    assert "The previous map of this area is used" in english.text
    assert english.hrefs.count(f"{PATH}/area/delete") == 1


async def test_import_of_a_bad_file_is_tried_again_once_another_file_took_its_place(app: rest.Rest, tmp_path):
    failed(tmp_path)
    good = made.street(tmp_path / "good.osm.pbf")

    browser = await root_browser(app)
    before = await page(browser), (await browser.post(f"{PATH}/area/continue")).status_code
    korean = await page(browser, **KOREAN)
    good.replace(tmp_path / "cut.osm.pbf")
    after = await page(browser), (await browser.post(f"{PATH}/area/continue")).status_code
    let_go(app)
    before, refused, korean, after, status = *before, korean, *after

    assert (actions(before), refused) == ([f"{PATH}/area/cancel"], 409)
    assert ("The same file would fail again." in before.text, "체크섬" in korean.text) == (True, True)
    assert (actions(after), status) == ([f"{PATH}/area/continue", f"{PATH}/area/cancel"], 303)
    assert "The same file would fail again." not in after.text


async def test_import_that_failed_for_want_of_room_is_tried_again(app: rest.Rest, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tripline.adapters.maps.osm_file.read", full)
    with pytest.raises(locks.NoAreaError):
        imported(tmp_path)

    browser = await root_browser(app)
    shown = await page(browser)

    assert actions(shown) == [f"{PATH}/area/continue", f"{PATH}/area/cancel"]
    assert "The same file would fail again." not in shown.text


async def test_import_whose_file_is_gone_is_not_offered_to_go_on_and_can_be_discarded(app: rest.Rest, tmp_path):
    interrupted(tmp_path)
    (tmp_path / "a.osm.pbf").unlink()

    browser = await root_browser(app)
    shown = await page(browser)
    refused = await browser.post(f"{PATH}/area/continue")
    asked = await browser.get(f"{PATH}/area/delete")
    discarded = await browser.send(f"{PATH}/area/cancel", at=PATH)
    refused, asked, after = refused.status_code, asked.status_code, await page(browser)

    assert (actions(shown), refused, asked) == ([f"{PATH}/area/cancel"], 409, 404)
    assert (discarded.status_code, "notice=" in discarded.headers["set-cookie"]) == (303, True)
    assert "No map is imported" in after.text


async def test_import_that_began_after_the_page_is_not_cancelled_by_its_button(app: rest.Rest, tmp_path):
    interrupted(tmp_path)

    browser = await root_browser(app)
    refused = await browser.post(f"{PATH}/area/cancel", {"since": "1"})
    left = actions(await page(browser))

    assert refused.status_code == 409
    assert "This is a different import from the one shown; nothing was cancelled." in refused.text
    assert f"{PATH}/area/cancel" in left


async def test_import_is_cancelled_by_a_button_and_the_former_map_stays(app: rest.Rest, tmp_path):
    area = imported(tmp_path)
    file = content(tmp_path)

    browser = await root_browser(app)
    await sent(browser, file, {"area": "area"})
    shown = await page(browser)
    cancel = asyncio.ensure_future(browser.post(f"{PATH}/area/cancel", {"since": rest.NOW_MS}))
    await made.cancelling(tmp_path / "maps")
    let_go(app)
    cancelled = await cancel
    polled = await browser.get(f"{PATH}/area/progress?since={area.imported_ms + 1}", **HTMX)
    over = [await browser.post(f"{PATH}/area/cancel", {"since": area.imported_ms + more}) for more in (0, 1)]
    after = await page(browser)

    assert actions(shown) == [f"{PATH}/area/cancel"]
    assert [(each.status_code, "notice=" in each.headers.get("set-cookie", "")) for each in (cancelled, *over)] == [
        (303, True),  # it is cancelled
        (303, True),  # it was done already
        (303, False),  # somebody else cancelled it
    ]
    assert ("notice=" in polled.headers.get("set-cookie", ""), PATH in polled.headers["hx-location"]) == (False, True)
    assert ("area" in after.text, "is being imported" in after.text) == (True, False)
    assert [each.map for each in maps.listed(tmp_path / "maps")] == [area.map]


async def test_file_whose_import_is_cancelled_on_its_way_is_told_so_in_its_form(app: rest.Rest, tmp_path):
    file = content(tmp_path)

    browser = await root_browser(app)
    begun = asyncio.Event()
    head = (
        b'--b\r\ncontent-disposition: form-data; name="area"\r\n\r\narea\r\n'
        b'--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'
    )

    async def pieces():
        yield head + file
        begun.set()
        await asyncio.Event().wait()

    headers = {**OWN, "content-type": "multipart/form-data; boundary=b"}
    sending = asyncio.ensure_future(browser.http.post(NEW, headers=headers, content=pieces()))
    await begun.wait()
    cancelled = await browser.send(f"{PATH}/area/cancel", at=PATH)
    status, answer, after = cancelled.status_code, await sending, await page(browser)

    assert (status, answer.status_code) == (303, 409)
    assert "The import was cancelled before the whole file had arrived." in Page(answer.text).text
    assert values(Page(answer.text))["area"] == "area"
    assert "No map is imported" in after.text


async def test_map_is_removed_once_its_name_is_typed(app: rest.Rest, tmp_path):
    imported(tmp_path)
    imported(tmp_path, "other")

    browser = await root_browser(app)
    asked = await page(browser, f"{PATH}/area/delete")
    refused = await browser.confirm(f"{PATH}/area/delete", "other")
    removed = await browser.confirm(f"{PATH}/area/delete", "area")
    told = await page(browser)
    unknown = [(await browser.get(f"{PATH}/{name}/delete")).status_code for name in ("area", ".import", "Area")]
    again = await browser.confirm(f"{PATH}/area/delete", "area")
    refused, removed, again, after = refused.status_code, removed.status_code, again.status_code, told

    assert "1 road is deleted, with its limits." in asked.text
    assert "Its part of the base map is deleted." in asked.text
    assert "tripline rescore --map area" in after.text
    assert (refused, removed, unknown, again) == (400, 303, [404, 404, 404], 404)
    assert f"{PATH}/other/delete" in after.hrefs
    assert f"{PATH}/area/delete" not in after.hrefs


@pytest.mark.parametrize("token", [None, "", "x"])
async def test_upload_without_the_token_of_the_session_is_refused_before_the_file(app: rest.Rest, tmp_path, token):
    file = content(tmp_path)

    browser = await root_browser(app)
    login = await app.account("kim@x.example", Authority.SYS_ADMIN)
    asked = own.browser(app, await own.signed_in(app, login))
    fields = {"area": "area"} if token is None else {"csrf": token, "area": "area"}
    answer, after = await sent(asked, file, fields), await page(browser)

    assert answer.status_code == 403
    assert "No map is imported" in after.text


async def test_upload_with_the_token_of_the_session_is_taken(app: rest.Rest, tmp_path):
    cookie = await own.signed_in(app, await app.account("kim@x.example", Authority.SYS_ADMIN))
    fields = {"csrf": cookie.csrf, "area": "area"}
    answer = await sent(own.browser(app, cookie), content(tmp_path), fields)
    let_go(app)

    assert answer.status_code == 303


async def test_account_that_is_disabled_meanwhile_imports_nothing(app: rest.Rest, tmp_path):
    file = content(tmp_path)

    browser = await root_browser(app)
    head = (
        b'--b\r\ncontent-disposition: form-data; name="area"\r\n\r\narea\r\n'
        b'--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'
    )

    async def pieces():
        yield head + file[:100]
        await browser.http.request("DELETE", "/api/tre/v1/sessions")
        yield file[100:] + b"\r\n--b--\r\n"

    headers = {**OWN, "content-type": "multipart/form-data; boundary=b"}
    answer = await browser.http.post(NEW, headers=headers, content=pieces())
    other = Browser(app, await app.account("other@x.example", Authority.SYS_ADMIN))
    status, text = answer.status_code, (await page(other)).text

    assert status == 401
    assert "No map is imported" in text


@pytest.mark.parametrize("role", [each for each in Authority if each is not Authority.SYS_ADMIN])
async def test_file_of_somebody_who_may_not_send_it_is_not_read(app: rest.Rest, role, monkeypatch):
    monkeypatch.setattr("tripline.http.uploads.pieces", None)  # would be called

    other = Browser(app, await app.account("kim@x.example", role))

    assert (await sent(other, b"x", {"area": "area"})).status_code == 403


async def test_list_names_the_places_and_offers_to_import_a_map_without_them(app: rest.Rest, tmp_path):
    area = imported(tmp_path)
    map_files.put(tmp_path / "maps", replace(area, name="old", places=None))

    root = await root_browser(app)
    del app
    pages = await root.get(PATH), await root.get(PATH, **KOREAN)

    for page, new, old in zip(
        pages, ("0 places", "지명 0개"), ("Import it again to name", "다시 가져오면"), strict=True
    ):
        assert page.text.count(new) == 1
        assert page.text.count(old) == 1
