"""`tripline demo`: a real server, a company registered over REST, real drives played over MQTTS, and the results.

With a map, one more vehicle speeds along its roads, and others move along them while the demo is kept. The demo acts
from outside, through commands, published REST operations and the simulator; internally it reads only the roads of the
imported map.
"""

import asyncio
import contextlib
import random
import signal
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console

from tripline import clock
from tripline.adapters.maps import files, locks
from tripline.demo import report
from tripline.demo.company import EMAIL, Company, Driven, Vehicle
from tripline.demo.server import Server, ServerError
from tripline.simulator import client, messages, motion, network, office, recordings, replay
from tripline.simulator.recordings import Track
from tripline.simulator.styles import STYLES

TROUBLES: Final = (
    ServerError,
    office.OfficeError,
    client.RefusedError,
    client.UnreachableError,
    locks.NoAreaError,
    TimeoutError,
)
"""Errors that end a demo; the text of each is shown as one line."""
SCORES_WITHIN_S: Final = 30.0
FLEET: Final = {
    "12GA3456": ("drive_01", "drive_03", "drive_04", "drive_05"),
    "34NA5678": ("drive_08", "drive_13", "drive_15", "drive_31"),
    "56DA7890": ("drive_06", "drive_11", "drive_17", "drive_32"),
}
"""Vehicle numbers, and the recorded drives of each vehicle; one drive of each is too short for a score."""
MOVING: Final = {
    "11BA2345": ("Hyundai", "Ioniq 5", "Mina Park", "Anna Frick"),
    "13BU4567": ("Kia", "Niro EV", "Jonas Marxer", "Anna Frick"),
    "15SA6789": ("Volkswagen", "Crafter", "Lea Hasler", "Anna Frick"),
    "17A8901": ("Mercedes-Benz", "Sprinter", "Do-yun Kim", "Anna Frick"),
    "21JA0123": ("Volvo", "FH Electric", "Sara Beck", "Tae-ho Lee"),
    "23CHA2345": ("Scania", "R 450", "Marco Ospelt", "Tae-ho Lee"),
    "25KA4567": ("Hyundai", "Porter", "Ji-woo Choi", "Tae-ho Lee"),
    "27TA6789": ("Toyota", "Corolla", "Nina Kaiser", "Tae-ho Lee"),
}
"""Number of each vehicle that moves while the demo is kept -> its maker and model, driver and director."""
SPEEDER: Final = "78RA9012"
"""Number of the vehicle that speeds along the roads of a map."""
_SPEEDING_S: Final = 600.0
_LATER_S: Final = 60.0
"""Least age of that drive's end."""
_SEED: Final = 1


class Plan(msgspec.Struct, frozen=True):
    """Options of a demo."""

    data: Path | None
    """Data folder; None: a temporary folder."""
    keep: bool
    """True to leave the server running."""
    map: Path | None = None
    """OpenStreetMap extract to import; None: no drive along roads."""


async def run(plan: Plan, console: Console) -> bool:
    """Play the demo; false if it was stopped early. With `keep` the server runs until SIGINT or SIGTERM.

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
    steps = report.Steps(console, asyncio.get_running_loop().time)
    async with Server(data).running() as server:
        steps.done(f"server started: REST on {server.api}, devices on {server.devices} (MQTTS)")
        async with Company.registered(server) as company:
            numbers = [*FLEET, *([SPEEDER] if plan.map else [])]
            vehicles = [await company.vehicle_with_sensor(number) for number in numbers]
            steps.done(f"company registered over REST: {len(vehicles)} vehicles, sensors and drivers")
            count = await _drive(server, vehicles, plan.map, steps)
            drives = f"{sum(map(len, FLEET.values()))} real drives{' and a simulated one' if plan.map else ''}"
            steps.done(f"{count} messages of {drives} sent and acknowledged")
            driven = await _judged(company, vehicles)
            steps.done("every trip is scored, or it is known why not")
            totals = {vehicle.number: await company.accumulated(vehicle) for vehicle in vehicles}
            worst = report.worst(driven)
            causes = await company.causes(worst.trip_id)
            moving = await _fleet(company) if plan.keep and plan.map else []
        report.scores(console, driven, totals)
        report.explanation(console, worst, causes)
        if not plan.map:
            report.without_a_map(console)
        if plan.keep:
            report.way_into_portal(console, await server.sign_in_link(EMAIL))
            report.how_to_go_on(console, server, vehicles[0], worst)
            async with server.driving([vehicle.token for vehicle in moving]) if moving else contextlib.nullcontext():
                await _until_stopped()
                console.print("stopping")
        else:
            console.print(
                "The server of this demo stops now. At a terminal it goes on, with a link into the portal;\n"
                "elsewhere: tripline demo --keep",
                soft_wrap=True,
            )


async def _fleet(company: Company) -> list[Vehicle]:
    """Register the vehicles that move, with drivers and directors."""
    directors = {name: await company.director(name) for name in sorted({name for *_, name in MOVING.values()})}
    return [
        await company.driven_vehicle(number, vendor=vendor, model=model, driver=driver, director_id=directors[director])
        for number, (vendor, model, driver, director) in MOVING.items()
    ]


async def _drive(server: Server, vehicles: Sequence[Vehicle], extract: Path | None, steps: report.Steps) -> int:
    """Play each vehicle's drives on its own connection, all at once; return the number of acknowledged messages."""
    try:
        async with asyncio.TaskGroup() as roads:
            trips = [
                roads.create_task(
                    _play_recorded(server, vehicle)
                    if vehicle.number in FLEET
                    else _speed(server, vehicle, extract, steps)
                )
                for vehicle in vehicles
            ]
    except* TROUBLES as group:
        raise group.exceptions[0] from None
    return sum(trip.result() for trip in trips)


async def _play_recorded(server: Server, vehicle: Vehicle) -> int:
    drives = [recordings.read(recordings.FOLDER / f"{name}.csv") for name in FLEET[vehicle.number]]
    return await _played(server, vehicle, drives)


async def _speed(server: Server, vehicle: Vehicle, extract: Path | None, steps: report.Steps) -> int:
    """Import the map, then speed along its roads."""
    assert extract is not None
    said = await server.imported(extract)
    steps.done(f"{said} (© OpenStreetMap contributors)")
    return await _played(server, vehicle, [_speeding(server.maps)])


def _speeding(maps: Path) -> Track:
    """A recent drive over the limit, along roads of the map."""
    [area] = files.areas(maps)
    roads = network.Network(*files.load(maps, area))
    chance = random.Random(_SEED)  # noqa: S311  a drive, not a secret
    moments = motion.drive(chance, STYLES["aggressive"], roads.legs(chance), seconds=_SPEEDING_S, period_s=1.0)
    begin_ms = clock.now_ms() - round((_SPEEDING_S + _LATER_S) * 1_000)
    points = [
        recordings.Point(begin_ms + round(each.at_s * 1_000), each.lat, each.lon, each.speed_kmh) for each in moments
    ]
    return Track(SPEEDER, points)


async def _played(server: Server, vehicle: Vehicle, drives: Sequence[Track]) -> int:
    host, _, port = server.devices.rpartition(":")
    gateway = client.Gateway(host, int(port), server.ca)
    done = await replay.delivered(messages.of_tracks(drives), gateway=gateway, token=vehicle.token)
    return done.acknowledged


async def _judged(company: Company, vehicles: Sequence[Vehicle]) -> list[Driven]:
    """Every trip with its score or the reason for having none. Raises `TimeoutError`."""
    try:
        async with asyncio.timeout(SCORES_WITHIN_S):
            return [
                trip
                for vehicle in vehicles
                for trip in await company.driven(vehicle, len(FLEET.get(vehicle.number, (SPEEDER,))))
            ]
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
