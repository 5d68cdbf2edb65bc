"""Scopes as SQL: the shapes that other parts rely on. What they mean is held by tests/properties/test_access_scopes."""

import pytest
from sqlalchemy import bindparam, select
from sqlalchemy.dialects import sqlite
from tests.support import rows

from tripline.domain.access import Action, Actor, Authority, Reach, Scope, scope_of
from tripline.domain.ids import CompanyId, UserId
from tripline.store import scopes
from tripline.store.tables import account, company, sensor, trip, vehicle
from tripline.store.transactions import Hot

NOUNS = [
    (scopes.vehicles, vehicle),
    (scopes.sensors, sensor),
    (scopes.accounts, account),
    (scopes.companies, company),
    (scopes.trips, trip),
]
EVERY_REACH = frozenset(Reach) - {Reach.ANY}


def sql(predicate, table, reaches):
    return str(select(table.c.id).where(predicate(reaches)).compile(dialect=sqlite.dialect()))


@pytest.mark.parametrize(("predicate", "table"), NOUNS)
def test_no_reach_is_no_row_and_any_is_every_row(predicate, table):
    assert sql(predicate, table, frozenset()).endswith("WHERE 0 = 1")
    assert sql(predicate, table, frozenset({Reach.ANY, Reach.SELF})).endswith("WHERE 1 = 1")


@pytest.mark.parametrize(("predicate", "table"), NOUNS)
def test_same_reaches_give_the_same_text_so_that_a_statement_is_prepared_once(predicate, table):
    backwards = frozenset(sorted(EVERY_REACH, key=lambda reach: reach.name, reverse=True))

    assert sql(predicate, table, EVERY_REACH) == sql(predicate, table, backwards)


@pytest.mark.parametrize(("predicate", "table"), NOUNS)
def test_predicate_can_stand_in_a_hot_statement(predicate, table):
    hot = Hot(select(predicate(EVERY_REACH)).where(table.c.id == bindparam("id")), "id", scopes.USER, scopes.COMPANY)

    with rows.memory() as tx:
        assert tx.hot(hot, "unknown", "user", "company") == []


def test_values_are_the_scopes_own():
    actor = Actor(UserId("u"), Authority.DRIVER, CompanyId("c"))

    assert scopes.values(scope_of(actor, Action.DRIVING_READ)) == {"scope_user": "u", "scope_company": "c"}
    assert scopes.values(Scope.everything("test")) == {"scope_user": None, "scope_company": None}
