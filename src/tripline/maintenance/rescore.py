"""Rescoring trips from the command line, with or without running servers."""

import zoneinfo
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from tripline import clock, observe
from tripline.adapters import data_folder
from tripline.adapters.signals import local
from tripline.config import Config
from tripline.domain.rescorings import Outcome, Touched
from tripline.maintenance import policies, stores
from tripline.ports.outages import Outage
from tripline.services.scores import rescore
from tripline.services.scores.rescore import Progress
from tripline.services.scores.scorer import Scorer
from tripline.store import migrate
from tripline.store.database import sqlite_files
from tripline.store.scores import rescore as rows
from tripline.store.scores.rescore import Choice
from tripline.wiring import adapters

LOOKED_AT: Final = 100_000
"""Most trips that an offer examines; takes some seconds."""


class Offer(NamedTuple):
    """The number of scored trips that a map touches."""

    trips: int
    whole: bool
    """True if every trip was examined; else the number may be higher."""


def touched(config: Config, area: str) -> Touched:
    """The map of an area and its bounds; without a current map, the former maps of the area."""
    return adapters.touched(config, area)


async def offered(config: Config, area: str, *, progress: Progress) -> Offer | None:
    """Count the scored trips that the map of an area touches, among the oldest `LOOKED_AT`.

    None: no store, or not at the current schema. Changes nothing.
    """
    choice, trips, looked_at, after = Choice(touched=touched(config, area)), 0, 0, 0
    try:
        if not config.store.url and not _is_there(config.data / data_folder.DATABASE):
            return None
        async with stores.store_of(config) as store:
            while looked_at < LOOKED_AT:
                page = await store.read(
                    partial(rows.page, choice=choice, own_policy=0, after=after, limit=rescore.BITE)
                )
                if page.last is None:
                    return Offer(trips, whole=True)
                after, trips, looked_at = page.last, trips + len(page.trip_nos), looked_at + page.looked_at
                progress(looked_at)
    except (migrate.DatabaseError, data_folder.DataFolderError, Outage):
        return None
    return Offer(trips, whole=False)


def _is_there(database: Path) -> bool:
    return not sqlite_files.is_empty(database) and migrate.version_of(database) == migrate.newest()


async def rescored(config: Config, choice: Choice, *, progress: Progress) -> Outcome:
    """Rescore the chosen trips. Raises `Outage`; finished trips keep their new scores."""
    observe.configure_logging(level="warning", as_json=False)
    async with stores.store_of(config) as store, stores.numbering(store) as maker:
        scorer = Scorer(
            store=store,
            rules=config.rules,
            ids=maker,
            signals=local.LocalSignals(),
            clock=clock.now_ms,
            zone=zoneinfo.ZoneInfo(config.time_zone),
            roads=adapters.roads(config),
        )
        return await rescore.rescored(store, scorer, choice, clock=clock.now_ms, progress=progress)


async def tried(config: Config, choice: Choice, *, policy_no: int | None, progress: Progress) -> Outcome:
    """The changes that rescoring the chosen trips would make.

    `policy_no`: the policy to try in place of the current ones. Raises `WrongSettingError` if it is unknown, `Outage`.
    """
    observe.configure_logging(level="warning", as_json=False)
    async with stores.store_of(config) as store:
        policy = None if policy_no is None else await store.read(lambda tx: policies.known(tx, policy_no))
        roads = adapters.roads(config)
        return await rescore.tried(store, config.rules, choice, policy=policy, progress=progress, roads=roads)
