"""Pages of delegation: what is shown to whom, previews that change nothing, and what the buttons do."""

import re

import pytest
from tests.support import delegating
from tests.support.portal import HTMX, Browser, Page

from tripline.portal.frame import addresses
from tripline.services.accounts import directory
from tripline.store.listing.pages import Place

KOREAN = {"Accept-Language": "ko"}


async def shown(app, login, address, **headers):
    answer = await Browser(app, login).get(address, **headers)
    assert answer.status_code == 200, answer.text
    return Page(answer.text)


async def received(app, login):
    page = await app.get(login, f"/company/{login.company_id}/vehicles/delegated", limit=9)
    return [each["vehicleNo"] for each in page["data"]]


def hidden(page, name):
    return [each["value"] for each in page.all("input") if each.get("name") == name and each.get("type") == "hidden"]


@pytest.fixture
async def two(app):
    return await delegating.two_vehicles(app)


@pytest.fixture
def of(two):
    """Companies of which one may delegate its vehicles to another."""
    return two[0]


@pytest.fixture
def vehicles(two):
    return two[1]


async def test_vehicles_are_delegated_after_a_preview_that_changes_nothing(app, of, vehicles):
    browser = Browser(app, of.owner)
    choose = Page((await browser.get("/delegation/new")).text)
    fields = {"toCompanyId": of.borrower.company_id, "vehicleId": [*vehicles, delegating.UNKNOWN]}
    preview = await browser.post("/delegation/delegate", fields)
    before = await received(app, of.borrower)
    page = Page(preview.text)
    again = {
        "toCompanyId": hidden(page, "toCompanyId")[0],
        "vehicleId": hidden(page, "vehicleId"),
        "confirmed": "1",
    }
    done = await browser.post("/delegation/delegate", again)
    listed = await shown(app, of.owner, done.headers["location"])
    after = await received(app, of.borrower)

    assert [each["value"] for each in choose.all("input") if each.get("name") == "vehicleId"] == again["vehicleId"]
    assert (preview.status_code, before) == (200, [])
    assert "2 vehicles would be delegated to Borrower." in preview.text
    assert "1 vehicle stays as it is" in preview.text
    assert "A vehicle you cannot see" in preview.text
    assert (done.status_code, after) == (303, ["12가1", "12가2"])
    assert "12가1" in listed.text


async def test_vehicles_are_taken_back_after_a_preview_of_what_ends(app, of, vehicles):
    for each in vehicles:
        await delegating.delegate(app, of.owner, of.borrower, each)
    driver = await delegating.driver(app, of.borrower, "kim")
    await delegating.give(app, of.borrower, driver, vehicles[0], drive=True)
    await app.store.write(delegating.drives_now(vehicles[0], driver))
    browser = Browser(app, of.owner)
    overview = Page((await browser.get("/delegation")).text)
    boxes = [each["value"] for each in overview.all("input") if each.get("name") == "delegation"]
    preview = await browser.post("/delegation/take-back", {"delegation": boxes[:1]})
    before = await received(app, of.borrower)
    again = {each: hidden(Page(preview.text), each) for each in ("delegation", "digest", "confirmed")}
    done = await browser.post("/delegation/take-back", again)
    preview, after = preview.text, await received(app, of.borrower)

    assert len(boxes) == 2
    assert "1 right to drive" in preview
    assert "0 rights to direct" in preview
    assert "the current driver of 1 vehicle" in preview
    assert before == ["12가1", "12가2"]
    assert (done.status_code, after) == (303, ["12가2"])


async def test_preview_that_is_out_of_date_is_shown_again_with_what_ends_now(app, of, vehicles):
    for each in vehicles:
        await delegating.delegate(app, of.owner, of.borrower, each)
    chosen = [f"{each}.{of.borrower.company_id}" for each in vehicles]
    browser, answers = Browser(app, of.owner), []
    fields = {"delegation": chosen}
    driver = await delegating.driver(app, of.borrower, "kim")
    for _ in range(3):
        answers.append(await browser.post("/delegation/take-back", fields))
        page = Page(answers[-1].text)
        fields = {each: hidden(page, each) for each in ("delegation", "digest", "confirmed")}
        if len(answers) == 1:
            await delegating.give(app, of.borrower, driver, vehicles[0], drive=True)
    after = await received(app, of.borrower)

    assert [each.status_code for each in answers] == [200, 409, 303]
    assert "changed in the meantime; nothing was taken back" in answers[1].text
    assert [text in answers[1].text for text in ("0 rights to drive", "1 right to drive")] == [False, True]
    assert after == []


async def test_what_cannot_be_done_is_told_on_a_page_of_its_own(app, of, vehicles):
    await delegating.delegate(app, of.owner, of.borrower, vehicles[0])
    fields = {"toCompanyId": of.borrower.company_id, "vehicleId": vehicles, "confirmed": "1"}
    answers = []
    for language in ("en", "ko"):
        answer = await Browser(app, of.owner).post("/delegation/delegate", fields, **{"Accept-Language": language})
        answers.append((answer.status_code, answer.text))
    automatic = {"delegation": f"{vehicles[0]}.{of.operator.company_id}", "confirmed": "1"}
    answer = await Browser(app, of.owner).post("/delegation/take-back", automatic)
    ((status, english), (_, korean)), automatic = answers, answer.text

    assert status == 200
    assert "1 vehicle is delegated." in english
    assert "Vehicle: the vehicle is delegated to this company already." in english
    assert "이미 이 업체에 위임된 차량입니다." in korean
    assert "A partner&#39;s vehicle is delegated to its operator for good." in automatic


@pytest.mark.parametrize("fields", [{}, {"vehicleId": "x"}, {"toCompanyId": "x", "vehicleId": delegating.UNKNOWN}])
async def test_choice_that_lacks_something_is_shown_again_with_the_reason(app, of, fields):
    answer = await Browser(app, of.owner).post("/delegation/delegate", fields)

    assert answer.status_code == 400
    assert 'role="alert"' in answer.text


async def test_choice_without_company_and_vehicles_is_told_of_both_with_links_to_them(app, of):
    page = Page((await Browser(app, of.owner).post("/delegation/delegate", {})).text)

    assert "Company is missing.Vehicle: choose at least one." in page.text
    assert {"#f-toCompanyId", "#f-vehicleId"} <= set(page.hrefs)
    assert {"f-toCompanyId", "f-vehicleId"} <= {each.get("id") for tag in ("select", "div") for each in page.all(tag)}


async def test_company_and_vehicles_stay_chosen_through_searches_and_pages(app, of, vehicles, monkeypatch):
    monkeypatch.setattr("tripline.portal.delegation.bulk.PAGE", 1)
    browser = Browser(app, of.owner)
    sent = {"toCompanyId": of.borrower.company_id, "vehicleId": vehicles[:1], "q": "12가"}
    first = await browser.post("/delegation/new", sent)
    (following,) = [at for each in Page(first.text).all("button") if "after=" in (at := each.get("formaction") or "")]
    second = await browser.post(following, sent)
    searched = await browser.post("/delegation/new", {**sent, "q": "12가2"}, **KOREAN)
    refused = await browser.post("/delegation/delegate", {**sent, "toCompanyId": "", "q": "12가2"})
    preview = await browser.post("/delegation/delegate", {**sent, "vehicleId": vehicles})
    company, preview = of.borrower.company_id, preview.text

    def boxes(answer):
        found = [each for each in Page(answer.text).all("input") if each.get("name") == "vehicleId"]
        return [(each["value"], each["type"], "checked" in each) for each in found]

    def companies(answer):
        return [each["value"] for each in Page(answer.text).all("option") if "selected" in each]

    assert [first.status_code, second.status_code, searched.status_code, refused.status_code] == [200, 200, 200, 400]
    assert boxes(first) == [(vehicles[0], "checkbox", True)]
    elsewhere = [(vehicles[1], "checkbox", False), (vehicles[0], "hidden", False)]
    assert [boxes(each) for each in (second, searched, refused)] == [elsewhere] * 3
    assert [companies(each) for each in (first, second, searched)] == [[company]] * 3
    assert "1 more vehicle is selected that is not shown here." in second.text
    assert "여기에 보이지 않는 차량 1대도 선택되어 있습니다." in searched.text
    assert "2 vehicles would be delegated to Borrower." in preview


async def test_operator_chooses_candidates_among_its_partners_that_are_none_yet(app, of):
    browser = Browser(app, of.operator)
    before = await shown(app, of.operator, "/delegation/candidates")
    await delegating.register(app, of.operator, of.below)
    done = await browser.post("/delegation/candidates", {"partnerId": of.borrower.company_id})
    after = await shown(app, of.operator, "/delegation/candidates")
    refused = await browser.post("/delegation/candidates", {"partnerId": of.borrower.company_id})
    partner = await shown(app, of.owner, "/delegation/candidates")

    def choices(page):
        return [each["value"] for each in page.all("option") if each.get("value")]

    assert choices(before) == [of.below.company_id, of.borrower.company_id, of.owner.company_id]
    assert (done.status_code, choices(after)) == (303, [of.owner.company_id])
    assert refused.status_code == 400
    assert 'role="alert"' in refused.text
    assert choices(partner) == []
    assert "Any other company" not in partner.text


async def test_candidates_are_registered_and_removed_and_refusals_are_told_at_the_field(app, of):
    browser = Browser(app, of.owner)
    done = await browser.post("/delegation/candidates", {"toCompanyId": of.below.company_id})
    listed = (await browser.get("/delegation/candidates")).text
    own = await browser.post("/delegation/candidates", {"toCompanyId": of.owner.company_id})
    korean = await browser.post(
        "/delegation/candidates", {"toCompanyId": of.below.company_id}, **{"Accept-Language": "ko"}
    )
    removed = await browser.post("/delegation/candidates/remove", {"toCompanyId": of.below.company_id})
    after = (await browser.get("/delegation/candidates")).text

    assert (done.status_code, removed.status_code) == (303, 303)
    assert "Below" in listed
    assert "Below" not in after
    assert own.status_code == 400
    assert "A company cannot be its own delegation candidate." in own.text
    assert korean.status_code == 400
    assert "이미 위임 후보로 등록된 업체입니다." in korean.text


async def test_company_that_received_vehicles_sees_whose_they_are_and_delegates_none(app, of, vehicles):
    await delegating.delegate(app, of.owner, of.borrower, vehicles[0])
    page = await shown(app, of.borrower, "/delegation/received")
    chain = await shown(app, of.borrower, f"/delegation/vehicles/{vehicles[0]}")
    forbidden = await Browser(app, of.borrower).post(
        "/delegation/delegate", {"toCompanyId": of.below.company_id, "vehicleId": vehicles[0], "confirmed": "1"}
    )

    assert "12가1" in page.text
    assert "Owner" in page.text
    assert "/delegation/delegate" not in [each.get("action") for each in chain.all("form")]
    assert "This vehicle is outside your reach." in forbidden.text


async def test_chain_shows_companies_in_order_with_people_and_what_each_may_do(app, of, vehicles):
    await delegating.delegate(app, of.owner, of.borrower, vehicles[0])
    driver = await delegating.driver(app, of.borrower, "kim")
    await delegating.give(app, of.borrower, driver, vehicles[0], drive=True)
    address = f"/delegation/vehicles/{vehicles[0]}"
    record = await shown(app, of.owner, f"/fleet/vehicles/{vehicles[0]}")
    assert "Delegated toAce, Borrower" in record.text
    assert "Delegated to your company" not in record.text
    record = await shown(app, of.borrower, f"/fleet/vehicles/{vehicles[0]}")
    assert "Delegated to your company" in record.text
    pages = [await shown(app, each, address) for each in (of.operator, of.owner, of.borrower)]
    (operator, owner, _), links = [each.text for each in pages], [each.hrefs for each in pages]

    ends = [sum("/rights/end?" in href for href in each) for each in links]

    assert operator.index("Ace") < operator.index("Owner") < operator.index("Borrower") < operator.index("kim")
    assert "drive it" in operator
    assert "kim" not in owner
    assert "1 right of a person whom only Borrower can see" in owner
    assert ends == [0, 0, 1]


async def test_rights_are_given_and_ended_on_the_chain(app, of, vehicles):
    driver = await delegating.driver(app, of.owner, "kim")
    address = f"/delegation/vehicles/{vehicles[0]}"
    browser = Browser(app, of.owner)
    found = Page((await browser.get(f"{address}?who=ki")).text)
    nobody = (await browser.get(f"{address}?who=zz")).text
    fields = {"userId": driver.user_id, "right": "DRIVER"}
    given = await browser.post(f"{address}/rights", fields)
    twice = await browser.post(f"{address}/rights", fields)
    held = (await app.get(of.owner, f"/driver/{driver.user_id}/relation/vehicles", limit=5))["data"]
    asks = f"{address}/rights/end?userId={driver.user_id}&right=DRIVER"
    ended = await browser.send(f"{address}/rights/end", at=asks)
    left = (await app.get(of.owner, f"/driver/{driver.user_id}/relation/vehicles", limit=5))["data"]

    assert hidden(found, "userId") == [driver.user_id]
    assert "No name, e-mail address or telephone number begins with this." in nobody
    assert (given.status_code, ended.status_code) == (303, 303)
    assert (len(held), left) == (1, [])
    assert twice.status_code == 400
    assert "the driver has this right on the vehicle already" in twice.text


@pytest.mark.parametrize("who", ["KIM", "kim@people", "010"])
async def test_people_who_may_get_a_right_are_found_by_name_address_and_telephone_number(app, of, vehicles, who):
    for role, phone in (("driver", "010-1"), ("director", "010-2"), ("driver", None)):
        name = "kim" if phone else "lee"
        body = {"name": name, "email": f"{name}@people.example{role}", "password": "pass phrase", "phone": phone}
        await app.post(of.owner, f"/{role}", body)
    page = await shown(app, of.owner, f"/delegation/vehicles/{vehicles[0]}?who={who}")
    labels = [each.get("aria-label") or "" for each in page.all("button")]
    found = {each.partition(": ")[2] for each in labels if each.startswith("Allow ")}

    assert found == {"kim, kim@people.exampledriver", "kim, kim@people.exampledirector"}, labels


@pytest.mark.parametrize(
    ("people", "language", "told"),
    [
        (2, "en", ["2 people"]),
        (3, "en", ["3 people"]),
        (4, "en", ["3 people shown", "1 person shown"]),
        (7, "ko", ["3명 표시", "3명 표시", "1명 표시"]),
    ],
)
async def test_people_who_may_get_a_right_are_shown_in_parts_until_the_last(
    app, of, vehicles, monkeypatch, people, language, told
):
    monkeypatch.setattr("tripline.portal.delegation.chains.FOUND", 3)
    # Two of a name, and directors among drivers: the order is one over both roles.
    made = []
    for number in range(people):
        body = {"name": f"kim {number // 2}", "email": f"kim{number}@people.example", "password": "pass phrase"}
        role = "director" if number % 3 == 2 else "driver"
        made.append((await app.post(of.owner, f"/{role}", body))["id"]["id"])
    parts, address = [], f"/delegation/vehicles/{vehicles[0]}?who=ki"
    while address:
        parts.append(await shown(app, of.owner, address, **{"Accept-Language": language}))
        address = next((each["href"] for each in parts[-1].all("a") if each.get("rel") == "next"), None)

    offered = [list(dict.fromkeys(hidden(each, "userId"))) for each in parts]
    assert [each for part in offered for each in part] == made
    assert [
        re.findall(r"^(\d+ (?:people|person)(?: shown)?|\d+명(?: 표시)?)", each.text, re.MULTILINE) for each in parts
    ] == [[each] for each in told]
    assert [any(href.endswith("?who=ki") for href in each.hrefs) for each in parts] == [False] + [True] * (
        len(parts) - 1
    )


async def test_people_behind_the_last_are_none_and_the_first_part_is_a_step_away(app, of, vehicles):
    driver = await delegating.driver(app, of.owner, "kim")
    address = f"/delegation/vehicles/{vehicles[0]}"
    behind = addresses.of_place(Place("zz", driver.user_id))
    page = await shown(app, of.owner, f"{address}?after={behind}")

    assert address in page.hrefs
    assert "Your company has no directors or drivers yet." not in page.text


async def test_right_that_is_refused_leads_on_to_pages_that_can_be_opened(app, of, vehicles, monkeypatch):
    monkeypatch.setattr("tripline.portal.delegation.chains.FOUND", 1)
    people = [await delegating.driver(app, of.owner, name) for name in ("kim", "lee")]
    await delegating.give(app, of.owner, people[0], vehicles[0], drive=True)
    fields = {"userId": people[0].user_id, "right": "DRIVER"}
    refused = await Browser(app, of.owner).post(f"/delegation/vehicles/{vehicles[0]}/rights", fields)
    (following,) = [each["href"] for each in Page(refused.text).all("a") if each.get("rel") == "next"]
    status, offered, second = (
        refused.status_code,
        hidden(await shown(app, of.owner, following), "userId"),
        people[1].user_id,
    )

    assert (status, set(offered) >= {second}) == (400, True)


@pytest.mark.parametrize("address", ["/fleet/vehicles/{}/driver", "/delegation/vehicles/{}"])
async def test_person_who_is_disabled_is_offered_with_the_word(app, of, vehicles, address):
    kim, lee = [await delegating.driver(app, of.owner, name) for name in ("kim", "lee")]
    await app.store.write(lambda tx: directory.disable(tx, user_id=kim.user_id, now_ms=app.now_ms))
    page = await shown(app, of.owner, address.format(vehicles[0]))
    text, offered, people = page.text, hidden(page, "userId"), [kim.user_id, lee.user_id]

    assert offered == people
    assert "kim Disabled" in text
    assert "lee Disabled" not in text


async def test_rights_that_somebody_has_already_are_named_and_not_offered(app, of, vehicles):
    address = f"/delegation/vehicles/{vehicles[0]}"
    names = ("manager", "delegated", "other")
    people = {name: await delegating.director(app, of.owner, name) for name in names}
    await app.post(of.owner, f"/vehicle/{vehicles[0]}/director/{people['manager'].user_id}")
    await delegating.give(app, of.owner, people["delegated"], vehicles[0])
    pages = {"owner": await shown(app, of.owner, address), "manager": await shown(app, people["manager"], address)}
    offered, text = (
        {
            who: {
                name: [
                    right
                    for person, right in zip(hidden(page, "userId"), hidden(page, "right"), strict=True)
                    if person == people[name].user_id
                ]
                for name in names
            }
            for who, page in pages.items()
        },
        pages["owner"].text,
    )

    ours = {
        "manager": ["DRIVER"],
        "delegated": ["DRIVER"],
        "other": ["DELEGATED_DIRECTOR", "DRIVER"],
    }
    assert offered == {"owner": ours, "manager": ours}
    assert text.count("delegated@") == 2


@pytest.mark.parametrize(
    ("who", "statuses"),
    [("manager", (200, 200, 303)), ("idle", (200, 403, 403)), ("driver", (403, 403, 403))],
)
async def test_directors_see_the_chain_of_their_vehicles_and_give_rights_on_it(app, of, vehicles, who, statuses):
    make = delegating.driver if who == "driver" else delegating.director
    person, driver = await make(app, of.owner, who), await delegating.driver(app, of.owner, "kim")
    if who == "manager":
        await app.post(of.owner, f"/vehicle/{vehicles[0]}/director/{person.user_id}")
    address = f"/delegation/vehicles/{vehicles[0]}"
    browser = Browser(app, person)
    given = await browser.post(f"{address}/rights", {"userId": driver.user_id, "right": "DRIVER"})
    overview = await browser.get("/delegation")

    assert (overview.status_code, (await browser.get(address)).status_code, given.status_code) == statuses


@pytest.mark.parametrize(
    ("language", "directing", "driving"),
    [("en", "Their directors", "Their drivers"), ("ko", "상대 업체 관리자", "상대 업체 운전자")],
)
async def test_list_counts_people_of_the_company_that_has_the_vehicle(app, of, vehicles, language, directing, driving):
    manager, driver = await delegating.director(app, of.owner, "lee"), await delegating.driver(app, of.owner, "kim")
    theirs = await delegating.director(app, of.borrower, "jung"), await delegating.driver(app, of.borrower, "choi")
    await app.post(of.owner, f"/vehicle/{vehicles[0]}/director/{manager.user_id}")
    await delegating.give(app, of.owner, driver, vehicles[0], drive=True)
    await delegating.delegate(app, of.owner, of.borrower, vehicles[0])
    address = f"/delegation?company={of.borrower.company_id}"
    before = await shown(app, of.owner, address, **{"Accept-Language": language})
    await delegating.give(app, of.borrower, theirs[0], vehicles[0])
    await delegating.give(app, of.borrower, theirs[1], vehicles[0], drive=True)
    pages = before.text, (await shown(app, of.owner, address, **{"Accept-Language": language})).text

    for text in pages:
        assert text.index(directing) < text.index(driving) < text.index("12가1")
    assert [re.findall(r"^\d$", text.partition("12가1")[2], re.MULTILINE) for text in pages] == [["0", "0"], ["1", "1"]]


async def test_choosing_vehicles_goes_on_behind_the_last_number(app, of, monkeypatch):
    monkeypatch.setattr("tripline.portal.delegation.bulk.PAGE", 1)
    choose = [
        (await shown(app, of.owner, "/delegation/new", **{"Accept-Language": each})).text for each in ("en", "ko")
    ]

    assert ("1 vehicle shown" in choose[0], "차량 1대 표시" in choose[1]) == (True, True)


def delegated(page):
    """The vehicles and companies of a list of delegations, row by row."""
    cells = re.findall(r'<a href="/delegation/vehicles/[^"]+">([^<]+)</a></th>\s*<td><a href="[^"]+">(.*?)</a>', page)
    return [(number, re.sub("<[^>]+>", "", company)) for number, company in cells]


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("", [("12가1", "Ace"), ("12가1", "Borrower"), ("12가2", "Ace")]),
        ("?sort=-number", [("12가2", "Ace"), ("12가1", "Borrower"), ("12가1", "Ace")]),
        ("?q=12가2", [("12가2", "Ace")]),
        ("?lasts=chosen", [("12가1", "Borrower")]),
        ("?lasts=automatic&q=12가1", [("12가1", "Ace")]),
    ],
)
async def test_given_delegations_are_searched_filtered_and_ordered(app, of, vehicles, query, rows):
    await delegating.delegate(app, of.owner, of.borrower, vehicles[0])
    browser = Browser(app, of.owner)
    menus = (await browser.get("/delegation")).text
    of_borrower = f"company={of.borrower.company_id}"
    page, count, is_in_menu, of_borrower = (
        (await browser.get(f"/delegation{query}")).text,
        Page((await browser.get(f"/delegation/count{query}")).text).text,
        f'"/delegation?{of_borrower}"' in menus,
        (await browser.get(f"/delegation?{of_borrower}")).text,
    )

    assert sorted(delegated(page)) == sorted(rows)
    assert [number for number, _ in delegated(page)] == [number for number, _ in rows]
    assert f"{len(rows)} delegation" in count
    assert is_in_menu
    assert delegated(of_borrower) == [("12가1", "Borrower")]
    assert "Of Borrower" in of_borrower


async def test_received_delegations_are_filtered_by_owner_and_by_rights_of_own_people(app, of, vehicles):
    director = await delegating.director(app, of.operator, "lee")
    await delegating.give(app, of.operator, director, vehicles[0])
    browser = Browser(app, of.operator)
    queries = ("", "?used=yes", "?used=no", f"?company={of.owner.company_id}", f"?company={of.below.company_id}")
    whole, used, unused, of_owner, of_other = [
        (await browser.get(f"/delegation/received{each}")).text for each in queries
    ]

    assert delegated(whole) == delegated(of_owner) == [("12가1", "Owner"), ("12가2", "Owner")]
    assert (delegated(used), delegated(unused)) == ([("12가1", "Owner")], [("12가2", "Owner")])
    assert delegated(of_other) == []
    assert "?company=" in whole


async def test_nobody_is_offered_to_take_back_what_is_automatic(app, of, vehicles):
    await delegating.delegate(app, of.owner, of.borrower, vehicles[0])
    page = await shown(app, of.owner, "/delegation")
    chosen = [each["value"] for each in page.all("input") if each.get("name") == "delegation"]
    received = await shown(app, of.operator, "/delegation/received")
    pair, names = f"{vehicles[0]}.{of.borrower.company_id}", [each["name"] for each in received.all("input")]

    assert chosen == [pair]
    assert "delegation" not in names


@pytest.mark.parametrize(
    ("who", "query", "there"),
    [
        ("borrower", "", "/delegation/received"),
        ("borrower", "?tab=out", None),
        ("owner", "", None),
    ],
)
async def test_delegation_leads_to_the_list_that_is_asked_for_or_has_something(app, of, vehicles, who, query, there):
    await delegating.delegate(app, of.owner, of.borrower, vehicles[0])
    answer = await Browser(app, getattr(of, who)).get(f"/delegation{query}")

    assert (answer.status_code, answer.headers.get("location")) == ((200, None) if there is None else (303, there))


async def test_part_that_a_script_asks_for_is_the_content_alone(app, of):
    text = (await Browser(app, of.owner).get("/delegation", **HTMX)).text

    assert "<html" not in text
    assert "<title>Delegated to others</title>" in text


async def test_director_is_not_told_that_another_one_manages_nothing(app, of, vehicles):
    manager, idle = (
        await delegating.director(app, of.owner, "manager"),
        await delegating.director(app, of.owner, "idle"),
    )
    await app.post(of.owner, f"/vehicle/{vehicles[0]}/director/{manager.user_id}")
    shown_to_idle = await shown(app, idle, f"/fleet/directors/{manager.user_id}")
    shown_to_manager = await shown(app, manager, f"/fleet/directors/{idle.user_id}")

    assert "Vehicles you cannot see" in shown_to_idle.text
    assert "This director manages no vehicle." in shown_to_manager.text


async def test_director_is_told_who_has_the_vehicles_that_they_direct_and_when_that_ends(app, of, vehicles):
    director = await delegating.director(app, of.owner, "jung")
    of_borrower = [await delegating.director(app, of.borrower, "lee"), await delegating.driver(app, of.borrower, "kim")]
    await app.post(of.owner, f"/vehicle/{vehicles[0]}/director/{director.user_id}")
    for each in vehicles:
        await delegating.delegate(app, of.owner, of.borrower, each)
    await delegating.give(app, of.borrower, of_borrower[0], vehicles[0])
    await delegating.give(app, of.borrower, of_borrower[1], vehicles[0], drive=True)
    whole, chain = await shown(app, director, "/delegation"), f"/delegation/vehicles/{vehicles[0]}"

    assert [each for each in whole.hrefs if each.startswith("/delegation/vehicles/")] == [chain] * 2
    (table,) = re.findall(r"Lasts(.*)", whole.text, re.DOTALL)
    cells = [each for each in table.split("\n") if each.strip()]
    by_company = {cells[at + 1]: cells[at + 2 : at + 6] for at, each in enumerate(cells) if each == "12가1"}
    assert sorted(by_company) == ["Ace", "Borrower"]
    assert by_company["Borrower"][1:] == ["1", "1", "Until it is taken back; 2 rights end with it"]
    assert by_company["Ace"][1:] == ["0", "0", "For good: a partner's vehicle is always delegated to its operator"]
    assert "12가2" not in whole.text


@pytest.mark.parametrize(("language", "told"), [("en", "Delegate vehicles"), ("ko", "차량 위임")])
async def test_company_without_delegations_is_offered_a_delegation_once(app, of, language, told):
    page = await shown(app, of.owner, "/delegation", **{"Accept-Language": language})

    assert (page.hrefs.count("/delegation/new"), page.text.count(told)) == (1, 1)
