"""New accounts."""

import pytest
from sqlalchemy import select
from tests.support import rows

from tripline.domain.access import Actor, Authority
from tripline.domain.ids import TimeIds
from tripline.domain.people import EmailTaken
from tripline.services.accounts import registry
from tripline.store.accounts import accounts
from tripline.store.database import uniqueness
from tripline.store.tables import account
from tripline.store.transactions import WriteTx

IDS = TimeIds(node=1)
NOW_MS = 1_760_000_000_000


def _grant(tx: WriteTx, email: str) -> str:
    return registry.create_alone(tx, Authority.COMPANY_ADMIN, email=email, password_hash="h", ids=IDS, now_ms=NOW_MS)


def test_granted_account_is_a_company_administrator_without_company() -> None:
    with rows.memory() as tx:
        user_id = _grant(tx, " Kim@Fleet.example ")

        found = tx.one(select(account))
        assert found is not None
        assert dict(found._mapping) == {
            "id": user_id,
            "created_ms": NOW_MS,
            "company_id": None,
            "authority": "COMPANY_ADMIN",
            "name": " Kim@Fleet.example ",
            "email": " Kim@Fleet.example ",
            "login": "kim@fleet.example",
            "phone": None,
            "division": None,
            "password_hash": "h",
            "password_updated_ms": NOW_MS,
            "additional_info": None,
            "enabled": True,
            "latest_trip_id": None,
            "language": None,
            "theme": None,
            "history_day": 0,
            "history_written": 0,
        }


def test_platform_administrator_is_an_actor_of_that_role() -> None:
    with rows.memory() as tx:
        user_id = registry.create_alone(
            tx, Authority.SYS_ADMIN, email="root@x.example", password_hash="h", ids=IDS, now_ms=NOW_MS
        )

        assert accounts.actor(tx, user_id) == Actor(user_id, Authority.SYS_ADMIN, None)


@pytest.mark.parametrize("second", ["kim@fleet.example", "KIM@fleet.EXAMPLE", "\tkim@fleet.example "])
def test_second_account_with_the_same_address_is_refused(second: str) -> None:
    with rows.memory() as tx:
        _grant(tx, "kim@fleet.example")

        with pytest.raises(EmailTaken), uniqueness.undone_if_refused(tx):
            _grant(tx, second)
        assert len(tx.all(select(account.c.id))) == 1


@pytest.mark.parametrize(
    ("kept", "typed"),
    [
        ("jose\u0301@fleet.example", "jos\u00e9@fleet.example"),
        ("\uc815@fleet.example", "\u110c\u1165\u11bc@fleet.example"),
        ("kim@fleet.example", "\uff2b\uff29\uff2d@fleet.example"),
        ("\u0130x@fleet.example", "i\u0307X@fleet.example"),
    ],
)
def test_address_written_another_way_is_the_same_account(kept: str, typed: str) -> None:
    with rows.memory() as tx:
        _grant(tx, kept)

        with pytest.raises(EmailTaken):
            _grant(tx, typed)


def test_name_of_a_mebibyte_is_compared_by_its_beginning() -> None:
    # A letter that is eighteen, written in full.
    assert len(accounts.login_form("\ufdfa" * 1_048_576)) == 512 * 18


def test_account_is_found_by_its_address_in_any_letter_case() -> None:
    with rows.memory() as tx:
        user_id = _grant(tx, "Straße@Fleet.example")

        found = accounts.credentials(tx, "STRASSE@fleet.example ")
        assert found == accounts.credentials_of(tx, user_id)
        name = "Straße@Fleet.example"
        assert found == accounts.Credentials(user_id, name, name, Authority.COMPANY_ADMIN, "h", True)


def test_unknown_address_has_no_credentials() -> None:
    with rows.memory() as tx:
        _grant(tx, "kim@fleet.example")

        assert accounts.credentials(tx, "lee@fleet.example") is None
