"""Registering what is in a CSV file, beside a running server as well as without one.

Not here: what the command prints (`cli/imports.py`).
"""

from pathlib import Path

from tripline import clock
from tripline.chores import stores
from tripline.config import Config
from tripline.services.accounts import registry
from tripline.services.fleet import imports
from tripline.services.fleet.import_desk import ImportDesk
from tripline.services.fleet.import_kinds import ImportKind


async def imported(
    config: Config, file: Path, *, kind: ImportKind, email: str, order: imports.Order, progress: imports.Progress
) -> imports.Report:
    """Register what is in a CSV file, as the account with this e-mail address would; see `imports.run`."""
    async with stores.store_of(config) as store:
        actor = await store.read(lambda tx: registry.acting_as(tx, email=email))
        async with stores.numbering(store) as maker:
            with ImportDesk(config.rest).opened(file) as content:
                return await imports.run(
                    store,
                    content,
                    actor=actor,
                    kind=kind,
                    order=order,
                    ids=maker,
                    now_ms=clock.now_ms(),
                    progress=progress,
                )
