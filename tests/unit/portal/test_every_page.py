"""Every page as every role and as nobody: opened, followed, and every form sent; what is changed is undone.

Whatever text somebody can store is markup in this world, and shown as text.
"""

import gc
import re
from collections import Counter
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
import jinja2
import msgspec
import pytest
from tests.support import access_world, stores
from tests.support.access_world import Undoing, World
from tests.support.portal import Browser, Page
from tests.support.rest import Rest, changed

from tripline.api import families as rest_families
from tripline.domain import access
from tripline.domain.access import Action, Gate
from tripline.http import operations
from tripline.http.operations import Operation
from tripline.portal.families import FAMILIES
from tripline.portal.frame import views

T = TypeVar("T")
NOBODY = "no token"
ACTORS = (
    NOBODY,
    "platform administrator",
    "carrier",
    "granted",
    "operator",
    "P",
    "R",
    "managing director",
    "delegated director of R",
    "delegated driver of P",
)
"""One of each role and standing, as `access_world` knows them."""
DECLARED = operations.declared(FAMILIES)
PAGES = [each for each in DECLARED if each.answer_type == "text/html"]
SAMPLES = {
    "vehicleId": "V",
    "sensorId": "on V",
    "companyId": "P",
    "directorId": "managing director",
    "driverId": "driver of P",
    "applicationId": "application",
    "accountId": "managing director",
    "userId": "managing director",
    "exportId": "unknown",
    "draftId": "draft of P",
    "requestId": "call on V",
    "tripId": "T",
    "disputeId": "D",
    "linkId": "link of P",
}
"""The thing of `access_world` that stands for an id in a path."""
ELSEWHERE = {"version": "0", "folder": "none", "file": "none"}
"""Values in a path that are no ids."""
CHOSEN = {
    "/fleet/vehicles/activate": "vehicleId",
    "/fleet/vehicles/deactivate": "vehicleId",
    "/fleet/vehicles/delegate": "vehicleId",
    "/delegation/delegate": "vehicleId",
    "/delegation/take-back": "delegation",
}
"""Pages that show what would be done with chosen vehicles, and the field that names them."""
OPENED = {200, 303}
"""What a page that may be opened answers."""
LEAVES = {"POST /sign-out", "POST /account/sessions/end-all"}
"""Forms that lead everybody to the sign-in."""
STOPPED = {400, 403, 404, 409}
"""What it may answer besides: the row is out of reach, or nothing was typed."""
ADDRESSES = {"src", "href", "action", "hx-get", "hx-post", "formaction"}
"""Attributes with what a browser asks for."""
QUERIED = re.compile(r"=-?\w+(?=$|[&#])")
"""A word or number in a query: no id, which names a thing that may be out of reach."""


HOSTILE = "\"'><img src=x onerror=alert(1)><script>alert(1)</script>{{7*7}}"
NO_TEXT = re.compile("mail|passw", re.IGNORECASE)
"""Fields that nobody is shown as sent; a new password would sign its owner out."""
TRIES = 40
"""More than a record has fields."""


async def soil(world: World, each: Operation) -> set[str]:
    """Fill every text of the operation's record with markup, leaving out fields that refuse it; which were filled."""
    known = SAMPLES | ({"userId": "admin of P"} if "/admin/" in each.path else {})
    path = re.sub(r"\{(\w+)\}", lambda found: world.ids[known[found[1]]], each.path)
    body: dict[str, Any] = {
        field.encode_name: HOSTILE
        for field in msgspec.structs.fields(each.request)
        if "str" in repr(field.type) and not NO_TEXT.search(field.encode_name)
    }
    for _ in range(TRIES):
        answer = await world.app.call(world.of("P"), each.method, path, body)
        if answer.status_code == 200:
            return set(body)
        refused = re.search(r"'(\w+)'", answer.json()["message"])
        if refused is None or refused[1] not in body:
            return set()
        del body[refused[1]]
    return set()


async def soiled(rest: Rest) -> tuple[World, dict[str, set[str]]]:
    """The world, with markup in every field that a change over REST can fill with it; the fields, by path."""
    world = await access_world.settled(rest)
    declared = operations.declared(rest_families.FAMILIES)
    changes = [each for each in declared if each.method == "PUT" and isinstance(each.request, type)]
    return world, {each.path: await soil(world, each) for each in changes}


@pytest.fixture
async def world(app: Rest) -> World:
    """The world with something stored in every field, in which nothing lasts."""
    world = World(app)
    first, filled = await app.staged(soiled)
    assert sum(len(fields) for fields in filled.values()) > 20, filled
    world.logins, world.ids = first.logins, first.ids
    app.contexts = changed(app.contexts, store=Undoing(app.store))
    return world


def browser(world: World, name: str) -> Browser:
    return Browser(world.app, world.logins[name])


def addressed(world: World, each: Operation) -> str:
    """The page's address, with a thing in place of each id."""
    others = {value.name: value.example for value in each.in_path}

    def filled(found: re.Match[str]) -> str:
        name = found[1]
        return str(ELSEWHERE.get(name) or others.get(name) or world.ids[SAMPLES[name]])

    return re.sub(r"\{(\w+)\}", filled, each.path)


def is_open_to(world: World, each: Operation, name: str) -> bool:
    """Whether the actor's role may open the page."""
    if each.access is Gate.ANYONE:
        return True
    login = world.logins[name]
    if login is None:
        return False
    return not isinstance(each.access, Action) or login.authority in access.RULES[each.access]


def is_led_to_sign_in(answer: httpx.Response) -> bool:
    if answer.status_code == 303:
        return urlsplit(answer.headers["location"]).path == "/sign-in"
    return answer.status_code == 401


@pytest.mark.parametrize("name", ACTORS)
async def test_page_opens_to_the_roles_that_may_and_leads_only_to_what_its_visitor_may_do(world, name):
    """A link or button that would be refused is not shown; nothing stands inline, and no id twice. What pages hold is
    looked at on one store."""
    asked = browser(world, name)
    wrong: dict[str, int] = {}
    opened: dict[str, httpx.Response] = {}
    for each in PAGES:
        address = addressed(world, each)
        answer = await (asked.get(address) if each.method == "GET" else asked.post(address))
        if not is_right(world, each, name, answer):
            wrong[f"{each.method} {each.path}"] = answer.status_code
        if each.method == "GET":
            opened[address] = answer

    assert (wrong, *(([], {}) if stores.on_postgresql() else await followed(world, asked, opened))) == ({}, [], {})


def is_right(world: World, each: Operation, name: str, answer: httpx.Response) -> bool:
    """Whether the answer to the actor is one that the page may give."""
    if is_open_to(world, each, name):
        is_stray = name != NOBODY and f"{each.method} {each.path}" not in LEAVES and is_led_to_sign_in(answer)
        return answer.status_code in OPENED | STOPPED and not is_stray
    return is_led_to_sign_in(answer) if name == NOBODY else answer.status_code == 403


async def followed(world: World, asked: Browser, opened: dict[str, httpx.Response]) -> tuple[list[str], dict[str, int]]:
    """What is unsafe on these pages and those about chosen vehicles, and which of their links and forms are refused.

    Of links that differ in words of their queries alone, as those of a filter do, one is followed.
    """
    unsafe: list[str] = []
    dead: dict[str, int] = {}
    known = {("GET", address): int(answer.status_code) for address, answer in opened.items()}
    chosen = {address: await asked.post(address, fields) for address, fields in choices(world).items()}
    for address, answer in {**opened, **chosen}.items():
        if answer.status_code != 200:
            continue
        page = Page(answer.text)
        unsafe += [f"{address}: {what}" for what in [*inline(answer, page), *twice(page)]]
        for method, there in led_to(page, address):
            alike = method, QUERIED.sub("=", there)
            if alike not in known:
                known[alike] = await led(asked, method, there)
            if known[alike] not in OPENED | {400, 409, 413}:
                dead[f"{method} {there} on {address}"] = known[alike]
    return unsafe, dead


@pytest.mark.parametrize("name", ["P", "operator", "managing director"])
async def test_markup_that_somebody_stored_is_shown_as_text(world, name):
    """The test above finds none of it among the elements."""

    assert HOSTILE in Page((await browser(world, name).get(f"/fleet/vehicles/{world.ids['V']}")).text).text


@pytest.mark.once("refused before a store is asked")
@pytest.mark.parametrize("name", [NOBODY, "P", "platform administrator"])
async def test_change_that_another_site_asks_for_is_refused_on_every_page(world, name):
    asked = browser(world, name)

    assert {
        path: status
        for path, status in {
            each.path: (await asked.post(addressed(world, each), **{"Sec-Fetch-Site": "cross-site"})).status_code
            for each in DECLARED
            if each.method != "GET"
        }.items()
        if status != 403
    } == {}


def macros() -> Counter[str]:
    """How many there are of each name."""
    return Counter(each.name for each in gc.get_objects() if isinstance(each, jinja2.runtime.Macro))


@pytest.mark.parametrize("name", ["P", "platform administrator"])
async def test_no_page_leaves_its_macros_to_the_garbage_collector(world, name):
    """They hold all that it shows: to collect them takes 50 to 100 ms for each hundred pages, while everybody waits."""
    asked = browser(world, name)
    gc.collect()
    gc.disable()
    try:
        for each in PAGES:
            if each.method == "GET":
                await asked.get(addressed(world, each))
        there = macros()
        gc.collect()
        left = there - macros()
    finally:
        gc.enable()

    assert left == {}


def choices(world: World) -> dict[str, dict[str, str]]:
    """What is sent to each page about chosen vehicles: one that was delegated."""
    vehicle, company = world.ids["V"], world.ids["R"]
    values = {"vehicleId": vehicle, "delegation": f"{vehicle}.{company}"}
    return {address: {field: values[field], "toCompanyId": company} for address, field in CHOSEN.items()}


def inline(answer: httpx.Response, page: Page) -> list[str]:
    """What the page holds that its policy forbids, or loads from elsewhere."""
    found = [] if answer.headers["content-security-policy"] == views.POLICY else ["another policy"]
    for tag, attributes in page.elements:
        found += [f"{tag} {name}" for name in attributes if name == "style" or name.startswith(("on", "hx-on"))]
        if tag == "style" or (tag == "script" and "src" not in attributes):
            found.append(tag)
        for name in ADDRESSES & attributes.keys():
            if re.match(r"[a-z]+:|//", attributes[name] or ""):
                found.append(f"{tag} {name}={attributes[name]}")
    return found


def twice(page: Page) -> list[str]:
    """Ids that more than one element has, so that a label or a link leads to the wrong one."""
    counts = Counter(each["id"] for _, each in page.elements if each.get("id"))
    return [f"id {name} twice" for name, count in counts.items() if count > 1]


def led_to(page: Page, address: str) -> list[tuple[str, str]]:
    """Where the links and forms of a page lead, with their methods; not to other places of the same page."""
    found = [("GET", href) for href in page.hrefs if not href.startswith("#")]
    found += [((each.get("method") or "get").upper(), each.get("action") or address) for each in page.all("form")]
    found += [("POST", each["formaction"] or address) for each in page.all("button") if "formaction" in each]
    found += [("GET", value) for _, each in page.elements if (value := each.get("hx-get"))]
    found += [("POST", value) for _, each in page.elements if (value := each.get("hx-post"))]
    return found


async def led(asked: Browser, method: str, there: str) -> int:
    """The status at the end of a link or form."""
    answer: Any = await (asked.get(there) if method == "GET" else asked.post(there))
    return int(answer.status_code)
