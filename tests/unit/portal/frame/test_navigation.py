"""The navigation: what is served and permitted, and nothing else."""

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from tripline.domain.access import Action, Actor, Authority, Gate
from tripline.domain.ids import CompanyId, UserId
from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.portal import families
from tripline.portal.frame import navigation
from tripline.portal.frame.visitors import Visitor

PAGES = {
    "/fleet/vehicles": Action.VEHICLE_READ,
    "/fleet/drivers": Action.PERSON_LIST,
    "/import": Action.SENSOR_CREATE,
    "/admin/applications": Action.APPLICATION_REVIEW,
    "/account": Gate.ACCOUNT,
}


def visitor(role: Authority) -> Visitor:
    return Visitor(
        actor=Actor(UserId("u"), role, None),
        name="Kim",
        email="kim@x.example",
        company=None,
        language=Language.ENGLISH,
        theme="system",
    )


def request(path: str = "/account", pages: Any = PAGES) -> Any:
    return SimpleNamespace(
        scope={"path": path},
        app=SimpleNamespace(state={navigation.PAGES: pages, navigation.SECTIONS: families.SECTIONS}),
    )


def led(role: Authority) -> list[str]:
    return [link.href for section in navigation.navigation(request(), visitor(role)) for link in section.links]


@pytest.mark.parametrize(
    ("role", "hrefs"),
    [
        (Authority.SYS_ADMIN, ["/admin/applications"]),
        (Authority.COMPANY_ADMIN, ["/fleet/vehicles", "/fleet/drivers", "/import"]),
        (Authority.DIRECTOR, ["/fleet/vehicles", "/fleet/drivers"]),
        (Authority.DRIVER, ["/fleet/vehicles"]),
        (Authority.CARRIER, []),
    ],
)
def test_visitor_is_led_to_pages_that_are_served_and_open_to_the_role(role, hrefs):
    assert led(role) == hrefs
    assert navigation.first_of(request(), visitor(role)) == (hrefs[0] if hrefs else "/account")


def test_whoever_is_to_register_a_company_begins_with_it():
    served = request(pages={**PAGES, navigation.REGISTRATION: Action.COMPANY_CREATE})

    assert navigation.first_of(served, visitor(Authority.COMPANY_ADMIN)) == navigation.REGISTRATION
    assert navigation.first_of(served, visitor(Authority.SYS_ADMIN)) == "/admin/applications"


def test_platform_administrator_is_led_to_no_company_of_the_own():
    served = request(pages={**PAGES, "/company": Action.COMPANY_READ, "/pushes": Action.PUSH_MANAGE})
    led = {
        role: [section.key for section in navigation.navigation(served, visitor(role))]
        for role in (Authority.SYS_ADMIN, Authority.COMPANY_ADMIN)
    }

    assert "company" not in led[Authority.SYS_ADMIN]
    assert "company" in led[Authority.COMPANY_ADMIN]


@pytest.mark.parametrize(
    ("path", "marked"),
    [
        ("/company", ["company"]),
        ("/fleet/companies/own", ["company"]),
        ("/fleet/companies/own/edit", ["company"]),
        ("/fleet/companies/other", ["fleet"]),
        ("/fleet/companies/own-er", ["fleet"]),
    ],
)
def test_record_of_the_own_company_belongs_to_its_page(path, marked):
    served = request(path, {**PAGES, "/company": Action.COMPANY_READ, "/fleet/companies": Action.COMPANY_LIST})
    somebody = visitor(Authority.COMPANY_ADMIN)
    somebody = replace(somebody, actor=replace(somebody.actor, company_id=CompanyId("own")))

    assert [section.key for section in navigation.navigation(served, somebody) if section.current] == marked


def test_somebody_who_is_not_signed_in_is_led_nowhere():
    assert navigation.navigation(request(), None) == ()


@pytest.mark.parametrize(
    ("path", "current"),
    [
        ("/fleet/vehicles", ["/fleet/vehicles"]),
        ("/fleet/vehicles/1/edit", ["/fleet/vehicles"]),
        ("/fleet/vehiclesque", []),
        ("/import", ["/import"]),
    ],
)
def test_present_page_is_marked_also_below_it(path, current):
    sections = navigation.navigation(request(path), visitor(Authority.COMPANY_ADMIN))

    assert [link.href for section in sections for link in section.links if link.current] == current


@pytest.mark.parametrize(
    ("path", "marked"),
    [
        ("/scores", "/scores"),
        ("/scores/policies", "/scores/policies"),
        ("/scores/companies/1", "/scores"),
        ("/scores/companies/1/policy", "/scores/policies"),
        ("/scores/companies/1/policy/preview", "/scores/policies"),
    ],
)
def test_only_the_nearest_of_two_pages_is_marked(path, marked):
    served = request(path, {**PAGES, "/scores": Action.DRIVING_READ, "/scores/policies": Action.POLICY_CHOOSE})
    sections = navigation.navigation(served, visitor(Authority.COMPANY_ADMIN))

    assert [link.href for section in sections for link in section.links if link.current] == [marked]


@pytest.mark.parametrize("path", ["/fleet/drivers", "/fleet/drivers/1", "/fleet/vehicles"])
def test_area_is_marked_also_on_a_record_whose_list_the_visitor_may_not_open(path):
    served = request(path, {"/fleet/companies": Action.COMPANY_LIST, "/admin/maps": Action.MAP_MANAGE, **PAGES})
    sections = navigation.navigation(served, visitor(Authority.SYS_ADMIN))

    assert [(section.key, section.current) for section in sections] == [("fleet", True), ("admin", False)]
    assert [link.current for link in sections[0].links] == [False]


def test_section_of_one_page_is_called_as_the_page():
    served = request(pages={"/fleet/companies": Action.COMPANY_LIST, **PAGES})
    titles = {
        role: [section.title for section in navigation.navigation(served, visitor(role))]
        for role in (Authority.SYS_ADMIN, Authority.COMPANY_ADMIN, Authority.DRIVER)
    }

    assert titles == {
        Authority.SYS_ADMIN: ["Companies", "Applications"],
        Authority.COMPANY_ADMIN: ["Fleet", "Import"],
        Authority.DRIVER: ["Vehicles"],
    }


@pytest.mark.parametrize(
    ("role", "path", "is_open"),
    [
        (Authority.COMPANY_ADMIN, "/fleet/vehicles", True),
        (Authority.COMPANY_ADMIN, "/admin/applications", False),
        (Authority.COMPANY_ADMIN, "/account", True),
        (Authority.COMPANY_ADMIN, "/nowhere", False),
        (None, "/account", False),
        (None, "/sign-in", True),
    ],
)
def test_page_is_open_to_roles_that_may_and_where_it_is_served(role, path, is_open):
    pages = {**PAGES, "/sign-in": Gate.ANYONE}

    assert navigation.is_open(request(pages=pages), None if role is None else visitor(role), path) is is_open


@pytest.mark.parametrize("language", Language)
def test_every_step_has_a_text(language):
    names = {text for steps in families.SECTIONS.values() for text, _ in steps.values()}
    names |= {f"portal.frame.{section}" for section in families.SECTIONS}

    assert all(catalogue.text(name, language) for name in names)
