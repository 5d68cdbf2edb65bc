"""Tags of roads are a stranger's: whatever they say, an import reads a limit within its bounds or none."""

from hypothesis import given
from hypothesis import strategies as st

from tripline.roads import limits, values
from tripline.roads.limits import DAY_MIN

PIECES = st.sampled_from(
    [
        *("50", "30 mph", "none", "walk", "KR:urban", "GB:20", "@", "(", ")", ";", ",", "-", " ", ":", "07:00-17:00"),
        *("Mo-Fr", "Sa", "hgv", "bus", " AND ", "wet", "24:00", "99:99-99:99", "1000"),
    ]
)
TEXTS = st.lists(PIECES | st.text("0123456789.:@;-, ()AaMoü٥", max_size=4), max_size=12).map("".join)
KEYS = st.tuples(
    st.sampled_from(["maxspeed", "maxspeed:hgv", "maxspeed:bus", "zone:maxspeed", "source:maxspeed", "maxspeed:type"]),
    st.sampled_from(["", ":forward", ":backward"]),
    st.sampled_from(["", ":conditional"]),
).map("".join)


@given(tags=st.dictionaries(KEYS, TEXTS), built_up=st.booleans(), country=st.sampled_from(["KR", "GB", "DE", ""]))
def test_any_tags_make_six_lanes_within_bounds(tags, built_up, country):
    lanes = limits.of_road(tags, "primary", country=country, built_up=built_up)

    assert len(lanes) == 6
    told = [each for lane in lanes for each in (lane.limit, *(timed.limit for timed in lane.timed)) if each]
    assert all(each.kmh == 0 or values.LEAST_KMH <= each.kmh <= values.MOST_KMH for each in told)
    spans = [timed for lane in lanes for timed in lane.timed]
    assert all(0 < each.days < 128 and 0 <= each.begin_min < DAY_MIN and 0 <= each.end_min <= DAY_MIN for each in spans)
