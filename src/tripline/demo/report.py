"""The output of the demo: its steps, the scores, the explanation of the worst trip, and commands to try next."""

import datetime
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from rich import box, markup
from rich.console import Console
from rich.table import Table

from tripline.demo.company import LOGIN_FILE, OVERSPEED, Cause, Driven, Vehicle
from tripline.demo.server import LOG_FILE, Server
from tripline.simulator import recordings

_SCORES: Final = "Scores, and how often driving was harsh (over: samples over the limit)"
EVENT_NAMES: Final = {1: "sudden start", 2: "acceleration", 3: "deceleration", 4: "sudden stop", OVERSPEED: "overspeed"}
SPARE_DRIVE: Final = "drive_06"
"""A recorded drive that the first vehicle has not driven yet."""
_CAUSES_SHOWN: Final = 10
_ZONE: Final = datetime.timezone(datetime.timedelta(hours=9), "UTC+9")
"""The service's default zone, used for startDt in REST."""


class Steps:
    """Prints each finished step, with the seconds since the beginning."""

    def __init__(self, console: Console, clock: Callable[[], float]) -> None:
        self._console = console
        self._clock = clock
        self._began = clock()

    def done(self, text: str) -> None:
        """Print a finished step."""
        self._console.print(f"[bold]{self._clock() - self._began:5.1f} s[/]  {text}", soft_wrap=True)


def scores(console: Console, driven: Sequence[Driven], totals: Mapping[str, tuple[float, float, int]]) -> None:
    """Print one line for each trip, one for each vehicle, and the reasons of trips without a score."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), title=_SCORES, title_justify="left")
    table.add_column("vehicle", style="bold", no_wrap=True)
    table.add_column(f"trip from ({_ZONE})", no_wrap=True)
    for heading in ("km", "score", "start", "accel", "decel", "stop", "over"):
        table.add_column(heading, justify="right", no_wrap=True)
    for number, (score, km, count) in totals.items():
        trips = [trip for trip in driven if trip.vehicle == number]
        for trip in trips:
            table.add_row(number if trip is trips[0] else "", trip.start[:16], *_figures(trip))
        if count > 1:
            table.add_row("", f"{count} trips as one", f"{km:.1f}", _score(score))
        table.add_section()
    console.print(table)
    unscored = [trip for trip in driven if trip.score is None]
    for reason in sorted({trip.why_not for trip in unscored}):
        count = sum(trip.why_not == reason for trip in unscored)
        console.print(f"{count} of {len(driven)} trips without a score. {reason}", soft_wrap=True)
    console.print()


def explanation(console: Console, trip: Driven, causes: Sequence[Cause]) -> None:
    """Print the costs of the trip in points, the largest first, with the names of the roads."""
    assert trip.score is not None
    title = f"Why {trip.vehicle} has {trip.score:.1f} of 100 points for its trip from {trip.start[:16]}"
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), title=title, title_justify="left")
    table.add_column(f"time ({_ZONE})", no_wrap=True)
    table.add_column("what cost points")
    table.add_column("points", justify="right", no_wrap=True)
    dearest = sorted(causes, key=lambda cause: (-cause.cost, cause.begin_ts))
    for cause in dearest[:_CAUSES_SHOWN]:
        moment = datetime.datetime.fromtimestamp(cause.begin_ts / 1000, _ZONE)
        table.add_row(f"{moment:%H:%M:%S}", markup.escape(_said(cause)), f"-{cause.cost:.1f}")
    others = dearest[_CAUSES_SHOWN:]
    if others:
        table.add_row("", f"{len(others)} more", f"-{sum(cause.cost for cause in others):.1f}")
    console.print(table)


def worst(driven: Sequence[Driven]) -> Driven:
    """The trip with the lowest score."""
    return min(driven, key=lambda trip: 101.0 if trip.score is None else trip.score)


def without_a_map(console: Console) -> None:
    """Mention the parts that need a map."""
    console.print(
        "No map was given: every limit is the default, and no vehicle drove along roads with limits of their own.\n"
        "With an OpenStreetMap extract: tripline demo --map FILE.osm.pbf\n",
        soft_wrap=True,
    )


def way_into_portal(console: Console, link: str) -> None:
    """Print the administrator's sign-in link, on its own line so that terminals make it clickable."""
    console.print(
        "[bold]Look at the fleet in the portal[/] (this link signs you in once, within 15 minutes):\n", soft_wrap=True
    )
    console.print(f"  {link}\n", soft_wrap=True, highlight=False, markup=False)


def how_to_go_on(console: Console, server: Server, vehicle: Vehicle, trip: Driven) -> None:
    """Print commands that work while the server runs; secrets stay in files of the data folder."""
    header = '-H "X-Authorization: Bearer $TOKEN"'
    analytics = f"$API/api/tre/v1_3/vehicle/{vehicle.id}/analytics"
    login, token_file, ca, drive = (
        shlex.quote(str(path))
        for path in (
            server.data / LOGIN_FILE,
            server.data / vehicle.token_file,
            server.ca,
            recordings.FOLDER / f"{SPARE_DRIVE}.csv",
        )
    )
    console.print("[bold]Go on in another terminal[/] (the log-in is in a file that only you can read):\n")
    for line in (
        f"API={server.api}",
        f"TOKEN=$(curl -s $API/api/auth/login -H 'Content-Type: application/json' -d @{login}"
        """ | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')""",
        f'curl -s {header} "{analytics}/drivingScore?limit=2"',
        f'curl -s {header} "{analytics}/drivingScore/stat"',
        f'curl -s {header} "$API/api/tre/v1/trip/{trip.trip_id}/microtrips?limit=1"',
        f'curl -s {header} "$API/api/tre/v1_3/trip/{trip.trip_id}/analytics/drivingScore/explanation"',
        f"TRIPLINE_DEVICE_TOKEN=$(cat {token_file}) {shlex.quote(sys.executable)} -m tripline replay {drive}"
        f" --speed 0 --port {server.devices.rpartition(':')[2]} --ca {ca}",
    ):
        console.print(f"  {line}", soft_wrap=True, highlight=False, markup=False)
    console.print(
        f"\nREST {server.api}, devices {server.devices} (MQTTS), log {server.data / LOG_FILE}", soft_wrap=True
    )
    console.print("Ctrl-C stops the server.")


def _figures(trip: Driven) -> list[str]:
    if trip.score is None or trip.km is None:
        return ["", "-"]
    return [f"{trip.km:.1f}", _score(trip.score), *(str(trip.counts[type_] or "") for type_ in EVENT_NAMES)]


def _score(score: float) -> str:
    colour = "green" if score >= 90 else "yellow" if score >= 75 else "red"
    return f"[{colour}]{score:.1f}[/]"


def _said(cause: Cause) -> str:
    if cause.event_ty != OVERSPEED:
        return f"{EVENT_NAMES[cause.event_ty]}, from {cause.begin_speed:.0f} to {cause.end_speed:.0f} km/h"
    where = "a road that no map knows" if cause.road is None else cause.road or "a road without a name"
    return f"{where}: up to {cause.max_speed:.0f} where {cause.limit:.0f} is allowed, {cause.seconds:.0f} s"
