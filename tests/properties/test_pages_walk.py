"""Whoever follows `nextPageLink` sees every item once, in order, at any limit, however many share an instant."""

import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import rest as support
from tests.support import scores
from tests.support.rest import Login, Rest

from tripline.store.transactions import WriteTx

PER_EXAMPLE = settings(max_examples=25)
BASE_MS = 1_700_000_000_000
instants = st.integers(0, 4)


async def _vehicle(rest: Rest) -> tuple[Login, str]:
    _, owner = await rest.operator("taxi")
    return owner, (await rest.post(owner, "/vehicle", {"vehicleNo": "1", "mileage": 1}))["id"]["id"]


async def _next_page(rest: Rest, owner: Login, path: str, query: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The page's records and the query of the page after it, empty when it is the last."""
    page = await rest.get(owner, path, **query)
    link = page["nextPageLink"]
    assert page["hasNext"] is (link is not None)
    assert len(page["data"]) == query["limit"] if link else len(page["data"]) <= query["limit"]
    return page["data"], {name: value for name, value in (link or {}).items() if value is not None}


def _play(scenario: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        support.run(Path(folder), scenario)


@PER_EXAMPLE
@given(
    made=st.lists(instants, max_size=12),
    limit=st.integers(1, 13),
    ascending=st.booleans(),
    late=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6)), max_size=4),
)
def test_walk_of_scores_gives_every_row_once_in_order_also_with_rows_added_meanwhile(
    made: list[int], limit: int, ascending: bool, late: list[tuple[int, int]]
) -> None:
    async def scenario(rest: Rest) -> None:
        owner, vehicle_id = await _vehicle(rest)
        before: set[str] = set()
        count = 0

        async def add(after_ms: list[int]) -> list[str]:
            nonlocal count

            def work(tx: WriteTx) -> list[str]:
                return [
                    scores.add_score(tx, count + n, vehicle_id, created_ms=BASE_MS + ms)
                    for n, ms in enumerate(after_ms)
                ]

            added = await rest.store.write(work)
            count += len(after_ms)
            return added

        before.update(await add(made))
        path = f"/api/tre/v1_3/vehicle/{vehicle_id}/analytics/drivingScore"
        seen: list[dict[str, Any]] = []
        query: dict[str, Any] = {"limit": limit, "ascOrder": str(ascending)}
        turn = 0
        while query:
            records, query = await _next_page(rest, owner, path, query)
            seen += records
            await add([ms for when, ms in late if when == turn])
            turn += 1

        walked = [record["id"]["id"] for record in seen]
        assert len(set(walked)) == len(walked)
        assert before <= set(walked)
        times = [record["createdTime"] for record in seen]
        assert times == sorted(times, reverse=not ascending)

    _play(scenario)


@PER_EXAMPLE
@given(made=st.lists(st.tuples(instants, instants), max_size=12), limit=st.integers(1, 13), ascending=st.booleans())
def test_walk_of_events_gives_the_rows_of_one_long_page(
    made: list[tuple[int, int]], limit: int, ascending: bool
) -> None:
    async def scenario(rest: Rest) -> None:
        owner, vehicle_id = await _vehicle(rest)

        def work(tx: WriteTx) -> None:
            for number, (created, event) in enumerate(made):
                scores.add_event(tx, number, vehicle_id, created_ms=BASE_MS + created, event_ms=BASE_MS + event)

        await rest.store.write(work)
        path = f"/api/tre/v1_3/vehicle/{vehicle_id}/analytics/gpsEvent"
        whole, _ = await _next_page(rest, owner, path, {"limit": 1000, "ascOrder": str(ascending)})
        query: dict[str, Any] = {"limit": limit, "ascOrder": str(ascending)}
        walked: list[Any] = []
        while query:
            records, query = await _next_page(rest, owner, path, query)
            walked += records

        assert walked == whole
        assert len(whole) == len(made)
        places = [(record["createdTime"], record["eventTs"]) for record in whole]
        assert all(a <= b if ascending else a >= b for a, b in pairwise(places))

    _play(scenario)
