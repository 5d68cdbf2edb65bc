"""Pages, counts and sums of trips by start, from each looker, with each filter: 100,000 vehicles and `EACH` trips of
each.

python -m bench.trip_lists sqlite|postgresql [ROUNDS [PART OF A NAME]]

As `bench/lists.py`, whose databases and clocks it uses.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from bench import lists
from tests.support import large_lists, large_trips
from tests.support.large_lists import BIG, LOOKERS

from tripline.domain.access import RULES, Action, Actor, Scope
from tripline.domain.ids import CompanyId, UserId, VehicleId
from tripline.domain.listed_trips import Filters, State, TripSums
from tripline.services.fleet import trip_lists
from tripline.services.scores.reads import TooLong
from tripline.store.listing.pages import PageRequest, Place
from tripline.store.transactions import ReadTx
from tripline.store.trips import trip_list
from tripline.store.trips.trip_list import TripQuery

EACH = 15
FILTERS = {
    "every trip": Filters(),
    "unscored": Filters(state=State.UNSCORED),
    "1 of 1,000": Filters(not_scored="sparse"),
    "score": Filters(min_score=60, max_score=70),
    "over the limit": Filters(over_limit=True),
    "disputed, 1 of 5,000": Filters(disputed=True),
    "none": Filters(min_score=1_000),
}
SUBJECTS: dict[str, dict[str, Any]] = {
    "all": {},
    "vehicle": {"vehicle_id": VehicleId("v1000010-0000-11f1-8000-1d43f3c436cb")},
    "driver": {"user_id": UserId("p1000002-0000-11f1-8000-1d43f3c436cb")},
    "big company": {"company_id": BIG},
    "company of 1,020": {"company_id": CompanyId("c1000003-0000-11f1-8000-1d43f3c436cb")},
}


def cases() -> Iterator[tuple[str, Callable[[ReadTx], Any]]]:
    """Every page, count and sums, with its name."""
    for looker, (authority, user_id, company_id) in LOOKERS.items():
        scope = Scope("bench", RULES[Action.DRIVING_READ][authority], user_id, company_id)
        named = RULES[Action.USER_READ][authority]
        for (of, subject), (what, filters) in ((s, f) for s in SUBJECTS.items() for f in FILTERS.items()):
            first_ms = large_trips.END_MS - 7 * 86_400_000
            query = TripQuery(scope=scope, first_ms=first_ms, last_ms=large_trips.END_MS, filters=filters, **subject)
            for name, place in (("", None), (", deep", Place(first_ms + 3 * 86_400_000, "5"))):
                turn = PageRequest(limit=50, by="start", descending=True, place=place)
                yield (
                    f"{looker}, {of}, {what}{name}",
                    lambda tx, query=query, turn=turn, named=named: trip_list.page(tx, query, turn, named=named),
                )
            yield f"{looker}, {of}, {what}, count", lambda tx, query=query: trip_list.count(tx, query)
            if subject:
                actor = Actor(user_id, authority, company_id)
                yield f"{looker}, {of}, {what}, sums", lambda tx, query=query, actor=actor: summed(tx, actor, query)


def summed(tx: ReadTx, actor: Actor, query: TripQuery) -> TripSums | None:
    """The sums; None: too many trips."""
    try:
        return trip_lists.sums(tx, actor=actor, query=query)
    except TooLong:
        return None


def size_of(found: Any) -> int | None:
    """The number of trips of a page, a count or sums."""
    if found is None or isinstance(found, TripSums):
        return found and found.trips
    return len(found.rows) if hasattr(found, "rows") else found.number


def main() -> None:
    """Make the rows, then measure."""
    store, rounds, part = (*sys.argv[1:], "5", "")[:3] if len(sys.argv) < 3 else (*sys.argv[1:], "")[:3]
    works = (lambda tx: large_lists.fill(tx, lists.COUNT), lambda tx: large_trips.fill(tx, lists.COUNT, EACH))
    with lists.filled(store, *works) as tx:
        measure(tx, int(rounds), part)


def measure(tx: ReadTx, rounds: int, part: str) -> None:
    """Print median and slowest of each case, in ms, then those of all."""
    clock = lists.cpu_s(tx) if tx.shared else time.thread_time
    medians: dict[str, float] = {}
    print(f"load {os.getloadavg()[0]:.1f}; processor time, ms: median and slowest")
    for name, read in cases():
        if part not in name:
            continue
        took = []
        for number in range(rounds + 1):
            began = clock()
            found = read(tx)
            if number:
                took.append((clock() - began) * 1_000)
        medians[name] = statistics.median(took)
        print(f"{medians[name]:8.2f} {max(took):8.2f} | {size_of(found) or 0:5} | {name}", flush=True)
    for kind in ("every trip", "every trip, deep", "", "count", "sums"):
        of_kind = sorted(
            ms
            for name, ms in medians.items()
            if (name.endswith(kind) if kind else not name.endswith(("count", "sums")))
        )
        if of_kind:
            p99 = of_kind[int(len(of_kind) * 0.99)]
            print(f"{len(of_kind)} {kind or 'pages'}: median {statistics.median(of_kind):.2f}, p99 {p99:.2f} ms")
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
