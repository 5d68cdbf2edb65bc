"""The navigation on every page: the sections and pages that a visitor may open.

A page appears if it is served and the visitor's role may open it.

Not here: the sections and their pages (`portal/families.py`), the design of the frame (`templates/frame.html`).
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from types import ModuleType
from typing import Final, TypeAlias

import msgspec

from tripline.domain.access import Action, Authority, Gate
from tripline.http import operations
from tripline.http.context import Call
from tripline.portal.frame.visitors import Visitor

PAGES: Final = "pages"
Pages: TypeAlias = Mapping[str, Action | Gate]
"""The access rule of each page served by GET, by path."""
SECTIONS: Final = "sections"
Sections: TypeAlias = Mapping[str, Mapping[str, tuple[str, str]]]
"""The pages of each section, with the key of the text and an icon."""
ACCOUNT: Final = "/account"
LIVE_MAP: Final = "/map"
"""The first page of operators and directors."""
DRIVE: Final = "/drive"
"""The driver's page: the first page of drivers, found by directors under their account."""
COMPANIES: Final = "/fleet/companies"
VEHICLES: Final = "/fleet/vehicles"
OWN_COMPANY: Final = "/company"
REGISTRATION: Final = "/fleet/companies/new"
_OWN: Final = "company"
"""The section about the visitor's company, hidden from platform administrators."""
_DRIVE: Final = "drive"
"""The section of people who only drive."""
_OPERATORS: Final = (Authority.COMPANY_ADMIN, Authority.DIRECTOR)
_TEXTS: Final = "portal.frame."
_POLICY: Final = re.compile(r"/scores/companies/[^/]+(/policy(?:/.*)?)")
"""Pages of a company's policy, which belong to those of all policies."""
_POLICIES: Final = "/scores/policies"


class Link(msgspec.Struct, frozen=True):
    """A link to a page."""

    href: str
    title: str
    icon: str
    current: bool
    """True if the current page is the target, or below it."""


class Section(msgspec.Struct, frozen=True):
    """A group of at least one page."""

    key: str
    title: str
    """The title of the page, if it is the only one."""
    links: tuple[Link, ...]
    current: bool
    """True if the current page belongs to the section, even below a list that the visitor may not open."""


def pages_of(families: Iterable[ModuleType]) -> Pages:
    """The pages of these families."""
    declared = operations.declared(families)
    return {each.path: each.access for each in declared if each.method == "GET"}


def navigation(request: Call, visitor: Visitor | None) -> tuple[Section, ...]:
    """The sections that the visitor may open; none without a sign-in."""
    if visitor is None:
        return ()
    path = _place(request.scope["path"], visitor)
    pages: Pages = request.app.state[PAGES]
    sections: Sections = request.app.state[SECTIONS]
    found = []
    for key, steps in sections.items():
        links = _links(visitor, pages, path, steps)
        if links and _is_of(key, visitor.role):
            title = links[0].title if len(links) == 1 else visitor.say(_TEXTS + key)
            found.append(Section(key, title, links, _is_below(path, steps)))
    return tuple(found)


def is_open(request: Call, visitor: Visitor | None, path: str) -> bool:
    """True if a page exists at this path and the visitor's role may open it; `visitor` is None without a sign-in."""
    needed = request.app.state[PAGES].get(path)
    if needed is None:
        return False
    return needed is Gate.ANYONE if visitor is None else _is_open(needed, visitor)


def first_of(request: Call, visitor: Visitor) -> str:
    """The visitor's start page; for an account that has to register its company, that form."""
    if visitor.company is None and visitor.role is Authority.COMPANY_ADMIN and leads_to(request, visitor, REGISTRATION):
        return REGISTRATION
    if visitor.role in _OPERATORS and leads_to(request, visitor, LIVE_MAP):
        return LIVE_MAP
    sections = navigation(request, visitor)
    return sections[0].links[0].href if sections else ACCOUNT


def leads_to(request: Call, visitor: Visitor | None, path: str) -> bool:
    """True if the visitor's role may open the page at this path, so that a link is useful.

    `path` is the declared one, or the path of a record.
    """
    pages: Pages = request.app.state[PAGES]
    declared = path if path in pages else next((each for each in pages if _shape(each).fullmatch(path)), None)
    return visitor is not None and declared is not None and _is_open(pages[declared], visitor)


def _is_of(section: str, role: Authority) -> bool:
    """True if the section is in the navigation of the role."""
    if section == _DRIVE:
        return role is Authority.DRIVER
    return section != _OWN or role is not Authority.SYS_ADMIN


def _place(path: str, visitor: Visitor) -> str:
    """The path for the navigation: the record of the visitor's company counts as the company page, its policy as one of
    the policies.
    """
    if _POLICY.fullmatch(path):
        return _POLICIES
    record = f"{COMPANIES}/{visitor.actor.company_id}"
    return OWN_COMPANY + path.removeprefix(record) if _is_below(path, (record,)) else path


@cache
def _shape(declared: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{\w+\}", "[^/]+", declared))


def _is_below(path: str, steps: Iterable[str]) -> bool:
    return any(path == step or path.startswith(f"{step}/") for step in steps)


def _links(visitor: Visitor, pages: Pages, path: str, steps: Mapping[str, tuple[str, str]]) -> tuple[Link, ...]:
    nearest = max((href for href in steps if _is_below(path, (href,))), key=len, default=None)
    return tuple(
        Link(href, visitor.say(text), icon, href == nearest)
        for href, (text, icon) in steps.items()
        if href in pages and _is_open(pages[href], visitor)
    )


def _is_open(needed: Action | Gate, visitor: Visitor) -> bool:
    return visitor.may(needed) if isinstance(needed, Action) else True
