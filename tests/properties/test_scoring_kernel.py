"""The kernel on any drive: grouping and order of arrival do not matter, and a plain reading agrees.

The plain reading is a second implementation of spec/scoring 2 to 5 with loops and no arrays, written from the rules.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import made_drives

from tripline.scoring import kernel
from tripline.scoring.findings import Events
from tripline.scoring.geometry import EARTH_RADIUS_M
from tripline.scoring.rules import Column, EventType, Rules

CHANGES = st.one_of(st.integers(-20, 20), st.floats(-40, 40).map(lambda v: round(v, 2)), st.just(made_drives.NAN))
INTERVALS = st.sampled_from([1.0, 1.0, 1.0, 1.0, 0.5, 0.3, 0.92, 1.5, 2.0, 4.0, 5.0, 5.5, 6.0, 0.0])


@st.composite
def trips(draw):
    """One trip: times that may stand or overlap, speeds with holes."""
    speed, now = [], draw(st.sampled_from([0, 5, 40, 118]))
    for change in draw(st.lists(CHANGES, max_size=40)):
        now = now if np.isnan(change) else round(min(max(now + change, 0), 150), 2)
        speed.append(made_drives.NAN if np.isnan(change) else now)
    steps = draw(st.lists(INTERVALS, min_size=len(speed), max_size=len(speed)))
    return {
        "speed": speed,
        "t": np.cumsum(steps).tolist(),
        "lat": [36 + i % 2 * 1e-4 for i in range(len(speed))],  # too rough to contradict speeds
        "column": draw(st.sampled_from(list(Column))),
        "stated_m": draw(st.sampled_from([made_drives.NAN, 10_000.0])),
    }


def told(findings, trip):
    """Everything found of one trip as plain values."""
    own = findings.events.trip == trip
    events = [getattr(findings.events, name)[own].tolist() for name in Events.__struct_fields__[1:]]
    return (
        findings.distance_m[trip],
        findings.instants[trip],
        findings.dense[trip],
        findings.over_s[trip],
        findings.quality(trip),
        findings.style[trip],
        list(zip(*events, strict=True)),
    )


@given(st.lists(trips(), min_size=1, max_size=8), st.integers(1, 60))
def test_findings_of_a_trip_do_not_depend_on_its_company_or_block(many, block):
    usual = kernel.BLOCK
    together = made_drives.findings(*many)
    try:
        kernel.BLOCK = block
        in_blocks = made_drives.findings(*many)
    finally:
        kernel.BLOCK = usual

    for trip, one in enumerate(many):
        alone = told(made_drives.findings(one), 0)
        assert told(together, trip) == alone
        assert told(in_blocks, trip) == alone


@given(trips(), st.randoms(use_true_random=False))
def test_order_of_arrival_does_not_matter_when_times_differ(trip, random):
    n = len(trip["speed"])
    trip["t"] = [i * 1.0 for i in range(n)]
    order = random.sample(range(n), n)
    shuffled = {**trip, **{name: [trip[name][i] for i in order] for name in ("speed", "t", "lat")}}

    assert told(made_drives.findings(shuffled), 0) == told(made_drives.findings(trip), 0)


@settings(max_examples=150)
@given(trips())
def test_kernel_agrees_with_a_plain_reading_of_the_rules(trip):
    trip["speed"] = [0 if np.isnan(v) else v for v in trip["speed"]]
    found = made_drives.findings(trip)

    events = list(zip(found.events.type.tolist(), found.events.time_ms.tolist(), strict=True))

    expected, over_s = plain(made_drives.drives(trip), Rules())
    assert events == expected
    assert found.over_s.tolist() == pytest.approx([over_s])


def plain(drives, rules):
    """(type, time) of every event and the seconds over the limit, by the words of the rules."""
    kept = []
    rows = list(zip(drives.time_ms.tolist(), drives.speed_kmh.tolist(), drives.lat.tolist(), strict=True))
    for row in sorted(rows, key=lambda row: (row[0], row[1] > 0))[::-1]:
        if not kept or kept[-1][0] - row[0] >= 920:
            kept.append(row)
    kept.reverse()
    kept = without_lone(kept)
    column = int(drives.column[0]) if len(drives) else 0
    intervals = []  # None: no rate
    for i, ((t0, v0), (t1, v1)) in enumerate(itertools.pairwise(kept)):
        dt, change = (t1 - t0) / 1_000, round(v1 - v0, 6)
        if np.isnan(change) or dt > 5.5 or abs(change) / dt > 36:
            intervals.append(None)
            continue
        span = dt if dt <= 1 else dt**0.7
        limit = least(v0, v1, column, rules.harsh) * span
        edge = 3 * least(v0, v1, column, rules.harsh) / least(v0, v1, Column.CAR, rules.harsh) * span
        intervals.append(
            {
                "up": change > 0,
                "moves": change != 0,
                "exceeds": i >= 3 and change != 0 and abs(change) >= limit,
                "brisk": i >= 3 and abs(change) >= edge,
                "rate": abs(change) / dt,
            }
        )
    events = [(EventType.OVERSPEED, t) for t, v in kept if v > 121]
    i = 0
    while i < len(intervals):
        if not (intervals[i] and intervals[i]["exceeds"]):
            i += 1
            continue
        up, last, bridges, members = intervals[i]["up"], i, 0, [i]
        alike = lambda j: j < len(intervals) and intervals[j] and intervals[j]["moves"] and intervals[j]["up"] == up  # noqa: B023, E731
        while True:
            if alike(last + 1) and intervals[last + 1]["exceeds"]:
                last += 1
            elif not bridges and alike(last + 1) and alike(last + 2) and intervals[last + 2]["exceeds"]:
                bridges, last = 1, last + 2
            else:
                break
            members.append(last)
        begin, end = i, last
        if i > 0 and alike(i - 1) and intervals[i - 1]["brisk"]:
            begin -= 1
        if alike(last + 1) and intervals[last + 1]["brisk"]:
            end += 1
        strongest = max(members, key=lambda j: (intervals[j]["rate"], -j))
        if up:
            kind = EventType.START if kept[begin][1] <= 5 else EventType.ACCELERATION
        else:
            kind = EventType.STOP if kept[end + 1][1] <= 5 else EventType.DECELERATION
        events.append((kind, kept[strongest + 1][0]))
        i = last + 1
    over_s = sum(min(t1 - t0, 5_000) / 1_000 for (t0, v0), (t1, _) in itertools.pairwise(kept) if v0 > 121)
    return sorted(events, key=lambda event: (event[1], event[0])), over_s


def without_lone(kept):
    """Without the speeds that jump away and back between steady ones; of each row time and speed."""
    speeds = [speed for _, speed, _ in kept]
    found = [(at, speed) for at, speed, _ in kept]
    rates = [(d - c) * 1_000 / (t1 - t0) for (t0, c, _), (t1, d, _) in itertools.pairwise(kept)]
    far = itertools.pairwise(i for i, rate in enumerate(rates) if abs(rate) > 9)
    near = itertools.pairwise(i for i, rate in enumerate(rates) if abs(rate) > 5)
    jumps = [(i, j) for i, j in far if j - i > 1] + [(i, j) for i, j in near if j - i == 1]
    for away, back in jumps:
        first, last = away + 1, back
        if (rates[away] > 0) == (rates[back] > 0) or first < 2 or last + 2 >= len(kept):
            continue
        if abs(speeds[first - 1] - speeds[first - 2]) > 6 or abs(speeds[last + 2] - speeds[last + 1]) > 6:
            continue
        alone = first == last and min(abs(rates[away]), abs(rates[back])) > 12
        if alone or (kept[last][0] - kept[first][0] < 30_000 and contradicted(kept, first - 1, last + 1)):
            found[first : last + 1] = [(at, np.nan) for at, _, _ in kept[first : last + 1]]
    return found


def contradicted(kept, before, after):
    """The path between these rows, or a row earlier or later, is nearer to a steady change of speed than to theirs."""
    rows = kept[before : after + 1]
    driven = sum((c + d) / 2 * (t1 - t0) for (t0, c, _), (t1, d, _) in itertools.pairwise(rows))
    plateau, steady = driven / (rows[-1][0] - rows[0][0]), (rows[0][1] + rows[-1][1]) / 2
    for later in (-1, 0, 1):
        path = kept[before + later : after + later + 1]
        metres = sum(
            abs(np.radians(lat1 - lat0)) * EARTH_RADIUS_M for (_, _, lat0), (_, _, lat1) in itertools.pairwise(path)
        )
        kmh = metres * 3_600 / (path[-1][0] - path[0][0])
        if kmh > 0 and abs(kmh - steady) < abs(kmh - plateau):
            return True
    return False


def least(v0, v1, column, table):
    """The threshold of one change."""
    if v1 > v0:
        if v0 <= 5:
            return table.start[column]
        if v0 <= 10:
            return table.acceleration_to_10[column]
        return (table.acceleration_to_20 if v0 <= 20 else table.acceleration_above_20)[column]
    if v1 <= 5:
        return table.stop[column]
    if v0 <= 30:
        return table.deceleration_to_30[column]
    return (table.deceleration_to_50 if v0 <= 50 else table.deceleration_above_50)[column]
