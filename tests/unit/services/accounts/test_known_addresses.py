"""Addresses where accounts signed in lately."""

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


async def test_addresses_of_sessions_that_last_are_read_from_the_store(app: Rest) -> None:
    account = await app.account("kim@fleet.example", Authority.SYS_ADMIN)

    async def open_session(address: str | None) -> None:
        client = Client(None, address)
        await app.store.write(
            lambda tx: login.opened(tx, user_id=account.user_id, tokens=app.tokens, client=client, now_ms=app.now_ms)
        )

    async def read(known: KnownAddresses) -> list[str]:
        await known.read(app.store, now_ms=app.now_ms)
        return [each for each in ("old", "a", "b") if each in known]

    await open_session("old")
    app.now_ms += app.tokens.session_life_ms
    await open_session("a")
    await open_session(None)
    known = KnownAddresses()
    seen = [await read(known)]
    app.now_ms += 3_600_000
    await open_session("b")

    assert [*seen, await read(known), await read(KnownAddresses())] == [["a"], ["a", "b"], ["a", "b"]]
