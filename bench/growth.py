"""Row 11: no operation's time grows with the companies that it does not touch.

A partner with 500 vehicles and sensors asks for every page and number, inside this process: in a database where it is
alone with its operator, and in one with 200 more companies of its size, half of them partners of the same operator. The
figure is the time with them over the time without, each the best of the rounds, which take turns.

Not here: the operations (`surface.py`), of which those of the operator are left out: its partners are what it counts.
"""

import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench import surface
from bench.companies import Fleet, Made
from bench.device_channel import disk
from bench.table import Figure
from tests.support import rest, stores

from tripline.domain.access import Authority

SIZE, PEOPLE, OTHERS = 500, 50, 100
ALONE: Final = (Fleet(service_type="own", companies=2, vehicles=SIZE, people=PEOPLE, long=SIZE),)
BESIDE: Final = (
    Fleet(
        service_type="own",
        companies=2 + OTHERS,
        vehicles=(2 + OTHERS) * SIZE,
        people=(2 + OTHERS) * PEOPLE,
        long=SIZE,
        candidates=1,
        share=2 + OTHERS,
    ),
    Fleet(
        service_type="other",
        companies=1 + OTHERS,
        vehicles=(1 + OTHERS) * SIZE,
        people=(1 + OTHERS) * PEOPLE,
        share=1 + OTHERS,
    ),
)
ROUNDS, QUICK_ROUNDS = 40, 8


def measure(quick: bool) -> list[Figure]:
    """The ratio of each operation."""
    with tempfile.TemporaryDirectory(dir=disk()) as folder:
        databases = stores.Database(Path(folder) / "alone"), stores.Database(Path(folder) / "beside")
        for database in databases:
            database.folder.mkdir()
        made = [surface.made(each.path, *fleets) for each, fleets in zip(databases, (ALONE, BESIDE), strict=True)]
        return asyncio.run(_compared(databases, made, QUICK_ROUNDS if quick else ROUNDS))


async def _compared(databases: Sequence[stores.Database], made: list[Made], rounds: int) -> list[Figure]:
    apps = [rest.Rest(each, routes=number) for number, each in enumerate(databases)]
    for app in apps:
        app.http.event_hooks = {}  # tests hold every answer against its schema
    try:
        pairs = zip(*(surface.operations(each, far=SIZE // 2) for each in made), strict=True)
        return [await _figure(apps, made, pair, rounds) for pair in pairs if pair[0].actor != "operator_admin"]
    finally:
        for app in apps:
            await app.close()


async def _figure(apps: list[rest.Rest], made: list[Made], pair: tuple[surface.Asked, ...], rounds: int) -> Figure:
    times: list[list[float]] = [[], []]
    for _ in range(rounds):
        for place, asked in enumerate(pair):
            times[place].append(await _timed(apps[place], made[place], asked))
    alone_ms, beside_ms = (min(of_one) * 1000 for of_one in times)
    return Figure(
        row=f"11 beside {2 * OTHERS} companies of equal size",
        name=f"{pair[0].name}: x alone",
        value=beside_ms / alone_ms,
        gate=1.25,
        at_least=False,
        detail={"alone_ms": alone_ms, "beside_ms": beside_ms},
    )


async def _timed(app: rest.Rest, made: Made, asked: surface.Asked) -> float:
    role = Authority.DIRECTOR if asked.actor == "director" else Authority.COMPANY_ADMIN
    login = app.login(getattr(made, asked.actor), "bench", role, None)
    started = time.perf_counter()
    answer = await app.call(login, "GET", asked.path)
    took = time.perf_counter() - started
    assert answer.status_code == 200, answer.text
    return took
