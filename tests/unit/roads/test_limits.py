"""Limits of roads by their tags: every form, direction, kind of vehicle and time (spec/scoring 4)."""

import pytest

from tripline.roads import limits, values
from tripline.roads.countries import MPH
from tripline.roads.limits import Lane, Limit, Timed
from tripline.scoring.quality import LimitSource
from tripline.scoring.rules import Column

FORWARD, BACKWARD = 0, 1


def tagged(kmh):
    return Limit(kmh, LimitSource.TAGGED)


def implied(kmh):
    return Limit(kmh, LimitSource.IMPLIED)


def by_class(kmh):
    return Limit(kmh, LimitSource.ROAD_CLASS)


def lanes(tags, *, road_class="secondary", country="", built_up=False):
    return limits.of_road(tags, road_class, country=country, built_up=built_up)


def plain(tags, **facts):
    """The limit at any time, which is the same for all directions and vehicles."""
    (lane,) = set(lanes(tags, **facts))
    assert lane.timed == ()
    return lane.limit


def at(tags, direction=FORWARD, column=Column.CAR, **facts) -> Lane:
    return lanes(tags, **facts)[limits.at(direction, column)]


def test_number_is_km_per_hour():
    assert plain({"maxspeed": "50"}) == tagged(50)


@pytest.mark.parametrize("text", ["50 km/h", "50km/h", "50 kmh", "50 kph", " 50 "])
def test_number_with_its_unit_is_km_per_hour(text):
    assert plain({"maxspeed": text}) == tagged(50)


@pytest.mark.parametrize("text", ["30 mph", "30mph"])
def test_miles_per_hour_are_converted(text):
    assert plain({"maxspeed": text}) == tagged(30 * MPH)


def test_number_without_unit_is_km_per_hour_in_a_country_of_miles_too():
    assert plain({"maxspeed": "30"}, country="GB") == tagged(30)


def test_knots_are_converted():
    assert plain({"maxspeed": "10 knots"}) == tagged(18.52)


def test_none_is_no_limit_by_law():
    assert plain({"maxspeed": "none"}, country="AT", road_class="motorway") == tagged(0)


def test_walk_is_walking_pace():
    assert plain({"maxspeed": "walk"}) == tagged(7)


@pytest.mark.parametrize("text", ["signals", "variable"])
def test_limit_that_a_gantry_shows_is_unknown(text):
    assert plain({"maxspeed": text}) is None
    assert plain({"maxspeed": text}, road_class="motorway", country="AT") == by_class(130)


def test_national_limit_is_that_of_its_type():
    assert plain({"maxspeed": "national", "maxspeed:type": "GB:nsl_single"}) == implied(60 * MPH)


@pytest.mark.parametrize(
    "text",
    [
        *("fixme", "", "-50", "500", "0", "5e1", "fünfzig", "٥٠", "50|70", "50-70", "50,5", "50 mi/h", "implicit"),
        *("default", "unknown", "none?", "sign", "50 @ wet", "30 mph mph", "mph", "1000000000000", "50" * 200),
    ],
)
def test_value_that_says_no_limit_is_passed_over(text):
    assert plain({"maxspeed": text}) is None
    assert plain({"maxspeed": text, "zone:maxspeed": "30"}) == implied(30)


def test_greatest_of_several_numbers_counts():
    assert plain({"maxspeed": "50;70"}) == tagged(70)
    assert plain({"maxspeed": "none;70"}) == tagged(0)


@pytest.mark.parametrize(
    ("text", "kmh"),
    [
        ("KR:urban", 50),
        ("KR:rural", 80),
        ("KR:motorway", 100),
        ("KR:expressway", 90),
        ("KR:school_zone", 30),
        ("KR:school", 30),
        ("BE:school", 30),
        ("BE:cyclestreet", 30),
        ("AT:shared_zone20", 20),
        ("CZ:pedestrian_zone", 20),
        ("JP:nsl", 60),
        ("SK:motorway_urban", 90),
        ("DE:motorway", 0),
        ("DE:living_street", 7),
        ("DE:walk", 7),
        ("DE:bicycle_road", 30),
        ("BE-VLG:urban", 50),
        ("GB:nsl_single", 60 * MPH),
        ("GB:nsl_dual", 70 * MPH),
        ("GB:20 mph", 20 * MPH),
        ("UK:nsl_restricted", 30 * MPH),
        ("GB:motorway", 70 * MPH),
        ("DE:zone30", 30),
        ("FR:zone:20", 20),
        ("CH:trunk", 100),
        ("IT:motorway", 130),
        ("DE:30", 30),
        ("AT:zone30", 30),
        ("FL:zone:30", 30),
    ],
)
def test_name_of_a_zone_or_place_is_implied(text, kmh):
    assert plain({"maxspeed": text}) == implied(kmh)


@pytest.mark.parametrize("text", ["XX:urban", "DE:nothing", "de:urban", "GB:20", "US:35", "LI:motorway"])
def test_name_that_nobody_knows_says_nothing(text):
    assert plain({"maxspeed": text}) is None


@pytest.mark.parametrize("key", ["zone:maxspeed", "maxspeed:type", "source:maxspeed", "zone:traffic"])
@pytest.mark.parametrize(
    ("text", "kmh"),
    [("30", 30), ("DE:30", 30), ("DE:zone:30", 30), ("LI:urban", 50), ("KR:urban", 50), ("GB:nsl_dual", 70 * MPH)],
)
def test_zone_counts_where_the_road_says_no_number(key, text, kmh):
    assert plain({key: text}) == implied(kmh)
    assert plain({key: text, "maxspeed": "40"}) == tagged(40)


def test_kind_of_source_that_is_a_sign_says_no_limit():
    assert plain({"source:maxspeed": "sign"}) is None
    assert plain({"maxspeed:type": "sign"}) is None


def test_direction_has_its_own_limit():
    tags = {"maxspeed:forward": "60", "maxspeed:backward": "80", "maxspeed": "50"}

    assert at(tags, FORWARD).limit == tagged(60)
    assert at(tags, BACKWARD).limit == tagged(80)


@pytest.mark.parametrize("key", ["zone:maxspeed", "maxspeed:type", "source:maxspeed", "zone:traffic"])
def test_direction_has_its_own_zone(key):
    tags = {f"{key}:backward": "CH:urban", key: "CH:rural"}

    assert (at(tags, FORWARD).limit, at(tags, BACKWARD).limit) == (implied(80), implied(50))


def test_zone_of_a_direction_gives_way_to_a_number_for_both():
    tags = {"source:maxspeed:forward": "CH:urban", "maxspeed": "60"}

    assert (at(tags, FORWARD).limit, at(tags, BACKWARD).limit) == (tagged(60), tagged(60))


def test_direction_without_its_own_limit_has_that_of_the_road():
    tags = {"maxspeed:backward": "20", "maxspeed": "50"}

    assert (at(tags, FORWARD).limit, at(tags, BACKWARD).limit) == (tagged(50), tagged(20))


@pytest.mark.parametrize(("key", "column"), [("maxspeed:hgv", Column.TRUCK), ("maxspeed:bus", Column.BUS)])
def test_kind_of_vehicle_has_its_own_limit(key, column):
    tags = {"maxspeed": "100", key: "60", f"{key}:backward": "40"}

    assert at(tags, FORWARD, column).limit == tagged(60)
    assert at(tags, BACKWARD, column).limit == tagged(40)
    assert {at(tags, FORWARD, other).limit for other in Column if other != column} == {tagged(100)}


def test_advice_and_limits_of_lanes_are_no_limit():
    assert plain({"maxspeed:advisory": "40", "maxspeed:lanes": "80|100", "maxspeed:variable": "yes"}) is None


def test_condition_holds_at_its_times():
    lane = at({"maxspeed": "50", "maxspeed:conditional": "30 @ (Mo-Fr 07:00-17:00)"})
    (school,) = lane.timed

    assert lane.limit == tagged(50)
    assert school == Timed(tagged(30), 0b0011111, 420, 1_020)
    held = [school.holds(day, minute) for day, minute in [(0, 419), (0, 420), (4, 1_019), (4, 1_020), (5, 600)]]
    assert held == [False, True, True, False, False]


def test_condition_over_midnight_holds_on_the_next_morning():
    (night,) = at({"maxspeed:conditional": "30 @ (Fr 22:00-06:00)"}).timed

    held = [
        night.holds(day, minute) for day, minute in [(4, 1_319), (4, 1_320), (5, 359), (5, 360), (4, 100), (3, 1_400)]
    ]
    assert held == [False, True, True, False, False, False]


@pytest.mark.parametrize(
    "text",
    [
        *("80 @ wet", "80 @ (wet)", "80 @ (snow)", "30 @ (Mo-Fr 07:00-17:00 AND wet)", "30 @ (wet AND hgv)"),
        *("30 @ (PH)", "30 @ (SH 07:00-09:00)"),
    ],
)
def test_condition_on_weather_or_holidays_is_left_out(text):
    assert plain({"maxspeed": "100", "maxspeed:conditional": text}) == tagged(100)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "60 @ (weight>7.5)",
            "30 @ (sunset-sunrise)",
            "30 @",
            "@",
            "@ (07:00-08:00)",
            "30 @ (25:00-26:00)",
            "30 @ ()",
        ),
        *("30 @ (Apr-Sep 07:00-17:00)", "30 @ (hgv AND bus)", "30 @ (Mo-Fr AND 07:00-17:00)", "30 @ (goods)"),
    ],
)
def test_condition_that_cannot_be_told_is_left_out(text):
    assert plain({"maxspeed": "100", "maxspeed:conditional": text}) == tagged(100)


def test_conditions_may_be_several():
    lane = at({"maxspeed:conditional": "130 @ (20:00-06:00); 100 @ (Sa,Su; 06:00-07:00,19:00-20:00); 80 @ wet"})

    assert lane.timed == (
        Timed(tagged(130), begin_min=1_200, end_min=360),
        Timed(tagged(100), days=0b1100000),
        Timed(tagged(100), begin_min=360, end_min=420),
        Timed(tagged(100), begin_min=1_140, end_min=1_200),
    )


def test_day_behind_a_time_begins_the_next_condition():
    lane = at({"maxspeed:conditional": "30 @ (Mo-Th 07:00-17:00, Fr 07:00-15:00)"})

    assert lane.timed == (Timed(tagged(30), 0b0001111, 420, 1_020), Timed(tagged(30), 0b0010000, 420, 900))


@pytest.mark.parametrize(("kind", "column"), [("hgv", Column.TRUCK), ("bus", Column.BUS)])
def test_condition_may_be_of_a_kind_of_vehicle_at_a_time(kind, column):
    tags = {"maxspeed:conditional": f"60 @ ({kind} AND 22:00-05:00)"}

    assert at(tags, column=column).timed == (Timed(tagged(60), begin_min=1_320, end_min=300, vehicle=kind),)
    assert {at(tags, column=other).timed for other in Column if other != column} == {()}


@pytest.mark.parametrize(
    "tags",
    [
        {"maxspeed": "130", "maxspeed:hgv": "80", "maxspeed:conditional": "110 @ (22:00-05:00); 60 @ (05:00-06:00)"},
        {"maxspeed": "130", "maxspeed:conditional": "80 @ (hgv); 110 @ (22:00-05:00); 60 @ (05:00-06:00)"},
    ],
)
def test_condition_for_all_does_not_raise_the_limit_of_a_kind(tags):
    assert [each.limit for each in at(tags, column=Column.TRUCK).timed][-2:] == [tagged(80), tagged(60)]
    assert [each.limit for each in at(tags, column=Column.CAR).timed][-2:] == [tagged(110), tagged(60)]


def test_condition_of_a_direction_or_a_kind_of_vehicle_is_theirs():
    tags = {
        "maxspeed": "50",
        "maxspeed:backward:conditional": "30 @ (07:00-08:00)",
        "maxspeed:hgv:conditional": "40 @ (22:00-06:00)",
        "maxspeed:conditional": "45 @ (bus)",
    }

    assert at(tags, FORWARD).timed == ()
    assert at(tags, BACKWARD).timed == (Timed(tagged(30), begin_min=420, end_min=480),)
    assert at(tags, FORWARD, Column.TRUCK).timed == (Timed(tagged(40), begin_min=1_320, end_min=360, vehicle="hgv"),)
    assert at(tags, FORWARD, Column.BUS).timed == (Timed(tagged(45), vehicle="bus"),)


@pytest.mark.parametrize(
    ("road_class", "tags", "kmh"),
    [
        ("motorway", {}, 130),
        ("trunk", {"motorroad": "yes"}, 100),
        ("trunk", {}, 100),
        *((each, {}, 100) for each in ("primary", "secondary", "tertiary", "unclassified", "service", "track")),
        ("residential", {}, 50),
        ("living_street", {}, 7),
    ],
)
def test_class_has_the_default_of_its_country(road_class, tags, kmh):
    assert plain(tags, road_class=road_class, country="AT") == by_class(kmh)


def test_built_up_area_has_its_own_limit_but_for_motorways():
    assert plain({}, road_class="primary", country="AT", built_up=True) == implied(50)
    assert plain({}, road_class="motorway", country="AT", built_up=True) == by_class(130)


def test_class_without_a_default_in_its_country_has_no_limit():
    assert plain({}, road_class="motorway", country="LI") is None
    assert plain({}, road_class="primary", country="") is None
    assert plain({}, road_class="primary", country="XX") is None


def test_country_of_a_name_counts_before_that_of_the_place():
    assert plain({"maxspeed": "CH:rural"}, country="AT") == implied(80)


@pytest.mark.parametrize(("given", "read"), [(15, 15), (16, 16), (17, 16)])
def test_conditions_beyond_the_bound_are_left_out(given, read):
    hours = ",".join(f"{hour:02}:00-{hour:02}:30" for hour in range(given))

    assert limits.MOST == 16
    assert len(at({"maxspeed:conditional": f"30 @ ({hours})"}).timed) == read


@pytest.mark.parametrize(("length", "read"), [(254, True), (255, True), (256, False)])
def test_value_beyond_the_bound_says_nothing(length, read):
    assert values.MOST_TEXT == 255
    assert (plain({"maxspeed": "50".rjust(length)}) == tagged(50)) is read
    assert bool(at({"maxspeed:conditional": "30 @ (07:00-08:00)".rjust(length)}).timed) is read
