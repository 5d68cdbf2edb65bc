"""Asking for a permission. What each role may do is held by tests/properties/test_access_matrix."""

import pytest
from tests.support.refused import refused

from tripline.domain import access
from tripline.domain.access import Action, Actor, Authority, Reach, Scope
from tripline.domain.ids import CompanyId, UserId
from tripline.domain.refusals import Forbidden, NotFound

ADMIN = Actor(UserId("u"), Authority.COMPANY_ADMIN, CompanyId("c"))
DRIVER = Actor(UserId("d"), Authority.DRIVER, CompanyId("c"))


@pytest.mark.parametrize("action", Action)
def test_every_action_has_a_rule_and_nobody_has_every_row_but_the_platform(action):
    reaching_all = {role for role, reaches in access.RULES[action].items() if Reach.ANY in reaches}

    assert access.RULES[action]
    assert reaching_all <= ({Authority.CARRIER} if action is Action.CARRIER_ACT else {Authority.SYS_ADMIN})


def test_scope_carries_the_reaches_and_the_actor():
    assert access.scope_of(ADMIN, Action.VEHICLE_CREATE) == Scope(
        "vehicle.create", frozenset({Reach.OWN_COMPANY}), UserId("u"), CompanyId("c")
    )


def test_role_without_a_rule_is_forbidden():
    with refused(Forbidden, match="An account with the role DRIVER may not do this"):
        access.scope_of(DRIVER, Action.SENSOR_CREATE)


def test_company_of_an_account_without_one_is_forbidden():
    assert access.company_of(ADMIN) == "c"
    with refused(Forbidden, match="registers its company first"):
        access.company_of(Actor(UserId("u"), Authority.COMPANY_ADMIN, None))


def test_admitted_returns_what_is_inside():
    assert access.admitted(("row", True), "vehicle") == "row"


def test_admitted_says_forbidden_for_foreign_and_not_found_for_unknown():
    with refused(Forbidden, match="This vehicle is outside your reach"):
        access.admitted(("row", False), "vehicle")
    with refused(NotFound, match="There is no vehicle with this id"):
        access.admitted(None, "vehicle")
