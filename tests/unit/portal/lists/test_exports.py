"""Files of lists as pages: asked for, watched, cancelled, had; by their owner alone."""

from typing import TypeVar

import pytest
from sqlalchemy import update
from tests.support import access_world
from tests.support.access_world import World
from tests.support.portal import HTMX, Browser, Page, live
from tests.support.rest import Rest

from tripline.domain.exports import State
from tripline.portal.lists import exports, nouns
from tripline.services.exports import Exporter
from tripline.store.tables import export

T = TypeVar("T")
OF_THE_PLATFORM = ("services", "accounts", "applications")
ASKED = {"list": "vehicles", "form": "csv", "query": "q=V&sort=-number", "columns": "number.model"}


@pytest.fixture
async def world(app: Rest) -> World:
    return await access_world.settled(app)


def browser(world: World, name: str = "P") -> Browser:
    return Browser(world.app, world.logins[name])


async def made(world: World) -> int:
    context = world.app.contexts.context
    books = exports.books(context.time_zone)
    maker = Exporter(
        store=context.store,
        signals=context.signals,
        clock=context.clock,
        maker_id="one",
        books=books,
    )
    return await maker.make_next()


async def test_file_has_the_rows_and_columns_that_the_list_showed(world):
    asked = browser(world)
    begun = await asked.post("/exports", ASKED)
    there = begun.headers["location"]
    waiting = await asked.get(there)
    await made(world)
    ready = await asked.get(there, **HTMX, **{"HX-Target": "export"})
    pages, file = [begun, waiting, ready, await asked.get("/exports")], await asked.get(f"{there}/file")

    assert [page.status_code for page in pages] == [303, 200, 200, 200]
    assert "hx-get" in pages[1].text
    assert "<html" not in pages[2].text
    assert "/file" in pages[2].text
    assert file.status_code == 200
    assert file.content.decode("utf-8-sig") == "Number,Model\r\nV,\r\n"
    assert file.headers["content-disposition"].startswith("attachment")
    assert file.headers["content-type"].startswith("text/csv")


async def test_list_of_files_renews_itself_until_none_is_being_made(world):
    asked = browser(world)
    await asked.post("/exports", ASKED)
    part = live(Page((await asked.get("/exports")).text))
    assert part is not None
    same = await asked.renew(part)
    await made(world)
    ready, page = await asked.renew(part), Page((await asked.get("/exports")).text)

    assert same.status_code == 204
    assert "<h1" not in ready.text
    assert "Ready" in Page(ready.text).text
    assert (live(Page(ready.text)), live(page)) == (None, None)


@pytest.mark.parametrize(("form", "begins"), [("csv", b"\xef\xbb"), ("xlsx", b"PK")])
async def test_each_list_has_files_of_both_kinds(world, form, begins):
    files = {}
    for noun in nouns.TABLES:
        asked = browser(world, "platform administrator" if noun in OF_THE_PLATFORM else "operator")
        begun = await asked.post("/exports", {"list": noun, "form": form, "query": "", "columns": ""})
        await made(world)
        file = await asked.get(f"{begun.headers['location']}/file")
        files[noun] = file.status_code, file.content[:2]

    assert files == dict.fromkeys(nouns.TABLES, (200, begins))


async def test_file_can_be_cancelled_and_is_no_business_of_others(world):
    asked, other = browser(world), browser(world, "R")
    there = (await asked.post("/exports", ASKED)).headers["location"]
    foreign = [await other.get(there), await other.get(f"{there}/file"), await other.post(f"{there}/cancel")]
    early = await asked.get(f"{there}/file")
    await asked.post(f"{there}/cancel")
    foreign = [each.status_code for each in foreign]
    early = early.status_code
    done = await made(world)
    page = await asked.get(there)

    assert foreign == [404, 404, 404]
    assert early == 409
    assert done == 0
    assert "Cancelled" in page.text


@pytest.mark.parametrize("how", ["cancelled", "failed"])
async def test_file_that_was_not_made_is_asked_for_again_as_it_was(world, how):
    asked, other = browser(world), browser(world, "R")
    there = (await asked.post("/exports", ASKED)).headers["location"]
    if how == "cancelled":
        await asked.post(f"{there}/cancel")
    else:
        failed = update(export).values(state=State.FAILED.value)
        await world.app.contexts.context.store.write(lambda tx: tx.run(failed))
    page = Page((await asked.get(there)).text)
    foreign = (await other.post(f"{there}/again")).status_code
    (again,) = [str(each["action"]) for each in page.all("form") if "again" in str(each["action"])]
    begun = await asked.post(again)
    await made(world)
    file = await asked.get(f"{begun.headers['location']}/file")

    assert "Request the file again" in page.text
    assert foreign == 404
    assert begun.status_code == 303
    assert file.content.decode("utf-8-sig") == "Number,Model\r\nV,\r\n"


@pytest.mark.parametrize(
    ("name", "wrong", "status"),
    [
        ("P", {"list": "secrets"}, 400),
        ("P", {"form": "pdf"}, 400),
        ("P", {"query": "sort=mileage"}, 400),
        ("delegated driver of P", {"list": "sensors", "query": ""}, 403),
        ("carrier", {"query": ""}, 403),
        ("no token", {}, 401),
    ],
)
async def test_what_may_not_be_seen_or_is_no_list_is_refused(world, name, wrong, status):
    assert (await browser(world, name).post("/exports", ASKED | wrong)).status_code == status


@pytest.mark.parametrize(
    ("language", "lines"),
    [
        ("en", ["E-mail address,Role,Company,State", "net@x.example,Carrier,,Enabled"]),
        ("ko", ["이메일 주소,역할,업체,상태", "net@x.example,통신사,,사용 중"]),
    ],
)
async def test_file_of_accounts_has_those_that_the_filters_leave_in_words(world, language, lines):
    asked = browser(world, "platform administrator")
    wanted = {"list": "accounts", "form": "csv", "query": "q=N&role=CARRIER", "columns": "email.role.company.state"}
    begun = await asked.post("/exports", wanted, **{"Accept-Language": language})
    await made(world)

    assert (await asked.get(f"{begun.headers['location']}/file")).content.decode("utf-8-sig").splitlines() == lines


@pytest.mark.parametrize("noun", OF_THE_PLATFORM)
async def test_file_of_the_platform_is_made_for_nobody_else(world, noun):
    asked = browser(world, "operator")
    begun = await asked.post("/exports", {"list": noun, "form": "csv", "query": "", "columns": ""})
    await made(world)
    file = await asked.get(f"{begun.headers.get('location', '/exports/none')}/file")
    _, status = begun.status_code, file.status_code

    assert status != 200
