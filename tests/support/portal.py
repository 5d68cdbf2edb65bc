"""The portal inside the test's process: pages asked for as a browser does, and read as elements."""

import json
from collections.abc import Iterable
from functools import cache
from html.parser import HTMLParser
from types import ModuleType
from typing import Any

import httpx
from litestar import Litestar
from msgspec import structs

from tests.support import launcher
from tests.support.rest import ORIGIN, Client, Login, Rest
from tripline.api import families as rest_families
from tripline.http import middleware
from tripline.http.application import routed_app
from tripline.http.context import Contexts
from tripline.portal import families
from tripline.portal.frame import navigation, troubles

HTMX = {"HX-Request": "true"}
OWN = {"Sec-Fetch-Site": "same-origin"}
"""What browsers say of a form of this site."""
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Page(HTMLParser):
    """The elements of a page with their attributes, and its text. Raises `AssertionError` for elements that are not
    closed in the order in which they were opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._texts: list[str] = []
        self._hidden: dict[str, dict[str, list[str]]] = {}
        self._form: str | None = None
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == [], "elements left open"
        self.text = "".join(self._texts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.elements.append((tag, named))
        if tag == "form":
            self._form = named.get("action") or ""
            self._hidden.setdefault(self._form, {})
        elif tag == "input" and self._form is not None and named.get("type") == "hidden":
            self._hidden[self._form].setdefault(named["name"] or "", []).append(named.get("value") or "")
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag, f"</{tag}> closes another element"
        if tag == "form":
            self._form = None

    def handle_data(self, data: str) -> None:
        self._texts.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of every element with this tag."""
        return [attributes for name, attributes in self.elements if name == tag]

    def hidden(self, action: str) -> dict[str, list[str]]:
        """The hidden fields of the form that is sent to this address; empty: there is none."""
        return self._hidden.get(action, {})

    @property
    def hrefs(self) -> list[str]:
        """Where its links lead."""
        return [each["href"] or "" for each in self.all("a") if "href" in each]


def form_of(page: Page, action: str, **values: str) -> dict[str, str]:
    """The fields of the page's form that is sent to this path and has these values."""
    found: list[dict[str, str]] = []
    fields: dict[str, str] = {}
    for tag, each in page.elements:
        if tag == "form":
            fields = {}
            if (each.get("action") or "").partition("?")[0] == action:
                found.append(fields)
        elif tag == "input" and each.get("name"):
            fields[each["name"] or ""] = each.get("value") or ""
    return next(each for each in found if values.items() <= each.items())


def live(page: Page) -> dict[str, str | None] | None:
    """The attributes of the part that renews itself; None: none does."""
    parts = [each for each in page.all("div") if "data-live" in each and "hx-get" in each]
    return parts[0] if parts else None


class Browser:
    """Asks for pages as one account, or as nobody."""

    def __init__(self, rest: Rest, login: Login | None = None, *, pages: Iterable[ModuleType] = ()) -> None:
        app = application(rest.contexts, tuple(pages))
        headers = {} if login is None else {"X-Authorization": f"Bearer {login.token}"}
        transport = httpx.ASGITransport(app=app)  # type: ignore[arg-type]
        self.http = Client(transport=transport, base_url=ORIGIN, headers=headers)

    async def get(self, address: str, **headers: str) -> httpx.Response:
        """A page."""
        return await self.http.get(address, headers=headers)

    async def confirm(self, address: str, word: str = "") -> httpx.Response:
        """The answer to the page that asks before a deletion, sent as it is now, with this word typed."""
        hidden = Page((await self.get(address)).text).all("input")
        digest = next((each["value"] for each in hidden if each.get("name") == "digest"), "")
        return await self.post(address, {"digest": digest, "confirm": word})

    async def send(self, address: str, fields: Any = None, *, at: str = "", **headers: str) -> httpx.Response:
        """The answer to the form that is sent to this address, as the page there, or `at`, shows it now, with these
        fields changed; to the fields alone where there is none."""
        shown = await self.get(at or address)
        try:
            form = form_of(Page(shown.text), address)
        except StopIteration:
            form = {}
        return await self.post(address, {**form, **(fields or {})}, **headers)

    async def renew(self, part: dict[str, str | None]) -> httpx.Response:
        """What a part that renews itself is answered."""
        asks = {**HTMX, "HX-Target": part["id"] or ""}
        was = json.loads(part["hx-vals"] or "")
        return await self.http.get(part["hx-get"] or "", params=was, headers=asks)

    async def post(self, address: str, fields: Any = None, **headers: str) -> httpx.Response:
        """The answer to a form of this site."""
        return await self.http.post(address, data=fields or {}, headers=OWN | headers)


def application(contexts: Contexts, pages: tuple[ModuleType, ...] = ()) -> Any:
    """REST and the portal over these parts, until the next one is asked for; `pages`: families beside its own."""
    routes = _routes(pages)
    routes.state.update(structs.asdict(contexts))
    return middleware.surrounded(routes)


@cache
def _routes(pages: tuple[ModuleType, ...]) -> Litestar:
    launcher.keep_templates()
    of_portal = (*families.FAMILIES, *pages)
    state = {
        **rest_families.STATE,
        navigation.PAGES: navigation.pages_of(of_portal),
        navigation.SECTIONS: families.SECTIONS,
    }
    return routed_app((*rest_families.FAMILIES, *of_portal), state, tell=troubles.tell)


def family(*handlers: Any) -> ModuleType:
    """Pages of a test's own."""
    made = ModuleType("pages")
    made.handlers = list(handlers)  # type: ignore[attr-defined]
    return made
