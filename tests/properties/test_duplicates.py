"""Trips of several sensors on one vehicle: after any order of changes, those count that would from scratch."""

import itertools
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import update
from tests.support import stores
from tests.support.scoring_rows import add_microtrip, played, sample

from tripline.store import tables

STEP_S = 4
METRE = 1 / 111_195.08
SENSORS = [f"{digit * 8}-0000-11b2-8080-808080808080" for digit in "567"]
PIECES = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 5)), min_size=1, max_size=2)
"""Where each begins, and how many intervals it has."""
TRIPS = st.lists(st.tuples(st.sampled_from(SENSORS), PIECES), min_size=2, max_size=5)
CHANGES = st.lists(
    st.tuples(st.sampled_from(["drain", "batch", "late", "short", "long"]), st.integers(0, 4), PIECES), max_size=6
)


def samples_of(pieces):
    return [
        sample(STEP_S * at, 50, lat=36 + STEP_S * at * METRE * 50 / 3.6)
        for at in sorted({at for first, count in pieces for at in range(first, first + count + 1)})
    ]


def covered(pieces):
    """The intervals between samples that are no gap, each by its beginning in seconds."""
    at = sorted({STEP_S * (first + each) for first, count in pieces for each in range(count + 1)})
    return {second for begin, end in itertools.pairwise(at) if end - begin <= 30 for second in range(begin, end)}


def counting(trips):
    """Which of the trips count, decided at once: (sensor, pieces, whether it is long enough)."""
    covers = [covered(pieces) for _, pieces, _ in trips]
    counts = []
    for at in sorted(range(len(trips)), key=lambda at: (-len(covers[at]), at)):
        sensor_id, _, long = trips[at]
        if long and not any(
            trips[other][0] != sensor_id
            and 2 * len(covers[at] & covers[other]) > min(len(covers[at]), len(covers[other]))
            for other in counts
        ):
            counts.append(at)
    return sorted(counts)


@settings(max_examples=stores.examples(30))
@given(TRIPS, CHANGES)
def test_trips_that_count_are_those_decided_from_scratch(trips, changes):
    now = [[sensor_id, list(pieces), True] for sensor_id, pieces in trips]

    async def play(rig):
        nos = [
            await rig.add_trip(samples_of(pieces), sensor_id=sensor_id, distance_m=9_000)
            for sensor_id, pieces, _ in now
        ]
        for what, which, pieces in changes:
            at = which % len(nos)
            if what == "drain":
                await rig.drain()
            elif what == "batch":
                await rig.scorer.score_due()
            else:
                await change(rig, nos[at], now[at], what, pieces)
        await rig.drain()
        scored = {no for (no,) in await rig.rows(tables.driving_score, "trip_no")}
        reasons = dict(await rig.rows(tables.trip, "no", "not_scored"))
        totals = await rig.rows(tables.vehicle_score, "count")
        return [at for at, no in enumerate(nos) if no in scored], [reasons[no] for no in nos], totals

    with tempfile.TemporaryDirectory() as folder:
        found, reasons, totals = played(Path(folder), play)

    expected = counting(now)
    assert found == expected
    assert reasons == [
        None if at in expected else ("duplicate" if long else "too_short") for at, (_, _, long) in enumerate(now)
    ]
    assert totals == ([(len(expected),)] if expected else [])


async def change(rig, no, trip, what, pieces):
    if what == "late":
        trip[1] += pieces
        await rig.write(lambda tx: [add_microtrip(tx, rig.ids, no, each) for each in samples_of(pieces)])
    else:
        trip[2] = what == "long"
        metres = 9_000 if trip[2] else 2_000
        await rig.write(lambda tx: tx.run(update(tables.trip).where(tables.trip.c.no == no).values(distance_m=metres)))
    if not [row for row in await rig.rows(tables.scoring_job, "trip_no") if row == (no,)]:
        await rig.ask_again(no)
