"""Imports of maps that are cancelled at any moment, whoever works on them, and servers that are killed meanwhile.

The former map stays, nothing of the import is left, and the next import of the area works at once.
"""

import os
import random
import threading
import time

import httpx
import pytest
from tests.support import map_files as made
from tests.support import servers
from tests.system import test_map_imports as imports

from tripline.adapters.maps import cancels, locks
from tripline.maintenance import maps

CANCELS = int(os.environ.get("TRIPLINE_TESTS_KILLS", "6"))
CANCEL = "/api/tre/v1_3/map/area/cancellation"


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    return made.town(tmp_path_factory.mktemp("town") / "town.osm.pbf")


def with_former(folder, tmp_path):
    """The former map of the area."""
    street = made.street(tmp_path / "street.osm.pbf")
    return maps.imported(folder, street, name="area", country="", progress=lambda _: None)


def left(folder):
    """What the folder has that is no map's, uploads among them."""
    return [*imports.left(folder), *folder.glob(".uploads/*")]


def is_free(folder):
    os.close(locks.take(folder))
    return True


@pytest.mark.deep
def test_import_that_is_cancelled_at_any_moment_leaves_the_former_map_and_nothing_else(tmp_path, town):
    print(f"TRIPLINE_TESTS_SEED={imports.SEED}")
    moments = random.Random(imports.SEED)
    folder = tmp_path / "data" / "maps"
    former = with_former(folder, tmp_path)
    with servers.serving(tmp_path / "data") as server, imports.administered(server) as http:
        began = time.monotonic()
        imports.sent(http, town.read_bytes())
        (new,) = imports.settled(http)["maps"]
        took_s = time.monotonic() - began
        with_former(folder, tmp_path)
        found, waited_s = [], []
        for _ in range(CANCELS):
            imports.sent(http, town.read_bytes())
            time.sleep(moments.uniform(0, 1.1) * took_s)
            asked = time.monotonic()
            status = http.post(CANCEL).status_code
            waited_s.append(time.monotonic() - asked)
            listed = http.get(imports.MAPS).json()
            assert listed["import"] is None, imports.SEED
            assert (left(folder), is_free(folder)) == ([".uploads"], True), imports.SEED
            found.append((status, listed["maps"][0]["map"]))
            if status == 404:
                with_former(folder, tmp_path)
        imports.sent(http, town.read_bytes())
        (after,) = imports.settled(http)["maps"]
        log = server.log()

    print(f"cancelled {found}, answered after {max(waited_s):.1f} s at most")
    assert set(found) <= {(200, former.map), (404, new["map"])}, imports.SEED
    assert (200, former.map) in found, imports.SEED
    assert after["map"] == new["map"]
    assert sum("map.import_cancelled" in line for line in log) == found.count((200, former.map)), imports.SEED
    assert not any("map.import_ended" in line for line in log)


@pytest.mark.deep
def test_import_by_the_command_is_cancelled_over_rest_and_says_so(tmp_path, town):
    data, folder = tmp_path / "data", tmp_path / "data" / "maps"
    former = with_former(folder, tmp_path)
    with servers.serving(data) as server, imports.administered(server) as http:
        command = ("map", "import", str(town), "--name", "area", "--data", str(data))
        said = []
        importing = threading.Thread(target=lambda: said.append(servers.run(*command)))
        importing.start()
        until = time.monotonic() + imports.PATIENCE_S
        while (status := http.post(CANCEL).status_code) == 404 and time.monotonic() < until:
            time.sleep(0.02)
        importing.join(imports.PATIENCE_S)

    assert status == 200
    assert (said[0].returncode, said[0].stderr) == (1, "tripline: The import of area was cancelled.\n")
    assert [each.map for each in maps.listed(folder)] == [former.map]
    assert left(folder) == []


@pytest.mark.deep
@pytest.mark.parametrize("after_s", [0.0, 0.1, 0.25, 0.5])
def test_server_that_is_killed_while_it_cancels_leaves_the_former_map_and_nothing_else(tmp_path, town, after_s):
    data, folder = tmp_path / "data", tmp_path / "data" / "maps"
    former = with_former(folder, tmp_path)
    with servers.serving(data) as server, imports.administered(server) as http:
        imports.sent(http, town.read_bytes())
        made.process_of(folder)

        def killed():
            while cancels.marked(folder) is None:
                time.sleep(0.001)
            time.sleep(after_s)
            server.kill()

        killer = threading.Thread(target=killed)
        killer.start()
        try:
            answer = http.post(CANCEL).status_code
        except httpx.HTTPError:
            answer = None
        killer.join()

    with servers.serving(data) as server, imports.administered(server) as http:
        until = time.monotonic() + imports.PATIENCE_S
        while cancels.marked(folder) is not None and time.monotonic() < until:
            time.sleep(0.05)
        listed = http.get(imports.MAPS).json()
        remains = left(folder)
        imports.sent(http, made.street(tmp_path / "other.osm.pbf", maxspeed="50").read_bytes())
        after = imports.settled(http)

    print(f"killed {after_s} s after it was asked to cancel: answered {answer}")
    assert ([each["map"] for each in listed["maps"]], listed["import"]) == ([former.map], None)
    assert remains == [".uploads"]
    assert after["import"] is None
    (standing,) = after["maps"]
    assert (standing["roads"], standing["map"] == former.map) == (1, False)
