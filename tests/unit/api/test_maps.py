"""Maps over REST: listing, removing, files that arrive and those that are refused.

What becomes of a file that was taken in is in `tests/system/test_map_imports.py`: a process of its own imports it.
"""

import asyncio
import os

import pytest
from tests.support import map_files as made
from tests.support import rest, stores

from tripline.adapters.maps import cancels, imports, locks, service
from tripline.domain.access import Authority
from tripline.domain.maps import ImportState, ImportStep
from tripline.http import uploads
from tripline.maintenance import maps

MAPS, MAP = "/api/tre/v1_3/maps", "/api/tre/v1_3/map/area"
NOTHING = {"maps": [], "import": None}


@pytest.fixture
async def app(tmp_path):
    """REST with a folder of maps."""
    made = rest.Rest(stores.fresh(tmp_path), maps=tmp_path / "maps")
    yield made
    await made.close()


async def administrator(app: rest.Rest):
    """A platform administrator."""
    return await app.account("root@x.example", Authority.SYS_ADMIN)


def imported(tmp_path, name="area", **tags):
    return maps.imported(
        tmp_path / "maps", made.street(tmp_path / "a.osm.pbf", **tags), name=name, country="", progress=lambda _: None
    )


def left(tmp_path):
    """What lies in the folder of maps, but for areas and their lock."""
    folder = tmp_path / "maps"
    found = [str(each.relative_to(folder)) for each in folder.rglob(".*") if each.name != ".lock"]
    return found + [str(each.relative_to(folder)) for each in folder.glob(".uploads/*")]


async def sent(app, root, body, path=MAP, **query):
    answer = await app.call(root, "POST", path, body, **query)
    return answer.status_code, answer.json()


async def test_maps_are_listed_with_what_is_known_of_them_and_those_that_are_lost(app: rest.Rest, tmp_path):
    area = imported(tmp_path)
    imported(tmp_path, "gone")
    imported(tmp_path, "unread")
    (tmp_path / "maps/unread.json").write_text("")
    gone = next(each for each in (tmp_path / "maps").glob("gone.*") if each.is_dir())
    (gone / "lat.npy").unlink()

    root = await administrator(app)
    headers = {"X-Authorization": f"Bearer {root.token}", "Accept-Language": "ko"}
    listed, korean = await app.get(root, MAPS), (await app.http.get(MAPS, headers=headers)).json()

    first, second, third = listed["maps"]
    assert listed["import"] is None
    assert first == {
        "area": "area",
        "map": area.map,
        "source": "a.osm.pbf",
        "importedTime": area.imported_ms,
        "roads": 1,
        "places": 0,
        "size": area.size,
        "bounds": area.bounds._asdict(),
        "lost": None,
    }
    assert (second["area"], second["roads"]) == ("gone", 1)
    assert second["lost"].startswith("its files in ")
    assert (third["area"], third["map"], third["bounds"]) == ("unread", None, None)
    assert third["lost"].startswith(f"its description {tmp_path}/maps/unread.json cannot be read (")
    assert [each["lost"] and "폴더의 파일 크기가" in each["lost"] for each in korean["maps"]] == [None, True, False]
    assert korean["maps"][2]["lost"].startswith("지도 정보 파일(")


async def test_installation_without_maps_has_none(app: rest.Rest, tmp_path):
    root = await administrator(app)
    assert await app.get(root, MAPS) == NOTHING
    assert not (tmp_path / "maps").exists()


async def test_map_is_removed_and_is_unknown_then(app: rest.Rest, tmp_path):
    imported(tmp_path)
    other = imported(tmp_path, "other")

    root = await administrator(app)
    removed = await app.delete(root, MAP)
    refused = [await app.refused(root, "DELETE", f"/api/tre/v1_3/map/{name}") for name in ("area", "Area", ".import")]
    listed = await app.get(root, MAPS)

    assert removed == {}
    assert refused == [(404, 32, f"There is no map called {name}.") for name in ("area", "Area", ".import")]
    assert [each["map"] for each in listed["maps"]] == [other.map]


async def test_map_in_a_folder_that_cannot_be_written_is_not_removed(app: rest.Rest, tmp_path):
    area = imported(tmp_path)
    (tmp_path / "maps/.lock").unlink()
    (tmp_path / "maps/.lock").mkdir()  # it cannot be opened for writing, as in a read-only folder

    root = await administrator(app)
    refused = await app.refused(root, "DELETE", MAP)
    status, listed = refused[0], await app.get(root, MAPS)

    assert status == 503
    assert [each["map"] for each in listed["maps"]] == [area.map]


@pytest.mark.parametrize("in_form", [False, True], ids=["body", "form"])
async def test_file_that_arrived_waits_to_be_imported(app: rest.Rest, tmp_path, in_form):
    content = made.street(tmp_path / "a.osm.pbf").read_bytes()

    root = await administrator(app)
    if in_form:
        headers = {"X-Authorization": f"Bearer {root.token}"}
        answer = await app.http.post(f"{MAP}?country=LI", headers=headers, files={"file": ("x", content)})
        status, told = answer.status_code, answer.json()
    else:
        status, told = await sent(app, root, content, country="LI")
    listed = await app.get(root, MAPS)

    assert status == 200
    assert told == {
        "area": "area",
        "source": "area.osm.pbf",
        "country": "LI",
        "begunTime": rest.NOW_MS,
        "toldTime": rest.NOW_MS,
        "state": "RUNNING",
        "step": "ROADS",
        "done": 0,
        "reason": None,
        "canContinue": False,
    }
    assert listed == {"maps": [], "import": told}
    assert (tmp_path / "maps/.uploads/area.osm.pbf").read_bytes() == content


REFUSED = [
    (b"", "The file is empty."),
    (b"<osm></osm>", "The file is not an OpenStreetMap file in PBF format (.osm.pbf)."),
    (b"x" * 100_000, "The file is not an OpenStreetMap file in PBF format (.osm.pbf)."),
]


@pytest.mark.parametrize(("body", "message"), REFUSED, ids=["empty", "short", "long"])
async def test_file_that_is_no_map_is_refused_and_nothing_is_left(app: rest.Rest, tmp_path, body, message):
    root = await administrator(app)
    assert (await app.refused(root, "POST", MAP, body), await app.get(root, MAPS)) == ((400, 31, message), NOTHING)
    assert not (tmp_path / "maps").exists()


async def test_file_that_is_no_map_is_refused_before_the_rest_of_it_came(app: rest.Rest):
    took = []

    async def pieces():
        for no in range(1_000):
            took.append(no)
            yield b"<osm>" * 100

    root = await administrator(app)
    headers = {"X-Authorization": f"Bearer {root.token}", "Accept-Language": "ko"}
    found = (await app.http.post(MAP, headers=headers, content=pieces())).json()["message"]

    assert found == "OpenStreetMap PBF 형식(.osm.pbf)의 파일이 아닙니다."
    assert len(took) < 1_000


async def test_file_up_to_the_bound_is_taken_and_one_byte_more_is_refused(app: rest.Rest, tmp_path):
    content = made.street(tmp_path / "a.osm.pbf").read_bytes()
    most = 2**20
    at = content + b"\0" * (most - len(content))

    async def pieces():  # without an announced length
        for start in range(0, most + 1, 65_536):
            yield (at + b"\0")[start : start + 65_536]

    root = await administrator(app)
    headers = {"X-Authorization": f"Bearer {root.token}"}
    unannounced = (await app.http.post(MAP, headers=headers, content=pieces())).status_code
    after = left(tmp_path), await app.get(root, MAPS)
    form = (await app.http.post(MAP, headers=headers, files={"file": ("x", at + b"\0")})).status_code
    announced = await app.refused(root, "POST", MAP, at + b"\0")
    taken = (await sent(app, root, at))[0]

    assert (unannounced, form) == (413, 413)
    assert announced == (413, 31, "The file must have at most 1 MiB.")
    assert after == ([".uploads"], NOTHING)
    assert taken == 200


async def upload_cut_off(app, root, content):
    """The status that nobody reads."""
    messages = [{"type": "http.request", "body": content[:-10], "more_body": True}, {"type": "http.disconnect"}]
    sent = []

    async def receive():
        return messages.pop(0)

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": MAP,
        "raw_path": MAP.encode(),
        "query_string": b"",
        "headers": [(b"x-authorization", f"Bearer {root.token}".encode())],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    await rest.application(app.contexts)(scope, receive, send)
    return sent[0]["status"]


async def test_upload_that_is_cut_off_leaves_nothing(app: rest.Rest, tmp_path):
    area = imported(tmp_path)
    content = made.street(tmp_path / "a.osm.pbf", maxspeed="30").read_bytes()

    root = await administrator(app)
    assert await upload_cut_off(app, root, content) == 400
    listed = await app.get(root, MAPS)

    assert ([each["map"] for each in listed["maps"]], listed["import"]) == ([area.map], None)
    assert left(tmp_path) == [".uploads"]
    assert not locks.is_changing(tmp_path / "maps")


async def test_upload_that_is_cut_off_leaves_the_interrupted_import_as_it_was(app: rest.Rest, tmp_path):
    content = made.street(tmp_path / "a.osm.pbf").read_bytes()

    async def interrupted(app, root):
        await sent(app, root, content)
        os.close(app.contexts.maps.keeper._orders.get_nowait().held)

    root = await administrator(app)
    await interrupted(app, root)
    before = await app.get(root, MAPS)
    assert await upload_cut_off(app, root, content) == 400
    after = await app.get(root, MAPS)

    assert before["import"]["state"] == "INTERRUPTED"
    assert before["import"]["canContinue"] is True
    assert after == before


async def test_file_that_does_not_arrive_in_time_is_refused_and_nothing_is_left(app: rest.Rest, tmp_path, monkeypatch):
    monkeypatch.setattr(uploads.stream, "__kwdefaults__", {"pace": uploads.Pace(idle_s=0.05)})
    content = made.street(tmp_path / "a.osm.pbf").read_bytes()

    async def pieces():
        yield content
        await asyncio.sleep(1)
        yield content

    root = await administrator(app)
    headers = {"X-Authorization": f"Bearer {root.token}"}
    answer = await app.http.post(MAP, headers=headers, content=pieces())

    assert (answer.status_code, await app.get(root, MAPS)) == (408, NOTHING)
    assert left(tmp_path) == [".uploads"]


async def test_one_file_arrives_at_a_time_whoever_has_it(app: rest.Rest, tmp_path):
    content = made.street(tmp_path / "a.osm.pbf").read_bytes()

    root = await administrator(app)
    begun, end = asyncio.Event(), asyncio.Event()

    async def pieces():
        yield content
        begun.set()
        await end.wait()

    headers = {"X-Authorization": f"Bearer {root.token}"}
    first = asyncio.ensure_future(app.http.post(MAP, headers=headers, content=pieces()))
    await begun.wait()
    told = (await app.get(root, MAPS))["import"]
    refused = [
        await app.refused(root, "POST", MAP, content),
        await app.refused(root, "POST", "/api/tre/v1_3/map/other", content),
        await app.refused(root, "POST", f"{MAP}/continuation"),
        await app.refused(root, "DELETE", MAP),
    ]
    with pytest.raises(locks.NoAreaError, match="right now"):
        imported(tmp_path)
    end.set()

    assert (await first).status_code == 200
    assert (told["state"], told["step"], told["canContinue"]) == ("RUNNING", "UPLOAD", False)
    assert refused == [(409, 2, "A map is being imported or changed; try again when that has ended.")] * 4


async def test_import_that_was_interrupted_is_begun_again_by_one_request(app: rest.Rest, tmp_path):
    content = made.street(tmp_path / "a.osm.pbf").read_bytes()

    root = await administrator(app)
    await sent(app, root, content)
    os.close(app.contexts.maps.keeper._orders.get_nowait().held)
    elsewhere = [
        await app.refused(root, "POST", f"/api/tre/v1_3/map/{name}/continuation")
        for name in ("other", "_", "AREA", "a" * 64)
    ]
    again = await app.post(root, f"{MAP}/continuation")
    order = app.contexts.maps.keeper._orders.get_nowait()

    assert elsewhere == [
        (409, 2, f"No import of {name} can be continued; send the file again.")
        for name in ("other", "_", "AREA", "a" * 64)
    ]
    assert (again["state"], again["step"], again["canContinue"]) == ("RUNNING", "ROADS", False)
    assert order.record.file == str(tmp_path / "maps/.uploads/area.osm.pbf")


async def test_import_whose_file_is_gone_is_not_begun_again_and_can_be_removed(app: rest.Rest, tmp_path):
    content = made.street(tmp_path / "a.osm.pbf").read_bytes()

    root = await administrator(app)
    await sent(app, root, content)
    os.close(app.contexts.maps.keeper._orders.get_nowait().held)
    (tmp_path / "maps/.uploads/area.osm.pbf").unlink()
    told = (await app.get(root, MAPS))["import"]
    refused = await app.refused(root, "POST", f"{MAP}/continuation")
    removed, listed = await app.delete(root, MAP), await app.get(root, MAPS)

    assert (told["state"], told["canContinue"]) == ("INTERRUPTED", False)
    assert refused[:2] == (409, 2)
    assert (removed, listed) == ({}, NOTHING)


CANCEL = f"{MAP}/cancellation"
UNKNOWN = (404, 32, "There is no import of area.")


def interrupted(tmp_path):
    """The area with a map, and an import of it that was killed."""
    area = imported(tmp_path)

    def killed(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        maps.imported(tmp_path / "maps", tmp_path / "a.osm.pbf", name="area", country="LI", progress=killed)
    return area


async def test_file_on_its_way_is_cancelled_and_nothing_of_it_is_left(app: rest.Rest, tmp_path):
    area = imported(tmp_path)
    content = made.street(tmp_path / "a.osm.pbf", maxspeed="30").read_bytes()

    root = await administrator(app)
    begun = asyncio.Event()

    async def pieces():
        yield content
        begun.set()
        await asyncio.Event().wait()

    headers = {"X-Authorization": f"Bearer {root.token}"}
    first = asyncio.ensure_future(app.http.post(MAP, headers=headers, content=pieces()))
    await begun.wait()
    unknown = await app.refused(root, "POST", "/api/tre/v1_3/map/other/cancellation")
    cancelled = await app.post(root, CANCEL)
    answer = await first
    after = left(tmp_path), await app.get(root, MAPS)
    answer, (remains, listed), (status, _) = (
        (answer.status_code, answer.json()["message"]),
        after,
        await sent(app, root, content),
    )

    assert (cancelled, unknown) == ({}, (404, 32, "There is no import of other."))
    assert answer == (409, "The import was cancelled before the whole file had arrived.")
    assert (remains, [each["map"] for each in listed["maps"]], listed["import"]) == ([".uploads"], [area.map], None)
    assert status == 200


async def test_import_that_waits_is_cancelled_once_whoever_has_it_lets_go(app: rest.Rest, tmp_path):
    content = made.street(tmp_path / "a.osm.pbf").read_bytes()

    root = await administrator(app)
    await sent(app, root, content)
    both = asyncio.gather(app.post(root, CANCEL), app.call(root, "POST", CANCEL))
    await made.cancelling(tmp_path / "maps")
    os.close(app.contexts.maps.keeper._orders.get_nowait().held)
    first, second = await both
    second, listed, again = second.status_code, await app.get(root, MAPS), await app.refused(root, "POST", CANCEL)

    assert (first, second in (200, 404), listed, again) == ({}, True, NOTHING, UNKNOWN)
    assert left(tmp_path) == [".uploads"]


async def test_import_that_ended_is_cancelled_and_the_former_map_stays(app: rest.Rest, tmp_path):
    area = interrupted(tmp_path)

    root = await administrator(app)
    cancelled, listed = await app.post(root, CANCEL), await app.get(root, MAPS)

    assert (cancelled, [each["map"] for each in listed["maps"]], listed["import"]) == ({}, [area.map], None)
    assert left(tmp_path) == []
    assert (tmp_path / "a.osm.pbf").exists()  # the operator's own


async def test_import_that_does_not_end_is_told_so_and_ends_with_the_next_start(app: rest.Rest, tmp_path, monkeypatch):
    monkeypatch.setattr(service, "_ENDS_S", 0.3)
    content = made.street(tmp_path / "a.osm.pbf").read_bytes()

    root = await administrator(app)
    await sent(app, root, content)
    refused = await app.refused(root, "POST", CANCEL)
    os.close(app.contexts.maps.keeper._orders.get_nowait().held)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await app.contexts.maps.keeper.run()

    assert (refused[:2], await app.get(root, MAPS)) == ((409, 2), NOTHING)
    assert left(tmp_path) == [".uploads"]


@pytest.mark.parametrize("other", [False, True], ids=["same area", "other area"])
async def test_cancellation_that_came_to_no_end_touches_no_later_import(app: rest.Rest, tmp_path, other):
    content = made.street(tmp_path / "a.osm.pbf").read_bytes()
    folder = tmp_path / "maps"

    root = await administrator(app)
    await sent(app, root, content)
    os.close(app.contexts.maps.keeper._orders.get_nowait().held)
    assert cancels.mark(folder, "area")
    begun = await sent(app, root, content, "/api/tre/v1_3/map/other" if other else MAP)
    begun, told = begun[1], (await app.get(root, MAPS))["import"]

    assert begun == told
    assert cancels.marked(folder) is None
    assert left(tmp_path) == [".import", ".uploads", f".uploads/{begun['area']}.osm.pbf"]


def test_import_by_the_command_ends_when_it_is_cancelled_and_never_once_its_map_is_being_placed(tmp_path, monkeypatch):
    monkeypatch.setattr(cancels, "LOOK_S", 60)  # an end here ends no process, so that both looks would find one
    folder, file = tmp_path / "maps", made.street(tmp_path / "a.osm.pbf")
    ended = []

    class EndedError(BaseException):
        pass

    def end():
        ended.append(cancels.marked(folder))
        raise EndedError

    def told(_):
        cancels.mark(folder, "area")

    with pytest.raises(EndedError):
        maps.imported(folder, file, name="area", country="", progress=told, cancelled=end)

    assert (ended, maps.listed(folder)) == (["area"], [])
    maps.imported(folder, file, name="area", country="", progress=lambda _: None, cancelled=end)
    assert (ended, len(maps.listed(folder)), left(tmp_path)) == (["area"], 1, [])


async def test_import_that_failed_says_why_in_the_readers_language(app: rest.Rest, tmp_path):
    folder = tmp_path / "maps"
    file = made.street(tmp_path / "a.osm.pbf")
    cut = tmp_path / "cut.osm.pbf"
    cut.write_bytes(file.read_bytes()[:-20])
    area = imported(tmp_path)
    with pytest.raises(maps.MapFileError):
        maps.imported(folder, cut, name="area", country="", progress=lambda _: None)

    root = await administrator(app)
    headers = {"X-Authorization": f"Bearer {root.token}", "Accept-Language": "ko"}
    english, korean = await app.get(root, MAPS), (await app.http.get(MAPS, headers=headers)).json()

    assert [each["map"] for each in english["maps"]] == [area.map]
    assert (english["import"]["state"], english["import"]["canContinue"]) == ("FAILED", False)
    assert english["import"]["reason"].startswith("cut.osm.pbf is damaged or cut off: ")
    assert korean["import"]["reason"].startswith("cut.osm.pbf 파일이 손상되었거나 ")


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("/api/tre/v1_3/map/A", {}, "area"),
        (f"/api/tre/v1_3/map/{'a' * 64}", {}, "area"),
        ("/api/tre/v1_3/map/.import", {}, "area"),
        (MAP, {"country": "Korea"}, "country"),
        (MAP, {"country": "kr"}, "country"),
    ],
)
async def test_bad_name_and_country_are_refused_by_name(app: rest.Rest, path, query, field):
    root = await administrator(app)
    status, code, message = await app.refused(root, "POST", path, b"x", **query)

    assert (status, code, f"'{field}'" in message) == (400, 31, True)


@pytest.mark.parametrize("name", ["valhalla", "Valhalla", "VALHALLA"])
async def test_area_cannot_be_called_as_the_server_that_finds_roads(app: rest.Rest, tmp_path, name):
    content = made.street(tmp_path / "a.osm.pbf").read_bytes()

    root = await administrator(app)
    refused, listed = await app.refused(root, "POST", f"/api/tre/v1_3/map/{name}", content), await app.get(root, MAPS)

    said = "Parameter 'area' cannot be valhalla: scores use that name for the Valhalla server. Choose another name."
    assert (refused, listed) == ((400, 31, said), NOTHING)


@pytest.mark.parametrize("country", ["", "null", "undefined"])
async def test_unset_text_for_a_country_is_none(app: rest.Rest, tmp_path, country):
    content = made.street(tmp_path / "a.osm.pbf").read_bytes()

    root = await administrator(app)
    status, told = await sent(app, root, content, country=country)

    assert (status, told["country"]) == (200, None)


async def test_account_that_is_disabled_meanwhile_imports_nothing(app: rest.Rest, tmp_path):
    content = made.street(tmp_path / "a.osm.pbf").read_bytes()

    root = await administrator(app)

    async def pieces():
        yield content[:100]
        await app.call(root, "DELETE", "/sessions")
        yield content[100:]

    headers = {"X-Authorization": f"Bearer {root.token}"}
    answer = await app.http.post(MAP, headers=headers, content=pieces())
    other = await app.account("other@x.example", Authority.SYS_ADMIN)

    assert (answer.status_code, await app.get(other, MAPS)) == (401, NOTHING)


def test_import_that_stands_still_is_told_as_it_was(tmp_path):
    folder = tmp_path / "maps"

    def stopped(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        maps.imported(folder, made.street(tmp_path / "a.osm.pbf"), name="area", country="LI", progress=stopped)

    standing = imports.standing(folder)
    assert standing is not None
    assert standing.stage == ImportState.INTERRUPTED
    assert standing.record.step == ImportStep.ROADS
    assert standing.can_continue is True
