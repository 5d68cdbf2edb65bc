"""Two servers on one database: a share link that is opened, or made, while it ends is gone afterwards."""

import asyncio

import pytest
from sqlalchemy import select
from tests.support import delegating
from tests.unit.portal.sharing.test_shared import PATH, Guest, Street

from tripline.store import tables

ROUNDS = 8


async def by_hand(server, street, link):
    return await server.call(street.borrower, "DELETE", f"{PATH}/sharelink/{link['id']['id']}")


async def take_back(server, street, link):
    return await server.call(street.admin, "DELETE", delegating.delegation(street.borrower, street.vehicle))


async def delegated_again(street):
    """The vehicle as before its take-back."""
    await delegating.delegate(street.app, street.admin, street.borrower, street.vehicle)
    await delegating.give(street.app, street.borrower, street.director, street.vehicle)


async def together(number, *pair):
    """The answers of both; now this one is ahead, now that."""
    answers = await asyncio.gather(*pair[:: -1 if number % 2 else 1])
    return answers[:: -1 if number % 2 else 1]


async def left(server):
    return await server.store.read(lambda tx: tx.all(select(tables.share_link.c.id)))


@pytest.mark.parametrize("of_trip", [False, True], ids=["vehicle", "trip"])
@pytest.mark.parametrize("ends", [by_hand, take_back])
async def test_link_that_is_opened_while_it_ends_shows_nothing_afterwards(servers, ends, of_trip):
    first, second = servers
    street = await Street(first).built()
    trip_id = await street.trip()
    seen = []
    for number in range(ROUNDS):
        shared = street.shared_trip(street.director, trip_id) if of_trip else street.shared(street.director)
        link = await shared
        guest = Guest(second, link)
        opened, ended = await together(number, guest.open(), ends(first, street, link))
        shown = await guest.get("trip" if of_trip else "position")
        seen.append((opened.status_code in (200, 404), ended.status_code, shown.status_code, await left(second)))
        if ends is take_back:
            await delegated_again(street)

    assert seen == [(True, 200, 404, [])] * ROUNDS


async def test_link_that_is_made_while_the_vehicle_is_taken_back_does_not_outlive_that(servers):
    """A link left behind would work again once the vehicle is delegated again."""
    first, second = servers
    street = await Street(first).built()
    address = f"{PATH}/vehicle/{street.vehicle}/sharelink"
    seen = []
    for number in range(ROUNDS):
        made, ended = await together(
            number, second.call(street.director, "POST", address, {}), take_back(first, street, None)
        )
        seen.append((made.status_code in (200, 403), ended.status_code, await left(second)))
        await delegated_again(street)

    assert seen == [(True, 200, [])] * ROUNDS
