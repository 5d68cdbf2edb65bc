"""The certificate that listeners show, and when it is worth a warning; and who finds roads."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support import certificates, logs, map_files

from tripline import config
from tripline.adapters.maps.roads_osm import OsmRoads
from tripline.adapters.maps.roads_valhalla import Valhalla
from tripline.maintenance import maps
from tripline.wiring import adapters

NOW_MS = 1_760_000_000_000
SHARED = config.Store(url="postgresql://tripline@db.example/tripline")


def said(settings: config.Config, folder: Path) -> list[dict[str, str]]:
    """What is logged while the certificate is looked for."""
    return logged(lambda: adapters.certificates(settings, folder, now_ms=NOW_MS))


def logged(doing: Callable[[], object]) -> list[dict[str, str]]:
    """What is logged meanwhile."""
    stream = io.StringIO()
    logs.plain(stream)
    try:
        doing()
    finally:
        logs.plain()
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("roles", "store", "warned"),
    [
        (["all"], SHARED, True),
        (["gateway"], SHARED, True),
        (["gateway", "api"], SHARED, True),
        (["api"], SHARED, False),
        (["worker"], SHARED, False),
        (["all"], config.Store(), False),
    ],
)
def test_certificate_of_its_own_is_warned_of_where_devices_may_meet_several(tmp_path, roles, store, warned):
    events = said(config.Config(roles=roles, store=store), tmp_path)

    expected = {"event": "tls.own_certificate", "level": "warning", "part": "app", "folder": str(tmp_path / "tls")}
    assert events == ([expected] if warned else [])


def test_certificate_that_was_set_is_not_warned_of(tmp_path):
    made = certificates.make(tmp_path)
    tls = config.Tls(cert=str(made.certificate), key=str(made.key))

    assert said(config.Config(store=SHARED, tls=tls), tmp_path) == []


@pytest.mark.parametrize(("who", "asked"), [("osm", type(None)), ("valhalla", Valhalla)])
def test_roads_are_found_by_whom_the_settings_name(tmp_path, who, asked):
    matcher = adapters.roads(config.Config(data=tmp_path, map=config.Map(roads=who)))

    assert isinstance(matcher, OsmRoads)
    assert isinstance(matcher._asked, asked)


def test_nobody_finds_roads_where_the_settings_say_so(tmp_path):
    assert adapters.roads(config.Config(data=tmp_path, map=config.Map(roads="none"))) is None


@pytest.mark.parametrize(("who", "asked"), [("osm", False), ("valhalla", True), ("none", False)])
def test_server_that_finds_roads_is_asked_how_it_is_where_the_settings_name_one(tmp_path, who, asked):
    settings = config.Config(data=tmp_path, map=config.Map(roads=who))

    assert (adapters.reach_roads(settings, adapters.roads(settings)) is not None) is asked


def test_valhalla_without_a_map_is_warned_of(tmp_path):
    settings = config.Config(data=tmp_path, map=config.Map(roads="valhalla"))
    before = logged(lambda: adapters.roads(settings))
    file = map_files.street(tmp_path / "a.osm.pbf", maxspeed="50")
    maps.imported(settings.maps, file, name="town", country="", progress=lambda _: None)

    folder = str(tmp_path / "maps")
    assert before == [{"event": "map.none", "level": "warning", "part": "app", "folder": folder}]
    assert logged(lambda: adapters.roads(settings)) == []
