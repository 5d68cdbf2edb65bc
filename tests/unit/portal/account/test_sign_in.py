"""Signing in and out with a browser: cookies, links, first start, where it leads; the own account."""

import re
from typing import Any

import httpx
import pytest
from sqlalchemy import select
from tests.support import accounts
from tests.support import rest as support
from tests.support.portal import OWN, Browser, Page
from tests.support.rest import Rest, changed

from tripline.domain.access import Authority
from tripline.domain.ids import UserId
from tripline.portal.frame.static import FOLDER
from tripline.ports.outages import Outage
from tripline.services.accounts import directory, links
from tripline.services.accounts.hash_turns import Requester
from tripline.services.accounts.passwords import Passwords
from tripline.store.tables import account, account_session

EMAIL, PASSWORD = "kim@x.example", "a long pass phrase"
GOOD = {"email": EMAIL, "password": PASSWORD}


async def made(rest: Rest, email: str = EMAIL) -> UserId:
    return await accounts.with_password(rest, email, PASSWORD, Authority.SYS_ADMIN)


async def signed_in(rest: Rest) -> Browser:
    await made(rest)
    browser = Browser(rest)
    answer = await browser.post("/sign-in", GOOD)
    assert answer.status_code == 303, answer.text
    return browser


async def csrf(browser: Browser, path: str = "/account") -> str:
    page = Page((await browser.get(path)).text)
    return next(each["value"] or "" for each in page.all("input") if each.get("name") == "csrf")


def cookie_of(browser: Browser) -> str:
    return browser.http.cookies["tripline"]


def given_by(answer: httpx.Response) -> list[str]:
    """The cookies of an answer, their secrets left out."""
    given = answer.headers.get_list("set-cookie")
    return [re.sub(r"=([0-9a-f-]{36}\.)?[\w-]{43};", "=...;", each) for each in given]


async def sessions(rest: Rest) -> int:
    return len(await rest.store.read(lambda tx: tx.all(select(account_session.c.id))))


async def test_sign_in_gives_a_cookie_that_no_script_reads_and_no_other_site_sends(app):
    await made(app)
    browser = Browser(app)
    answer = await browser.post("/sign-in", {**GOOD, "next": "/account"})
    given = given_by(answer)
    own = await browser.get("/account")

    assert answer.status_code == 303
    assert answer.headers["location"] == "/account"
    assert given == [
        "tripline=...; Max-Age=604800; Path=/; HttpOnly; SameSite=Lax",
        "tripline-known=...; HttpOnly; Max-Age=15552000; Path=/; SameSite=lax",
    ]
    assert own.status_code == 200
    assert EMAIL in own.text


class Noted(Passwords):
    """Passwords that note who comes before strangers."""

    def __init__(self) -> None:
        super().__init__(support.CHEAP)
        self.known: list[bool] = []

    async def matches(self, password: str, kept: str | None, requester: Requester) -> bool:
        self.known.append(requester.known)
        return await super().matches(password, kept, requester)


async def test_browser_that_signed_in_before_comes_before_strangers_from_any_address(app):
    """With the account that it signed in with, and no other."""

    for email in (EMAIL, "lee@x.example"):
        await made(app, email)
    noted = Noted()
    app.change(passwords=noted)
    browser = Browser(app)
    for email in (EMAIL, EMAIL, "lee@x.example"):
        # As if each came from an address where nobody signed in.
        app.contexts.accounts.limits.known._uses.clear()
        await browser.post("/sign-in", {**GOOD, "email": email})
    noted.close()

    assert noted.known == [False, True, False]


async def test_mark_of_a_sign_in_is_of_one_account_and_lets_nobody_in(app):
    browser = await signed_in(app)
    mark = browser.http.cookies["tripline-known"]
    browser.http.cookies.clear()
    browser.http.cookies["tripline-known"] = mark
    marks = app.tokens.mark("kim@x.example"), app.tokens.mark("lee@x.example")
    found = (await browser.get("/account")).status_code, mark == marks[0], mark == marks[1], EMAIL in mark

    assert found == (303, True, False, False)


async def test_cookie_over_https_is_for_this_host_and_https_alone(app):
    await made(app)
    browser = Browser(app)
    answer = await browser.http.post("https://127.0.0.1/sign-in", data=GOOD, headers=OWN)

    assert given_by(answer) == [
        "__Host-tripline=...; Max-Age=604800; Path=/; HttpOnly; SameSite=Lax; Secure",
        "__Host-tripline-known=...; HttpOnly; Max-Age=15552000; Path=/; SameSite=lax; Secure",
    ]


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        ("", "/"),
        ("/fleet/vehicles?q=1", "/fleet/vehicles?q=1"),
        ("//evil.example", "/"),
        ("https://evil.example", "/"),
        ("/\\evil.example", "/"),
        ("/sign-in", "/"),
        ("javascript:alert(1)", "/"),
    ],
)
async def test_sign_in_leads_to_pages_of_ours_alone(app, wanted, there):
    await made(app)
    answer = await Browser(app).post("/sign-in", {**GOOD, "next": wanted})

    assert str(answer.headers["location"]) == there


@pytest.mark.parametrize(
    ("fields", "status", "told"),
    [
        ({"email": EMAIL, "password": "wrong"}, 401, "Invalid username or password."),
        ({"email": "no@x.example", "password": PASSWORD}, 401, "Invalid username or password."),
        ({"email": EMAIL}, 400, "Password"),
        ({"password": PASSWORD}, 400, "E-mail address"),
        ({}, 400, "E-mail address is missing.Password is missing."),
    ],
)
async def test_wrong_or_missing_words_are_told_in_the_form_and_the_address_stays(app, fields, status, told):
    await made(app)
    answer = await Browser(app).post("/sign-in", fields)
    page = Page(answer.text)
    values = [each.get("value") for each in page.all("input") if each.get("name") in ("email", "password")]
    seen = answer.status_code, told in page.text, values, await sessions(app)

    assert seen[:2] == (status, True)
    assert [value or "" for value in seen[2]] == [fields.get("email", ""), ""]
    assert seen[3] == 0


async def test_wait_after_wrong_passwords_is_told_with_its_length(app):
    await made(app)
    browser = Browser(app)
    for _ in range(5):
        await browser.post("/sign-in", {**GOOD, "password": "wrong"})
    answer = await browser.post("/sign-in", GOOD)
    found = answer.status_code, answer.headers["retry-after"], "Try again in 30 seconds." in Page(answer.text).text

    assert found == (429, "30", True)


async def test_disabled_account_does_not_sign_in(app):
    user_id = await made(app)
    await app.store.write(lambda tx: directory.disable(tx, user_id=user_id, now_ms=app.now_ms))

    assert (await Browser(app).post("/sign-in", GOOD)).status_code == 401


@pytest.mark.parametrize(
    "headers", [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"}]
)
async def test_other_site_signs_nobody_in(app, headers):
    await made(app)
    answer = await Browser(app).http.post("/sign-in", data=GOOD, headers=headers)

    assert (answer.status_code, await sessions(app)) == (403, 0)


async def test_planted_cookie_is_replaced_and_good_for_nothing(app):
    attacker = await signed_in(app)
    await made(app, "lee@x.example")
    planted = cookie_of(attacker)
    victim = Browser(app)
    victim.http.cookies.set("tripline", planted)
    await victim.post("/sign-in", {**GOOD, "email": "lee@x.example"})
    own = victim.http.cookies.jar
    fresh = [each.value for each in own if each.name == "tripline" and each.value != planted]
    status = (await attacker.get("/account")).status_code

    assert (len(fresh) == 1, status, await sessions(app)) == (True, 303, 1)


async def test_who_is_signed_in_is_led_on_from_the_sign_in(app):
    answer = await (await signed_in(app)).get("/sign-in?next=/account")

    assert (answer.status_code, answer.headers["location"]) == (303, "/account")


async def test_fresh_installation_says_which_command_makes_the_first_account(app):
    seen = []
    for _ in range(2):
        page = Page((await Browser(app).get("/sign-in")).text)
        has_field = any(each.get("name") == "password" for each in page.all("input"))
        seen.append(("tripline admin create --email" in page.text, has_field))
        if len(seen) == 1:
            await made(app)

    assert seen == [(True, False), (False, True)]


async def test_signing_out_ends_the_session_and_takes_the_cookie(app):
    browser = await signed_in(app)
    thief = Browser(app)
    thief.http.cookies.set("tripline", cookie_of(browser))
    answer = await browser.post("/sign-out", {"csrf": await csrf(browser)})

    assert answer.status_code == 303
    assert answer.headers["location"] == "/sign-in"
    assert answer.headers["set-cookie"].partition(";")[0] == "tripline="
    assert (await thief.get("/account")).status_code == 303
    assert await sessions(app) == 0


@pytest.mark.parametrize(
    "path", ["/sign-out", "/account/sessions/end-all", "/account/password", "/account/preferences"]
)
@pytest.mark.parametrize("token", ["", "wrong"])
async def test_change_without_the_token_of_the_session_changes_nothing(app, path, token):
    browser = await signed_in(app)
    fields = {"csrf": token, "theme": "dark", "currentPassword": PASSWORD}
    fields |= {"newPassword": PASSWORD + "2", "again_password": PASSWORD + "2"}
    answer = await browser.post(path, fields)
    kept = await app.store.read(lambda tx: tx.all(select(account.c.theme, account.c.password_updated_ms)))

    assert (answer.status_code, await sessions(app), [tuple(each) for each in kept]) == (403, 1, [(None, 1)])


async def linked(rest: Rest) -> str:
    await made(rest)
    link = await rest.store.write(
        lambda tx: directory.sign_in_link(tx, email=EMAIL, base="http://127.0.0.1", now_ms=rest.now_ms)
    )
    return link.partition("token=")[2]


async def test_opening_a_link_spends_nothing_and_its_button_signs_in_once(app):
    token = await linked(app)
    browser = Browser(app)
    opened = [(await browser.get(f"{links.SIGN_IN_PATH}?token={token}")).status_code for _ in range(3)]
    entered = await browser.post(links.SIGN_IN_PATH, {"token": token})
    own = await browser.get("/account")
    again = await Browser(app).post(links.SIGN_IN_PATH, {"token": token})
    late = await Browser(app).get(f"{links.SIGN_IN_PATH}?token={token}")
    found = [*opened, entered.status_code, own.status_code, again.status_code, late.status_code]

    assert found == [200, 200, 200, 303, 200, 400, 400]


@pytest.mark.parametrize(("later_ms", "status"), [(899_999, 303), (900_000, 400), (900_001, 400)])
async def test_link_is_good_for_a_quarter_of_an_hour(app, later_ms, status):
    token = await linked(app)
    app.now_ms += later_ms

    assert (await Browser(app).post(links.SIGN_IN_PATH, {"token": token})).status_code == status


@pytest.mark.parametrize("token", ["", "nonsense", "x" * 43])
async def test_link_that_was_never_made_says_how_to_get_one(app, token):
    answer = await Browser(app).get(f"{links.SIGN_IN_PATH}?token={token}")

    assert (answer.status_code, "tripline admin sign-in-link" in answer.text) == (400, True)


async def test_new_password_keeps_this_browser_signed_in_and_ends_every_other_session(app):
    browser = await signed_in(app)
    other = Browser(app)
    await other.post("/sign-in", GOOD)
    before = cookie_of(browser)
    new = "another pass phrase"
    fields = {"currentPassword": PASSWORD, "newPassword": new, "again_password": new}
    answer = await browser.post("/account/password", {**fields, "csrf": await csrf(browser)})
    own, others = await browser.get("/account"), await other.get("/account")
    again = await Browser(app).post("/sign-in", {**GOOD, "password": new})
    found = answer.status_code, cookie_of(browser) != before, own.status_code, others.status_code, again.status_code

    assert found == (303, True, 200, 303, 303)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"currentPassword": "wrong"}, "Current password is not the account"),
        ({"newPassword": "1234567", "again_password": "1234567"}, "New password must have at least 8 characters."),
        ({"again_password": "different"}, "The two passwords are not the same"),
        ({"newPassword": "", "again_password": ""}, "New password is missing.Repeated new password is missing."),
    ],
)
async def test_password_that_cannot_be_set_says_why_at_its_field(app, fields, told):
    browser = await signed_in(app)
    new = "another pass phrase"
    sent = {"currentPassword": PASSWORD, "newPassword": new, "again_password": new, **fields}
    answer = await browser.post("/account/password", {**sent, "csrf": await csrf(browser)})

    assert (answer.status_code, told in Page(answer.text).text, answer.text.count("data-refused")) == (400, True, 1)


async def test_language_and_theme_are_kept_by_the_account(app):
    browser = await signed_in(app)
    seen = []
    for chosen in ({"language": "ko"}, {"theme": "dark"}, {"theme": "system", "language": "en"}, {"theme": "pink"}):
        fields = {**chosen, "next": "/account", "csrf": await csrf(browser)}
        assert (await browser.post("/account/preferences", fields)).headers["location"] == "/account"
        (root,) = Page((await browser.get("/account")).text).all("html")
        seen.append((root["lang"] or "", root["data-theme"] or ""))

    assert seen == [("ko", "system"), ("ko", "dark"), ("en", "system"), ("en", "system")]


async def test_browser_paints_its_bars_in_the_ground_of_the_theme(app):
    style = (FOLDER / "style.css").read_text()
    browser = await signed_in(app)
    seen = []
    for theme in ("system", "light", "dark"):
        fields = {"theme": theme, "next": "/account", "csrf": await csrf(browser)}
        await browser.post("/account/preferences", fields)
        metas = Page((await browser.get("/account")).text).all("meta")
        seen.append([(each["content"], each.get("media")) for each in metas if each.get("name") == "theme-color"])
    system, light, dark = seen

    assert system == [(light[0][0], "(prefers-color-scheme: light)"), (dark[0][0], "(prefers-color-scheme: dark)")]
    assert (light, dark) == ([(light[0][0], None)], [(dark[0][0], None)])
    assert f"--ground: light-dark({light[0][0]}, {dark[0][0]});" in style


async def test_guest_chooses_a_language_that_the_browser_keeps(app):
    await made(app)
    browser = Browser(app)
    seen = []
    for language in ("ko", "en", "xx"):
        await browser.post("/account/preferences", {"language": language, "next": "/apply"})
        (root,) = Page((await browser.get("/apply")).text).all("html")
        seen.append(root["lang"])

    assert seen == ["ko", "en", "en"]


async def test_session_is_signed_out_from_the_list_and_so_are_all_others(app):
    browser = await signed_in(app)
    others = [Browser(app) for _ in range(3)]
    for each in others:
        app.now_ms += 1_000
        await each.post("/sign-in", GOOD)
    page = Page((await browser.get("/account")).text)
    ids = [each["value"] or "" for each in page.all("input") if each.get("name") == "session"]
    assert len(ids) == 4
    await browser.post("/account/sessions/end", {"session": ids[0], "csrf": await csrf(browser)})
    seen = [(await each.get("/account")).status_code for each in (browser, *others)]
    await browser.post("/account/sessions/end-others", {"csrf": await csrf(browser)})
    seen += [(await each.get("/account")).status_code for each in (browser, *others)]
    await browser.post("/account/sessions/end-all", {"csrf": await csrf(browser)})

    assert [*seen, (await browser.get("/account")).status_code] == [200, 200, 200, 303, 200, 303, 303, 303, 303]


async def test_path_that_is_no_page_keeps_the_frame_for_who_is_signed_in_alone(app):
    browser, found = await signed_in(app), []
    await browser.post("/account/preferences", {"csrf": await csrf(browser), "language": "ko"})
    for asked in (browser, Browser(app)):
        for there in ("/nowhere", "/admin/none/x"):
            answer = await asked.get(there)
            page = Page(answer.text)
            found.append((answer.status_code, page.hrefs, page.text))
    *signed, guest, _ = found

    for status, hrefs, text in signed:
        assert status == 404
        assert "/admin/applications" in hrefs
        assert "주소에는 페이지가 없습니다" in text
        assert EMAIL in text
    assert (guest[0], "/admin/applications" in guest[1], EMAIL in guest[2]) == (404, False, False)


class Away:
    """A store that does not answer."""

    async def read_short(self, work: Any) -> Any:
        raise Outage("away")


async def test_path_that_is_no_page_is_told_of_while_the_store_is_away(app):
    cookies = (await signed_in(app)).http.cookies
    app.contexts = changed(app.contexts, store=Away())  # type: ignore[arg-type]
    browser = Browser(app)
    browser.http.cookies = cookies
    answer = await browser.get("/nowhere")
    status, text = answer.status_code, Page(answer.text).text

    assert (status, EMAIL in text) == (404, False)
    assert "Page not found" in text
