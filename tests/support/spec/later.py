"""Rows that are not there yet: the customers' message bus.

Each check holds what the program says today, so that the row comes back here when that changes.
"""

import functools
from pathlib import Path

from tests.support import servers
from tests.support.spec.checks import LATER, rows
from tests.support.spec.world import World

BUS = "there is no message bus yet"
ROWS_OF_BUS = (
    "sf-microtrip",
    "sf-trip",
    "sf-event",
    "date",
    "deviceType",
    "companyID",
    "payload",
    "ts",
    "startTs",
    "endTs",
    "startDt",
    "endDt",
    "eventTs",
    "eventDt",
    "createdTime",
    "tripId",
    "microTripId",
    "eventId",
    "vehicleId",
    "sensorId",
    "userId",
    "ty",
)


@functools.cache
def _start_with_a_bus(folder: Path) -> tuple[int, str]:
    """Exit code and complaint of a server that is told to read a bus; one start serves every row."""
    done = servers.run("serve", "--data", str(folder / "bus"), "--bus", "kafka://127.0.0.1:9")
    return done.returncode, done.stderr


def _no_bus(world: World, _: str) -> None:
    code, complaint = _start_with_a_bus(world.server.data.parent)
    assert code == 2
    assert "bus.url" in complaint


rows("Message-bus ingestion", ROWS_OF_BUS, _no_bus)
LATER.update({f"Message-bus ingestion: {name}": BUS for name in ROWS_OF_BUS})
