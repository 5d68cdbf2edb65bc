"""Figures that sums of trips give: score, badge, share, percentile; and days, weeks and months in a time zone."""

import datetime
import math
from zoneinfo import ZoneInfo

import pytest

from tripline.domain import trends
from tripline.domain.trends import Badge, Period
from tripline.scoring.score import lacking

SEOUL = ZoneInfo("Asia/Seoul")
NEW_YORK = ZoneInfo("America/New_York")


def of_trip(score=80.0, distance_m=10_000.0, **changes):
    values = {"accel": 1, "de_accel": 2, "over_speed": 3, "over_speed_s": 4.5, "driving_ms": 600_000, "known_m": 4_000}
    return trends.of_trip(lacking=lacking(score), distance_m=distance_m, **values | changes)


def day(year, month, of_month):
    return (datetime.date(year, month, of_month) - datetime.date(1970, 1, 1)).days


def test_one_trip_has_its_own_score_and_counts():
    sums = of_trip(score=70.968, distance_m=49_162.0)

    assert sums.score == pytest.approx(70.968, abs=1e-9)
    assert sums[:7] == (1, 1, 2, 3, 4_500, 600_000, 49_162)
    assert (sums.known_m, sums.limit_known) == (4_000, 4_000 / 49_162)
    assert sums.over_share == 0.0075
    assert sums.per_100_km(sums.de_accel) == pytest.approx(4.06818, abs=1e-5)


@pytest.mark.deep
def test_metres_that_a_policy_adds_are_added_once():
    short, long = of_trip(distance_m=3_000.0, added_m=5_000.0), of_trip(distance_m=30_000.0, added_m=5_000.0)
    both = short.plus(long)

    assert (short.score, long.score) == (pytest.approx(80), pytest.approx(80))
    assert both.score == pytest.approx(100 * math.exp(math.log(0.8) * (8_000 + 35_000) / 38_000), abs=1e-6)
    assert both.distance_m == 33_000


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"distance_m": 1e18}, (trends.LONGEST_M, None)),
        ({"distance_m": 0.2}, (1, None)),
        ({"distance_m": 3_999.6, "known_m": 4_001}, (4_000, None)),
        ({"distance_m": 1e18, "score": 5e-324}, (trends.LONGEST_M, trends.HEAVIEST)),
        ({"score": 100.0}, (10_000, 0)),
    ],
)
def test_trip_counts_with_bounded_whole_numbers(changes, expected):
    sums = of_trip(**changes)

    assert sums.distance_m == expected[0]
    assert expected[1] is None or sums.burden == expected[1]
    assert sums.limit_known <= 1
    assert all(isinstance(value, int) for value in sums)


def test_share_over_the_limit_is_at_most_1_and_unknown_without_driving_time():
    assert of_trip(over_speed_s=700.0).over_share == 1
    assert of_trip(driving_ms=0).over_share is None


@pytest.mark.parametrize(
    ("score", "badge"),
    [(100.0, Badge.GOOD), (90.0, Badge.GOOD), (89.999, Badge.FAIR), (75.0, Badge.FAIR), (74.9, Badge.POOR)],
)
def test_badge_has_three_grades_and_none_where_limits_or_harsh_driving_are_unknown(score, badge):
    assert trends.badge(score, limit_known=0.5, harsh_known=0.5) is badge
    assert trends.badge(score, limit_known=0.499, harsh_known=1) is None
    assert trends.badge(score, limit_known=1, harsh_known=0.499) is None


def test_day_begins_at_midnight_of_the_zone():
    midnight = trends.midnight_ms(day(2025, 3, 1), SEOUL)

    assert midnight == datetime.datetime(2025, 2, 28, 15, tzinfo=datetime.UTC).timestamp() * 1_000
    assert [trends.day_of(at, SEOUL) - day(2025, 3, 1) for at in (midnight - 1, midnight, midnight + 86_399_999)] == [
        *(-1, 0, 0)
    ]
    assert trends.text(day(2025, 3, 1)) == "2025-03-01"


def test_day_on_which_clocks_change_has_23_hours():
    changing = day(2025, 3, 9)

    hours = (trends.midnight_ms(changing + 1, NEW_YORK) - trends.midnight_ms(changing, NEW_YORK)) / 3_600_000
    assert hours == 23


@pytest.mark.parametrize(
    ("period", "first", "following"),
    [
        (Period.DAY, (2024, 2, 29), (2024, 3, 1)),
        (Period.WEEK, (2024, 2, 26), (2024, 3, 4)),
        (Period.MONTH, (2024, 2, 1), (2024, 3, 1)),
    ],
)
def test_period_begins_on_its_first_day(period, first, following):
    begins = trends.first_day(day(2024, 2, 29), period)

    assert (begins, trends.next_day(begins, period)) == (day(*first), day(*following))


@pytest.mark.parametrize("at_ms", [-(10**15), 0, 10**18])
def test_any_instant_has_a_day_with_a_date(at_ms):
    at = trends.day_of(at_ms, SEOUL)

    assert len(trends.text(at)) == 10
    assert trends.midnight_ms(trends.next_day(trends.first_day(at, Period.WEEK), Period.WEEK), SEOUL) >= 0
