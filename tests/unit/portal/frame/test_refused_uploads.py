"""Refused uploads of a browser's session: each answer is the form with the reason, whatever was read of the body."""

import asyncio
import contextlib
from functools import partial

import pytest
from tests.support import rest
from tests.support.portal import OWN, Page
from tests.unit.portal.frame import test_own_forms as own

from tripline.domain.access import Authority
from tripline.http import uploads
from tripline.portal.frame import forms
from tripline.services import shares
from tripline.services.imports import limits

pytestmark = pytest.mark.once("what pages show")

KOREAN = {"Accept-Language": "ko"}
STALE = "This form was opened before you signed in again"
VEHICLES = b"vehicleNo,mileage\nA,1\n"
FIELDS = {"kind": "vehicles"}
MOST = 4_096
"""Bytes of the largest file of an import."""


async def signed_in(app, login, *, token=True):
    """A browser with the cookie of a session, and the token for its forms."""
    cookie = await own.signed_in(app, login)
    return own.browser(app, cookie), {forms.CSRF: cookie.csrf} if token else {}


async def uploaded(app, login, content, *, address="/import", fields=FIELDS, name="a.csv", headers=OWN):
    """The answer to a form as a browser sends it: the token in a field of the multipart body, the file behind."""
    browser, token = await signed_in(app, login)
    files = [(field, (None, value)) for field, value in {**token, **fields}.items()]
    return await browser.http.post(address, files=[*files, ("file", (name, content))], headers=headers)


def refused(answer):
    """Status and text of a page that does not blame the session."""
    text = Page(answer.text).text
    assert STALE not in text
    return answer.status_code, text


@pytest.fixture
def hurried(monkeypatch):
    """Files must arrive within a moment."""
    pace = uploads.Pace(idle_s=0.05, start_s=0.2, bytes_s=1_000_000)
    monkeypatch.setattr(forms.uploads, "pieces", partial(uploads.pieces, pace=pace))


@pytest.mark.parametrize(
    ("content", "fields", "status", "reason"),
    [
        (b"x" * (MOST + 1), FIELDS, 413, "The file must have at most 0 MiB"),
        (b"x" * (16 * MOST), FIELDS, 413, "The file must have at most 0 MiB"),
        (VEHICLES, {**FIELDS, "more": "x" * 65_536}, 413, "at most 200 fields and 64 KiB"),
        (VEHICLES, {**FIELDS, **{f"f{n}": "" for n in range(200)}}, 413, "at most 200 fields and 64 KiB"),
        (b"PK\x03\x04rest", FIELDS, 400, "This is a workbook or a ZIP archive"),
        (b"", FIELDS, 400, "The file is empty"),
        (VEHICLES + b"B,1\nC,1\nD,1\n", FIELDS, 413, "more than 3 rows"),
        (b"vehicleNo,vehicleNo\nA,1\n", FIELDS, 400, "names these columns twice"),
    ],
    ids=["large", "larger", "long field", "many fields", "workbook", "empty", "rows", "column twice"],
)
async def test_refused_import_says_why(app: rest.Rest, content, fields, status, reason):
    app.contexts.imports.most_bytes, app.contexts.imports.most_rows = MOST, 3
    found = await uploaded(app, (await app.operator("ace"))[1], content, fields=fields)

    answered, text = refused(found)

    assert (answered, reason in text) == (status, True), text


async def test_import_without_room_for_another_file_says_why(app: rest.Rest):
    _, login = await app.operator("ace")
    here = await app.store.read(lambda tx: shares.holder(tx, login.actor))
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(limits.ARRIVING.account):
            await stack.enter_async_context(app.contexts.imports.arrival(here))
        english, korean = [await uploaded(app, login, VEHICLES, headers=OWN | more) for more in ({}, KOREAN)]

    assert refused(english)[0] == 429
    assert "Too many files" in refused(english)[1]
    assert "파일" in refused(korean)[1]
    assert english.headers["content-type"].startswith("text/html")


async def endless(head):
    """A body that stops in its middle."""
    yield head
    await asyncio.sleep(5)


@pytest.mark.parametrize("address", ["/import", "/admin/maps/new"])
async def test_file_that_does_not_arrive_says_why(tmp_path, hurried, address):
    async with rest.opened(tmp_path, maps=tmp_path / "maps") as app:
        role = (await app.operator("ace"))[1] if address == "/import" else None
        login = role or await app.account("root@x.example", Authority.SYS_ADMIN)
        browser, _ = await signed_in(app, login)
        head = b'--b\r\ncontent-disposition: form-data; name="csrf"\r\n\r\n'
        form = {"content-type": "multipart/form-data; boundary=b"}
        found = await browser.http.post(address, content=endless(head), headers=OWN | form)

    answered, text = refused(found)

    assert (answered, "is too slow" in text) == (408, True), text


@pytest.mark.parametrize("address", ["/import", "/admin/maps/new"])
@pytest.mark.parametrize(
    ("content", "status", "reason"),
    [
        (b"--x", 400, "cannot be read"),
        (b'--b\r\ncontent-disposition: form-data; name="more"\r\n\r\n' + b"x" * 65_537, 413, "64 KiB"),
    ],
)
async def test_form_that_is_cut_off_or_too_long_says_why(tmp_path, address, content, status, reason):
    async with rest.opened(tmp_path, maps=tmp_path / "maps") as app:
        role = (await app.operator("ace"))[1] if address == "/import" else None
        browser, _ = await signed_in(app, role or await app.account("root@x.example", Authority.SYS_ADMIN))
        form = {"content-type": "multipart/form-data; boundary=b"}
        found = await browser.http.post(address, content=content, headers=OWN | form)

    answered, text = refused(found)

    assert (answered, reason in text) == (status, True), text


@pytest.mark.parametrize(
    ("content", "fields", "status", "reason"),
    [
        (b"x" * 100, {"area": "area", "country": ""}, 400, "not an OpenStreetMap file"),
        (b"x" * (2**20 + 1), {"area": "area", "country": ""}, 413, "at most 1 MiB"),
        (b"x", {"area": "a/b", "country": ""}, 400, "area"),
    ],
)
async def test_refused_map_says_why(tmp_path, content, fields, status, reason):
    async with rest.opened(tmp_path, maps=tmp_path / "maps") as app:
        app.contexts.maps.keeper.most_bytes = 2**20
        login = await app.account("root@x.example", Authority.SYS_ADMIN)
        found = await uploaded(app, login, content, address="/admin/maps/new", fields=fields)

    answered, text = refused(found)

    assert (answered, reason in text) == (status, True), text


@pytest.mark.parametrize("fields", [{"vehicleNo": "x" * 65_536}, {f"f{n}": "x" for n in range(201)}])
async def test_form_without_a_file_that_is_too_long_says_why(app: rest.Rest, fields):
    browser, token = await signed_in(app, (await app.operator("ace"))[1])

    answered, text = refused(await browser.post("/fleet/vehicles/new", {**fields, **token}))

    assert (answered, "at most 200 fields and 64 KiB" in text) == (413, True), text


@pytest.mark.parametrize("address", ["/import", "/admin/maps/new", "/fleet/vehicles/new"])
async def test_refused_form_of_another_site_is_still_refused_as_that(tmp_path, address):
    async with rest.opened(tmp_path, maps=tmp_path / "maps") as app:
        role = None if "maps" in address else (await app.operator("ace"))[1]
        login = role or await app.account("root@x.example", Authority.SYS_ADMIN)
        browser, _ = await signed_in(app, login)
        files = {"file": ("a.csv", b"x" * 100_000)}
        answer = await browser.http.post(address, files=files, headers={"Sec-Fetch-Site": "cross-site"})

    assert answer.status_code == 403
