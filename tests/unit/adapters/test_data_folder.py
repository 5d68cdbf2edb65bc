"""The data folder: private, writable, one server at a time."""

import fcntl
import os
import stat
import threading
from pathlib import Path

import pytest

from tripline.adapters import data_folder


def test_new_folder_is_private(tmp_path):
    folder = data_folder.prepare(tmp_path / "a" / "b")

    assert (folder, stat.S_IMODE(folder.stat().st_mode)) == (tmp_path / "a" / "b", 0o700)


def test_folder_in_use_keeps_what_is_in_it(tmp_path):
    (tmp_path / "file").write_text("kept")

    data_folder.prepare(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_folder_that_another_command_proves_at_the_same_time_is_used(tmp_path, monkeypatch):
    touch = Path.touch
    monkeypatch.setattr(Path, "touch", lambda path: (touch(path), path.unlink()))

    assert data_folder.prepare(tmp_path) == tmp_path.resolve()


def test_file_in_place_of_the_folder_refuses(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(data_folder.DataFolderError, match=r"is a file\.$"):
        data_folder.prepare(tmp_path / "file")


def test_folder_that_cannot_be_made_refuses(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(data_folder.DataFolderError, match=r"cannot be made: Not a directory\.$"):
        data_folder.prepare(tmp_path / "file" / "below")


def test_second_hold_refuses_and_names_the_holder(tmp_path):
    hold = data_folder.Hold(tmp_path)

    with pytest.raises(data_folder.DataFolderError) as caught:
        data_folder.Hold(tmp_path)
    assert str(caught.value) == f"The data folder {tmp_path} is in use by another server (process {os.getpid()})."
    hold.release()


def test_released_folder_can_be_held_again(tmp_path):
    data_folder.Hold(tmp_path).release()

    data_folder.Hold(tmp_path).release()


def test_folder_no_server_has_used_is_told(tmp_path):
    with pytest.raises(data_folder.DataFolderError, match="There is no Tripline data in"):
        data_folder.existing(tmp_path)


def test_folder_that_cannot_be_looked_into_is_refused_in_one_line(tmp_path):
    """As another user's is; that one root itself, who runs the tests, could read."""
    with pytest.raises(data_folder.DataFolderError, match="cannot be read"):
        data_folder.existing(tmp_path / ("x" * 300))


def test_folder_is_held_while_a_server_holds_it(tmp_path):
    before = data_folder.is_held(tmp_path)
    hold = data_folder.Hold(tmp_path)
    during = data_folder.is_held(tmp_path)
    hold.release()

    assert (before, during, data_folder.is_held(tmp_path)) == (False, True, False)


def test_server_starts_however_slowly_somebody_looks_whether_one_runs(tmp_path):
    data_folder.Hold(tmp_path).release()
    looking = os.open(tmp_path / data_folder.LOCK, os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    done = threading.Timer(0.3, os.close, [looking])
    done.start()

    hold = data_folder.Hold(tmp_path)

    done.join()
    hold.release()


def test_address_of_a_running_server_is_told_until_it_ends(tmp_path):
    address = "http://127.0.0.1:18471"
    hold = data_folder.Hold(tmp_path)
    before = data_folder.address_of(tmp_path)
    hold.tell(address)

    running = data_folder.address_of(tmp_path)
    with pytest.raises(data_folder.DataFolderError, match=rf"another server \(process {os.getpid()}\)"):
        data_folder.Hold(tmp_path)
    hold.release()

    assert (before, running, data_folder.address_of(tmp_path)) == (None, address, None)
    again = data_folder.Hold(tmp_path)
    assert data_folder.address_of(tmp_path) is None
    again.release()


def test_folder_without_a_server_has_no_address(tmp_path):
    assert data_folder.address_of(tmp_path) is None
    assert data_folder.address_of(tmp_path / "none") is None
