"""Rules of delegating as tables."""

from pathlib import Path

import pytest

from tripline.domain import delegations
from tripline.domain.access import Actor, Authority
from tripline.domain.delegations import Standing, Step, UserRole
from tripline.domain.ids import CompanyId, UserId
from tripline.domain.refusals import NotFound

PAGE = Path(__file__).parents[3] / "docs" / "delegation.md"
A, B = CompanyId("a"), CompanyId("b")


@pytest.mark.parametrize(
    ("standing", "step", "after"),
    [
        (Standing.STRANGER, Step.REGISTER, Standing.CANDIDATE),
        (Standing.CANDIDATE, Step.REMOVE, Standing.STRANGER),
        (Standing.CANDIDATE, Step.DELEGATE, Standing.DELEGATED),
        (Standing.DELEGATED, Step.DELEGATE, Standing.DELEGATED),
    ],
)
def test_standing_that_allows_the_step_moves(standing, step, after):
    assert delegations.standing_after(standing, step) is after


@pytest.mark.parametrize(
    ("standing", "step", "refusal"),
    [
        (Standing.CANDIDATE, Step.REGISTER, delegations.AlreadyRegistered),
        (Standing.DELEGATED, Step.REGISTER, delegations.AlreadyRegistered),
        (Standing.STRANGER, Step.REMOVE, NotFound),
        (Standing.DELEGATED, Step.REMOVE, delegations.HoldsVehicles),
        (Standing.STRANGER, Step.DELEGATE, delegations.NotCandidate),
    ],
)
def test_standing_that_does_not_allow_the_step_refuses(standing, step, refusal):
    with pytest.raises(refusal) as caught:
        delegations.standing_after(standing, step)

    assert type(caught.value) is refusal


def test_every_standing_answers_every_step():
    for standing in Standing:
        for step in Step:
            assert ((standing, step) in delegations.NEXT) != ((standing, step) in delegations.REFUSALS)


@pytest.mark.parametrize(
    ("to_company", "to_service_type", "refusal"),
    [
        (A, "taxi", delegations.OwnCompany),
        (A, "bus", delegations.OwnCompany),
        (B, "bus", delegations.OtherServiceType),
        (B, "Taxi", delegations.OtherServiceType),
    ],
)
def test_rule_1_pair_that_cannot_lend_is_refused(to_company, to_service_type, refusal):
    with pytest.raises(refusal):
        delegations.check_pair(
            from_company=A, from_service_type="taxi", to_company=to_company, to_service_type=to_service_type
        )


def test_rule_1_pair_of_one_service_type_passes():
    delegations.check_pair(from_company=A, from_service_type="taxi", to_company=B, to_service_type="taxi")


@pytest.mark.parametrize(
    ("receiver", "role", "available", "refusal"),
    [
        ("giver", UserRole.DELEGATED_DIRECTOR, True, delegations.Oneself),
        ("giver", UserRole.DELEGATED_DIRECTOR, False, delegations.Oneself),
        ("giver", UserRole.DRIVER, True, None),
        ("another", UserRole.DELEGATED_DIRECTOR, True, None),
        ("another", UserRole.DELEGATED_DIRECTOR, False, delegations.NotDelegatedThere),
        ("another", UserRole.DRIVER, True, None),
        ("another", UserRole.DRIVER, False, delegations.NotDelegatedThere),
    ],
)
def test_rules_2_and_3_receiver_is_another_director_or_a_driver_where_the_vehicle_is(
    receiver, role, available, refusal
):
    def check():
        delegations.check_receiver(giver=UserId("giver"), receiver=UserId(receiver), role=role, available=available)

    if refusal is None:
        check()
    else:
        with pytest.raises(refusal):
            check()


@pytest.mark.parametrize(
    ("authority", "company", "could_give", "may"),
    [
        (Authority.COMPANY_ADMIN, A, False, True),
        (Authority.COMPANY_ADMIN, B, False, False),
        (Authority.COMPANY_ADMIN, B, True, True),
        (Authority.DIRECTOR, A, False, False),
        (Authority.DIRECTOR, A, True, True),
    ],
)
def test_right_is_ended_by_who_could_give_it_or_by_the_owners_administrator(authority, company, could_give, may):
    actor = Actor(UserId("u"), authority, company)

    assert delegations.may_end(actor=actor, owner=A, could_give=could_give) is may


@pytest.mark.parametrize("standing", list(Standing))
def test_users_page_says_what_each_standing_answers_to_each_step(standing):
    def said(step):
        if (standing, step) in delegations.NEXT:
            return delegations.NEXT[standing, step].value
        return f"refused: `{delegations.REFUSALS[standing, step]().code}`"

    row = f"| {standing.value} | {said(Step.REGISTER)} | {said(Step.DELEGATE)} | {said(Step.REMOVE)} |"

    assert row in PAGE.read_text("utf-8").splitlines()
