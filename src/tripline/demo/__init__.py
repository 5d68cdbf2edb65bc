"""`tripline demo`: a real server, a company registered over REST, real drives played over MQTTS, and what comes back.

An outsider with a terminal: it uses the commands, the published REST operations and the simulator, nothing inside.
Not here: the server process (`server.py`), the REST calls (`company.py`), what is printed (`report.py`).
"""

import asyncio
import contextlib
import signal
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console

from tripline.demo import report
from tripline.demo.company import EMAIL, Company, Driven, RejectedError, Vehicle
from tripline.demo.server import Server, ServerError
from tripline.simulator import client, link, messages, recordings

TROUBLES: Final = (ServerError, RejectedError, client.RefusedError, client.UnreachableError, TimeoutError)
"""What can end a demo; the text of each is the one line to show."""
SCORES_WITHIN_S: Final = 30.0
FLEET: Final = {
    "12GA3456": ("drive_01", "drive_03", "drive_04", "drive_05"),
    "34NA5678": ("drive_08", "drive_13", "drive_15", "drive_31"),
    "56DA7890": ("drive_06", "drive_11", "drive_17", "drive_32"),
}
"""Vehicle numbers, and the recorded drives that each vehicle makes; one of each is too short for a score."""


class Plan(msgspec.Struct, frozen=True):
    """Where the demo keeps its data (None: a folder that is deleted at the end), and whether the server stays up."""

    data: Path | None
    keep: bool


async def run(plan: Plan, console: Console) -> bool:
    """Play the demo; whether it came to its end. With `keep` the server runs until SIGINT or SIGTERM.

    Raises one of `TROUBLES`.
    """
    _cancelled_by_signals()
    with _folder(plan.data) as data:
        try:
            await _play(data, plan, console)
        except asyncio.CancelledError:
            console.print("stopped")
            return False
        return True


async def _play(data: Path, plan: Plan, console: Console) -> None:
    clock = report.Steps(console, asyncio.get_running_loop().time)
    async with Server(data).running() as server:
        clock.done(f"server started: REST on {server.api}, devices on {server.devices} (MQTTS)")
        async with Company.registered(server) as company:
            vehicles = [await company.vehicle_with_sensor(number) for number in FLEET]
            clock.done(f"company registered over REST: {len(vehicles)} vehicles, sensors and drivers")
            count = await _drive(server, vehicles)
            clock.done(f"{count} messages of {sum(map(len, FLEET.values()))} real drives sent and acknowledged")
            driven = await _judged(company, vehicles)
            clock.done("every trip is scored, or it is known why not")
            totals = {vehicle.number: await company.accumulated(vehicle) for vehicle in vehicles}
        report.scores(console, driven, totals)
        report.events_of_one_trip(console, driven)
        if plan.keep:
            report.way_into_portal(console, await server.sign_in_link(EMAIL))
            report.how_to_go_on(console, server, vehicles[0], report.most_eventful(driven))
            await _until_stopped()
            console.print("stopping")
        else:
            console.print(
                "The server of this demo stops now. At a terminal it goes on, with a link into the portal;\n"
                "elsewhere: tripline demo --keep",
                soft_wrap=True,
            )


async def _drive(server: Server, vehicles: Sequence[Vehicle]) -> int:
    """Play each vehicle's drives on its own connection, all at once; the number of messages acknowledged."""
    try:
        async with asyncio.TaskGroup() as roads:
            trips = [roads.create_task(_link(server, vehicle).deliver()) for vehicle in vehicles]
    except* TROUBLES as group:
        raise group.exceptions[0] from None
    return sum(trip.result().acknowledged for trip in trips)


def _link(server: Server, vehicle: Vehicle) -> link.Link:
    drives = [recordings.read(recordings.FOLDER / f"{name}.csv") for name in FLEET[vehicle.number]]
    host, _, port = server.devices.rpartition(":")
    gateway = client.Gateway(host, int(port), server.ca)
    return link.Link(gateway=gateway, token=vehicle.token, messages=messages.of_tracks(drives))


async def _judged(company: Company, vehicles: Sequence[Vehicle]) -> list[Driven]:
    """Every trip with its score or the reason why it has none. Raises `TimeoutError`."""
    try:
        async with asyncio.timeout(SCORES_WITHIN_S):
            return [trip for vehicle in vehicles for trip in await company.driven(vehicle, len(FLEET[vehicle.number]))]
    except TimeoutError:
        raise TimeoutError(f"the scores were not there after {SCORES_WITHIN_S:g} s") from None


def _cancelled_by_signals() -> None:
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)


async def _until_stopped() -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.Event().wait()


@contextlib.contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="tripline-demo-") as made:
        yield Path(made)
