"""Trends of scores by day, week and month, and rankings, within the reader's reach."""

from typing import Final, NamedTuple

import msgspec

from tripline.domain import trends
from tripline.domain.access import Thing
from tripline.domain.trends import Period, RankedBy, Subject, Sums
from tripline.store.lists import UnknownOffset
from tripline.store.scores import rankings
from tripline.store.scores import sums as score_sums
from tripline.store.scores import trends as rows
from tripline.store.scores.rankings import Ahead, Ranking
from tripline.store.scores.trends import Point
from tripline.store.transactions import ReadTx


class Place(msgspec.Struct, frozen=True):
    """One entry of a ranking."""

    rank: int
    """From 1; equal ones share a rank."""
    subject: str
    compared: float
    """The score, or harsh events for each 100 km, of the trips with known harsh driving."""
    sums: Sums
    """Of all trips."""


class Places(NamedTuple):
    """A page of a ranking."""

    by: RankedBy
    places: list[Place]


THINGS: Final = {Subject.VEHICLE: Thing.VEHICLE, Subject.DRIVER: Thing.DRIVER, Subject.COMPANY: Thing.COMPANY}
"""Admit readers by `Action.DRIVING_READ`."""


def trend(
    tx: ReadTx, kind: Subject, of: str, period: Period, *, first: int, last: int, ascending: bool, limit: int
) -> list[Point]:
    """The periods of a subject from the one that contains the first day to the one that contains the last."""
    return rows.of_subject(
        *(tx, kind, of, period), first=trends.first_day(first, period), last=last, ascending=ascending, limit=limit
    )


def ranking(
    tx: ReadTx, kind: Subject, company_id: str, period: Period, *, day: int, after: str | None, limit: int
) -> Places:
    """The company's vehicles or drivers in the period that contains a day, best first; ties by smaller id.

    `after`: the last subject of the previous page. Raises `UnknownOffset`.
    """
    of = Ranking(kind.value, period.value, trends.first_day(day, period), company_id)
    by = rankings.compares(tx, of)
    behind = None if after is None else rankings.place_of(tx, of, by, after)
    if after is not None and behind is None:
        raise UnknownOffset.of_list()
    found = rankings.page(tx, of, by, behind, limit)
    sums = score_sums.of_subjects(tx, [each.subject for each in found], period, first=of.day, last=of.day)
    ahead = Ahead(0, 0) if behind is None or not found else rankings.ahead(tx, of, by, found[0])
    better = ahead.better
    places: list[Place] = []
    for number, each in enumerate(found):
        if number and each.key != found[number - 1].key:
            better = ahead.every + number
        places.append(Place(better + 1, each.subject, trends.compared(by, each.key), sums[each.subject]))
    return Places(by, places)
