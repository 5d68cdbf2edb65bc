"""Choosing a director or driver: two windows on one vehicle, finding people, and undoing the choice."""

from typing import Any

import pytest
from tests.support import delegating
from tests.support.portal import Browser, Page, form_of
from tests.support.rest import Login, Rest
from tests.support.vehicles import delegate, give_right

WHATS = {"director": "directorId", "driver": "currentDriverId"}
KOREAN = {"Accept-Language": "ko"}


class Office:
    """An administrator whose company has a vehicle, and two people of each role."""

    def __init__(self, app: Rest, admin: Login, vehicle: str) -> None:
        self.app, self.admin, self.vehicle = app, admin, vehicle
        self.path = f"/fleet/vehicles/{vehicle}"
        self.browser = Browser(app, admin)
        self.people: dict[str, list[Login]] = {}

    async def assigned(self, what: str) -> Any:
        """The id of who directs or drives the vehicle."""
        return (await self.app.get(self.admin, f"/vehicle/{self.vehicle}"))[WHATS[what]]["id"]

    async def page(self, address: str, **headers: str) -> Page:
        answer = await self.browser.get(address, **headers)
        assert answer.status_code == 200, answer.text
        return Page(answer.text)


@pytest.fixture
async def office(app: Rest) -> Office:
    _, admin = await app.operator("ace")
    made = Office(app, admin, await delegating.new_vehicle(app, admin))
    for what, make in (("director", delegating.director), ("driver", delegating.driver)):
        made.people[what] = [await make(app, admin, f"{what}{name}") for name in "ab"]
    return made


@pytest.mark.parametrize("what", WHATS)
@pytest.mark.parametrize(("headers", "told"), [({}, "Another user changed the"), (KOREAN, "그사이 다른 사용자가")])
async def test_second_of_two_windows_is_told_who_was_chosen_and_keeps_its_choice(office, what, headers, told):
    first, second = office.people[what]
    path = f"{office.path}/{what}"
    pages = [await office.page(path), await office.page(path, **headers)]
    sent = [form_of(page, path, userId=who.user_id) for page, who in zip(pages, (first, second), strict=True)]
    done = await office.browser.post(path, sent[0])
    refused = await office.browser.post(path, sent[1], **headers)
    between = await office.assigned(what)
    kept = form_of(Page(refused.text), path, userId=second.user_id)
    again = await office.browser.post(path, kept)

    assert [each.status_code for each in (done, refused, again)] == [303, 409, 303]
    page = Page(refused.text)
    assert told in page.text
    assert f"{what}a" in page.text, "who is assigned now"
    assert f"{what}b" in page.text, "who was chosen here"
    assert between == first.user_id, "nothing was overwritten"
    assert await office.assigned(what) == second.user_id


@pytest.mark.parametrize("what", WHATS)
async def test_window_that_takes_somebody_off_takes_nobody_else_off(office, what):
    first, second = office.people[what]
    path = f"{office.path}/{what}"
    await office.browser.post(path, {"userId": first.user_id})
    sent = form_of(await office.page(path), f"{path}/unset")
    await office.browser.post(path, form_of(await office.page(path), path, userId=second.user_id))
    refused = await office.browser.post(f"{path}/unset", sent)
    is_there = await office.assigned(what) == second.user_id
    offered = form_of(Page(refused.text), f"{path}/unset")

    assert refused.status_code == 409
    assert "Another user changed the" in refused.text
    assert is_there
    assert offered["userId"], "who is assigned now can be taken off"


async def test_two_windows_that_choose_the_same_agree(office):
    path, who = f"{office.path}/driver", office.people["driver"][0]
    sent = form_of(await office.page(path), path, userId=who.user_id)
    answers = [await office.browser.post(path, sent) for _ in range(2)]

    assert [each.status_code for each in answers] == [303, 303]
    assert await office.assigned("driver") == who.user_id


async def test_person_whom_another_window_lets_drive_elsewhere_is_not_taken_from_there(office):
    path, who = f"{office.path}/driver", office.people["driver"][0]
    other = await delegating.new_vehicle(office.app, office.admin, "34나5678")
    sent = form_of(await office.page(path), path, userId=who.user_id)
    await office.browser.post(f"/fleet/vehicles/{other}/driver", {"userId": who.user_id})
    refused = await office.browser.post(path, sent)
    stays = (await office.app.get(office.admin, f"/vehicle/{other}"))["currentDriverId"]["id"]
    listed = form_of(await office.page(path), path, userId=who.user_id)
    again = await office.browser.post(path, form_of(Page(refused.text), path, userId=who.user_id))
    stays, is_listed, after = stays == who.user_id, listed["drivesId"] == other, await office.assigned("driver")

    assert refused.status_code == 409
    assert "became the driver of another vehicle" in refused.text
    assert "34나5678" in refused.text
    assert stays
    assert is_listed
    assert (again.status_code, after != "") == (303, True)


async def test_director_of_whom_nothing_may_be_read_is_not_named(app):
    """A delegated vehicle is driven by somebody of the owner's company."""

    of = await delegating.companies(app)
    vehicle = await delegating.new_vehicle(app, of.owner)
    await delegate(app, vehicle, of.owner, of.borrower)
    theirs, ours = [
        await delegating.driver(app, admin, name) for admin, name in ((of.owner, "hidden"), (of.borrower, "ours"))
    ]
    browser, path = Browser(app, of.borrower), f"/fleet/vehicles/{vehicle}/driver"
    sent = form_of(Page((await browser.get(path)).text), path, userId=ours.user_id)
    await Browser(app, of.owner).post(path, {"userId": theirs.user_id})
    refused = await browser.post(path, sent)

    assert refused.status_code == 409
    assert "A person you cannot see" in refused.text
    assert "hidden@" not in refused.text


async def registered(office: Office, count: int) -> None:
    """More drivers, with a name, an address and a telephone number each."""
    for number in range(count):
        body = {
            "name": f"Person {number:02d}",
            "email": f"mail{number:02d}@people.example",
            "phone": f"010-1234-{number:04d}",
            "password": "pass phrase",
        }
        await office.app.post(office.admin, "/driver", body)


def named(page: Page) -> list[str]:
    """The people of the page, by the addresses on their buttons."""
    labels = [each.get("aria-label") or "" for each in page.all("button")]
    return [each.rpartition(", ")[2].partition("@")[0] for each in labels if each.startswith("Choose ")]


@pytest.mark.parametrize("search", ["person 03", "MAIL03", "010-1234-0003", "01012340003"])
async def test_people_are_found_by_name_address_and_telephone_number(office, search):
    await registered(office, 5)

    assert named(await office.page(f"{office.path}/driver?q={search}")) == ["mail03"]


async def test_people_are_paged_to_the_end_and_back(office):
    await registered(office, 25)
    seen, address = [], f"{office.path}/driver?q=person"
    for relation in ("next", "prev"):
        page = await office.page(address)
        seen.append(named(page))
        address = next(each["href"] or "" for each in page.all("a") if each.get("rel") == relation)
    first, second, again = [*seen, named(await office.page(address))]

    assert [*first, *second] == [f"mail{number:02d}" for number in range(25)]
    assert again == first


async def test_choice_that_was_refused_is_kept_while_searching_on(office):
    first, second = office.people["director"]
    path = f"{office.path}/driver"
    await office.browser.post(path, {"userId": first.user_id})
    sent = {"userId": second.user_id}
    refused = Page((await office.browser.post(f"{path}?role=DIRECTOR&q=director", sent)).text)
    search = form_of(refused, path, q="director")
    found = await office.page(f"{path}?role={search['role']}&chosen={search['chosen']}&q=nobody")
    done = await office.browser.post(path, form_of(found, path, userId=second.user_id))
    done, is_set = done.status_code, await office.assigned("driver") == second.user_id

    assert named(refused) == ["directorb"], "the same list beside the refusal"
    assert (named(found), "You chose directorb" in found.text) == ([], True)
    assert (done, is_set) == (303, True)


async def test_drivers_find_themselves_alone(office):
    driver = office.people["driver"][0]
    await give_right(office.app, office.vehicle, driver, "DRIVER")

    assert named(Page((await Browser(office.app, driver).get(f"{office.path}/driver")).text)) == ["drivera"]
