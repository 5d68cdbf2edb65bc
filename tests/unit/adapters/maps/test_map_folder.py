"""The folder of maps, by the commands: one map takes the place of another in one step; what fails changes nothing."""

import errno
import fcntl
import os
import shutil
from contextlib import contextmanager
from importlib import metadata

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace
from tests.support import map_files as made
from tests.support import road_servers
from tests.support.road_servers import Stand

from tripline import cli
from tripline.adapters.maps import files, imports, locks, osm_file, stamps
from tripline.adapters.maps import tiles as map_tiles
from tripline.adapters.maps import work as map_work
from tripline.domain.maps import ImportState, ImportStep, MapImport
from tripline.maintenance import maps


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "maps"


def imported(folder, file, name="area"):
    return maps.imported(folder, file, name=name, country="", progress=lambda _: None)


def folders(folder):
    return sorted(each.name for each in folder.iterdir() if each.is_dir() and not each.name.startswith("."))


def test_map_that_is_kept_is_the_one_that_was_made(folder, tmp_path):
    area = imported(folder, made.street(tmp_path / "a.osm.pbf", maxspeed="50"))
    index, texts = files.load(folder, area)
    expected, of_expected = osm_file.read(tmp_path / "a.osm.pbf", scratch=tmp_path, progress=lambda _: None).built(
        otherwise=""
    )

    assert texts == of_expected
    for name in index.__struct_fields__:
        assert np.array_equal(getattr(index, name), getattr(expected, name)), name
    assert maps.listed(folder) == [area]
    assert (area.roads, area.source) == (1, "a.osm.pbf")
    assert area.bounds.west == area.bounds.east == 9.5
    assert 47.0 < area.bounds.south < area.bounds.north < 47.1


def test_second_import_takes_the_place_of_the_first(folder, tmp_path):
    first = imported(folder, made.street(tmp_path / "a.osm.pbf", maxspeed="50"))
    before = stamps.stamp(folder)
    open_before, _ = files.load(folder, first)

    second = imported(folder, made.street(tmp_path / "a.osm.pbf", maxspeed="30"))

    assert maps.listed(folder) == [second]
    assert folders(folder) == [second.folder]
    assert second.map != first.map
    assert stamps.stamp(folder) != before
    assert open_before.lat.size == 11  # whoever has it open may go on reading
    assert int(open_before.lat[0]) == 470_026_980


def test_areas_lie_side_by_side(folder, tmp_path):
    file = made.street(tmp_path / "a.osm.pbf")

    areas = [imported(folder, file, name) for name in ("a", "a-b", "b")]
    maps.removed(folder, "a")

    assert maps.listed(folder) == areas[1:]
    assert folders(folder) == sorted(area.folder for area in areas[1:])


@pytest.mark.parametrize("body", [b"", b"nonsense"])
def test_file_that_cannot_be_used_leaves_the_former_map(folder, tmp_path, body):
    area = imported(folder, made.street(tmp_path / "a.osm.pbf"))
    wrong = tmp_path / "b.osm.pbf"
    wrong.write_bytes(body)

    with pytest.raises(osm_file.MapFileError):
        imported(folder, wrong)

    assert maps.listed(folder) == [area]
    assert folders(folder) == [area.folder]
    files.load(folder, area)


def test_what_a_killed_import_left_goes_with_the_next(folder, tmp_path):
    (folder / "area.0123456789ab").mkdir(parents=True)

    area = imported(folder, made.street(tmp_path / "a.osm.pbf"))

    assert folders(folder) == [area.folder]


class Killed(BaseException):
    """Ends an import where no code of it goes on."""


def left(folder):
    """What the folder has beside areas and its lock."""
    return sorted(each.name for each in folder.iterdir() if each.name.startswith(".") and each.name != ".lock")


@contextmanager
def killed_at(monkeypatch, module, name):
    """End an import where it calls this."""

    def end(*_, **__):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(module, name, end)
        with pytest.raises(Killed):
            yield


@pytest.mark.parametrize(
    ("changes", "is_same"),
    [({}, True), ({"name": "other"}, False), ({"file": "/other.osm.pbf"}, False), ({"reason": "It failed."}, False)],
    ids=str,
)
def test_import_begins_with_the_upload_of_its_file(folder, tmp_path, changes, is_same):
    """A page that was made during the upload still names the import that follows."""
    file = made.street(tmp_path / "a.osm.pbf")
    told = MapImport(name="area", country="", file=str(file), begun_ms=1, told_ms=2, step=ImportStep.UPLOAD)
    folder.mkdir()
    imports.write(folder, replace(told, **changes))
    begun = set()

    maps.imported(
        folder, file, name="area", country="", progress=lambda _: begun.add(imports.read(folder).begun_ms == 1)
    )

    assert begun == {is_same}


def told_of(folder, file, **changes):
    """What an import told that it read and made, and the area."""
    told = []
    area = maps.imported(folder, file, **{"name": "area", "country": "", **changes}, progress=told.append)
    return told, area


@pytest.mark.parametrize(
    ("module", "name", "steps"), [(map_tiles, "write", 1), (map_work.Work, "moved", 2)], ids=["roads", "tiles"]
)
def test_import_that_was_killed_goes_on_behind_its_last_step(folder, tmp_path, monkeypatch, module, name, steps):
    file = made.street(tmp_path / "a.osm.pbf", maxspeed="50")
    (roads, *tiles), expected = told_of(folder, file, name="whole")
    with killed_at(monkeypatch, module, name):
        imported(folder, file)
    assert len(left(folder)) == 2  # what is told, and the work folder

    told, area = told_of(folder, file)

    assert roads == 1
    assert told == (tiles if steps == 1 else [])
    kept = {**msgspec.structs.asdict(expected), "name": "area", "folder": area.folder, "imported_ms": area.imported_ms}
    assert msgspec.structs.asdict(area) == kept
    assert left(folder) == []
    for each in (folder / expected.folder).iterdir():
        assert (folder / area.folder / each.name).read_bytes() == each.read_bytes(), each.name


@pytest.mark.parametrize("change", ["file", "country", "form", "version"])
def test_import_of_anything_else_begins_anew(folder, tmp_path, monkeypatch, change):
    file = made.street(tmp_path / "a.osm.pbf")
    with killed_at(monkeypatch, map_work.Work, "moved"):
        imported(folder, file)
    work = left(folder)
    match change:
        case "file":
            made.street(file, maxspeed="30")
        case "form":
            monkeypatch.setattr(files, "FORMAT", files.FORMAT + 1)
        case "version":
            monkeypatch.setattr(metadata, "version", lambda _: "0.0.0")

    told, area = told_of(folder, file, country="KR" if change == "country" else "")
    afresh, _ = told_of(tmp_path / "other", file)

    assert told == afresh
    assert len(work) == 2
    assert left(folder) == []
    assert folders(folder) == [area.folder]


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (osm_file, "read"),
        (files, "write"),
        (locks, "sync"),
        (map_tiles, "write"),
        (map_work.Work, "moved"),
        (files, "put"),
        (files, "clear"),
    ],
)
def test_import_that_was_killed_anywhere_leaves_the_former_map_or_the_new_one(
    folder, tmp_path, monkeypatch, module, name
):
    former = imported(folder, made.street(tmp_path / "a.osm.pbf", maxspeed="50"))
    file = made.street(tmp_path / "b.osm.pbf", maxspeed="30")
    with killed_at(monkeypatch, module, name):
        imported(folder, file)

    (area,) = maps.listed(folder)
    _, texts = files.load(folder, area)
    standing = imports.standing(folder)

    assert (area == former) is (name != "clear")
    assert {each.limit.kmh for each in texts.limits[0]} == {50 if area == former else 30}
    assert standing is not None
    assert (standing.stage, standing.can_continue) == (ImportState.INTERRUPTED, True)

    area = imported(folder, file)
    assert (folders(folder), left(folder)) == ([area.folder], [])


def test_file_that_changes_while_it_is_imported_is_refused(folder, tmp_path):
    former = imported(folder, made.street(tmp_path / "a.osm.pbf", maxspeed="50"))
    file = made.street(tmp_path / "b.osm.pbf", maxspeed="30")

    with pytest.raises(osm_file.MapFileError, match=r"b\.osm\.pbf changed while it was imported\."):
        maps.imported(folder, file, name="area", country="", progress=lambda _: made.street(file, maxspeed="70"))

    assert maps.listed(folder) == [former]
    assert left(folder) == [".import"]


def test_folder_that_cannot_be_written_is_told_in_one_line(folder, tmp_path, monkeypatch):
    former = imported(folder, made.street(tmp_path / "a.osm.pbf"))
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fails(*_):
        raise full

    monkeypatch.setattr(files, "write", fails)
    with pytest.raises(locks.NoAreaError, match=r"^The maps cannot be written: No space left on device\.$"):
        imported(folder, tmp_path / "a.osm.pbf")

    standing = imports.standing(folder)
    assert standing is not None
    assert standing.stage == ImportState.FAILED
    assert standing.record.reason == "The maps cannot be written: No space left on device."
    assert left(folder) == [".import"]  # a full disk has its room back
    assert maps.listed(folder) == [former]


def test_import_gives_back_the_lock_that_was_handed_down_to_it(folder, tmp_path):
    file = made.street(tmp_path / "a.osm.pbf")
    held = locks.take(folder)
    ours = os.dup(held)
    try:
        maps.imported(folder, file, name="area", country="", progress=lambda _: None, held=held)

        assert not locks.is_changing(folder)
    finally:
        os.close(ours)


def test_two_commands_do_not_change_maps_at_once(folder, tmp_path):
    file = made.street(tmp_path / "a.osm.pbf")
    imported(folder, file)
    with (folder / ".lock").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        with pytest.raises(files.NoAreaError, match="Another command or server changes the maps"):
            imported(folder, file)
        with pytest.raises(files.NoAreaError, match="Another command or server changes the maps"):
            maps.removed(folder, "area")


@pytest.mark.parametrize("name", ["area", "../area", ""])
def test_map_that_is_not_there_cannot_be_removed(folder, name):
    with pytest.raises(files.NoAreaError, match="There is no map called"):
        maps.removed(folder, name)


def test_maps_beyond_the_bound_are_refused(folder, tmp_path, monkeypatch):
    file = made.street(tmp_path / "a.osm.pbf")
    monkeypatch.setattr(files, "MOST_AREAS", 1)
    imported(folder, file)

    with pytest.raises(files.NoAreaError, match="There are 1 maps already"):
        imported(folder, file, "second")
    imported(folder, file)


def test_map_of_another_version_or_without_its_files_is_not_read(folder, tmp_path):
    area = imported(folder, made.street(tmp_path / "a.osm.pbf"))
    shutil.rmtree(folder / area.folder)

    with pytest.raises(files.NoAreaError, match="The map of area cannot be read"):
        files.load(folder, area)


def run(capsys, *words):
    code = cli.run(["map", *words])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_commands_import_list_and_remove(tmp_path, capsys):
    data = ("--data", str(tmp_path / "data"))
    file = made.street(tmp_path / "High.Street.osm.pbf")

    assert run(capsys, "import", str(file), *data)[:2] == (
        0,
        f"imported high: 1 roads, map {files.fingerprint(file)}\n"
        f"stored scores stay until you run: tripline rescore --map high {' '.join(data)}\n",
    )
    code, told, _ = run(capsys, "list", *data)
    assert (code, told.splitlines()[-1]) == (0, "1 maps")
    assert "47.00 to 47.03 N, 9.50 to 9.50 E" in told
    assert run(capsys, "remove", "high", *data) == (0, "removed high\n", "")
    assert run(capsys, "remove", "high", *data) == (1, "", "tripline: There is no map called high.\n")


def test_list_names_the_lost_map_and_an_import_mends_it(tmp_path, capsys):
    data = ("--data", str(tmp_path / "data"))
    file = made.street(tmp_path / "a.osm.pbf")
    run(capsys, "import", str(file), *data)
    run(capsys, "import", str(file), "--name", "b", *data)
    (tmp_path / "data/maps/a.json").write_text("")

    code, told, said = run(capsys, "list", *data)

    assert (code, told.splitlines()[-1]) == (1, "1 maps")
    assert said.startswith("tripline: The map of a cannot be read: ")
    assert run(capsys, "import", str(file), *data)[0] == 0
    assert run(capsys, "list", *data)[0] == 0
    assert len(folders(tmp_path / "data/maps")) == 2


def test_list_says_how_an_import_stands_that_has_not_come_to_a_good_end(tmp_path, capsys, monkeypatch):
    data = ("--data", str(tmp_path / "data"))
    file = made.street(tmp_path / "a.osm.pbf")
    with killed_at(monkeypatch, files, "opened"):
        maps.imported(tmp_path / "data/maps", file, name="b", country="KR", progress=lambda _: None)
    interrupted = run(capsys, "list", *data)
    (tmp_path / "cut.osm.pbf").write_bytes(file.read_bytes()[:-20])
    run(capsys, "import", str(tmp_path / "cut.osm.pbf"), *data)
    failed = run(capsys, "list", *data)
    run(capsys, "import", str(file), *data)
    done = run(capsys, "list", *data)

    assert interrupted[:2] == (
        0,
        f"0 maps\nimport of b was interrupted; to go on: tripline map import {file} --name b --country KR\n",
    )
    assert failed[1].startswith("0 maps\nimport of cut failed: cut.osm.pbf is damaged or cut off: ")
    assert done[1].endswith("\n1 maps\n")


def test_doctor_names_the_lost_map_and_what_mends_it(tmp_path, capsys):
    data = ("--data", str(tmp_path / "data"))
    assert cli.run(["migrate", *data]) == 0
    run(capsys, "import", str(made.street(tmp_path / "a.osm.pbf")), *data)
    assert cli.run(["doctor", *data]) == 0
    shutil.rmtree(tmp_path / "data/maps" / folders(tmp_path / "data/maps")[0])

    assert cli.run(["doctor", *data]) == 1
    (line,) = [each for each in capsys.readouterr().out.splitlines() if each.startswith("WRONG")]
    assert line.startswith("WRONG maps: the map of “a” cannot be read (")
    assert line.endswith("(`tripline map import FILE --name a`), or remove it (`tripline map remove a`)")


def test_doctor_names_the_setting_of_a_valhalla_server_that_is_away(tmp_path, capsys, monkeypatch):
    data = ("--data", str(tmp_path / "data"))
    assert cli.run(["migrate", *data]) == 0
    monkeypatch.setenv("TRIPLINE_MAP_ROADS", "valhalla")
    with road_servers.standing(Stand()) as stand:
        monkeypatch.setenv("TRIPLINE_MAP_VALHALLA_URL", stand.url.replace("//", "//kim:secret@"))
        assert cli.run(["doctor", *data]) == 0
    there = capsys.readouterr()
    assert cli.run(["doctor", *data]) == 1
    away = capsys.readouterr()

    assert "ok    roads: the Valhalla server of `map.valhalla_url` answers\n" in there.out
    assert stand.asked == [("status", None)]
    (line,) = [each for each in away.out.splitlines() if each.startswith("WRONG")]
    assert line.startswith("WRONG roads: Valhalla cannot be reached: ConnectError. Trips ")
    assert "`map.valhalla_url`" in line
    assert [told for told in ("kim", "secret", stand.url[7:]) if told in "".join((*there, *away))] == []


def test_commands_say_what_is_wrong_in_one_line(tmp_path, capsys):
    data = ("--data", str(tmp_path / "data"))
    file = made.street(tmp_path / "a.osm.pbf")

    assert run(capsys, "import", str(tmp_path / "none.osm.pbf"), *data)[0] == 1
    assert run(capsys, "import", str(file), "--name", "A b", *data)[0] == 2
    code, _, said = run(capsys, "import", str(file), "--country", "Korea", *data)
    assert (code, said) == (2, "tripline: --country must be two capital letters, such as KR.\n")


@pytest.mark.parametrize("name", [None, "valhalla", "Valhalla"])
def test_area_cannot_be_called_as_the_server_that_finds_roads(tmp_path, capsys, name):
    file = made.street(tmp_path / "Valhalla.osm.pbf")
    named = () if name is None else ("--name", name)

    code, _, said = run(capsys, "import", str(file), *named, "--data", str(tmp_path / "data"))

    assert (code, said) == (
        2,
        f"tripline: {name or 'valhalla'} is not a name for a map: scores use it for the Valhalla server. Choose another"
        " one (--name).\n",
    )
    assert not (tmp_path / "data").exists()


def test_setting_says_where_maps_lie(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TRIPLINE_MAP_DIR", str(tmp_path / "elsewhere"))

    run(capsys, "import", str(made.street(tmp_path / "a.osm.pbf")), "--data", str(tmp_path / "data"))

    assert [area.name for area in maps.listed(tmp_path / "elsewhere")] == ["a"]
