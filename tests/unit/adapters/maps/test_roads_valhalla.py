"""Roads by a Valhalla server: its questions, its answers, and servers that fail or misbehave."""

import tempfile
import time
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from msgspec.structs import replace
from tests.support import made_roads, road_servers
from tests.support import map_files as made
from tests.support.road_servers import Stand, all_on, refusing

from tripline.adapters.maps import roads_valhalla
from tripline.adapters.maps.roads_osm import PATIENCE_S, OsmRoads
from tripline.adapters.maps.roads_valhalla import OVERLAP, POINTS, REST_S, STATUS_MAX, Valhalla
from tripline.language import kept
from tripline.maintenance import maps
from tripline.ports.maps import RoadsOutage
from tripline.roads.located import Road
from tripline.scoring.quality import LimitSource
from tripline.scoring.rules import Column

TIMEOUT_S = 0.5
TOLD = "valhalla:5"
LOST = "valhalla:lost"


def drive(*, begin=47.003, metres=1_500.0, **how):
    """A drive due north on the street, or beyond it."""
    own = made_roads.drives([(0, 0), (0, metres)], **how)
    own.lat[:] += begin
    own.lon[:] = 9.5
    return own


@cache
def street(folder, **tags):
    """The folder of the imported map and its area; no test changes it."""
    inside = Path(tempfile.mkdtemp(dir=folder))
    file = made.street(inside / "a.osm.pbf", ref="L1", **({"maxspeed": "50"} | tags))
    return inside / "maps", maps.imported(inside / "maps", file, name="town", country="", progress=lambda _: None)


class Town:
    """A street of way 7 in an imported map, a server in the place of Valhalla, and the matcher over both."""

    def __init__(self, folder, stand, *, timeout_s=30.0, **tags):
        imported, area = street(folder.parent, **tags)
        self.name = f"town:{area.map}"
        self.stand = stand
        self.passed_s = 0.0
        asked = Valhalla(stand.url, timeout_s=timeout_s, monotonic=lambda: self.passed_s)
        self.roads = OsmRoads(imported, zone=ZoneInfo("Asia/Seoul"), asked=asked)

    def judged(self, own):
        """Limits that occur, and the maps that told of each trip."""
        told = self.roads.located(own)
        return {None if np.isnan(kmh) else kmh for kmh in told.drives.limit_kmh.tolist()}, told.maps

    def traces(self):
        """What was asked of it."""
        return [body for action, body in self.stand.asked if action == "trace_attributes"]


@pytest.fixture
def stand():
    with road_servers.standing(Stand()) as stand:
        yield stand


@pytest.fixture
def town(tmp_path, stand):
    return Town(tmp_path, stand)


def test_way_that_the_server_names_has_road_and_limit_of_our_map(town):
    told = town.roads.located(drive())

    assert set(told.drives.limit_kmh.tolist()) == {50.0}
    assert set(told.drives.limit_source.tolist()) == {LimitSource.TAGGED}
    assert (told.roads, told.maps) == ([Road("7", 104, "L1 High Street")], [(town.name, TOLD)])


@pytest.mark.parametrize(("forward", "limit"), [(True, 70.0), (False, 30.0)])
def test_direction_is_the_server_s(tmp_path, stand, forward, limit):
    town = Town(tmp_path, stand, **{"maxspeed:forward": "70", "maxspeed:backward": "30"})
    stand.answer = all_on(7, forward=forward)

    assert town.judged(drive()) == ({limit}, [(town.name, TOLD)])


def test_server_is_asked_for_thinned_points_of_the_moving_vehicle(town):
    own = drive(stand_at=1, metres=840.0)
    town.roads.located(own)
    (trace,) = town.traces()

    assert own.time_ms.size == 60 + 180
    assert len(trace["shape"]) == 20
    # The mean of the first three seconds.
    assert trace["shape"][0] == {"lat": round(47.003 + 14.0 / made_roads.METRES, 7), "lon": 9.5, "time": 0.0}
    assert trace["shape"][1]["time"] == 3.0
    assert (trace["shape_match"], trace["costing"], trace["filters"]["action"]) == ("map_snap", "auto", "include")


def test_bus_is_matched_by_the_rules_of_buses(town):
    town.roads.located(drive(column=Column.BUS))

    assert town.traces()[0]["costing"] == "bus"


def test_trip_on_no_map_is_not_asked_for(town):
    assert town.judged(drive(begin=10.0)) == ({None}, [()])
    assert town.traces() == []


def test_trips_side_by_side_have_their_own_answers(town):
    """The second is on no road, and the server says so; the third is elsewhere."""
    own = made_roads.drives([(0, 0), (0, 600)], [(0, 0), (0, 900)], [(0, 0), (0, 300)])
    own.lat[:] += 47.003
    own.lon[:] = 9.5
    own.lat[own.starts[2] :] -= 30.0
    on_street = town.stand.answer

    def answer(action, body):
        second = action == "trace_attributes" and len(body["shape"]) > 20
        return refusing(444)(action, body) if second else on_street(action, body)

    town.stand.answer = answer
    told = town.roads.located(own)

    assert told.maps == [(town.name, TOLD), (), ()]
    assert [set(told.drives.road[a:b].tolist()) for a, b in zip(own.starts[:-1], own.starts[1:], strict=True)] == [
        {0},
        {-1},
        {-1},
    ]
    assert [len(body["shape"]) for body in town.traces()] == [15, 22]


def test_way_that_our_map_lacks_is_no_road(town):
    town.stand.answer = all_on(8)

    assert town.judged(drive()) == ({None}, [(TOLD,)])


def test_point_that_the_server_matches_nowhere_is_on_no_road(town):
    on_street = town.stand.answer

    def answer(action, body):
        status, told = on_street(action, body)
        for place, nowhere in enumerate(({}, {"edge_index": 2**64 - 1})):
            point = told["matched_points"][10 + place]
            del point["edge_index"]
            point.update(nowhere)
        return status, told

    town.stand.answer = answer
    told = town.roads.located(drive())

    assert 3 <= (told.drives.road < 0).sum() <= 9
    assert set(told.drives.road.tolist()) == {-1, 0}


# Pieces


def test_long_trip_is_asked_in_pieces_that_overlap(town):
    own = drive(metres=(POINTS + 500) * 3 * 14.0, begin=46.5)
    town.roads.located(own)
    first, second = (body["shape"] for body in town.traces())

    assert len(first) == POINTS
    assert [(point["lat"], point["time"]) for point in first[-OVERLAP:]] == [
        (point["lat"], point["time"]) for point in second[:OVERLAP]
    ]
    assert len(first) + len(second) - OVERLAP == -(-own.time_ms.size // 3)


def test_piece_is_no_longer_than_a_server_takes(town):
    own = drive(metres=400_000.0, mps=70.0, begin=46.0)
    town.roads.located(own)
    lengths = [(trace["shape"][-1]["lat"] - trace["shape"][0]["lat"]) * made_roads.METRES for trace in town.traces()]

    assert len(lengths) == 3
    assert max(lengths) < 151_000


def test_points_far_apart_end_a_piece_and_one_alone_is_no_drive(town):
    own = drive(metres=1_500.0)
    own.lat[30:] += 0.1
    own.lat[60:63] += 0.2
    town.roads.located(own)

    assert [len(body["shape"]) for body in town.traces()] == [10, 10, 15]


def test_trip_of_jumps_is_asked_no_more_often_than_the_bound(town, monkeypatch):
    monkeypatch.setattr(roads_valhalla, "PIECES", 3)
    own = drive(metres=1_500.0)
    own.lat[:] += 0.1 * (np.arange(own.lat.size) // 6 % 2)
    town.roads.located(own)

    assert [len(body["shape"]) for body in town.traces()] == [2, 2, 2]


def test_piece_beyond_the_limits_of_a_server_is_halved(town):
    """Its administrator allows 150 points."""
    on_street = town.stand.answer

    def answer(action, body):
        return refusing(153)(action, body) if len(body.get("shape", ())) > 150 else on_street(action, body)

    town.stand.answer = answer
    own = drive(metres=2_700.0, mps=2.0)

    assert town.judged(own) == ({50.0}, [(town.name, TOLD)])
    taken = [len(body["shape"]) for body in town.traces() if len(body["shape"]) <= 150]
    assert (len(taken), sum(taken) - OVERLAP * (len(taken) - 1)) == (4, 450)


# No match


def test_no_match_beside_roads_is_no_road(town):
    town.stand.answer = refusing(444)

    assert town.judged(drive()) == ({None}, [()])
    assert [action for action, _ in town.stand.asked] == ["trace_attributes", "locate"]


@pytest.mark.parametrize("code", [171, 444])
def test_no_match_where_the_server_has_no_tiles_leaves_the_trip_to_our_matcher(town, code):
    town.stand.answer = refusing(code, roads=False)

    assert town.judged(drive()) == ({50.0}, [(town.name,)])


def test_server_that_refuses_to_locate_has_no_tiles_there(town):
    town.stand.answer = lambda action, body: refusing(444 if action == "trace_attributes" else 171)("", body)

    assert town.judged(drive()) == ({50.0}, [(town.name,)])


# Away


def test_trip_waits_for_a_server_that_is_away_and_then_goes_without_it(tmp_path):
    with road_servers.standing(Stand()) as stand:
        pass
    town = Town(tmp_path, stand)

    with pytest.raises(RoadsOutage, match=r"^Valhalla cannot be reached: ConnectError\.$"):
        town.judged(drive())
    for minute in range(1, 10):
        town.passed_s = minute * 60.0
        with pytest.raises(RoadsOutage):
            town.judged(drive(metres=300.0 * minute))
    town.passed_s = PATIENCE_S

    assert town.judged(drive()) == ({50.0}, [(town.name, LOST)])
    assert town.judged(drive(metres=900.0)) == ({50.0}, [(town.name, LOST)])


def test_trip_that_waited_is_judged_when_the_server_is_back(town):
    working, town.stand.answer = town.stand.answer, lambda *_: (503, {})

    with pytest.raises(RoadsOutage, match="HTTP status 503"):
        town.judged(drive())
    town.stand.answer = working
    town.passed_s = REST_S

    assert town.judged(drive()) == ({50.0}, [(town.name, TOLD)])


def test_server_that_failed_rests(town):
    town.stand.answer = lambda *_: (500, {})
    for passed_s in (0.0, REST_S - 1, REST_S):
        town.passed_s = passed_s
        with pytest.raises(RoadsOutage, match="HTTP status 500"):
            town.judged(drive())

    assert len(town.traces()) == 2


def test_trouble_long_ago_does_not_shorten_the_patience_with_the_next(town):
    working, failing = town.stand.answer, lambda *_: (500, {})
    town.stand.answer = failing
    with pytest.raises(RoadsOutage):
        town.judged(drive(metres=600.0))

    # Another process scored that trip; this one has nothing to do for an hour.
    town.passed_s = 3_600.0
    with pytest.raises(RoadsOutage):
        town.judged(drive())
    town.stand.answer, town.passed_s = working, 3_600.0 + REST_S

    assert town.judged(drive()) == ({50.0}, [(town.name, TOLD)])


def test_trip_that_alone_fails_waits_no_longer_than_others(town):
    def answer(action, body):
        return (500, {}) if len(body["shape"]) > 30 else all_on(7)(action, body)

    town.stand.answer = answer
    for passed_s in (0.0, 300.0, PATIENCE_S - 1):
        town.passed_s = passed_s
        with pytest.raises(RoadsOutage):
            town.judged(drive())
        town.passed_s += REST_S
        assert town.judged(drive(metres=600.0)) == ({50.0}, [(town.name, TOLD)])
    town.passed_s = PATIENCE_S + REST_S

    assert town.judged(drive()) == ({50.0}, [(town.name, LOST)])


def test_trips_that_wait_are_remembered_up_to_a_bound(town, monkeypatch):
    monkeypatch.setattr(roads_valhalla, "WAITING", 3)
    town.stand.answer = lambda *_: (500, {})
    for metres in range(300, 900, 100):
        with pytest.raises(RoadsOutage):
            town.judged(drive(metres=float(metres)))

    assert len(town.roads._asked._waiting) == 3


# Servers that misbehave


def _silent(handler):
    time.sleep(3 * TIMEOUT_S)
    handler.close_connection = True


def _drip(handler, head):
    handler.wfile.write(head)
    until = time.monotonic() + 6 * TIMEOUT_S
    while time.monotonic() < until:
        handler.wfile.write(b"x")
        time.sleep(TIMEOUT_S / 10)


def _dripping_head(handler):
    _drip(handler, b"HTTP/1.1 200 OK\r\nX-Slow: ")


def _dripping_body(handler):
    _drip(handler, b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")


def _endless(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    for _ in range(10_000):
        handler.wfile.write(b" " * 65_536)


def _no_http(handler):
    handler.wfile.write(b"hello\r\n\r\n")


@pytest.mark.parametrize("raw", [_silent, _dripping_head, _dripping_body, _endless, _no_http])
def test_server_that_speaks_no_end_or_nothing_is_away(tmp_path, stand, raw):
    town = Town(tmp_path, stand, timeout_s=TIMEOUT_S)
    stand.raw = raw
    began = time.monotonic()

    with pytest.raises(RoadsOutage, match=r"^Valhalla(.s answer is too long| cannot be reached: \w+)\.$"):
        town.judged(drive())
    assert time.monotonic() - began < 3 * TIMEOUT_S


def _changed(change):
    def answer(action, body):
        status, told = all_on(7)(action, body)
        change(told)
        return status, told

    return answer


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda *_: (200, b"{"), "cannot be read"),
        (lambda *_: (200, b"\xff\xfe"), "cannot be read"),
        (lambda *_: (200, b"[" * 100_000), "cannot be read"),
        (lambda *_: (200, {}), "cannot be read"),
        (lambda *_: (200, []), "cannot be read"),
        (_changed(lambda told: told["edges"][0].pop("forward")), "cannot be read"),
        (_changed(lambda told: told["edges"][0].update(way_id=2**63)), "cannot be read"),
        (_changed(lambda told: told["edges"][0].update(way_id=-7)), "cannot be read"),
        (_changed(lambda told: told["matched_points"][0].update(lat=91.0)), "cannot be read"),
        (_changed(lambda told: told["edges"].clear()), "refers to edges that it does not contain"),
        (_changed(lambda told: told["matched_points"].pop()), "does not match the requested points"),
        (_changed(lambda told: told["matched_points"].append(told["matched_points"][0])), "does not match"),
        (lambda *_: (400, b"Bad Request"), "cannot be read"),
        (refusing(106), "refused a trip with its error 106"),
        (lambda action, body: refusing(444)("", body) if action != "locate" else (200, 5), "cannot be read"),
        (lambda action, body: refusing(444 if action != "locate" else 106)("", body), "refused the locate request"),
        (lambda *_: (404, {}), "HTTP status 404"),
        (lambda *_: (429, {}), "HTTP status 429"),
        (lambda *_: (302, {}), "HTTP status 302"),
    ],
)
def test_answer_that_is_of_no_use_is_as_a_server_that_is_away(town, answer, said):
    town.stand.answer = answer

    with pytest.raises(RoadsOutage, match=f"^Valhalla.*{said}") as raised:
        town.judged(drive())
    assert town.stand.url not in str(raised.value)


# Its state


def test_server_that_is_there_is_asked_for_its_state_alone(town):
    town.roads.reach()

    assert town.stand.asked == [("status", None)]


def test_server_that_does_not_say_what_it_offers_is_of_use(town):
    town.stand.answer = lambda *_: (200, {"version": "3.5.1"})

    town.roads.reach()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda *_: (200, {"available_actions": ["status", "locate"]}), " does not offer trace_attributes"),
        (lambda *_: (200, {"available_actions": []}), " does not offer trace_attributes or locate"),
        (lambda *_: (200, {"version": "x" * STATUS_MAX}), "'s answer is too long"),
        (lambda *_: (200, []), "'s answer cannot be read"),
        (lambda *_: (200, b"<html>"), "'s answer cannot be read"),
        (refusing(199), " refused the status request with its error 199"),
        (lambda *_: (404, {}), " answered with HTTP status 404"),
        (lambda *_: (503, {}), " answered with HTTP status 503"),
    ],
)
def test_server_whose_state_is_of_no_use_is_told_with_the_reason(town, answer, said):
    town.stand.answer = answer

    with pytest.raises(RoadsOutage) as raised:
        town.roads.reach()
    assert str(raised.value) == f"Valhalla{said}."
    # In every language.
    assert kept.phrase_of(str(raised.value)).name != "verbatim"


@pytest.mark.parametrize("raw", [_silent, _dripping_head, _dripping_body, _endless, _no_http])
def test_state_of_a_server_that_speaks_no_end_or_nothing_is_known_in_time(tmp_path, stand, monkeypatch, raw):
    """Even where trips would be waited for longer."""
    monkeypatch.setattr(roads_valhalla, "STATUS_S", TIMEOUT_S)
    stand.raw = raw
    began = time.monotonic()

    with pytest.raises(RoadsOutage):
        Valhalla(stand.url, timeout_s=60.0).reach()
    assert time.monotonic() - began < 3 * TIMEOUT_S


@pytest.mark.parametrize("host", ["127.0.0.1:1", f"{'x' * 64}.invalid", "127.0.0.1:99999", "[::1"])
def test_state_of_a_server_that_is_away_names_no_part_of_its_address(caplog, host):
    with caplog.at_level("WARNING"), pytest.raises(RoadsOutage) as raised:
        Valhalla(f"http://kim:secret@{host}/roads", timeout_s=TIMEOUT_S).reach()

    said, error = [caplog.text], raised.value
    while error is not None:
        said.append(str(error))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    assert str(raised.value).startswith("Valhalla cannot be reached: ")
    assert [each for each in ("kim", "secret", host) if each in " ".join(said)] == []


def test_trips_do_not_rest_because_the_state_was_of_no_use(town):
    working, town.stand.answer = town.stand.answer, lambda *_: (500, {})
    with pytest.raises(RoadsOutage):
        town.roads.reach()
    town.stand.answer = working

    assert town.judged(drive()) == ({50.0}, [(town.name, TOLD)])


def test_matcher_of_our_own_asks_nobody(tmp_path):
    OsmRoads(tmp_path, zone=ZoneInfo("Asia/Seoul")).reach()


def test_trip_of_one_anchor_or_none_is_on_no_road(town):
    own = drive(metres=40.0)
    still = replace(own, speed_kmh=np.zeros(own.speed_kmh.size))

    assert town.judged(made_roads.some(own, np.array([0]))) == ({None}, [()])
    assert town.judged(still) == ({None}, [()])
    assert town.traces() == []
