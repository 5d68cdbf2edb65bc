"""The base map from outside: imported, replaced and removed beside a running server, or from a file of elsewhere."""

import mapbox_vector_tile
import pytest
from pmtiles.tile import Compression
from tests.support import map_files, servers, waits
from tests.support import tile_files as made
from tests.support.fleet import Company

PATIENCE_S = 10
HERE = (14, 8624, 5758)


def street(file, name):
    nodes = {no: (47.05 + no * 0.001, 9.5) for no in range(1, 12)}
    return map_files.written(file, nodes, [(7, list(nodes), {"highway": "primary", "name": name})])


def shown(company):
    """What a page of this company would show at a place: roads by name, and the map's version."""
    zoom, column, row = HERE
    path = address(company)
    answer = company.http.get(path.format(z=zoom, x=column, y=row)) if path else None
    if answer is None or answer.status_code == 204:
        return set(), path
    assert answer.headers["content-encoding"] == "gzip"
    etag = answer.headers.get("etag", "none: replaced at that very moment")
    again = company.http.get(path.format(z=zoom, x=column, y=row), headers={"If-None-Match": etag})
    if again.headers.get("etag") != etag:  # another map came in between
        return shown(company)
    assert (again.status_code, again.content) == (304, b"")
    features = mapbox_vector_tile.decode(answer.content)["road"]["features"]
    return {each["properties"]["name"] for each in features}, path


def address(company):
    """Where a page of this company finds tiles."""
    (found,) = company.get("/map/style.json", theme="dark")["sources"].get("base", {"tiles": [""]})["tiles"]
    return found.removeprefix(str(company.http.base_url).rstrip("/"))


def awaited(company, names):
    """The address of tiles, once those names are what a page shows."""
    found = waits.seen(lambda: shown(company), lambda found: found == (names, address(company)), within_s=PATIENCE_S)
    return found[1]


def test_map_comes_is_replaced_and_goes_beside_a_running_server(tmp_path):
    with servers.serving(tmp_path / "data") as server, Company(server.api, server.data) as company:
        assert shown(company) == (set(), "")
        addresses = []
        for name in ("High Street", "Main Street"):
            file = street(tmp_path / "town.osm.pbf", name)
            assert servers.run_here("map", "import", str(file), "--data", str(server.data)).returncode == 0
            addresses.append(awaited(company, {name}))
        file = street(tmp_path / "city.osm.pbf", "City Street")
        assert servers.run_here("map", "import", str(file), "--data", str(server.data)).returncode == 0
        addresses.append(awaited(company, {"Main Street", "City Street"}))
        for area in ("town", "city"):
            assert servers.run_here("map", "remove", area, "--data", str(server.data)).returncode == 0
        awaited(company, set())

    assert len({*addresses}) == 3


def test_file_from_elsewhere_is_shown_by_the_server_that_is_given_it(tmp_path):
    file = made.written(tmp_path / "world.pmtiles", {HERE: made.tile("Ring", layer="road")}, zooms=(0, 15))
    with (
        servers.serving(tmp_path / "data", variables={"TRIPLINE_MAP_TILES": str(file)}) as server,
        Company(server.api, server.data) as company,
    ):
        assert shown(company)[0] == {"Ring"}


@pytest.mark.parametrize("command", ["serve", "doctor"])
def test_file_that_cannot_be_shown_is_named_with_the_reason(tmp_path, command):
    file = made.written(tmp_path / "world.pmtiles", {HERE: b"x"}, tile_compression=Compression.BROTLI)
    data = tmp_path / "data"
    assert servers.run_here("migrate", "--data", str(data)).returncode == 0

    ports = ("--api-port=0", "--analytics-port=0", "--device-port=0") if command == "serve" else ()
    ended = servers.run(command, "--data", str(data), *ports, variables={"TRIPLINE_MAP_TILES": str(file)})

    assert ended.returncode == 1
    assert f"{file} is packed with brotli; gzip or nothing can be read" in ended.stdout + ended.stderr
