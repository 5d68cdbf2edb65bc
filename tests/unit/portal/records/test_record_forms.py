"""Forms of records: refusals at their fields, two windows on one record, deletions, and texts that look like HTML."""

import html
import re

import pytest
from sqlalchemy import update
from tests.support import delegating
from tests.support.portal import Browser, Page

from tripline.domain.access import Authority
from tripline.scoring.rules import Rules
from tripline.store.scores import policies
from tripline.store.tables import account

KOREAN = {"Accept-Language": "ko"}
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
VEHICLE = {"vehicleNo": "12가3456", "mileage": "10"}
SENSOR = {"serialNo": "S", "type": "GPS", "credentialsId": "S" * 20}
PERSON = {"name": "Jung", "email": "jung@ace.example", "password": "pass phrase"}
COMPANY = {"name": "Partner", "picName": "Kim", "picEmail": "pic@partner.example", "picPasswd": "pass phrase"}
PAGES = {
    "/fleet/vehicles": VEHICLE,
    "/fleet/sensors": SENSOR,
    "/fleet/directors": PERSON,
    "/fleet/drivers": PERSON,
    "/fleet/companies": COMPANY,
}


def values(page):
    """What the fields of a page hold."""
    return {each["name"]: each.get("value") for each in page.all("input") if each.get("name")}


def at_fault(page):
    """The fields that a page marks."""
    return [each["name"] for each in page.all("input") if each.get("aria-invalid")]


async def registered(browser, path, **fields):
    """The address of what a form registers."""
    answer = await browser.post(f"{path}/new", {**PAGES[path], **fields})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


@pytest.mark.parametrize("path", [*PAGES, "/fleet/companies/{own}"])
async def test_form_of_a_new_thing_leads_back_twice(app, admin, path):
    back = path.format(own=admin.company_id)
    new = f"{back}/administrators/new" if "{own}" in path else f"{back}/new"
    page = Page((await Browser(app, admin).get(new)).text)
    links = [link["href"] for link in page.all("a") if link.get("href") == back]

    assert len(links) >= 2, back


@pytest.mark.parametrize("form", ["new", "{admin}/edit"])
async def test_form_of_an_administrator_leads_back_to_the_company_by_its_name(app, form):
    up = re.compile(r'<a class="up" href="/fleet/companies/[^/"]+">.*?</svg>([^<]+)</a>')
    _, admin = await app.operator("ace", name="Ace Cars")
    path = f"/fleet/companies/{admin.company_id}/administrators/{form.format(admin=admin.user_id)}"
    browser = Browser(app, admin)
    found = [(await browser.get(path)).text, (await browser.post(path, {"name": ""})).text]

    ups = [up.search(each) for each in found]

    assert [each and each[1] for each in ups] == ["Ace Cars", "Ace Cars"]


@pytest.mark.parametrize(("language", "named"), [({}, "Scoring policy"), (KOREAN, "점수 정책")])
async def test_history_of_a_company_tells_of_its_scoring_policy(app, admin, language, named):
    await app.store.write(lambda tx: policies.keep(tx, Rules(), now_ms=1))
    path = f"/api/tre/v1_3/company/{admin.company_id}/scoring"
    await app.call(admin, "PUT", path, {"policy": 2, "fromTime": 1_790_812_800_000})
    found = await Browser(app, admin).get(f"/fleet/companies/{admin.company_id}/history", **language)

    page = Page(found.text)

    assert named in page.text
    assert "2026-10-01 00:00 UTC" in page.text


@pytest.mark.parametrize(
    ("language", "named"),
    [({}, "GPS: samples, Results of calls, 999"), (KOREAN, "GPS: 샘플, 원격 제어 결과, 999")],
    ids=["en", "ko"],
)
async def test_history_of_a_company_says_in_words_which_messages_were_wanted(app, admin, language, named):
    await app.call(admin, "PUT", f"/company/{admin.company_id}", {"notifyMsgType": "2,300,999"})
    found = await Browser(app, admin).get(f"/fleet/companies/{admin.company_id}/history", **language)

    assert named in Page(found.text).text


@pytest.mark.parametrize(("who", "named"), [("platform", "Register operator"), ("granted", "Register your company")])
async def test_whoever_has_no_company_registers_the_own_one_and_the_platform_an_operator(app, who, named):
    role = Authority.SYS_ADMIN if who == "platform" else Authority.COMPANY_ADMIN
    login = await app.account("who@x.example", role)

    page = Page((await Browser(app, login).get("/fleet/companies/new")).text)

    assert named in page.text
    assert ("this becomes your password" in page.text) == (who == "granted")
    assert ("Becomes the first administrator" in page.text) == (who == "platform")
    back = [
        each["href"]
        for each in page.all("a")
        if each.get("href") == "/fleet/companies" and "button" in each.get("class", "")
    ]
    assert bool(back) == (who == "platform")


@pytest.mark.parametrize(("name", "filled"), [("Jung", "Jung"), ("who@x.example", "")])
async def test_own_company_is_registered_with_the_name_of_the_account_unless_that_is_its_address(app, name, filled):
    login = await app.account("who@x.example", Authority.COMPANY_ADMIN)
    await app.store.write(lambda tx: tx.run(update(account).values(name=name)))

    typed = values(Page((await Browser(app, login).get("/fleet/companies/new")).text))

    assert (typed["picName"], typed["picEmail"]) == (filled, "who@x.example")


@pytest.mark.parametrize("who", ["platform", "granted"])
async def test_form_of_an_operator_is_told_of_every_field_that_is_empty_at_once(app, who):
    role = Authority.SYS_ADMIN if who == "platform" else Authority.COMPANY_ADMIN
    browser = Browser(app, await app.account("who@x.example", role))
    answer = await browser.post("/fleet/companies/new", {**COMPANY, "name": "", "picPasswd": "", "serviceType": ""})

    assert answer.status_code == 400
    assert at_fault(Page(answer.text)) == ["name", "serviceType", "picPasswd"]


@pytest.mark.parametrize(
    ("language", "why"), [("en", "Register the company first."), ("ko", "먼저 업체를 등록하십시오.")]
)
async def test_whoever_has_no_company_yet_is_led_to_register_it_by_every_page_of_one(app, language, why):
    paths = (*PAGES, "/import", "/delegation")

    login = await app.account("who@x.example", Authority.COMPANY_ADMIN)
    found = [await Browser(app, login).get(path, **{"Accept-Language": language}) for path in paths]

    for path, answer in zip(paths, found, strict=True):
        page = Page(answer.text)
        assert answer.status_code == 200, path
        assert why in page.text
        assert "/fleet/companies/new" in page.hrefs
        assert path == "/fleet/companies" or f"{path}/new" not in page.hrefs


@pytest.mark.parametrize("path", PAGES)
async def test_registered_thing_has_a_page_with_its_history(app, admin, path):
    browser = Browser(app, admin)
    there = await registered(browser, path)
    answer, history = await browser.get(there), await browser.get(f"{there}/history")

    assert (answer.status_code, history.status_code) == (200, 200)
    for page in (Page(answer.text), Page(history.text)):
        assert "Registered" in page.text
        assert "Kim" in page.text
        assert ("10.0 km" in page.text) == ("mileage" in PAGES[path])
    name = next(PAGES[path][field] for field in ("vehicleNo", "serialNo", "name") if field in PAGES[path])
    assert f"<h1>History of {name}</h1>" in history.text
    assert f">{name}</a>" in history.text


@pytest.mark.parametrize(
    ("path", "fields", "field", "sentences"),
    [
        ("/fleet/vehicles", {"vehicleNo": ""}, "vehicleNo", ("Vehicle number", "차량번호")),
        ("/fleet/vehicles", {"mileage": "many"}, "mileage", ("Mileage", "누적 주행거리")),
        ("/fleet/vehicles", {"modelYear": "18"}, "modelYear", ("Model year", "연식")),
        ("/fleet/sensors", {"credentialsId": "short"}, "credentialsId", ("Access token", "접속 토큰")),
        ("/fleet/sensors", {"type": ""}, "type", ("Type of device", "단말기 유형")),
        ("/fleet/directors", {"email": "nobody"}, "email", ("E-mail address", "이메일 주소")),
        ("/fleet/drivers", {"password": ""}, "password", ("Password", "비밀번호")),
        ("/fleet/companies", {"picEmail": "nobody"}, "picEmail", ("Contact's e-mail address", "담당자 이메일 주소")),
    ],
)
async def test_refusal_stands_at_its_field_in_both_languages_and_keeps_what_was_typed(
    app, admin, path, fields, field, sentences
):
    browser = Browser(app, admin)
    sent = {**PAGES[path], **fields}
    found = [await browser.post(f"{path}/new", sent, **language) for language in ({}, KOREAN)]

    for answer, label in zip(found, sentences, strict=True):
        page = Page(answer.text)
        kept = {name: text for name, text in {**PAGES[path], **fields}.items() if not re.search("assw", name)}
        assert answer.status_code == 400
        assert at_fault(page) == [field]
        assert label in page.text
        assert kept.items() <= values(page).items()


@pytest.mark.parametrize(
    ("path", "fields", "english", "korean"),
    [
        (
            "/fleet/vehicles",
            {"vehicleNo": "", "mileage": "many", "modelYear": "18", "displacement": "-1"},
            {
                "vehicleNo": "Vehicle number is missing.",
                "mileage": "Mileage must be a number, with digits and a decimal point only.",
                "modelYear": "Model year must be a year of four digits.",
                "displacement": "Displacement must be between 0 and 1,000,000.",
            },
            {
                "vehicleNo": "차량번호: 필수 항목입니다.",
                "mileage": "누적 주행거리: 숫자와 소수점만 쓸 수 있습니다.",
                "modelYear": "연식: 네 자리 연도여야 합니다.",
                "displacement": "배기량: 0 이상 1,000,000 이하여야 합니다.",
            },
        ),
        (
            "/fleet/sensors",
            {"serialNo": "", "type": ""},
            {"serialNo": "Serial number is missing.", "type": "Type of device is missing."},
            {"serialNo": "일련번호: 필수 항목입니다.", "type": "단말기 유형: 필수 항목입니다."},
        ),
        (
            "/fleet/directors",
            {"name": "", "email": "nobody", "password": ""},
            {
                "name": "Name is missing.",
                "email": "E-mail address must look like name@example.com.",
                "password": "Password is missing.",
            },
            {
                "name": "이름: 필수 항목입니다.",
                "email": "이메일 주소: name@example.com 형식이어야 합니다.",
                "password": "비밀번호: 필수 항목입니다.",
            },
        ),
        (
            "/fleet/companies",
            {"name": "", "picEmail": "nobody", "picPasswd": ""},
            {
                "name": "Name is missing.",
                "picEmail": "Contact's e-mail address must look like name@example.com.",
                "picPasswd": "Password of the first administrator is missing.",
            },
            {
                "name": "이름: 필수 항목입니다.",
                "picEmail": "담당자 이메일 주소: name@example.com 형식이어야 합니다.",
                "picPasswd": "첫 업체 관리자의 비밀번호: 필수 항목입니다.",
            },
        ),
    ],
)
async def test_every_field_at_fault_has_its_own_sentence_in_both_languages_and_they_are_summed_up(
    app, admin, path, fields, english, korean
):
    browser = Browser(app, admin)
    found = [await browser.post(f"{path}/new", {**PAGES[path], **fields}, **each) for each in ({}, KOREAN)]

    for answer, told in zip(found, (english, korean), strict=True):
        at_fields = re.findall(r'id="f-(\w+)-error">.*?<span>(.*?)</span>', answer.text)
        summed_up = re.findall(r'<li><a href="#f-(\w+)">(.*?)</a></li>', answer.text)
        assert answer.status_code == 400
        assert at_fields == summed_up
        assert {name: html.unescape(sentence) for name, sentence in summed_up} == told


async def test_change_tells_every_field_at_fault_too(app, admin):
    browser = Browser(app, admin)
    there = await registered(browser, "/fleet/vehicles")
    opened = values(Page((await browser.get(f"{there}/edit")).text))
    answer = await browser.post(f"{there}/edit", {**opened, "vehicleNo": "", "mileage": "many", "displacement": "-1"})

    assert answer.status_code == 400
    assert sorted(at_fault(Page(answer.text))) == ["displacement", "mileage", "vehicleNo"]


@pytest.mark.parametrize(
    ("role", "told"),
    [
        (Authority.COMPANY_ADMIN, "Another administrator of your company can change it."),
        (Authority.DIRECTOR, "A company administrator can change it."),
        (Authority.DRIVER, "A company administrator can change it."),
    ],
)
async def test_own_form_says_who_can_change_the_address(app, admin, role, told):
    who = admin if role is Authority.COMPANY_ADMIN else await app.account("who@x.example", role, admin.company_id)
    kind = {
        Authority.COMPANY_ADMIN: f"companies/{admin.company_id}/administrators",
        Authority.DIRECTOR: "directors",
        Authority.DRIVER: "drivers",
    }[role]

    assert told in Page((await Browser(app, who).get(f"/fleet/{kind}/{who.user_id}/edit")).text).text


async def test_second_of_two_windows_is_told_what_changed_and_loses_nothing(app, admin):
    browser = Browser(app, admin)
    there = await registered(browser, "/fleet/vehicles", vendor="Kia", usage="taxi")
    opened = values(Page((await browser.get(f"{there}/edit")).text))
    first = await browser.post(f"{there}/edit", {**opened, "vendor": "Renault", "usage": "bus"})
    second = await browser.post(f"{there}/edit", {**opened, "vendor": "Hyundai", "modelName": "Ioniq"})
    again = await browser.post(f"{there}/edit", values(Page(second.text)))
    after = values(Page((await browser.get(f"{there}/edit")).text))

    page = Page(second.text)

    assert (first.status_code, second.status_code, again.status_code) == (303, 409, 303)
    assert "Renault" in page.text
    assert page.text.count("Another user saved this record in the meantime") == 1
    shown = values(page)
    assert (shown["vendor"], shown["usage"], shown["modelName"]) == ("Hyundai", "bus", "Ioniq")
    assert (after["vendor"], after["usage"], after["modelName"]) == ("Hyundai", "bus", "Ioniq")


async def test_token_typed_in_the_second_window_is_kept_and_never_shown_by_the_record(app, admin):
    browser = Browser(app, admin)
    there = await registered(browser, "/fleet/sensors")
    form = (await browser.get(f"{there}/edit")).text
    opened = values(Page(form))
    await browser.post(f"{there}/edit", {**opened, "vendor": "Acme"})
    second = await browser.post(f"{there}/edit", {**opened, "credentialsId": "T" * 20})
    pages = [form, (await browser.get(there)).text, (await browser.get(f"{there}/history")).text]
    typed, asked = values(Page(second.text))["credentialsId"], (await browser.get(f"{there}/token")).text

    assert typed == "T" * 20
    assert not [page for page in pages if "S" * 20 in page]
    assert "S" * 20 in asked


@pytest.mark.parametrize(
    ("path", "field", "typed", "shown"),
    [
        ("/fleet/vehicles", "fuelType", "DIESEL", "Diesel"),
        ("/fleet/sensors", "vendor", EVIL, EVIL),
        ("/fleet/directors", "phone", "010-1", "010-1"),
        ("/fleet/drivers", "name", "Kim", "Kim"),
        ("/fleet/companies", "description", "first\r\nsecond", "first\r\nsecond"),
        ("/fleet/companies/{own}/administrators", "phone", "010-1", "010-1"),
    ],
)
async def test_what_was_typed_into_a_record_that_is_gone_is_shown(app, admin, path, field, typed, shown):
    browser, below = Browser(app, admin), path.format(own=admin.company_id)
    if "{own}" in path:
        await browser.post(f"{below}/new", PERSON)
        links = Page((await browser.get(f"/fleet/companies/{admin.company_id}")).text).hrefs
        edits = [link for link in links if link.endswith("/edit") and admin.user_id not in link]
        place = next(link.removesuffix("/edit") for link in edits if "/administrators/" in link)
    else:
        place = await registered(browser, path)
    opened = values(Page((await browser.get(f"{place}/edit")).text))
    gone = await browser.confirm(f"{place}/delete", PAGES.get(path, PERSON).get("name", ""))
    secrets = {"password": "pass phrase", "picPasswd": "pass phrase"}
    sent = await browser.post(f"{place}/edit", {**opened, **secrets, field: typed})
    asked = await browser.get(f"{place}/edit")
    deleted = gone.status_code

    page = Page(sent.text)
    assert (deleted, sent.status_code, asked.status_code) == (303, 404, 404)
    assert "<h1>This record can no longer be opened</h1>" in sent.text
    assert shown in page.text
    assert "pass phrase" not in sent.text
    assert "digest" not in page.text
    assert f"{below}/new" in page.hrefs
    assert "no longer be opened" not in asked.text


async def test_whoever_may_not_register_is_not_led_to_it_by_a_record_that_is_gone(app, admin):
    director = await delegating.director(app, admin, "Director")
    driver = await delegating.driver(app, admin, "Driver")
    place = f"/fleet/drivers/{driver.user_id}"
    await Browser(app, admin).confirm(f"{place}/delete", "Driver")
    answer = await Browser(app, director).post(f"{place}/edit", {"name": "Typed"})

    assert answer.status_code == 404
    assert "Typed" in Page(answer.text).text
    assert "/fleet/drivers/new" not in Page(answer.text).hrefs


@pytest.mark.parametrize("path", PAGES)
async def test_text_that_looks_like_html_is_shown_as_text(app, path):
    fields = dict.fromkeys(("vendor", "usage", "modelName", "additionalInfo", "phone", "region", "description"), EVIL)
    named = {"/fleet/vehicles": "vehicleNo", "/fleet/sensors": "serialNo"}.get(path, "name")

    _, admin = await app.operator("ace")
    browser = Browser(app, admin)
    there = await registered(browser, path, **fields, **{named: EVIL})
    found = [(await browser.get(f"{there}{end}")).text for end in ("", "/edit", "/history", "/delete")]

    for text in found:
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        Page(text)


async def test_deletion_of_a_vehicle_counts_what_goes_and_wants_its_number(app, of):
    vehicle = await delegating.new_vehicle(app, of.owner, "12")
    sensor = (await app.post(of.owner, "/sensor", SENSOR))["id"]["id"]
    await app.post(of.owner, f"/sensor/{sensor}/vehicle/{vehicle}")
    driver = await delegating.driver(app, of.owner, "driver")
    await delegating.give(app, of.owner, driver, vehicle, drive=True)
    browser = Browser(app, of.owner)
    path = f"/fleet/vehicles/{vehicle}"
    asked = await browser.get(f"{path}/delete")
    wrong = await browser.confirm(f"{path}/delete", "13")
    done = await browser.confirm(f"{path}/delete", "12")
    gone, history = await browser.get(path), await browser.get(f"{path}/history")

    for sentence in ("1 sensor is taken off; its record stays.", "1 delegation ends.", "1 right is taken back."):
        assert sentence in Page(asked.text).text
    assert (wrong.status_code, at_fault(Page(wrong.text))) == (400, ["confirm"])
    assert (done.status_code, gone.status_code, history.status_code) == (303, 404, 200)
    assert "Deleted" in Page(history.text).text
    assert "<h1>History</h1>" in history.text
    assert not [each for each in Page(history.text).hrefs if re.fullmatch("/fleet/vehicles/[^/?]+", each)]


async def _more_of_a_vehicle(app, admin, place):
    _, below = await app.partner(admin, "below@x.example")
    await delegating.register(app, admin, below)
    await delegating.delegate(app, admin, below, place.rpartition("/")[2])


async def _more_of_a_sensor(app, admin, place):
    vehicle = await delegating.new_vehicle(app, admin, "77")
    await app.post(admin, f"/sensor/{place.rpartition('/')[2]}/vehicle/{vehicle}")


async def _more_of_a_director(app, admin, place):
    vehicle = await delegating.new_vehicle(app, admin)
    await app.post(admin, f"/vehicle/{vehicle}/director/{place.rpartition('/')[2]}")


async def _more_of_a_driver(app, admin, place):
    browser = Browser(app, admin)
    opened = {**PERSON, **values(Page((await browser.get(f"{place}/edit")).text))}
    await browser.post(f"{place}/edit", {**opened, "name": "Somebody else"})


async def _more_of_a_company(app, admin, place):
    await Browser(app, admin).post(f"{place}/administrators/new", PERSON | {"email": "more@x.example"})


@pytest.mark.parametrize(
    ("path", "more", "told"),
    [
        ("/fleet/vehicles", _more_of_a_vehicle, "1 delegation ends."),
        ("/fleet/sensors", _more_of_a_sensor, "It is taken off 77."),
        ("/fleet/directors", _more_of_a_director, "1 vehicle stays, without a managing director."),
        ("/fleet/drivers", _more_of_a_driver, "Somebody else"),
        ("/fleet/companies", _more_of_a_company, "2 accounts are deleted"),
    ],
)
async def test_deletion_whose_page_is_out_of_date_is_asked_about_again_with_what_goes_now(app, admin, path, more, told):
    browser = Browser(app, admin)
    place = await registered(browser, path)
    asked = Page((await browser.get(f"{place}/delete")).text)
    sent = {**values(asked), "confirm": PAGES[path].get("name", "")}
    await more(app, admin, place)
    again = await browser.post(f"{place}/delete", sent)
    sent = {**values(Page(again.text)), "confirm": sent["confirm"]}
    there = (await browser.get(place)).status_code
    done = await browser.post(f"{place}/delete", sent)

    assert told not in asked.text
    assert again.status_code == 409
    assert "The effects of the deletion changed in the meantime" in Page(again.text).text
    assert told in Page(again.text).text
    assert (there, done.status_code) == (200, 303)


async def test_director_and_driver_are_set_and_taken_back(app, admin):
    vehicle = f"/fleet/vehicles/{await delegating.new_vehicle(app, admin)}"
    director = await delegating.director(app, admin, "Director")
    driver = await delegating.driver(app, admin, "Driver")
    browser = Browser(app, admin)
    steps = [
        await browser.post(f"{vehicle}/activate"),
        await browser.post(f"{vehicle}/director", {"userId": director.user_id}),
        await browser.post(f"{vehicle}/driver", {"userId": driver.user_id}),
    ]
    shown = Page((await browser.get(vehicle)).text).text
    other = await browser.post(f"{vehicle}/driver/unset", {"userId": director.user_id})
    steps.append(await browser.post(f"{vehicle}/driver/unset", {"userId": driver.user_id}))
    steps.append(await browser.post(f"{vehicle}/director/unset", {"userId": director.user_id}))

    assert [each.status_code for each in steps] == [303] * 5
    assert "Director" in shown
    assert "Driver" in shown
    assert other.status_code == 409


@pytest.mark.parametrize(("what", "leads"), [("director", "directors"), ("driver", "drivers")])
async def test_company_without_people_to_choose_is_led_to_registering_one(app, admin, what, leads):
    vehicle = f"/fleet/vehicles/{await delegating.new_vehicle(app, admin)}"

    assert f"/fleet/{leads}/new" in Page((await Browser(app, admin).get(f"{vehicle}/{what}")).text).hrefs


async def test_company_that_owns_something_is_not_deleted_and_the_page_says_why(app, of):
    await delegating.new_vehicle(app, of.below)
    browser = Browser(app, of.operator)
    path = f"/fleet/companies/{of.below.company_id}/delete"
    asked, sent, own = await browser.get(path), await browser.post(path), await browser.get("/company")

    assert "cannot be deleted" in Page(asked.text).text
    assert (asked.status_code, sent.status_code, own.status_code) == (200, 400, 200)


@pytest.mark.parametrize(
    ("language", "told"), [({}, ("Disabled", "It cannot sign in")), (KOREAN, ("사용 중지", "로그인할 수 없습니다"))]
)
async def test_page_of_a_disabled_person_says_so_and_leads_the_platform_to_the_account(app, language, told):
    _, admin = await app.operator("ace")
    driver = await app.account("kim@ace.example", Authority.DRIVER, admin.company_id)
    root = await app.account("root@x.example", Authority.SYS_ADMIN)
    before = await Browser(app, admin).get(f"/fleet/drivers/{driver.user_id}", **language)
    await Browser(app, root).post(f"/admin/accounts/{driver.user_id}/disable")
    path = f"/fleet/drivers/{driver.user_id}"
    seen = [await Browser(app, login).get(path, **language) for login in (admin, root)]
    person, company, (before, of_company, of_platform) = (
        driver.user_id,
        admin.company_id,
        [Page(each.text) for each in (before, *seen)],
    )

    account, up = f"/admin/accounts/{person}", f"/fleet/companies/{company}"
    for word in told:
        assert word not in before.text
        assert word in of_company.text
        assert word in of_platform.text
    assert account not in of_company.hrefs
    assert account in of_platform.hrefs
    assert "/fleet/drivers" in of_company.hrefs
    assert up in [each["href"] for each in of_platform.all("a") if each.get("class") == "up"]


@pytest.mark.parametrize(
    ("role", "told", "never"),
    [
        (Authority.COMPANY_ADMIN, "The company stays as it is", " trip"),
        (Authority.DIRECTOR, "1 vehicle stays, without a managing director.", " trip"),
        (Authority.DRIVER, " ends at once. This cannot be undone.", "managing director"),
    ],
)
async def test_deletion_of_a_person_says_what_is_true_of_the_role(app, admin, role, told, never):
    person = (await app.account("kim@ace.example", role, admin.company_id)).user_id
    path = {
        Authority.COMPANY_ADMIN: f"/fleet/companies/{admin.company_id}/administrators/{person}",
        Authority.DIRECTOR: f"/fleet/directors/{person}",
        Authority.DRIVER: f"/fleet/drivers/{person}",
    }[role]
    if role is Authority.DIRECTOR:
        vehicle = await delegating.new_vehicle(app, admin)
        await Browser(app, admin).post(f"/fleet/vehicles/{vehicle}/director", {"userId": person})

    page = Page((await Browser(app, admin).get(f"{path}/delete")).text)

    assert told in page.text
    assert never not in page.text


async def test_displacement_that_nobody_gave_is_nothing_in_record_form_and_history(app, admin):
    browser = Browser(app, admin)
    there = await registered(browser, "/fleet/vehicles")
    record, form = [Page((await browser.get(path)).text) for path in (there, f"{there}/edit")]
    opened = {**values(form), "vehicleNo": "12가3456"}
    seen = []
    for displacement in ("1998", ""):
        saved = await browser.post(f"{there}/edit", {**opened, "displacement": displacement})
        assert saved.status_code == 303, saved.text
        opened = {**opened, **values(Page((await browser.get(f"{there}/edit")).text))}
        seen.append(opened["displacement"])
    history = Page((await browser.get(f"{there}/history")).text)

    assert "0 cc" not in record.text
    assert values(form)["displacement"] == ""
    assert seen == ["1998", ""]
    assert history.text.count("Displacement") == 2
    assert history.text.count("1,998 cc") == 2
    assert "0 cc" not in history.text


@pytest.mark.parametrize(
    ("shown", "leads"),
    [
        ("", ""),
        ("?q=12&sort=-number", "?q=12&sort=-number"),
        ("/../../elsewhere", ""),
        ("//elsewhere.example", ""),
        ("?q=1\n2", ""),
        ("?q=" + "x" * 2_000, ""),
    ],
)
async def test_deletion_leads_to_the_list_as_the_form_says_it_was_shown_and_nowhere_else(app, shown, leads):
    _, admin = await app.operator("ace")
    path = f"/fleet/vehicles/{await delegating.new_vehicle(app, admin)}/delete"
    browser = Browser(app, admin)
    page = Page((await browser.get(path)).text)
    (field,) = [each for each in page.all("input") if each.get("name") == "list"]
    list_path, done = field["data-list-of"], await browser.post(path, {**values(page), "list": shown})

    assert (list_path, done.status_code) == ("/fleet/vehicles", 303)
    assert done.headers["location"] == f"/fleet/vehicles{leads}"
