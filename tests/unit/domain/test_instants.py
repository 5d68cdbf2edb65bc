import datetime
import zoneinfo

import pytest

from tripline.domain import instants

ZONES = ("Pacific/Kiritimati", "Etc/GMT+12", "Asia/Seoul", "UTC")


@pytest.mark.parametrize("zone", [zoneinfo.ZoneInfo(each) for each in ZONES], ids=str)
def test_edges_are_dates_in_every_zone(zone):
    first, last = instants.local(instants.FIRST_MS, zone), instants.local(instants.LAST_MS, zone)

    assert (first.year, last.year) == (1, 9999)
    assert round(first.timestamp() * 1_000) == instants.FIRST_MS
    assert round(last.timestamp() * 1_000) == instants.LAST_MS


@pytest.mark.parametrize("beyond", [1, 10**9, 2**53, 2**63, 10**30])
def test_instant_that_no_date_holds_becomes_the_nearest_one(beyond):
    zone = datetime.UTC

    assert instants.local(instants.LAST_MS + beyond, zone) == instants.local(instants.LAST_MS, zone)
    assert instants.local(instants.FIRST_MS - beyond, zone) == instants.local(instants.FIRST_MS, zone)
