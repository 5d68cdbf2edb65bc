"""The drawing of a trend: heights of scores, lines that end at gaps, one period alone."""

from tripline.domain.trends import Period, Sums
from tripline.portal.scores import charts
from tripline.store.scores.trends import Point


def point(day: int, burden: int) -> Point:
    return Point(day, Sums(1, 0, 0, 0, 0, 0, 1_000, burden, 0), None, [1])


def test_points_stand_at_their_days_and_scores() -> None:
    drawn = charts.of([point(0, 0), point(10, 693_147_180)], Period.DAY, first=0, last=10)

    assert [(each.x, each.y) for each in drawn.dots] == [(44.0, 12.0), (628.0, 90.0)]
    assert drawn.grid == ((0, 168.0), (25, 129.0), (50, 90.0), (75, 51.0), (100, 12.0))
    assert drawn.dots[1].text == "1970-01-11"


def test_line_ends_where_a_period_has_no_trips() -> None:
    days = [point(day, 0) for day in (0, 1, 2, 5, 8, 9)]

    drawn = charts.of(days, Period.DAY, first=0, last=9)

    assert [len(line.split()) for line in drawn.lines] == [3, 2]
    assert len(drawn.dots) == 6


def test_months_of_different_lengths_are_one_line() -> None:
    drawn = charts.of([point(each, 0) for each in (0, 31, 59)], Period.MONTH, first=0, last=59)

    assert len(drawn.lines) == 1


def test_period_alone_is_drawn_without_a_line() -> None:
    drawn = charts.of([point(7, 0)], Period.DAY, first=7, last=7)

    assert (len(drawn.dots), drawn.lines) == (1, ())
