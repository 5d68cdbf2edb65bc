"""Imports of maps as processes that are killed at any moment, from the command and over REST.

The former map or the new one is there, whole; the next import works, and leaves nothing of those that were killed.
"""

import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest
from tests.support import launcher, servers, waits
from tests.support import map_files as made

from tripline.adapters.maps import files, imports
from tripline.domain.maps import ImportState
from tripline.maintenance import maps

KILLS = int(os.environ.get("TRIPLINE_TESTS_KILLS", "8"))
SEED = int(os.environ.get("TRIPLINE_TESTS_SEED") or random.randrange(10**6))
"""Other moments in each run: what one run's kills do not hit, another's do."""
PATIENCE_S = 60.0
MAPS = "/api/tre/v1_3/maps"


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    return made.town(tmp_path_factory.mktemp("town") / "town.osm.pbf")


def importing(town, data) -> launcher.Process:
    """The command, started with the program loaded: a kill hits the import."""
    arguments = ("map", "import", str(town), "--name", "area", "--data", str(data))
    with Path(os.devnull).open("w") as nothing:
        return launcher.start(arguments, servers.environment(), stdout=nothing.fileno(), stderr=sys.stderr.fileno())


def whole(folder, expected):
    """Which of the expected maps is there; its arrays are those of one import, every one of them."""
    (area,) = maps.listed(folder)
    index, _ = files.load(folder, area)
    arrays = expected[area.map]
    for name in index.__struct_fields__:
        assert np.array_equal(getattr(index, name), getattr(arrays, name)), (SEED, name)
    return area.map


def left(folder):
    """What the folder has that is no map's."""
    areas = maps.listed(folder)
    owned = {".lock", *(f"{area.name}.json" for area in areas), *(area.folder for area in areas)}
    return sorted(each.name for each in folder.iterdir() if each.name not in owned)


@pytest.mark.deep
def test_import_that_is_killed_at_any_moment_leaves_the_former_map_or_the_new_one(tmp_path, town):
    print(f"TRIPLINE_TESTS_SEED={SEED}")
    moments = random.Random(SEED)
    data, folder = tmp_path / "data", tmp_path / "data" / "maps"
    street = made.street(tmp_path / "street.osm.pbf")
    assert importing(street, data).wait(PATIENCE_S) == 0  # has the program loaded, which takes longer
    began = time.monotonic()
    assert importing(town, data).wait(PATIENCE_S) == 0
    took_s = time.monotonic() - began
    new = maps.listed(folder)[0]
    former = maps.imported(folder, street, name="area", country="", progress=lambda _: None)
    expected = {former.map: files.load(folder, former)[0]}
    again = maps.imported(tmp_path / "other", town, name="area", country="", progress=lambda _: None)
    expected[new.map] = files.load(tmp_path / "other", again)[0]
    found = []

    for _ in range(KILLS):
        process = importing(town, data)
        time.sleep(moments.uniform(0, 1.1) * took_s)
        process.kill()
        process.wait(PATIENCE_S)
        found.append(whole(folder, expected))
        standing = maps.under_way(folder)
        assert standing is None or standing.stage is ImportState.INTERRUPTED, SEED
        if found[-1] == new.map:
            maps.imported(folder, street, name="area", country="", progress=lambda _: None)

    assert importing(town, data).wait(PATIENCE_S) == 0
    assert (whole(folder, expected), left(folder)) == (new.map, []), SEED
    assert former.map in found, SEED


@contextmanager
def administered(server) -> Iterator[httpx.Client]:
    """Requests of a platform administrator."""
    servers.run_here(
        *("admin", "create", "--data", str(server.data), "--email", "root@x.example", "--password-stdin"),
        stdin="pass phrase",
    )
    with httpx.Client(base_url=server.api, timeout=PATIENCE_S) as http:
        login = http.post("/api/auth/login", json={"username": "root@x.example", "password": "pass phrase"})
        http.headers["X-Authorization"] = f"Bearer {login.json()['token']}"
        yield http


def sent(http, content, area="area"):
    answer = http.post(f"/api/tre/v1_3/map/{area}", content=content)
    assert answer.status_code == 200, answer.text
    return answer.json()


def settled(http):
    """The list of maps, once no import is under way."""
    return waits.seen(
        lambda: http.get(MAPS).json(),
        lambda listed: listed["import"] is None or listed["import"]["state"] != "RUNNING",
        within_s=PATIENCE_S,
    )


def logged(server, number):
    """What the server logged of imports, so many lines: a process ends after it told how it went."""
    return waits.seen(
        lambda: [line for line in server.log() if "map.import" in line],
        lambda found: len(found) >= number,
        within_s=PATIENCE_S,
    )


def test_files_that_come_over_rest_are_imported_beside_each_other(tmp_path, town):
    street = made.street(tmp_path / "a.osm.pbf", maxspeed="50")
    cut = town.read_bytes()[:-1_000]

    with servers.serving(tmp_path / "data") as server, administered(server) as http:
        began = sent(http, town.read_bytes(), "town")
        first = settled(http)
        sent(http, street.read_bytes(), "b")
        second = settled(http)
        sent(http, cut, "town")
        third = settled(http)
        log = logged(server, 3)

    assert (began["state"], began["step"]) == ("RUNNING", "ROADS")
    assert [(each["area"], each["roads"]) for each in first["maps"]] == [("town", made.TOWN_ROADS)]
    assert [(each["area"], each["roads"]) for each in second["maps"]] == [("b", 1), ("town", made.TOWN_ROADS)]
    assert (first["import"], second["import"], third["maps"]) == (None, None, second["maps"])
    assert (third["import"]["state"], third["import"]["canContinue"]) == ("FAILED", False)
    assert third["import"]["reason"].startswith("town.osm.pbf is damaged or cut off: ")
    assert left(tmp_path / "data" / "maps") == [".import", ".uploads"]
    assert ["map.import_ended" in line for line in log] == [False, False, True]


def is_there(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.deep
def test_import_whose_process_dies_is_interrupted_and_goes_on_by_one_request(tmp_path, town):
    folder = tmp_path / "data" / "maps"
    with servers.serving(tmp_path / "data") as server, administered(server) as http:
        sent(http, town.read_bytes())
        pid = made.process_of(folder)
        until = time.monotonic() + PATIENCE_S
        while os.getpriority(os.PRIO_PROCESS, pid) <= os.getpriority(os.PRIO_PROCESS, server.process.pid):
            assert time.monotonic() < until, "it has no low priority"
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)
        interrupted = settled(http)
        again = http.post("/api/tre/v1_3/map/area/continuation").json()
        done = settled(http)

    assert (interrupted["maps"], interrupted["import"]["state"]) == ([], "INTERRUPTED")
    assert interrupted["import"]["canContinue"] is True
    assert again["state"] == "RUNNING"
    assert (done["import"], [each["roads"] for each in done["maps"]]) == (None, [made.TOWN_ROADS])
    assert left(folder) == [".uploads"]


@pytest.mark.deep
@pytest.mark.parametrize("way", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_import_ends_with_its_server_and_another_one_goes_on(tmp_path, town, way):
    data, folder = tmp_path / "data", tmp_path / "data" / "maps"
    with servers.serving(data) as server, administered(server) as http:
        sent(http, town.read_bytes())
        pid = made.process_of(folder)
        server.stop(with_signal=way)
    until = time.monotonic() + PATIENCE_S
    while is_there(pid) and time.monotonic() < until:
        time.sleep(0.01)
    assert not is_there(pid)
    standing = imports.standing(folder)
    assert standing is not None
    assert (standing.stage, standing.can_continue) == (ImportState.INTERRUPTED, True)

    with servers.serving(data) as server, administered(server) as http:
        begun = http.post("/api/tre/v1_3/map/area/continuation").json()
        done = settled(http)

    assert begun["state"] == "RUNNING"
    assert (done["import"], [each["roads"] for each in done["maps"]]) == (None, [made.TOWN_ROADS])


@pytest.mark.deep
def test_upload_that_is_cut_off_leaves_nothing_of_itself(tmp_path, town):
    folder = tmp_path / "data" / "maps"
    content = town.read_bytes()

    def pieces():
        yield content[: len(content) // 2]
        raise ConnectionAbortedError

    with servers.serving(tmp_path / "data") as server, administered(server) as http:
        with pytest.raises(ConnectionAbortedError):
            http.post("/api/tre/v1_3/map/area", content=pieces())
        until = time.monotonic() + PATIENCE_S
        while (listed := http.get(MAPS).json())["import"] and time.monotonic() < until:
            time.sleep(0.05)

    assert listed == {"maps": [], "import": None}
    assert list((folder / ".uploads").iterdir()) == []


@pytest.mark.deep
def test_upload_whose_server_is_killed_leaves_nothing_that_counts(tmp_path, town):
    data, folder = tmp_path / "data", tmp_path / "data" / "maps"
    content = town.read_bytes()

    with servers.serving(data) as server, administered(server) as http:

        def pieces():
            yield content[: len(content) // 2]
            while not list(folder.glob(".uploads/*")):
                time.sleep(0.01)
            server.kill()
            yield content[len(content) // 2 :]

        with pytest.raises(httpx.HTTPError):
            http.post("/api/tre/v1_3/map/area", content=pieces())
    standing = imports.standing(folder)

    with servers.serving(data) as server, administered(server) as http:
        refused = http.post("/api/tre/v1_3/map/area/continuation").status_code
        sent(http, content)
        done = settled(http)

    assert standing is not None
    assert (standing.stage, standing.can_continue, refused) == (ImportState.INTERRUPTED, False, 409)
    assert (done["import"], [each["roads"] for each in done["maps"]]) == (None, [made.TOWN_ROADS])
    assert left(folder) == [".uploads"]
    assert list((folder / ".uploads").iterdir()) == []
