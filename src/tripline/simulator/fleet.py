"""`tripline simulate`: many vehicles driven over MQTTS at once, in one process, and a check of the stored records.

In order: the office registers the fleet, every device connects, sensors that need it are activated, all drive, and
stored records are compared with acknowledged messages.
"""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console

from tripline.simulator import client, gpx, itinerary, mix, recordings, roads, summary
from tripline.simulator.books import Stored
from tripline.simulator.box import Access, Box, Pace
from tripline.simulator.client import Gateway
from tripline.simulator.drafts import Step
from tripline.simulator.habits import HABITS
from tripline.simulator.itinerary import Character, Journeys
from tripline.simulator.office import Before, Mounted, Office, OfficeError
from tripline.simulator.roads import Leg
from tripline.simulator.summary import Driven

TROUBLES: Final = (OfficeError, client.RefusedError, client.UnreachableError, recordings.TrackError)
"""Errors that end a simulation early; the text of each is shown as one line."""
SHAKING_HANDS: Final = 40
"""Concurrent connection attempts: few enough that none exceeds the platform's time for TLS."""
_TICK_S: Final = 0.25
_GRACE_S: Final = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Company:
    """The fleet's company, and the account that registers it."""

    api: str
    email: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The composition of the fleet."""

    vehicles: int
    prefix: str = "SIM"
    types: Mapping[str, float]
    styles: Mapping[str, float]
    habits: Mapping[str, float]
    manners: Sequence[str] = ("script", "sdk", "documented")
    """Manners of answering calls, assigned in turn."""
    packed_share: float = 0.0
    activation_share: float = 0.0
    tokens: Sequence[tuple[str, str]] = field(default=(), repr=False)
    """Tokens and types of existing sensors; if set, no vehicle is registered."""
    seed: int = 0


class Simulation(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a simulation: fleet, drives, place and speed."""

    gateway: Gateway
    company: Company | None
    wanted: Wanted
    journeys: Journeys
    speed: float = 1.0
    """Times real time; 0: as fast as messages are acknowledged."""
    patience_s: float = 60.0


def routes(files: Sequence[Path]) -> list[list[Leg]]:
    """The legs of each recorded route (CSV or GPX). Raises `TrackError`."""
    found = []
    for path in files:
        if path.suffix.lower() == ".gpx":
            fixes = gpx.read(path)
        else:
            fixes = [(point.lat, point.lon, point.speed_kmh) for point in recordings.read(path).points]
        legs = roads.along(fixes)
        if not legs:
            raise recordings.TrackError(f"{path.name} goes nowhere")
        found.append(legs)
    return found


def tokens(file: Path) -> list[tuple[str, str]]:
    """Tokens and types in the lines of a file: `token` or `token,type`; the default type is GPS."""
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise OfficeError(f"{file} cannot be read: {error}") from error
    pairs = [
        line.strip().rpartition(",") if "," in line else (line.strip(), "", "GPS") for line in lines if line.strip()
    ]
    return [(token.strip(), device.strip().upper()) for token, _, device in pairs]


async def run(simulation: Simulation, console: Console, clock: Callable[[], int]) -> bool:
    """Drive the fleet to its end, or until SIGINT or SIGTERM; true if everything acknowledged is stored.

    `clock` returns epoch ms. Raises one of `TROUBLES`.
    """
    access = Access(
        simulation.gateway,
        client.trusted(simulation.gateway.ca),
        asyncio.Semaphore(SHAKING_HANDS),
        simulation.patience_s,
    )
    who = simulation.company
    office = contextlib.nullcontext() if who is None else Office.opened(who.api, who.email, who.password)
    async with office as company:
        mounted = await _enlisted(simulation.wanted, company, console)
        return await _Fleet(simulation, access, company, mounted, console, clock).run()


async def _enlisted(wanted: Wanted, company: Office | None, console: Console) -> list[Mounted]:
    """The fleet's sensors, registered, and mounted unless they need an activation."""
    if wanted.tokens:
        if company is not None:
            return await company.of_tokens([token for token, _ in wanted.tokens])
        return [_unknown(number, token, device) for number, (token, device) in enumerate(wanted.tokens, start=1)]
    assert company is not None
    types = mix.shared_out(wanted.types, wanted.vehicles)
    boxes = await company.fleet(wanted.prefix, types, activation_share=wanted.activation_share)
    await company.mount(boxes)
    console.print(f"registered and mounted: {len(boxes):,} vehicles, {boxes[0].plate} to {boxes[-1].plate}")
    return boxes


def _unknown(number: int, token: str, device: str) -> Mounted:
    """A sensor with only a token."""
    plate = f"line {number}"
    return Mounted(
        sensor_id="", vehicle_id="", plate=plate, device=device, token=token, is_mounted=True, needs_activation=False
    )


class _Fleet:
    def __init__(
        self,
        simulation: Simulation,
        access: Access,
        company: Office | None,
        mounted: Sequence[Mounted],
        console: Console,
        clock: Callable[[], int],
    ) -> None:
        wanted = simulation.wanted
        self._simulation = simulation
        self._company = company
        self._mounted = mounted
        self._console = console
        self._clock = clock
        self._pace = Pace(simulation.speed)
        self._halted = False
        self._characters = mix.characters(
            [(box.device, box.plate) for box in mounted],
            styles=wanted.styles,
            habits=wanted.habits,
            packed_share=wanted.packed_share,
            seed=wanted.seed,
        )
        manners = wanted.manners
        self._boxes = [
            Box(
                access=access,
                token=each.token,
                client_id=_client_id(character),
                manner=manners[character.number % len(manners)],
            )
            for each, character in zip(mounted, self._characters, strict=True)
        ]

    async def run(self) -> bool:
        """Run the simulation; see the function `run`."""
        company = self._company
        before = [Before()] * len(self._mounted) if company is None else await company.before(self._mounted)
        with self._stoppable():
            await self._drive()
        fleet = [
            Driven(character, box.ledger, stored)
            for character, box, stored in zip(self._characters, self._boxes, await self._stored(before), strict=True)
        ]
        summary.table(self._console, fleet)
        return all(each.is_well for each in fleet)

    async def _drive(self) -> None:
        loop = asyncio.get_running_loop()
        ready: list[asyncio.Future[Iterator[Step]]] = [loop.create_future() for _ in self._boxes]
        async with asyncio.TaskGroup() as tasks:
            running = [
                tasks.create_task(box.run(each, self._pace)) for box, each in zip(self._boxes, ready, strict=True)
            ]
            with summary.progress(self._console, loop.time) as show:
                while not all(box.online.is_set() or box.ledger.failure for box in self._boxes) and not self._halted:
                    show(f"connecting: {self._online():,} of {len(self._boxes):,}")
                    await asyncio.sleep(_TICK_S)
                await self._activate()
                self._start(ready)
                await self._watch(running, show)

    async def _activate(self) -> None:
        """Mount the sensors that need an activation, now that their devices can answer."""
        waiting = [
            number
            for number, each in enumerate(self._mounted)
            if not each.is_mounted and each.needs_activation and self._boxes[number].ledger.failure is None
        ]
        if not waiting or self._company is None or self._halted:
            return
        outcomes = await self._company.activate_all([self._mounted[number] for number in waiting])
        refused = {number: why for number, why in zip(waiting, outcomes, strict=True) if why is not None}
        self._console.print(f"activated: {len(waiting) - len(refused):,} of {len(waiting):,}")
        for number, why in refused.items():
            self._boxes[number].ledger.failure = f"not activated: {why}"

    def _start(self, ready: Sequence[asyncio.Future[Iterator[Step]]]) -> None:
        """Start the fleet's clock so that no message has a future time: the last drive ends now, or when the drives
        are over at this speed."""
        journeys, speed = self._simulation.journeys, self._simulation.speed
        takes_s = journeys.length_s / speed if speed > 0 else 0.0
        base_ms = self._clock() - round((journeys.length_s - takes_s) * 1_000)
        self._pace.begin = asyncio.get_running_loop().time()
        for character, box, each in zip(self._characters, self._boxes, ready, strict=True):
            idle = box.ledger.failure is not None
            steps = itinerary.steps(character, journeys, base_ms=base_ms, halted=lambda: self._halted)
            each.set_result(iter(()) if idle else steps)

    async def _watch(self, running: Sequence["asyncio.Task[None]"], show: Callable[[str], None]) -> None:
        """Wait until every device is done; after a stop, cancel devices that take too long."""
        loop = asyncio.get_running_loop()
        give_up_at: float | None = None
        pending = set(running)
        while pending:
            _, pending = await asyncio.wait(pending, timeout=_TICK_S)
            show(summary.so_far([box.ledger for box in self._boxes], self._online()))
            if self._halted:
                give_up_at = give_up_at or loop.time() + _GRACE_S
                if loop.time() >= give_up_at:
                    for task in pending:
                        task.cancel()

    def _online(self) -> int:
        return sum(box.online.is_set() for box in self._boxes)

    @contextlib.contextmanager
    def _stoppable(self) -> Iterator[None]:
        """Let SIGINT and SIGTERM end the drives immediately, with their trip messages."""
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)
        for each in signals:
            loop.add_signal_handler(each, self._halt)
        try:
            yield
        finally:
            for each in signals:
                loop.remove_signal_handler(each)

    def _halt(self) -> None:
        if not self._halted:
            self._console.print("stopping: drives end here")
        self._halted = True
        self._pace.speed = 0.0
        for box in self._boxes:
            box.hurry()

    async def _stored(self, before: Sequence[Before]) -> Sequence[Stored | None]:
        if self._company is None:
            return [None] * len(self._mounted)
        return await self._company.stored(list(zip(self._mounted, before, strict=True)))


def _client_id(character: Character) -> str:
    habit = HABITS[character.habit] if character.habit else None
    return habit.client_id if habit and habit.client_id else f"sim{character.number:08x}"
