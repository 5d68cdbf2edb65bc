"""The chart of a trend: places of its points and ticks in a drawing, for a template to write as SVG."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from tripline.domain import trends
from tripline.domain.trends import NOTHING, Period
from tripline.store.scores.trends import Point

WIDTH: Final = 640
HEIGHT: Final = 180
LEFT: Final = 44
"""Room for the numbers of scores."""
EDGE: Final = 12
SCORES: Final = (0, 25, 50, 75, 100)
"""Scores with a line."""


class Dot(msgspec.Struct, frozen=True):
    """A period of the chart."""

    x: float
    y: float
    point: Point
    text: str
    """First day of the period."""


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """A drawing of `WIDTH` by `HEIGHT`."""

    dots: tuple[Dot, ...]
    lines: tuple[str, ...]
    """Points of each line through neighbouring periods; a period without trips ends one."""
    grid: tuple[tuple[int, float], ...]
    """Scores and their heights."""


def of(points: Sequence[Point], period: Period, *, first: int, last: int) -> Chart:
    """The chart of these periods, oldest first, from the day `first` to the day `last`."""
    days = max(last - first, 1)
    dots = [
        Dot(
            round(LEFT + (WIDTH - LEFT - EDGE) * (each.day - first) / days, 1),
            _height(each.sums.score),
            each,
            trends.text(each.day),
        )
        for each in points
    ]
    lines: list[list[Dot]] = []
    for dot in dots:
        if lines and trends.next_day(lines[-1][-1].point.day, period) == dot.point.day:
            lines[-1].append(dot)
        else:
            lines.append([dot])
    drawn = tuple(" ".join(f"{each.x},{each.y}" for each in line) for line in lines if len(line) > 1)
    return Chart(dots=tuple(dots), lines=drawn, grid=tuple((score, _height(score)) for score in SCORES))


def values(points: Sequence[Point], period: Period, *, first: int, today: int) -> dict[str, Any]:
    """The template's values: the chart, its size, and the sums of all its trips with their badge, if there are any."""
    whole = NOTHING
    for point in points:
        whole = whole.plus(point.sums)
    return {
        "chart": of(points, period, first=first, last=trends.first_day(today, period)),
        "whole": whole if whole.trips else None,
        "badge": whole.badge if whole.trips else None,
        "width": WIDTH,
        "height": HEIGHT,
        "left": LEFT,
    }


def _height(score: float) -> float:
    return round(EDGE + (HEIGHT - 2 * EDGE) * (100.0 - score) / 100.0, 1)
