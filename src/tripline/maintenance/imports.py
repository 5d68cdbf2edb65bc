"""Registering the rows of a CSV file, with or without a running server."""

from pathlib import Path

from tripline import clock
from tripline.config import Config
from tripline.maintenance import stores
from tripline.services.accounts import registry
from tripline.services.imports import registration
from tripline.services.imports.kinds import ImportKind
from tripline.services.imports.limits import ImportLimits


async def imported(
    config: Config,
    file: Path,
    *,
    kind: ImportKind,
    email: str,
    order: registration.Order,
    progress: registration.Progress,
) -> registration.Report:
    """Register the rows of a CSV file as the account with this e-mail address would; see `registration.run`."""
    async with stores.store_of(config) as store:
        actor = await store.read(lambda tx: registry.acting_as(tx, email=email))
        async with stores.numbering(store) as maker:
            with ImportLimits(config.rest).opened(file) as content:
                return await registration.run(
                    store,
                    content,
                    actor=actor,
                    kind=kind,
                    order=order,
                    ids=maker,
                    now_ms=clock.now_ms(),
                    progress=progress,
                )
