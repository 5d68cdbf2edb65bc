"""The stream of the live map from outside: positions of devices in time, its end, restarts, proxies."""

import itertools
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import live_readers, portal_life, required, servers
from tests.support.fleet import Company, Registered
from tests.support.live_readers import Reader
from tests.system.test_live_positions import eastward, play

SHOWN_S = 3.0
"""From the PUBACK to the reader (spec/positions L10)."""
ENDED_S = 3.0
EMAIL = "admin@test-fleet.example"


class World:
    """A server with a company, two vehicles, and a browser of its administrator."""

    def __init__(self, server: servers.Running, company: Company, visit: portal_life.Visit) -> None:
        self.server = server
        self.company = company
        self.visit = visit
        self.vehicles = [company.vehicle_with_sensor(number) for number in (1, 2)]

    def headers(self) -> dict[str, str]:
        return {"Cookie": "; ".join(f"{name}={value}" for name, value in self.visit.http.cookies.items())}

    def reader(self, api: str = "", cursor: str | None = None) -> Reader:
        return Reader(api or self.server.api, self.headers(), cursor)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    data = tmp_path / "data"
    with (
        servers.serving(data) as server,
        Company(server.api, data) as company,
        portal_life.Visit(server.api, EMAIL) as visit,
    ):
        yield World(server, company, visit)


def moved(world: World, vehicle: Registered, reader: Reader) -> float:
    """Have the vehicle's device report; seconds from the last PUBACK until the reader has the position."""
    now_ms = int(time.time() * 1000)
    play(world.server, vehicle, eastward(now_ms))
    acknowledged = time.monotonic()
    reader.until(lambda each: each.positions().get(vehicle.vehicle_id) == now_ms)
    return time.monotonic() - acknowledged


def test_position_is_read_in_time_and_the_stream_ends_with_the_session(world: World) -> None:
    first, second = world.vehicles
    reader = world.reader()
    reader.until(lambda each: each.named("beat"))

    took = [moved(world, each, reader) for each in (first, second, first)]
    named = {row[1] for event in reader.named("vehicles") for row in event["vehicles"]}
    world.visit.post("/sign-out", {})
    signed_out = time.monotonic()
    over = reader.over.wait(ENDED_S)

    assert max(took) < SHOWN_S, took
    assert named == {first.vehicle_no, second.vehicle_no}
    assert over, time.monotonic() - signed_out
    assert reader.events[-1][1:] == ("end", {"reason": "signed_out"})
    assert world.reader().over.wait(ENDED_S)


def test_stopping_server_ends_streams_at_once_and_a_reader_continues_with_the_next(world: World) -> None:
    first, second = world.vehicles
    reader = world.reader()
    for each in (first, second):
        moved(world, each, reader)
    reader.until(lambda each: each.events[-1][1] == "beat")
    began = time.monotonic()
    world.server.process.send_signal(signal.SIGTERM)
    assert world.server.process.wait(live_readers.PATIENCE_S) == 0
    took = time.monotonic() - began

    with servers.serving(world.server.data, *servers.same_listeners(world.server)) as again:
        later = int(time.time() * 1000)
        play(again, second, eastward(later))
        continued = world.reader(cursor=reader.cursor)
        continued.until(lambda each: each.positions().get(second.vehicle_id) == later)
        known = continued.named("vehicles")
        continued.close()

    assert reader.events[-1][1:] == ("end", {"reason": "stopping"})
    assert took < 3, took
    # The same vehicles as before: only what moved meanwhile is sent.
    assert [event for event in known if event["whole"]] == []
    assert first.vehicle_id not in continued.positions()


@pytest.mark.deep
@pytest.mark.parametrize("name", ["nginx", "caddy"])
def test_proxy_passes_events_as_they_come_and_packs_none(world: World, tmp_path: Path, name: str) -> None:
    required.need(name if name == "caddy" else Path("/usr/sbin/nginx").exists(), f"the live map behind {name}")
    vehicle, _ = world.vehicles
    with live_readers.proxied(name, tmp_path / "proxy", world.server.api) as address:
        reader = Reader(address, {**world.headers(), "Accept-Encoding": "gzip"})
        moved(world, vehicle, reader)
        took = moved(world, vehicle, reader)
        beats = reader.until(lambda each: len(each.named("beat")) >= 4 and [at for at, *_ in each.events])
        reader.close()

    assert (reader.status, reader.headers["content-type"]) == (200, "text/event-stream")
    assert "content-encoding" not in reader.headers
    assert took < SHOWN_S, took
    assert max(later - earlier for earlier, later in itertools.pairwise(beats)) < 4
