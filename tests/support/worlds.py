"""A running server, a company on it, and boxes that speak to it: the platform as its users see it, rows and all."""

import asyncio
import contextlib
import itertools
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import fleet, servers, stores
from tests.support.device import CarefulDevice
from tests.support.fleet import Registered
from tripline.domain import samples
from tripline.wire import topics


@dataclass(frozen=True)
class World:
    """A running server and a company on it."""

    server: servers.Running
    company: fleet.Company
    numbers: Iterator[int]

    def box(self, sensor_type: str = "GPS") -> Registered:
        """A new sensor of this type, mounted on a new vehicle."""
        return self.company.vehicle_with_sensor(next(self.numbers), sensor_type=sensor_type)

    def send(self, box: Registered, *bodies: bytes, topic: str = topics.TRE) -> None:
        """Publish at QoS 1 over TLS, each acknowledged before this returns."""
        tls = ssl.create_default_context(cafile=self.server.ca)
        device = CarefulDevice(box.token, self.server.device_host, self.server.device_port, tls, topic=topic)
        asyncio.run(asyncio.wait_for(device.play(list(bodies)), 20))
        assert device.acknowledged == list(range(len(bodies)))

    def trips(self, box: Registered) -> list[dict[str, Any]]:
        """Trips of the vehicle, newest first."""
        return self.company.get(f"/api/tre/v1/vehicle/{box.vehicle_id}/trips", limit=10)["data"]

    def microtrips(self, trip: dict[str, Any]) -> list[dict[str, Any]]:
        """Microtrips of the trip, newest first."""
        return self.company.get(f"/api/tre/v1/trip/{trip['id']['id']}/microtrips", limit=10)["data"]

    def kinds(self, box: Registered) -> list[str | None]:
        """`lastTripMsgType` of sensor and vehicle."""
        paths = (f"/api/tre/v1/sensor/{box.sensor_id}", f"/api/tre/v1/vehicle/{box.vehicle_id}")
        return [self.company.get(path)["lastTripMsgType"] for path in paths]

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows of the database, read beside the server."""
        return stores.Database(self.server.data).rows(statement, *values)

    def flags(self, trip: dict[str, Any]) -> list[int]:
        """The manoeuvre flags of the trip's samples."""
        packed = self.rows(
            "SELECT samples FROM microtrip JOIN trip ON trip.no = trip_no WHERE trip.id = ? ORDER BY microtrip.no",
            trip["id"]["id"],
        )
        return [record[4] for (text,) in packed for record in samples.RECORD.iter_unpack(text)]


def doctor(world: World) -> str:
    """What `tripline doctor` prints beside the server."""
    done = servers.run_here("doctor", "--data", str(world.server.data))
    assert done.returncode == 0, done.stdout
    return done.stdout


def log_of(world: World) -> str:
    """Everything the server has logged."""
    return (world.server.data.parent / f"{world.server.data.name}.stderr").read_text()


@contextlib.contextmanager
def running(data: Path, *, variables: Mapping[str, str] | None = None) -> Iterator[World]:
    """A fresh world in the folder."""
    with servers.serving(data, variables=variables) as server, fleet.Company(server.api, server.data) as company:
        yield World(server, company, itertools.count(1))
