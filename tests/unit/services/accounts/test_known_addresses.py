"""Addresses where accounts signed in lately."""

from pathlib import Path

from tests.support import rest as support
from tests.support.rest import Rest

from tripline.domain.access import Authority
from tripline.domain.ids import UserId
from tripline.services.accounts import login
from tripline.services.accounts.limits import OF_ACCOUNT, KnownAddresses
from tripline.services.accounts.sessions import Client

KIM, LEE, PARK = UserId("kim"), UserId("lee"), UserId("park")


def test_account_has_its_latest_addresses() -> None:
    known = KnownAddresses()
    for n in range(OF_ACCOUNT):
        known.add(KIM, f"a{n}")
    known.add(KIM, "a0")
    known.add(KIM, "new")

    assert [f"a{n}" in known for n in range(3)] == [True, False, True]
    assert "new" in known


def test_address_is_known_as_long_as_one_account_has_it() -> None:
    known = KnownAddresses()
    for user_id in (KIM, LEE):
        known.add(user_id, "office")
    for n in range(OF_ACCOUNT):
        known.add(KIM, f"a{n}")

    assert "office" in known
    for n in range(OF_ACCOUNT):
        known.add(LEE, f"b{n}")
    assert "office" not in known


def test_accounts_that_signed_in_longest_ago_are_forgotten_first() -> None:
    known = KnownAddresses(remembered=3)
    for user_id, address in ((KIM, "a"), (LEE, "b"), (KIM, "c"), (PARK, "d")):
        known.add(user_id, address)

    assert [address for address in "abcd" if address in known] == ["a", "c", "d"]


def test_addresses_of_sessions_that_last_are_read_from_the_store(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> list[list[str]]:
        account = await rest.account("kim@fleet.example", Authority.SYS_ADMIN)

        async def open_session(address: str | None) -> None:
            client = Client(None, address)
            await rest.store.write(
                lambda tx: login.opened(
                    tx, user_id=account.user_id, tokens=rest.tokens, client=client, now_ms=rest.now_ms
                )
            )

        async def read(known: KnownAddresses) -> list[str]:
            await known.read(rest.store, now_ms=rest.now_ms)
            return [each for each in ("old", "a", "b") if each in known]

        await open_session("old")
        rest.now_ms += rest.tokens.session_life_ms
        await open_session("a")
        await open_session(None)
        known = KnownAddresses()
        seen = [await read(known)]
        rest.now_ms += 3_600_000
        await open_session("b")
        return [*seen, await read(known), await read(KnownAddresses())]

    assert support.run(tmp_path, scenario) == [["a"], ["a", "b"], ["a", "b"]]
