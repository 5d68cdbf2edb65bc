"""Pages of bulk import: a file is dropped, its columns matched, its rows mended and registered, all by plain forms."""

import asyncio
import re

import pytest
from sqlalchemy import func, select, update
from tests.support import drafts as support
from tests.support.drafts import Office
from tests.support.portal import HTMX, OWN, Browser, Page, form_of, live

from tripline import config
from tripline.domain.access import Authority
from tripline.domain.import_drafts import State
from tripline.portal.imports import uploads
from tripline.services.accounts import sessions
from tripline.services.accounts.sessions import Client
from tripline.services.imports import draft_files, draft_pages
from tripline.services.imports.limits import ImportLimits
from tripline.store.tables import import_draft, vehicle

BAD = "차량번호,주행거리,메모\n가1,10,<b>x\n가2,x,\n가1,3,\n,4,\n".encode("cp949")


@pytest.fixture(autouse=True)
def _hurry(monkeypatch):
    monkeypatch.setattr(uploads, "PATIENCE_S", 0.0)


class Desk:
    """Somebody at a browser, and a worker beside."""

    def __init__(self, app, login):
        self.app = app
        self.office = Office(app, login)
        self.browser = Browser(app, login)

    async def upload(self, content, kind="vehicles", **headers):
        files = {"file": ("차량.csv", content, "text/csv")}
        answer = await self.browser.http.post("/import", data={"kind": kind}, files=files, headers=OWN | headers)
        await self.office.work()
        return answer

    async def draft(self, content, kind="vehicles"):
        """The address of a draft."""
        answer = await self.upload(content, kind)
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]

    async def post(self, address, fields=None, **headers):
        """The answer to the form that the draft's page has for this address."""
        page = address if address.endswith(("/columns", "/delete")) else address.rpartition("/")[0]
        answer = await self.browser.send(address, fields, at=page, **headers)
        await self.office.work()
        return answer

    async def mend(self, draft, row, fields, **headers):
        """The answer to the form of a row, filled in."""
        digest = digest_of(await self.page(f"{draft}/rows/{row}"))
        answer = await self.browser.post(f"{draft}/rows/{row}", {"digest": digest, **fields}, **headers)
        await self.office.work()
        return answer

    async def page(self, address):
        answer = await self.browser.get(address)
        assert answer.status_code == 200, answer.text
        return Page(answer.text)


@pytest.fixture
async def me(app):
    return Desk(app, (await app.operator("ace"))[1])


async def count(app):
    return (await app.store.read(lambda tx: tx.one(select(func.count()).select_from(vehicle))))[0]


def digest_of(page):
    """The digest of the first form of a row."""
    return next(each["value"] for each in page.all("input") if each["name"] == "digest")


def inputs(page):
    return {each["name"]: each.get("value") for each in page.all("input") if (each["name"] or "").startswith("cell-")}


async def test_file_goes_from_upload_to_registered_by_plain_forms(app, me):
    draft = await me.draft(BAD)
    first = await me.page(draft)
    mended = await me.mend(draft, 3, {"cell-1": "7", "rows": "bad"})
    bad = await me.page(mended.headers["location"])
    committed = await me.post(f"{draft}/commit")
    done = await me.page(committed.headers["location"])
    status, registered = mended.status_code, await count(app)

    assert inputs(first) == {"cell-1": "x", "cell-0": ""}
    assert "Mileage (km) must be a number" in first.text.replace("'", "")
    assert (status, inputs(bad)) == (303, {"cell-0": ""})
    assert "2 vehicles are registered." in done.text
    assert registered == 2


async def test_trouble_of_a_cell_does_not_repeat_the_name_of_its_column_in_korean(me):
    draft = await me.draft("차량번호,주행거리\n가2,0\n".encode())
    page = Page((await me.browser.get(draft, **{"Accept-Language": "ko"})).text)

    assert "0보다 커야 합니다." in page.text
    assert "누적 주행거리(km): 0보다" not in page.text


async def test_encoding_is_chosen_in_the_form_and_named_on_the_page_of_the_draft(me):
    content = "vehicleNo,vendor,mileage\nA,Škoda,1\n".encode("windows-1252")

    refused = await me.upload(content)
    files = {"file": ("a.csv", content, "text/csv")}
    chosen = {"kind": "vehicles", "encoding": "windows-1252"}
    answer = await me.browser.http.post("/import", data=chosen, files=files, headers=OWN)
    await me.office.work()
    shown = await me.page(answer.headers["location"])
    good = await me.page(f"{answer.headers['location']}?rows=good")
    korean = await me.page(await me.draft(BAD))

    page = Page(refused.text)
    assert refused.status_code == 400
    assert "Encoding must name the encoding of the file" in page.text
    assert "둲oda" in page.text
    assert [each["name"] for each in page.all("select") if "aria-invalid" in each] == ["encoding"]
    assert "The file was read as windows-1252." in shown.text
    assert "Škoda" in good.text
    assert "The file was read as cp949." in korean.text


async def test_columns_are_matched_by_hand(me):
    draft = await me.draft(b"plate no,far,\nA,1,\n")
    asked = await me.page(draft)
    refused = await me.post(f"{draft}/columns", {"column-0": "vehicleNo", "column-1": "vehicleNo"})
    missing = await me.post(f"{draft}/columns", {"column-0": "vehicleNo"})
    await me.post(f"{draft}/columns", {"column-0": "vehicleNo", "column-1": "mileage"})
    good, again = await me.page(f"{draft}?rows=good"), await me.page(f"{draft}/columns")

    assert [each["name"] for each in asked.all("select")] == ["column-0", "column-1", "column-2"]
    assert "Column 3, without a name" in asked.text
    assert "Choose the columns for the required fields: Vehicle number, Mileage (km)." in asked.text
    assert "In the file: A" in asked.text
    assert "In the file: 1" in asked.text
    assert asked.text.count("In the file:") == 2
    assert "hold what is required" not in again.text
    assert (refused.status_code, missing.status_code) == (400, 400)
    assert "two columns" in refused.text
    assert "Mileage (km)" in missing.text
    assert "Register 1 vehicle" in good.text
    assert [each["value"] for each in again.all("option") if "selected" in each] == ["vehicleNo", "mileage"]


async def test_stored_markup_is_text(me):
    draft = await me.draft(b'vehicleNo,mileage,<i>\n<script>alert(1)</script>,x,"""><img>"\n')
    answers = [await me.browser.get(f"{draft}{end}") for end in ("", "/rows/2", "/columns")]

    for text in [answer.text for answer in answers]:
        assert "<script>alert" not in text
        assert "<img>" not in text
        assert "<i>" not in text


async def test_row_is_mended_with_all_its_columns_left_out_and_taken_in_again(me):
    draft = await me.draft(b"vehicleNo,mileage\nA,1,surplus\nB,2\n")
    form = await me.page(f"{draft}/rows/2")
    await me.mend(draft, 2, {"cell-0": "A", "cell-1": "1", "cell-2": ""})
    good = await me.page(f"{draft}?rows=good")
    await me.post(f"{draft}/rows/3", {"skip": "1"})
    skipped = await me.page(f"{draft}?rows=skipped")
    await me.post(f"{draft}/rows/3", {"skip": "0"})
    long = await me.mend(draft, 2, {"cell-0": "x" * 9_000})
    unknown = [await me.browser.get(f"{draft}/rows/{row}") for row in ("9", "x", "9" * 30)]
    after = await me.page(f"{draft}?rows=good")

    assert inputs(form) == {"cell-0": "A", "cell-1": "1", "cell-2": "surplus"}
    assert "Register 2 vehicles" in good.text
    assert "Register 1 vehicle" in skipped.text
    assert (long.status_code, [each.status_code for each in unknown]) == (400, [404, 404, 404])
    assert "Register 2 vehicles" in after.text


async def test_row_with_a_bad_cell_and_a_surplus_one_is_saved_by_enter_rather_than_left_out(me):
    page = await me.page(await me.draft(b"vehicleNo,mileage\nA,x,surplus\n"))

    assert inputs(page) == {"cell-1": "x"}
    # Enter presses the first button of the form.
    assert page.text.index("Save row") < page.text.index("Leave out")


async def test_second_window_on_a_row_is_told_what_the_first_one_saved_and_loses_nothing(me):
    draft = await me.draft(BAD)
    form = await me.page(f"{draft}/rows/3")
    of_window = {"digest": digest_of(form), "rows": "bad"}
    await me.post(f"{draft}/rows/3", {**of_window, "cell-0": "first", "cell-1": "7"})
    second = {**of_window, "cell-0": "가2", "cell-1": "8"}
    korean = await me.post(f"{draft}/rows/3", second, **{"Accept-Language": "ko"})
    refused = await me.post(f"{draft}/rows/3", second)
    between = await me.page(f"{draft}/rows/3")
    page = Page(refused.text)
    again = await me.post(f"{draft}/rows/3", {"digest": digest_of(page), "rows": "bad", **inputs(page)})
    after = await me.page(f"{draft}/rows/3")

    page = Page(refused.text)
    assert (refused.status_code, inputs(between)) == (409, {"cell-0": "first", "cell-1": "7", "cell-2": ""})
    assert "Another window changed this row in the meantime." in refused.text
    assert "그사이 다른 창에서 이 행을 고쳤습니다." in korean.text
    assert inputs(page) == {"cell-0": "first", "cell-1": "8", "cell-2": ""}
    assert next(each["value"] for each in page.all("input") if each["name"] == "rows") == "bad"
    assert (again.status_code, inputs(after)) == (303, {"cell-0": "first", "cell-1": "8", "cell-2": ""})


@pytest.mark.parametrize(
    ("column", "status", "kept"),
    [("cell-0", 200, {"cell-0": "b", "cell-1": "7"}), ("cell-1", 409, {"cell-0": "", "cell-1": "7"})],
)
async def test_row_mended_in_place_is_refused_only_for_a_cell_that_another_window_changed(me, column, status, kept):
    draft = await me.draft("차량번호,주행거리\n,x\n".encode())
    digest = form_of(await me.page(draft), f"{draft}/rows/2")["digest"]
    await me.browser.post(f"{draft}/rows/2", {"digest": digest, "cell-1": "7"}, **HTMX)
    second = await me.browser.post(f"{draft}/rows/2", {"digest": digest, column: "b"}, **HTMX)

    assert (second.status_code, inputs(await me.page(f"{draft}/rows/2"))) == (status, kept)


async def test_row_is_left_out_whatever_another_window_saved_of_it(me):
    draft = await me.draft(b"vehicleNo,mileage\nA,1\nB,2\n")
    digest = digest_of(await me.page(draft))
    await me.mend(draft, 2, {"cell-1": "77777"})
    left_out = await me.post(f"{draft}/rows/2", {"digest": digest, "skip": "1"})
    status, page = left_out.status_code, await me.page(f"{draft}?rows=skipped")

    assert status == 303
    assert "77777" in page.text


async def test_script_gets_the_row_and_the_numbers(me):
    draft = await me.draft(BAD)
    mended = await me.mend(draft, 3, {"cell-1": "7", "rows": "bad", "after": "2"}, **HTMX)
    sent = await me.upload(BAD, **HTMX)
    refused = await me.upload(b"", **HTMX)

    assert mended.status_code == 200
    assert {'id="row-3"', 'id="counts"'} <= {
        f'id="{each["id"]}"' for _, each in Page(mended.text).elements if "id" in each
    }
    assert 'id="row-4"' not in mended.text
    assert "/rows/3?rows=bad&amp;after=2&amp;before=" in mended.text
    assert "/import/" in sent.headers["hx-location"]
    assert (refused.status_code, "<html" in refused.text) == (400, False)


async def test_rows_are_searched_within_their_verdict_by_an_address_that_every_way_keeps(me):
    content = "차량번호,주행거리\n" + "".join(f"가{n:03d},{'x' if n % 2 else 1}\n" for n in range(120))

    draft = await me.draft(content.encode())
    found = await me.page(f"{draft}?rows=bad&q=%EA%B0%80011")
    one = await me.page(f"{draft}/rows/13?rows=bad&q=%EA%B0%80011")
    saved = await me.mend(draft, 13, {"cell-1": "7", "rows": "bad", "q": "가011"})
    after = await me.page(saved.headers["location"])
    many = await me.page(f"{draft}?rows=bad&q=x")
    none = await me.page(f"{draft}?rows=good&q=nowhere")
    korean = await me.browser.get(f"{draft}?rows=good&q=nowhere", **{"Accept-Language": "ko"})
    korean = Page(korean.text)

    sought = "q=%EA%B0%80011"

    (field,) = [each for each in found.all("input") if each.get("type") == "search" and each.get("value")]
    (form,) = [each for each in found.all("form") if each.get("action") == draft]
    assert (field["value"], form["method"]) == ("가011", "get")
    assert [each for each in found.all("tr") if "data-row" in each] == [
        {"data-row": None, "id": "row-13", "class": "bad"}
    ]
    assert {f"{draft}?rows=good&{sought}", f"{draft}/rows/13?rows=bad&after=&before=&{sought}"} <= set(found.hrefs)
    assert f"{draft}?rows=bad&after=&before=&{sought}" in one.hrefs
    assert "No row here has this number, or “가011” in a cell." in after.text
    assert [each for each in many.hrefs if "after=" in each and each.startswith(f"{draft}?") and "q=x" in each]
    assert "Nothing matches" in none.text
    assert "No row here has this number, or “nowhere” in a cell." in none.text
    assert f"{draft}?rows=good" in none.hrefs
    assert "“nowhere” 검색어가 있는 행이 없습니다." in korean.text


async def test_work_under_way_is_shown_and_can_be_stopped(app, me):
    draft = await me.draft(support.vehicles(3))
    committed = await me.browser.send(f"{draft}/commit", at=draft)
    shown = await me.page(committed.headers["location"])
    polled = await me.browser.get(f"{draft}/progress", **HTMX)
    stopped = await me.post(f"{draft}/cancel")
    over = await me.browser.get(f"{draft}/progress", **HTMX)
    noted = await me.page(stopped.headers["location"])
    registered = await count(app)

    assert "Rows are registered only when the work is done" in shown.text
    assert ("hx-location" in polled.headers, "/import/" in over.headers["hx-location"]) == (False, True)
    assert "<h1" not in polled.text
    assert "The work was stopped. Nothing was registered." in noted.text
    assert registered == 0


async def test_drafts_renew_themselves_while_one_is_worked_on(me):
    draft = await me.draft(support.vehicles(3))
    idle = Page((await me.browser.get("/import")).text)
    await me.browser.send(f"{draft}/commit", at=draft)
    part = live(Page((await me.browser.get("/import")).text))
    same = await me.browser.renew(part)
    await me.post(f"{draft}/cancel")
    over = await me.browser.renew(part)

    assert live(idle) is None
    assert same.status_code == 204
    assert "Discard" in over.text
    assert "<h1" not in over.text
    assert live(Page(over.text)) is None


async def test_checking_again_registers_nothing(app, me):
    draft = await me.draft(support.vehicles(3))
    await app.post(me.office.login, "/vehicle", {"vehicleNo": "000001", "mileage": 1})
    await me.post(f"{draft}/check")
    page, registered = await me.page(draft), await count(app)

    assert "a vehicle with the number 000001 is already registered" in page.text
    assert registered == 1


async def test_duplicate_leads_to_where_its_name_stands_already(app, me):
    token = {"type": "GPS", "credentialsId": "t" * 20}
    await app.post(me.office.login, "/sensor", {"serialNo": "S 1", **token})
    rows = [("S 1", "a"), ("S2", "b"), ("S2", "c"), ("S3", "t")]
    lines = "".join(f"{serial},{letter * 20},GPS\n" for serial, letter in rows)
    draft = await me.draft(f"serialNo,credentialsId,type\n{lines}".encode(), "sensors")
    page = await me.page(f"{draft}?rows=duplicate")
    hrefs = page.hrefs

    assert {"/search?q=S+1", f"{draft}/rows/3"} <= set(hrefs)
    assert [href for href in hrefs if "ttt" in href] == []


async def test_bad_rows_are_downloaded_with_their_reasons_in_the_language_of_the_reader(me):
    draft = await me.draft(BAD)
    english, korean = [await me.browser.get(f"{draft}/bad-rows", **{"accept-language": each}) for each in ("en", "ko")]

    lines = english.content.decode("utf-8-sig").splitlines()
    assert lines[0] == "차량번호,주행거리,메모,Row,Reason"
    assert [line.split(",")[3] for line in lines[1:]] == ["3", "4", "5"]
    assert english.headers["content-disposition"].startswith("attachment")
    assert korean.content.decode("utf-8-sig").splitlines()[0].endswith(",행,사유")


async def test_sample_is_for_those_who_may_import_it(app, me):
    director = Desk(app, await app.person(me.office.login, Authority.DIRECTOR, "d"))
    asked = [(me, "vehicles"), (me, "sensors"), (me, "cats"), (director, "vehicles"), (director, "sensors")]
    answers = [await who.browser.get(f"/import/samples/{kind}") for who, kind in asked]
    korean = await me.browser.get("/import/samples/vehicles", **{"accept-language": "ko"})
    start = await director.page("/import")

    assert [answer.status_code for answer in answers] == [200, 200, 404, 200, 403]
    assert korean.content.decode("utf-8-sig").startswith("차량번호,제조사,")
    assert "/import/samples/sensors" not in start.hrefs


@pytest.mark.parametrize(("size", "status"), [(-1, 303), (0, 303), (1, 413)])
async def test_bytes_of_a_file_are_bounded(app, me, size, status):
    app.contexts.imports.most_bytes = 2_000
    content = b"vehicleNo,mileage\nA,1\n"
    app_status = (await me.upload(content + b"," * (2_000 + size - len(content) - 1) + b"\n")).status_code

    assert app_status == status
    assert ImportLimits(config.Rest()).most_bytes == 64 * 2**20


async def test_upload_is_counted_while_it_arrives(app, me):
    counted = []

    async def pieces():
        yield b'--b\r\ncontent-disposition: form-data; name="file"; filename="f.csv"\r\n\r\n' + b"x" * 5_000
        await asyncio.sleep(0.1)
        counted.append(app.contexts.imports.bytes.taken)
        yield b"\r\n--b--\r\n"

    form = {"content-type": "multipart/form-data; boundary=b"}
    await me.browser.http.post("/import", content=pieces(), headers=OWN | form)

    assert (counted[0] > 4_000, app.contexts.imports.bytes.taken) == (True, 0)


@pytest.mark.parametrize(
    ("content", "status", "sentence"),
    [
        (b"", 400, "The file is empty"),
        (b"PK\x03\x04", 400, "a workbook or a ZIP archive"),
        (b"vehicleNo\n", 400, "no rows below it"),
    ],
)
async def test_file_that_cannot_be_read_is_refused_on_the_page(me, content, status, sentence):
    answer = await me.upload(content)
    nothing = await me.browser.post("/import", {"kind": "vehicles"})

    assert (answer.status_code, nothing.status_code) == (status, 400)
    assert sentence in Page(answer.text).text


@pytest.mark.parametrize(("proof", "status"), [(True, 303), (False, 403)])
async def test_file_of_a_browser_needs_the_proof_of_our_own_page(app, me, proof, status):
    session = {"client": Client("Browser", "192.0.2.1"), "settings": config.Sessions(), "now_ms": app.now_ms}
    cookie = await app.store.write(
        lambda tx: sessions.opened(tx, user_id=me.office.login.user_id, before=None, **session)
    )
    del me.browser.http.headers["x-authorization"]
    me.browser.http.headers["cookie"] = f"tripline={cookie.text}"
    (csrf, *_) = [each["value"] for each in (await me.page("/import")).all("input") if each["name"] == "csrf"]
    sent = {"kind": "vehicles"} | ({"csrf": csrf} if proof else {})
    files = {"file": ("f.csv", BAD, "text/csv")}
    answer = await me.browser.http.post("/import", data=sent, files=files, headers=OWN)

    assert answer.status_code == status


async def test_drafts_of_others_are_refused_and_own_ones_thrown_away(app, me):
    other = Desk(app, await app.person(me.office.login, Authority.DIRECTOR, "d"))
    draft = await me.draft(BAD)
    ends = ("", "/progress", "/columns", "/rows/2", "/bad-rows", "/delete")
    reads = [(await other.browser.get(f"{draft}{end}")).status_code for end in ends]
    ends = ("/columns", "/rows/2", "/check", "/commit", "/cancel", "/delete")
    posts = [(await other.browser.post(f"{draft}{end}")).status_code for end in ends]
    listed = await me.page("/import")
    thrown = await me.post(f"{draft}/delete")
    gone = (await me.browser.get(draft)).status_code
    listed, there, after = draft in listed.hrefs, thrown.headers["location"], await me.page("/import")

    assert (set(reads), set(posts), listed) == ({403}, {403}, True)
    assert (there, gone) == ("/import", 404)
    assert "차량.csv" not in after.text or "gone" in after.text


@pytest.mark.parametrize(
    ("language", "open_text", "done_text"),
    [
        (
            "en",
            "4 rows of the draft 차량.csv are discarded",
            "1 row of the draft 차량.csv is discarded. The record that it registered",
        ),
        (
            "ko",
            "차량.csv 초안의 행 4개를 삭제합니다. 고친 내용도",
            "차량.csv 초안의 행 1개를 삭제합니다. 등록된 차량과",
        ),
    ],
)
async def test_draft_is_thrown_away_only_after_its_owner_was_told_how_many_rows_go(me, language, open_text, done_text):
    spoken = {"Accept-Language": language}
    registered = await me.draft(support.vehicles(1))
    await me.post(f"{registered}/commit")
    draft = await me.draft(BAD)
    leads = [(await me.page(each)).hrefs.count(f"{draft}/delete") for each in ("/import", draft)]
    pages = [await me.page(each) for each in ("/import", draft)]
    at_once = [form for page in pages for form in page.all("form") if (form["action"] or "").endswith("/delete")]
    asked = [Page((await me.browser.get(f"{each}/delete", **spoken)).text) for each in (draft, registered)]
    kept = (await me.browser.get(draft)).status_code
    (form,) = (each for each in asked[0].all("form") if (each["action"] or "").endswith("/delete"))
    await me.post(form["action"])
    (open_page, done_page), gone = [page.text for page in asked], (await me.browser.get(draft)).status_code

    assert (leads, at_once) == ([1, 1], [])
    assert open_text in open_page
    assert done_text in done_page
    assert (kept, gone) == (200, 404)


async def test_draft_whose_file_is_still_read_is_told_as_that_when_it_is_thrown_away(app, me):
    draft = await me.draft(BAD)
    await app.store.write(lambda tx: tx.run(update(import_draft).values(state=State.ARRIVING.value)))

    assert "The file 차량.csv is still being read." in (await me.page(f"{draft}/delete")).text


async def test_columns_that_another_window_matched_are_shown_beside_those_chosen_here(me):
    draft = await me.draft(b"A,B\n1,2\n")
    stale = form_of(await me.page(f"{draft}/columns"), f"{draft}/columns")
    await me.post(f"{draft}/columns", {"column-0": "vehicleNo", "column-1": "mileage"})
    refused = await me.browser.post(f"{draft}/columns", {**stale, "column-0": "mileage", "column-1": "vehicleNo"})
    page = Page(refused.text)
    chosen = [each["value"] for each in page.all("option") if "selected" in each]
    sent = {**form_of(page, f"{draft}/columns"), "column-0": "mileage", "column-1": "vehicleNo"}
    again = await me.browser.post(f"{draft}/columns", sent)

    assert refused.status_code == 409
    assert "Another window matched the columns in the meantime." in refused.text
    assert chosen == ["mileage", "vehicleNo"]
    assert again.status_code == 303


@pytest.mark.parametrize(("end", "told"), [("commit", "nothing was registered"), ("delete", "nothing was deleted")])
async def test_draft_whose_rows_another_window_mended_is_neither_registered_nor_thrown_away_unseen(app, me, end, told):
    draft = await me.draft(BAD)
    address = f"{draft}/{end}"
    stale = form_of(await me.page(draft if end == "commit" else address), address)
    bad = int(re.search(rf"{draft}/rows/(\d+)", (await me.browser.get(f"{draft}?rows=bad")).text)[1])
    await me.mend(draft, bad, {"skip": "1"})
    refused = await me.browser.post(address, stale)
    before = await count(app)
    done = await me.browser.post(address, form_of(Page(refused.text), address))

    assert (refused.status_code, before, done.status_code) == (409, 0, 303)
    assert told in refused.text


async def test_pages_that_would_take_too_much_say_so(app, me, monkeypatch):
    monkeypatch.setattr(draft_files, "DOWNLOADED", 0)
    monkeypatch.setattr(draft_pages, "SEARCHED", 0)

    address = await me.draft(b"vehicleNo,mileage\nA,0\n")
    download, *searches = [
        await me.browser.http.get(f"{address}{path}") for path in ("/bad-rows", "?q=A", "?rows=bad&q=A")
    ]

    assert download.status_code == 400
    assert "1 rows that cannot be registered; the maximum in one file is 0" in download.text
    assert [answer.status_code for answer in searches] == [400, 400]
    assert "would read more than 0 rows" in searches[0].text
