"""Shares of open files for devices and the HTTP listeners."""

import pytest

from tripline.adapters.sockets import BESIDES, Shares, split

WANTED = Shares(devices=20_000, http_listener=2_048, http_listeners=3)


@pytest.mark.parametrize(
    ("files", "devices", "http_listener"),
    [
        (WANTED.files + 1, 20_000, 2_048),
        (WANTED.files, 20_000, 2_048),
        (WANTED.files - 1, 19_999, 2_048),
        (20_000, 13_464, 1_496),
        (4_096, 2_304, 256),
        (1_024, 576, 64),
        (100, 27, 16),
    ],
)
def test_few_files_are_split_so_that_no_listener_takes_those_of_another(files: int, devices: int, http_listener: int):
    shares = split(WANTED, files)

    assert shares == Shares(devices, http_listener, 3)
    assert shares.devices + 3 * shares.http_listener <= files - min(BESIDES, files // 4)


def test_process_without_devices_gives_all_to_http():
    assert split(Shares(0, 2_048, 3), 1_024) == Shares(0, 256, 3)
