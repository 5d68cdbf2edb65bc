"""Applying for a service account, and asking for a link after a forgotten password."""

from typing import Any

import pytest
from sqlalchemy import select
from tests.support.portal import Browser, Page
from tests.support.rest import Rest

from tripline.domain.access import Authority
from tripline.store.tables import mail_outbox, service_application

FORM = {
    "serviceName": "Night taxis",
    "companyName": "Hanbit",
    "contactName": "김하늘",
    "mobile": "010",
    "email": "kim@x.example",
    "introduction": "Scores\r\nfor drivers.",
}


async def applications(rest: Rest) -> list[Any]:
    statement = select(service_application.c.email, service_application.c.introduction, service_application.c.language)
    return [tuple(row) for row in await rest.store.read(lambda tx: tx.all(statement))]


@pytest.mark.parametrize("language", ["en", "ko"])
async def test_application_is_kept_in_the_language_of_its_page(app: Rest, language: str) -> None:
    kept = [("kim@x.example", "Scores\nfor drivers.", language)]
    browser = Browser(app)
    answer = await browser.post("/apply", FORM, **{"Accept-Language": language})

    assert (answer.status_code, answer.headers["location"], await applications(app)) == (303, "/apply/sent", kept)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("serviceName", "", "Name of the service is missing."),
        ("email", "no address", "E-mail address"),
        ("introduction", "x" * 4_097, "Description of the service must have at most 4096 characters."),
        ("contactName", "x" * 256, "Name must have at most 255 characters."),
    ],
)
async def test_field_that_is_wrong_is_named_and_the_rest_stays(app: Rest, name: str, value: str, told: str) -> None:
    answer = await Browser(app).post("/apply", {**FORM, name: value})
    page = Page(answer.text)
    values = {each.get("name"): each.get("value") for each in page.all("input")}
    kept = values["companyName"] == "Hanbit" and values["mobile"] == "010"

    assert (answer.status_code, told in page.text, kept, len(await applications(app))) == (400, True, True, 0)


async def test_many_applications_of_one_address_have_to_wait(app: Rest) -> None:
    browser = Browser(app)
    found = [(await browser.post("/apply", {**FORM, "email": f"{n}@x.example"})).status_code for n in range(11)]

    assert found == [303] * 10 + [429]


@pytest.mark.parametrize("email", ["kim@x.example", "nobody@x.example"])
async def test_asking_for_a_link_says_the_same_whoever_asks(app: Rest, email: str) -> None:
    await app.account("kim@x.example", Authority.COMPANY_ADMIN)
    answer = await Browser(app).post("/password", {"email": email})
    mails = await app.store.read(lambda tx: tx.all(select(mail_outbox.c.recipient)))
    found = answer.status_code, answer.headers["location"], [row.recipient for row in mails]

    assert found == (303, "/password/sent", [email])


async def test_address_that_is_none_is_told_at_its_field(app: Rest) -> None:
    answer = await Browser(app).post("/password", {"email": "no address"})

    assert (answer.status_code, "E-mail address" in Page(answer.text).text) == (400, True)


@pytest.mark.parametrize("path", ["/apply", "/apply/sent", "/password", "/password/sent", "/sign-in"])
@pytest.mark.parametrize("language", ["en", "ko"])
async def test_page_of_a_guest_opens_in_both_languages(app: Rest, path: str, language: str) -> None:
    answer = await Browser(app).get(path, **{"Accept-Language": language})
    (root,) = Page(answer.text).all("html")

    assert (answer.status_code, answer.headers["content-language"], root["lang"]) == (200, language, language)
